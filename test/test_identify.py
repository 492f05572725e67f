"""Identification as a whole: the truth from good data, plain words about bad data."""

from dataclasses import replace

import numpy as np
import pytest
from robident_ros.config import Config, DriveOptions, EstimatorOptions
from robident_ros.errors import ConfigError, EstimationError, RankDeficient
from robident_ros.estimation.identify import Identification, identify
from robident_ros.estimation.validation import relative_error
from robident_ros.model.robot import load_robot, Robot
from robident_ros.processing.process import Samples
from shipped import ROOT, shipped
from synthetic import changed, motion, samples_of, simulate, torque, with_drives

ROBOT = shipped('arm6')
THETA = with_drives(ROBOT)
QUICK = EstimatorOptions(coulomb='sign', segments=2)


def run(samples: Samples, options: EstimatorOptions = QUICK,
        robot: Robot = ROBOT) -> Identification:
    return identify([samples], robot, options)


def notes_of(samples: Samples) -> str:
    return ' | '.join(run(samples).estimate.notes)


# --- good data -----------------------------------------------------------------------------------

@pytest.fixture(scope='module')
def good() -> Identification:
    return identify([simulate(ROBOT, THETA, 600, 0.02)], ROBOT, holdout='second-half')


def test_the_truth_is_found_within_its_uncertainty(good: Identification) -> None:
    base = good.estimate.base
    truth = np.array([row @ THETA for row in _K()])
    share = np.mean(np.abs(base.value - truth) < 2 * base.std)
    # 95 % are expected; half a hundred correlated parameters scatter about it
    assert share > 0.85
    assert good.estimate.notes == ()


def _K() -> np.ndarray:
    from robident_ros.model.base import base_parameters
    return base_parameters(ROBOT).K


def test_every_set_of_parameters_is_there_and_told_apart(good: Identification) -> None:
    error = good.estimate.relative_error
    assert set(error) == {'apriori', 'base', 'essential', 'closest', 'essential_closest',
                          'consistent'}
    assert error['base'] == pytest.approx(0.02, rel=0.1)
    assert error['closest'] == pytest.approx(error['base'], rel=1e-6)
    assert error['base'] <= error['consistent'] * (1 + 1e-9) < 1.02 * error['base']
    assert error['apriori'] > 5 * error['base']


def test_links_are_judged(good: Identification) -> None:
    assert good.estimate.is_consistent
    assert all(0.2 < link.mass / link.apriori_mass < 5 for link in good.estimate.links)


def test_unseen_data_are_predicted_as_well(good: Identification) -> None:
    estimate = good.estimate
    assert estimate.holdout_error == pytest.approx(0.02, rel=0.3)
    assert estimate.cross_validation['consistent'] == pytest.approx(0.02, rel=0.3)


def test_another_recording_can_be_held_out(good: Identification) -> None:
    other = simulate(ROBOT, THETA, 300, 0.02, seed=9)
    found = identify([simulate(ROBOT, THETA, 600, 0.02)], ROBOT, QUICK, [other])
    assert found.estimate.holdout_error == pytest.approx(0.02, rel=0.3)


def test_several_recordings_are_one_data_set() -> None:
    parts = [simulate(ROBOT, THETA, 300, 0.02, seed) for seed in (1, 2)]
    found = identify(parts, ROBOT, QUICK)
    assert found.estimate.samples == 600
    one = run(parts[0])
    assert (found.estimate.base.std < one.estimate.base.std * 1.1).mean() > 0.9


def test_residuals_are_of_the_samples(good: Identification) -> None:
    residuals = good.residuals
    error = np.linalg.norm(residuals.measured - residuals.consistent) / np.linalg.norm(
        residuals.measured)
    assert error == pytest.approx(good.estimate.relative_error['consistent'], rel=1e-6)


def test_outliers_can_be_silenced() -> None:
    samples = simulate(ROBOT, THETA, 500, 0.02)
    tau = np.array(samples.tau)
    tau[::40] += 10 * tau.std(axis=0)
    plain = run(changed(samples, tau=tau))
    robust = run(changed(samples, tau=tau), replace(QUICK, robust=True))
    truth = _K() @ THETA
    information = run(samples).information
    excess = [relative_error(information, r.estimate.base.value)
              - relative_error(information, truth) for r in (plain, robust)]
    assert excess[1] < excess[0] / 10


def test_noise_weighting_uses_the_measured_noise() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    found = run(samples, replace(QUICK, weighting='noise'))
    np.testing.assert_allclose([joint.deviation for joint in found.estimate.joints],
                               samples.noise_std)
    with pytest.raises(EstimationError, match='weighting'):
        run(changed(samples, noise_std=np.full(6, np.nan)), replace(QUICK, weighting='noise'))


@pytest.mark.parametrize('name', ['parallelogram', 'tx40', 'kuka_ir361', 'puma560', 'arm7'])
def test_every_kind_of_robot_is_identified(name: str) -> None:
    """Closed loops, coupled wrists, symmetric links, inconsistent URDFs."""
    robot = shipped(name)
    found = identify([simulate(robot, with_drives(robot), 400, 0.01)], robot, QUICK).estimate
    assert found.relative_error['base'] == pytest.approx(0.01, rel=0.2)
    assert found.is_consistent


# --- bad data ------------------------------------------------------------------------------------

def still(joint: int, count: int = 400, hold: float = 0.3) -> Samples:
    """Return samples in which a joint does not move."""
    t, q, v, a = (np.array(x) for x in motion(ROBOT, count))
    q[:, joint], v[:, joint], a[:, joint] = hold, 0, 0
    tau = torque(ROBOT, THETA, q, v, a)
    return samples_of(ROBOT, t, q, v, a, tau * (1 + 0.01 * np.random.default_rng(0).normal(
        size=tau.shape)))


def test_a_joint_that_stands_still_is_named_and_the_rest_identified() -> None:
    found = run(still(3)).estimate
    assert any("'joint4' does not move" in note for note in found.notes)
    assert {'Fv4', 'Fc4', 'Ia4'} <= set(found.excitation.held)
    values = dict(zip(found.base.names, found.base.value))
    truth = dict(zip(found.base.names, _K() @ THETA))
    for name in ('Fv1', 'Fc2', 'Fv3', 'Fc5', 'Fv6'):
        assert values[name] == pytest.approx(truth[name], rel=0.05)
    assert not dict(zip(found.base.names, found.base.identified))['Fv4']
    assert found.is_consistent


def test_a_constant_effort_is_named_and_the_rest_identified() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.01)
    tau = np.array(samples.tau)
    tau[:, 4] = 0.0
    found = run(changed(samples, tau=tau)).estimate
    assert any("'joint5': effort is constant" in note for note in found.notes)
    values = dict(zip(found.base.names, found.base.value))
    assert values['Fv1'] == pytest.approx(THETA[ROBOT.parameter_names.index('Fv1')], rel=0.1)
    assert 'Fv5' in found.excitation.held


def test_efforts_that_are_all_constant_are_refused() -> None:
    samples = simulate(ROBOT, THETA, 100)
    with pytest.raises(EstimationError, match='efforts of all joints .* constant'):
        run(changed(samples, tau=np.ones(samples.tau.shape)))


def test_no_motion_at_all_is_refused() -> None:
    samples = simulate(ROBOT, THETA, 100)
    with pytest.raises(EstimationError, match='no joint moves'):
        run(changed(samples, q=np.ones(samples.q.shape)))


def test_reversed_efforts_are_suspected() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    notes = notes_of(changed(samples, tau=-samples.tau))
    assert 'wrong sign' in notes and 'joint1: -1' in notes and 'joint6: -1' in notes


def test_one_reversed_effort_is_suspected() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    notes = notes_of(changed(samples, tau=samples.tau * [1, 1, -1, 1, 1, 1]))
    assert 'joint3' in notes and 'wrong sign' in notes and 'joint1: -1' not in notes


def test_reversed_efforts_are_suspected_without_friction_too() -> None:
    robot = load_robot(ROOT / 'urdf' / 'arm6.urdf', Config(drives=DriveOptions(terms=())))
    samples = simulate(robot, robot.theta, 400, 0.02)
    found = identify([changed(samples, tau=-samples.tau)], robot, QUICK).estimate
    assert any('wrong sign' in note for note in found.notes)


def test_exchanged_efforts_are_suspected() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    notes = notes_of(changed(samples, tau=samples.tau[:, [0, 2, 1, 3, 4, 5]]))
    assert "efforts of 'joint2' and 'joint3' seem to be exchanged" in notes


def test_exchanged_columns_are_suspected() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    order = [1, 0, 2, 3, 4, 5]
    notes = notes_of(changed(samples, q=samples.q[:, order], v=samples.v[:, order],
                             a=samples.a[:, order], tau=samples.tau[:, order]))
    assert "'joint1' and 'joint2' seem to be exchanged" in notes


def test_degrees_are_suspected() -> None:
    samples = simulate(ROBOT, THETA, 400, 0.02)
    factor = 180 / np.pi
    notes = notes_of(changed(samples, q=factor * samples.q, v=factor * samples.v,
                             a=factor * samples.a))
    assert 'degrees' in notes


def test_fewer_samples_than_parameters_are_refused() -> None:
    with pytest.raises(RankDeficient, match='equations for .* parameters; record longer'):
        run(simulate(ROBOT, THETA, 8), replace(QUICK, segments=2))


def test_poor_excitation_is_told_by_parameter() -> None:
    """All joints move alike: what cannot be told apart keeps its a-priori value, by name."""
    t, q, v, a = motion(ROBOT, 400)
    q, v, a = (np.repeat(x[:, :1], 6, axis=1) for x in (q, v, a))
    samples = samples_of(ROBOT, t, q, v, a, torque(ROBOT, THETA, q, v, a))
    found = run(samples).estimate
    held = found.excitation.held
    assert held and any('not shown by the data' in note for note in found.notes)
    assert len(held) + sum(found.base.identified) == len(found.base.names)
    assert found.relative_error['base'] < 1e-3
    assert found.is_consistent


def test_samples_of_other_joints_are_refused() -> None:
    samples = simulate(ROBOT, THETA, 50)
    with pytest.raises(EstimationError, match='expected joint1'):
        run(changed(samples, joint_names=('a', 'b', 'c', 'd', 'e', 'f')))


def test_wrong_joint_zeros_are_noticed() -> None:
    """Turned frames fit with parameters that no body has."""
    samples = simulate(ROBOT, THETA, 400, 0.01)
    notes = notes_of(changed(samples, q=samples.q + [0, np.pi / 2, -np.pi / 2, 0, 0, 0]))
    assert 'joint zeros' in notes or 'seem' in notes


@pytest.mark.parametrize('bounds', [(0.2,), (2.0, 5.0), (0.2, 0.5)])
def test_bounds_that_make_no_sense_are_refused(bounds: tuple) -> None:
    with pytest.raises(ConfigError, match='mass_bounds'):
        run(simulate(ROBOT, THETA, 100), replace(QUICK, mass_bounds=bounds))


@pytest.mark.parametrize('weight', [0.0, 1.0])
def test_the_weight_of_the_urdf_can_be_set(weight: float) -> None:
    found = run(simulate(ROBOT, THETA, 300, 0.2), replace(QUICK, prior_weight=weight)).estimate
    assert found.prior_weight == weight
    assert found.is_consistent
