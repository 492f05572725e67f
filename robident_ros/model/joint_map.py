"""
Which joints move, which follow, which are locked: q_tree = G·q + c.

Passive joints are linear functions of others (URDF ``<mimic>``, or followers in the
configuration), possibly of other followers; substituted until only independent joints remain.
"""

from dataclasses import dataclass
from typing import Mapping

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import FollowerOptions, ModelOptions
from robident_ros.errors import ConfigError, did_you_mean, ModelError
from robident_ros.model.description import Description


@dataclass(frozen=True, eq=False)
class JointMap:
    """Active, passive (in ``tree`` but not ``active``) and locked joints, all in tree order."""

    active: tuple[str, ...]
    tree: tuple[str, ...]
    locked: Mapping[str, float]
    G: np.ndarray
    c: np.ndarray

    @property
    def is_identity(self) -> bool:
        """Whether every joint of the tree is active."""
        return self.active == self.tree


def make_joint_map(description: Description, names: tuple[str, ...],
                   options: ModelOptions) -> JointMap:
    """
    Sort the movable joints into active, passive and locked ones.

    :param names: all movable joints in tree order.
    """
    followers = _followers(description, names, options)
    rows = {name: _expand(name, followers) for name in names}
    independent = [name for name in names if name not in followers]
    active = _active(independent, followers, names, options)
    locked_at = {name: options.locked.get(name, 0.0) for name in independent
                 if name not in active}
    tree, locked, G, c = [], {}, [], []
    for name in names:
        coefficients, offset = rows[name]
        offset += sum(factor * locked_at.get(joint, 0.0) for joint, factor in coefficients.items())
        row = [coefficients.get(joint, 0.0) for joint in active]
        if any(row):
            tree.append(name)
            G.append(row)
            c.append(offset)
        else:
            locked[name] = offset
    return JointMap(tuple(active), tuple(tree), locked, read_only(G), read_only(c))


def _followers(description: Description, names: tuple[str, ...],
               options: ModelOptions) -> dict[str, FollowerOptions]:
    """Return what each passive joint follows; the configuration goes before ``<mimic>``."""
    followers = {}
    for name in names:
        mimic = description.joint(name).mimic
        if mimic is not None:
            if mimic.joint not in names:
                raise ModelError(f'{description.source}: joint {name!r}: mimics {mimic.joint!r}, '
                                 f'which does not move, {did_you_mean(mimic.joint, names)}')
            followers[name] = FollowerOptions({mimic.joint: mimic.multiplier}, mimic.offset)
    for name, follower in options.followers.items():
        for joint in (name, *follower.joints):
            _check_movable(joint, names, f'model: followers: {name}')
        followers[name] = follower
    return followers


def _check_movable(name: str, names: tuple[str, ...], where: str) -> None:
    if name not in names:
        raise ConfigError(f'{where}: there is no movable joint {name!r}, '
                          + did_you_mean(name, names))


def _active(independent: list[str], followers: dict, names: tuple[str, ...],
            options: ModelOptions) -> list[str]:
    for name in (*(options.joints or ()), *options.locked):
        _check_movable(name, names, 'model: joints' if name not in options.locked
                       else 'model: locked')
        if name in followers:
            raise ConfigError(f'model: joint {name!r} follows {", ".join(followers[name].joints)} '
                              'and cannot be moved or locked by itself')
    chosen = independent if options.joints is None else options.joints
    if options.joints is not None:
        for name in set(options.joints) & set(options.locked):
            raise ConfigError(f'model: joint {name!r} is both among joints and locked')
    active = [name for name in independent if name in chosen and name not in options.locked]
    if not active:
        raise ConfigError('model: joints: no joint is left to move')
    return active


def _expand(name: str, followers: dict[str, FollowerOptions],
            path: tuple[str, ...] = ()) -> tuple[dict[str, float], float]:
    """Return a joint's coefficients of independent joints, and its offset."""
    if name in path:
        raise ModelError(f'joints {" → ".join((*path, name))} follow each other in a circle')
    if name not in followers:
        return {name: 1.0}, 0.0
    coefficients: dict[str, float] = {}
    offset = followers[name].offset
    for followed, factor in followers[name].joints.items():
        inner, inner_offset = _expand(followed, followers, (*path, name))
        offset += factor * inner_offset
        for joint, value in inner.items():
            coefficients[joint] = coefficients.get(joint, 0.0) + factor * value
    return coefficients, offset
