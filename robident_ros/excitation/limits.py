"""Limits that a motion can be planned with: finite, and leaving room to move."""

import warnings

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.errors import ExcitationError, RobidentWarning
from robident_ros.model.robot import Limits, Robot

# Where no acceleration limit is known, a joint takes this long to its highest speed, s.
RISE_TIME = 0.5


def motion_limits(robot: Robot, rise_time: float = RISE_TIME) -> Limits:
    """
    Return the robot's limits, made finite, or say which joint has none that can be used.

    A revolute joint without position limits may turn half a turn to either side of zero. URDFs
    have no place for accelerations: without one in the configuration, speed over ``rise_time``.
    """
    limits, kinds = robot.limits, dict(zip(robot.tree_joint_names, robot.kinds))
    turns = np.array([kinds[name] == 'revolute' for name in robot.joint_names])
    lower = np.where(np.isinf(limits.lower) & turns, -np.pi, limits.lower)
    upper = np.where(np.isinf(limits.upper) & turns, np.pi, limits.upper)
    for name, low, high in zip(robot.joint_names, lower, upper):
        if not np.isfinite(high - low):
            raise _refusal(name, 'has no position limits', 'lower and upper')
        if not high > low:
            raise _refusal(name, f'cannot move: its lower and upper limit are {low:g} and '
                           f'{high:g}', 'lower and upper, or lock it')
    _check_positive(robot, limits.velocity, 'velocity')
    unknown = np.isinf(limits.acceleration)
    if unknown.any():
        names = ', '.join(np.array(robot.joint_names)[unknown])
        warnings.warn(f'{robot.name}: no acceleration limit is known of {names}; taken as highest '
                      f'speed / {rise_time:g} s. Set model: limits: JOINT: acceleration',
                      RobidentWarning, stacklevel=3)
    acceleration = np.where(unknown, limits.velocity / rise_time, limits.acceleration)
    _check_positive(robot, acceleration, 'acceleration')
    return Limits(read_only(lower), read_only(upper), limits.velocity, read_only(acceleration),
                  limits.effort)


def _check_positive(robot: Robot, values: np.ndarray, key: str) -> None:
    for name, value in zip(robot.joint_names, values):
        if not 0 < value < np.inf:
            raise _refusal(name, f'has {key} limit {value:g}', key)


def _refusal(joint: str, problem: str, key: str) -> ExcitationError:
    return ExcitationError(f'joint {joint!r} {problem}; set model: limits: {joint}: {key}')
