"""Self-collision: exact distances of simple shapes, gradients against differences, refusals."""

from experiment_cases import chain, ROD
import numpy as np
import pytest
from robident_ros.config import Config, ModelOptions
from robident_ros.model.collision import CollisionModel
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped

BALL = '<collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>'
MESH = '<collision><geometry><mesh filename="package://no/such.stl"/></geometry></collision>'


def model(robot: Robot) -> CollisionModel:
    return CollisionModel(robot.description, robot)


def balls(**options: object) -> CollisionModel:
    """Return a chain with balls at the ends of links 1 and 3."""
    return model(load_robot(chain((BALL, '', BALL)), Config(model=ModelOptions(**options))))


@pytest.mark.parametrize('angle', [0.0, 1.0, 2.5])
def test_distance_of_balls_is_that_of_their_centres(angle: float) -> None:
    """Two rods of 0.5 m at an angle put the balls 2·0.5·cos(angle/2) apart, less two radii."""
    collision = balls()
    assert collision.pairs == (('l1', 'l3'),)
    found = collision.distances(np.array([[0.3, 0.1, angle]]))
    np.testing.assert_allclose(found, 2 * 0.5 * np.cos(angle / 2) - 0.2, atol=1e-6)


def test_penetration_is_negative() -> None:
    """Balls whose centres are 0.1 m apart penetrate by 0.1 m."""
    angle = 2 * np.arccos(0.1)
    collision = balls()
    q = np.array([[0.0, 0.0, angle], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(collision.distances(q)[0], -0.1, atol=1e-6)
    np.testing.assert_array_equal(collision.in_collision(q), [True, False])


@pytest.mark.parametrize('name', ['arm6', 'arm7'])
def test_gradients_agree_with_differences(name: str) -> None:
    """
    ∂d/∂q by nearest points equals central differences for 99 of 100 distances.

    Where two pairs of shapes are equally near, the distance has a kink and no gradient.
    """
    robot = shipped(name)
    collision = model(robot)
    q = np.random.default_rng(0).uniform(-1, 1, (10, len(robot.joint_names)))
    found, gradients = collision.distances_with_gradients(q)
    np.testing.assert_allclose(found, collision.distances(q), atol=1e-9)
    h = 1e-5
    differences = np.stack([(collision.distances(q + h * e) - collision.distances(q - h * e))
                            / (2 * h) for e in np.eye(len(robot.joint_names))], axis=2)
    error = np.abs(gradients - differences).max(axis=2)
    assert (error < 1e-4).mean() > 0.99  # GJK stops at 1e-10 m, over 2e-5 rad


def test_gradient_of_penetrating_balls_agrees_with_differences() -> None:
    collision, h = balls(), 1e-5
    q = np.array([[0.2, 0.3, 2 * np.arccos(0.1)]])
    _, gradients = collision.distances_with_gradients(q)
    expected = -2 * 0.5 * np.sin(q[0, 2] / 2) / 2
    np.testing.assert_allclose(gradients[0, 0], [0, 0, expected], atol=1e-5)
    slope = (collision.distances(q + [0, 0, h]) - collision.distances(q - [0, 0, h])) / (2 * h)
    np.testing.assert_allclose(slope[0, 0], expected, atol=1e-2)


def test_passive_joints_pass_their_gradient_on() -> None:
    """A mimic joint that turns with another gives that one its gradient, times the multiplier."""
    tree = balls()
    follower = model(load_robot(chain((BALL, '', BALL),
                                      more=('', '', '<mimic joint="j2" multiplier="2"/>'))))
    d, gradient = follower.distances_with_gradients(np.array([[0.1, 0.4]]))
    d_tree, gradient_tree = tree.distances_with_gradients(np.array([[0.1, 0.4, 0.8]]))
    np.testing.assert_allclose(d, d_tree, atol=1e-9)
    np.testing.assert_allclose(gradient[0, 0], gradient_tree[0, 0] @ [[1, 0], [0, 1], [0, 2]],
                               atol=1e-9)


def test_locked_joints_stay_where_they_are_locked() -> None:
    """A locked joint merges its link with the one before; the pair across it remains."""
    shape = (BALL, '', '', BALL)
    free = model(load_robot(chain(shape)))
    locked = model(load_robot(chain(shape), Config(model=ModelOptions(locked={'j2': 0.7}))))
    assert locked.pairs == (('l1', 'l4'),)
    np.testing.assert_allclose(locked.distances(np.array([[0.1, 0.5, 0.2]])),
                               free.distances(np.array([[0.1, 0.7, 0.5, 0.2]])), atol=1e-6)


def test_neighbours_are_no_pair() -> None:
    assert model(load_robot(chain((ROD, ROD)))).pairs == ()
    assert model(load_robot(chain((ROD, ROD, ROD)))).pairs == (('l1', 'l3'),)


def test_shapes_that_mostly_touch_are_ignored() -> None:
    """A ball drawn so large that it swallows the next link but one is no reason to stay."""
    huge = BALL.replace('0.1', '2.0')
    collision = model(load_robot(chain((huge, '', BALL))))
    assert collision.pairs == () and collision.ignored == (('l1', 'l3'),)


def test_meshes_are_not_needed_and_named() -> None:
    collision = model(load_robot(chain((BALL, MESH, BALL + MESH))))
    assert collision.pairs == (('l1', 'l3'),)
    assert collision.unchecked == ('l2',)


def test_robot_without_shapes_has_no_pairs() -> None:
    collision = model(shipped('kuka_ir361'))
    q = np.zeros((4, 3))
    assert collision.pairs == ()
    assert collision.distances(q).shape == (4, 0)
    assert collision.distances_with_gradients(q)[1].shape == (4, 0, 3)
    assert not collision.in_collision(q).any()


def test_positions_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r'positions have shape \(3,\), expected \(N, 3\)'):
        balls().distances(np.zeros(3))
