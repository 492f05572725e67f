"""Errors of prediction mean what they say, from data or from compressed data."""

import numpy as np
import pytest
from robident_ros.estimation.compress import compress, predict
from robident_ros.estimation.information import combine
from robident_ros.estimation.least_squares import estimate_base
from robident_ros.estimation.validation import cross_validate, judge_prediction, relative_error
from robident_ros.model.base import base_parameters
from shipped import shipped
from synthetic import simulate, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
THETA = with_drives(ROBOT)
SAMPLES = simulate(ROBOT, THETA, 500, noise=0.05)


def test_a_perfect_prediction_has_no_error() -> None:
    found = judge_prediction(ROBOT.joint_names, SAMPLES.tau, SAMPLES.tau)
    assert found.total == 0 and not found.rms.any()
    assert found.r_squared == pytest.approx(np.ones(6))


def test_the_mean_explains_nothing() -> None:
    mean = np.broadcast_to(SAMPLES.tau.mean(axis=0), SAMPLES.tau.shape)
    assert judge_prediction(ROBOT.joint_names, SAMPLES.tau, mean).r_squared == pytest.approx(
        np.zeros(6), abs=1e-12)


def test_predicting_nothing_is_an_error_of_one() -> None:
    found = judge_prediction(ROBOT.joint_names, SAMPLES.tau, 0 * SAMPLES.tau)
    assert found.total == pytest.approx(1) and found.relative_error == pytest.approx(np.ones(6))


def test_rows_without_weight_and_unknown_efforts_do_not_count() -> None:
    predicted, measured = np.array(SAMPLES.tau), np.array(SAMPLES.tau)
    predicted[3] += 100
    measured[4] = np.nan
    weights = np.ones(measured.shape)
    weights[3] = 0
    assert judge_prediction(ROBOT.joint_names, measured, predicted, weights).total == 0


def test_compressed_data_tell_the_same_error() -> None:
    information = compress(SAMPLES, ROBOT, BASE)[0]
    direct = judge_prediction(ROBOT.joint_names, SAMPLES.tau, predict(SAMPLES, ROBOT, THETA)[0])
    assert relative_error(information, BASE.K @ THETA) == pytest.approx(direct.total, rel=1e-9)
    # the noise of each joint is 5 % of its rms effort
    assert direct.total == pytest.approx(0.05, rel=0.1)


def test_cross_validation_holds_out_every_part_once() -> None:
    """Each part is predicted by what all the others say, from their factors."""
    parts = compress(SAMPLES, ROBOT, BASE, 5)
    errors = cross_validate(parts, lambda information: estimate_base(information).beta)
    others = estimate_base(combine(parts[1:])).beta
    assert errors[0] == pytest.approx(relative_error(parts[0], others))
    assert len(errors) == 5
    assert np.mean(errors) > relative_error(combine(parts), estimate_base(combine(parts)).beta)
