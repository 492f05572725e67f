"""Inertia constants of composite bodies: Lin's tables, and what any minimal set must be."""

import json
from pathlib import Path
import warnings

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, FollowerOptions, ModelOptions
from robident_ros.errors import ModelError, RobidentWarning
from robident_ros.model.composite import composite_bodies, minimal_set, normal_frames
from robident_ros.model.parameters import from_pinocchio
from robident_ros.model.robot import load_robot, Robot

GOLDEN = Path(__file__).parents[2] / 'shared' / 'golden'
needs_golden = pytest.mark.skipif(not GOLDEN.exists(), reason='golden results are not here')

R, P, C = 'revolute', 'prismatic', 'continuous'
X, Y, Z = np.eye(3)
DOWN = (0.0, 0.0, -9.81)
TURN_X = (np.pi / 2, 0, 0)
ORIGIN = (0, 0, 0)

SPATIAL = ('U11-U22', 'U33', 'U12', 'U13', 'U23', 'kx', 'ky')

# The golden labels of the Stanford arm, in their order.
LIN_1992 = ('U33_1', *(f'{symbol}_{j}' for j in (2, 4, 5, 6) for symbol in SPATIAL),
            'm_3', 'kx_3', 'ky_3', 'kz_3')


def chain(*joints: tuple, gravity: tuple = DOWN) -> Robot:
    """Build a serial robot of joints (kind, xyz, rpy, axis)."""
    xml = ['<robot name="chain"><link name="link0"/>']
    for i, (kind, *geometry) in enumerate(joints, 1):
        xyz, rpy, axis = (' '.join(repr(float(x)) for x in vector) for vector in geometry)
        xml.append(
            f'<link name="link{i}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="1"/>'
            '<inertia ixx="1" iyy="1.1" izz="1.2" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial>'
            f'</link><joint name="joint{i}" type="{kind}"><parent link="link{i - 1}"/>'
            f'<child link="link{i}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>'
            '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>')
    options = ModelOptions(gravity=tuple(float(x) for x in gravity))
    return load_robot(''.join(xml) + '</robot>', Config(model=options))


def stacked_regressor(robot: Robot, rng: np.random.Generator, samples: int) -> np.ndarray:
    """Stack torque regressors of random motions, of norm one; drive columns are zero."""
    tree, data, rows = robot.tree, robot.tree.createData(), []
    columns = robot.link_columns[:, None] + np.arange(10)
    for _ in range(samples):
        q = pin.integrate(tree, pin.neutral(tree), rng.uniform(-2, 2, tree.nv))
        links = pin.computeJointTorqueRegressor(
            tree, data, q, rng.uniform(-2, 2, tree.nv), rng.uniform(-4, 4, tree.nv))
        rows.append(np.zeros((tree.nv, len(robot.parameters))))
        rows[-1][:, columns] = from_pinocchio(links.reshape(tree.nv, -1, 10))
    W = np.vstack(rows)
    return W / np.linalg.norm(W, 2)


def torque_and_constants(robot: Robot, rng: np.random.Generator) -> tuple[float, float, float]:
    """
    Compare what the constants and the torque know of the parameters.

    :return: what the torque knows besides the constants; the least it knows of a combination
             of them; the least singular value of their map, relative to the largest.
    """
    knowledge = minimal_set(robot)
    W = stacked_regressor(robot, rng, 20 + 20 * robot.tree.nv)
    _, singular, basis = np.linalg.svd(knowledge.map)
    n = len(knowledge.names)
    besides = np.abs(W @ basis[n:].T).max(initial=0)
    least = np.linalg.svd(W @ basis[:n].T, compute_uv=False)[-1]
    return besides, least, singular[-1] / singular[0]


def assert_minimal(robot: Robot, rng: np.random.Generator) -> None:
    """Round-off is below 1e-14 and the weakest combination seen was 7e-6 in 8000 robots."""
    besides, least, independent = torque_and_constants(robot, rng)
    assert besides < 1e-11
    assert least > 1e-9
    assert independent > 1e-8


def random_joint(rng: np.random.Generator, special: bool) -> tuple:
    """Draw a joint; a special one is often parallel, at right angles or on the same axis."""
    along = Z if rng.random() < 0.5 else np.eye(3)[rng.integers(3)] * rng.choice([-1, 1])
    if special:
        xyz = rng.choice([0, 0, 1]) * rng.uniform(-1, 1) * np.eye(3)[rng.integers(3)]
        rpy = rng.choice([0, 0, 1]) * rng.integers(-2, 3, 3) * np.pi / 2
        axis = along
    else:
        xyz, rpy, axis = rng.uniform(-1, 1, 3), rng.uniform(-3, 3, 3), rng.normal(size=3)
    return rng.choice([R, R, P, C]), xyz, rpy, axis / np.linalg.norm(axis)


@pytest.fixture(scope='module')
def stanford() -> Robot:
    return load_robot(GOLDEN / 'urdf' / 'stanford_lin1992.urdf')


@pytest.fixture(scope='module')
def golden() -> dict:
    return json.loads((GOLDEN / 'golden.json').read_text())['p001']


@needs_golden
def test_stanford_arm_has_the_33_constants_of_lin(stanford, golden):
    """Theorem 2 names the constants that Section 4 lists, with the values of Table II."""
    knowledge = minimal_set(stanford)
    assert len(knowledge.names) == golden['n'] == 33
    assert sorted(knowledge.names) == sorted(LIN_1992)
    values = dict(zip(knowledge.names, knowledge.map @ stanford.theta))
    found = np.array([values[name] for name in LIN_1992])
    np.testing.assert_allclose(found, golden['theta_exact'], atol=1e-10)
    # The table's rounding, and of U2 11−22 what the paper's own estimation left.
    tolerance = np.where(np.array(LIN_1992) == 'U11-U22_2', golden['tol_U2_11_22'],
                         golden['tol_table'])
    assert np.all(np.abs(found - golden['theta_table2']) <= tolerance)


@needs_golden
def test_map_of_the_stanford_arm_is_the_reference_one(stanford, golden):
    """Every coefficient agrees with an independent implementation, in its order of columns."""
    knowledge = minimal_set(stanford)
    rows = [knowledge.names.index(name) for name in LIN_1992]
    columns = (stanford.link_columns[:, None] + np.arange(10)).ravel()
    np.testing.assert_allclose(knowledge.map[np.ix_(rows, columns)],
                               golden['M_theta_from_standard'], atol=1e-12)
    assert not knowledge.map[:, stanford.drive_columns].any()
    assert not knowledge.map.flags.writeable


@needs_golden
def test_frames_of_the_stanford_arm_are_those_of_figure_2(stanford, golden):
    """The URDF has normal driving-axis frames, so they are kept; u_1^(j) is as in Table I."""
    frames = normal_frames(stanford)
    for frame in frames.in_joint:
        np.testing.assert_allclose(frame.homogeneous, np.eye(4), atol=1e-12)
    placed = frames.place(golden['configs'][0])
    u = [frame.rotation.T @ placed[0].rotation[:, 2] for frame in placed[1:]]
    np.testing.assert_allclose(u, golden['tableI_row1'], atol=5.1e-5)  # four printed digits


@needs_golden
@pytest.mark.parametrize('urdf, count', [
    ('stanford_lin1992', 33), ('puma560_gautier1991', 36), ('kuka_ir361_3axis', 15),
    ('gautier_khalil_3dof', 15), ('tx40_gautier_venture2013', 36)])
def test_robots_of_the_papers_have_minimal_sets(urdf, count):
    """On the papers' robots the constants know what the torque shows, no more and no less."""
    robot = load_robot(GOLDEN / 'urdf' / f'{urdf}.urdf')
    assert_minimal(robot, np.random.default_rng(0))
    assert len(minimal_set(robot).names) == count


@pytest.mark.parametrize('gravity', [DOWN, (9.81, 0, 0), (3.0, -5.0, 7.0)],
                         ids=['down', 'along x', 'oblique'])
@pytest.mark.parametrize('special', [False, True], ids=['general', 'special'])
def test_constants_and_torque_determine_each_other(special, gravity):
    """On random robots of any joints: the map's rows span those of the torque regressor."""
    rng = np.random.default_rng(1 + special)
    for _ in range(60 if special else 10):
        joints = [random_joint(rng, special) for _ in range(rng.integers(1, 6))]
        assert_minimal(chain(*joints, gravity=gravity), rng)


@pytest.mark.slow
def test_constants_and_torque_determine_each_other_on_many_robots():
    """The same on many more, part special and part general, also without gravity."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        joints = [random_joint(rng, rng.random() < 0.8) for _ in range(rng.integers(1, 7))]
        gravity = (DOWN, (0, 9.81, 0), rng.normal(size=3), ORIGIN)[rng.integers(4)]
        try:
            assert_minimal(chain(*joints, gravity=gravity), rng)
        except ModelError as error:
            assert 'gravity is zero' in str(error) and not any(gravity)


@pytest.mark.parametrize('axis', [Z, -Z, X, Y, (0.6, 0, 0.8)], ids=str)
def test_frames_have_the_form_of_equations_3_and_4(axis):
    """From frame to frame: b along and β about x, then d along and θ about the own z."""
    rng = np.random.default_rng(4)
    robot = chain(*[(kind, rng.uniform(-1, 1, 3), rng.choice([0, 1]) * rng.uniform(-2, 2, 3),
                     axis) for kind in (R, P, C, R, R, P, R)])
    q = rng.uniform(-1, 1, 7)
    placed = normal_frames(robot).place(q)
    for before, frame in zip(placed, placed[1:]):
        step = before.actInv(frame)
        assert abs(step.rotation[0, 2]) < 1e-12
        z_along = step.translation @ step.rotation[:, 2]
        np.testing.assert_allclose((step.translation - z_along * step.rotation[:, 2])[1:], 0,
                                   atol=1e-12)


def test_z_of_each_frame_is_the_joint_axis():
    """A joint turns its frame about z, or moves it along z, and leaves the frames before."""
    robot = chain((R, ORIGIN, ORIGIN, X), (P, (0, 1, 0), (0.3, 0, 0), Y), (C, X, TURN_X, -Z))
    frames = normal_frames(robot)
    still = frames.place(np.zeros(3))
    for j, kind in enumerate((R, P, R)):
        moved = frames.place(0.1 * np.eye(3)[j])
        step = still[j].actInv(moved[j])
        expected = pin.SE3(pin.utils.rotate('z', 0.1), np.zeros(3)) if kind == R else pin.SE3(
            np.eye(3), 0.1 * Z)
        np.testing.assert_allclose(step.homogeneous, expected.homogeneous, atol=1e-12)
        for before in range(j):
            np.testing.assert_allclose(moved[before], still[before], atol=1e-12)


def test_mass_of_a_composite_body_is_that_of_its_links():
    """m̂_i is the sum of the masses from link i on, whatever the geometry (eq. 5)."""
    rng = np.random.default_rng(5)
    robot = chain(*[random_joint(rng, special=False) for _ in range(4)])
    bodies = composite_bodies(robot, normal_frames(robot))
    np.testing.assert_allclose(bodies[:, 9] @ robot.theta, [4, 3, 2, 1], atol=1e-12)


def test_last_composite_body_is_the_last_link():
    """With the URDF's frame kept, U_n, k_n and m̂_n are its ten parameters (eqs. 14 and 16)."""
    robot = chain((R, ORIGIN, ORIGIN, Z), (R, X, TURN_X, Z))
    last = robot.link_columns[-1]
    np.testing.assert_allclose(
        composite_bodies(robot, normal_frames(robot))[-1] @ robot.theta,
        robot.theta[last:last + 10], atol=1e-12)


@pytest.mark.parametrize('names, joints, gravity', [
    (['U33_1'], [(R, ORIGIN, ORIGIN, Z)], DOWN),
    (['U33_1', 'kx_1', 'ky_1'], [(R, ORIGIN, ORIGIN, Y)], DOWN),
    (['m_1', 'm_2'], [(P, ORIGIN, ORIGIN, Z), (P, ORIGIN, TURN_X, Z)], DOWN),
    (['U33_1', 'U33_2', 'kx_2', 'ky_2'], [(R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, Z)], DOWN),
    (['U33_1', 'U33_2'], [(R, ORIGIN, ORIGIN, Z), (R, Z, ORIGIN, Z)], DOWN),
    (['U33_1', 'U33_2', 'kx_2', 'ky_2'],
     [(R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, Z)], (0, 0, 0)),
    (['m_1', 'U33_2'], [(P, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, Z)], DOWN),
    (['m_1', 'U33_2', 'kx_2', 'ky_2'], [(P, ORIGIN, ORIGIN, X), (R, X, ORIGIN, Z)], DOWN),
    (['U33_1', 'm_2'], [(R, ORIGIN, ORIGIN, Z), (P, X, ORIGIN, Z)], DOWN),
    (['U33_1', 'm_2', 'kc_2', 'kp_2'], [(R, ORIGIN, ORIGIN, Z), (P, X, ORIGIN, X)], DOWN),
    (['U33_1', *(f'{symbol}_2' for symbol in SPATIAL), 'm_3', 'kx_3', 'ky_3', 'kz_3'],
     [(R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, X), (P, X, ORIGIN, X)], DOWN),
], ids=['upright', 'pendulum', 'cartesian', 'scara', 'same axis', 'scara without gravity',
        'lifted', 'carried', 'column', 'radial', 'spatial'])
def test_theorem_2_selects_by_geometry(names, joints, gravity):
    """Each condition of the theorem, on the smallest robot that shows it."""
    assert list(minimal_set(chain(*joints, gravity=gravity)).names) == names


def test_combinations_of_a_radial_prismatic_joint():
    """A slider at right angles to the axis that carries it shows k across and along itself."""
    robot = chain((R, ORIGIN, ORIGIN, Z), (P, ORIGIN, TURN_X, Z))
    knowledge = minimal_set(robot)
    values = dict(zip(knowledge.names, knowledge.map @ robot.theta))
    k = composite_bodies(robot, normal_frames(robot))[1, 6:9] @ robot.theta
    # In its frame the vertical is y: z·(y×k) = −kx, and k's part across y along z is kz.
    assert values['kc_2'] == pytest.approx(-k[0])
    assert values['kp_2'] == pytest.approx(k[2])


def test_right_angles_of_a_few_digits_are_right_angles():
    """A URDF that writes π/2 as 1.5708 has the constants of the exact one, without a warning."""
    def names(angle: float) -> tuple[str, ...]:
        return minimal_set(chain((R, ORIGIN, (angle, 0, 0), Z), (R, X, (2 * angle, 0, 0), Z),
                                 (R, X, ORIGIN, Z), (R, X, (angle, 0, 0), Z))).names
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert names(1.5708) == names(np.pi / 2)


@pytest.mark.parametrize('joints, joint, other', [
    ([(R, ORIGIN, (0.0016, 0, 0), Z)], 'joint1', 'gravity'),
    ([(R, ORIGIN, ORIGIN, Z), (R, X, (3.14, 0, 0), Z)], 'joint2', 'the joint before it')])
def test_axes_that_are_almost_parallel_are_named(joints, joint, other):
    """Angles that are probably rounded are taken as they are, and said."""
    with pytest.warns(RobidentWarning, match=f'{joint}.*1.6e-03 rad from parallel to {other}'):
        minimal_set(chain(*joints))


def test_weightless_robot_that_turns_about_a_point_is_refused():
    """Without gravity the theorem lists first moments that no torque shows; never silently."""
    meeting = [(R, ORIGIN, ORIGIN, Z), (R, Z, ORIGIN, Z), (R, ORIGIN, TURN_X, Z)]
    with pytest.raises(ModelError, match="gravity is zero.*'joint3' meets that of 'joint1'"):
        minimal_set(chain(*meeting, gravity=ORIGIN))
    rng = np.random.default_rng(6)
    upright = chain(*meeting, gravity=DOWN)  # gravity along the first axis: the same conditions
    assert_minimal(upright, rng)
    W = stacked_regressor(chain(*meeting, gravity=ORIGIN), rng, 80)
    assert np.linalg.matrix_rank(W, tol=1e-10) == len(minimal_set(upright).names) - 2 == 7
    assert_minimal(chain(*meeting[:2], (R, X, TURN_X, Z), gravity=ORIGIN), rng)
    assert_minimal(chain((P, ORIGIN, ORIGIN, X), *meeting, gravity=ORIGIN), rng)


def test_branches_are_refused():
    """A second joint on the same link is not a serial robot; the joint is named."""
    serial = chain((R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, X)).description.tree_urdf()
    robot = load_robot(serial.replace('<parent link="link1"', '<parent link="link0"'))
    with pytest.raises(ModelError, match="chain: joint 'joint2' does not follow 'joint1'.*serial"):
        minimal_set(robot)


def test_passive_joints_are_refused():
    """A joint that follows another is not driven by itself; the joint is named."""
    urdf = chain((R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, Z)).description.tree_urdf()
    options = ModelOptions(followers={'joint2': FollowerOptions({'joint1': 1.0})})
    with pytest.raises(ModelError, match="'joint2' is passive"):
        minimal_set(load_robot(urdf, Config(model=options)))
