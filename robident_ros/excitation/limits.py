"""The constraints that a robot, its workspace and its configuration put on a motion."""

import numpy as np
from robident_ros.config import ExcitationOptions
from robident_ros.errors import ExcitationError
from robident_ros.excitation.constraints import CollisionFamily, EffortFamily, Family
from robident_ros.excitation.constraints import is_limited, JointFamily, WorkspaceFamily
from robident_ros.model.capsules import make_capsules
from robident_ros.model.robot import Limits, Robot

# Range of a joint that may turn without end: nothing is gained by more than a turn.
TURN = 2 * np.pi


def design_limits(robot: Robot) -> Limits:
    """
    Return the limits that a design keeps: the configured shares of those of the robot.

    Joints that turn without limits stay within a turn; without an acceleration limit, they take
    ``acceleration_time_s`` to reach their speed limit. A joint without a speed limit, and one
    that slides without end, is refused.
    """
    options, limits = robot.config.excitation, robot.limits
    for joint, name in enumerate(robot.joint_names):
        sliding = robot.kinds[robot.tree_joint_names.index(name)] == 'prismatic'
        if sliding and not np.isfinite(limits.upper[joint] - limits.lower[joint]):
            raise _unlimited(name, 'position', 'lower and upper')
        if not np.isfinite(limits.velocity[joint]):
            raise _unlimited(name, 'velocity', 'velocity')
    lower, upper = _positions(limits, options)
    acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration,
                            limits.velocity / options.acceleration_time_s)
    kept = Limits(lower, upper, options.velocity_fraction * limits.velocity,
                  options.acceleration_fraction * acceleration,
                  options.effort_fraction * limits.effort)
    for key in ('velocity', 'acceleration', 'effort'):
        for name, value in zip(robot.joint_names, getattr(kept, key)):
            if value <= 0:
                raise ExcitationError(f'joint {name!r} cannot move: its {key} limit is zero; '
                                      'correct the limit, or lock the joint (model: locked)')
    for name, low, high in zip(robot.joint_names, lower, upper):
        if low >= high:
            raise ExcitationError(f'joint {name!r} cannot move: its position limits leave no '
                                  'room; correct them, or lock the joint (model: locked)')
    return kept


def _unlimited(joint: str, what: str, key: str) -> ExcitationError:
    return ExcitationError(f'joint {joint!r} has no {what} limit; give it one in the '
                           f'configuration, model: limits: {joint}: {key}')


def _positions(limits: Limits, options: ExcitationOptions) -> tuple[np.ndarray, np.ndarray]:
    lower = np.where(np.isfinite(limits.lower), limits.lower, -TURN / 2)
    upper = np.where(np.isfinite(limits.upper), limits.upper, TURN / 2)
    middle, half = (lower + upper) / 2, options.position_fraction * (upper - lower) / 2
    return middle - half, middle + half


def make_families(robot: Robot, limits: Limits) -> tuple[Family, ...]:
    """Return all constraints on the motion of a robot."""
    options, names = robot.config.excitation, robot.joint_names
    families = [*_of_active_joints(names, limits), *_of_passive_joints(robot)]
    limited = np.flatnonzero(np.isfinite(limits.effort))
    if limited.size:
        families.append(EffortFamily(tuple(names[j] for j in limited), limited,
                                     limits.effort[limited]))
    if is_limited(robot.config.workspace):
        families.append(WorkspaceFamily(robot, robot.config.workspace, _unit_length(robot)))
    if options.self_collision:
        capsules = make_capsules(robot, options.link_radius)
        if len(capsules.pairs):
            families.append(CollisionFamily(capsules, options.clearance, _unit_length(robot)))
    return tuple(families)


def _unit_length(robot: Robot) -> float:
    """Return a quarter of the reach, in m: distances then vary about as much as joint angles."""
    offsets = [placement.translation for placement in list(robot.tree.jointPlacements)[1:]]
    return max(float(sum(np.linalg.norm(offset) for offset in offsets)) / 4, 0.01)


def _of_active_joints(names: tuple[str, ...], limits: Limits) -> list[Family]:
    n = len(names)
    bounds = {'position': ('q', limits.lower, limits.upper),
              'velocity': ('v', -limits.velocity, limits.velocity),
              'acceleration': ('a', -limits.acceleration, limits.acceleration)}
    return [JointFamily(kind, names, which, np.eye(n), np.zeros(n), lower, upper)
            for kind, (which, lower, upper) in bounds.items()]


def _of_passive_joints(robot: Robot) -> list[Family]:
    """Hold passive joints within the position and velocity limits of their description."""
    families = []
    for kind, which, offset in (('position', 'q', robot.joint_map.c),
                                ('velocity', 'v', 0 * robot.joint_map.c)):
        rows, lower, upper = [], [], []
        for row, name in enumerate(robot.tree_joint_names):
            joint = robot.description.joint(name)
            low, high = ((joint.lower, joint.upper) if which == 'q'
                         else (-joint.velocity, joint.velocity))
            if name not in robot.joint_names and np.isfinite(high):
                rows.append(row)
                lower.append(low)
                upper.append(high)
        if rows:
            families.append(JointFamily(
                kind, tuple(robot.tree_joint_names[row] for row in rows), which,
                robot.joint_map.G[rows], offset[rows], np.array(lower), np.array(upper)))
    return families
