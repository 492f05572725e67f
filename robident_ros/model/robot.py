"""
The robot: a URDF with its joints by name, its limits, its mounting and its drives.

The URDF's tree may have passive joints (``<mimic>``, or followers in the configuration) and
locked ones. Locked joints are merged into their parents; the positions of the tree's joints are
q_tree = G·q + c of the active joints q. Everything is in tree order, parents first.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
import warnings

import numpy as np
import pinocchio as pin
from robident_ros.arrays import read_only
from robident_ros.config import Config, ModelOptions
from robident_ros.errors import ConfigError, did_you_mean, ModelError, RobidentWarning
from robident_ros.model.description import Description, read_description
from robident_ros.model.drives import DriveTerm, make_drive_terms
from robident_ros.model.joint_map import JointMap, make_joint_map
from robident_ros.model.parameters import from_pinocchio, inertial_parameters, Parameter


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the active joints, one value each; infinite where none is known."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray


@dataclass(frozen=True, eq=False)
class Robot:
    """
    A robot as identification sees it.

    ``tree`` is the Pinocchio model of all joints that are not locked, each with one coordinate;
    its rotor inertias and friction are zero, since drives are columns of our own. ``labels``
    number the tree's joints from 1, as the papers do.
    """

    description: Description
    config: Config
    tree: pin.Model
    joint_map: JointMap
    kinds: tuple[str, ...]
    limits: Limits
    drive_terms: tuple[DriveTerm, ...]

    @property
    def name(self) -> str:
        """Name of the robot in its description."""
        return self.description.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the active joints: what q, v, a and τ are the values of."""
        return self.joint_map.active

    @property
    def tree_joint_names(self) -> tuple[str, ...]:
        """Names of the active and the passive joints."""
        return self.joint_map.tree

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the standard parameters, in the order of the regressors' columns."""
        return tuple(parameter for _, parameter in sorted(
            self._inertial_columns() + self._drive_columns(), key=lambda item: item[0]))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the standard parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def _inertial_columns(self) -> list:
        return [((link, 0, i), parameter) for link, joint in enumerate(self.tree_joint_names)
                for i, parameter in enumerate(inertial_parameters(str(link + 1), joint))]

    def _drive_columns(self) -> list:
        """Drive terms follow the ten parameters of their link; those of motors come last."""
        last = len(self.tree_joint_names)
        return [((last if term.parameter.label.startswith('m') else
                  int(term.parameter.label) - 1, 1, i), term.parameter)
                for i, term in enumerate(self.drive_terms)]

    @cached_property
    def link_columns(self) -> np.ndarray:
        """Column of the first inertial parameter of each link; the ten stand together."""
        return np.array([i for i, parameter in enumerate(self.parameters)
                         if parameter.symbol == 'XX'])

    @cached_property
    def drive_columns(self) -> np.ndarray:
        """Column of each drive term."""
        index = {parameter: i for i, parameter in enumerate(self.parameters)}
        return np.array([index[term.parameter] for term in self.drive_terms], dtype=int)

    @cached_property
    def theta(self) -> np.ndarray:
        """Return the a-priori standard parameters: URDF inertials, damping and friction."""
        theta = np.zeros(len(self.parameters))
        for column, inertia in zip(self.link_columns, list(self.tree.inertias)[1:]):
            theta[column:column + 10] = from_pinocchio(inertia.toDynamicParameters())
        drives = self.config.drives
        for column, term in zip(self.drive_columns, self.drive_terms):
            joint = self.description.joint(term.parameter.joint)
            known = {'Ia': drives.rotor_inertia, 'Fv': {joint.name: joint.damping},
                     'Fc': {joint.name: joint.friction}, 'off': drives.offset}
            if term.parameter.label.startswith('m'):
                known = {'Fv': drives.motor_damping, 'Fc': drives.motor_friction}
            theta[column] = known[term.symbol].get(joint.name, 0.0)
        return read_only(theta)


def load_robot(source: str | Path, config: Config = Config()) -> Robot:
    """
    Build a robot from a URDF or xacro file, or from its XML text.

    :param config: which joints move, how it is mounted, its drives; default: all as in the URDF.
    """
    description = read_description(source)
    full = _build_tree(description)
    joint_map = make_joint_map(description, tuple(full.names)[1:], config.model)
    tree = _lock(full, joint_map)
    tree.gravity.linear = _gravity(config.model)
    kinds = tuple('prismatic' if description.joint(name).kind == 'prismatic' else 'revolute'
                  for name in joint_map.tree)
    _warn_of_massless_links(tree, description.source)
    for key in ('rotor_inertia', 'offset', 'motor_damping', 'motor_friction', 'gains'):
        _check_known(getattr(config.drives, key), joint_map.active, f'drives: {key}')
    positions = [joint_map.tree.index(name) for name in joint_map.active]
    drive_terms = make_drive_terms(joint_map.active, tuple(kinds[i] for i in positions),
                                   tuple(str(i + 1) for i in positions), config.drives)
    robot = Robot(description, config, tree, joint_map, kinds,
                  _limits(description, joint_map.active, config.model), drive_terms)
    _check_known(config.model.zero, robot.parameter_names, 'model: zero')
    return robot


def _build_tree(description: Description) -> pin.Model:
    try:
        return pin.buildModelFromXML(description.tree_urdf())
    except (ValueError, RuntimeError) as error:
        raise ModelError(f'{description.source}: Pinocchio cannot build it: '
                         f'{" ".join(str(error).split())}') from error


def _lock(full: pin.Model, joint_map: JointMap) -> pin.Model:
    if not joint_map.locked:
        return full
    q = np.zeros(full.nq)
    ids = [full.getJointId(name) for name in joint_map.locked]
    for joint, position in zip(ids, joint_map.locked.values()):
        q[full.joints[joint].idx_q] = position
    return pin.buildReducedModel(full, ids, q)


def _gravity(options: ModelOptions) -> np.ndarray:
    if len(options.gravity) != 3:
        raise ConfigError(f'model: gravity: has {len(options.gravity)} numbers, expected three '
                          '(x, y, z in the root frame)')
    return np.array(options.gravity)


def _limits(description: Description, names: tuple[str, ...], options: ModelOptions) -> Limits:
    """Take limits from the description, replaced by those of the configuration."""
    _check_known(options.limits, names, 'model: limits')
    columns = {'lower': [], 'upper': [], 'velocity': [], 'acceleration': [], 'effort': []}
    for name in names:
        joint, override = description.joint(name), options.limits.get(name)
        for key, column in columns.items():
            value = getattr(override, key, None)
            column.append(getattr(joint, key, np.inf) if value is None else value)
    limits = Limits(**{key: read_only(column) for key, column in columns.items()})
    for name, lower, upper in zip(names, limits.lower, limits.upper):
        if lower > upper:
            raise ConfigError(f'model: limits: {name}: lower limit {lower} is above the upper '
                              f'limit {upper}')
    return limits


def _check_known(names: object, known: tuple[str, ...], where: str) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(f'{where}: there is no {name!r}, {did_you_mean(name, known)}')


def _warn_of_massless_links(tree: pin.Model, source: str) -> None:
    for name, inertia in zip(list(tree.names)[1:], list(tree.inertias)[1:]):
        if inertia.mass == 0:
            warnings.warn(f'{source}: joint {name!r}: the links it moves have no mass; its '
                          'a-priori inertial parameters are zero', RobidentWarning, stacklevel=3)
