"""From samples to square-root information, in pieces of constant memory."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from robident_ros.estimation.coulomb import extend, WidthColumns
from robident_ros.estimation.information import empty_information, SquareRootInformation
from robident_ros.estimation.information import take_columns
from robident_ros.model.base import BaseParameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot
from robident_ros.processing.parallel_filter import ParallelFilter
from robident_ros.processing.process import Samples

# Samples whose regressor is in memory at a time: some twenty megabytes for a seven-joint arm.
CHUNK = 4096


def compress(samples: Samples, robot: Robot, base: BaseParameters, parts: int = 1,
             weights: np.ndarray | None = None, widths: WidthColumns | None = None,
             progress: Callable[[float], None] | None = None) -> list[SquareRootInformation]:
    """
    Compress samples to the information of consecutive parts of them.

    :param samples: what ``process`` returns, with the robot's joints in its order.
    :param parts: in how many parts; ``combine`` joins them, all but one make a cross-validation.
    :param weights: further factors of the rows (m, n), on top of those of the samples.
    :param widths: further columns of Coulomb friction.
    :param progress: told the share that is done.
    """
    efforts, total = samples.filter.apply(samples.tau), len(samples.filter.rows)
    factors = samples.weights if weights is None else samples.weights * weights
    empty = empty_information(robot, base)
    empty = empty if widths is None else extend(empty, widths)
    information = []
    borders = np.linspace(0, total, max(min(parts, total), 1) + 1).astype(int)
    for first, last in zip(borders[:-1], borders[1:]):
        part = empty
        for rows, blocks in regressor_blocks(samples, robot, empty.standard, first, last, widths):
            part = part.update_blocks(blocks, efforts[rows], factors[rows])
            if progress is not None:
                progress(rows.stop / total)
        information.append(part)
    return information


def regressor_blocks(samples: Samples, robot: Robot, columns: tuple[np.ndarray, ...], first: int,
                     last: int, widths: WidthColumns | None = None
                     ) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """
    Yield rows of the kept samples with their filtered regressor columns, one block per joint.

    Blocks are as ``take_columns`` gives them: columns as rows, with room for the efforts.

    :param columns: columns of the torque regressor that are wanted of each joint.
    """
    for rows, needed, piece in _pieces(samples.filter, first, last):
        v = samples.v[needed]
        W = torque_regressor(robot, samples.q[needed], v, samples.a[needed])
        blocks = [take_columns(W[j], c) for j, c in enumerate(columns)]
        if widths is not None and widths.extra:
            blocks = [np.concatenate([block[:-1], widths.values(j, v), block[-1:]])
                      for j, block in enumerate(blocks)]
        yield rows, [_filtered(piece, block.T).T for block in blocks]


def _pieces(parallel: ParallelFilter, first: int,
            last: int) -> Iterator[tuple[slice, slice, ParallelFilter]]:
    """
    Yield rows kept, the samples they need, and the filter that makes the ones of the others.

    One averaged period is short, and its ends belong together: it is one piece.
    """
    if parallel.is_periodic:
        yield slice(first, last), slice(None), replace(parallel, rows=parallel.rows[first:last])
        return
    start = first
    while start < last:
        # as many outputs as the inputs of one chunk allow, but one at least
        reach = parallel.rows[start] + max(CHUNK - 2 * parallel.half, 1)
        stop = min(max(int(np.searchsorted(parallel.rows, reach)), start + 1), last)
        needed, piece = parallel.piece(start, stop)
        yield slice(start, stop), needed, piece
        start = stop


def _filtered(piece: ParallelFilter, columns: np.ndarray) -> np.ndarray:
    """Return the filtered columns; a filter that keeps every row as it is costs nothing."""
    if piece.half == 0 and len(piece.rows) == piece.length:
        return columns
    return piece.apply(columns)


def predict(samples: Samples, robot: Robot, thetas: np.ndarray) -> np.ndarray:
    """
    Return the efforts that standard parameters predict at the kept samples, (k, m, n).

    The filter is linear, so it is the n torques that are filtered and not n·p columns.

    :param thetas: (k, p), several sets of standard parameters.
    """
    thetas = np.atleast_2d(thetas)
    plain = np.empty((len(samples.q), len(thetas) * len(robot.joint_names)))
    for start in range(0, len(samples.q), CHUNK):
        part = slice(start, start + CHUNK)
        W = torque_regressor(robot, samples.q[part], samples.v[part], samples.a[part])
        torques = np.tensordot(thetas, W.transpose(2, 0, 1), 1)  # (k, n, N), W as it lies
        plain[part] = torques.reshape(plain.shape[1], -1).T
    kept = _filtered(samples.filter, plain)
    return kept.reshape(len(kept), len(thetas), -1).transpose(1, 0, 2)
