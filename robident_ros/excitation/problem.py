"""
The design problem: coefficients of a Fourier series in, criterion and constraints out.

Everything has an exact gradient: the motion is linear in the coefficients, the regressor and the
constraints pull gradients back to the motion. Variables are scaled by the limits, so that all of
them have one size.
"""

from dataclasses import replace

import numpy as np
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.excitation.constraints import aggregate, Bars, Family, Motion
from robident_ros.excitation.constraints import pull_apart, violation
from robident_ros.excitation.criteria import Criterion
from robident_ros.excitation.fourier import FourierBasis, FourierTrajectory, make_basis
from robident_ros.excitation.information import make_target, Target
from robident_ros.excitation.limits import design_limits, make_families
from robident_ros.model.robot import Limits, Robot

# Samples per period of the highest harmonic, while optimising.
SAMPLES_PER_WAVE = 20
# Distances are aggregated over many pairs at once, so more sharply: the margin that the
# aggregate leaves is log(count) / sharpness.
ONE_SIDED_SHARPNESS = 2.0


class Problem:
    """A robot, a basis, and a grid of samples over one period."""

    def __init__(self, robot: Robot) -> None:
        options = robot.config.excitation
        self.robot = with_smooth_friction(robot)
        self.limits: Limits = design_limits(robot)
        self.target: Target = make_target(robot)
        self.families: tuple[Family, ...] = make_families(self.robot, self.limits)
        harmonics = {**dict.fromkeys(robot.joint_names, options.harmonics),
                     **options.joint_harmonics}
        self.basis: FourierBasis = make_basis(robot.joint_names, options.frequency_hz, harmonics)
        self.set_grid(SAMPLES_PER_WAVE * max(self.basis.harmonics))
        self.posture = _posture(robot, self.limits)
        self._free = self.basis.mask.copy()
        self._free[list(self.posture), 0] = False
        self._scale = self._sizes()[self._free]
        self._cache: tuple[bytes, Motion] | None = None

    def set_grid(self, samples: int) -> None:
        """Choose the number of samples per period."""
        t = np.arange(samples) / samples / self.basis.frequency_hz
        self._B = self.basis.evaluate(t)
        self._cache = None

    def _sizes(self) -> np.ndarray:
        """
        Return the amplitudes at which one harmonic alone reaches a limit; half ranges for q0.

        No series within the limits has an amplitude above 4/π of that (a square wave's).
        """
        limits, omega = self.limits, self.basis.omega
        half = (limits.upper - limits.lower)[:, None] / 2
        reach = np.minimum.reduce([np.broadcast_to(limits.velocity[:, None],
                                                   (len(half), len(omega))),
                                   limits.acceleration[:, None] / omega, half * omega])
        return np.hstack([half, reach, reach])

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of the variables, (m, 2), that no motion within the limits exceeds."""
        low, high = np.full((2, *self.basis.mask.shape), 4 / np.pi)
        low[:, 0] = self.limits.lower / self._sizes()[:, 0]
        high[:, 0] = self.limits.upper / self._sizes()[:, 0]
        low[:, 1:] *= -1
        return np.stack([low[self._free], high[self._free]], axis=1)

    def coefficients(self, x: np.ndarray) -> np.ndarray:
        """Return the Fourier coefficients that variables stand for."""
        coefficients = np.zeros(self.basis.mask.shape)
        coefficients[self._free] = x * self._scale
        for joint, position in self.posture.items():
            coefficients[joint, 0] = position
        return coefficients

    def variables(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the variables that stand for Fourier coefficients."""
        return coefficients[self._free] / self._scale

    def trajectory(self, x: np.ndarray) -> FourierTrajectory:
        """Return the trajectory that variables stand for."""
        return FourierTrajectory(self.basis, self.coefficients(x))

    def motion(self, x: np.ndarray) -> Motion:
        """Return the motion on the grid; the last one is kept, since optimisers ask twice."""
        key = x.tobytes()
        if self._cache is None or self._cache[0] != key:
            coefficients = self.coefficients(x)
            self._cache = key, Motion(self.robot, *((coefficients @ B).T for B in self._B))
        return self._cache[1]

    def _pull(self, bars: Bars) -> np.ndarray:
        gradient = sum(bar.T @ B.T for bar, B in zip(bars, self._B))
        return gradient[self._free] * self._scale

    def objective(self, x: np.ndarray, criterion: Criterion) -> tuple[float, np.ndarray]:
        """Return a criterion's value and its gradient with respect to the variables."""
        motion = self.motion(x)
        value, bar = criterion(self.target.reduce(motion.W))
        return value, self._pull(motion.product(self.target.expand(bar, motion.W.shape)))

    def constraints(self, x: np.ndarray, sharpness: float) -> tuple[np.ndarray, np.ndarray]:
        """Return aggregated constraints, feasible when not positive, and their Jacobian."""
        motion = self.motion(x)
        values, jacobian = [], []
        for family in self.families:
            rows, pull = family.evaluate(motion)
            sharper = 1.0 if family.two_sided else ONE_SIDED_SHARPNESS
            value, weights = aggregate(rows, family, sharper * sharpness)
            values.append(value)
            jacobian += [self._pull(pull(slope)) for slope in pull_apart(weights, family)]
        return np.concatenate(values), np.array(jacobian)

    def violations(self, x: np.ndarray) -> np.ndarray:
        """Return the largest violation of each aggregate on the grid; negative is room."""
        motion = self.motion(x)
        found = [violation(family.evaluate(motion)[0], family.two_sided)
                 for family in self.families]
        return np.concatenate([rows.max(keepdims=True) if family.together else rows
                               for family, rows in zip(self.families, found)])


def _posture(robot: Robot, limits: Limits) -> dict[int, float]:
    """Return the positions that the configuration prescribes, by joint index."""
    posture = {}
    for name, position in robot.config.excitation.posture.items():
        if name not in robot.joint_names:
            raise ConfigError(f'excitation: posture: there is no joint {name!r}, '
                              + did_you_mean(name, robot.joint_names))
        joint = robot.joint_names.index(name)
        low, high = limits.lower[joint], limits.upper[joint]
        if not low <= position <= high:
            raise ConfigError(f'excitation: posture: {name}: is {position}, outside the limits '
                              f'{low:.4g} to {high:.4g} of the design')
        posture[joint] = position
    return posture


def with_smooth_friction(robot: Robot) -> Robot:
    """Return the robot with Coulomb friction that has a gradient."""
    drives = robot.config.drives
    if drives.coulomb_width > 0:
        return robot
    width = robot.config.excitation.coulomb_width
    return replace(robot, config=replace(
        robot.config, drives=replace(drives, coulomb_width=width)))
