"""
Drive gains from a known payload, where only motor currents are measured (papers 003 [15]).

With effort = gain · current, a robot that is twice as heavy with gains twice as large behaves
alike; a load of known parameters π fixes the scale. Without and with load, the current v_j of
joint j is h_j·W_j·(β + s·K_L·π), with h = 1/gain and s = 0 or 1. Noise is in the currents, so
the inverse gains h are estimated by maximum likelihood (Gauss–Newton on compressed data),
starting from the linear least squares in gains, which noise would bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import EstimationError, RankDeficient
from robident_ros.estimation.attachment import find_attachment
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.problem import column_norms
from robident_ros.model.base import BaseParameters
from robident_ros.model.composite import transport
from robident_ros.model.robot import Robot

ITERATIONS = 50
CONVERGED = 1e-12
UNSEEN = 1e-8


@dataclass(frozen=True, eq=False)
class DriveGains:
    """Gains of the joints (effort per unit of current), and the base parameters with them."""

    joint_names: tuple[str, ...]
    gain: np.ndarray
    std: np.ndarray
    beta: np.ndarray


def identify_gains(recordings: Sequence[tuple[SquareRootInformation, np.ndarray | None]],
                   robot: Robot, base: BaseParameters, frame: str | None = None) -> DriveGains:
    """
    Identify drive gains.

    :param recordings: information with currents in place of efforts, each with the ten known
        parameters of its load, or None where there is none.
    :param frame: link or frame that carries the load and that its parameters are told in;
        default: that of the last joint, where there is one last joint.
    """
    if all(load is None for _, load in recordings):
        raise EstimationError('drive gains need a recording with a known load beside one '
                              'without; give its ten parameters')
    joint, _, placement = find_attachment(robot, frame)
    column = robot.link_columns[joint]
    K_L = base.K[:, column:column + 10] @ transport(placement)
    shifts = [np.zeros(len(base.kept)) if load is None else K_L @ np.asarray(load, dtype=float)
              for _, load in recordings]
    informations = [information for information, _ in recordings]
    beta, h = _linear(informations, shifts, robot)
    deviations = _deviations(informations)
    for _ in range(ITERATIONS):
        J, r = _linearise(informations, shifts, beta, h, deviations)
        step = _solve(J, -r, robot)
        beta, h = beta + step[:len(beta)], h + step[len(beta):]
        if np.abs(step[len(beta):] / h).max() < CONVERGED:
            break
    J, r = _linearise(informations, shifts, beta, h, deviations)
    rows = sum(int(information.counts.sum()) for information in informations)
    scale = column_norms(J)
    inverse = np.linalg.pinv(J / scale) / scale[:, None]
    variance = float(r @ r) / max(rows - J.shape[1], 1)
    std_h = np.sqrt(variance * np.sum(inverse[len(beta):]**2, axis=1))
    return DriveGains(robot.joint_names, read_only(1 / h), read_only(std_h / h**2),
                      read_only(beta))


def _deviations(informations: list[SquareRootInformation]) -> np.ndarray:
    own = np.array([information.own_deviations for information in informations])
    return np.maximum(np.sqrt(np.mean(own**2, axis=0)), 1e-9 * own.max())


def _linear(informations: list[SquareRootInformation], shifts: list[np.ndarray],
            robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return base parameters and inverse gains from W·β − v·g = −W·shift."""
    b, n = len(shifts[0]), len(robot.joint_names)
    blocks, right = [], []
    for information, shift in zip(informations, shifts):
        for j, (columns, factor) in enumerate(zip(information.columns, information.factors)):
            block = np.zeros((len(factor), b + n))
            block[:, columns], block[:, b + j] = factor[:, :-1], -factor[:, -1]
            blocks.append(block)
            right.append(-factor[:, :-1] @ shift[columns])
    x = _solve(np.vstack(blocks), np.concatenate(right), robot)
    if not np.all(x[b:] > 0):
        wrong = [name for name, gain in zip(robot.joint_names, x[b:]) if gain <= 0]
        raise EstimationError(f'the gain of {", ".join(wrong)} would not be positive; check the '
                              'sign of the currents and the known load')
    return x[:b], 1 / x[b:]


def _linearise(informations: list[SquareRootInformation], shifts: list[np.ndarray],
               beta: np.ndarray, h: np.ndarray, deviations: np.ndarray
               ) -> tuple[np.ndarray, np.ndarray]:
    """Return Jacobian and residual of h_j·W_j·(β + shift) − v_j, over its deviation."""
    J, r = [], []
    for information, shift in zip(informations, shifts):
        for j, (columns, factor) in enumerate(zip(information.columns, information.factors)):
            torque = factor[:, :-1] @ (beta + shift)[columns]
            block = np.zeros((len(factor), len(beta) + len(h)))
            block[:, columns], block[:, len(beta) + j] = h[j] * factor[:, :-1], torque
            J.append(block / deviations[j])
            r.append((h[j] * torque - factor[:, -1]) / deviations[j])
    return np.vstack(J), np.concatenate(r)


def _solve(A: np.ndarray, y: np.ndarray, robot: Robot) -> np.ndarray:
    scale = column_norms(A)
    U, sigma, Vt = np.linalg.svd(A / scale, full_matrices=False)
    if sigma[-1] < UNSEEN * sigma[0]:
        worst = np.abs(Vt[-1][-len(robot.joint_names):])
        raise RankDeficient(f'the recordings do not show the gain of '
                            f'{robot.joint_names[int(np.argmax(worst))]!r}; move it with the load')
    return Vt.T / sigma @ (U.T @ y) / scale
