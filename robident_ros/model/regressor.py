"""
Regressors: what is linear in the standard parameters θ of a robot, stacked over samples.

=====================  =============  ==============================================
torque d(q, v, a)      (n, N, p)      τ = d·θ
simplified d0          (n, N, p)      torque at v = 0
energy h(q, v)         (N, p)         E = h·θ, without what friction and offsets take
energy difference      (N - 1, p)     ∫ τᵀv dt between neighbouring samples, all terms
power                  (N, p)         τᵀv = (vᵀd)·θ
=====================  =============  ==============================================

Samples come as (N, n) arrays, one row per sample. The torque regressor ``W`` is a view of memory
laid out column by column: ``W[j]`` is joint j's block (N, p), and ``stack(W)`` puts the blocks
below each other, (n·N, p) in LAPACK's order, without a copy.
"""

from typing import Iterator

import numpy as np
import pinocchio as pin
from robident_ros.model.drives import drive_columns_product, fill_drive_columns
from robident_ros.model.kernel import fill_regressor, kinematics_of, regressor_product
from robident_ros.model.parameters import from_pinocchio
from robident_ros.model.robot import Robot

# Samples per block of the chunk iterator: some tens of megabytes for a seven-joint arm.
CHUNK = 8192


def torque_regressor(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                     use: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """
    Return d(q, v, a) as W (n, N, p), drive columns included: W[j] @ θ is the torque of joint j.

    :param q: (N, n) positions of the active joints, with speeds ``v`` and accelerations ``a``.
    :param use: 'numba' or 'numpy' kernel; default: numba when it is installed.
    :param out: an earlier result for this robot and as many samples, to be overwritten.
    """
    q, v, a = _rows(robot, q), _rows(robot, v), _rows(robot, a)
    shape = (len(robot.parameters), *q.shape)
    W = np.zeros(shape) if out is None else out.transpose(2, 0, 1)
    if W.shape != shape:
        raise ValueError(f'out has shape {out.shape}, expected {(*shape[1:], shape[0])}')
    _fill_inertial(W, robot, q, v, a, use)
    fill_drive_columns(W, robot.drive_columns, robot.drive_terms, v, a,
                       robot.config.drives.coulomb_width)
    return W.transpose(1, 2, 0)


def _rows(robot: Robot, values: np.ndarray) -> np.ndarray:
    """Return samples (N, n) as contiguous rows per joint, (n, N)."""
    values = np.asarray(values, dtype=float)
    n = len(robot.joint_names)
    if values.ndim != 2 or values.shape[1] != n:
        raise ValueError(f'samples have shape {values.shape}, expected (N, {n}): one row per '
                         f'sample of {", ".join(robot.joint_names)}')
    return np.array(values.T, order='C')  # a copy even of one joint, whose view may be closed


def _fill_inertial(W: np.ndarray, robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                   use: str | None) -> None:
    kinematics = kinematics_of(robot.tree)
    if robot.joint_map.is_identity:
        fill_regressor(W, robot.link_columns, kinematics, q, v, a, use)
        return
    G, c = robot.joint_map.G, robot.joint_map.c[:, None]
    for start in range(0, q.shape[1], CHUNK):
        chunk = slice(start, start + CHUNK)
        q_tree, v_tree, a_tree = G @ q[:, chunk] + c, G @ v[:, chunk], G @ a[:, chunk]
        Y = np.zeros((W.shape[0], *q_tree.shape))
        fill_regressor(Y, robot.link_columns, kinematics, q_tree, v_tree, a_tree, use)
        W[:, :, chunk] = G.T @ Y


def torque_regressor_product(robot: Robot, W_bar: np.ndarray, q: np.ndarray, v: np.ndarray,
                             a: np.ndarray, use: str | None = None
                             ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the gradient of Σ W_bar ∘ W with respect to q, v and a, (N, n) each.

    :param W_bar: (n, N, p), weights of the entries of ``torque_regressor``'s W.
    """
    q, v, a = _rows(robot, q), _rows(robot, v), _rows(robot, a)
    W_bar = W_bar.transpose(2, 0, 1)
    G, c = robot.joint_map.G, robot.joint_map.c[:, None]
    tree_bar = W_bar if robot.joint_map.is_identity else G @ W_bar
    bars = regressor_product(tree_bar, robot.link_columns, kinematics_of(robot.tree),
                             G @ q + c, G @ v, G @ a, use)
    q_bar, v_bar, a_bar = (G.T @ bar for bar in bars)
    v_drive, a_drive = drive_columns_product(W_bar, robot.drive_columns, robot.drive_terms, v,
                                             robot.config.drives.coulomb_width)
    return q_bar.T, (v_bar + v_drive).T, (a_bar + a_drive).T


def stack(W: np.ndarray) -> np.ndarray:
    """Return joint blocks (n, N, p) below each other, (n·N, p): all of joint 1, then joint 2."""
    return W.reshape(-1, W.shape[2])


def torque_regressor_chunks(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray,
                            chunk: int = CHUNK,
                            use: str | None = None) -> Iterator[tuple[slice, np.ndarray]]:
    """
    Yield slices of the samples with their torque regressors, in constant memory.

    A regressor is overwritten by the next one: use it, or copy it, before going on.
    """
    W = None
    for start in range(0, len(q), chunk):
        part = slice(start, min(start + chunk, len(q)))
        fits = W is not None and W.shape[1] == part.stop - part.start
        W = torque_regressor(robot, q[part], v[part], a[part], use, W if fits else None)
        yield part, W


def simplified_regressor(robot: Robot, q: np.ndarray, a: np.ndarray,
                         use: str | None = None) -> np.ndarray:
    """Return d0 = d(q, 0, a), (n, N, p): inertia and gravity without Coriolis and friction."""
    return torque_regressor(robot, q, np.zeros_like(q), a, use)


def power_regressor(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return vᵀd, (N, p): the power that the drives deliver."""
    return np.einsum('jkp,kj->kp', torque_regressor(robot, q, v, a), v)


def energy_regressor(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return h(q, v), (N, p): kinetic and potential energy; zero for friction and offsets."""
    q, v = _rows(robot, q), _rows(robot, v)
    h = np.zeros((q.shape[1], len(robot.parameters)))
    q_tree = (robot.joint_map.G @ q + robot.joint_map.c[:, None]).T.copy()
    v_tree = (robot.joint_map.G @ v).T.copy()
    data = robot.tree.createData()
    columns = robot.link_columns[:, None] + np.arange(10)
    for row, q_k, v_k in zip(h, q_tree, v_tree):
        energy = (pin.computeKineticEnergyRegressor(robot.tree, data, q_k, v_k)
                  + pin.computePotentialEnergyRegressor(robot.tree, data, q_k))
        row[columns] = from_pinocchio(np.reshape(energy, (-1, 10)))
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        if term.symbol == 'Ia':
            h[:, column] = (term.row @ v)**2 / 2
    return h


def energy_regressor_product(robot: Robot, h_bar: np.ndarray, q: np.ndarray,
                             v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the gradient of Σ h_bar ∘ h with respect to q and v, (N, n) each.

    Kinetic energy is ½·vᵀ(d(q, 0, v) - d(q, 0, 0)) and its gradient in v is the bracket; the
    gradient of potential energy is d(q, 0, 0). So the torque regressor knows all that is needed.

    :param h_bar: (N, p), weights of the entries of ``energy_regressor``'s h.
    """
    still = np.zeros_like(v)
    at_rest = simplified_regressor(robot, q, still)
    moving = simplified_regressor(robot, q, v) - at_rest
    gravity, momentum = (np.einsum('jkp,kp->kj', W[..., _conservative(robot)],
                                   h_bar[:, _conservative(robot)]) for W in (at_rest, moving))
    W_bar = np.zeros(moving.shape)
    W_bar[..., _conservative(robot)] = (np.asarray(v).T[:, :, None] / 2
                                        * h_bar[None][..., _conservative(robot)])
    q_moving, _, _ = torque_regressor_product(robot, W_bar, q, still, v)
    q_still, _, _ = torque_regressor_product(robot, W_bar, q, still, still)
    return q_moving - q_still + gravity, momentum


def _conservative(robot: Robot) -> np.ndarray:
    """Return which columns belong to terms that store energy: all but friction and offsets."""
    return np.array([parameter.symbol not in ('Fv', 'Fc', 'off')
                     for parameter in robot.parameters])


def energy_difference_regressor(robot: Robot, t: np.ndarray, q: np.ndarray,
                                v: np.ndarray) -> np.ndarray:
    """
    Return Δh, (N - 1, p): the work of the drives from each sample to the next.

    The work of friction is integrated by the trapezoidal rule, all else is exact.
    """
    difference = np.diff(energy_regressor(robot, q, v), axis=0)
    speeds = np.asarray(v, dtype=float).T
    torques = np.zeros((len(robot.parameters), *speeds.shape))
    fill_drive_columns(torques, robot.drive_columns, robot.drive_terms, speeds,
                       np.zeros_like(speeds), robot.config.drives.coulomb_width)
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        if term.symbol in ('Fv', 'Fc'):
            power = np.einsum('jk,jk->k', torques[column], speeds)
            difference[:, column] = (power[1:] + power[:-1]) / 2 * np.diff(t)
        elif term.symbol == 'off':
            difference[:, column] = np.diff(np.asarray(q, dtype=float) @ term.row)
    return difference
