"""A load from recordings, through all stages: as careful as the identification of a robot."""

from measured import periodic, ROBOT, THETA, with_effort
import numpy as np
import pytest
from robident_ros.config import EstimatorOptions, ProcessingOptions
from robident_ros.errors import EstimationError
from robident_ros.estimation.load import identify_load, Load
from robident_ros.model.parameters import from_inertial
from robident_ros.processing import process
from robident_ros.recording import Recording

BODY = from_inertial(2.5, [0.03, -0.02, 0.08], np.diag([0.010, 0.012, 0.008]))
LOADED = np.array(THETA)
LOADED[ROBOT.link_columns[-1]:ROBOT.link_columns[-1] + 10] += BODY
SIGN = EstimatorOptions(coulomb='sign')


def load_of(unloaded: Recording, loaded: Recording, options: EstimatorOptions = SIGN,
            processing: ProcessingOptions = ProcessingOptions()) -> Load:
    return identify_load(process(unloaded, processing), process(loaded, processing), ROBOT,
                         options)


def test_deviations_know_that_filtered_noise_is_correlated() -> None:
    processing = ProcessingOptions(average_periods=False)
    errors = []
    for seed in range(0, 24, 2):
        found = load_of(periodic(seed, 2), periodic(seed + 1, 2, theta=LOADED),
                        processing=processing).payload
        errors.append((found.value - BODY) / found.std)
    # 120 values, correlated: the rms scatters by some 10 %
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.2)


@pytest.mark.filterwarnings('ignore:no sample of')
def test_what_is_odd_is_said_and_the_rest_used() -> None:
    """A dead effort channel has no say; the other joints still show the mass."""
    load = load_of(periodic(0), with_effort(periodic(1, theta=LOADED), 5, 0.0))
    assert any(note.startswith("with the load: joint 'joint6': effort is constant")
               for note in load.notes)
    assert load.payload.value[-1] == pytest.approx(2.5, abs=5 * load.payload.std[-1])
    load = load_of(periodic(0, still=3), periodic(1, theta=LOADED, still=3))
    assert any("'joint4' does not move" in note for note in load.notes)


@pytest.mark.filterwarnings('ignore:no sample of')
def test_recordings_that_say_nothing_are_refused() -> None:
    good = periodic(0)
    with pytest.raises(EstimationError, match='no joint moves'):
        load_of(good, periodic(1, amplitude=0.0))
    with pytest.raises(EstimationError, match='efforts of all joints'):
        load_of(good, Recording(good.t, good.q, None, np.ones(good.tau.shape),
                                good.joint_names))


def test_recordings_that_are_too_short_are_told() -> None:
    load = load_of(periodic(0, 0.1), periodic(1, 0.1, theta=LOADED))
    assert any('hardly show' in note and 'record longer' in note for note in load.notes)
