"""A robot from its URDF: joints by name, followers, locked joints, limits, mounting."""

import numpy as np
import pytest
from robident_ros.config import Config, DriveOptions, FollowerOptions, LimitOptions, ModelOptions
from robident_ros.errors import ConfigError, ModelError, RobidentWarning
from robident_ros.model.parameters import from_inertial
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot, Robot
from shipped import random_samples, ROBOTS, ROOT, shipped

LINK = """<link name="l{i}"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="{i}"/>
<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="0.3" izz="2"/></inertial></link>"""
JOINT = """<joint name="j{i}" type="{kind}"><parent link="l{parent}"/><child link="l{i}"/>
<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>{more}
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>"""


def chain(*kinds: str, more: dict[int, str] = {}, gravity_along_axis: bool = False) -> str:
    links = ''.join(LINK.format(i=i) for i in range(1, len(kinds) + 1))
    joints = ''.join(JOINT.format(i=i, parent=i - 1, kind=kind, more=more.get(i, ''))
                     for i, kind in enumerate(kinds, start=1))
    return f'<robot name="chain"><link name="l0"/>{links}{joints}</robot>'


def configured(urdf: str, **model) -> Robot:
    return load_robot(urdf, Config(model=ModelOptions(**model)))


def test_every_joint_has_fourteen_standard_parameters_in_the_papers_order() -> None:
    robot = load_robot(chain('revolute', 'prismatic'))
    assert robot.parameter_names[:14] == (
        'XX1', 'XY1', 'XZ1', 'YY1', 'YZ1', 'ZZ1', 'MX1', 'MY1', 'MZ1', 'M1',
        'Ia1', 'Fv1', 'Fc1', 'off1')
    assert len(robot.parameters) == 28
    assert [p.unit for p in robot.parameters if p.symbol == 'Ia'] == ['kg·m²', 'kg']


def test_a_priori_values_are_the_inertials_of_the_urdf() -> None:
    """Fixed links belong to the link that carries them; damping and friction are the drives'."""
    more = {1: '<dynamics damping="0.5" friction="0.25"/>'}
    robot = load_robot(chain('revolute', 'fixed', more=more))
    inertia = np.array([[1, .1, .2], [.1, 1.5, .3], [.2, .3, 2]])
    expected = sum(from_inertial(i, np.array([.1 + x, .2, .3]), inertia)
                   for i, x in ((1, 0), (2, .5)))
    np.testing.assert_allclose(robot.theta[:10], expected, rtol=1e-14)
    assert dict(zip(robot.parameter_names[10:], robot.theta[10:])) == {
        'Ia1': 0, 'Fv1': .5, 'Fc1': .25, 'off1': 0}


def test_locked_joints_are_merged_where_they_stand() -> None:
    """Locking the last joint at q gives the torques of the whole robot at (…, q), at rest."""
    whole = load_robot(chain('revolute', 'revolute'))
    part = configured(chain('revolute', 'revolute'), joints=('j1',), locked={'j2': 0.7})
    q, v, a = random_samples(part, 5)
    at = np.hstack([q, np.full_like(q, 0.7)])
    still = np.zeros_like(q)
    W = torque_regressor(whole, at, np.hstack([v, still]), np.hstack([a, still]))
    assert part.joint_names == ('j1',)
    np.testing.assert_allclose(torque_regressor(part, q, v, a)[0] @ part.theta,
                               W[0] @ whole.theta, rtol=1e-12)


def test_locked_joints_alone_leave_the_others_free() -> None:
    robot = configured(chain('revolute', 'revolute', 'revolute'), locked={'j2': 0.5})
    assert robot.joint_names == ('j1', 'j3') and robot.joint_map.locked == {'j2': 0.5}


def test_mimic_joints_follow_through_chains_and_offsets() -> None:
    robot = load_robot(chain('revolute', 'revolute', 'revolute', more={
        2: '<mimic joint="j1" multiplier="-2" offset="0.1"/>',
        3: '<mimic joint="j2" multiplier="3" offset="0.2"/>'}))
    assert robot.joint_names == ('j1',) and robot.tree_joint_names == ('j1', 'j2', 'j3')
    np.testing.assert_allclose(robot.joint_map.G, [[1], [-2], [-6]])
    np.testing.assert_allclose(robot.joint_map.c, [0, 0.1, 0.5])


def test_a_passive_joint_may_follow_two_others() -> None:
    robot = configured(chain(*['revolute'] * 3),
                       followers={'j2': FollowerOptions({'j1': -1.0, 'j3': 1.0}, 0.25)})
    assert robot.joint_names == ('j1', 'j3')
    np.testing.assert_allclose(robot.joint_map.G, [[1, 0], [-1, 1], [0, 1]])


def test_a_follower_of_a_locked_joint_is_locked_with_it() -> None:
    robot = configured(chain(*['revolute'] * 3, more={3: '<mimic joint="j2" multiplier="2"/>'}),
                       joints=('j1',), locked={'j2': 0.5})
    assert robot.joint_map.locked == {'j2': 0.5, 'j3': 1.0}


def test_limits_come_from_the_urdf_and_are_overridden_by_the_configuration() -> None:
    robot = configured(chain('revolute', 'revolute'),
                       limits={'j2': LimitOptions(upper=0.5, acceleration=3)})
    assert list(robot.limits.upper) == [1, 0.5] and list(robot.limits.lower) == [-1, -1]
    assert list(robot.limits.acceleration) == [np.inf, 3]


def test_mounting_on_a_wall_turns_gravity_into_torque() -> None:
    """A vertical axis carries no gravity on the floor, but does on a wall."""
    for gravity, loaded in (((0, 0, -9.81), False), ((-9.81, 0, 0), True)):
        robot = configured(chain('revolute'), gravity=gravity)
        zero = np.zeros((1, 1))
        assert bool(torque_regressor(robot, zero, zero, zero)[0] @ robot.theta) is loaded


@pytest.mark.parametrize('name', ROBOTS)
def test_shipped_robots_load_without_a_warning(name: str, recwarn) -> None:
    load_robot(ROOT / 'urdf' / f'{name}.urdf', shipped(name).config)
    assert not recwarn.list


def test_links_without_mass_are_a_warning_that_names_the_joint() -> None:
    urdf = chain('revolute', 'revolute')
    start, end = urdf.index('<inertial>', urdf.index('"l2"')), urdf.rindex('</inertial>')
    with pytest.warns(RobidentWarning, match="joint 'j2': the links it moves have no mass"):
        load_robot(urdf[:start] + urdf[end + len('</inertial>'):])


@pytest.mark.parametrize(('model', 'message'), [
    ({'joints': ('j9',)}, "model: joints: there is no movable joint 'j9', known are: j1, j2"),
    ({'locked': {'j9': 0.0}}, "model: locked: there is no movable joint 'j9'"),
    ({'joints': ('j1',), 'locked': {'j1': 0.0}}, "'j1' is both among joints and locked"),
    ({'joints': ()}, 'no joint is left to move'),
    ({'limits': {'x': LimitOptions()}}, "model: limits: there is no 'x'"),
    ({'limits': {'j1': LimitOptions(lower=2)}}, 'j1: lower limit 2.0 is above the upper limit'),
    ({'gravity': (0.0, 1.0)}, 'gravity: has 2 numbers, expected three'),
    ({'followers': {'j9': FollowerOptions()}}, "followers: j9: there is no movable joint 'j9'"),
    ({'followers': {'j2': FollowerOptions({'j1': 1.0})}, 'joints': ('j2',)},
     "joint 'j2' follows j1 and cannot be moved or locked by itself"),
    ({'zero': ('XX9',)}, "model: zero: there is no 'XX9', did you mean 'XX"),
])
def test_mistakes_in_the_configuration_are_named(model: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(chain('revolute', 'revolute'), **model)


@pytest.mark.parametrize(('more', 'message'), [
    ({2: '<mimic joint="j9"/>'}, "joint 'j2': mimics 'j9', which does not move"),
    ({1: '<mimic joint="j2"/>', 2: '<mimic joint="j1"/>'}, 'j1 → j2 → j1 follow each other'),
])
def test_impossible_mimics_are_refused(more: dict, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_robot(chain('revolute', 'revolute', more=more))


@pytest.mark.parametrize(('drives', 'message'), [
    ({'couplings': {'j9': {'j1': 1.0}}}, "couplings: j9: there is no joint 'j9'"),
    ({'couplings': {'j2': {'j1': 1.0}}}, "the motor must turn with 'j2'"),
    ({'gains': {'x': 1.0}}, "drives: gains: there is no 'x'"),
    ({'rotor_inertia': {'x': 1.0}}, "drives: rotor_inertia: there is no 'x'"),
])
def test_mistakes_in_the_drives_are_named(drives: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_robot(chain('revolute', 'revolute'), Config(drives=DriveOptions(**drives)))
