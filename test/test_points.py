"""Points and capsules of links: Pinocchio's places, coal's distances, exact gradients."""

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.errors import ConfigError
from robident_ros.model.capsules import make_capsules
from robident_ros.model.collision import CollisionModel
from robident_ros.model.points import end_effector, locate, locate_product, Points
from robident_ros.model.robot import load_robot
from shipped import random_samples, ROBOTS, ROOT, shipped


def some_points(name: str) -> Points:
    """Return a point on every link, and one on the root."""
    n = len(shipped(name).tree_joint_names)
    return Points(np.arange(-1, n), np.random.default_rng(0).normal(size=(n + 1, 3)))


@pytest.mark.parametrize('name', ROBOTS)
def test_points_are_where_pinocchio_puts_them(name: str) -> None:
    robot, points = shipped(name), some_points(name)
    q, _, _ = random_samples(robot, 5)
    positions = locate(robot, points, q).positions
    data = robot.tree.createData()
    for k, q_k in enumerate(q @ robot.joint_map.G.T + robot.joint_map.c):
        pin.forwardKinematics(robot.tree, data, q_k)
        expected = [data.oMi[int(joint) + 1].act(local)
                    for joint, local in zip(points.joints, points.local)]
        np.testing.assert_allclose(positions[k], expected, atol=1e-13)


@pytest.mark.parametrize('name', ROBOTS)
def test_gradients_of_points_equal_finite_differences(name: str) -> None:
    robot, points = shipped(name), some_points(name)
    q, _, _ = random_samples(robot, 4)
    pose = locate(robot, points, q)
    bar = np.random.default_rng(1).normal(size=pose.positions.shape)
    gradient = locate_product(robot, points, pose, bar)
    for joint in range(q.shape[1]):
        step = 1e-6 * np.eye(q.shape[1])[joint]
        difference = (locate(robot, points, q + step).positions
                      - locate(robot, points, q - step).positions) / 2e-6
        np.testing.assert_allclose(gradient[:, joint], np.sum(bar * difference, axis=(1, 2)),
                                   atol=1e-7)


def test_the_end_effector_is_the_last_link_or_the_one_that_is_named() -> None:
    robot = shipped('arm6')
    np.testing.assert_array_equal(end_effector(robot).local, end_effector(robot, 'tool0').local)
    assert end_effector(robot, 'link3').joints[0] == 2
    with pytest.raises(ConfigError, match="there is no 'tool', did you mean 'tool0'"):
        end_effector(robot, 'tool')


@pytest.mark.parametrize('name', ['arm6', 'arm7'])
def test_capsules_never_overestimate_a_distance(name: str) -> None:
    """A capsule encloses its shape: its distances are lower bounds of coal's."""
    robot = shipped(name)
    rng = np.random.default_rng(2)
    q = rng.uniform(robot.limits.lower, robot.limits.upper, (100, len(robot.joint_names)))
    exact = CollisionModel(robot.description, robot)
    capsules = make_capsules(robot)
    distances, _ = capsules.clearances(q)
    for column, pair in enumerate(exact.pairs):
        same = [i for i, names in enumerate(capsules.names) if set(names) == set(pair)]
        if same:
            truth = exact.distances(q)[:, column]
            apart = truth > 0  # how deep shapes penetrate is counted in another way
            assert (distances[:, same].min(axis=1) <= truth + 1e-6)[apart].all(), pair


@pytest.mark.parametrize('name', ['arm6', 'arm7', 'kuka_ir361'])
def test_gradients_of_distances_equal_finite_differences(name: str) -> None:
    robot = shipped(name)
    capsules = make_capsules(robot)
    q, _, _ = random_samples(robot, 20)
    distances, contact = capsules.clearances(q)
    bar = np.random.default_rng(3).normal(size=distances.shape)
    gradient = capsules.product(bar, contact)
    for joint in range(q.shape[1]):
        step = 1e-6 * np.eye(q.shape[1])[joint]
        difference = (capsules.clearances(q + step)[0] - capsules.clearances(q - step)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, joint], np.sum(bar * difference, axis=1), atol=1e-5)


def test_links_whose_shape_is_unknown_get_capsules_along_their_bones() -> None:
    """The KUKA's URDF has no shapes: its upper arm lies between joints 2 and 3."""
    capsules = make_capsules(shipped('kuka_ir361'), link_radius=0.1)
    assert (capsules.radii == 0.1).all()
    ends = capsules.points.local[capsules.points.joints == 1]
    np.testing.assert_allclose(sorted(ends[:, 2]), [0.1, 0.38])


def test_meshes_do_not_matter() -> None:
    text = (ROOT / 'urdf' / 'arm6.urdf').read_text()
    mesh = '<geometry><mesh filename="package://gone/a.stl"/></geometry>'
    robot = load_robot(text.replace('<geometry><cylinder radius="0.12" length="0.02"/></geometry>',
                                    mesh))
    assert len(make_capsules(robot).pairs)
