"""
What a motion tells about the parameters: the regressor of those that are to be identified.

By default these are the base parameters. A configuration may name others, as combinations of
standard parameters (the nine barycentric ones of paper 004, for one); the condition number is
then that of their regressor.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.excitation.criteria import Criterion, Scaled, Weighted
from robident_ros.model.base import base_parameters, BaseParameters
from robident_ros.model.regressor import stack
from robident_ros.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Target:
    """
    The parameters to identify: ``names``, and how their regressor follows from the whole one.

    Their values are T·θ_b of the base parameters θ_b; so their columns are W_b·T⁻¹.
    """

    names: tuple[str, ...]
    base: BaseParameters
    T: np.ndarray | None

    def reduce(self, W: np.ndarray) -> np.ndarray:
        """Return the stacked regressor (n·N, b) of these parameters from W (n, N, p)."""
        W_b = stack(self.base.reduce(W))
        return W_b if self.T is None else np.linalg.solve(self.T.T, W_b.T).T

    def expand(self, W_bar: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Return a gradient with respect to ``reduce(W)`` as one with respect to W."""
        if self.T is not None:
            W_bar = np.linalg.solve(self.T, W_bar.T).T
        full = np.zeros((shape[2], *shape[:2]))
        full[self.base.kept] = W_bar.T.reshape(-1, *shape[:2])
        return full.transpose(1, 2, 0)


def make_target(robot: Robot) -> Target:
    """Return the parameters that the configuration asks for, or the base parameters."""
    base = base_parameters(robot)
    wanted = robot.config.excitation.parameters
    if not wanted:
        return Target(base.names, base, None)
    rows = np.zeros((len(wanted), len(base.standard)))
    for row, (name, combination) in zip(rows, wanted.items()):
        for standard, factor in combination.items():
            if standard not in base.standard:
                raise ConfigError(f'excitation: parameters: {name}: there is no {standard!r}, '
                                  + did_you_mean(standard, base.standard))
            row[base.standard.index(standard)] = factor
    T = rows[:, base.kept]
    _check_combinations(tuple(wanted), rows, T, base)
    return Target(tuple(wanted), base, T)


def _check_combinations(names: tuple[str, ...], rows: np.ndarray, T: np.ndarray,
                        base: BaseParameters) -> None:
    if len(names) != len(base.kept):
        raise ConfigError(f'excitation: parameters: {len(names)} are given, expected as many as '
                          f'there are base parameters, {len(base.kept)} (see "robident base")')
    for name, row, combination in zip(names, rows, T):
        difference = np.abs(combination @ base.K - row)[base.effective]
        if difference.max() > 1e-6 * np.abs(row).max():
            worst = base.effective_names[int(difference.argmax())]
            raise ConfigError(f'excitation: parameters: {name}: is no combination of base '
                              f'parameters: its coefficient of {worst} does not fit')
    if np.linalg.cond(T) > 1e12:
        raise ConfigError('excitation: parameters: they depend on each other')


def adapt_criterion(robot: Robot, target: Target, criterion: Criterion) -> Criterion:
    """Return a criterion with the weights and scales of the configuration."""
    options = robot.config.excitation
    if options.equilibrium_factor:
        criterion = Weighted(criterion, 1.0, options.equilibrium_factor)
    if not options.scale_columns and not options.noise:
        return criterion
    return _scale(criterion, _column_sizes(robot, target), _row_weights(robot))


def _scale(criterion: Criterion, columns: np.ndarray, joints: np.ndarray) -> Criterion:
    def scaled(W: np.ndarray) -> tuple[float, np.ndarray]:
        return Scaled(criterion, columns, np.repeat(joints, len(W) // len(joints)))(W)
    return scaled


def _column_sizes(robot: Robot, target: Target) -> np.ndarray:
    """Return the a-priori sizes of the parameters; those that are unknown count as typical."""
    if not robot.config.excitation.scale_columns:
        return np.ones(len(target.names))
    values = np.abs(target.base.K @ robot.theta)
    values = values if target.T is None else np.abs(target.T @ (target.base.K @ robot.theta))
    known = values > 1e-9
    typical = np.median(values[known]) if known.any() else 1.0
    return np.where(known, values, typical)


def _row_weights(robot: Robot) -> np.ndarray:
    """Return the inverse noise deviation of each joint."""
    noise = robot.config.excitation.noise
    for name, value in noise.items():
        if name not in robot.joint_names:
            raise ConfigError(f'excitation: noise: there is no joint {name!r}, '
                              + did_you_mean(name, robot.joint_names))
        if value <= 0:
            raise ConfigError(f'excitation: noise: {name}: is {value}, expected above zero')
    return np.array([1 / noise.get(name, 1.0) for name in robot.joint_names])
