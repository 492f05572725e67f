"""
Lin's inertia constants of composite bodies, and the minimal set of his Theorem 2 (paper 001).

Composite body i is links i to n of a serial robot. The part of its inertia that no joint behind i
can change has ten constants, U_i about the origin of frame E_i (kg·m²), k_i (kg·m) and m̂_i (kg),
linear in the standard parameters. The torque depends on some of them only, and Theorem 2 says on
which. It holds for revolute and prismatic joints in any placement, under gravity of any
direction; without gravity it lists too many constants for one class of robots, which is refused.

The constants, numbered by joint as the papers do, joints ascending:

- ``U33_i``, ``kx_i``, ``ky_i``, ``U11-U22_i``, ``U12_i``, ``U13_i``, ``U23_i`` of revolute joints,
- ``m_i``, the mass m̂_i, and ``kx_i``, ``ky_i``, ``kz_i`` of prismatic joints,
- ``kc_i`` = z·(u×k_i), eq. (40), and ``kp_i`` = z·(k_i − u(u·k_i)), eq. (43), where a prismatic
  joint of axis z is carried by parallel revolute joints only; u is the axis of the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import warnings

import numpy as np
import pinocchio as pin
from robident_ros.arrays import read_only
from robident_ros.errors import ModelError, RobidentWarning
from robident_ros.model.parameters import MX, MZ, symmetric
from robident_ros.model.robot import Robot

# URDFs write right angles with four digits or more; no robot is assembled as exactly as that.
PARALLEL = 1e-4  # rad
ALMOST_PARALLEL = 1e-2  # rad; said to the user, as a URDF with 1.57 for π/2 is meant otherwise
COINCIDENT = 1e-6  # m

_U11, _U12, _U13, _U22, _U23, _U33, _KX, _KY, _KZ, _M = np.eye(10)
_PLANAR = {'U33': _U33, 'kx': _KX, 'ky': _KY}
_SPATIAL = {'U11-U22': _U11 - _U22, 'U33': _U33, 'U12': _U12, 'U13': _U13, 'U23': _U23,
            'kx': _KX, 'ky': _KY}
_FIRST_MOMENT = {'kx': _KX, 'ky': _KY, 'kz': _KZ}

# What turning about z leaves as it is: eqs. (18) and (20) hand on no more of a composite body.
_ROUND = np.array([_U22, 0 * _U12, 0 * _U13, _U22, 0 * _U23, _U33, 0 * _KX, 0 * _KY, _KZ, _M])


@dataclass(frozen=True, eq=False)
class MinimalSet:
    """
    A minimal set of inertia constants: ``map @ robot.theta`` are their values.

    They determine the torque of the links and are determined by it: the rows of ``map`` span the
    rows of the torque regressor's inertial columns. Columns of drive terms are zero.
    """

    names: tuple[str, ...]
    map: np.ndarray  # noqa: A003


@dataclass(frozen=True, eq=False)
class NormalFrames:
    """
    The normal driving-axis frames E_i of a serial robot (paper 001, Figure 1).

    z is the joint's axis and x the common normal with the next one, so that frame i is b along
    x and β about x, then d along and θ about its own z, from frame i−1: eqs. (3) and (4). What
    that leaves free (x's sign; the origin, if the axes are parallel; x, if they coincide) is as
    near as can be to the URDF's joint frame, and is that frame where it is a normal one.
    ``in_joint`` places each in its joint frame.
    """

    tree: pin.Model
    in_joint: tuple[pin.SE3, ...]

    def place(self, q: np.ndarray) -> tuple[pin.SE3, ...]:
        """Return the frames in the root frame: u_i^(j) is R_jᵀ times z of frame i, for one."""
        data = self.tree.createData()
        pin.forwardKinematics(self.tree, data, pin.integrate(
            self.tree, pin.neutral(self.tree), np.asarray(q, dtype=float)))
        return tuple(joint * frame for joint, frame in zip(list(data.oMi)[1:], self.in_joint))


def minimal_set(robot: Robot) -> MinimalSet:
    """Return the inertia constants of Theorem 2 as functions of the standard parameters."""
    frames = normal_frames(robot)
    bodies = composite_bodies(robot, frames)
    placements = frames.place(np.zeros(robot.tree.nv))
    _check_almost_parallel(robot, placements)
    names, rows = [], []
    for j, constants in enumerate(_theorem_2(robot, placements)):
        names += [f'{symbol}_{j + 1}' for symbol in constants]
        rows += [row @ bodies[j] for row in constants.values()]
    return MinimalSet(tuple(names), read_only(rows))


def normal_frames(robot: Robot) -> NormalFrames:
    """Place a normal driving-axis frame on every joint of a serial robot."""
    _check_serial(robot)
    axes = _axes(robot)
    following = [(placement.translation, placement.rotation @ axis) for placement, axis
                 in zip(list(robot.tree.jointPlacements)[2:], axes[1:])] + [None]
    return NormalFrames(robot.tree, tuple(map(_normal_frame, axes, following)))


def composite_bodies(robot: Robot, frames: NormalFrames) -> np.ndarray:
    """
    Return the constants of all composite bodies (paper 001, Lemma 1) as a map of the parameters.

    :return: shape (joints, 10, parameters), each body's ten in the order of a link's parameters,
             U in place of the inertia, k of the first moments and m̂ of the mass.
    """
    n = robot.tree.nv
    bodies = np.zeros((n, 10, len(robot.parameters)))
    for i in reversed(range(n)):
        column = robot.link_columns[i]
        bodies[i, :, column:column + 10] = transport(frames.in_joint[i].inverse())
        if i + 1 < n:
            step = (frames.in_joint[i].inverse() * robot.tree.jointPlacements[i + 2]
                    * frames.in_joint[i + 1])
            bodies[i] += _hand_on(step, robot.kinds[i + 1]) @ bodies[i + 1]
    return read_only(bodies)


def transport(frame: pin.SE3) -> np.ndarray:
    """
    Return the 10×10 matrix that takes a body's parameters out of ``frame``.

    The pseudo-inertia ∫ x·xᵀ dm of homogeneous points x is congruent between frames.
    """
    T = frame.homogeneous
    return np.column_stack([_parameters(T @ _pseudo_inertia(unit) @ T.T) for unit in np.eye(10)])


def _pseudo_inertia(parameters: np.ndarray) -> np.ndarray:
    inertia, first, mass = symmetric(parameters), parameters[MX:MZ + 1], parameters[-1:]
    second = np.trace(inertia) / 2 * np.eye(3) - inertia
    return np.block([[second, first[:, None]], [first, mass]])


def _parameters(pseudo_inertia: np.ndarray) -> np.ndarray:
    second = pseudo_inertia[:3, :3]
    inertia = np.trace(second) * np.eye(3) - second
    return np.concatenate([inertia[np.triu_indices(3)], pseudo_inertia[3]])


def _hand_on(step: pin.SE3, kind: str) -> np.ndarray:
    """Return what of composite body i+1 is constant in frame i: eqs. (18), (20), (22), (24)."""
    if kind == 'revolute':
        return transport(step) @ _ROUND
    z = step.rotation[:, 2]
    at_zero_d = step.translation - (step.translation @ z) * z
    return transport(pin.SE3(step.rotation, at_zero_d))


def _check_serial(robot: Robot) -> None:
    if not robot.joint_map.is_identity:
        passive = [name for name in robot.tree_joint_names if name not in robot.joint_names]
        raise ModelError(f'{robot.name}: joint {passive[0]!r} is passive; inertia constants of '
                         'composite bodies need every joint to be driven: use base parameters')
    for i, parent in enumerate(list(robot.tree.parents)[1:]):
        if parent != i:
            raise ModelError(f'{robot.name}: joint {robot.joint_names[i]!r} does not follow '
                             f'{robot.joint_names[i - 1]!r}; inertia constants of composite '
                             'bodies need a serial robot: use base parameters, or lock a branch')


def _axes(robot: Robot) -> list[np.ndarray]:
    """Return each joint's axis in its own frame; it passes through that frame's origin."""
    data, neutral = robot.tree.createData(), pin.neutral(robot.tree)
    axes = []
    for i in range(robot.tree.nv):
        jacobian = pin.computeJointJacobian(robot.tree, data, neutral, i + 1)
        linear, angular = jacobian.reshape(2, 3, -1)[:, :, i]  # one joint comes as a vector
        axes.append(linear if robot.kinds[i] == 'prismatic' else angular)
    return axes


def _normal_frame(z: np.ndarray, following: tuple[np.ndarray, np.ndarray] | None) -> pin.SE3:
    """
    Return a normal driving-axis frame in its joint's frame.

    :param following: a point and the direction of the next axis; None behind the last joint.
    """
    reference = np.eye(3)[(np.argmax(np.abs(z)) + 1) % 3]
    x, along = _across(reference, z), 0.0
    if following is not None:
        point, direction = following
        normal = np.cross(z, direction)
        if not _parallel(z, direction):
            x = normal
            along = np.cross(point, direction) @ normal / (normal @ normal)
        elif np.linalg.norm(_across(point, z)) > COINCIDENT:
            x = _across(point, z)
    x = _across(x, z) / np.linalg.norm(_across(x, z))
    x = -x if x @ reference < -PARALLEL else x
    return pin.SE3(np.column_stack([x, np.cross(z, x), z]), along * z)


def _across(v: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the part of ``v`` at right angles to the unit vector ``z``."""
    return v - (v @ z) * z


def _angle(u: np.ndarray, v: np.ndarray) -> float:
    """Return the sine of the angle of two lines; a vector of zero is parallel to all."""
    return float(np.linalg.norm(np.cross(u, v)) / (np.linalg.norm(u) * np.linalg.norm(v) or 1.0))


def _parallel(u: np.ndarray, v: np.ndarray) -> bool:
    return _angle(u, v) < PARALLEL


def _check_almost_parallel(robot: Robot, placements: tuple[pin.SE3, ...]) -> None:
    """Warn of angles that are hardly meant: they add constants which no motion shows."""
    z = [frame.rotation[:, 2] for frame in placements]
    pairs = [(z[i], z[i + 1], robot.joint_names[i + 1]) for i in range(len(z) - 1)]
    for u, v, name in [*pairs, (robot.tree.gravity.linear, z[0], robot.joint_names[0])]:
        if PARALLEL <= _angle(u, v) < ALMOST_PARALLEL:
            before = 'gravity' if name == robot.joint_names[0] else 'the joint before it'
            warnings.warn(f'{robot.name}: joint {name!r} is {_angle(u, v):.1e} rad from parallel '
                          f'to {before} and taken as not parallel; are angles in the URDF '
                          'written with enough digits?', RobidentWarning, stacklevel=3)


def _theorem_2(robot: Robot, placements: tuple[pin.SE3, ...]) -> Iterator[dict]:
    """Yield the constants of each joint's composite body, as rows over its ten."""
    n, u = len(placements), [frame.rotation[:, 2] for frame in placements]
    revolute = [i for i in range(n) if robot.kinds[i] == 'revolute']
    r = min(revolute, default=n)
    s = min((i for i in revolute if not _parallel(u[i], u[r])), default=n)
    _check_weightless(robot, placements, s)
    for j in range(n):
        if j in revolute and j >= s:
            yield _SPATIAL
        elif j in revolute:
            yield {'U33': _U33} if _is_balanced(robot, placements, j) else _PLANAR
        elif j > s:
            yield {'m': _M, **_FIRST_MOMENT}
        elif j > r and not _parallel(u[j], u[r]):
            yield {'m': _M, **_combinations(placements[j].rotation.T @ u[r])}
        else:
            yield {'m': _M}


def _is_balanced(robot: Robot, placements: tuple[pin.SE3, ...], j: int) -> bool:
    """
    Return whether the first moments of joint j < s have no effect (δ_j = 0 in Theorem 2).

    Gravity and the joints before must be parallel to it, the revolute ones on the same axis.
    """
    axis, origin = placements[j].rotation[:, 2], placements[j].translation
    before = placements[:j]
    return (_parallel(robot.tree.gravity.linear, axis)
            and all(_parallel(frame.rotation[:, 2], axis) for frame in before)
            and all(np.linalg.norm(_across(origin - frame.translation, axis)) < COINCIDENT
                    for frame, kind in zip(before, robot.kinds) if kind == 'revolute'))


def _combinations(u: np.ndarray) -> dict:
    """Return eqs. (40) and (43) for a prismatic joint, of the first revolute axis u in E_i."""
    x, y, z = u
    return {'kc': -y * _KX + x * _KY,
            'kp': -z * (x * _KX + y * _KY) + (1 - z**2) * _KZ}


def _check_weightless(robot: Robot, placements: tuple[pin.SE3, ...], s: int) -> None:
    """
    Refuse the one class whose minimal set is smaller than Theorem 2 says.

    Without gravity, if revolute joints on one axis carry joint s, and its axis meets theirs, the
    point where they meet never moves and first moments about it have no effect.
    """
    if (any(robot.tree.gravity.linear) or s == len(placements) or 'prismatic' in robot.kinds[:s]
            or not all(_is_balanced(robot, placements, j) for j in range(s))):
        return
    normal = np.cross(placements[0].rotation[:, 2], placements[s].rotation[:, 2])
    apart = (placements[s].translation - placements[0].translation) @ normal
    if abs(apart) < COINCIDENT * np.linalg.norm(normal):
        raise ModelError(f'{robot.name}: gravity is zero, and the axis of joint '
                         f'{robot.joint_names[s]!r} meets that of {robot.joint_names[0]!r}: '
                         'Theorem 2 has more constants than the torque shows of such a robot; '
                         'use base parameters')
