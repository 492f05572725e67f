"""The robots in urdf/ and their configurations: sound files, and the published numbers."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import load_config
from shipped import ROBOTS, ROOT, SHARED

ARMS = ['arm6', 'arm7']
# Robots with the inertials of a paper that are not those of any body (see their comments).
PUBLISHED = {'puma560': 'puma560_gautier1991', 'gautier_khalil_3dof': 'gautier_khalil_3dof',
             'stanford': 'stanford_lin1992', 'tx40': 'tx40_gautier_venture2013'}
CONSISTENT = sorted(set(ROBOTS) - set(PUBLISHED))
# Pinocchio: m mx my mz Ixx Ixy Iyy Ixz Iyz Izz; the papers: XX XY XZ YY YZ ZZ MX MY MZ M.
PAPER_ORDER = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
PAPER_NAMES = ['XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'MX', 'MY', 'MZ', 'M']


def urdf(name: str) -> str:
    return str(ROOT / 'urdf' / f'{name}.urdf')


def load(name: str) -> tuple[pin.Model, pin.Data]:
    """Load a robot as a tree (without ``mimic``, followers are joints like others)."""
    model = pin.buildModelFromUrdf(urdf(name))
    return model, model.createData()


def movable(name: str) -> list[ElementTree.Element]:
    root = ElementTree.parse(urdf(name)).getroot()
    return [joint for joint in root.iter('joint') if joint.get('type') not in (None, 'fixed')]


def random_configurations(model: pin.Model, count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    return rng.uniform(lower, upper, (count, model.nq))


# --- every robot ---------------------------------------------------------------------------------

def test_the_robots_others_rely_on_are_there() -> None:
    assert {'kuka_ir361', 'parallelogram', *PUBLISHED, *ARMS} <= set(ROBOTS)


@pytest.mark.parametrize('name', ROBOTS)
def test_file_is_complete_without_any_other(name: str) -> None:
    """A robot is one XML file named after itself, and needs no mesh."""
    root = ElementTree.parse(urdf(name)).getroot()
    assert root.tag == 'robot' and root.get('name') == name
    assert not list(root.iter('mesh'))


@pytest.mark.parametrize('name', ROBOTS)
def test_movable_joints_are_limited_in_position_speed_and_effort(name: str) -> None:
    for joint in movable(name):
        limit = {key: float(value) for key, value in joint.find('limit').attrib.items()}
        assert limit['lower'] < limit['upper'], joint.get('name')
        assert limit['velocity'] > 0 and limit['effort'] > 0, joint.get('name')


@pytest.mark.parametrize('name', ROBOTS)
def test_pinocchio_loads_it(name: str) -> None:
    """Joints are joint1 … jointN in Pinocchio's order, with and without ``mimic``."""
    names = [joint.get('name') for joint in movable(name)]
    assert names == [f'joint{i + 1}' for i in range(len(names))]
    mimics = sum(joint.find('mimic') is not None for joint in movable(name))
    assert list(load(name)[0].names)[1:] == names
    assert pin.buildModelFromUrdf(urdf(name), mimic=True).nv == len(names) - mimics


@pytest.mark.parametrize('name', CONSISTENT)
def test_bodies_are_physically_possible(name: str) -> None:
    """Mass and inertia at the centre of mass are positive, and obey the triangle inequality."""
    for body in load(name)[0].inertias[1:]:
        moments = np.linalg.eigvalsh(body.inertia)
        assert body.mass > 0 and moments[0] > 0
        assert moments[0] + moments[1] > moments[2]


@pytest.mark.parametrize('name', PUBLISHED)
def test_published_bodies_are_impossible(name: str) -> None:
    """What the papers print breaks an inequality in some link: a checker must find it."""
    moments = [np.linalg.eigvalsh(body.inertia) for body in load(name)[0].inertias[1:]]
    assert any(low <= 0 or low + middle < high for low, middle, high in moments)


# --- an independent implementation ---------------------------------------------------------------

def mujoco_inverse_dynamics(name: str, q: np.ndarray, v: np.ndarray,
                            a: np.ndarray) -> np.ndarray:
    """
    Let MuJoCo read the kinematics of a URDF and compute the joint efforts.

    It refuses inertias of impossible bodies while reading, so they are written after; rotors
    of 100 kg·m² keep its mass matrix positive definite, and are taken off the result.
    """
    mujoco = pytest.importorskip('mujoco')
    root = ElementTree.parse(urdf(name)).getroot()
    for inertia in root.iter('inertia'):
        inertia.attrib.update(ixx='1', ixy='0', ixz='0', iyy='1', iyz='0', izz='1')
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding='unicode'))
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    for body, link in enumerate(load(name)[0].inertias[1:], start=1):
        moments, axes = np.linalg.eigh(link.inertia)
        axes[:, 2] *= np.linalg.det(axes)
        model.body_inertia[body] = moments
        mujoco.mju_mat2Quat(model.body_iquat[body], axes.ravel())
    model.body_sameframe[:] = 0  # no shortcut by what the placeholders had in common
    model.dof_armature[:] = 100.0
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = q, v, a
    mujoco.mj_inverse(model, data)
    return data.qfrc_inverse - 100.0 * a


@pytest.mark.parametrize('name', CONSISTENT)
def test_mujoco_loads_it(name: str) -> None:
    mujoco = pytest.importorskip('mujoco')
    assert mujoco.MjModel.from_xml_path(urdf(name)).nv == len(movable(name))


@pytest.mark.parametrize('name', ROBOTS)
def test_mujoco_and_pinocchio_agree(name: str) -> None:
    """Both read the same robot from the file (1e-9: round-off is some 1e-13)."""
    model, data = load(name)
    rng = np.random.default_rng(3)
    q = random_configurations(model, 1)[0]
    v, a = rng.normal(size=(2, model.nv))
    # MuJoCo numbers the joints of a tree in depth-first order, as these files do.
    np.testing.assert_allclose(mujoco_inverse_dynamics(name, q, v, a),
                               pin.rnea(model, data, q, v, a), rtol=0, atol=1e-9)


# --- the papers' robots --------------------------------------------------------------------------

@pytest.mark.parametrize('name', PUBLISHED)
def test_published_torques_and_energy(name: str, golden: dict) -> None:
    model, data = load(name)
    sample = golden['samples'][PUBLISHED[name]]
    q, v, a = (np.array(sample[key]) for key in ('q', 'qd', 'qdd'))
    tolerance = {'rtol': 0, 'atol': sample['tol']}
    np.testing.assert_allclose(pin.rnea(model, data, q, v, a), sample['tau'], **tolerance)
    energy = (pin.computeKineticEnergy(model, data, q, v)
              + pin.computePotentialEnergy(model, data, q))
    np.testing.assert_allclose(energy, sample['energy'], **tolerance)


@pytest.mark.parametrize('name', PUBLISHED)
def test_published_standard_parameters(name: str, golden: dict) -> None:
    """The inertials are the papers' parameters, to the round-off of moving them to the centre."""
    found = np.concatenate([body.toDynamicParameters()[PAPER_ORDER]
                            for body in load(name)[0].inertias[1:]])
    expected = golden['urdf'][f'{PUBLISHED[name]}.urdf']['params10']
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_kuka_is_the_reference(golden: dict) -> None:
    reference = pin.buildModelFromUrdf(str(SHARED / 'golden' / 'urdf' / 'kuka_ir361_3axis.urdf'))
    for found, expected in zip(load('kuka_ir361')[0].inertias, reference.inertias):
        assert found == expected


# --- their configurations ------------------------------------------------------------------------

def stacked_regressor(name: str, G: np.ndarray | None = None) -> np.ndarray:
    """W of random states, columns in the papers' order; projected on q = G q_a where given."""
    model, data = load(name)
    G = np.eye(model.nv) if G is None else G
    rng = np.random.default_rng(11)
    order = np.concatenate([10 * link + np.array(PAPER_ORDER) for link in range(model.nv)])
    rows = [G.T @ pin.computeJointTorqueRegressor(model, data, *(rng.normal(size=(3, G.shape[1]))
                                                                 @ G.T))[:, order]
            for _ in range(60)]
    return np.vstack(rows)


def independent_columns(W: np.ndarray) -> list[int]:
    """Find the columns that are not combinations of those before them, within 1e-9."""
    kept: list[int] = []
    Q = np.zeros((len(W), 0))
    for j, column in enumerate(W.T):
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)  # a second pass: Gram-Schmidt alone loses digits
        if np.linalg.norm(rest) > 1e-9 * max(1.0, np.linalg.norm(column)):
            kept.append(j)
            Q = np.column_stack([Q, rest / np.linalg.norm(rest)])
    return kept


def parameter_names(joints: int) -> list[str]:
    return [f'{name}{joint + 1}' for joint in range(joints) for name in PAPER_NAMES]


OF_ROBOTS = sorted(path for path in (ROOT / 'config').glob('*.yaml') if path.stem in ROBOTS)


@pytest.mark.parametrize('name', ['demo', 'generic'])
def test_configurations_for_any_robot_are_read(name: str) -> None:
    load_config(ROOT / 'config' / f'{name}.yaml')


@pytest.mark.parametrize('path', OF_ROBOTS, ids=lambda p: p.stem)
def test_configuration_speaks_of_joints_and_parameters_of_its_robot(path: Path) -> None:
    config = load_config(path)
    joints = {joint.get('name') for joint in movable(path.stem)}
    couplings, followers = config.drives.couplings, config.model.followers
    spoken = {*config.model.limits, *couplings, *followers,
              *(name for row in couplings.values() for name in row),
              *(name for follower in followers.values() for name in follower.joints)}
    assert spoken <= joints
    assert set(config.model.zero) <= set(parameter_names(len(joints)))


def test_kuka_symmetry_leaves_the_nine_parameters_of_the_paper(golden: dict) -> None:
    expected = golden['p004']['qr_base_from_urdf']
    names = parameter_names(3)
    W = stacked_regressor('kuka_ir361')
    zero = load_config(ROOT / 'config' / 'kuka_ir361.yaml').model.zero
    free = [j for j, name in enumerate(names) if name not in zero]
    assert [names[j] for j in independent_columns(W)] == expected['base15_general']
    assert [names[free[j]] for j in independent_columns(W[:, free])] == expected['base9']


def test_kuka_bodies_have_the_symmetry_that_is_declared() -> None:
    model, _ = load('kuka_ir361')
    values = np.concatenate([body.toDynamicParameters()[PAPER_ORDER]
                             for body in model.inertias[1:]])
    zero = load_config(ROOT / 'config' / 'kuka_ir361.yaml').model.zero
    assert all(values[parameter_names(3).index(name)] == 0 for name in zero)


def test_kuka_limits_are_the_papers(golden: dict) -> None:
    expected = golden['p004']['limits']
    model, _ = load('kuka_ir361')
    limits = load_config(ROOT / 'config' / 'kuka_ir361.yaml').model.limits
    np.testing.assert_array_equal(model.upperPositionLimit, expected['q'])
    np.testing.assert_array_equal(model.lowerPositionLimit, -np.array(expected['q']))
    np.testing.assert_array_equal(model.velocityLimit, expected['qd'])
    assert [limits[name].acceleration for name in list(model.names)[1:]] == 3 * [expected['qdd']]


def test_tx40_motor_6_turns_with_joints_5_and_6() -> None:
    """Eq. (34) of Gautier and Venture on the joint side: both gear ratios of motor 6 are N6."""
    couplings = load_config(ROOT / 'config' / 'tx40.yaml').drives.couplings
    assert couplings == {'joint6': {'joint5': 1.0, 'joint6': 1.0}}


# --- the parallelogram ---------------------------------------------------------------------------

def parallelogram_map() -> np.ndarray:
    """G of q = G q_a, from the followers of the configuration and the <mimic> of the URDF."""
    follower = load_config(ROOT / 'config' / 'parallelogram.yaml').model.followers['joint3']
    (mimic,) = (joint.find('mimic') for joint in movable('parallelogram')
                if joint.find('mimic') is not None)
    rows = {'joint1': [1, 0, 0], 'joint2': [0, 1, 0], 'joint4': [0, 0, 1]}
    rows['joint3'] = sum(k * np.array(rows[name]) for name, k in follower.joints.items())
    rows['joint5'] = float(mimic.get('multiplier')) * np.array(rows[mimic.get('joint')])
    return np.array([rows[f'joint{i + 1}'] for i in range(5)], dtype=float)


def test_parallelogram_loop_closes() -> None:
    """However the driven joints move, bar and forearm meet in the point where they are joined."""
    model, data = load('parallelogram')
    rng = np.random.default_rng(5)
    for q_a in rng.uniform(-3, 3, (20, 3)):
        pin.forwardKinematics(model, data, parallelogram_map() @ q_a)
        forearm = data.oMi[3].act(np.array([0.2, 0, 0]))
        bar = data.oMi[5].act(np.array([0.5, 0, 0]))
        np.testing.assert_allclose(bar, forearm, atol=1e-14)


def test_parallelogram_has_the_published_base_parameters(golden: dict) -> None:
    expected = golden['p002_closed_loop']
    G = parallelogram_map()
    np.testing.assert_array_equal(G, expected['G'])
    assert len(independent_columns(stacked_regressor('parallelogram'))) == expected['rank_tree']
    base = independent_columns(stacked_regressor('parallelogram', G))
    assert [parameter_names(5)[j] for j in base] == expected['base']


def test_parallelogram_can_move_within_its_limits() -> None:
    """The followers' limits leave most of the driven joints' range (more than a half)."""
    model, _ = load('parallelogram')
    driven = random_configurations(model, 500)[:, [0, 1, 3]]
    q = driven @ parallelogram_map().T
    inside = (q >= model.lowerPositionLimit) & (q <= model.upperPositionLimit)
    assert np.all(inside, axis=1).mean() > 0.5


# --- the arms of today ---------------------------------------------------------------------------

def collision_model(name: str, model: pin.Model) -> pin.GeometryModel:
    """Collision shapes with a pair for any two links that are not neighbours."""
    shapes = pin.buildGeomFromUrdf(model, urdf(name), pin.GeometryType.COLLISION)
    link = [shape.parentJoint for shape in shapes.geometryObjects]
    for j in range(shapes.ngeoms):
        for i in range(j):
            if abs(link[i] - link[j]) > 1:
                shapes.addCollisionPair(pin.CollisionPair(i, j))
    return shapes


@pytest.mark.parametrize('name', ARMS)
def test_arm_links_have_shapes_and_a_plausible_density(name: str) -> None:
    """Mass over the volume of the shapes lies between plastic and aluminium."""
    root = ElementTree.parse(urdf(name)).getroot()
    for link in root.iter('link'):
        if link.get('name') == 'tool0':
            continue
        shapes = [float(c.get('radius'))**2 * np.pi * float(c.get('length'))
                  for c in link.iterfind('collision/geometry/cylinder')]
        assert len(shapes) == len(link.findall('visual')) == len(link.findall('collision'))
        assert 800 < float(link.find('inertial/mass').get('value')) / sum(shapes) < 2900


@pytest.mark.parametrize('name', ARMS)
def test_arm_ends_in_tool0(name: str) -> None:
    model, _ = load(name)
    assert model.nv == int(name[-1])
    assert model.frames[model.getFrameId('tool0')].parentJoint == model.nv


@pytest.mark.parametrize('name', ARMS)
def test_arm_is_clear_of_itself_at_zero(name: str) -> None:
    """Links that are not neighbours are 5 cm apart; MuJoCo sees no contact either."""
    model, data = load(name)
    shapes = collision_model(name, model)
    found = pin.GeometryData(shapes)
    pin.computeDistances(model, data, shapes, found, pin.neutral(model))
    assert min(result.min_distance for result in found.distanceResults) > 0.05
    mujoco = pytest.importorskip('mujoco')
    simulated = mujoco.MjModel.from_xml_path(urdf(name))
    state = mujoco.MjData(simulated)
    mujoco.mj_forward(simulated, state)
    assert state.ncon == 0


@pytest.mark.parametrize('name', ARMS)
def test_arm_rarely_touches_itself_within_its_limits(name: str) -> None:
    """The limits leave room: fewer than one random configuration in ten is a collision."""
    model, data = load(name)
    shapes = collision_model(name, model)
    found = pin.GeometryData(shapes)
    touches = [pin.computeCollisions(model, data, shapes, found, q, True)
               for q in random_configurations(model, 200)]
    assert np.mean(touches) < 0.1


@pytest.mark.parametrize('name', ARMS)
def test_arm_mass_matrix_is_well_conditioned(name: str) -> None:
    """A flange of 0.5 kg turns 1e3 to 1e4 times more easily than the arm, not 1e6 times."""
    model, data = load(name)
    for q in [pin.neutral(model), *random_configurations(model, 200)]:
        upper = np.triu(pin.crba(model, data, q))
        moments = np.linalg.eigvalsh(upper + np.triu(upper, 1).T)
        assert moments[0] > 0 and moments[-1] / moments[0] < 3e4


@pytest.mark.parametrize('name', ARMS)
def test_arm_motors_carry_the_arm(name: str) -> None:
    """Gravity takes less than half of any joint's effort, so that payload and speed have room."""
    model, data = load(name)
    for q in random_configurations(model, 200):
        gravity = pin.computeGeneralizedGravity(model, data, q)
        assert np.all(np.abs(gravity) < 0.5 * model.effortLimit)
