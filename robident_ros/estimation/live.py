"""
Estimation while the robot moves: blocks of samples join one square-root information.

Each block is processed like a recording of its own (no averaging over periods, which are not yet
there) and compressed; what has been seen costs nothing more. The result of the whole recording,
averaged, is better: this tells when to stop moving.
"""

from dataclasses import dataclass, replace
import warnings

import numpy as np
from robident_ros.errors import RobidentError, RobidentWarning
from robident_ros.estimation.compress import compress
from robident_ros.estimation.information import empty_information
from robident_ros.estimation.prior import make_prior
from robident_ros.estimation.solution import Setting, solve_base
from robident_ros.estimation.validation import relative_error
from robident_ros.model.base import base_parameters
from robident_ros.model.robot import Robot
from robident_ros.processing.process import process
from robident_ros.recording.recording import Recording

FEW = 20  # samples that are not worth processing


@dataclass(frozen=True, eq=False)
class LiveResult:
    """What is known so far: base parameters, %σ of each, ‖τ − τ̂‖/‖τ‖, equations."""

    names: tuple[str, ...]
    beta: np.ndarray
    relative_std: np.ndarray
    torque_error: float
    rows: int


class LiveEstimation:
    """Takes blocks of measured states in, and keeps the estimate."""

    def __init__(self, robot: Robot) -> None:
        self._robot, self._base = robot, base_parameters(robot)
        self._options = replace(robot.config.processing, average_periods=False, start_s=None,
                                stop_s=None)
        self._information = empty_information(robot, self._base)
        none = np.zeros(len(robot.joint_names), dtype=bool)
        self._setting = Setting(robot, self._base, make_prior(robot),
                                replace(robot.config.estimation, weighting='residual'), none,
                                none)
        gains = robot.config.drives.gains
        self._gains = np.array([gains.get(name, 1.0) for name in robot.joint_names])

    def add(self, t: np.ndarray, q: np.ndarray, v: np.ndarray | None,
            effort: np.ndarray) -> LiveResult | None:
        """
        Join a block; returns what is known now, or None while that is not enough.

        :param t: (N,) in s, increasing; q, v and effort (N, n) as measured.
        """
        if len(t) >= FEW:
            try:
                self._join(Recording(t - t[0], q, v, effort * self._gains,
                                     self._robot.joint_names, 'block of joint states'))
            except RobidentError:
                pass  # e.g. nothing moved: a block that says nothing is no error
        with np.errstate(all='ignore'):  # of the first data, much is indefinite
            try:
                solution = solve_base(self._information, self._setting)
            except RobidentError:
                return None  # not enough yet
            relative = 100 * solution.std / np.abs(solution.beta)
            error = relative_error(self._information, solution.beta)
        if not error < 1:
            return None
        return LiveResult(self._base.names, solution.beta, relative, error,
                          int(self._information.counts.sum()))

    def _join(self, recording: Recording) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', RobidentWarning)
            samples = process(recording, self._options)
        if (samples.weights > 0).any():
            self._information += compress(samples, self._robot, self._base)[0]
