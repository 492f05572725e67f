"""
Velocities and accelerations from measured positions.

Periodic motion: the least-squares fit of a finite Fourier series, differentiated analytically
(Swevers et al., Generation of Periodic Trajectories for Optimal Robot Excitation). Other motion:
a zero-phase low-pass and five-point central differences.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.processing.parallel_filter import lowpass_kernel
from robident_ros.recording.recording import read_only

FALSE_ALARM = 1e-3  # chance that any harmonic that is pure noise is taken for motion


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """
    q(t) = mean + Σ cos_k·cos(2πkt/T) + sin_k·sin(2πkt/T), for k = 1 … harmonics.

    :param period: T [s]
    :param mean: (n,)
    :param cos: (harmonics, n)
    :param sin: (harmonics, n)
    """

    period: float
    mean: np.ndarray
    cos: np.ndarray
    sin: np.ndarray

    def __post_init__(self) -> None:
        for name in ('mean', 'cos', 'sin'):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return positions, velocities and accelerations (N, n) at times t [s]."""
        omega = 2 * np.pi / self.period * np.arange(1, len(self.cos) + 1)
        phase = np.outer(t, omega)
        c, s = np.cos(phase), np.sin(phase)
        q = self.mean + c @ self.cos + s @ self.sin
        w = omega[:, None]
        v = c @ (w * self.sin) - s @ (w * self.cos)
        a = -c @ (w ** 2 * self.cos) - s @ (w ** 2 * self.sin)
        return q, v, a


def fit_fourier(t: np.ndarray, q: np.ndarray, period: float, harmonics: int) -> FourierSeries:
    """Fit positions (N, n) at any times by a Fourier series, in the least-squares sense."""
    phase = np.outer(t, 2 * np.pi / period * np.arange(1, harmonics + 1))
    basis = np.hstack([np.ones((len(t), 1)), np.cos(phase), np.sin(phase)])
    x, *_ = np.linalg.lstsq(basis, q, rcond=None)
    return FourierSeries(period, x[0], x[1:harmonics + 1], x[harmonics + 1:])


def count_harmonics(q: np.ndarray, noise_std: np.ndarray) -> int:
    """
    Return the highest harmonic that stands out of the noise, in any joint.

    Under white noise the squared amplitude of a harmonic is exponentially distributed, so the
    level that noise passes with a given small chance is known. The noise is the larger of that
    seen between periods and that of the upper half of the spectrum, which knows quantisation too.

    :param q: positions (M, n), evenly spaced over one period
    :param noise_std: standard deviation of their noise (n,)
    """
    power = np.abs(np.fft.rfft(q, axis=0)[1:(len(q) + 1) // 2]) ** 2
    mean = np.maximum(len(q) * noise_std ** 2,
                      np.median(power[len(power) // 2:], axis=0) / np.log(2))
    level = mean * np.log(power.size / FALSE_ALARM)
    found = np.flatnonzero((power > np.maximum(level, 1e-20 * power.max())).any(axis=1))
    return int(found[-1]) + 1 if len(found) else 1


def differentiate(q: np.ndarray, rate_hz: float, cutoff_hz: float,
                  length_s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return low-passed positions, velocities and accelerations of evenly sampled positions (N, n).

    At the ends, the motion is continued by its mirror image, turned about the end point.
    """
    kernel = lowpass_kernel(cutoff_hz, rate_hz, length_s, np.blackman)
    margin = min(len(kernel) // 2 + 2, len(q) - 1)
    before, after = 2 * q[0] - q[margin:0:-1], 2 * q[-1] - q[-2:-margin - 2:-1]
    extended = np.vstack([before, q, after])
    reach = margin - 2
    kernel = kernel[len(kernel) // 2 - reach:len(kernel) // 2 + reach + 1]
    smooth = np.column_stack([np.convolve(x, kernel / kernel.sum(), 'valid')
                              for x in extended.T])
    q0, q1, q2, q3, q4 = (smooth[k:len(smooth) - 4 + k] for k in range(5))
    v = (q0 - 8 * q1 + 8 * q3 - q4) * (rate_hz / 12)
    a = (-q0 + 16 * q1 - 30 * q2 + 16 * q3 - q4) * (rate_hz ** 2 / 12)
    return q2, v, a
