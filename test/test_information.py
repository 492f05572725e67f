"""Compressed data say the same as the data, however they came in."""

from dataclasses import replace

import numpy as np
import pytest
from robident_ros.errors import EstimationError
from robident_ros.estimation.compress import compress
from robident_ros.estimation.information import combine, empty_information, load_information
from robident_ros.estimation.information import save_information
from robident_ros.estimation.problem import weighted_problem
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import stack, torque_regressor
from robident_ros.processing.parallel_filter import lowpass_kernel, ParallelFilter
from shipped import shipped
from synthetic import simulate, with_drives

ROBOT = shipped('arm6')
BASE = base_parameters(ROBOT)
SAMPLES = simulate(ROBOT, with_drives(ROBOT), 500, noise=0.05)


def regressor() -> np.ndarray:
    return torque_regressor(ROBOT, SAMPLES.q, SAMPLES.v, SAMPLES.a)


def assert_same(first, second) -> None:
    """Triangular factors are unique up to the sign of their rows."""
    assert np.array_equal(first.counts, second.counts)
    for one, other in zip(first.factors, second.factors):
        np.testing.assert_allclose(one.T @ one, other.T @ other, rtol=0,
                                   atol=1e-12 * np.abs(one).max()**2)


def test_residuals_are_those_of_the_data() -> None:
    """For any β, R·[β, −1] has the norm of W·β − y, joint by joint."""
    information = empty_information(ROBOT, BASE).update(regressor(), SAMPLES.tau)
    beta = np.random.default_rng(0).normal(size=len(BASE.kept))
    direct = np.linalg.norm(regressor()[..., BASE.kept] @ beta - SAMPLES.tau.T, axis=1)
    np.testing.assert_allclose(information.residual_norms(beta), direct, rtol=1e-12)
    np.testing.assert_allclose(information.effort_norms, np.linalg.norm(SAMPLES.tau, axis=0),
                               rtol=1e-12)


def test_size_does_not_depend_on_the_length_of_the_data() -> None:
    information = empty_information(ROBOT, BASE)
    more = information.update(regressor(), SAMPLES.tau)
    assert [f.shape for f in information.factors] == [f.shape for f in more.factors]


def test_a_joint_keeps_only_the_parameters_that_load_it() -> None:
    """The last joint of a serial arm feels its own link and drive alone."""
    information = empty_information(ROBOT, BASE)
    last = {information.parameter_names[i] for i in information.columns[-1]}
    assert all(name.endswith('6') for name in last)


def test_one_sample_at_a_time_is_the_same_as_all_at_once() -> None:
    """The live form is the batch form."""
    W, live = regressor()[:, :80], empty_information(ROBOT, BASE)
    for k in range(80):
        live = live.update(W[:, k:k + 1], SAMPLES.tau[k:k + 1])
    assert_same(live, empty_information(ROBOT, BASE).update(W, SAMPLES.tau[:80]))


@pytest.mark.parametrize('parts', [2, 7])
def test_parts_combine_to_the_whole(parts: int) -> None:
    assert_same(combine(compress(SAMPLES, ROBOT, BASE, parts)), *compress(SAMPLES, ROBOT, BASE))


def test_rows_of_weight_zero_do_not_count() -> None:
    weights = np.ones(SAMPLES.tau.shape)
    weights[100:] = 0
    information = compress(SAMPLES, ROBOT, BASE, weights=weights)[0]
    assert (information.counts == 100).all()
    assert_same(information, empty_information(ROBOT, BASE).update(regressor()[:, :100],
                                                                   SAMPLES.tau[:100]))


def test_unknown_efforts_of_weight_zero_do_no_harm() -> None:
    tau, weights = np.array(SAMPLES.tau), np.ones(SAMPLES.tau.shape)
    tau[5, 2], weights[5, 2] = np.nan, 0
    information = compress(replace(SAMPLES, tau=tau, weights=weights), ROBOT, BASE)[0]
    assert all(np.isfinite(factor).all() for factor in information.factors)


@pytest.mark.parametrize('periodic', [False, True])
def test_both_sides_go_through_the_parallel_filter(periodic: bool) -> None:
    """Pieces overlap such that the result is that of filtering all data at once."""
    kernel = lowpass_kernel(2.0, SAMPLES.rate_hz, 0.3)
    half, count = len(kernel) // 2, len(SAMPLES.t)
    rows = np.arange(0, count, 3) if periodic else np.arange(half, count - half, 3)
    parallel = ParallelFilter(kernel, rows, count, periodic)
    filtered = replace(SAMPLES, filter=parallel, weights=np.ones((len(rows), 6)))
    W = np.stack([parallel.apply(np.ascontiguousarray(block)) for block in regressor()])
    direct = empty_information(ROBOT, BASE).update(W, parallel.apply(SAMPLES.tau))
    assert_same(combine(compress(filtered, ROBOT, BASE, 3)), direct)


def test_saved_information_loads_exactly(tmp_path) -> None:
    information = compress(SAMPLES, ROBOT, BASE)[0]
    save_information(information, tmp_path / 'data.npz')
    loaded = load_information(tmp_path / 'data.npz')
    assert loaded.joint_names == information.joint_names
    for one, other in zip(information.factors, loaded.factors):
        assert np.array_equal(one, other)
    assert_same(loaded + information, information + information)


def test_a_file_of_something_else_is_refused(tmp_path) -> None:
    path = tmp_path / 'data.npz'
    path.write_bytes(b'nothing of that kind')
    with pytest.raises(EstimationError, match='data.npz'):
        load_information(path)


def test_information_of_different_robots_is_not_joined() -> None:
    other = shipped('arm7')
    with pytest.raises(EstimationError, match='different robots'):
        combine([compress(SAMPLES, ROBOT, BASE)[0],
                 empty_information(other, base_parameters(other))])


def test_ill_conditioned_data_keep_their_digits() -> None:
    """A column nearly dependent on another: normal equations lose it, the factor does not."""
    W, y = stack(regressor()[..., BASE.kept]), SAMPLES.tau.T.ravel()
    tiny = replace(SAMPLES, v=1e-5 * SAMPLES.v, a=1e-5 * SAMPLES.a)
    information = compress(tiny, ROBOT, BASE)[0]
    W = stack(torque_regressor(ROBOT, tiny.q, tiny.v, tiny.a)[..., BASE.kept])
    beta = np.random.default_rng(1).normal(size=W.shape[1])
    y = W @ beta
    information = empty_information(ROBOT, BASE).update(
        torque_regressor(ROBOT, tiny.q, tiny.v, tiny.a), y.reshape(6, -1).T)
    found = weighted_problem(information).solve()
    normal = np.linalg.lstsq(W.T @ W, W.T @ y, rcond=None)[0]
    assert np.linalg.norm(found - beta) < 1e-3 * np.linalg.norm(normal - beta)
