"""
The width of smooth Coulomb friction, chosen on the training data.

Near zero speed friction does not jump; tanh(v / width) is often closer. One pass over the data
serves all candidates: the friction columns of each width stand beside each other in the
triangular factors, and leaving out all but one set of them is an operation on the factors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.model.base import BaseParameters
from robident_ros.model.drives import coulomb
from robident_ros.model.robot import Robot

# Candidates as shares of the typical speed; 0 is a sharp sign.
SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
# A smooth law must predict unseen parts better by this share, or the sharp sign stays.
WORTH = 0.01


def candidate_widths(v: np.ndarray) -> tuple[float, ...]:
    """Return widths to try, from the speeds (N, n) of the joints that move."""
    rms = np.sqrt(np.mean(np.square(v), axis=0))
    typical = float(np.median(rms[rms > 0])) if (rms > 0).any() else 0.0
    return tuple(float(f'{share * typical:.2g}') for share in SHARES) if typical else (0.0,)


def with_width(robot: Robot, width: float) -> Robot:
    """Return the robot with another width of Coulomb friction."""
    drives = replace(robot.config.drives, coulomb_width=width)
    return replace(robot, config=replace(robot.config, drives=drives))


@dataclass(frozen=True, eq=False)
class WidthColumns:
    """
    Columns of Coulomb friction for several widths.

    ``terms`` are the drive terms concerned and ``columns`` their base parameters. The first
    width is in the base columns themselves; further ones are appended behind all of them.
    """

    widths: tuple[float, ...]
    robot: Robot
    columns: np.ndarray
    rows: np.ndarray

    @property
    def extra(self) -> int:
        """Return the number of columns appended."""
        return (len(self.widths) - 1) * len(self.columns)

    def loads(self, joint: int) -> np.ndarray:
        """Return which of the appended columns load a joint."""
        own = np.flatnonzero(self.rows[:, joint])
        return np.concatenate([k * len(self.columns) + own for k in range(len(self.widths) - 1)])

    def values(self, joint: int, v: np.ndarray) -> np.ndarray:
        """Return the appended columns that load a joint, as rows, at speeds (N, n)."""
        own = np.flatnonzero(self.rows[:, joint])
        speed, lever = self.rows[own] @ v.T, self.rows[own, joint][:, None]
        return np.concatenate([lever * coulomb(speed, width) for width in self.widths[1:]])


def width_columns(robot: Robot, base: BaseParameters, widths: Sequence[float]) -> WidthColumns:
    """Return which columns depend on the width; the first width becomes the robot's own."""
    position = {column: i for i, column in enumerate(base.kept)}
    found = [(position[c], term.row) for c, term in zip(robot.drive_columns, robot.drive_terms)
             if term.symbol == 'Fc' and c in position]
    return WidthColumns(tuple(widths), with_width(robot, widths[0]),
                        np.array([i for i, _ in found], dtype=int),
                        np.array([row for _, row in found]).reshape(-1, len(robot.joint_names)))


def extend(information: SquareRootInformation, extra: WidthColumns) -> SquareRootInformation:
    """Return empty information that has room for the columns of all widths."""
    b = len(information.parameter_names)
    names = tuple(f'{information.parameter_names[i]}@{width:g}' for width in extra.widths[1:]
                  for i in extra.columns)
    columns, factors = [], []
    for j, own in enumerate(information.columns):
        columns.append(np.append(own, b + extra.loads(j)) if extra.extra else own)
        factors.append(read_only(np.zeros((len(columns[-1]) + 1,) * 2)))
    return replace(information, parameter_names=information.parameter_names + names,
                   columns=tuple(columns), factors=tuple(factors))


def choose(information: SquareRootInformation, extra: WidthColumns,
           index: int) -> SquareRootInformation:
    """Return the information with one width's columns in place of the base ones."""
    b, n = len(information.parameter_names) - extra.extra, len(extra.columns)
    replaced = np.arange(b)
    if index:
        replaced[extra.columns] = b + (index - 1) * n + np.arange(n)
    columns, factors = [], []
    for own, factor in zip(information.columns, information.factors):
        where = {column: k for k, column in enumerate(own)}
        kept = [i for i in range(b) if replaced[i] in where]
        picked = [where[replaced[i]] for i in kept] + [len(own)]
        R = np.linalg.qr(factor[:, picked], 'r')
        columns.append(np.array(kept, dtype=int))
        factors.append(read_only(R))
    return replace(information, parameter_names=information.parameter_names[:b],
                   columns=tuple(columns), factors=tuple(factors),
                   standard=tuple(information.standard))


def best_width(errors: Sequence[float]) -> int:
    """Return which width to take, from the cross-validation errors of all; the first is sharp."""
    best = int(np.argmin(errors))
    return best if errors[best] < (1 - WORTH) * errors[0] else 0
