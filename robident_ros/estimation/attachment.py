"""Where a load is fixed: the tree joint that carries it, and its frame there."""

from typing import NamedTuple

import pinocchio as pin
from robident_ros.errors import did_you_mean, EstimationError
from robident_ros.model.robot import Robot


class Attachment(NamedTuple):
    """A tree joint, the name of a frame that it moves, and the frame's place in it."""

    joint: int
    name: str
    placement: pin.SE3


def find_attachment(robot: Robot, frame: str | None = None) -> Attachment:
    """
    Return where a load is fixed.

    :param frame: link or frame; default: the joint at the end of the chain. A robot with
        several ends (closed loops, branches) does not say which one carries the load.
    """
    if frame is None:
        joint = _only_end(robot)
        return Attachment(joint, robot.tree_joint_names[joint], pin.SE3.Identity())
    for item in robot.tree.frames:
        if item.name == frame and item.parentJoint > 0:
            return Attachment(item.parentJoint - 1, frame, item.placement)
    known = [item.name for item in robot.tree.frames if item.parentJoint > 0]
    raise EstimationError(f'{robot.description.source}: there is no moving frame {frame!r}, '
                          + did_you_mean(frame, known))


def _only_end(robot: Robot) -> int:
    """Return the tree joint that carries no other, if there is only one."""
    parents = set(robot.tree.parents)
    ends = [joint for joint in range(1, robot.tree.njoints) if joint not in parents]
    if len(ends) == 1:
        return ends[0] - 1
    links = {joint.child for joint in robot.description.joints}
    tips = [next((f.name for f in reversed(list(robot.tree.frames))
                  if f.parentJoint == end and f.name in links), robot.tree.names[end])
            for end in ends]
    raise EstimationError(f'{robot.description.source}: the robot has {len(ends)} ends '
                          f'({", ".join(tips)}); say with --frame (frame=) which link carries '
                          'the load')
