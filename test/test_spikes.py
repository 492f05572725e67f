"""Spikes are told from noise, steps and peaks."""

from dataclasses import replace

from measured import periodic, ROBOT, THETA
import numpy as np
import pytest
from robident_ros.config import EstimatorOptions, ProcessingOptions
from robident_ros.estimation.identify import identify
from robident_ros.model.base import base_parameters
from robident_ros.processing import process
from robident_ros.processing.spikes import find_spikes


def test_spikes_are_found_and_nothing_else() -> None:
    """Noise, steps of friction, peaks and unknown values stay."""
    t = np.arange(2000) / 100
    smooth = 5 * np.sin(t) + 3 * np.sign(np.cos(2 * t))
    noisy = smooth + 0.1 * np.random.default_rng(0).normal(size=2000)
    tau = np.column_stack([smooth, noisy, np.round(noisy, 0)])
    tau[50:60] = np.nan
    assert not find_spikes(tau).any()
    where = np.array([0, 300, 301, 302, 900, 1999])
    tau[where] += 40
    assert np.array_equal(np.unique(np.argwhere(find_spikes(tau))[:, 0]), where)


def test_nothing_is_left_out_unless_asked_for() -> None:
    """Ripple of a drive looks like spikes, and belongs to the average."""
    recording = periodic()
    tau = np.array(recording.tau)
    tau[100] *= 20
    samples = process(replace(recording, tau=tau))
    assert not any('spike' in item.reason for item in samples.dropped)


@pytest.mark.parametrize('average', [True, False])
def test_spikes_do_not_reach_the_parameters(average: bool) -> None:
    """They are gone before a filter or an average spreads them, and accounted for."""
    recording = periodic()
    options = ProcessingOptions(average_periods=average)
    tau = np.array(recording.tau)
    rng = np.random.default_rng(2)
    hit = rng.random(tau.shape) < 0.005
    tau[hit] += 10 * np.broadcast_to(tau.std(axis=0), tau.shape)[hit]
    quick, truth = EstimatorOptions(coulomb='sign', segments=2), base_parameters(ROBOT).K @ THETA
    worst = []
    for part in (recording, replace(recording, tau=tau)):
        samples = process(part, options, robust=True)
        base = identify([samples], ROBOT, quick).estimate.base
        worst.append(np.sqrt(np.mean(((base.value - truth) / np.abs(truth).max())**2)))
    assert worst[1] < 2 * worst[0]
    counts = {item.joint: item.count for item in samples.dropped if 'spike' in item.reason}
    # two spikes in one window, at a step of friction, may take a good value with them
    np.testing.assert_allclose([counts[name] for name in ROBOT.joint_names], hit.sum(axis=0),
                               atol=2)
