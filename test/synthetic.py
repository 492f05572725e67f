"""Samples with a known truth: exciting motions of the shipped robots, and noise."""

from dataclasses import replace

import numpy as np
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot
from robident_ros.processing.parallel_filter import ParallelFilter
from robident_ros.processing.process import Samples


def motion(robot: Robot, count: int, seed: int = 0, duration: float = 20.0) -> tuple:
    """Return times and an exciting motion q, v, a: five random harmonics for every joint."""
    rng, n = np.random.default_rng(seed), len(robot.joint_names)
    t = np.arange(count) * duration / count
    w = 2 * np.pi / duration * np.arange(1, 6)[:, None, None]
    A, phase = rng.normal(0, 0.5, (5, n, 1)), rng.uniform(0, 6, (5, n, 1))
    x = w * t + phase
    q = (A * np.sin(x)).sum(axis=0) + rng.uniform(-1, 1, (n, 1))
    v, a = (A * w * np.cos(x)).sum(axis=0), -(A * w**2 * np.sin(x)).sum(axis=0)
    # faster, so that inertia counts beside gravity
    return t, q.T, 3 * v.T, 9 * a.T


def samples_of(robot: Robot, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray,
               tau: np.ndarray, noise_std: np.ndarray | None = None) -> Samples:
    """Return arrays as samples that no filter touches."""
    n = len(robot.joint_names)
    return Samples(t, q, v, a, tau, robot.joint_names, 1 / np.diff(t).mean(),
                   ParallelFilter(np.ones(1), np.arange(len(t)), len(t)), np.ones((len(t), n)),
                   np.full(n, np.nan) if noise_std is None else noise_std, 100.0)


def torque(robot: Robot, theta: np.ndarray, q: np.ndarray, v: np.ndarray,
           a: np.ndarray) -> np.ndarray:
    """Return efforts (N, n)."""
    return (torque_regressor(robot, q, v, a) @ theta).T


def simulate(robot: Robot, theta: np.ndarray, count: int = 600, noise: float = 0.0,
             seed: int = 0) -> Samples:
    """Return samples of a robot with parameters θ; noise as a share of each joint's rms effort."""
    t, q, v, a = motion(robot, count, seed)
    tau = torque(robot, theta, q, v, a)
    std = noise * np.sqrt(np.mean(tau**2, axis=0))
    rng = np.random.default_rng(seed + 1000)
    return samples_of(robot, t, q, v, a, tau + std * rng.normal(size=tau.shape), std)


def with_drives(robot: Robot, seed: int = 0) -> np.ndarray:
    """Return the a-priori parameters with friction, rotor inertia and offsets added."""
    theta, rng = np.array(robot.theta), np.random.default_rng(seed)
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        theta[column] = {'Ia': 0.1, 'Fv': 1.0, 'Fc': 2.0, 'off': 0.2}[term.symbol] * rng.uniform(
            0.5, 1.5)
    return theta


def changed(samples: Samples, **arrays: np.ndarray) -> Samples:
    """Return samples with some arrays replaced."""
    return replace(samples, **arrays)
