"""
Points fixed to links, batched: where they are, and how that changes with the joints.

The reverse-mode product treats the weight of a point as a force on it: a joint's share is the
moment (or the force, if it slides) that the forces beyond it exert along its axis.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.model.kernel import Kinematics, kinematics_of
from robident_ros.model.robot import Robot


@dataclass(frozen=True, eq=False)
class Points:
    """
    Points of a robot: ``joints`` (K,) index the tree's joints that move them, -1 for the root.

    ``local`` (K, 3) are their places in the frames of those joints, in m.
    """

    joints: np.ndarray
    local: np.ndarray


class Pose(NamedTuple):
    """Frames of the tree's joints for N samples, and points in the root frame."""

    axes: np.ndarray        # (n_tree, N, 3), directions of the joint axes
    origins: np.ndarray     # (n_tree, N, 3)
    positions: np.ndarray   # (N, K, 3)


def end_effector(robot: Robot, name: str | None = None) -> Points:
    """
    Return the origin of a link as a point.

    :param name: the link; default: the link at the end of the longest chain of joints.
    """
    links = [joint.child for joint in robot.description.joints]
    if name is None:
        name = _last_link(robot)
    if name not in links:
        raise ConfigError(f'workspace: link: there is no {name!r}, {did_you_mean(name, links)}')
    frame = link_frame(robot, name)
    return Points(np.array([frame.parentJoint - 1]), frame.placement.translation[None])


def link_frame(robot: Robot, name: str) -> pin.Frame:
    """Return where a link is fixed; a joint may have the same name."""
    return robot.tree.frames[robot.tree.getFrameId(name, pin.FrameType.BODY)]


def _last_link(robot: Robot) -> str:
    """Return the first link, in the order of the description, that most joints lead to."""
    parent = {joint.child: joint.parent for joint in robot.description.joints}

    def depth(link: str) -> int:
        return 1 + depth(parent[link]) if link in parent else 0
    return max(parent, key=depth)


def locate(robot: Robot, points: Points, q: np.ndarray) -> Pose:
    """Return points of a robot at positions q (N, n) of its active joints."""
    q_tree = (np.asarray(q, dtype=float) @ robot.joint_map.G.T + robot.joint_map.c).T
    kinematics = kinematics_of(robot.tree)
    rotations, origins = _frames(kinematics, q_tree)
    N = q_tree.shape[1]
    positions = np.empty((N, len(points.joints), 3))
    for k, (joint, local) in enumerate(zip(points.joints, points.local)):
        positions[:, k] = local if joint < 0 else rotations[joint] @ local + origins[joint]
    direction = np.where(kinematics.prismatic[:, None], kinematics.axis[:, :3],
                         kinematics.axis[:, 3:])
    axes = np.einsum('jnab,jb->jna', rotations, direction)
    return Pose(axes, origins, positions)


def _frames(kinematics: Kinematics, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rotations (n, N, 3, 3) and origins (n, N, 3) of all joints in the root frame."""
    n, N = q.shape
    rotations, origins = np.empty((n, N, 3, 3)), np.empty((n, N, 3))
    for i, parent in enumerate(kinematics.parent):
        u = kinematics.axis[i]
        offset = np.broadcast_to(kinematics.translation[i], (N, 3))
        turn = kinematics.rotation[i]
        if kinematics.prismatic[i]:
            offset = offset + np.outer(q[i], kinematics.rotation[i] @ u[:3])
            turn = np.broadcast_to(turn, (N, 3, 3))
        else:
            turn = turn @ _rotation(u[3:], q[i])
        above = (np.broadcast_to(np.eye(3), (N, 3, 3)), 0) if parent < 0 else (
            rotations[parent], origins[parent])
        rotations[i] = above[0] @ turn
        origins[i] = np.einsum('nab,nb->na', above[0], offset) + above[1]
    return rotations, origins


def _rotation(u: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rodrigues' formula for one axis and many angles, (N, 3, 3)."""
    cross = np.cross(np.eye(3), u)
    along = np.outer(u, u)
    cosine, sine = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    return along + cosine * (np.eye(3) - along) + sine * cross


def locate_product(robot: Robot, points: Points, pose: Pose, bar: np.ndarray) -> np.ndarray:
    """
    Return the gradient (N, n) of Σ bar ∘ positions with respect to the active joints.

    :param bar: (N, K, 3), weights of the coordinates of the points.
    """
    kinematics = kinematics_of(robot.tree)
    n, N = pose.origins.shape[:2]
    force, moment = np.zeros((n, N, 3)), np.zeros((n, N, 3))  # moments about the root's origin
    for k, joint in enumerate(points.joints):
        if joint >= 0:
            force[joint] += bar[:, k]
            moment[joint] += np.cross(pose.positions[:, k], bar[:, k])
    tree_bar = np.empty((n, N))
    for i in reversed(range(n)):
        share = force[i] if kinematics.prismatic[i] else (
            moment[i] - np.cross(pose.origins[i], force[i]))
        tree_bar[i] = np.einsum('na,na->n', pose.axes[i], share)
        if kinematics.parent[i] >= 0:
            force[kinematics.parent[i]] += force[i]
            moment[kinematics.parent[i]] += moment[i]
    return tree_bar.T @ robot.joint_map.G
