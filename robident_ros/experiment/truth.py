"""The true parameters of a simulated robot: those of its model, changed in a possible way."""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import SimulationOptions
from robident_ros.errors import ConfigError, did_you_mean, ModelError
from robident_ros.model.parameters import to_inertial
from robident_ros.model.physical import from_pseudo_inertia, judge_link, pseudo_inertia
from robident_ros.model.robot import Robot


def perturbed_parameters(robot: Robot, seed: int, spread: float) -> np.ndarray:
    """
    Return standard parameters about ``robot.theta``, each body as possible as it was.

    The mass distribution of each link is stretched, sheared and moved by a random affine map A
    and made denser: its pseudo-inertia J becomes A·J·Aᵀ, which stays positive definite. Drive
    terms are multiplied by random factors, so that zeros remain zeros.

    :param spread: relative size of the changes, e.g. 0.2.
    """
    rng = np.random.default_rng(seed)
    theta = np.array(robot.theta)
    for column in robot.link_columns:
        link = slice(column, column + 10)
        A = _affine(theta[link], rng, spread)
        theta[link] = from_pseudo_inertia(A @ pseudo_inertia(theta[link]) @ A.T)
    for column in robot.drive_columns:
        theta[column] *= np.exp(spread * rng.uniform(-1, 1))
    return read_only(theta)


def _affine(parameters: np.ndarray, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Return a homogeneous map; moves are relative to the size of the body."""
    mass, _, inertia = to_inertial(parameters)
    size = np.sqrt(max(np.trace(inertia) / 2, 0) / mass) if mass > 0 else 0.0
    A = np.eye(4)
    A[:3, :3] += spread / 2 * rng.uniform(-1, 1, (3, 3))
    A[:3, 3] = spread * size * rng.uniform(-1, 1, 3)
    return A * np.exp(spread * rng.uniform(-1, 1) / 2)


def true_parameters(robot: Robot, options: SimulationOptions) -> np.ndarray:
    """Return perturbed parameters, with the drives' values that the options name."""
    theta = np.array(perturbed_parameters(robot, options.seed, options.spread))
    names = {'Ia': 'rotor_inertia', 'Fv': 'viscous', 'Fc': 'coulomb', 'off': 'offset'}
    for symbol, key in names.items():
        columns = {parameter.joint: i for i, parameter in enumerate(robot.parameters)
                   if parameter.symbol == symbol and not parameter.label.startswith('m')}
        for joint, value in getattr(options, key).items():
            if joint not in columns:
                raise ConfigError(f'simulation: {key}: {joint!r} is no joint with {symbol}, '
                                  + did_you_mean(joint, columns))
            if symbol != 'off' and value < 0:
                raise ConfigError(f'simulation: {key}: {joint}: is {value}, expected zero or more')
            theta[columns[joint]] = value
    return read_only(theta)


def check_possible(robot: Robot, theta: np.ndarray) -> None:
    """Refuse bodies that cannot be: their motion would not be that of any robot."""
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        parameters = theta[column:column + 10]
        if not parameters.any():
            continue  # a joint that moves nothing of its own
        verdict = judge_link(joint, parameters)
        if not verdict.consistent:
            raise ModelError(f'{robot.description.source}: cannot be simulated: link of joint '
                             f'{joint!r}: {verdict.reason}; correct its inertial')
    for column in robot.drive_columns:
        parameter = robot.parameters[column]
        if parameter.symbol != 'off' and theta[column] < 0:
            raise ModelError(f'{robot.description.source}: cannot be simulated: '
                             f'{parameter.name} is {theta[column]:.3g}, expected zero or more')


@dataclass(frozen=True, eq=False)
class Drives:
    """
    Rotor inertia, friction and offset at the joints: matrices over the active joints.

    Coulomb friction acts along the ``rows`` of its drives, each with a ``level``.
    """

    rotor: np.ndarray  # Σ Ia·kᵀk
    viscous: np.ndarray  # Σ Fv·kᵀk
    offset: np.ndarray
    rows: np.ndarray
    level: np.ndarray
    width: float


def make_drives(robot: Robot, theta: np.ndarray, width: float) -> Drives:
    """Collect the drive terms of true parameters."""
    n = len(robot.joint_names)
    matrices = {'Ia': np.zeros((n, n)), 'Fv': np.zeros((n, n))}
    offset, rows, level = np.zeros(n), [], []
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        if term.symbol in matrices:
            matrices[term.symbol] += theta[column] * np.outer(term.row, term.row)
        elif term.symbol == 'off':
            offset += theta[column] * term.row
        elif theta[column] > 0:
            rows.append(term.row)
            level.append(theta[column])
    return Drives(matrices['Ia'], matrices['Fv'], offset, np.array(rows).reshape(-1, n),
                  np.array(level), width)
