"""Motions of one joint at a time: within limits, by the paper's rules, and provably enough."""

import warnings

import numpy as np
import pytest
from robident_ros.config import Config, LimitOptions, ModelOptions
from robident_ros.errors import ExcitationError, ModelError, RobidentWarning
from robident_ros.excitation.limits import design_limits
from robident_ros.excitation.single_joint import SingleJointMotion, SingleJointPlan
from robident_ros.excitation.single_joint_design import coefficients, design_single_joint
from robident_ros.excitation.single_joint_design import unidentified
from robident_ros.excitation.trajectory import load_trajectory, save_trajectory, Trajectory
from robident_ros.model.composite import minimal_set
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot, Robot
from shipped import ROOT
from test_composite import C, chain, DOWN, ORIGIN, P, R, random_joint, TURN_X, X, Z

SERIAL = ('arm6', 'arm7', 'gautier_khalil_3dof', 'kuka_ir361', 'puma560', 'stanford', 'tx40')


def serial(name: str) -> Robot:
    return load_robot(ROOT / 'urdf' / f'{name}.urdf')


def identify(robot: Robot, plan: SingleJointPlan) -> dict[str, float]:
    """Run the recursion of Algorithm 2 on torques without noise."""
    knowledge = minimal_set(robot)
    to_constants = np.linalg.pinv(knowledge.map)
    found = np.zeros(len(knowledge.names))
    for step in plan.steps:
        new = [knowledge.names.index(name) for name in step[0].constants]
        C, tau = [], []
        for motion in step:
            t = np.arange(24) / 24 * motion.period
            W = torque_regressor(robot, *motion.sample(t))
            tau.append(W[robot.joint_names.index(motion.observed)] @ robot.theta)
            C.append(coefficients(robot, motion, to_constants))
        C = np.vstack(C)
        found[new] += np.linalg.lstsq(C[:, new], np.concatenate(tau) - C @ found, rcond=None)[0]
    return dict(zip(knowledge.names, found))


@pytest.mark.parametrize('name', SERIAL)
def test_plans_identify_the_minimal_set(name: str) -> None:
    """By rank, and by recovering every constant from torques without noise."""
    robot = serial(name)
    plan = design_single_joint(robot, draws=10)
    assert sorted(plan.constants) == sorted(minimal_set(robot).names)
    assert unidentified(robot, plan) == ()
    exact = dict(zip(minimal_set(robot).names, minimal_set(robot).map @ robot.theta))
    found = identify(robot, plan)
    # 1e-10 as in the reference, times the size of the constants before it in the recursion.
    scale = max(map(abs, exact.values()))
    assert found == pytest.approx(exact, abs=1e-9 * max(scale, 1))


@pytest.mark.parametrize('name', SERIAL)
def test_motions_keep_the_limits_and_move_one_joint(name: str) -> None:
    """From rest to rest, with zero accelerations there; one of the limits is reached."""
    robot = serial(name)
    limits = design_limits(robot)
    for motion in design_single_joint(robot, draws=2).motions:
        assert isinstance(motion, Trajectory)
        q, v, a = motion.sample(np.linspace(0, motion.period, 1001))
        assert np.all(q >= limits.lower - 1e-9) and np.all(q <= limits.upper + 1e-9)
        assert np.all(np.abs(v) <= limits.velocity * (1 + 1e-9))
        assert np.all(np.abs(a) <= limits.acceleration * (1 + 1e-9))
        moving = robot.joint_names.index(motion.joint)
        assert np.flatnonzero(np.ptp(q, axis=0) > 1e-9).tolist() == [moving]
        assert np.ptp(q[:, moving]) == pytest.approx(motion.stroke, rel=1e-9)
        np.testing.assert_allclose([v[0], v[-1], a[0], a[-1]], 0, atol=1e-9)
        share = max(np.abs(v[:, moving]).max() / limits.velocity[moving],
                    np.abs(a[:, moving]).max() / limits.acceleration[moving])
        assert share == pytest.approx(1, abs=1e-4)  # as near as samples come to a maximum


def test_the_plan_of_the_stanford_arm_is_that_of_the_paper() -> None:
    """Section 4: joint 1 moves for all; m̂₃ is shown by joint 3 and U33 of body 2 by joint 2."""
    plan = design_single_joint(serial('stanford'), draws=10)
    observed = [step[0].observed for step in plan.steps]
    assert observed == ['joint3', 'joint6', 'joint5', 'joint4', 'joint3', 'joint2', 'joint1']
    moved = [[motion.joint for motion in step] for step in plan.steps]
    assert moved == [['joint3'], *[['joint1'] * 3] * 4, ['joint1'] * 3 + ['joint2'], ['joint1']]
    wrist = plan.steps[1]
    assert len({motion.locked['joint6'] for motion in wrist}) == 3
    assert len({motion.locked['joint4'] for motion in wrist}) == 1


@pytest.mark.parametrize('joints, gravity, moved', [
    ([(R, ORIGIN, ORIGIN, Z)], DOWN, {'U33_1': 'joint1'}),
    ([(R, ORIGIN, ORIGIN, X)], DOWN, {'U33_1': 'joint1', 'kx_1': 'joint1'}),
    ([(P, ORIGIN, ORIGIN, Z), (P, ORIGIN, ORIGIN, X)], DOWN, {'m_1': 'joint1', 'm_2': 'joint2'}),
    ([(R, ORIGIN, ORIGIN, X), (R, Z, ORIGIN, X)], DOWN, {'U33_2': 'joint1', 'kx_2': 'joint1'}),
    ([(R, ORIGIN, ORIGIN, Z), (R, Z, ORIGIN, Z), (R, X, ORIGIN, Z)], DOWN,
     {'U33_3': 'joint1', 'kx_3': 'joint1', 'U33_2': 'joint1'}),
    ([(P, ORIGIN, ORIGIN, X), (R, X, ORIGIN, Z)], DOWN, {'kx_2': 'joint2 joint1'}),
    ([(R, ORIGIN, ORIGIN, Z), (P, X, ORIGIN, X)], DOWN, {'kc_2': 'joint1', 'm_2': 'joint2'}),
    ([(R, ORIGIN, ORIGIN, Z), (R, X, ORIGIN, X)], DOWN, {'U33_2': 'joint1 joint2'}),
    ([(R, ORIGIN, ORIGIN, Z), (R, X, (0.5, 0, 0), Z)], DOWN, {'U33_2': 'joint1'}),
], ids=['3.1 last', '3.1a alone', '1', '3.1a', '3.1b', '3.1c', '3.2', '2.1 perpendicular', '2.1'])
def test_each_condition_of_algorithm_2_chooses_its_joints(joints, gravity, moved: dict) -> None:
    """The smallest robots that show a condition, and which joints the paper moves there."""
    robot = chain(*joints, gravity=gravity)
    plan = design_single_joint(robot, draws=10)
    found = {name: ' '.join(dict.fromkeys(motion.joint for motion in step))
             for step in plan.steps for name in step[0].constants}
    assert {name: found[name] for name in moved} == moved
    assert unidentified(robot, plan) == ()


def plans_are_complete(rng: np.random.Generator, count: int) -> None:
    for _ in range(count):
        joints = [random_joint(rng, rng.random() < 0.7) for _ in range(rng.integers(1, 7))]
        gravity = (DOWN, (0, 9.81, 0), rng.normal(size=3), ORIGIN)[rng.integers(4)]
        robot = chain(*joints, gravity=gravity)
        try:
            names = minimal_set(robot).names
        except ModelError:
            continue  # a weightless robot whose minimal set is not known
        plan = design_single_joint(robot, draws=10)
        assert sorted(plan.constants) == sorted(names)
        assert unidentified(robot, plan) == ()


def test_random_robots_are_identified() -> None:
    """Any joints in any placement, under gravity of any direction or none."""
    plans_are_complete(np.random.default_rng(0), 15)


@pytest.mark.slow
def test_many_random_robots_are_identified() -> None:
    plans_are_complete(np.random.default_rng(1), 150)


def test_what_a_shortened_plan_leaves_unknown_is_named() -> None:
    """Without the wrist's motions its constants are unknown, and so is all that builds on them."""
    robot = serial('stanford')
    plan = design_single_joint(robot, draws=5)
    short = SingleJointPlan(tuple(motion for motion in plan.motions if 'kx_3' not in
                                  motion.constants))
    missing = unidentified(robot, short)
    assert {'kx_3', 'ky_3', 'kz_3'} <= set(missing)
    assert not {'U33_6', 'U33_5', 'U33_4', 'm_3'} & set(missing)
    one = SingleJointPlan(plan.steps[1][:1])  # one configuration of three
    assert set(plan.steps[1][0].constants) <= set(unidentified(robot, one))


def test_motions_that_are_not_accepted_are_not_made() -> None:
    robot = serial('kuka_ir361')

    def high(motion: SingleJointMotion) -> bool:
        return motion.position[1] > 0

    plan = design_single_joint(robot, accept=high)
    assert all(map(high, plan.motions)) and unidentified(robot, plan) == ()
    with pytest.raises(ExcitationError, match='no motion for .*U33_3.* was accepted'):
        design_single_joint(robot, accept=lambda motion: False, draws=2)


def test_a_constant_that_cannot_be_shown_is_named() -> None:
    """The second joint hardly moves, so that its body is seen in one position only."""
    urdf = chain((R, ORIGIN, ORIGIN, Z), (C, X, TURN_X, Z)).description.xml
    stuck = Config(model=ModelOptions(limits={'joint2': LimitOptions(lower=0.0, upper=1e-9)}))
    with pytest.raises(ExcitationError, match=r'chain: \S+_2 cannot be identified.*joint2'):
        design_single_joint(load_robot(urdf, stuck), draws=3)


def test_trees_are_refused() -> None:
    with pytest.raises(ModelError, match='is passive'), warnings.catch_warnings():
        warnings.simplefilter('ignore', RobidentWarning)
        design_single_joint(serial('parallelogram'))


def test_a_file_brings_the_plan_back(tmp_path) -> None:
    plan = design_single_joint(serial('kuka_ir361'), draws=2)
    path = tmp_path / 'plan.yaml'
    save_trajectory(plan, path)
    again = load_trajectory(path)
    assert again.to_data() == plan.to_data()
    assert again.steps[0][0].locked == plan.steps[0][0].locked
    path.write_text(path.read_text().replace('joint: joint1', 'joint: joint9', 1))
    with pytest.raises(ExcitationError, match="is damaged.*there is no joint 'joint9'"):
        load_trajectory(path)
