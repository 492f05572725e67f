"""Forward dynamics by MuJoCo against Pinocchio, and friction that slides and sticks."""

from pathlib import Path

from experiment_cases import chain, configured, middle
import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, DriveOptions, ModelOptions
from robident_ros.errors import ModelError, RobidentWarning
from robident_ros.experiment.truth import perturbed_parameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped

pytest.importorskip('mujoco')
from robident_ros.experiment.dynamics import Dynamics  # noqa: E402, I100


def inverse(robot: Robot, theta: np.ndarray, *state: np.ndarray) -> np.ndarray:
    return torque_regressor(robot, *(values[None] for values in state))[:, 0] @ theta


@pytest.mark.parametrize('name', ['arm6', 'arm7', 'kuka_ir361', 'parallelogram'])
@pytest.mark.parametrize('spread', [0.0, 0.4])
def test_mujoco_forward_undoes_pinocchio_inverse(name: str, spread: float) -> None:
    """The acceleration from the effort of (q, v, a) is a (1e-8: some 1e-10 of round-off)."""
    robot = shipped(name) if name == 'parallelogram' else configured(
        name, Config(drives=DriveOptions(terms=())))
    theta = perturbed_parameters(robot, 1, spread)
    dynamics = Dynamics(robot, theta, 0.0)
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, v, a = rng.normal(size=(3, len(robot.joint_names)))
        q = 0.3 * q + middle(robot)
        M, bias = dynamics.rigid_body(q, v)
        np.testing.assert_allclose(M @ a + bias, inverse(robot, theta, q, v, a), atol=1e-8)


def test_any_kind_of_joint_is_simulated() -> None:
    robot = load_robot(chain(('', '', ''), kinds=('prismatic', 'continuous', 'revolute')))
    dynamics = Dynamics(robot, robot.theta, 0.0)
    q, v, a = np.random.default_rng(9).normal(size=(3, 3))
    M, bias = dynamics.rigid_body(q, v)
    np.testing.assert_allclose(M @ a + bias, inverse(robot, robot.theta, q, v, a), atol=1e-9)


def test_mass_matrix_is_pinocchios() -> None:
    robot = shipped('arm7')
    dynamics = Dynamics(robot, robot.theta, 0.0)
    q = np.random.default_rng(3).uniform(-1, 1, 7)
    M = pin.crba(robot.tree, robot.tree.createData(), q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(dynamics.rigid_body(q, np.zeros(7))[0], M, atol=1e-12)


@pytest.mark.parametrize('width', [0.0, 0.02])
def test_all_drive_terms_act_as_in_the_regressor(width: float) -> None:
    """Coupled rotors and friction, offsets: effort = d(q, v, a)·θ at the speed of the middle."""
    names = [f'joint{i}' for i in range(1, 7)]
    drives = DriveOptions(couplings={'joint6': {'joint5': 1.0, 'joint6': 1.0}},
                          rotor_inertia=dict.fromkeys(names, 0.1), coulomb_width=width)
    robot = configured('arm6', Config(drives=drives))
    theta = np.array(robot.theta)
    theta[robot.drive_columns] = np.random.default_rng(4).uniform(0.1, 1,
                                                                  len(robot.drive_columns))
    dynamics = Dynamics(robot, theta, width)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, w, tau = rng.uniform(0.2, 1, (3, 6)) * [[1], [1], [30]]
        M, bias = dynamics.rigid_body(q, w)
        a = dynamics.acceleration(M, tau - bias, w, w, 1e-6)
        np.testing.assert_allclose(inverse(robot, theta, q, w + 5e-7 * a, a), tau, atol=1e-3)


def test_gravity_and_locked_joints_are_the_robots() -> None:
    model = ModelOptions(gravity=(0.0, 9.81, 0.0), locked={'joint2': 0.7, 'joint4': -0.4})
    robot = configured('arm6', Config(model=model))
    dynamics = Dynamics(robot, robot.theta, 0.0)
    q, v, a = np.random.default_rng(6).normal(size=(3, 4))
    M, bias = dynamics.rigid_body(q, v)
    np.testing.assert_allclose(M @ a + bias, inverse(robot, robot.theta, q, v, a), atol=1e-9)


# --- friction ------------------------------------------------------------------------------------

def pendulum_chain(level: float, width: float) -> Dynamics:
    friction = f'<dynamics friction="{level}"/>'
    robot = load_robot(chain(('', ''), more=(friction, friction)),
                       Config(model=ModelOptions(gravity=(0.0, 0.0, 0.0))))
    return Dynamics(robot, robot.theta, width)


def test_sharp_friction_sticks_up_to_its_level() -> None:
    """At rest nothing moves under less effort than the level; more than that moves it."""
    dynamics, rest, h = pendulum_chain(2.0, 0.0), np.zeros(2), 1e-3
    M, bias = dynamics.rigid_body(rest, rest)
    held = dynamics.acceleration(M, np.array([1.9, -1.9]) - bias, rest, rest, h)
    np.testing.assert_allclose(held, 0, atol=1e-9)
    moved = dynamics.acceleration(M, np.array([2.5, 0.0]) - bias, rest, rest, h)
    assert moved[0] > 0


def test_sharp_friction_stops_a_joint_without_turning_it_back() -> None:
    dynamics, h = pendulum_chain(2.0, 0.0), 1e-3
    q, w = np.zeros(2), np.array([1e-4, -2e-4])
    M, bias = dynamics.rigid_body(q, w)
    a = dynamics.acceleration(M, -bias, w, w, h)
    np.testing.assert_allclose(w + h * a, 0, atol=1e-12)


def test_stuck_and_sliding_joints_together_obey_the_law() -> None:
    """Each friction is within its level, and at it against the motion where the joint slides."""
    dynamics, h = pendulum_chain(2.0, 0.0), 1e-3
    rng = np.random.default_rng(7)
    for _ in range(50):
        w, tau = rng.normal(size=2) * [1e-2, 1e-2], rng.normal(size=2) * 10
        M, bias = dynamics.rigid_body(np.array([0.0, 1.0]), w)
        a = dynamics.acceleration(M, tau - bias, w, w, h)
        friction, after = tau - bias - M @ a, w + h * a
        assert np.abs(friction).max() <= 2.0 + 1e-9
        sliding = np.abs(after) > 1e-7
        np.testing.assert_allclose(friction[sliding], 2.0 * np.sign(after[sliding]), atol=1e-6)


@pytest.mark.parametrize('width', [1e-4, 1e-2, 1.0])
def test_smooth_friction_is_solved_however_steep(width: float) -> None:
    dynamics, h = pendulum_chain(2.0, width), 1e-3
    rng = np.random.default_rng(8)
    for _ in range(50):
        w, tau = rng.normal(size=2) * 1e-2, rng.normal(size=2) * 10
        M, bias = dynamics.rigid_body(np.array([0.0, 1.0]), w)
        a = dynamics.acceleration(M, tau - bias, w, w, h)
        friction = 2.0 * np.tanh((w + h / 2 * a) / width)
        np.testing.assert_allclose(M @ a + friction, tau - bias, atol=1e-6)


# --- refusals ------------------------------------------------------------------------------------

def test_joint_without_any_inertia_is_refused(tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """A rotor mends it; MuJoCo, which writes its warnings into the folder, has none."""
    monkeypatch.chdir(tmp_path)
    text = chain(('', ''))
    begin = text.rindex('<inertial>')
    text = text[:begin] + text[text.rindex('</inertial>') + len('</inertial>'):]
    with pytest.warns(RobidentWarning, match='have no mass'):
        robot = load_robot(text)
    with pytest.raises(ModelError, match="joint 'j2' moves too little inertia; give it a rotor"):
        Dynamics(robot, robot.theta, 0.0)
    theta = np.array(robot.theta)
    theta[robot.parameter_names.index('Ia2')] = 0.1
    Dynamics(robot, theta, 0.0)
    assert not list(tmp_path.iterdir())


def test_impossible_bodies_are_refused() -> None:
    robot = shipped('puma560')
    with pytest.raises(ModelError, match='puma560.urdf: cannot be simulated'):
        Dynamics(robot, robot.theta, 0.0)
