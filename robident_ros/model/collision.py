"""
Self-collision: distances between links by the primitive shapes of the description.

Boxes, cylinders and spheres of the URDF's ``<collision>`` elements are used; meshes, which may
not be there, are not. Pairs are of links between which at least two joints lie (a link and what
is fixed to it are one), so neighbours may touch. The distance of a pair is the smallest one
among its shapes, negative where they penetrate each other.
"""

from itertools import chain, combinations
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from robident_ros.errors import ModelError
from robident_ros.model.capsules import MOSTLY
from robident_ros.model.description import Description, is_primitive
from robident_ros.model.robot import Robot

# Random positions at which it is counted how often a pair penetrates.
POSITIONS = 50
# In m. Coal's own 1e-6 is enough for distances, but not for the direction of their gradients.
GJK_TOLERANCE = 1e-10


class CollisionModel:
    """
    The pairs of links of a robot and their distances.

    ``pairs`` names them by the link that a joint moves. ``ignored`` are pairs that penetrate each
    other in most poses, as for the capsules: shapes drawn too large. ``unchecked`` are links
    whose collision shapes are only meshes, and so are not seen.
    """

    def __init__(self, description: Description, robot: Robot) -> None:
        self._robot = robot
        self._shapes = _build_shapes(description, robot)
        groups = _group_by_pair(self._shapes, robot.tree)
        self._watch(groups)
        touching = (self.distances(_anywhere(robot)) < 0).mean(axis=0) > MOSTLY
        names = [tuple(_link_name(description, robot, joint) for joint in pair)
                 for pair in groups]
        self._watch({pair: shapes for (pair, shapes), ignored in zip(groups.items(), touching)
                     if not ignored})
        self.pairs = tuple(name for name, ignored in zip(names, touching) if not ignored)
        self.ignored = tuple(name for name, ignored in zip(names, touching) if ignored)
        self.unchecked = _links_with_meshes_only(description)

    def _watch(self, groups: dict) -> None:
        """Take these pairs of joints, with the shape pairs of each."""
        self._shapes.removeAllCollisionPairs()
        for first, second in chain.from_iterable(groups.values()):
            self._shapes.addCollisionPair(pin.CollisionPair(first, second))
        self._joints = tuple(groups)
        # Where the shape pairs of each link pair begin, among all of them.
        self._begins = np.cumsum([0, *map(len, groups.values())])[:-1]
        # Whether each joint moves the first, or the second, link of a pair.
        self._moves = [np.array([_supports(self._robot.tree, pair[side]) for pair in groups])
                       for side in (0, 1)]
        self._data = self._robot.tree.createData(), pin.GeometryData(self._shapes)
        for request in self._data[1].distanceRequests:
            request.gjk_tolerance = GJK_TOLERANCE

    def distances(self, q: np.ndarray) -> np.ndarray:
        """Return in m, (N, pairs), how far links are apart at positions ``q`` (N, n)."""
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
        found = np.zeros((len(q_tree), len(self._joints)))
        gradients = np.zeros((*found.shape, len(self._robot.joint_names)))
        for k, position in enumerate(q_tree if self._joints else ()):
            distances = self._shape_distances(position)
            ends = [*self._begins[1:], len(distances)]
            nearest = [int(begin + distances[begin:end].argmin())
                       for begin, end in zip(self._begins, ends)]
            found[k] = distances[nearest]
            gradients[k] = self._gradient(position, nearest) @ self._robot.joint_map.G
        return found, gradients

    def _gradient(self, q_tree: np.ndarray, shape_pairs: list[int]) -> np.ndarray:
        """Return how fast the points of some shape pairs part as each joint of the tree moves."""
        data, geometry = self._data
        results = [geometry.distanceResults[i] for i in shape_pairs]
        first, second, normal = (np.array(values) for values in zip(*(
            (result.getNearestPoint1(), result.getNearestPoint2(), result.normal)
            for result in results)))
        # Columns of J are the twists of the joints in the root frame: n·(v + ω × p).
        J = pin.computeJointJacobians(self._robot.tree, data, q_tree)
        straight = normal @ J[:3]
        return (self._moves[1] * (straight + np.cross(second, normal) @ J[3:])
                - self._moves[0] * (straight + np.cross(first, normal) @ J[3:]))

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


def _supports(tree: pin.Model, joint: int) -> np.ndarray:
    """Return for each joint of the tree whether it moves the link of ``joint``."""
    chain_to_root = np.zeros(tree.nv, dtype=bool)
    while joint:
        chain_to_root[tree.joints[joint].idx_v] = True
        joint = tree.parents[joint]
    return chain_to_root


def _link_name(description: Description, robot: Robot, joint: int) -> str:
    if joint:
        return description.joint(robot.tree.names[joint]).child
    children = {item.child for item in description.joints}
    return next(item.parent for item in description.joints if item.parent not in children)


def _links_with_meshes_only(description: Description) -> tuple[str, ...]:
    root = ElementTree.fromstring(description.xml)
    return tuple(link.get('name') for link in root.iter('link') if link.find('collision')
                 is not None and not any(map(is_primitive, link.findall('collision'))))
