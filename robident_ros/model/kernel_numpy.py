"""
The regressor kernel in numpy: everything that depends on a sample is a small matrix product.

A joint's motion transform is linear in (1, cos q, sin q), or in (1, q) when it slides, and the
body matrix B is linear in twelve products of accelerations and angular velocities. So both are
one matrix product over all samples of a chunk.
"""

from typing import Iterator, NamedTuple

import numpy as np
from robident_ros.model.kernel import Kinematics

# numpy's temporaries stay in the cache, and below malloc's mmap threshold.
CHUNK = 512


def skew(p: np.ndarray) -> np.ndarray:
    """Return the matrix of the cross product p × ·."""
    x, y, z = p
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _motion_transform(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """Return X: a motion of the parent seen in a child frame at that placement."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = rotation.T
    X[:3, 3:] = -rotation.T @ skew(translation)
    return X


def _transform_features(kinematics: Kinematics, joint: int) -> np.ndarray:
    """Return X(q) of a joint as coefficients of (1, cos q, sin q) or (1, q, 0), (3, 36)."""
    R, p = kinematics.rotation[joint], kinematics.translation[joint]
    if kinematics.prismatic[joint]:
        slope = np.zeros((6, 6))
        slope[:3, 3:] = -R.T @ skew(R @ kinematics.axis[joint, :3])
        return np.stack([_motion_transform(R, p), slope, np.zeros((6, 6))]).reshape(3, 36)
    u = kinematics.axis[joint, 3:]
    along = np.outer(u, u)
    parts = (along, np.eye(3) - along, skew(u))
    return np.stack([_motion_transform(R @ part, p) for part in parts]).reshape(3, 36)


def _cross_axis(S: np.ndarray) -> np.ndarray:
    """Return the 6×6 matrix of m ↦ m × S, the motion cross product with a joint axis."""
    K = np.zeros((6, 6))
    K[:3, :3] = K[3:, 3:] = -skew(S[3:])
    K[:3, 3:] = -skew(S[:3])
    return K


_SYMMETRIC = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]  # XX XY XZ YY YZ ZZ


def _body_matrix(a: np.ndarray, alpha: np.ndarray, ww: np.ndarray) -> np.ndarray:
    """Return B (6, 10) for acceleration, angular acceleration and ω·ωᵀ, in all three linear."""
    B = np.zeros((6, 10))
    for column, (i, j) in enumerate(_SYMMETRIC):
        E = np.zeros((3, 3))
        E[i, j] = E[j, i] = 1
        moment = ww @ E  # ω × (E ω) is the axial vector of ω (E ω)ᵀ
        axial = [moment[1, 2] - moment[2, 1], moment[2, 0] - moment[0, 2],
                 moment[0, 1] - moment[1, 0]]
        B[3:, column] = E @ alpha + axial
    B[:3, 6:9] = skew(alpha) + ww - np.trace(ww) * np.eye(3)
    B[3:, 6:9] = -skew(a)
    B[:3, 9] = a
    return B


def _body_features() -> np.ndarray:
    """Return B as coefficients of the twelve features (a, α, ω_i ω_j), (12, 60)."""
    zero, none = np.zeros(3), np.zeros((3, 3))
    rows = [_body_matrix(e, zero, none) for e in np.eye(3)]
    rows += [_body_matrix(zero, e, none) for e in np.eye(3)]
    for i, j in _SYMMETRIC:
        ww = np.zeros((3, 3))
        ww[i, j] = ww[j, i] = 1
        rows.append(_body_matrix(zero, zero, ww))
    return np.array(rows).reshape(12, 60)


_BODY = _body_features()
_ROW, _COLUMN = np.array(_SYMMETRIC).T


class _Geometry:
    """Constant matrices of the recursion."""

    def __init__(self, kinematics: Kinematics) -> None:
        joints = range(len(kinematics.parent))
        self.parent = kinematics.parent
        self.prismatic = kinematics.prismatic
        self.axis = kinematics.axis
        self.ancestors = [kinematics.ancestors(joint) for joint in joints]
        self.transforms = np.stack([_transform_features(kinematics, j) for j in joints])
        self.cross = np.stack([_cross_axis(S) for S in kinematics.axis])
        self.root = np.zeros((6, 2))  # speed and acceleration of the root
        self.root[:3, 1] = -kinematics.gravity


class _State(NamedTuple):
    """
    The forward recursion of one chunk.

    ``X``: (n, N, 6, 6); ``before[i]``: what comes from the parent, ``after[i]``: the same with
    the joint's own motion added, columns v, a and the axes of the ancestors; ``B``: (n, N, 6, 10).
    """

    X: np.ndarray
    before: list[np.ndarray]
    after: list[np.ndarray]
    B: np.ndarray


def _forward(geometry: _Geometry, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> _State:
    n, N = q.shape
    sliding = geometry.prismatic[:, None]
    features = np.stack([np.ones_like(q), np.where(sliding, q, np.cos(q)),
                         np.where(sliding, 0, np.sin(q))], axis=-1)
    X = (features @ geometry.transforms).reshape(n, N, 6, 6)
    before, after = [], []
    for i, parent in enumerate(geometry.parent):
        S, inherited = geometry.axis[i], X[i] @ (geometry.root if parent < 0 else after[parent])
        own = np.empty((N, 6, inherited.shape[2] + 1))
        own[:, :, :-1] = inherited
        own[:, :, -1] = S
        own[:, :, 0] += S * v[i][:, None]
        own[:, :, 1] += S * a[i][:, None] + own[:, :, 0] @ geometry.cross[i].T * v[i][:, None]
        before.append(inherited)
        after.append(own)
    return _State(X, before, after, _body(after))


def _body(motions: list[np.ndarray]) -> np.ndarray:
    speed = np.stack([motion[:, :, 0] for motion in motions])
    acceleration = np.stack([motion[:, :, 1] for motion in motions])
    linear, angular = speed[..., :3], speed[..., 3:]
    features = np.concatenate([acceleration[..., :3] + np.cross(angular, linear),
                               acceleration[..., 3:],
                               angular[..., _ROW] * angular[..., _COLUMN]], axis=-1)
    return (features @ _BODY).reshape(*speed.shape[:2], 6, 10)


def _chunks(N: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, N)) for start in range(0, N, CHUNK))


def fill_regressor(W: np.ndarray, columns: np.ndarray, kinematics: Kinematics, q: np.ndarray,
                   v: np.ndarray, a: np.ndarray) -> None:
    """Write the torque regressor, see ``kernel.fill_regressor``."""
    geometry = _Geometry(kinematics)
    for chunk in _chunks(q.shape[1]):
        state = _forward(geometry, q[:, chunk], v[:, chunk], a[:, chunk])
        for i, start in enumerate(columns):
            rows = state.after[i][:, :, 2:].transpose(0, 2, 1) @ state.B[i]
            W[start:start + 10, geometry.ancestors[i], chunk] = rows.transpose(2, 1, 0)


def regressor_product(W_bar: np.ndarray, columns: np.ndarray, kinematics: Kinematics,
                      q: np.ndarray, v: np.ndarray,
                      a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the reverse-mode product, see ``kernel.regressor_product``."""
    geometry = _Geometry(kinematics)
    bars = np.zeros((3, *q.shape))
    for chunk in _chunks(q.shape[1]):
        state = _forward(geometry, q[:, chunk], v[:, chunk], a[:, chunk])
        rows_bar = [np.ascontiguousarray(W_bar[start:start + 10, geometry.ancestors[i], chunk]
                                         .transpose(2, 1, 0)) for i, start in enumerate(columns)]
        bars[:, :, chunk] = _backward(geometry, state, rows_bar, v[:, chunk])
    return tuple(bars)


def _backward(geometry: _Geometry, state: _State, rows_bar: list[np.ndarray],
              v: np.ndarray) -> np.ndarray:
    """Return the gradients (3, n, N) of Σ rows_bar ∘ rows of one chunk."""
    motion_bar = _body_backward(state, rows_bar)
    bars = np.empty((3, *v.shape))
    for i in reversed(range(len(v))):
        S, cross, bar, speed = geometry.axis[i], geometry.cross[i], motion_bar[i], v[i][:, None]
        acceleration_bar = bar[:, :, 1]
        through_speed = acceleration_bar @ cross
        bars[2, i] = acceleration_bar @ S
        bars[1, i] = np.einsum('ni,ni->n', through_speed, state.after[i][:, :, 0])
        bar[:, :, 0] += through_speed * speed
        bars[1, i] += bar[:, :, 0] @ S
        inherited, inherited_bar = state.before[i], bar[:, :, :-1]
        # dX/dq · m = (X m) × S
        bars[0, i] = np.einsum('nik,nik->n', inherited_bar, cross @ inherited)
        if geometry.parent[i] >= 0:
            motion_bar[geometry.parent[i]] += state.X[i].transpose(0, 2, 1) @ inherited_bar
    return bars


def _body_backward(state: _State, rows_bar: list[np.ndarray]) -> list[np.ndarray]:
    """Return the gradient with respect to each link's motions, before the recursion."""
    B_bar = np.stack([motion[:, :, 2:] @ bar for motion, bar in zip(state.after, rows_bar)])
    n, N = B_bar.shape[:2]
    a_bar, alpha_bar, ww_bar = np.split(B_bar.reshape(n, N, 60) @ _BODY.T, [3, 6], axis=-1)
    motion_bar = []
    for i, motion in enumerate(state.after):
        linear, angular = motion[:, :3, 0], motion[:, 3:, 0]
        bar = np.empty_like(motion)
        bar[:, :3, 0] = np.cross(a_bar[i], angular)
        bar[:, 3:, 0] = np.cross(linear, a_bar[i])
        for k, (row, column) in enumerate(_SYMMETRIC):
            bar[:, 3 + row, 0] += ww_bar[i, :, k] * angular[:, column]
            bar[:, 3 + column, 0] += ww_bar[i, :, k] * angular[:, row]
        bar[:, :3, 1], bar[:, 3:, 1] = a_bar[i], alpha_bar[i]
        bar[:, :, 2:] = state.B[i] @ rows_bar[i].transpose(0, 2, 1)
        motion_bar.append(bar)
    return motion_bar
