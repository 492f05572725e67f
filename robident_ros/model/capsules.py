"""
Capsules around the links, for distances that are fast, smooth and never too large.

Each primitive shape of a description is enclosed in a capsule: a segment with a radius. So the
distance of two capsules is a lower bound of that of their shapes, and for thousands of poses at
once it is some array operations. A link without a primitive shape (meshes may not be there) gets
capsules of a given radius along the lines from its joint to the next ones.
"""

from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
from robident_ros.model.points import locate, locate_product, Points, Pose
from robident_ros.model.robot import Robot

# Radius of links whose shape is not known, as of a light arm.
LINK_RADIUS = 0.06
# Share of random poses in which a pair must overlap to be taken for shapes drawn too large.
MOSTLY = 0.5
POSES = 200


@dataclass(frozen=True, eq=False)
class Capsule:
    """A segment in the frame of joint ``joint`` (-1: the root) with a radius, in m."""

    joint: int
    start: np.ndarray
    end: np.ndarray
    radius: float


@dataclass(frozen=True, eq=False)
class CapsuleModel:
    """
    Capsules of a robot and the pairs that must not touch.

    ``points`` are the ends of all segments, start and end alternating; ``ignored`` the pairs of
    links that overlap in most poses, so that nothing can be said about them.
    """

    robot: Robot
    points: Points
    radii: np.ndarray
    pairs: np.ndarray  # (M, 2), indices of capsules
    names: tuple[tuple[str, str], ...]
    ignored: tuple[tuple[str, str], ...]

    def clearances(self, q: np.ndarray) -> tuple[np.ndarray, '_Contact']:
        """Return the distances of all pairs at positions q (N, n), (N, M), and their contacts."""
        pose = locate(self.robot, self.points, q)
        starts, ends = pose.positions[:, ::2], pose.positions[:, 1::2]
        first, second = self.pairs.T
        s, t = _nearest(starts[:, first], ends[:, first], starts[:, second], ends[:, second])
        gap = ((starts[:, second] + t[..., None] * (ends - starts)[:, second])
               - (starts[:, first] + s[..., None] * (ends - starts)[:, first]))
        distance = np.linalg.norm(gap, axis=-1)
        direction = gap / np.maximum(distance, 1e-9)[..., None]
        return (distance - self.radii[first] - self.radii[second],
                _Contact(pose, s, t, direction))

    def product(self, bar: np.ndarray, contact: '_Contact') -> np.ndarray:
        """Return the gradient (N, n) of Σ bar ∘ clearances; nearest points slide for free."""
        force = bar[..., None] * contact.direction
        positions_bar = np.zeros_like(contact.pose.positions)
        shares = ((0, 0, contact.s - 1), (0, 1, -contact.s), (1, 0, 1 - contact.t),
                  (1, 1, contact.t))
        ends = np.arange(positions_bar.shape[1])[:, None]
        for side, end, share in shares:
            belongs = (ends == 2 * self.pairs[:, side] + end).astype(float)
            positions_bar += belongs @ (share[..., None] * force)
        return locate_product(self.robot, self.points, contact.pose, positions_bar)


@dataclass(frozen=True, eq=False)
class _Contact:
    """Nearest points of all pairs, as fractions of their segments, and the direction between."""

    pose: Pose
    s: np.ndarray
    t: np.ndarray
    direction: np.ndarray


def _nearest(a: np.ndarray, b: np.ndarray, c: np.ndarray,
             d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where segments a–b and c–d come nearest to each other, as fractions of each."""
    u, w, r = b - a, d - c, a - c
    uu, ww, uw = (np.einsum('...i,...i->...', x, y) for x, y in ((u, u), (w, w), (u, w)))
    ur, wr = (np.einsum('...i,...i->...', x, r) for x in (u, w))
    tiny = 1e-12
    denominator = uu * ww - uw**2
    s = np.clip(np.where(denominator > tiny, (uw * wr - ww * ur) / np.maximum(denominator, tiny),
                         0.5), 0, 1)
    t = np.clip((uw * s + wr) / np.maximum(ww, tiny), 0, 1)
    s = np.clip((uw * t - ur) / np.maximum(uu, tiny), 0, 1)
    return s, np.clip((uw * s + wr) / np.maximum(ww, tiny), 0, 1)


def make_capsules(robot: Robot, link_radius: float = LINK_RADIUS) -> CapsuleModel:
    """Enclose the links of a robot; pairs are of links with at least two joints between them."""
    capsules = _of_shapes(robot) + _of_skeleton(robot, link_radius)
    points = Points(np.array([c.joint for c in capsules for _ in range(2)]),
                    np.array([end for c in capsules for end in (c.start, c.end)]).reshape(-1, 3))
    radii = np.array([capsule.radius for capsule in capsules])
    pairs = np.array([(i, k) for i, k in combinations(range(len(capsules)), 2)
                      if _apart(robot, capsules[i].joint, capsules[k].joint)],
                     dtype=int).reshape(-1, 2)
    names = [tuple(_link_name(robot, capsules[i].joint) for i in pair) for pair in pairs]
    everything = CapsuleModel(robot, points, radii, pairs, tuple(names), ())
    overlap = (everything.clearances(_anywhere(robot))[0] < 0).mean(axis=0) > MOSTLY
    return CapsuleModel(robot, points, radii, pairs[~overlap],
                        tuple(name for name, bad in zip(names, overlap) if not bad),
                        tuple(sorted({name for name, bad in zip(names, overlap) if bad})))


def _apart(robot: Robot, first: int, second: int) -> bool:
    """Whether links are neither the same nor neighbours."""
    parents = [parent - 1 for parent in list(robot.tree.parents)[1:]]
    return first != second and not (
        (second >= 0 and parents[second] == first) or (first >= 0 and parents[first] == second))


def _anywhere(robot: Robot) -> np.ndarray:
    """Return poses all over the robot's limits; half a turn either way where there is none."""
    lower = np.where(np.isfinite(robot.limits.lower), robot.limits.lower, -np.pi)
    upper = np.where(np.isfinite(robot.limits.upper), robot.limits.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (POSES, len(lower)))


def _link_name(robot: Robot, joint: int) -> str:
    if joint >= 0:
        return robot.description.joint(robot.tree_joint_names[joint]).child
    children = {item.child for item in robot.description.joints}
    return next(item.parent for item in robot.description.joints if item.parent not in children)


def _of_shapes(robot: Robot) -> list[Capsule]:
    """Enclose every primitive collision shape."""
    capsules = []
    for link in ElementTree.fromstring(robot.description.xml).findall('link'):
        for shape in link.findall('collision'):
            found = _enclose(shape)
            if found is not None:
                capsules.append(_in_joint_frame(robot, link.get('name'), *found))
    return capsules


def _enclose(shape: ElementTree.Element) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return the ends and the radius of a capsule around a box, cylinder or sphere."""
    geometry = shape.find('geometry')
    box, cylinder, sphere = (geometry.find(tag) for tag in ('box', 'cylinder', 'sphere'))
    if sphere is not None:
        half, radius = np.zeros(3), float(sphere.get('radius'))
    elif cylinder is not None:
        half = np.array([0, 0, float(cylinder.get('length')) / 2])
        radius = float(cylinder.get('radius'))
    elif box is not None:
        size = np.array([float(x) for x in box.get('size').split()]) / 2
        longest = np.arange(3) == size.argmax()
        half, radius = np.where(longest, size, 0), float(np.linalg.norm(size[~longest]))
    else:
        return None
    origin = shape.find('origin')
    xyz, rpy = (np.array([float(x) for x in (('' if origin is None else origin.get(key)) or
                                             '0 0 0').split()]) for key in ('xyz', 'rpy'))
    axis = pin.rpy.rpyToMatrix(*rpy) @ half
    return xyz - axis, xyz + axis, radius


def _in_joint_frame(robot: Robot, link: str, start: np.ndarray, end: np.ndarray,
                    radius: float) -> Capsule:
    frame = robot.tree.frames[robot.tree.getFrameId(link)]
    place = frame.placement
    return Capsule(frame.parentJoint - 1, place.act(start), place.act(end), radius)


def _of_skeleton(robot: Robot, radius: float) -> list[Capsule]:
    """Put capsules along links that show no primitive shape, short of the joints at both ends."""
    shaped = {capsule.joint for capsule in _of_shapes(robot)}
    capsules = []
    tips = [(joint.name, joint.child) for joint in robot.description.joints]
    for _, child in tips:
        frame = robot.tree.frames[robot.tree.getFrameId(child)]
        owner, place = _moved_by(robot, child, frame)
        length = float(np.linalg.norm(place))
        if owner in shaped or length < 2 * radius:
            continue
        short = place / length * radius
        start = short if owner >= 0 else np.zeros(3)
        capsules.append(Capsule(owner, start, place - short, radius))
    return capsules


def _moved_by(robot: Robot, child: str, frame: pin.Frame) -> tuple[int, np.ndarray]:
    """Return the joint that carries the start of a link, and the start in its frame."""
    joint = next(item for item in robot.description.joints if item.child == child)
    if joint.name in robot.tree_joint_names:
        index = robot.tree.getJointId(joint.name)
        return robot.tree.parents[index] - 1, robot.tree.jointPlacements[index].translation
    return frame.parentJoint - 1, frame.placement.translation
