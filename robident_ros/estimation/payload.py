"""
The load at the tool, from a recording without it and one with it.

A load is part of the last link, so it changes the base parameters by K_L·π, where K_L are the
columns of the base map K that belong to that link and π the load's ten parameters. Both
recordings together determine the base parameters and π in one least squares on compressed data.
Friction and offsets may differ between the recordings (load and temperature change them).
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import RankDeficient
from robident_ros.estimation.attachment import find_attachment
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.least_squares import joint_deviations
from robident_ros.estimation.problem import column_norms, weighted_problem
from robident_ros.model.base import BaseParameters
from robident_ros.model.composite import transport
from robident_ros.model.parameters import INERTIAL
from robident_ros.model.physical import judge_link, LinkVerdict
from robident_ros.model.robot import Robot

DRIVE = ('Fv', 'Fc', 'off')
UNSEEN = 1e-7  # singular value over the largest below which a direction is not determined


@dataclass(frozen=True, eq=False)
class Payload:
    """
    The ten parameters ``XX … M`` of a load, in a frame of the robot, with deviations.

    ``std`` is infinite for what the arm's motion does not show, and ``value`` NaN.
    """

    frame: str
    names: tuple[str, ...]
    value: np.ndarray
    std: np.ndarray
    covariance: np.ndarray
    verdict: LinkVerdict | None


def identify_payload(unloaded: SquareRootInformation, loaded: SquareRootInformation,
                     robot: Robot, base: BaseParameters, frame: str | None = None,
                     silent: np.ndarray | None = None, correlation: float = 1.0) -> Payload:
    """
    Identify a load.

    :param unloaded: information of a recording without the load, ``loaded`` with it.
    :param frame: link or frame that carries the load and that the parameters are told in;
        default: that of the last joint, where there is one last joint.
    :param silent: joints whose efforts have no say, as flags.
    :param correlation: number of samples that say as much as one independent one.
    """
    joint, name, placement = find_attachment(robot, frame)
    column = robot.link_columns[joint]
    K_L = base.K[:, column:column + 10]
    A, y = _stack(unloaded, loaded, robot, base, K_L, silent)
    heard = np.ones(len(robot.joint_names), dtype=bool) if silent is None else ~silent
    rows = int(unloaded.counts[heard].sum() + loaded.counts[heard].sum())
    if rows <= A.shape[1]:
        raise RankDeficient(f'{rows} equations for {A.shape[1]} parameters; record longer')
    scale = column_norms(A)
    U, sigma, Vt = np.linalg.svd(A / scale, full_matrices=False)
    seen = sigma > UNSEEN * sigma[0]
    inverse = (Vt[seen].T / sigma[seen])[-10:] / scale[-10:, None]
    rest = y - A @ (Vt[seen].T / sigma[seen] @ (U[:, seen].T @ y) / scale)
    variance = correlation * float(rest @ rest) / (rows - A.shape[1])
    move = transport(placement.inverse())
    value = move @ (inverse @ (U[:, seen].T @ y))
    covariance = move @ (inverse @ inverse.T * variance) @ move.T
    hidden = np.abs(move @ (Vt[~seen].T[-10:] / scale[-10:, None])).max(axis=1, initial=0) > UNSEEN
    std = np.where(hidden, np.inf, np.sqrt(np.diag(covariance)))
    verdict = None if hidden.any() else judge_link(robot.tree_joint_names[joint], value)
    return Payload(name, INERTIAL, read_only(np.where(hidden, np.nan, value)), read_only(std),
                   read_only(covariance), verdict)


def _stack(unloaded: SquareRootInformation, loaded: SquareRootInformation, robot: Robot,
           base: BaseParameters, K_L: np.ndarray, silent: np.ndarray | None
           ) -> tuple[np.ndarray, np.ndarray]:
    """Return the least squares in (links, drives without load, drives with it, load)."""
    drive = np.array([robot.parameters[column].symbol in DRIVE for column in base.kept])
    blocks, right = [], []
    for i, information in enumerate((unloaded, loaded)):
        deviations = joint_deviations(information, 'residual')
        problem = weighted_problem(information, deviations if silent is None
                                   else np.where(silent, np.inf, deviations))
        # what least squares of this recording alone leaves over is a row of its own
        A = np.vstack([problem.A, np.zeros(len(drive))])
        own, none = A[:, drive], np.zeros((len(A), int(drive.sum())))
        blocks.append(np.hstack([A[:, ~drive], *((own, none) if i == 0 else (none, own)),
                                 i * A @ K_L]))
        right.append(np.append(problem.y, np.sqrt(problem.rss)))
    return np.vstack(blocks), np.concatenate(right)
