"""
The simulated robot: dynamics, controller and sensors, in steps of simulated time.

The integrator is the leapfrog: positions q_k at the steps, speeds w in the middle between them.
At step k the sample has v_k = (q_{k+1} - q_{k-1}) / 2h and a_k = (q_{k+1} - 2q_k + q_{k-1}) / h²
exactly, and its effort is the inverse dynamics of (q_k, v_k, a_k) with friction at v_k: a
noise-free recording is its own proof. Where sharp Coulomb friction sticks, it is less than its
level, as in a real joint.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import SimulationOptions
from robident_ros.errors import ExperimentError
from robident_ros.experiment.controller import ComputedTorque, SetPoint
from robident_ros.experiment.dynamics import Dynamics
from robident_ros.experiment.truth import true_parameters
from robident_ros.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Measurement:
    """What the robot reports at time ``t``, in its order of joints; effort over drive gains."""

    t: float
    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray


class Simulator:
    """
    A robot that obeys commands in simulated time.

    ``theta`` are its true standard parameters, in the order of ``robot.parameters``; those of the
    ``robot`` that it is given are what others believe.
    """

    def __init__(self, robot: Robot, options: SimulationOptions,
                 q: np.ndarray | None = None, theta: np.ndarray | None = None) -> None:
        n = len(robot.joint_names)
        self.robot, self.options = robot, options
        self.theta = true_parameters(robot, options) if theta is None else read_only(theta)
        width = options.coulomb_width
        self._dynamics = Dynamics(robot, self.theta, robot.config.drives.coulomb_width
                                  if width is None else width)
        self._controller = ComputedTorque(self._dynamics.drives, robot.limits.effort,
                                          options.bandwidth_hz)
        self._rng = np.random.default_rng(options.seed)
        self._gains = np.array([robot.config.drives.gains.get(name, 1.0)
                                for name in robot.joint_names])
        self._steps, self._w = 0, np.zeros(n)
        self.q = np.clip(np.zeros(n), robot.limits.lower, robot.limits.upper) if q is None \
            else np.array(q, dtype=float)
        self.v, self.a, self.effort = np.zeros(n), np.zeros(n), np.zeros(n)
        self.set_point = SetPoint(self.q, robot, options)
        self._evaluate()

    @property
    def t(self) -> float:
        """Return the simulated time in s."""
        return self._steps * self.options.step_s

    @property
    def mode(self) -> str:
        """Say what it does: hold, follow or stream."""
        return self.set_point.mode

    def step(self, count: int = 1) -> None:
        """Advance simulated time by ``count`` steps, as fast as the machine can."""
        h = self.options.step_s
        for _ in range(count):
            self._w = self._w + h * self.a
            self.q = self.q + h * self._w
            self._steps += 1
            self._evaluate()

    def run_until(self, t: float) -> None:
        """Advance simulated time to ``t``."""
        self.step(max(0, round(t / self.options.step_s) - self._steps))

    def _evaluate(self) -> None:
        """Find effort and acceleration at the present position."""
        h = self.options.step_s
        v = self._w + h / 2 * self.a  # of the last step: an estimate
        M, bias = self._dynamics.rigid_body(self.q, v)
        self.effort = self._controller.effort(self.q, v, self.set_point.at(self.t), M, bias)
        self.a = self._dynamics.acceleration(M, self.effort - bias, v, self._w, h)
        self.v = self._w + h / 2 * self.a
        if not np.isfinite(self.a).all():
            raise ExperimentError(f'simulation: diverged at {self.t:.3f} s; use a smaller '
                                  'simulation: step_s or bandwidth_hz')

    def follow(self, names: tuple[str, ...], times: np.ndarray, q: np.ndarray,
               v: np.ndarray | None = None, a: np.ndarray | None = None) -> None:
        """Follow timed points from now on, as joint_trajectory_controller does."""
        self.set_point.follow(self.t, names, times, q, v, a)

    def stream(self, q: np.ndarray) -> None:
        """Go to a position; unless another command comes within the deadline, hold there."""
        self.set_point.stream(self.t, q)

    def hold(self) -> None:
        """Come to rest smoothly and stay."""
        self.set_point.hold(self.t)

    def measure(self) -> Measurement:
        """Return the present state as the sensors see it."""
        options, n = self.options, len(self.q)
        q = self.q
        if options.position_resolution > 0:
            q = np.round(q / options.position_resolution) * options.position_resolution
        v = self.v + options.velocity_noise * self._rng.standard_normal(n)
        limit = self.robot.limits.effort
        sigma = options.effort_noise * np.where(np.isfinite(limit), limit, 0.0)
        effort = self.effort + sigma * self._rng.standard_normal(n)
        return Measurement(self.t, read_only(q), read_only(v), read_only(effort / self._gains))


def record(simulator: Simulator, duration: float, rate_hz: float) -> tuple[np.ndarray, ...]:
    """
    Let simulated time pass, and return t (N,) and q, v, effort (N, n) as measured.

    :param rate_hz: of the samples; must divide the simulator's own rate.
    """
    stride = 1 / (rate_hz * simulator.options.step_s)
    if stride < 1 or abs(stride - round(stride)) > 1e-6:
        raise ExperimentError(f'rate {rate_hz} Hz: the simulator has '
                              f'{1 / simulator.options.step_s:g} Hz, expected a divisor of that')
    samples = [simulator.measure()]
    for _ in range(round(duration * rate_hz)):
        simulator.step(round(stride))
        samples.append(simulator.measure())
    return (np.array([sample.t for sample in samples]),
            *(np.array([getattr(sample, key) for sample in samples])
              for key in ('q', 'v', 'effort')))
