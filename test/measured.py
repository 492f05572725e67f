"""Recordings with a known truth, to go through all stages: periodic motion of an arm."""

from dataclasses import replace

import numpy as np
from robident_ros.recording import Recording
from shipped import shipped
from synthetic import torque, with_drives

ROBOT = shipped('arm6')
THETA = with_drives(ROBOT)


def periodic(seed: int = 0, periods: float = 3, noise: float = 0.02, theta: np.ndarray = THETA,
             rate: float = 100.0, still: int | None = None, encoder: float = 0.0,
             amplitude: float = 0.4) -> Recording:
    """
    Return periods of 8 s of the arm.

    :param noise: of the efforts, as a share of their variation; ``encoder`` of positions [rad]
    :param still: a joint that does not move
    """
    rng, motion, n = np.random.default_rng(seed), np.random.default_rng(7), len(ROBOT.joint_names)
    t = np.arange(0, periods * 8.0, 1 / rate)
    w = 2 * np.pi / 8.0 * np.arange(1, 6)[:, None, None]
    A, phase = motion.normal(0, amplitude, (5, n, 1)), motion.uniform(0, 6, (5, n, 1))
    if still is not None:
        A[:, still] = 0
    x = w * t + phase
    q, v, a = ((A * np.sin(x)).sum(axis=0).T + 0.3, (A * w * np.cos(x)).sum(axis=0).T,
               -(A * w**2 * np.sin(x)).sum(axis=0).T)
    tau = torque(ROBOT, theta, q, v, a)
    tau = tau + noise * tau.std(axis=0) * rng.normal(size=tau.shape)
    return Recording(t, q + encoder * rng.normal(size=q.shape), None, tau, ROBOT.joint_names)


def with_effort(recording: Recording, joint: int, effort: np.ndarray | float) -> Recording:
    """Return the recording with another effort of one joint."""
    tau = np.array(recording.tau)
    tau[:, joint] = effort
    return replace(recording, tau=tau)
