"""
Finite Fourier series (paper 004, eq. 5): periodic, band-limited, exactly differentiable.

Joint i moves as q = q0 + Σ_l a_l/(ω l) sin(ω l t) - b_l/(ω l) cos(ω l t), with ω = 2π·frequency,
over chosen harmonics l; a and b are amplitudes of its speed. Positions, speeds and accelerations
are linear in the coefficients, which is what makes design by gradients simple.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import ExcitationError


@dataclass(frozen=True, eq=False)
class FourierBasis:
    """
    The functions that are summed, for one frequency and one set of harmonics.

    Coefficients of a joint are (q0, a_1 …, b_1 …); ``mask`` (n, 1 + 2·L) marks those that a
    joint may use.
    """

    joint_names: tuple[str, ...]
    frequency_hz: float
    harmonics: tuple[int, ...]
    mask: np.ndarray

    @cached_property
    def omega(self) -> np.ndarray:
        """Angular frequencies of the harmonics, rad/s."""
        return 2 * np.pi * self.frequency_hz * np.array(self.harmonics, dtype=float)

    def evaluate(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the basis and its two derivatives at times t, each (1 + 2·L, N)."""
        w = self.omega[:, None]
        sine, cosine = np.sin(w * t), np.cos(w * t)
        one, zero = np.ones((1, len(t))), np.zeros((1, len(t)))
        return (np.vstack([one, sine / w, -cosine / w]), np.vstack([zero, cosine, sine]),
                np.vstack([zero, -w * sine, w * cosine]))


def make_basis(joint_names: tuple[str, ...], frequency_hz: float,
               harmonics: tuple[int, ...] | dict[str, tuple[int, ...]]) -> FourierBasis:
    """
    Return the basis for a frequency and harmonics, common to all joints or by joint name.

    Harmonics may be skipped; the band is frequency times the smallest to the largest of them.
    """
    if not frequency_hz > 0:
        raise ExcitationError(f'excitation: frequency_hz is {frequency_hz}, expected above zero')
    by_joint = harmonics if isinstance(harmonics, dict) else dict.fromkeys(joint_names, harmonics)
    for joint in joint_names:
        chosen = by_joint.get(joint, ())
        if not chosen:
            raise ExcitationError(f'excitation: harmonics: joint {joint!r} has none; give at '
                                  'least one, e.g. [1, 2, 3, 4, 5]')
        if any(int(k) != k or k < 1 for k in chosen) or len(set(chosen)) != len(chosen):
            raise ExcitationError(f'excitation: harmonics: joint {joint!r} has {list(chosen)}, '
                                  'expected different whole numbers from 1')
    union = tuple(sorted({int(k) for joint in joint_names for k in by_joint[joint]}))
    used = np.array([[k in by_joint[joint] for k in union] for joint in joint_names])
    mask = np.hstack([np.ones((len(joint_names), 1), dtype=bool), used, used])
    return FourierBasis(joint_names, float(frequency_hz), union, mask)


@dataclass(frozen=True, eq=False)
class FourierTrajectory:
    """A Fourier series with its coefficients, (n, 1 + 2·L); see ``FourierBasis``."""

    basis: FourierBasis
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        """Close the coefficients, and refuse those that are not of this basis."""
        coefficients = read_only(self.coefficients)
        if coefficients.shape != self.basis.mask.shape:
            raise ValueError(f'coefficients have shape {coefficients.shape}, '
                             f'expected {self.basis.mask.shape}')
        if not np.isfinite(coefficients).all():
            raise ValueError('coefficients are not all finite')
        object.__setattr__(self, 'coefficients', coefficients)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move."""
        return self.basis.joint_names

    @property
    def period(self) -> float:
        """Duration of one pass, s."""
        return 1 / self.basis.frequency_hz

    @property
    def is_periodic(self) -> bool:
        """Whether it can be repeated: always."""
        return True

    @property
    def band_hz(self) -> tuple[float, float]:
        """Lowest and highest frequency that is excited, Hz."""
        used = [k for k, on in zip(self.basis.harmonics, self.basis.mask[:, 1:].any(axis=0)) if on]
        return self.basis.frequency_hz * min(used), self.basis.frequency_hz * max(used)

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a at times t (N,), each (N, n)."""
        return tuple((self.coefficients @ B).T for B in self.basis.evaluate(np.asarray(t, float)))

    def to_data(self) -> dict:
        """Return all that defines it, in the paper's form."""
        L = len(self.basis.harmonics)
        joints = {name: {'q0': float(row[0]),
                         'harmonics': [k for k, on in zip(self.basis.harmonics, used[1:]) if on],
                         'a': [float(x) for x in row[1:1 + L][used[1:1 + L]]],
                         'b': [float(x) for x in row[1 + L:][used[1 + L:]]]}
                  for name, row, used in zip(self.joint_names, self.coefficients,
                                             self.basis.mask)}
        return {'kind': 'fourier', 'frequency_hz': self.basis.frequency_hz, 'joints': joints}

    @classmethod
    def from_data(cls, data: dict) -> 'FourierTrajectory':
        """Rebuild a trajectory from ``to_data``."""
        joints = data['joints']
        harmonics = {name: tuple(joint['harmonics']) for name, joint in joints.items()}
        basis = make_basis(tuple(joints), data['frequency_hz'], harmonics)
        coefficients = np.zeros(basis.mask.shape)
        for row, used, joint in zip(coefficients, basis.mask, joints.values()):
            row[used] = [joint['q0'], *joint['a'], *joint['b']]
        return cls(basis, coefficients)
