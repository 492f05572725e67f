"""
The regressor kernel in numba: the recursion of ``kernel`` with samples along SIMD lanes.

A quantity with k components is an array of k rows of LANES samples each, flat so that the compiler
knows how the rows lie: component 3 of sample t is ``x[L3 + t]``. Every helper is one loop over the
lanes, which becomes vector instructions (three times as fast as with two-dimensional arrays).
Nothing of a robot is compiled in, so the compiled code is cached on disk for all robots.
"""

from numba import njit
import numpy as np
from robident_ros.model.kernel import Kinematics

LANES = 128
L1, L2, L3, L4, L5, L6, L7, L8, L9 = (row * LANES for row in range(1, 10))

# Sums may be reordered; NaN and infinity keep their meaning.
_compile = njit(cache=True, nogil=True, error_model='numpy',
                fastmath={'reassoc', 'contract', 'nsz', 'arcp'})


def fill_regressor(W: np.ndarray, columns: np.ndarray, kinematics: Kinematics, q: np.ndarray,
                   v: np.ndarray, a: np.ndarray) -> None:
    """Write the torque regressor, see ``kernel.fill_regressor``."""
    _fill(W, columns, _geometry(kinematics), (q, v, a))


def regressor_product(W_bar: np.ndarray, columns: np.ndarray, kinematics: Kinematics,
                      q: np.ndarray, v: np.ndarray,
                      a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the reverse-mode product, see ``kernel.regressor_product``."""
    bars = np.empty((3, *q.shape))
    _product(bars, W_bar, columns, _geometry(kinematics), (q, v, a))
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
    samples = np.empty((3, n, LANES))
    R, p = np.empty((n, L9)), np.empty((n, L3))
    motions = np.empty((3, n, L6))
    axes, body = np.empty((n, n, L6)), np.empty((n, L9))
    return samples, (R, p, motions[0], motions[1], motions[2], axes, body)


@_compile
def _load(block, motion, start, count):
    """Copy q, v and a of a block; lanes past the end repeat the first sample."""
    for part in range(3):
        values = motion[part]
        for i in range(values.shape[0]):
            for t in range(count):
                block[part, i, t] = values[i, start + t]
            for t in range(count, LANES):
                block[part, i, t] = values[i, start]


@_compile
def _cos_sin(cosine, sine, x):
    """
    Cosine and sine as polynomials, since the library's are called one number at a time.

    x is reduced by multiples k of π/2 held in three parts (Cody and Waite), which is exact for
    |x| up to a million; the polynomials are those of fdlibm, good to the last bit on ±π/4.
    """
    for t in range(LANES):
        k = np.floor(x[t] * 0.6366197723675814 + 0.5)
        r = x[t] - k * 1.5707963267341256
        r = r - k * 6.077100506303966e-11
        r = r - k * 2.0222662487959506e-21
        z = r * r
        s = r + r * z * (-1.66666666666666324e-1 + z * (8.33333333332248946e-3 + z * (
            -1.98412698298579493e-4 + z * (2.75573137070700677e-6 + z * (
                -2.50507602534068634e-8 + z * 1.58969099521155010e-10)))))
        c = 1 - 0.5 * z + z * z * (4.16666666666666019e-2 + z * (-1.38888888888741096e-3 + z * (
            2.48015872894767294e-5 + z * (-2.75573143513906633e-7 + z * (
                2.08757232129817483e-9 - z * 1.13596475577881948e-11)))))
        quarter = k - 4 * np.floor(k * 0.25)  # 0, 1, 2 or 3
        odd = (quarter == 1) | (quarter == 3)
        first, second = (c, s) if odd else (s, c)
        sine[t] = -first if quarter >= 2 else first
        cosine[t] = -second if (quarter == 1) | (quarter == 2) else second


@_compile
def _place(R, p, rotations, translation, slide, q, cosine, sine):
    """Rotation (9, LANES) and position (3, LANES) of a joint in its parent."""
    for k in range(9):
        for t in range(LANES):
            R[k * LANES + t] = (rotations[0, k] + rotations[1, k] * cosine[t]
                                + rotations[2, k] * sine[t])
    for k in range(3):
        for t in range(LANES):
            p[k * LANES + t] = translation[k] + slide[k] * q[t]


@_compile
def _to_child(y, R, p, x):
    """Motion x of the parent seen in the child frame: y = X x."""
    for t in range(LANES):
        ax, ay, az = x[L3 + t], x[L4 + t], x[L5 + t]
        lx = x[t] - p[L1 + t] * az + p[L2 + t] * ay
        ly = x[L1 + t] - p[L2 + t] * ax + p[t] * az
        lz = x[L2 + t] - p[t] * ay + p[L1 + t] * ax
        y[t] = R[t] * lx + R[L3 + t] * ly + R[L6 + t] * lz
        y[L1 + t] = R[L1 + t] * lx + R[L4 + t] * ly + R[L7 + t] * lz
        y[L2 + t] = R[L2 + t] * lx + R[L5 + t] * ly + R[L8 + t] * lz
        y[L3 + t] = R[t] * ax + R[L3 + t] * ay + R[L6 + t] * az
        y[L4 + t] = R[L1 + t] * ax + R[L4 + t] * ay + R[L7 + t] * az
        y[L5 + t] = R[L2 + t] * ax + R[L5 + t] * ay + R[L8 + t] * az


@_compile
def _add_to_parent(x_bar, R, p, y_bar):
    """Adjoint of ``_to_child``: x_bar += Xᵀ y_bar."""
    for t in range(LANES):
        x, y, z = y_bar[t], y_bar[L1 + t], y_bar[L2 + t]
        lx = R[t] * x + R[L1 + t] * y + R[L2 + t] * z
        ly = R[L3 + t] * x + R[L4 + t] * y + R[L5 + t] * z
        lz = R[L6 + t] * x + R[L7 + t] * y + R[L8 + t] * z
        x, y, z = y_bar[L3 + t], y_bar[L4 + t], y_bar[L5 + t]
        x_bar[t] += lx
        x_bar[L1 + t] += ly
        x_bar[L2 + t] += lz
        x_bar[L3 + t] += R[t] * x + R[L1 + t] * y + R[L2 + t] * z + p[L1 + t] * lz - p[L2 + t] * ly
        x_bar[L4 + t] += R[L3 + t] * x + R[L4 + t] * y + R[L5 + t] * z + p[L2 + t] * lx - p[t] * lz
        x_bar[L5 + t] += R[L6 + t] * x + R[L7 + t] * y + R[L8 + t] * z + p[t] * ly - p[L1 + t] * lx


@_compile
def _cross_axis(y, x, S):
    """Motion cross product with a joint axis: y = x × S."""
    for t in range(LANES):
        lx, ly, lz, ax, ay, az = x[t], x[L1 + t], x[L2 + t], x[L3 + t], x[L4 + t], x[L5 + t]
        y[t] = ay * S[2] - az * S[1] + ly * S[5] - lz * S[4]
        y[L1 + t] = az * S[0] - ax * S[2] + lz * S[3] - lx * S[5]
        y[L2 + t] = ax * S[1] - ay * S[0] + lx * S[4] - ly * S[3]
        y[L3 + t] = ay * S[5] - az * S[4]
        y[L4 + t] = az * S[3] - ax * S[5]
        y[L5 + t] = ax * S[4] - ay * S[3]


@_compile
def _cross_axis_adjoint(x_bar, y_bar, S, scale):
    """Adjoint of ``_cross_axis`` in x, times ``scale`` per lane: added to x_bar."""
    for t in range(LANES):
        lx, ly, lz = y_bar[t], y_bar[L1 + t], y_bar[L2 + t]
        ax, ay, az = y_bar[L3 + t], y_bar[L4 + t], y_bar[L5 + t]
        s = scale[t]
        x_bar[t] += s * (S[4] * lz - S[5] * ly)
        x_bar[L1 + t] += s * (S[5] * lx - S[3] * lz)
        x_bar[L2 + t] += s * (S[3] * ly - S[4] * lx)
        x_bar[L3 + t] += s * (S[1] * lz - S[2] * ly + S[4] * az - S[5] * ay)
        x_bar[L4 + t] += s * (S[2] * lx - S[0] * lz + S[5] * ax - S[3] * az)
        x_bar[L5 + t] += s * (S[0] * ly - S[1] * lx + S[3] * ay - S[4] * ax)


@_compile
def _dot(y, x, z):
    """Add the scalar product of two motions to y."""
    for t in range(LANES):
        y[t] += (x[t] * z[t] + x[L1 + t] * z[L1 + t] + x[L2 + t] * z[L2 + t]
                 + x[L3 + t] * z[L3 + t] + x[L4 + t] * z[L4 + t] + x[L5 + t] * z[L5 + t])


@_compile
def _dot_axis(y, x, S):
    """Add the component of a motion along a joint axis to y."""
    for t in range(LANES):
        y[t] += (S[0] * x[t] + S[1] * x[L1 + t] + S[2] * x[L2 + t]
                 + S[3] * x[L3 + t] + S[4] * x[L4 + t] + S[5] * x[L5 + t])


@_compile
def _add_own(own_axis, speed, S, v):
    """Note the joint's own axis, and add its motion to the link's speed."""
    for k in range(6):
        for t in range(LANES):
            own_axis[k * LANES + t] = S[k]
            speed[k * LANES + t] += S[k] * v[t]


@_compile
def _accelerate(acceleration, inherited, turning, S, v, a):
    for k in range(6):
        for t in range(LANES):
            acceleration[k * LANES + t] = (inherited[k * LANES + t] + S[k] * a[t]
                                           + turning[k * LANES + t] * v[t])


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
    q, v, a = samples[0], samples[1], samples[2]
    turning, cosine, sine = np.empty(L6), np.empty(LANES), np.empty(LANES)
    root = np.zeros(L6)
    for k in range(3):
        root[k * LANES:(k + 1) * LANES] = -gravity[k]
    for i in range(parent.shape[0]):
        _cos_sin(cosine, sine, q[i])
        _place(R[i], p[i], rotations[i], translation[i], slide[i], q[i], cosine, sine)
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
        _add_own(axes[i, i], speed[i], S[i], v[i])
        _cross_axis(turning, speed[i], S[i])
        _accelerate(acceleration[i], inherited[i], turning, S[i], v[i], a[i])
        _body_motion(body[i], speed[i], acceleration[i])


@_compile
def _body_motion(body, v, a):
    for t in range(LANES):
        wx, wy, wz = v[L3 + t], v[L4 + t], v[L5 + t]
        body[t] = a[t] + wy * v[L2 + t] - wz * v[L1 + t]
        body[L1 + t] = a[L1 + t] + wz * v[t] - wx * v[L2 + t]
        body[L2 + t] = a[L2 + t] + wx * v[L1 + t] - wy * v[t]
        body[L3 + t], body[L4 + t], body[L5 + t] = a[L3 + t], a[L4 + t], a[L5 + t]
        body[L6 + t], body[L7 + t], body[L8 + t] = wx, wy, wz


@_compile
def _row(y, s, body):
    """Ten columns XX … M of one link in the row of the joint with axis s: y = sᵀ B."""
    for t in range(LANES):
        lx, ly, lz, sx, sy, sz = s[t], s[L1 + t], s[L2 + t], s[L3 + t], s[L4 + t], s[L5 + t]
        ax, ay, az = body[t], body[L1 + t], body[L2 + t]
        ex, ey, ez = body[L3 + t], body[L4 + t], body[L5 + t]
        wx, wy, wz = body[L6 + t], body[L7 + t], body[L8 + t]
        cx, cy, cz = sy * wz - sz * wy, sz * wx - sx * wz, sx * wy - sy * wx
        y[t] = sx * ex + cx * wx
        y[L1 + t] = sx * ey + sy * ex + cx * wy + cy * wx
        y[L2 + t] = sx * ez + sz * ex + cx * wz + cz * wx
        y[L3 + t] = sy * ey + cy * wy
        y[L4 + t] = sy * ez + sz * ey + cy * wz + cz * wy
        y[L5 + t] = sz * ez + cz * wz
        w2, wl = wx * wx + wy * wy + wz * wz, wx * lx + wy * ly + wz * lz
        y[L6 + t] = ly * ez - lz * ey + wx * wl - w2 * lx + ay * sz - az * sy
        y[L7 + t] = lz * ex - lx * ez + wy * wl - w2 * ly + az * sx - ax * sz
        y[L8 + t] = lx * ey - ly * ex + wz * wl - w2 * lz + ax * sy - ay * sx
        y[L9 + t] = lx * ax + ly * ay + lz * az


@_compile
def _row_adjoint(s_bar, body_bar, y_bar, s, body):
    """Adjoint of ``_row``, added to s_bar and body_bar; I is the symmetric matrix of y_bar."""
    for t in range(LANES):
        lx, ly, lz, sx, sy, sz = s[t], s[L1 + t], s[L2 + t], s[L3 + t], s[L4 + t], s[L5 + t]
        ax, ay, az = body[t], body[L1 + t], body[L2 + t]
        ex, ey, ez = body[L3 + t], body[L4 + t], body[L5 + t]
        wx, wy, wz = body[L6 + t], body[L7 + t], body[L8 + t]
        xx, xy, xz, yy, yz, zz = (y_bar[t], y_bar[L1 + t], y_bar[L2 + t], y_bar[L3 + t],
                                  y_bar[L4 + t], y_bar[L5 + t])
        hx, hy, hz, m = y_bar[L6 + t], y_bar[L7 + t], y_bar[L8 + t], y_bar[L9 + t]
        w2 = wx * wx + wy * wy + wz * wz
        hw, hl = hx * wx + hy * wy + hz * wz, hx * lx + hy * ly + hz * lz
        wl = wx * lx + wy * ly + wz * lz
        ix = xx * wx + xy * wy + xz * wz
        iy = xy * wx + yy * wy + yz * wz
        iz = xz * wx + yz * wy + zz * wz
        s_bar[t] += m * ax + ey * hz - ez * hy + wx * hw - w2 * hx
        s_bar[L1 + t] += m * ay + ez * hx - ex * hz + wy * hw - w2 * hy
        s_bar[L2 + t] += m * az + ex * hy - ey * hx + wz * hw - w2 * hz
        s_bar[L3 + t] += hy * az - hz * ay + xx * ex + xy * ey + xz * ez + wy * iz - wz * iy
        s_bar[L4 + t] += hz * ax - hx * az + xy * ex + yy * ey + yz * ez + wz * ix - wx * iz
        s_bar[L5 + t] += hx * ay - hy * ax + xz * ex + yz * ey + zz * ez + wx * iy - wy * ix
        body_bar[t] += m * lx + sy * hz - sz * hy
        body_bar[L1 + t] += m * ly + sz * hx - sx * hz
        body_bar[L2 + t] += m * lz + sx * hy - sy * hx
        body_bar[L3 + t] += hy * lz - hz * ly + xx * sx + xy * sy + xz * sz
        body_bar[L4 + t] += hz * lx - hx * lz + xy * sx + yy * sy + yz * sz
        body_bar[L5 + t] += hx * ly - hy * lx + xz * sx + yz * sy + zz * sz
        cx, cy, cz = sy * wz - sz * wy, sz * wx - sx * wz, sx * wy - sy * wx
        body_bar[L6 + t] += (hx * wl + lx * hw - 2 * wx * hl + iy * sz - iz * sy
                             + xx * cx + xy * cy + xz * cz)
        body_bar[L7 + t] += (hy * wl + ly * hw - 2 * wy * hl + iz * sx - ix * sz
                             + xy * cx + yy * cy + yz * cz)
        body_bar[L8 + t] += (hz * wl + lz * hw - 2 * wz * hl + ix * sy - iy * sx
                             + xz * cx + yz * cy + zz * cz)


@_compile
def _body_motion_adjoint(v_bar, a_bar, body_bar, v):
    for k in range(L6):
        a_bar[k] += body_bar[k]
    for t in range(LANES):
        x, y, z = body_bar[t], body_bar[L1 + t], body_bar[L2 + t]
        v_bar[t] += y * v[L5 + t] - z * v[L4 + t]
        v_bar[L1 + t] += z * v[L3 + t] - x * v[L5 + t]
        v_bar[L2 + t] += x * v[L4 + t] - y * v[L3 + t]
        v_bar[L3 + t] += body_bar[L6 + t] + v[L1 + t] * z - v[L2 + t] * y
        v_bar[L4 + t] += body_bar[L7 + t] + v[L2 + t] * x - v[t] * z
        v_bar[L5 + t] += body_bar[L8 + t] + v[t] * y - v[L1 + t] * x


@_compile
def _fill(W, columns, geometry, motion):
    parent = geometry[0]
    n, N = motion[0].shape
    samples, state = _workspace(n)
    axes, body = state[5], state[6]
    row = np.empty(10 * LANES)
    for start in range(0, N, LANES):
        count = min(LANES, N - start)
        _load(samples, motion, start, count)
        _forward(state, samples, geometry)
        for i in range(n):
            j = i
            while j >= 0:
                _row(row, axes[i, j], body[i])
                for k in range(10):
                    first = k * LANES
                    W[columns[i] + k, j, start:start + count] = row[first:first + count]
                j = parent[j]


@_compile
def _product(bars, W_bar, columns, geometry, motion):
    parent = geometry[0]
    n, N = motion[0].shape
    samples, state = _workspace(n)
    axes, body = state[5], state[6]
    speed_bar, acceleration_bar = np.empty((n, L6)), np.empty((n, L6))
    axes_bar, body_bar = np.empty((n, n, L6)), np.empty((n, L9))
    row_bar, joint_bar = np.zeros(10 * LANES), np.empty((3, n, LANES))
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
                    first = k * LANES
                    row_bar[first:first + count] = W_bar[columns[i] + k, j, start:start + count]
                _row_adjoint(axes_bar[i, j], body_bar[i], row_bar, axes[i, j], body[i])
                j = parent[j]
        _backward(joint_bar, (speed_bar, acceleration_bar, axes_bar, body_bar), state, samples[1],
                  geometry)
        bars[:, :, start:start + count] = joint_bar[:, :, :count]


@_compile
def _backward(joint_bar, state_bar, state, v, geometry):
    """Run the recursion backwards: gradients with respect to q, v and a of one block."""
    R, p, speed, inherited, acceleration, axes, body = state
    speed_bar, acceleration_bar, axes_bar, body_bar = state_bar
    parent, S = geometry[0], geometry[1]
    crossed = np.empty(L6)
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
