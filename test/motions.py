"""Recordings made up for tests: known motion, known noise."""

import numpy as np
from robident_ros.processing.derivatives import FourierSeries
from robident_ros.recording import Recording

NAMES = ('shoulder', 'elbow', 'wrist')


def random_recording(samples: int = 300, seed: int = 0, start_ns: int = 0) -> Recording:
    """Return random numbers at uneven times, with some efforts unknown."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.5e-3, 1.5e-3, samples))
    q, v, tau = rng.standard_normal((3, samples, len(NAMES)))
    tau[rng.random(tau.shape) < 0.05] = np.nan
    return Recording(t - t[0], q, v, tau, NAMES, start_ns=start_ns)


def fourier_motion(period: float = 5.0, harmonics: int = 4, seed: int = 0) -> FourierSeries:
    """Return a periodic motion of three joints."""
    rng = np.random.default_rng(seed)
    cos, sin = rng.uniform(-0.3, 0.3, (2, harmonics, len(NAMES)))
    return FourierSeries(period, np.array([0.1, -0.5, 0.8]), cos, sin)


def efforts_of(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return efforts linear in known parameters: inertia 2, viscous 3, weight 5."""
    return 2 * a + 3 * v + 5 * np.cos(q)


def periodic_recording(periods: float = 8, rate: float = 100, noise_q: float = 0.0,
                       noise_tau: float = 0.0, seed: int = 1, lead: float = 0.0) -> Recording:
    """Return a repeated motion with white noise; ``lead`` seconds of smooth approach before."""
    motion, rng = fourier_motion(), np.random.default_rng(seed)
    t = np.arange(int(round((lead + periods * motion.period) * rate))) / rate
    ramp = np.clip(t / lead, 0, 1) if lead else np.ones(len(t))
    ramp = (ramp ** 3 * (10 - 15 * ramp + 6 * ramp ** 2))[:, None]
    q, v, a = motion.sample(t - lead)
    tau = efforts_of(q, v, a) + noise_tau * rng.standard_normal(q.shape)
    return Recording(t, ramp * q + noise_q * rng.standard_normal(q.shape), None, ramp * tau,
                     NAMES)


def assert_same(first: Recording, second: Recording) -> None:
    """Check that two recordings are equal to the last bit."""
    assert first.joint_names == second.joint_names
    assert first.start_ns == second.start_ns
    for name in ('t', 'q', 'v', 'tau'):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
