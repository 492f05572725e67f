"""From samples to square-root information, in pieces of constant memory."""

from collections.abc import Callable, Iterator

import numpy as np
from robident_ros.estimation.information import empty_information, SquareRootInformation
from robident_ros.model.base import BaseParameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot

# Samples whose regressor is in memory at a time: some tens of megabytes for a seven-joint arm.
CHUNK = 8192


def compress(samples, robot: Robot, base: BaseParameters, parts: int = 1,
             weights: np.ndarray | None = None,
             progress: Callable[[float], None] | None = None) -> list[SquareRootInformation]:
    """
    Compress samples to the information of consecutive parts of them.

    :param parts: in how many parts; ``combine`` joins them, all but one make a cross-validation.
    :param weights: further factors of the rows (m, n), on top of those of the samples.
    :param progress: told the share that is done.
    """
    total = len(samples.filter.rows)
    rows_weights = samples.weights if weights is None else samples.weights * weights
    borders = np.linspace(0, total, min(parts, total) + 1).astype(int)
    information = []
    for first, last in zip(borders[:-1], borders[1:]):
        part = empty_information(robot, base)
        for rows, W_blocks in regressor_blocks(samples, robot, part.standard, first, last):
            part = part.update_blocks(W_blocks, samples.efforts[rows], rows_weights[rows])
            if progress is not None:
                progress(rows.stop / total)
        information.append(part)
    return information


def regressor_blocks(samples, robot: Robot, columns: tuple[np.ndarray, ...], first: int,
                     last: int) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """
    Yield rows of the kept samples with their filtered regressor columns, one block per joint.

    :param columns: columns of the torque regressor that are wanted of each joint.
    """
    parallel = samples.filter
    if parallel.is_periodic:  # one averaged period: short, and its ends belong together
        W = torque_regressor(robot, samples.q, samples.v, samples.a)
        yield slice(first, last), [parallel.apply(np.ascontiguousarray(W[j][:, c]))[first:last]
                                   for j, c in enumerate(columns)]
        return
    start = first
    while start < last:
        # as many outputs as the inputs of one chunk allow, but one at least
        reach = parallel.rows[start] + max(CHUNK - 2 * parallel.half, 1)
        stop = min(max(int(np.searchsorted(parallel.rows, reach)), start + 1), last)
        needed, piece = parallel.piece(start, stop)
        W = torque_regressor(robot, samples.q[needed], samples.v[needed], samples.a[needed])
        yield slice(start, stop), [_filtered(piece, W[j], c) for j, c in enumerate(columns)]
        start = stop


def _filtered(piece, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the filtered columns; a filter that keeps every row as it is costs nothing."""
    if piece.half == 0 and len(piece.rows) == piece.length:
        return np.take(W.T, columns, axis=0).T
    return piece.apply(np.ascontiguousarray(W[:, columns]))


def predict(samples, robot: Robot, thetas: np.ndarray) -> np.ndarray:
    """
    Return the efforts that standard parameters predict at the kept samples, (k, m, n).

    :param thetas: (k, p), several sets of standard parameters.
    """
    thetas = np.atleast_2d(thetas)
    every = tuple(np.arange(len(robot.parameters)) for _ in robot.joint_names)
    out = np.empty((len(thetas), len(samples.filter.rows), len(robot.joint_names)))
    if samples.filter.half:
        # The filter is linear: predict first, then filter n columns and not n·p.
        plain = np.empty((len(thetas), *samples.q.shape))
        for start in range(0, len(samples.q), CHUNK):
            part = slice(start, start + CHUNK)
            W = torque_regressor(robot, samples.q[part], samples.v[part], samples.a[part])
            plain[:, part] = (W @ thetas.T).transpose(2, 1, 0)
        for k, torque in enumerate(plain):
            out[k] = samples.filter.apply(torque)
        return out
    for rows, blocks in regressor_blocks(samples, robot, every, 0, out.shape[1]):
        for j, block in enumerate(blocks):
            out[:, rows, j] = (block @ thetas.T).T
    return out
