"""
Forward dynamics by MuJoCo, which reads the robot's URDF for itself, with drives of our own.

MuJoCo gives the mass matrix and the bias (gravity, Coriolis and centrifugal forces) of all
joints; passive and locked joints are eliminated by q_all = G·q + c. Rotor inertia, friction and
offset act on the active joints.
"""

from xml.etree import ElementTree

import numpy as np
from robident_ros.errors import ExperimentError, ModelError
from robident_ros.experiment.truth import check_possible, Drives, make_drives
from robident_ros.model.drives import coulomb
from robident_ros.model.parameters import to_inertial
from robident_ros.model.physical import is_positive_definite
from robident_ros.model.robot import Robot

# Rotor inertia that MuJoCo sees in every joint, and that is taken off its mass matrix: it warns,
# in a file of its own, of joints that move nothing (which a drive, or being locked, may mend).
PLACEHOLDER = 1.0
NEWTON_STEPS = 50
SWEEPS = 100
TOLERANCE = 1e-12


class Dynamics:
    """A robot with true parameters: M(q)·a + b(q, v) + friction(v) + offset = τ."""

    def __init__(self, robot: Robot, theta: np.ndarray, coulomb_width: float) -> None:
        check_possible(robot, theta)
        self._mujoco = _import_mujoco()
        self._model = _build(self._mujoco, robot, theta)
        self._data = self._mujoco.MjData(self._model)
        self._G, self._c = _full_map(self._model, robot)
        self._identity = np.eye(self._model.nv)
        self.drives: Drives = make_drives(robot, theta, coulomb_width)
        self._check_inertia(robot)

    def _check_inertia(self, robot: Robot) -> None:
        """Refuse joints that nothing but a rotor of zero inertia turns with."""
        rest = np.zeros(len(robot.joint_names))
        M, _ = self.rigid_body(np.clip(rest, robot.limits.lower, robot.limits.upper), rest)
        if not is_positive_definite(M, TOLERANCE):
            weakest = robot.joint_names[int(np.argmin(np.diag(M)))]
            raise ModelError(f'{robot.description.source}: cannot be simulated: joint '
                             f'{weakest!r} moves too little inertia; give it a rotor inertia '
                             'or correct the inertials')

    def rigid_body(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mass matrix (with rotors) and bias of the active joints."""
        self._data.qpos[:] = self._G @ q + self._c
        self._data.qvel[:] = self._G @ v
        self._mujoco.mj_fwdPosition(self._model, self._data)
        self._mujoco.mj_fwdVelocity(self._model, self._data)
        M = _full_matrix(self._mujoco, self._model, self._data) - PLACEHOLDER * self._identity
        M = self._G.T @ M @ self._G
        return M + self.drives.rotor, self._G.T @ self._data.qfrc_bias

    def acceleration(self, M: np.ndarray, force: np.ndarray, v: np.ndarray, w: np.ndarray,
                     h: float) -> np.ndarray:
        """
        Return the acceleration over a step of a leapfrog integrator.

        Friction is that at the speed w + a·h/2 in the middle of the step. Sharp Coulomb friction
        sticks: it takes any value up to its level that keeps the joint at rest.

        :param force: efforts less bias.
        :param v: an estimate of the speed in the middle.
        :param w: the speed half a step ago.
        """
        drives = self.drives
        A = M + h / 2 * drives.viscous
        b = force - drives.offset - drives.viscous @ w
        if not len(drives.level):
            return np.linalg.solve(A, b)
        if drives.width > 0:
            return self._smooth(A, b, v, w, h)
        return self._sharp(A, b, w, h)

    def _smooth(self, A: np.ndarray, b: np.ndarray, v: np.ndarray, w: np.ndarray,
                h: float) -> np.ndarray:
        """
        Solve A·a + Kᵀ(F∘tanh(K·(w + a·h/2) / width)) = b by Newton's method.

        The left side is the gradient of a convex function. A step that goes too far down its
        slope and up again, as over a steep tanh, is halved.
        """
        K, level, width = self.drives.rows, self.drives.level, self.drives.width
        a = 2 / h * (v - w)
        direction = coulomb(K @ v, width)
        error = A @ a + K.T @ (level * direction) - b
        tolerance = TOLERANCE * (1 + np.abs(b).max())
        for _ in range(NEWTON_STEPS):
            slope = level * (1 - direction**2) * h / (2 * width)
            step = np.linalg.solve(A + (K.T * slope) @ K, error)
            descent, scale = error @ step, 2.0
            while scale == 2.0 or error @ step < -descent / 2:
                scale /= 2
                direction = coulomb(K @ (w + h / 2 * (a - scale * step)), width)
                error = A @ (a - scale * step) + K.T @ (level * direction) - b
            a = a - scale * step
            if np.abs(error).max() <= tolerance:
                break
        return a

    def _sharp(self, A: np.ndarray, b: np.ndarray, w: np.ndarray, h: float) -> np.ndarray:
        """
        Find friction within its level that opposes the speed after the step, w + a·h.

        Drives that keep turning the same way have the full level. Where all would turn back and
        can stick, they do. Otherwise projected Gauss-Seidel finds which.
        """
        K, level = self.drives.rows, self.drives.level
        force = level * np.sign(K @ w)
        a = np.linalg.solve(A, b - K.T @ force)
        sliding = (K @ (w + h * a)) * force > 0
        if sliding.all():
            return a
        response = K @ np.linalg.solve(A, K.T) * h  # speed lost after the step per force
        free = K @ (w + h * np.linalg.solve(A, b))
        if not sliding.any():
            force = np.linalg.lstsq(response, free)[0]
        if sliding.any() or (np.abs(force) > level).any():
            force = _gauss_seidel(response, free, np.clip(force, -level, level), level)
        return np.linalg.solve(A, b - K.T @ force)


def _gauss_seidel(response: np.ndarray, free: np.ndarray, force: np.ndarray,
                  level: np.ndarray) -> np.ndarray:
    """Return forces within ±level under which each drive sticks or is braked fully."""
    for _ in range(SWEEPS):
        before = force.copy()
        for i, bound in enumerate(level):
            slip = free[i] - response[i] @ force
            force[i] = min(bound, max(-bound, force[i] + slip / response[i, i]))
        if np.abs(force - before).max() <= 1e-6 * level.max():
            break
    return force


def _import_mujoco() -> object:
    try:
        import mujoco
    except ImportError as error:
        raise ExperimentError('the simulated robot needs MuJoCo; pip install mujoco') from error
    return mujoco


def _build(mujoco: object, robot: Robot, theta: np.ndarray) -> object:
    """Let MuJoCo compile the kinematics, then write the true inertials into it."""
    root = ElementTree.fromstring(robot.description.tree_urdf())
    for link in root.iter('link'):
        _put_placeholder(link)
    for limit in root.iter('limit'):
        limit.attrib.update(lower='-1', upper='1')  # not enforced, but must differ
    try:
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    except ValueError as error:
        raise ModelError(f'{robot.description.source}: MuJoCo cannot build it: '
                         f'{" ".join(str(error).split())}') from error
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.gravity[:] = robot.config.model.gravity
    model.body_mass[:] = 0
    model.body_inertia[:] = 0
    model.body_sameframe[:] = 0  # no shortcut by what the placeholders had in common
    model.body_simple[:] = 0
    model.dof_simplenum[:] = 0
    model.dof_armature[:] = PLACEHOLDER
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        _write_inertial(mujoco, model, joint, theta[column:column + 10])
    return model


def _put_placeholder(link: ElementTree.Element) -> None:
    """Give a link the inertial of a ball: MuJoCo refuses what its truth may be, e.g. none."""
    for inertial in link.findall('inertial'):
        link.remove(inertial)
    inertial = ElementTree.SubElement(link, 'inertial')
    ElementTree.SubElement(inertial, 'mass', value='1')
    ElementTree.SubElement(inertial, 'inertia', ixx='1', ixy='0', ixz='0', iyy='1', iyz='0',
                           izz='1')


def _write_inertial(mujoco: object, model: object, joint: str, parameters: np.ndarray) -> None:
    body = int(model.jnt_bodyid[model.joint(joint).id])
    mass, com, inertia = to_inertial(parameters)
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.linalg.det(axes)
    model.body_mass[body], model.body_ipos[body] = mass, com
    model.body_inertia[body] = moments
    mujoco.mju_mat2Quat(model.body_iquat[body], axes.ravel())


def _full_map(model: object, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return G and c for all of MuJoCo's joints, in its order; locked ones have empty rows."""
    joint_map = robot.joint_map
    G, c = np.zeros((model.nv, len(joint_map.active))), np.zeros(model.nv)
    for i in range(model.njnt):
        name = model.joint(i).name
        if name in joint_map.locked:
            c[i] = joint_map.locked[name]
        else:
            row = joint_map.tree.index(name)
            G[i], c[i] = joint_map.G[row], joint_map.c[row]
    return G, c


def _full_matrix(mujoco: object, model: object, data: object) -> np.ndarray:
    M = np.zeros((model.nv, model.nv))
    if hasattr(data, 'qM'):  # before MuJoCo 4
        mujoco.mj_fullM(model, M, data.qM)
    else:
        mujoco.mj_fullM(model, data, M)
    return M
