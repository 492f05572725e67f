"""
How fast the robot was moved, how noisy its positions are, and the cutoff that follows.

The spectrum of the positions falls steeply from the excitation to the noise, which is broad. So
motion ends where the spectrum is no longer four times higher than all that lies above twice
the frequency:

1. the excitation bandwidth is the frequency below which 99 % of the velocity energy of the
   motion lies (the fastest joint counts);
2. the cutoff is ten times that: efforts hold products and sign changes of velocities, so they
   reach beyond the motion itself; Gautier's practice is a factor of five to ten;
3. it is lowered where acceleration noise would pass in motion of 1 % of the acceleration energy,
   as noise in the regressor biases the estimate by about its share, but not below three times
   the excitation bandwidth, nor above 0.4 times the sampling rate.
"""

from dataclasses import dataclass

import numpy as np

ENERGY = 0.99
ABOVE_NOISE = 4.0
ABOVE_EXCITATION = 10.0
LEAST_ABOVE_EXCITATION = 3.0
NOISE_SHARE = 0.01
BELOW_SAMPLING = 0.4
FEWEST = 16  # samples that make a spectrum


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """
    What the spectrum of the positions says.

    :param excitation_hz: frequency that holds 99 % of the velocity energy
    :param cutoff_hz: cutoff for filtering
    :param noise_density: noise floor of each joint's position [rad²/Hz]
    """

    excitation_hz: float
    cutoff_hz: float
    noise_density: np.ndarray

    def velocity_noise(self, cutoff_hz: float) -> np.ndarray:
        """Return the standard deviation of velocities from positions up to a cutoff [rad/s]."""
        return np.sqrt(self.noise_density * (2 * np.pi) ** 2 * cutoff_hz ** 3 / 3)


def find_bandwidth(q: np.ndarray, rate_hz: float) -> Bandwidth:
    """Look at evenly sampled positions (N, n)."""
    if len(q) < FEWEST:
        return Bandwidth(0.0, BELOW_SAMPLING * rate_hz, np.zeros(q.shape[1]))
    window = np.blackman(len(q) + 2)[1:-1, None]
    f = np.fft.rfftfreq(len(q), 1 / rate_hz)
    density = 2 / rate_hz / (window ** 2).sum() * np.abs(
        np.fft.rfft((q - q.mean(axis=0)) * window, axis=0)) ** 2
    moving = q.std(axis=0) > 1e-3 * q.std(axis=0).max()  # a joint at rest is all noise
    motion = _motion(density)
    energy = np.cumsum(motion * f[:, None] ** 2, axis=0)[:, moving]
    if not energy.size or not (energy[-1] > 0).all():
        return Bandwidth(0.0, BELOW_SAMPLING * rate_hz, np.median(density, axis=0))
    reached = (energy > ENERGY * energy[-1]).argmax(axis=0).max()
    excitation = float(f[max(reached, 1)])
    beyond = f > min(ABOVE_EXCITATION * excitation, f[-1] / 2)
    noise = np.median(density[beyond], axis=0) / np.log(2)  # the mean of an exponential law
    cutoff = max(min(ABOVE_EXCITATION * excitation, _noise_limit(f, motion, noise, moving)),
                 LEAST_ABOVE_EXCITATION * excitation)
    return Bandwidth(excitation, min(cutoff, BELOW_SAMPLING * rate_hz), noise)


def _motion(density: np.ndarray) -> np.ndarray:
    """Keep of each spectrum (column) what is motion, up to where it has fallen to the noise."""
    bins = np.arange(len(density))
    twice = np.minimum(2 * bins, len(density) - 1)
    motion = np.zeros(density.shape)
    for j, column in enumerate(density.T):
        smooth = np.convolve(column, np.full(5, 0.2), 'same')
        envelope = np.maximum.accumulate(smooth[::-1])[::-1]  # highest from here on
        peak = int(np.argmax(column * bins ** 2))
        falls = envelope > ABOVE_NOISE * envelope[twice]
        end = peak + int(np.argmin(np.append(falls[peak:], False)))
        motion[:end + 1, j] = column[:end + 1]
    return motion


def _noise_limit(f: np.ndarray, motion: np.ndarray, noise: np.ndarray,
                 moving: np.ndarray) -> float:
    """Return the frequency where the typical joint's acceleration noise reaches its share."""
    acceleration = (motion * f[:, None] ** 4).sum(axis=0)[moving] * f[1]
    with np.errstate(divide='ignore'):
        limit = (5 * NOISE_SHARE * acceleration / noise[moving]) ** 0.2  # noise: N·f⁵/5
    return float(np.median(limit))
