"""
The regressor kernel in numba: the recursion of ``kernel`` with samples along SIMD lanes.

Every quantity is an array (rows, LANES) whose last axis runs over the samples of a block, and
every helper is one loop over the lanes that the compiler turns into vector instructions. Nothing
of a robot is compiled in, so the compiled code is cached on disk for all robots.
"""

from numba import njit
import numpy as np
from robident_ros.model.kernel import Kinematics

LANES = 64

# Sums may be reordered; NaN and infinity keep their meaning.
_compile = njit(cache=True, nogil=True, error_model='numpy',
                fastmath={'reassoc', 'contract', 'nsz', 'arcp'})


def fill_regressor(W: np.ndarray, columns: np.ndarray, kinematics: Kinematics, q: np.ndarray,
                   v: np.ndarray, a: np.ndarray) -> None:
    """Write the torque regressor, see ``kernel.fill_regressor``."""
    _fill(W, columns, _geometry(kinematics), (q, np.cos(q), np.sin(q), v, a))


def regressor_product(W_bar: np.ndarray, columns: np.ndarray, kinematics: Kinematics,
                      q: np.ndarray, v: np.ndarray,
                      a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the reverse-mode product, see ``kernel.regressor_product``."""
    bars = np.empty((3, *q.shape))
    _product(bars, W_bar, columns, _geometry(kinematics), (q, np.cos(q), np.sin(q), v, a))
    return tuple(bars)


def _geometry(kinematics: Kinematics) -> tuple[np.ndarray, ...]:
    """
    Return parent, S, placement and gravity, with the rotation as coefficients (3, 9).

    They are those of 1, cos q and sin q; for a sliding joint the last two are zero.
    """
    R, u = kinematics.rotation, kinematics.axis[:, 3:]
    along = u[:, :, None] * u[:, None, :]
    turning = np.where(kinematics.prismatic[:, None, None], 0, np.eye(3) - along)
    constant = R @ (np.eye(3) - turning)
    skew = np.cross(np.eye(3), u[:, None, :])
    rotations = np.stack([constant, R @ turning, R @ skew], axis=1).reshape(-1, 3, 9)
    slide = np.einsum('ijk,ik->ij', R, kinematics.axis[:, :3])
    return (kinematics.parent, kinematics.axis, rotations, kinematics.translation, slide,
            kinematics.gravity)


@_compile
def _workspace(n):
    """Arrays of one block: samples, then the state of the recursion (see ``_forward``)."""
    samples = np.empty((5, n, LANES))
    R, p = np.empty((n, 9, LANES)), np.empty((n, 3, LANES))
    motions = np.empty((3, n, 6, LANES))
    axes, body = np.empty((n, n, 6, LANES)), np.empty((n, 9, LANES))
    return samples, (R, p, motions[0], motions[1], motions[2], axes, body)


@_compile
def _load(block, motion, start, count):
    """Copy q, cos q, sin q, v and a of a block; lanes past the end repeat the first sample."""
    for part in range(5):
        values = motion[part]
        for i in range(values.shape[0]):
            for t in range(count):
                block[part, i, t] = values[i, start + t]
            for t in range(count, LANES):
                block[part, i, t] = values[i, start]


@_compile
def _place(R, p, rotations, translation, slide, q, cosine, sine):
    """Rotation (9, LANES) and position (3, LANES) of a joint in its parent."""
    for k in range(9):
        for t in range(LANES):
            R[k, t] = rotations[0, k] + rotations[1, k] * cosine[t] + rotations[2, k] * sine[t]
    for k in range(3):
        for t in range(LANES):
            p[k, t] = translation[k] + slide[k] * q[t]


@_compile
def _to_child(y, R, p, x):
    """Motion x of the parent seen in the child frame: y = X x."""
    for t in range(LANES):
        ax, ay, az = x[3, t], x[4, t], x[5, t]
        lx = x[0, t] - p[1, t] * az + p[2, t] * ay
        ly = x[1, t] - p[2, t] * ax + p[0, t] * az
        lz = x[2, t] - p[0, t] * ay + p[1, t] * ax
        for k in range(3):
            y[k, t] = R[k, t] * lx + R[3 + k, t] * ly + R[6 + k, t] * lz
            y[3 + k, t] = R[k, t] * ax + R[3 + k, t] * ay + R[6 + k, t] * az


@_compile
def _add_to_parent(x_bar, R, p, y_bar):
    """Adjoint of ``_to_child``: x_bar += Xᵀ y_bar."""
    for t in range(LANES):
        x, y, z = y_bar[0, t], y_bar[1, t], y_bar[2, t]
        lx = R[0, t] * x + R[1, t] * y + R[2, t] * z
        ly = R[3, t] * x + R[4, t] * y + R[5, t] * z
        lz = R[6, t] * x + R[7, t] * y + R[8, t] * z
        x, y, z = y_bar[3, t], y_bar[4, t], y_bar[5, t]
        x_bar[0, t] += lx
        x_bar[1, t] += ly
        x_bar[2, t] += lz
        x_bar[3, t] += R[0, t] * x + R[1, t] * y + R[2, t] * z + p[1, t] * lz - p[2, t] * ly
        x_bar[4, t] += R[3, t] * x + R[4, t] * y + R[5, t] * z + p[2, t] * lx - p[0, t] * lz
        x_bar[5, t] += R[6, t] * x + R[7, t] * y + R[8, t] * z + p[0, t] * ly - p[1, t] * lx


@_compile
def _cross_axis(y, x, S):
    """Motion cross product with a joint axis: y = x × S."""
    for t in range(LANES):
        lx, ly, lz, ax, ay, az = x[0, t], x[1, t], x[2, t], x[3, t], x[4, t], x[5, t]
        y[0, t] = ay * S[2] - az * S[1] + ly * S[5] - lz * S[4]
        y[1, t] = az * S[0] - ax * S[2] + lz * S[3] - lx * S[5]
        y[2, t] = ax * S[1] - ay * S[0] + lx * S[4] - ly * S[3]
        y[3, t] = ay * S[5] - az * S[4]
        y[4, t] = az * S[3] - ax * S[5]
        y[5, t] = ax * S[4] - ay * S[3]


@_compile
def _cross_axis_adjoint(x_bar, y_bar, S, scale):
    """Adjoint of ``_cross_axis`` in x, times ``scale`` per lane: added to x_bar."""
    for t in range(LANES):
        lx, ly, lz = y_bar[0, t], y_bar[1, t], y_bar[2, t]
        ax, ay, az = y_bar[3, t], y_bar[4, t], y_bar[5, t]
        s = scale[t]
        x_bar[0, t] += s * (S[4] * lz - S[5] * ly)
        x_bar[1, t] += s * (S[5] * lx - S[3] * lz)
        x_bar[2, t] += s * (S[3] * ly - S[4] * lx)
        x_bar[3, t] += s * (S[1] * lz - S[2] * ly + S[4] * az - S[5] * ay)
        x_bar[4, t] += s * (S[2] * lx - S[0] * lz + S[5] * ax - S[3] * az)
        x_bar[5, t] += s * (S[0] * ly - S[1] * lx + S[3] * ay - S[4] * ax)


@_compile
def _dot(y, x, z):
    """Add the scalar product of two motions to y."""
    for t in range(LANES):
        y[t] += (x[0, t] * z[0, t] + x[1, t] * z[1, t] + x[2, t] * z[2, t]
                 + x[3, t] * z[3, t] + x[4, t] * z[4, t] + x[5, t] * z[5, t])


@_compile
def _dot_axis(y, x, S):
    """Add the component of a motion along a joint axis to y."""
    for k in range(6):
        for t in range(LANES):
            y[t] += S[k] * x[k, t]


@_compile
def _forward(state, samples, geometry):
    """
    Run the recursion for one block.

    State: rotation and position of each joint in its parent; speed; the acceleration inherited
    from the parent, and with the joint's own; axes of the ancestors; and ``body``: acceleration
    of the frame's origin, angular acceleration, angular velocity.
    """
    R, p, speed, inherited, acceleration, axes, body = state
    parent, S, rotations, translation, slide, gravity = geometry
    q, cosine, sine, v, a = samples[0], samples[1], samples[2], samples[3], samples[4]
    turning = np.empty((6, LANES))
    root = np.zeros((6, LANES))
    for k in range(3):
        root[k] = -gravity[k]
    for i in range(parent.shape[0]):
        _place(R[i], p[i], rotations[i], translation[i], slide[i], q[i], cosine[i], sine[i])
        if parent[i] < 0:
            speed[i] = 0
            _to_child(inherited[i], R[i], p[i], root)
        else:
            _to_child(speed[i], R[i], p[i], speed[parent[i]])
            _to_child(inherited[i], R[i], p[i], acceleration[parent[i]])
        j = parent[i]
        while j >= 0:
            _to_child(axes[i, j], R[i], p[i], axes[parent[i], j])
            j = parent[j]
        for k in range(6):
            axes[i, i, k] = S[i, k]
            for t in range(LANES):
                speed[i, k, t] += S[i, k] * v[i, t]
        _cross_axis(turning, speed[i], S[i])
        for k in range(6):
            for t in range(LANES):
                acceleration[i, k, t] = (inherited[i, k, t] + S[i, k] * a[i, t]
                                         + turning[k, t] * v[i, t])
        _body_motion(body[i], speed[i], acceleration[i])


@_compile
def _body_motion(body, v, a):
    for t in range(LANES):
        wx, wy, wz = v[3, t], v[4, t], v[5, t]
        body[0, t] = a[0, t] + wy * v[2, t] - wz * v[1, t]
        body[1, t] = a[1, t] + wz * v[0, t] - wx * v[2, t]
        body[2, t] = a[2, t] + wx * v[1, t] - wy * v[0, t]
        for k in range(3):
            body[3 + k, t] = a[3 + k, t]
            body[6 + k, t] = v[3 + k, t]


@_compile
def _row(y, s, body):
    """Ten columns XX … M of one link in the row of the joint with axis s: y = sᵀ B."""
    for t in range(LANES):
        lx, ly, lz, sx, sy, sz = s[0, t], s[1, t], s[2, t], s[3, t], s[4, t], s[5, t]
        ax, ay, az = body[0, t], body[1, t], body[2, t]
        ex, ey, ez = body[3, t], body[4, t], body[5, t]
        wx, wy, wz = body[6, t], body[7, t], body[8, t]
        cx, cy, cz = sy * wz - sz * wy, sz * wx - sx * wz, sx * wy - sy * wx
        y[0, t] = sx * ex + cx * wx
        y[1, t] = sx * ey + sy * ex + cx * wy + cy * wx
        y[2, t] = sx * ez + sz * ex + cx * wz + cz * wx
        y[3, t] = sy * ey + cy * wy
        y[4, t] = sy * ez + sz * ey + cy * wz + cz * wy
        y[5, t] = sz * ez + cz * wz
        w2, wl = wx * wx + wy * wy + wz * wz, wx * lx + wy * ly + wz * lz
        y[6, t] = ly * ez - lz * ey + wx * wl - w2 * lx + ay * sz - az * sy
        y[7, t] = lz * ex - lx * ez + wy * wl - w2 * ly + az * sx - ax * sz
        y[8, t] = lx * ey - ly * ex + wz * wl - w2 * lz + ax * sy - ay * sx
        y[9, t] = lx * ax + ly * ay + lz * az


@_compile
def _row_adjoint(s_bar, body_bar, y_bar, s, body):
    """Adjoint of ``_row``, added to s_bar and body_bar; I is the symmetric matrix of y_bar."""
    for t in range(LANES):
        lx, ly, lz, sx, sy, sz = s[0, t], s[1, t], s[2, t], s[3, t], s[4, t], s[5, t]
        ax, ay, az = body[0, t], body[1, t], body[2, t]
        ex, ey, ez = body[3, t], body[4, t], body[5, t]
        wx, wy, wz = body[6, t], body[7, t], body[8, t]
        xx, xy, xz, yy, yz, zz = (y_bar[0, t], y_bar[1, t], y_bar[2, t], y_bar[3, t],
                                  y_bar[4, t], y_bar[5, t])
        hx, hy, hz, m = y_bar[6, t], y_bar[7, t], y_bar[8, t], y_bar[9, t]
        w2 = wx * wx + wy * wy + wz * wz
        hw, hl = hx * wx + hy * wy + hz * wz, hx * lx + hy * ly + hz * lz
        wl = wx * lx + wy * ly + wz * lz
        ix = xx * wx + xy * wy + xz * wz
        iy = xy * wx + yy * wy + yz * wz
        iz = xz * wx + yz * wy + zz * wz
        s_bar[0, t] += m * ax + ey * hz - ez * hy + wx * hw - w2 * hx
        s_bar[1, t] += m * ay + ez * hx - ex * hz + wy * hw - w2 * hy
        s_bar[2, t] += m * az + ex * hy - ey * hx + wz * hw - w2 * hz
        s_bar[3, t] += hy * az - hz * ay + xx * ex + xy * ey + xz * ez + wy * iz - wz * iy
        s_bar[4, t] += hz * ax - hx * az + xy * ex + yy * ey + yz * ez + wz * ix - wx * iz
        s_bar[5, t] += hx * ay - hy * ax + xz * ex + yz * ey + zz * ez + wx * iy - wy * ix
        body_bar[0, t] += m * lx + sy * hz - sz * hy
        body_bar[1, t] += m * ly + sz * hx - sx * hz
        body_bar[2, t] += m * lz + sx * hy - sy * hx
        body_bar[3, t] += hy * lz - hz * ly + xx * sx + xy * sy + xz * sz
        body_bar[4, t] += hz * lx - hx * lz + xy * sx + yy * sy + yz * sz
        body_bar[5, t] += hx * ly - hy * lx + xz * sx + yz * sy + zz * sz
        cx, cy, cz = sy * wz - sz * wy, sz * wx - sx * wz, sx * wy - sy * wx
        body_bar[6, t] += (hx * wl + lx * hw - 2 * wx * hl + iy * sz - iz * sy
                           + xx * cx + xy * cy + xz * cz)
        body_bar[7, t] += (hy * wl + ly * hw - 2 * wy * hl + iz * sx - ix * sz
                           + xy * cx + yy * cy + yz * cz)
        body_bar[8, t] += (hz * wl + lz * hw - 2 * wz * hl + ix * sy - iy * sx
                           + xz * cx + yz * cy + zz * cz)


@_compile
def _body_motion_adjoint(v_bar, a_bar, body_bar, v):
    for t in range(LANES):
        x, y, z = body_bar[0, t], body_bar[1, t], body_bar[2, t]
        for k in range(6):
            a_bar[k, t] += body_bar[k, t]
        v_bar[0, t] += y * v[5, t] - z * v[4, t]
        v_bar[1, t] += z * v[3, t] - x * v[5, t]
        v_bar[2, t] += x * v[4, t] - y * v[3, t]
        v_bar[3, t] += body_bar[6, t] + v[1, t] * z - v[2, t] * y
        v_bar[4, t] += body_bar[7, t] + v[2, t] * x - v[0, t] * z
        v_bar[5, t] += body_bar[8, t] + v[0, t] * y - v[1, t] * x


@_compile
def _fill(W, columns, geometry, motion):
    parent = geometry[0]
    n, N = motion[0].shape
    samples, state = _workspace(n)
    axes, body = state[5], state[6]
    row = np.empty((10, LANES))
    for start in range(0, N, LANES):
        count = min(LANES, N - start)
        _load(samples, motion, start, count)
        _forward(state, samples, geometry)
        for i in range(n):
            j = i
            while j >= 0:
                _row(row, axes[i, j], body[i])
                for k in range(10):
                    for t in range(count):
                        W[columns[i] + k, j, start + t] = row[k, t]
                j = parent[j]


@_compile
def _product(bars, W_bar, columns, geometry, motion):
    parent = geometry[0]
    n, N = motion[0].shape
    samples, state = _workspace(n)
    axes, body = state[5], state[6]
    speed_bar, acceleration_bar = np.empty((n, 6, LANES)), np.empty((n, 6, LANES))
    axes_bar, body_bar = np.empty((n, n, 6, LANES)), np.empty((n, 9, LANES))
    row_bar, joint_bar = np.zeros((10, LANES)), np.empty((3, n, LANES))
    for start in range(0, N, LANES):
        count = min(LANES, N - start)
        _load(samples, motion, start, count)
        _forward(state, samples, geometry)
        for bar in (speed_bar, acceleration_bar):
            bar[:] = 0
        axes_bar[:] = 0
        body_bar[:] = 0
        for i in range(n):
            j = i
            while j >= 0:
                for k in range(10):
                    for t in range(count):
                        row_bar[k, t] = W_bar[columns[i] + k, j, start + t]
                _row_adjoint(axes_bar[i, j], body_bar[i], row_bar, axes[i, j], body[i])
                j = parent[j]
        _backward(joint_bar, (speed_bar, acceleration_bar, axes_bar, body_bar), state, samples[3],
                  geometry)
        bars[:, :, start:start + count] = joint_bar[:, :, :count]


@_compile
def _backward(joint_bar, state_bar, state, v, geometry):
    """Run the recursion backwards: gradients with respect to q, v and a of one block."""
    R, p, speed, inherited, acceleration, axes, body = state
    speed_bar, acceleration_bar, axes_bar, body_bar = state_bar
    parent, S = geometry[0], geometry[1]
    crossed = np.empty((6, LANES))
    joint_bar[:] = 0
    for i in range(parent.shape[0] - 1, -1, -1):
        q_bar, v_bar, a_bar = joint_bar[0, i], joint_bar[1, i], joint_bar[2, i]
        _body_motion_adjoint(speed_bar[i], acceleration_bar[i], body_bar[i], speed[i])
        _dot_axis(a_bar, acceleration_bar[i], S[i])
        _cross_axis(crossed, speed[i], S[i])
        _dot(v_bar, acceleration_bar[i], crossed)
        _cross_axis_adjoint(speed_bar[i], acceleration_bar[i], S[i], v[i])
        _dot_axis(v_bar, speed_bar[i], S[i])
        # dX/dq · m = (X m) × S, for everything that came from the parent
        _dot(q_bar, speed_bar[i], crossed)
        _cross_axis(crossed, inherited[i], S[i])
        _dot(q_bar, acceleration_bar[i], crossed)
        j = parent[i]
        while j >= 0:
            _cross_axis(crossed, axes[i, j], S[i])
            _dot(q_bar, axes_bar[i, j], crossed)
            _add_to_parent(axes_bar[parent[i], j], R[i], p[i], axes_bar[i, j])
            j = parent[j]
        if parent[i] >= 0:
            _add_to_parent(speed_bar[parent[i]], R[i], p[i], speed_bar[i])
            _add_to_parent(acceleration_bar[parent[i]], R[i], p[i], acceleration_bar[i])
