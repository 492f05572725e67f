"""
Motions of one joint at a time that identify the minimal set of a serial robot (paper 001).

Backward from the last joint, each step shows the constants of one composite body in the torque of
its own joint, given those of the bodies behind it: ``one_joint_steps.py`` says with which motions
(Algorithm 2). All other joints are locked; the moving one goes as sin⁴, from rest to rest with
zero accelerations there, which is a Fourier series of two harmonics.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.model.robot import Limits

# Of stroke·sin⁴(ωt/2): highest speed over stroke·ω. The highest acceleration is stroke·ω².
PEAK_SPEED = 3 * np.sqrt(3) / 8


@dataclass(frozen=True, eq=False)
class SingleJointMotion:
    """
    One joint moves, to ``stroke`` and back, while all others are locked.

    :param joint: which one moves; ``observed`` is the joint whose effort is used.
    :param position: of all joints, the moving one at its start.
    :param constants: what all motions of this step together are to identify.
    """

    joint_names: tuple[str, ...]
    joint: str
    observed: str
    constants: tuple[str, ...]
    position: np.ndarray
    stroke: float
    frequency_hz: float

    def __post_init__(self) -> None:
        """Close the position, and refuse joints that are not there."""
        object.__setattr__(self, 'position', read_only(self.position))
        for name in (self.joint, self.observed):
            if name not in self.joint_names:
                raise ValueError(f'there is no joint {name!r}')
        if self.position.shape != (len(self.joint_names),) or not np.isfinite(
                [*self.position, self.stroke]).all():
            raise ValueError('expected a finite position of every joint, and a finite stroke')

    @property
    def locked(self) -> dict[str, float]:
        """Positions of the joints that do not move."""
        return {name: float(q) for name, q in zip(self.joint_names, self.position)
                if name != self.joint}

    @cached_property
    def trajectory(self) -> FourierTrajectory:
        """Return the motion as a Fourier series: sin⁴(x/2) = 3/8 - cos(x)/2 + cos(2x)/8."""
        basis = make_basis(self.joint_names, self.frequency_hz, (1, 2))
        coefficients = np.zeros(basis.mask.shape)
        coefficients[:, 0] = self.position
        row, size = self.joint_names.index(self.joint), self.stroke * basis.omega[0]
        coefficients[row] += [3 / 8 * self.stroke, 0, 0, size / 2, -size / 4]
        return FourierTrajectory(basis, coefficients)

    @property
    def period(self) -> float:
        """Duration of one pass, s."""
        return 1 / self.frequency_hz

    @property
    def is_periodic(self) -> bool:
        """Whether it can be repeated: always."""
        return True

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a at times t (N,), each (N, n)."""
        return self.trajectory.sample(t)

    def to_data(self) -> dict:
        """Return all that defines it."""
        return {'kind': 'single_joint_motion', 'joint': self.joint, 'observed': self.observed,
                'constants': list(self.constants), 'stroke': float(self.stroke),
                'frequency_hz': float(self.frequency_hz),
                'position': dict(zip(self.joint_names, self.position.tolist()))}

    @classmethod
    def from_data(cls, data: dict) -> 'SingleJointMotion':
        """Rebuild a motion from ``to_data``."""
        position = data['position']
        return cls(tuple(position), data['joint'], data['observed'], tuple(data['constants']),
                   np.array(list(position.values()), dtype=float), float(data['stroke']),
                   float(data['frequency_hz']))


@dataclass(frozen=True, eq=False)
class SingleJointPlan:
    """The motions, in the order in which their constants are to be identified."""

    motions: tuple[SingleJointMotion, ...]

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self.motions[0].joint_names

    @property
    def steps(self) -> tuple[tuple[SingleJointMotion, ...], ...]:
        """Motions that identify the same constants, together."""
        steps: dict[tuple, list] = {}
        for motion in self.motions:
            steps.setdefault(motion.constants, []).append(motion)
        return tuple(map(tuple, steps.values()))

    @property
    def constants(self) -> tuple[str, ...]:
        """All constants that are identified, in their order."""
        return tuple(name for step in self.steps for name in step[0].constants)

    def to_data(self) -> dict:
        """Return all that defines it."""
        return {'kind': 'single_joint', 'motions': [
            {key: value for key, value in motion.to_data().items() if key != 'kind'}
            for motion in self.motions]}

    @classmethod
    def from_data(cls, data: dict) -> 'SingleJointPlan':
        """Rebuild a plan from ``to_data``."""
        motions = tuple(map(SingleJointMotion.from_data, data['motions']))
        if not motions or any(motion.joint_names != motions[0].joint_names for motion in motions):
            raise ValueError('expected one motion or more, all of the same joints')
        return cls(motions)


def make_motion(joint_names: tuple[str, ...], joint: int, observed: int,
                constants: tuple[str, ...], centre: np.ndarray, limits: Limits,
                stroke: float) -> SingleJointMotion:
    """
    Return the fastest motion within the limits.

    :param centre: position of all joints; the moving one's middle, moved into its limits.
    :param stroke: at most; a joint uses at most half its range, so that it fits in many places.
    """
    stroke = min(stroke, (limits.upper[joint] - limits.lower[joint]) / 2)
    position = np.array(centre, dtype=float)
    position[joint] = np.clip(position[joint] - stroke / 2, limits.lower[joint],
                              limits.upper[joint] - stroke)
    omega = min(limits.velocity[joint] / (PEAK_SPEED * stroke),
                np.sqrt(limits.acceleration[joint] / stroke))
    return SingleJointMotion(joint_names, joint_names[joint], joint_names[observed], constants,
                             position, float(stroke), float(omega / (2 * np.pi)))
