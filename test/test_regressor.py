"""Regressors reproduce torque, energy and power of independent implementations."""

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, DriveOptions, ModelOptions
from robident_ros.model.regressor import energy_difference_regressor, energy_regressor
from robident_ros.model.regressor import energy_regressor_product
from robident_ros.model.regressor import power_regressor, simplified_regressor, stack
from robident_ros.model.regressor import torque_regressor, torque_regressor_chunks
from robident_ros.model.regressor import torque_regressor_product
from robident_ros.model.robot import load_robot, Robot
from shipped import random_samples, ROBOTS, ROOT, shipped

# Every column of the drives gets a value, whatever the robot.
FRICTION = {'Ia': 0.3, 'Fv': 0.7, 'Fc': 0.4, 'off': -0.2}


def with_friction(name: str, width: float = 0.0) -> tuple[Robot, np.ndarray]:
    """Return a shipped robot with all drive terms, and parameters with friction."""
    config = shipped(name).config
    drives = DriveOptions(coulomb_width=width, couplings=config.drives.couplings)
    robot = load_robot(ROOT / 'urdf' / f'{name}.urdf', Config(config.model, drives))
    theta = np.array(robot.theta)
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        theta[column] = FRICTION[term.symbol]
    return robot, theta


def drive_torque(robot: Robot, v: np.ndarray, a: np.ndarray, width: float) -> np.ndarray:
    """Return what the drives add, written out motor by motor, (N, n)."""
    torque = np.zeros_like(v)
    for term in robot.drive_terms:
        speed, acceleration = v @ term.row, a @ term.row
        sign = np.tanh(speed / width) if width else np.sign(speed)
        value = {'Ia': acceleration, 'Fv': speed, 'Fc': sign, 'off': np.ones(len(v))}[term.symbol]
        torque += FRICTION[term.symbol] * np.outer(value, term.row)
    return torque


@pytest.mark.parametrize('width', [0.0, 0.05])
@pytest.mark.parametrize('name', ROBOTS)
def test_torque_is_inverse_dynamics_plus_drives(name: str, width: float) -> None:
    """W·θ = Gᵀ RNEA + drives to 1e-10, passive joints and couplings included."""
    robot, theta = with_friction(name, width)
    q, v, a = random_samples(robot, 20)
    G, c, data = robot.joint_map.G, robot.joint_map.c, robot.tree.createData()
    rnea = [G.T @ pin.rnea(robot.tree, data, G @ q_k + c, G @ v_k, G @ a_k)
            for q_k, v_k, a_k in zip(q, v, a)]
    expected = np.array(rnea) + drive_torque(robot, v, a, width)
    W = torque_regressor(robot, q, v, a)
    np.testing.assert_allclose((W @ theta).T, expected, atol=1e-10)
    at_rest = simplified_regressor(robot, q, a)
    np.testing.assert_array_equal(at_rest, torque_regressor(robot, q, 0 * v, a))


@pytest.mark.parametrize('name', ROBOTS)
def test_torque_equals_that_of_mujoco(name: str) -> None:
    """An independent implementation, with the same inertials, to 1e-8."""
    from test_shipped_robots import mujoco_inverse_dynamics
    robot = shipped(name)
    q, v, a = random_samples(robot, 5)
    G, c = robot.joint_map.G, robot.joint_map.c
    tree = np.array([mujoco_inverse_dynamics(name, G @ q_k + c, G @ v_k, G @ a_k)
                     for q_k, v_k, a_k in zip(q, v, a)])
    inertial = (robot.link_columns[:, None] + np.arange(10)).ravel()
    W = torque_regressor(robot, q, v, a)[..., inertial]
    np.testing.assert_allclose((W @ robot.theta[inertial]).T, tree @ G, atol=1e-8)


@pytest.mark.parametrize('name', ROBOTS)
def test_energy_changes_by_the_work_of_the_torques(name: str) -> None:
    """ΔH = ∫ τᵀq̇ dt, all drive terms included; fine steps make the quadrature exact to 1e-6."""
    robot, theta = with_friction(name, width=0.5)
    n = len(robot.joint_names)
    t = np.linspace(0, 2, 4001)
    rate = 1 + np.arange(n)
    q, v, a = (np.sin(np.outer(t, rate) + 0.3), rate * np.cos(np.outer(t, rate) + 0.3),
               -rate**2 * np.sin(np.outer(t, rate) + 0.3))
    power = power_regressor(robot, q, v, a) @ theta
    work = (power[1:] + power[:-1]) / 2 * np.diff(t)
    difference = energy_difference_regressor(robot, t, q, v) @ theta
    scale = np.abs(work).sum()
    np.testing.assert_allclose(np.cumsum(difference), np.cumsum(work), atol=1e-5 * scale)


@pytest.mark.parametrize('name', ROBOTS)
def test_energy_is_pinocchios_up_to_a_constant(name: str) -> None:
    robot = shipped(name)
    q, v, _ = random_samples(robot, 5)
    G, c, data = robot.joint_map.G, robot.joint_map.c, robot.tree.createData()
    inertial = (robot.link_columns[:, None] + np.arange(10)).ravel()
    expected = [pin.computeKineticEnergy(robot.tree, data, G @ q_k + c, G @ v_k)
                + pin.computePotentialEnergy(robot.tree, data, G @ q_k + c)
                for q_k, v_k in zip(q, v)]
    energy = energy_regressor(robot, q, v)[:, inertial] @ robot.theta[inertial]
    np.testing.assert_allclose(np.diff(energy), np.diff(expected), atol=1e-9)


@pytest.mark.parametrize('name', ['tx40', 'parallelogram', 'stanford', 'arm7'])
def test_energy_product_equals_finite_differences(name: str) -> None:
    robot, _ = with_friction(name)
    motion = random_samples(robot, 4)[:2]
    h_bar = np.random.default_rng(1).normal(size=energy_regressor(robot, *motion).shape)
    for which, bar in enumerate(energy_regressor_product(robot, h_bar, *motion)):
        for joint in range(len(robot.joint_names)):
            step = np.zeros_like(motion)
            step[which, :, joint] = 1e-6
            difference = (energy_regressor(robot, *(motion + step))
                          - energy_regressor(robot, *(motion - step))) / 2e-6
            expected = np.sum(h_bar * difference, axis=1)
            scale = np.abs(h_bar * difference).sum() + 1
            np.testing.assert_allclose(bar[:, joint], expected, atol=1e-8 * scale)


def test_published_torques(golden: dict) -> None:
    """Samples computed by code that knows neither URDF nor Pinocchio."""
    names = {'puma560': 'puma560_gautier1991', 'gautier_khalil_3dof': 'gautier_khalil_3dof',
             'stanford': 'stanford_lin1992', 'tx40': 'tx40_gautier_venture2013'}
    for name, reference in names.items():
        robot, sample = shipped(name), golden['samples'][reference]
        inertial = (robot.link_columns[:, None] + np.arange(10)).ravel()
        W = torque_regressor(robot, *(np.array([sample[key]]) for key in ('q', 'qd', 'qdd')))
        np.testing.assert_allclose(W[:, 0, inertial] @ robot.theta[inertial], sample['tau'],
                                   atol=sample['tol'])


@pytest.mark.parametrize('name', ['tx40', 'parallelogram', 'stanford', 'arm7'])
def test_product_equals_finite_differences(name: str) -> None:
    """The whole chain: kernel, passive joints, couplings, smooth friction."""
    robot, _ = with_friction(name, width=0.5)
    motion = random_samples(robot, 4)
    W_bar = np.random.default_rng(1).normal(size=torque_regressor(robot, *motion).shape)
    for which, bar in enumerate(torque_regressor_product(robot, W_bar, *motion)):
        for joint in range(len(robot.joint_names)):
            step = np.zeros_like(motion)
            step[which, :, joint] = 1e-6
            difference = (torque_regressor(robot, *(motion + step))
                          - torque_regressor(robot, *(motion - step))) / 2e-6
            expected = np.sum(W_bar * difference, axis=(0, 2))
            scale = np.abs(W_bar * difference).sum() + 1
            np.testing.assert_allclose(bar[:, joint], expected, atol=1e-8 * scale)


def test_chunks_are_the_whole() -> None:
    robot = shipped('arm7')
    q, v, a = random_samples(robot, 50)
    W = torque_regressor(robot, q, v, a)
    parts = [(part, block.copy())
             for part, block in torque_regressor_chunks(robot, q, v, a, chunk=16)]
    assert [part.stop for part, _ in parts] == [16, 32, 48, 50]
    np.testing.assert_array_equal(np.concatenate([block for _, block in parts], axis=1), W)


@pytest.mark.parametrize('name', ['arm6', 'parallelogram', 'tx40'])
def test_an_earlier_result_can_be_overwritten(name: str) -> None:
    robot = shipped(name)
    W = torque_regressor(robot, *random_samples(robot, 10, seed=1))
    motion = random_samples(robot, 10, seed=2)
    assert np.shares_memory(torque_regressor(robot, *motion, out=W), W)
    np.testing.assert_array_equal(W, torque_regressor(robot, *motion))
    with pytest.raises(ValueError, match='out has shape'):
        torque_regressor(robot, *motion, out=W[:, :5])


def test_stacking_copies_nothing_and_is_in_lapacks_order() -> None:
    robot = shipped('arm6')
    W = torque_regressor(robot, *random_samples(robot, 10))
    stacked = stack(W)
    assert np.shares_memory(stacked, W) and stacked.flags.f_contiguous
    np.testing.assert_array_equal(stacked[10:20], W[1])


def test_one_joint_and_closed_arrays_are_no_special_case() -> None:
    """A column of one joint is a view of itself; the compiled kernel wants its own copy."""
    robot = load_robot((ROOT / 'urdf' / 'arm6.urdf').read_text(),
                       Config(ModelOptions(joints=('joint2',))))
    q, v, a = random_samples(robot, 5)
    closed = q.copy()
    closed.setflags(write=False)
    np.testing.assert_array_equal(torque_regressor(robot, closed, v, a),
                                  torque_regressor(robot, q, v, a))


def test_samples_of_another_robot_are_refused() -> None:
    q = np.zeros((3, 7))
    with pytest.raises(ValueError, match=r'shape \(3, 7\), expected \(N, 6\).*joint1'):
        torque_regressor(shipped('arm6'), q, q, q)


def test_a_coupled_motor_loads_both_joints() -> None:
    """TX-40 wrist (paper 003, eqs. 34–35): motor 6 turns with q̇5 + q̇6."""
    robot = shipped('tx40')
    _, v, a = random_samples(robot, 3)
    W = torque_regressor(robot, 0 * v, v, a)
    index = robot.parameter_names.index
    assert robot.parameter_names[-2:] == ('Fvm6', 'Fcm6')
    for joint in (4, 5):
        np.testing.assert_allclose(W[joint, :, index('Ia6')], a[:, 4] + a[:, 5])
        np.testing.assert_allclose(W[joint, :, index('Fvm6')], v[:, 4] + v[:, 5])
        np.testing.assert_allclose(W[joint, :, index('Fcm6')], np.sign(v[:, 4] + v[:, 5]))
    assert not W[4, :, index('Fv6')].any() and not W[:4, :, index('Ia6')].any()
