"""Criteria: known values, and gradients equal to finite differences."""

import numpy as np
import pytest
from robident_ros.errors import ConfigError
from robident_ros.excitation.criteria import CRITERIA, equilibrium, find_criterion, Scaled, smooth
from robident_ros.excitation.criteria import Weighted

RNG = np.random.default_rng(0)
W = RNG.normal(size=(40, 6)) * np.array([1, 2, 3, 0.5, 1, 4])


def difference(criterion, W: np.ndarray, direction: np.ndarray) -> float:
    step = 1e-6
    return (criterion(W + step * direction)[0] - criterion(W - step * direction)[0]) / (2 * step)


ALL = {**CRITERIA,
       'weighted': Weighted(CRITERIA['cond'], 2.0, 1e-3),
       'scaled': Scaled(CRITERIA['smooth'], RNG.uniform(1, 2, 6), RNG.uniform(1, 2, 40))}


@pytest.mark.parametrize('name', ALL)
def test_gradients_equal_finite_differences(name: str) -> None:
    """Relative 1e-6: central differences of a smooth function are good to about 1e-9."""
    rng = np.random.default_rng(1)
    _, gradient = ALL[name](W)
    for _ in range(5):
        direction = rng.normal(size=W.shape)
        expected = difference(ALL[name], W, direction)
        scale = np.linalg.norm(gradient) * np.linalg.norm(direction)
        assert np.sum(gradient * direction) == pytest.approx(expected, abs=1e-6 * scale)


def test_conditions_are_ordered() -> None:
    """QR never overestimates; the smooth one never underestimates, by at most b^(1/p)."""
    value = {name: criterion(W)[0] for name, criterion in CRITERIA.items()}
    assert value['cond'] == pytest.approx(np.linalg.cond(W))
    assert value['qr'] <= value['cond'] <= value['smooth'] <= value['cond'] * 6**(1 / 8)
    assert value['cond']**2 <= value['frobenius'] <= 6 * value['cond']**2
    assert value['frobenius'] == pytest.approx(np.linalg.cond(W.T @ W, 'fro'))


def test_equilibrium_leaves_structural_zeros_out() -> None:
    sparse = np.array([[4.0, 0.0], [-0.5, 2.0]])
    assert equilibrium(sparse)[0] == 8


def test_the_examples_of_paper_000(golden: dict) -> None:
    """Appendix: small changes in Y make large ones in X where the condition number is large."""
    appendix = golden['p000']['appendix']
    A = np.array(appendix['A'])
    assert np.linalg.cond(A, 1) == pytest.approx(appendix['cond1'], rel=appendix['tol'])
    solution = np.linalg.solve(A, np.array(appendix['Y']) + appendix['dY'])
    np.testing.assert_allclose(solution, appendix['Xp'], atol=1e-9)


def test_scaling_by_the_sizes_of_the_parameters_is_a_change_of_units() -> None:
    units = np.array([1e3, 1, 1e-3, 1, 10, 1])
    assert Scaled(smooth, 1 / units)(W * units)[0] == pytest.approx(smooth(W)[0])


def test_a_motion_that_excites_nothing_is_very_bad_but_no_crash() -> None:
    blind = W.copy()
    blind[:, 2] = blind[:, 1]
    for name in ('smooth', 'frobenius', 'logdet'):
        value, gradient = CRITERIA[name](blind)
        assert np.isfinite(value) and np.isfinite(gradient).all()
    assert smooth(blind)[0] > 1e6


def test_unknown_criteria_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown 'condition', did you mean 'cond'"):
        find_criterion('condition')
