"""Essential parameters: what does not matter goes, what matters stays."""

import numpy as np
from robident_ros.estimation.compress import compress
from robident_ros.estimation.essential import essential_parameters
from robident_ros.estimation.least_squares import estimate_base
from robident_ros.estimation.validation import relative_error
from robident_ros.model.base import base_parameters
from shipped import shipped
from synthetic import simulate, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)


def estimate(noise: float, seed: int = 0):
    information = compress(simulate(ROBOT, with_drives(ROBOT), 600, noise, seed), ROBOT, BASE)[0]
    return information, estimate_base(information)


def test_parameters_that_are_zero_are_removed_and_the_fit_stays() -> None:
    information, full = estimate(0.05)
    found = essential_parameters(full)
    truth = dict(zip(BASE.names, BASE.K @ with_drives(ROBOT)))
    scale = dict(zip(full.names, full.std))
    assert len(found.names) < len(full.names)
    # nothing is dropped whose true value stands far out of its uncertainty
    dropped = set(full.names) - set(found.names)
    assert all(abs(truth[name]) < 6 * scale[name] for name in dropped)
    before = relative_error(information, full.beta)
    assert relative_error(information, found.expand(len(full.beta))) < 1.02 * before


def test_precise_data_make_everything_essential_that_is_not_zero() -> None:
    _, full = estimate(1e-6)
    found = essential_parameters(full)
    truth = BASE.K @ with_drives(ROBOT)
    matters = {name for name, value in zip(BASE.names, truth) if abs(value) > 1e-3}
    assert matters <= set(found.names)


def test_the_step_that_hurts_is_refused_and_told() -> None:
    _, full = estimate(0.02)
    found = essential_parameters(full, relative_std=0.0)
    assert found.refused is not None and found.refused.p_value < 0.05
    assert found.refused.name in found.names
    losses = [step.loss for step in found.steps]
    assert losses == sorted(losses)


def test_a_loss_of_fit_stops_the_elimination_even_with_few_independent_samples() -> None:
    _, full = estimate(0.3)
    loose = essential_parameters(full, 0.0, correlation=50.0)
    strict = essential_parameters(full, 0.0, correlation=50.0, loss=0.01)
    assert len(strict.names) > len(loose.names)
    assert strict.steps[-1].loss <= 0.01 < strict.refused.loss


def test_certain_parameters_are_never_candidates() -> None:
    _, full = estimate(0.05)
    found = essential_parameters(full, relative_std=30.0)
    assert found.estimate.relative_std.max() <= 30 or found.refused is not None


def test_essential_values_are_the_least_squares_of_their_columns() -> None:
    _, full = estimate(0.05)
    found = essential_parameters(full)
    A, y = full.problem.A[:, found.kept], full.problem.y
    np.testing.assert_allclose(found.estimate.beta, np.linalg.lstsq(A, y, rcond=None)[0],
                               rtol=1e-8, atol=1e-9)
