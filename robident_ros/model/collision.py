"""
Self-collision: distances between links by the primitive shapes of the description.

Boxes, cylinders and spheres of the URDF's ``<collision>`` elements are used; meshes, which may
not be there, are not. Pairs are of links between which at least two joints lie (a link and what
is fixed to it are one), so neighbours may touch. The distance of a pair is the smallest one
among its shapes, negative where they penetrate each other.
"""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import pinocchio as pin
from robident_ros.errors import ModelError
from robident_ros.model.description import Description
from robident_ros.model.robot import Robot

# Random positions at which a pair must penetrate to be ignored.
POSITIONS = 50


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Two nearest points on bodies moved by joints ``first`` and ``second``, in the root frame."""

    first: int
    second: int
    point_first: np.ndarray
    point_second: np.ndarray
    normal: np.ndarray  # from the first to the second


class CollisionModel:
    """
    The pairs of links of a robot and their distances.

    ``pairs`` names them by the link that a joint moves. ``ignored`` are pairs that penetrate each
    other wherever the robot is: shapes drawn too large, not a danger. ``unchecked`` are links
    whose collision shapes are only meshes, and so are not seen.
    """

    def __init__(self, description: Description, robot: Robot) -> None:
        self._robot = robot
        self._shapes = _build_shapes(description, robot)
        groups = _group_by_pair(self._shapes, robot.tree)
        self._watch(groups)
        touching = (self.distances(_anywhere(robot)) < 0).all(axis=0)
        names = [tuple(_link_name(description, robot, joint) for joint in pair)
                 for pair in groups]
        self._watch({pair: shapes for (pair, shapes), always in zip(groups.items(), touching)
                     if not always})
        self.pairs = tuple(name for name, always in zip(names, touching) if not always)
        self.ignored = tuple(name for name, always in zip(names, touching) if always)
        self.unchecked = description.links_with_meshes_only()

    def _watch(self, groups: dict) -> None:
        """Take these pairs of joints, with the shape pairs of each."""
        self._shapes.removeAllCollisionPairs()
        for first, second in chain.from_iterable(groups.values()):
            self._shapes.addCollisionPair(pin.CollisionPair(first, second))
        self._joints = tuple(groups)
        # Where the shape pairs of each link pair begin, among all of them.
        self._begins = np.cumsum([0, *map(len, groups.values())])[:-1]
        self._data = self._robot.tree.createData(), pin.GeometryData(self._shapes)

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Return distances (N, pairs) in m at positions ``q`` (N, n) of the active joints."""
        q_tree = self._tree_positions(q)
        found = np.empty((len(q_tree), len(self._joints)))
        for row, position in zip(found, q_tree):
            if self._joints:
                row[:] = np.minimum.reduceat(self._shape_distances(position), self._begins)
        return found

    def in_collision(self, q: np.ndarray) -> np.ndarray:
        """Return whether any pair touches, (N,), at positions ``q`` (N, n)."""
        data, geometry = self._data
        return np.array([pin.computeCollisions(self._robot.tree, data, self._shapes, geometry,
                                               position, True)
                         for position in self._tree_positions(q)], dtype=bool)

    def distances_with_gradients(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """
        Return distances (N, pairs) and their gradients (N, pairs, n) by the active joints.

        d = nᵀ(p₂ - p₁) with nearest points fixed to their links, hence ∂d/∂q = nᵀ(J₂ - J₁).
        """
        q_tree = self._tree_positions(q)
        found = np.empty((len(q_tree), len(self._joints)))
        gradients = np.empty((*found.shape, len(self._robot.joint_names)))
        data, geometry = self._data
        for k, position in enumerate(q_tree):
            distances = self._shape_distances(position)
            pin.computeJointJacobians(self._robot.tree, data, position)
            for pair, begin in enumerate(self._begins):
                end = [*self._begins[1:], None][pair]
                index = int(begin + np.argmin(distances[begin:end]))
                found[k, pair] = distances[index]
                nearest = _nearest(geometry.distanceResults[index], *self._joints[pair])
                gradients[k, pair] = self._gradient(nearest) @ self._robot.joint_map.G
        return found, gradients

    def _tree_positions(self, q: np.ndarray) -> np.ndarray:
        q = np.asarray(q, dtype=float)
        n = len(self._robot.joint_names)
        if q.ndim != 2 or q.shape[1] != n:
            raise ValueError(f'positions have shape {q.shape}, expected (N, {n})')
        return q @ self._robot.joint_map.G.T + self._robot.joint_map.c

    def _shape_distances(self, q_tree: np.ndarray) -> np.ndarray:
        data, geometry = self._data
        pin.computeDistances(self._robot.tree, data, self._shapes, geometry, q_tree)
        return np.array([result.min_distance for result in geometry.distanceResults])

    def _gradient(self, nearest: _Nearest) -> np.ndarray:
        """Return the gradient of a distance by the joints of the tree."""
        return (self._moved_along(nearest.second, nearest.point_second, nearest.normal)
                - self._moved_along(nearest.first, nearest.point_first, nearest.normal))

    def _moved_along(self, joint: int, point: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return how fast a point of a link moves along ``normal`` with each joint."""
        data, _ = self._data
        if joint == 0:
            return np.zeros(self._robot.tree.nv)
        J = pin.getJointJacobian(self._robot.tree, data, joint,
                                 pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        arm = point - data.oMi[joint].translation
        return normal @ J[:3] + np.cross(arm, normal) @ J[3:]


def _build_shapes(description: Description, robot: Robot) -> pin.GeometryModel:
    try:
        return pin.buildGeomFromUrdfString(robot.tree, description.tree_urdf(shapes=True),
                                           pin.GeometryType.COLLISION)
    except (AttributeError, ValueError, RuntimeError) as error:
        raise ModelError(f'{description.source}: collision shapes cannot be read: '
                         f'{" ".join(str(error).split())}') from error


def _anywhere(robot: Robot) -> np.ndarray:
    """Return positions all over the robot's limits; a half turn either way where there is none."""
    limits = robot.limits
    lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (POSITIONS, len(lower)))


def _group_by_pair(shapes: pin.GeometryModel, tree: pin.Model) -> dict:
    """Return the shape pairs (by index) of each pair of joints that are not neighbours."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    indexed = sorted((shape.parentJoint, i) for i, shape in enumerate(shapes.geometryObjects))
    for (joint, i), (other, k) in combinations(indexed, 2):
        if joint != other and tree.parents[other] != joint:
            groups.setdefault((joint, other), []).append((i, k))
    return groups


def _link_name(description: Description, robot: Robot, joint: int) -> str:
    if joint:
        return description.joint(robot.tree.names[joint]).child
    children = {item.child for item in description.joints}
    return next(item.parent for item in description.joints if item.parent not in children)


def _nearest(result: object, first: int, second: int) -> _Nearest:
    return _Nearest(first, second, result.getNearestPoint1(), result.getNearestPoint2(),
                    np.array(result.normal))
