"""
Weighting by the whole covariance of the noise, where its joints are correlated.

Noise that several joints share (a supply, a common filter) is whitened before compression: with
Σ = L·Lᵀ the rows of all joints at one time are multiplied by L⁻¹. Least squares of what comes
out is the estimate of maximum likelihood for noise that is white in time.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.estimation.compress import regressor_blocks
from robident_ros.estimation.information import empty_information, SquareRootInformation
from robident_ros.model.base import BaseParameters
from robident_ros.model.robot import Robot
from robident_ros.processing.process import Samples


def noise_covariance(recordings: Sequence[Samples],
                     heard: np.ndarray | None = None) -> np.ndarray | None:
    """
    Return the covariance (n, n) of filtered efforts, as the spread between periods tells it.

    None where some recording was not averaged over periods: then only deviations are known.

    :param heard: joints whose efforts count, as flags; default all. The covariance of the others
        need not be known.
    """
    found = []
    for samples in recordings:
        if samples.periods is None:
            return None
        averaged = samples.periods.noise_tau / len(samples.periods.used)
        found.append(averaged * samples.filter.noise_gain**2)
    covariance = np.mean(found, axis=0)
    used = covariance if heard is None else covariance[np.ix_(heard, heard)]
    positive = np.isfinite(used).all() and np.linalg.eigvalsh(used)[0] > 0
    return covariance if positive else None


def compress_whitened(samples: Samples, robot: Robot, base: BaseParameters,
                      covariance: np.ndarray, parts: int = 1,
                      heard: np.ndarray | None = None) -> list[SquareRootInformation]:
    """
    Compress samples to information whose rows have independent noise of deviation one.

    Row j of what was a joint is now a combination of joints; a time at which some joint has no
    say is left out.

    :param heard: joints whose efforts count at all, as flags; default all. The others take no
        part in any combination.
    """
    n = len(robot.joint_names)
    heard = np.ones(n, dtype=bool) if heard is None else heard
    L_inverse = np.zeros((n, n))
    L_inverse[np.ix_(heard, heard)] = np.linalg.inv(
        np.linalg.cholesky(covariance[np.ix_(heard, heard)]))
    empty = _all_columns(empty_information(robot, base), base)
    valid = (samples.weights[:, heard] > 0).all(axis=1)
    efforts = np.nan_to_num(samples.filter.apply(samples.tau)) @ L_inverse.T
    weights = np.outer(valid, heard).astype(float)
    borders = np.linspace(0, len(valid), max(min(parts, len(valid)), 1) + 1).astype(int)
    information = []
    for first, last in zip(borders[:-1], borders[1:]):
        part = empty
        for rows, blocks in regressor_blocks(samples, robot, empty.standard, first, last):
            mixed = np.tensordot(L_inverse, np.stack(blocks), 1)
            part = part.update_blocks(list(mixed), efforts[rows], weights[rows])
        information.append(part)
    return information


def _all_columns(information: SquareRootInformation,
                 base: BaseParameters) -> SquareRootInformation:
    """Return empty information in which every parameter loads every row."""
    n, b = len(information.joint_names), len(base.kept)
    factor = read_only(np.zeros((b + 1, b + 1)))
    return replace(information, columns=(np.arange(b),) * n, standard=(base.kept,) * n,
                   factors=(factor,) * n)
