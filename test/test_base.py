"""Base parameters: the papers' counts, sets, relations and values."""

from dataclasses import replace
import re

import numpy as np
import pytest
from robident_ros.config import Config, DriveOptions, ModelOptions
from robident_ros.errors import ModelError
from robident_ros.model.base import base_parameters, METHODS, ROUTES
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot, Robot
from shipped import random_samples, ROBOTS, ROOT, SHARED, shipped


def without_drives(name: str) -> Robot:
    config = shipped(name).config
    return load_robot(ROOT / 'urdf' / f'{name}.urdf',
                      replace(config, drives=DriveOptions(terms=())))


def relations(base) -> dict:
    """Return coefficients by name, as the reference results give them."""
    return {name: {base.regrouped_names[i]: base.beta[row, i]
                   for i in np.flatnonzero(base.beta[row])}
            for row, name in enumerate(base.names) if base.beta[row].any()}


def assert_same_relations(base, expected: dict, tolerance: float) -> None:
    found = relations(base)
    assert {k: set(v) for k, v in found.items()} == {k: set(v) for k, v in expected.items()}
    for name, terms in expected.items():
        for other, value in terms.items():
            assert found[name][other] == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('route', ROUTES)
def test_puma_of_paper_002(golden: dict, route: str, method: str) -> None:
    """Tables III and V, from torque, energy and their variants, by QR and by SVD."""
    expected = golden['p002_puma']
    robot = shipped('puma560')
    base = base_parameters(robot, route, method)
    assert (len(base.standard), len(base.effective), len(base.kept)) == (66, 55, 40)
    assert base.numerical_rank == (40, 40)
    assert set(base.standard) - set(base.effective_names) == set(expected['zero'])
    assert list(base.names) == expected['X1'] and list(base.regrouped_names) == expected['X2']
    assert_same_relations(base, expected['relations'], expected['tol']['beta'])
    values = dict(zip(base.names, base.K @ robot.theta))
    for name, value in expected['XB_exact'].items():
        assert values[name] == pytest.approx(value, abs=expected['tol']['XB_exact'])
    for name, value in expected['XB_paper'].items():  # half a unit of the last printed digit
        assert values[name] == pytest.approx(value, abs=expected['tol']['XB_paper'])


def test_three_joint_robot_of_paper_000(golden: dict) -> None:
    robot, expected = without_drives('gautier_khalil_3dof'), golden['p000']
    base = base_parameters(robot)
    assert len(base.kept) == 15 and len(base.effective) == expected['nonzero_10param']
    assert list(base.names) == expected['base']
    assert list(base.regrouped_names) == expected['regrouped']
    np.testing.assert_allclose(base.K @ robot.theta, expected['X'], atol=1e-10)


def test_tx40_of_paper_003_with_its_coupled_wrist(golden: dict) -> None:
    """60 base parameters: the paper prints 61, counting one without effect."""
    base, expected = base_parameters(shipped('tx40')), golden['p003']
    assert (len(base.standard), len(base.effective), len(base.kept)) == (86, 75, 60)
    assert list(base.names) == expected['base']
    assert list(base.regrouped_names) == expected['regrouped']
    assert_same_relations(base, expected['relations'], 1e-10)


def test_stanford_arm_of_paper_001(golden: dict) -> None:
    robot, expected = without_drives('stanford'), golden['p001']
    base = base_parameters(robot)
    assert list(base.names) == expected['base_names']
    np.testing.assert_allclose(base.K @ robot.theta, expected['XB'], atol=1e-10)


def test_parallelogram_of_paper_002_as_a_tree_and_closed(golden: dict) -> None:
    expected = golden['p002_closed_loop']
    closed = base_parameters(without_drives('parallelogram'))
    assert len(closed.effective) == expected['nonzero'] and len(closed.kept) == 18
    assert list(closed.names) == expected['base']
    assert list(closed.regrouped_names) == expected['regrouped']
    assert_same_relations(closed, expected['relations'], expected['tol'])
    text = (ROOT / 'urdf' / 'parallelogram.urdf').read_text()
    open_tree = load_robot(re.sub('<mimic joint=.*?/>', '', text),
                           Config(drives=DriveOptions(terms=())))
    assert len(base_parameters(open_tree).kept) == expected['rank_tree'] == 29


def test_kuka_of_paper_004_with_its_symmetry(golden: dict) -> None:
    expected = golden['p004']['qr_base_from_urdf']
    base = base_parameters(shipped('kuka_ir361'))
    inertial = [name for name in base.names if name[0] != 'F']
    assert inertial == expected['base9'] and len(base.kept) == 15
    general = load_robot(ROOT / 'urdf' / 'kuka_ir361.urdf', Config(drives=DriveOptions(terms=())))
    assert list(base_parameters(general).names) == expected['base15_general']


@pytest.mark.parametrize('name', ROBOTS)
def test_base_parameters_give_all_torques(name: str) -> None:
    """W·θ = W_b·(K·θ) for any θ, on samples that the base was not found from."""
    robot = shipped(name)
    base = base_parameters(robot)
    theta = np.random.default_rng(1).normal(size=len(robot.parameters))
    theta[np.isin(robot.parameter_names, robot.config.model.zero)] = 0
    W = torque_regressor(robot, *random_samples(robot, 20, seed=2))
    expected = W @ theta
    scale = np.abs(expected).max()
    np.testing.assert_allclose(base.reduce(W) @ (base.K @ theta), expected, atol=1e-10 * scale)
    np.testing.assert_allclose(W @ base.to_standard(base.K @ theta), expected,
                               atol=1e-10 * scale)


@pytest.mark.parametrize('name', ROBOTS)
def test_routes_and_methods_agree_and_the_rank_is_clear(name: str) -> None:
    """With rotor inertias only, energy and torque know the same parameters."""
    config = replace(shipped(name).config, drives=DriveOptions(terms=('Ia',)))
    robot = load_robot(ROOT / 'urdf' / f'{name}.urdf', config)
    reference = base_parameters(robot)
    for route in ROUTES:
        for method in METHODS:
            base = base_parameters(robot, route, method, seed=3)
            assert base.names == reference.names
            np.testing.assert_allclose(base.K, reference.K, atol=1e-9)
            assert base.margin > 1e9 and not base.ambiguous
            assert base.numerical_rank == (len(base.kept), len(base.kept))


def test_rounded_angles_are_said_not_counted() -> None:
    """With 1.5708 for π/2 the weak columns are regrouped, and named as ambiguous."""
    text = (ROOT / 'urdf' / 'arm7.urdf').read_text()
    assert '1.5707963267948966' in text
    exact = base_parameters(load_robot(text))
    rounded = base_parameters(load_robot(text.replace('1.5707963267948966', '1.5708')))
    assert rounded.names == exact.names and not exact.ambiguous
    assert rounded.numerical_rank[0] > len(rounded.kept)
    assert rounded.margin < 1e6 < exact.margin


def test_relations_read_as_in_the_papers() -> None:
    base = base_parameters(shipped('puma560'))
    assert base.relation(0) == ('ZZR1 = ZZ1 + Ia1 + YY2 + YY3 + 0.4·MZ3 + 0.29·M3 + 0.2904·M4 '
                                '+ 0.2904·M5 + 0.2904·M6')
    assert base.relation(2) == 'XY2'
    assert base.relation(1).startswith('XXR2 = XX2 - YY2 - 0.25·M3')


def test_constant_energy_has_no_effect_even_where_nothing_else_has_that_unit() -> None:
    """The mass of a pendulum at the root changes no energy; round-off must not count."""
    pendulum = """<robot name="p"><link name="a"/><link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <origin xyz="0.1 0.2 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""
    robot = load_robot(pendulum, Config(drives=DriveOptions(terms=())))
    for route in ROUTES:
        assert base_parameters(robot, route).names == ('YY1', 'MX1', 'MZ1')


def test_unknown_routes_are_refused() -> None:
    with pytest.raises(ValueError, match="route is 'e', expected one of d, d0, h, dh"):
        base_parameters(shipped('arm6'), 'e')


def test_a_robot_whose_parameters_have_no_effect_is_refused() -> None:
    """A vertical slide without gravity, seen through energy at rest … has only its mass."""
    slide = """<robot name="s"><link name="a"/><link name="b"/><joint name="j" type="prismatic">
    <parent link="a"/><child link="b"/><limit lower="0" upper="1" velocity="1" effort="1"/>
    </joint></robot>"""
    config = Config(ModelOptions(zero=('M1',)), DriveOptions(terms=()))
    with pytest.warns(UserWarning), pytest.raises(ModelError, match='no parameter has an effect'):
        base_parameters(load_robot(slide, config))


def test_measured_robots_have_the_published_number_of_base_parameters() -> None:
    """The Panda of Gaz et al. (2019): 43 inertial base parameters, 64 with its friction."""
    path = SHARED / 'data' / 'panda' / 'panda.urdf'
    if not path.is_file():
        pytest.skip('the measured data (shared/data) are not on this machine')
    config = Config(ModelOptions(locked={'panda_finger_joint1': 0.0}),
                    DriveOptions(terms=('Fv', 'Fc', 'off')))
    assert len(base_parameters(load_robot(path, config)).kept) == 64
