"""
Data of any length as small triangular factors: square-root information.

For each joint the rows [W y] are kept only as the R of their QR factorisation. Residuals do not
change: for any parameters β the norm of W·β − y is that of R·[β, −1]. Two factors combine by
the QR of their stack, so data stream in constant memory, live samples update the factor row by
row (Bierman's sequential form is the same operation) and parts of a recording can be joined or
left out after the fact. Normal equations would square the condition number; this does not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import EstimationError
from robident_ros.files import write_atomically
from robident_ros.model.base import BaseParameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot

SCHEMA = 'robident_information/1'
BLOCK = 16  # columns that LAPACK's tpqrt reflects at a time; 8 to 32 measured alike
NEGLIGIBLE = 1e-9  # of a column's norm over all joints: round-off, not an effect


@dataclass(frozen=True, eq=False)
class SquareRootInformation:
    """
    What a recording says about the base parameters of a robot.

    ``columns[j]`` are the base parameters that load joint j, ``standard[j]`` the columns of the
    torque regressor that belong to them; ``factors[j]`` is the upper triangular R of [W y],
    ``counts[j]`` the number of rows in it.
    """

    joint_names: tuple[str, ...]
    parameter_names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    standard: tuple[np.ndarray, ...]
    factors: tuple[np.ndarray, ...]
    counts: np.ndarray

    def update(self, W: np.ndarray, y: np.ndarray,
               weights: np.ndarray | None = None) -> 'SquareRootInformation':
        """
        Return the information with more samples in it, one or many.

        :param W: torque regressor (n, N, p), as ``torque_regressor`` returns it.
        :param y: efforts (N, n).
        :param weights: factors of the rows (N, n); a row of weight zero does not count.
        """
        blocks = [take_columns(W[j], columns) for j, columns in enumerate(self.standard)]
        return self.update_blocks(blocks, y, weights)

    def update_blocks(self, blocks: Sequence[np.ndarray], y: np.ndarray,
                      weights: np.ndarray | None = None) -> 'SquareRootInformation':
        """
        Do the same from the columns ``standard[j]`` of each joint, as ``take_columns`` gives.

        The memory of the blocks is used up.
        """
        factors, counts = [], np.array(self.counts)
        for j, (rows, factor) in enumerate(zip(blocks, self.factors)):
            rows[-1] = y[:, j]
            if weights is not None and np.any(weights[:, j] != 1):
                valid = weights[:, j] > 0
                rows = rows[:, valid] * weights[valid, j]
            if rows.shape[1]:
                factor = _absorb(factor, rows.T, 0)
            factors.append(factor)
            counts[j] += rows.shape[1]
        return replace(self, factors=tuple(factors), counts=counts)

    def __add__(self, other: 'SquareRootInformation') -> 'SquareRootInformation':
        if (self.joint_names, self.parameter_names) != (other.joint_names, other.parameter_names):
            raise EstimationError('information of different robots or drive terms cannot be '
                                  'joined; compress both recordings with the same URDF and '
                                  'configuration')
        factors = tuple(_absorb(mine, np.array(theirs, order='F'), len(theirs))
                        for mine, theirs in zip(self.factors, other.factors))
        return replace(self, factors=factors, counts=self.counts + other.counts)

    @property
    def effort_norms(self) -> np.ndarray:
        """Norm of the efforts of each joint."""
        return np.array([np.linalg.norm(factor[:, -1]) for factor in self.factors])

    def residual_norms(self, beta: np.ndarray) -> np.ndarray:
        """Return the norm of W·β − y of each joint."""
        return np.array([np.linalg.norm(factor[:, :-1] @ beta[columns] - factor[:, -1])
                         for columns, factor in zip(self.columns, self.factors)])

    @property
    def own_deviations(self) -> np.ndarray:
        """Residual standard deviation of each joint's own least squares (paper 003, III)."""
        freedom = self.counts - [len(columns) for columns in self.columns]
        least = [abs(factor[-1, -1]) for factor in self.factors]
        return np.array(least) / np.sqrt(np.maximum(freedom, 1))


def take_columns(W: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some columns of W (N, p) as rows, and one more row that efforts go into."""
    rows = np.empty((len(columns) + 1, len(W)))
    np.take(W.T, columns, axis=0, out=rows[:-1], mode='clip')  # 'raise' would make a copy
    rows[-1] = 0
    return rows


def _absorb(factor: np.ndarray, rows: np.ndarray, triangular: int) -> np.ndarray:
    """
    Return the triangular factor of ``factor`` above ``rows``, whose memory is used up.

    :param triangular: number of rows at the end of ``rows`` that are upper triangular.
    """
    from scipy.linalg.lapack import dtpqrt
    size = len(factor)
    R, *_, info = dtpqrt(triangular, min(BLOCK, size), np.array(factor, order='F'), rows,
                         overwrite_a=1, overwrite_b=1)
    if info:
        raise ArithmeticError(f'LAPACK tpqrt: argument {-info} is wrong')
    R.setflags(write=False)
    return R


def empty_information(robot: Robot, base: BaseParameters) -> SquareRootInformation:
    """Return the information of no data at all: which parameters load which joints."""
    states = np.random.default_rng(0).uniform(-3, 3, (3, 20, len(robot.joint_names)))
    size = np.abs(torque_regressor(robot, *states, use='numpy')[..., base.kept]).max(axis=1)
    loads = size > NEGLIGIBLE * size.max(axis=0)
    columns = tuple(np.flatnonzero(row) for row in loads)
    factors = tuple(read_only(np.zeros((len(c) + 1, len(c) + 1))) for c in columns)
    return SquareRootInformation(robot.joint_names, base.names, columns,
                                 tuple(base.kept[c] for c in columns), factors,
                                 np.zeros(len(columns), dtype=int))


def combine(parts: Iterable[SquareRootInformation]) -> SquareRootInformation:
    """Return what several recordings, or parts of one, say together."""
    total, *others = parts
    for part in others:
        total = total + part
    return total


def save_information(information: SquareRootInformation, path: str | Path) -> None:
    """Write the factors as an .npz file."""
    arrays = {'schema': SCHEMA, 'joint_names': information.joint_names,
              'parameter_names': information.parameter_names, 'counts': information.counts}
    for key in ('columns', 'standard', 'factors'):
        for j, array in enumerate(getattr(information, key)):
            arrays[f'{key}_{j}'] = array
    with write_atomically(path, 'wb') as file:
        np.savez(file, **arrays)


def load_information(path: str | Path) -> SquareRootInformation:
    """Read what ``save_information`` wrote."""
    try:
        with np.load(path, allow_pickle=False) as data:
            if str(data['schema']) != SCHEMA:
                raise EstimationError(f'{path}: schema is {str(data["schema"])!r}, expected '
                                      f'{SCHEMA!r}; compress the recording again')
            names = tuple(str(name) for name in data['joint_names'])
            lists = {key: tuple(data[f'{key}_{j}'] for j in range(len(names)))
                     for key in ('columns', 'standard', 'factors')}
            return SquareRootInformation(
                names, tuple(str(name) for name in data['parameter_names']),
                counts=data['counts'], **lists)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise EstimationError(f'{path}: is not a file of compressed data: {error}') from error
