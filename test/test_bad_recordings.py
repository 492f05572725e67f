"""Recordings with faults, through all stages: what is wrong is said, the rest identified."""

from dataclasses import replace

from measured import periodic, ROBOT, THETA, with_effort
import numpy as np
import pytest
from robident_ros.config import EstimatorOptions, ProcessingOptions
from robident_ros.errors import ConfigError, EstimationError, RobidentWarning, SolverFailed
from robident_ros.estimation.cones import ConeProgramme
from robident_ros.estimation.estimate import Estimate
from robident_ros.estimation.identify import identify
from robident_ros.model.base import base_parameters
from robident_ros.processing import process
from robident_ros.recording import Recording

QUICK = EstimatorOptions(coulomb='sign', segments=2)


def estimate(recording: Recording, options: EstimatorOptions = QUICK) -> Estimate:
    return identify([process(recording)], ROBOT, options).estimate


def notes(found: Estimate) -> str:
    return ' | '.join(found.notes)


# The warning that no sample of a still or dead joint is left is right here.
@pytest.mark.filterwarnings('ignore:no sample of')
@pytest.mark.parametrize('recording', [periodic(still=3), with_effort(periodic(), 3, 1.5)],
                         ids=['still', 'constant'])
def test_noise_is_weighed_by_the_joints_that_have_a_say(recording: Recording) -> None:
    found = estimate(recording, replace(QUICK, weighting='noise'))
    rest = [joint for joint in found.joints if joint.joint != 'joint4']
    # noise is 2 % of the variation of an effort, less behind average and filter
    assert all(joint.relative_error['base'] < 0.03 for joint in rest)
    assert found.relative_error['consistent'] < 0.05


@pytest.mark.filterwarnings('ignore:no sample of')
def test_encoder_noise_is_no_motion() -> None:
    """A held joint whose encoder trembles shows no more than one that is perfectly still."""
    options = ProcessingOptions(average_periods=False)
    found, clean = (identify([process(periodic(still=3, encoder=e), options)], ROBOT,
                             QUICK).estimate for e in (2e-4, 0.0))
    # which of several parameters that only show together is held is a matter of round-off
    assert len(found.excitation.held) == len(clean.excitation.held)
    truth = base_parameters(ROBOT).K @ THETA
    shown = np.array(found.base.identified)
    assert np.abs(found.base.value - truth)[shown].max() < 2  # largest parameter: 20
    assert "'joint4' does not move" in notes(found)
    assert "'joint4': effort is constant" not in notes(found)


def test_weak_excitation_is_said() -> None:
    found = estimate(periodic(amplitude=2e-3, noise=1e-4))
    assert found.excitation.scaled_condition > 1000
    assert f'hardly show {found.excitation.weakest[0]}' in notes(found)


def test_bursts_of_messages_are_said_and_used() -> None:
    even = periodic(periods=2)
    number = np.arange(len(even))
    t = number // 4 * 0.04 + number % 4 * 1e-5
    options = ProcessingOptions(average_periods=False)
    with pytest.warns(RobidentWarning, match='bursts; taken as 10'):
        samples = process(replace(even, t=t), options)
    assert len(samples.t) < 1.1 * len(even)
    # stamps that are 30 ms off cost much, but the arm is still known
    assert identify([samples], ROBOT, QUICK).estimate.relative_error['base'] < 0.3


def test_rows_that_few_periods_know_weigh_by_their_deviation() -> None:
    """Known by one period of four, an average is twice as noisy: it counts half."""
    recording = periodic(periods=4)
    tau = np.array(recording.tau)
    tau[(recording.t >= 9) & (recording.t % 8 > 1) & (recording.t % 8 < 5), 2] = np.nan
    samples = process(replace(recording, tau=tau), ProcessingOptions(period_s=8.0))
    weights = samples.weights[:, 2]
    assert weights.max() <= 1
    middle = samples.t[samples.filter.rows] + samples.periods.start
    middle = (middle % 8 > 2.5) & (middle % 8 < 3.5) & (weights > 0)
    np.testing.assert_allclose(weights[middle], 0.5, atol=1e-3)


@pytest.mark.parametrize('factor', [1000.0, 1e-3])
def test_efforts_in_another_unit_are_solved_and_suspected(factor: float) -> None:
    recording = periodic()
    plain = estimate(recording)
    found = estimate(replace(recording, tau=factor * recording.tau))
    assert 'times what the URDF predicts' in notes(found)
    assert 'URDF predicts' not in notes(plain)
    assert found.is_consistent
    assert found.relative_error['base'] == pytest.approx(plain.relative_error['base'], rel=1e-3)
    # the prior is now far away, which costs a little
    assert found.relative_error['consistent'] < 2 * plain.relative_error['consistent']


def test_without_a_solution_the_base_parameters_are_still_told(monkeypatch) -> None:
    def fail(*_) -> None:
        raise SolverFailed('Clarabel stopped')
    plain = estimate(periodic())
    monkeypatch.setattr(ConeProgramme, 'solve', fail)
    found = estimate(periodic())
    assert 'there is no consistent estimate' in notes(found)
    np.testing.assert_array_equal(found.base.value, plain.base.value)
    assert 'consistent' not in found.cross_validation


@pytest.mark.parametrize('joint', range(6))
@pytest.mark.parametrize('what', ['effort', 'position'])
def test_one_reversed_joint_is_suspected(what: str, joint: int) -> None:
    """Also where it carries little of the efforts, so that the error as a whole is small."""
    recording = periodic()
    sign = np.where(np.arange(6) == joint, -1.0, 1.0)
    wrong = replace(recording, tau=sign * recording.tau) if what == 'effort' else \
        replace(recording, q=sign * recording.q)
    assert f'joint{joint + 1}' in notes(estimate(wrong))


@pytest.mark.parametrize('option', ['cutoff_hz', 'period_s'])
@pytest.mark.parametrize('value', [0.0, -1.0])
def test_options_that_cannot_be_meant_are_refused(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f'{option}: is {value:g}, expected more than 0'):
        process(periodic(), ProcessingOptions(**{option: value}))


def test_a_dead_effort_channel_is_known_by_its_noise() -> None:
    dead = 1.5 + 1e-3 * np.random.default_rng(3).normal(size=2400)
    found = estimate(with_effort(periodic(), 3, dead))
    assert "'joint4': effort is constant" in notes(found)
    assert 'wrong sign' not in notes(found)
    assert not next(joint for joint in found.joints if joint.joint == 'joint4').used


@pytest.mark.filterwarnings('ignore:no sample of')
@pytest.mark.parametrize('encoder', [0.0, 1e-5])
def test_no_motion_is_told_as_such(encoder: float) -> None:
    with pytest.raises(EstimationError, match='no joint moves'):
        estimate(periodic(amplitude=0.0, encoder=encoder, noise=0.0))


@pytest.mark.filterwarnings('ignore:no sample of')
def test_limits_that_drop_everything_are_told_as_such() -> None:
    limits = dict.fromkeys(ROBOT.joint_names, 1e-3) | {'joint1': 0.5}
    samples = process(periodic(), ProcessingOptions(effort_limits=limits))
    with pytest.raises(EstimationError, match='no sample is left .* saturated'):
        identify([samples], ROBOT, QUICK)
