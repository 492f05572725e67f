"""The experiment: one check of the envelope, planning, and simulated time."""

from harness import benchmark, cpu_seconds, Figure
import numpy as np
from robident_ros.config import EnvelopeOptions, ExperimentOptions, SimulationOptions
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.experiment.safety import Envelope, JointState, Monitor
from robident_ros.experiment.timeline import plan_timeline, Timeline
from robident_ros.model.robot import load_robot, Robot
from robident_ros.share import share_path

CHECKS = 5000


def _arm() -> Robot:
    return load_robot(share_path() / 'urdf' / 'arm7.urdf')


def _plan(robot: Robot) -> Timeline:
    """Plan an experiment with a trajectory of 10 s about a bent elbow."""
    rng = np.random.default_rng(0)
    posture = np.clip(np.zeros(7), robot.limits.lower + 0.5, robot.limits.upper - 0.5)
    basis = make_basis(robot.joint_names, 0.1, (1, 2, 3))
    coefficients = 0.1 * rng.uniform(-1, 1, basis.mask.shape)
    coefficients[:, 0] = posture
    return plan_timeline(FourierTrajectory(basis, coefficients), posture, robot,
                         ExperimentOptions())


@benchmark('envelope_check')
def envelope_check() -> Figure:
    """One check of a state of seven joints, with tracking error and memory."""
    rng = np.random.default_rng(0)
    envelope = Envelope(_arm(), EnvelopeOptions())
    q = np.full(7, 0.3)
    states = [JointState(1e-3 * k, q + 1e-6 * rng.normal(size=7), np.zeros(7), np.zeros(7))
              for k in range(CHECKS)]

    def check() -> None:
        monitor = Monitor(envelope)
        for state in states:
            assert monitor.check(state, state.stamp, q).ok
    return Figure(cpu_seconds(check) / CHECKS * 1e6, 'µs', target=50.0)


@benchmark('plan_timeline')
def plan() -> Figure:
    """Planning and checking an experiment of a minute, collisions included."""
    robot = _arm()
    return Figure(cpu_seconds(lambda: _plan(robot)), 's')


@benchmark('simulator')
def simulator() -> Figure:
    """CPU time per simulated second at 1 kHz, following a trajectory with friction."""
    from robident_ros.experiment.simulator import Simulator
    robot = _arm()
    timeline = _plan(robot)
    points = timeline.points(100.0)
    names = robot.joint_names
    options = SimulationOptions(rotor_inertia=dict.fromkeys(names, 0.1),
                                viscous=dict.fromkeys(names, 1.0),
                                coulomb=dict.fromkeys(names, 1.0))
    simulated = Simulator(robot, options, timeline.sample(np.zeros(1))[0][0])
    simulated.follow(names, points.t, points.q, points.v, points.a)
    simulated.run_until(timeline.phase('periods').start)
    return Figure(cpu_seconds(lambda: simulated.step(1000)), 's', target=1.0)
