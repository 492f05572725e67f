"""The simulated robot: its recordings prove themselves, and faults end in a hold."""

from dataclasses import replace
from functools import cache

from experiment_cases import chain, configured, middle, random_trajectory
import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, DriveOptions, ExperimentOptions, ModelOptions
from robident_ros.config import SimulationOptions
from robident_ros.errors import ExperimentError
from robident_ros.experiment.safety import Envelope, JointState, Monitor
from robident_ros.experiment.timeline import plan_timeline, Timeline
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import stack, torque_regressor
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped

pytest.importorskip('mujoco')
from robident_ros.experiment.simulator import record, Simulator  # noqa: E402, I100

EXACT = SimulationOptions(position_resolution=0.0, velocity_noise=0.0, effort_noise=0.0)
EXPERIMENT = ExperimentOptions(periods=1, ramp_s=1.0)


def with_drives(robot: Robot, **options: float) -> SimulationOptions:
    """Return exact sensors, and friction, rotors and offsets in all joints."""
    names = robot.joint_names
    return replace(EXACT, rotor_inertia=dict.fromkeys(names, 0.1),
                   viscous=dict.fromkeys(names, 1.0), coulomb=dict.fromkeys(names, 1.5),
                   offset=dict.fromkeys(names, 0.3), **options)


def follow(simulator: Simulator, timeline: Timeline, rate_hz: float = 100.0) -> None:
    points = timeline.points(rate_hz)
    simulator.follow(timeline.joint_names, points.t, points.q, points.v, points.a)


def run(simulator: Simulator, steps: int) -> tuple[np.ndarray, ...]:
    """Return true q, v, a and effort at each step."""
    rows = []
    for _ in range(steps):
        simulator.step()
        rows.append((simulator.q, simulator.v, simulator.a, simulator.effort))
    return tuple(np.array(values) for values in zip(*rows))


@cache
def plan(robot: Robot) -> Timeline:
    trajectory = random_trajectory(robot, amplitude=0.1, period=2.0)
    return plan_timeline(trajectory, middle(robot), robot, EXPERIMENT)


# --- a recording is its own proof ----------------------------------------------------------------

@pytest.mark.parametrize('name', ['arm6', 'parallelogram'])
@pytest.mark.parametrize('width', [0.0, 0.05], ids=['sharp', 'smooth'])
def test_effort_is_inverse_dynamics_with_friction(name: str, width: float) -> None:
    """
    At every step that moves, effort = d(q, v, a)·θ of the true parameters.

    To 1e-4 N·m of some 25: the bias is that of a speed estimated within h²/2 of the jerk.
    """
    config = shipped(name).config
    robot = configured(name, replace(config, drives=DriveOptions(coulomb_width=width)))
    simulator = Simulator(robot, with_drives(robot), middle(robot))
    follow(simulator, plan(robot))
    q, v, a, effort = run(simulator, 3000)
    moving = (np.abs(v) > 0.01).all(axis=1) if width == 0 else np.full(len(q), True)
    assert moving.sum() > 500
    W = torque_regressor(robot, q[moving], v[moving], a[moving])
    np.testing.assert_allclose((W @ simulator.theta).T, effort[moving], atol=1e-4)


def test_speeds_and_accelerations_are_central_differences() -> None:
    robot = shipped('arm6')
    simulator = Simulator(robot, with_drives(robot), middle(robot))
    follow(simulator, plan(robot))
    q, v, a, _ = run(simulator, 1000)
    h = simulator.options.step_s
    np.testing.assert_allclose((q[2:] - q[:-2]) / (2 * h), v[1:-1], atol=1e-11)
    np.testing.assert_allclose((q[2:] - 2 * q[1:-1] + q[:-2]) / h**2, a[1:-1], atol=1e-8)


def test_noise_free_recording_identifies_exactly() -> None:
    """Least squares on a recording without noise finds the true base parameters (to 1e-3)."""
    robot = configured('kuka_ir361', Config(drives=DriveOptions(coulomb_width=0.05)))
    simulator = Simulator(robot, with_drives(robot), middle(robot))
    trajectory = random_trajectory(robot, amplitude=0.25)
    follow(simulator, plan_timeline(trajectory, middle(robot), robot, EXPERIMENT))
    q, v, a, effort = run(simulator, 8000)
    W = stack(torque_regressor(robot, q, v, a))
    base = base_parameters(robot)
    found = np.linalg.lstsq(base.reduce(W), effort.T.ravel())[0]
    np.testing.assert_allclose(found, base.K @ simulator.theta, atol=1e-3)


def energy_drift(step_s: float) -> float:
    """Return how far the energy of a free double pendulum strays in two seconds."""
    robot = load_robot(chain(('', '')), Config(drives=DriveOptions(terms=())))
    robot = replace(robot, limits=replace(robot.limits, effort=np.zeros(2)))  # motors off
    simulator = Simulator(robot, replace(EXACT, spread=0.0, step_s=step_s), [-1.0, 0.5])
    q, v, _, effort = run(simulator, round(2 / step_s))
    assert not effort.any()
    data = robot.tree.createData()
    energy = [pin.computeKineticEnergy(robot.tree, data, *state)
              + pin.computePotentialEnergy(robot.tree, data, state[0]) for state in zip(q, v)]
    return float(np.ptp(energy))


def test_energy_is_kept_to_second_order() -> None:
    """The energy strays by less than 1e-3 of 15 J, and a quarter of that at half the step."""
    drift = energy_drift(1e-3)
    assert drift < 1.5e-2
    assert energy_drift(5e-4) == pytest.approx(drift / 4, rel=0.3)


# --- controller and sensors ----------------------------------------------------------------------

def test_trajectory_is_followed_to_its_end() -> None:
    robot = shipped('arm6')
    options = with_drives(robot)
    simulator = Simulator(robot, options, middle(robot))
    timeline = plan(robot)
    follow(simulator, timeline)
    q, *_ = run(simulator, round((timeline.duration + 1) * 1000))
    t = options.step_s * np.arange(1, len(q) + 1)
    assert np.abs(q - timeline.sample(t)[0]).max() < 0.01
    assert simulator.mode == 'hold' and np.abs(simulator.v).max() < 1e-6
    np.testing.assert_allclose(simulator.q, middle(robot), atol=5e-3)  # friction holds it there


def test_resting_robot_stays_at_rest() -> None:
    """Friction, sharp or not, does not shake a robot that holds itself against gravity."""
    robot = shipped('arm6')
    simulator = Simulator(robot, with_drives(robot), middle(robot))
    q, v, *_ = run(simulator, 500)
    np.testing.assert_allclose(q, np.tile(middle(robot), (500, 1)), atol=1e-6)
    assert np.abs(v).max() < 1e-6


def test_efforts_keep_to_the_drives_limits() -> None:
    robot = load_robot(chain(('', '')), Config(model=ModelOptions(limits={})))
    weak = replace(robot, limits=replace(robot.limits, effort=np.array([5.0, 2.0])))
    simulator = Simulator(weak, EXACT, np.zeros(2))
    *_, effort = run(simulator, 300)
    assert np.abs(effort).max(axis=0).tolist() == [5.0, 2.0]


def test_encoders_have_a_resolution_and_efforts_noise() -> None:
    robot = shipped('arm6')
    options = replace(EXACT, position_resolution=1e-3, velocity_noise=0.01, effort_noise=0.02)
    simulator = Simulator(robot, options, middle(robot) + 0.0123456)
    samples = [simulator.measure() for _ in range(2000)]
    q = np.array([sample.q for sample in samples])
    np.testing.assert_allclose(q / 1e-3, np.round(q / 1e-3), atol=1e-9)
    assert np.abs(q - simulator.q).max() <= 5e-4 + 1e-12
    effort = np.array([sample.effort for sample in samples]) - simulator.effort
    # Standard deviations of 2000 samples are known to 1.6 %; five of these are allowed.
    np.testing.assert_allclose(effort.std(axis=0), 0.02 * robot.limits.effort, rtol=0.08)
    v = np.array([sample.v for sample in samples]) - simulator.v
    np.testing.assert_allclose(v.std(axis=0), 0.01, rtol=0.08)


def test_gains_turn_efforts_into_currents() -> None:
    gains = {'joint1': 20.0, 'joint2': 10.0}
    robot = configured('arm6', Config(drives=DriveOptions(gains=gains)))
    simulator = Simulator(robot, EXACT, middle(robot))
    expected = simulator.effort / [20, 10, 1, 1, 1, 1]
    np.testing.assert_allclose(simulator.measure().effort, expected)


def test_seed_decides_what_is_measured() -> None:
    robot = shipped('arm6')
    noisy = SimulationOptions()
    first, again, other = (
        record(Simulator(robot, replace(noisy, seed=seed)), 0.05, 100.0) for seed in (1, 1, 2))
    for one, two in zip(first, again):
        np.testing.assert_array_equal(one, two)
    assert np.abs(first[3] - other[3]).max() > 0


def test_record_samples_at_the_rate() -> None:
    simulator = Simulator(shipped('arm6'), EXACT)
    t, q, v, effort = record(simulator, 0.1, 250.0)
    np.testing.assert_allclose(t, np.arange(26) / 250, atol=1e-12)
    assert q.shape == v.shape == effort.shape == (26, 6)
    with pytest.raises(ExperimentError, match='300.0 Hz: the simulator has 1000 Hz'):
        record(simulator, 0.1, 300.0)


def test_time_is_simulated() -> None:
    simulator = Simulator(shipped('arm6'), EXACT)
    simulator.step(250)
    assert simulator.t == pytest.approx(0.25)
    simulator.run_until(0.4)
    assert simulator.t == pytest.approx(0.4)
    simulator.run_until(0.1)
    assert simulator.t == pytest.approx(0.4)


# --- streaming and faults ------------------------------------------------------------------------

def test_streamed_timeline_is_followed() -> None:
    robot = shipped('arm6')
    simulator = Simulator(robot, with_drives(robot), middle(robot))
    timeline = plan(robot)
    worst = 0.0
    for k in range(400):
        simulator.stream(timeline.sample(np.array([simulator.t]))[0][0])
        simulator.step(5)
        worst = max(worst, np.abs(simulator.q - timeline.sample(
            np.array([simulator.t - 0.005]))[0][0]).max())
    assert simulator.mode == 'stream' and worst < 0.01


def test_robot_holds_when_the_stream_ends() -> None:
    """Whoever commands it may die: after the deadline it holds where it was sent last."""
    robot = shipped('arm6')
    simulator = Simulator(robot, with_drives(robot, deadline_s=0.05), middle(robot))
    timeline = plan(robot)
    start = timeline.phase('periods').start
    simulator.q = timeline.sample(np.array([start]))[0][0]
    for k in range(100):
        last = timeline.sample(np.array([start + 0.01 * k]))[0][0]
        simulator.stream(last)
        simulator.step(10)
    simulator.step(1000)
    assert simulator.mode == 'hold' and np.abs(simulator.v).max() < 1e-6
    np.testing.assert_allclose(simulator.q, last, atol=5e-3)  # friction holds it there


FAULTS = {
    'joint states stop': ({'staleness'}, lambda sample: None),
    'freeze at a constant': ({'frozen', 'tracking error'}, lambda sample: 'frozen'),
    'not a number': ({'non-finite'}, lambda sample: replace(sample, q=sample.q * np.nan)),
    'joint beyond its limits': ({'position'}, lambda sample: replace(sample, q=sample.q + 4)),
    'tracking error': ({'tracking error'}, lambda sample: replace(sample, q=sample.q + 0.15)),
    'effort beyond its limit': ({'effort'}, lambda sample: replace(
        sample, effort=sample.effort + 300)),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_fault_ends_in_a_hold(fault: str) -> None:
    """
    What goes wrong in full motion is found, and the robot comes to rest.

    Within 0.35 s it is found, within another 0.4 s the command is at rest on the planned path.
    """
    kinds, corrupt = FAULTS[fault]
    robot = shipped('arm6')
    simulator = Simulator(robot, SimulationOptions(), middle(robot))
    timeline = plan(robot)
    monitor = Monitor(Envelope(robot, EXPERIMENT.envelope))
    begin = timeline.phase('periods').start
    state = None
    while simulator.t < timeline.duration:
        command = timeline.sample(np.array([simulator.t]))[0][0]
        sample = simulator.measure()
        measured = JointState(sample.t, sample.q, sample.v, sample.effort)
        if simulator.t >= begin:
            measured = corrupt(measured)
        if measured == 'frozen':
            measured = replace(state, stamp=simulator.t)
        state = state if measured is None else measured
        verdict = monitor.check(state, simulator.t, command)
        if not verdict.ok:
            break
        simulator.stream(command)
        simulator.step(10)
    found = simulator.t
    assert verdict.kind in kinds and begin <= found + 1e-9 < begin + 0.36
    stop = timeline.stop(found, robot.limits, EXPERIMENT.envelope.stop_s)
    points = np.arange(0.01, stop.duration + 0.01, 0.01)
    simulator.follow(robot.joint_names, points, *stop.sample(points))
    simulator.step(700)
    assert simulator.mode == 'hold' and np.abs(simulator.v).max() < 1e-3
    np.testing.assert_allclose(simulator.q, stop.sample(np.array([stop.duration]))[0][0],
                               atol=5e-3)


def test_simulator_says_when_it_diverges() -> None:
    robot = shipped('arm6')
    simulator = Simulator(robot, EXACT, middle(robot))
    simulator.q = simulator.q * np.nan
    with pytest.raises(ExperimentError, match='simulation: diverged at 0.001 s'):
        simulator.step()
