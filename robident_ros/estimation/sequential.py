"""
Lin's Algorithm 2: inertia constants from motions of single joints, backward over the joints.

The torque of joint j depends on the composite bodies j to n only. So the last joint's equation
gives the constants of body n, the one before those of body n−1, and so on: each step is a small
least squares with what is behind already known (paper 001, steps 1 to 3 in one). One joint moves
at a time, most often the first; friction and offset of joint j are estimated in its own step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import EstimationError, RankDeficient
from robident_ros.model.composite import minimal_set
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot

AT_REST = 1e-3  # of the fastest joint's speed
RANK = 1e-7


@dataclass(frozen=True, eq=False)
class Motion:
    """Samples (N, n) of a motion of one joint: positions, speeds, accelerations, efforts."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, eq=False)
class SequentialEstimate:
    """Inertia constants and drive parameters, with the equations each joint's step had."""

    names: tuple[str, ...]
    values: np.ndarray
    std: np.ndarray
    equations: tuple[int, ...]


def estimate_sequentially(motions: Sequence[Motion], robot: Robot) -> SequentialEstimate:
    """
    Estimate Lin's constants from motions of one joint at a time.

    :param motions: several configurations; the joints that do not move stand still anywhere.
    """
    if any(term.symbol == 'Ia' for term in robot.drive_terms):
        raise EstimationError('rotor inertia cannot be told from the constants U33 one joint at '
                              'a time; leave it out with --terms Fv,Fc,off')
    for i, motion in enumerate(motions):
        _check_single(motion, robot, i)
    constants = minimal_set(robot)
    body = np.array([int(name.rsplit('_', 1)[1]) for name in constants.names])
    W = np.concatenate([torque_regressor(robot, m.q, m.v, m.a) for m in motions], axis=1)
    tau = np.concatenate([motion.tau for motion in motions])
    # The inertial part of W is Φ·map: its rows lie in the row space of the map.
    columns = np.ravel(robot.link_columns[:, None] + np.arange(10))
    Phi = W[..., columns] @ np.linalg.pinv(constants.map[:, columns])
    values, std = np.full(len(body), np.nan), np.full(len(body), np.nan)
    drives, equations = {}, []
    for j in reversed(range(len(robot.joint_names))):
        own, behind = body == j + 1, body > j + 1
        friction = [c for c, term in zip(robot.drive_columns, robot.drive_terms) if term.row[j]]
        A = np.column_stack([Phi[j][:, own], W[j][:, friction]])
        y = tau[:, j] - Phi[j][:, behind] @ values[behind]
        names = [*np.array(constants.names)[own], *(robot.parameter_names[c] for c in friction)]
        found, deviation = _solve(A, y, names, robot.joint_names[j])
        values[own], std[own] = found[:own.sum()], deviation[:own.sum()]
        drives |= dict(zip(friction, zip(found[own.sum():], deviation[own.sum():])))
        equations.insert(0, len(y))
    extra = sorted(drives)
    return SequentialEstimate(
        (*constants.names, *(robot.parameter_names[c] for c in extra)),
        read_only([*values, *(drives[c][0] for c in extra)]),
        read_only([*std, *(drives[c][1] for c in extra)]), tuple(equations))


def _check_single(motion: Motion, robot: Robot, index: int) -> None:
    speed = np.abs(motion.v).max(axis=0)
    moving = [name for name, s in zip(robot.joint_names, speed)
              if s > AT_REST * max(speed.max(), np.finfo(float).tiny)]
    if len(moving) != 1:
        found = ', '.join(moving) or 'none'
        raise EstimationError(f'motion {index + 1}: expected one joint to move, found {found}; '
                              'record one joint at a time')


def _solve(A: np.ndarray, y: np.ndarray, names: list[str],
           joint: str) -> tuple[np.ndarray, np.ndarray]:
    """Return least squares and standard deviations of one joint's step."""
    scale = np.linalg.norm(A, axis=0)
    weak = scale <= RANK * scale.max(initial=0)
    U, sigma, Vt = np.linalg.svd(A / np.where(scale > 0, scale, 1), full_matrices=False)
    if len(A) < A.shape[1] or weak.any() or sigma[-1] < RANK * sigma[0]:
        suspects = np.array(names)[weak] if weak.any() else [names[np.argmax(np.abs(Vt[-1]))]]
        raise RankDeficient(f'joint {joint!r}: the motions do not show {", ".join(suspects)}; '
                            'add configurations of this joint, or move it alone')
    found = Vt.T / sigma @ (U.T @ y)
    variance = np.sum((A @ (found / scale) - y)**2) / max(len(y) - len(found), 1)
    return found / scale, np.sqrt(variance * np.sum((Vt.T / sigma)**2, axis=1)) / scale
