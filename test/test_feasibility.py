"""What a plan is held against: efforts by inverse dynamics, and where its extremes lie."""

from experiment_cases import middle, random_trajectory
import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import ExperimentOptions
from robident_ros.experiment.feasibility import Extreme, predict_effort
from robident_ros.experiment.timeline import plan_timeline, Timeline
from robident_ros.model.robot import Robot
from shipped import shipped


@pytest.fixture(scope='module')
def arm() -> Robot:
    return shipped('arm6')


@pytest.fixture(scope='module')
def timeline(arm: Robot) -> Timeline:
    return plan_timeline(random_trajectory(arm), middle(arm), arm, ExperimentOptions(periods=1))


def test_efforts_are_inverse_dynamics(arm: Robot) -> None:
    q, v, a = np.random.default_rng(0).normal(size=(3, 5, 6))
    data = arm.tree.createData()
    expected = [pin.rnea(arm.tree, data, *sample) for sample in zip(q, v, a)]
    np.testing.assert_allclose(predict_effort(arm, q, v, a), expected, atol=1e-9)


def test_each_quantity_of_each_joint_has_its_extreme(arm: Robot, timeline: Timeline) -> None:
    """Values, times and phases are those of the plan; all of them fit."""
    kinds = ('position', 'velocity', 'acceleration', 'effort')
    found = {(item.quantity, item.joint): item for item in timeline.extremes}
    assert {(kind, name) for kind in kinds for name in arm.joint_names} <= set(found)
    assert any(kind == 'distance' for kind, _ in found)
    for (kind, name), item in found.items():
        assert item.fits and item.excess < 0
        assert item.phase == timeline.phase_at(item.time).name
        if kind in kinds[:3]:
            value = timeline.sample(np.array([item.time]))[kinds.index(kind)][0]
            assert value[arm.joint_names.index(name)] == pytest.approx(item.value, abs=1e-12)


def test_no_dense_sample_is_beyond_the_extremes(arm: Robot, timeline: Timeline) -> None:
    """What is found as the highest speed is so, against samples that it was not found with."""
    t = np.random.default_rng(1).uniform(0, timeline.duration, 20000)
    highest = np.abs(timeline.sample(t)[1]).max(axis=0)
    found = [abs(item.value) for item in timeline.extremes if item.quantity == 'velocity']
    assert (highest <= np.array(found) * (1 + 1e-9)).all()


@pytest.mark.parametrize('excess, fits', [(-1.0, True), (5e-6, True), (5e-5, False),
                                          (np.inf, False), (np.nan, False)])
def test_round_off_is_forgiven_and_nothing_else(excess: float, fits: bool) -> None:
    """Up to one part in a million of the bound, 10 rad/s here."""
    extreme = Extreme('velocity', 'j1', 10 + excess, 10.0, 'rad/s', 0.0, 'periods', excess)
    assert extreme.fits is fits
