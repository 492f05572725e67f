"""The parallel filter: linear, zero-phase, local."""

import numpy as np
import pytest
from robident_ros.processing.parallel_filter import lowpass_kernel, ParallelFilter

KERNEL = lowpass_kernel(5.0, 100.0, 0.2)


def direct(columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    half = len(KERNEL) // 2
    return np.array([sum(w * columns[row + k] for k, w in zip(range(-half, half + 1), KERNEL))
                     for row in rows])


def test_it_is_the_weighted_sum_of_neighbours() -> None:
    x = np.random.default_rng(0).standard_normal((200, 3, 2))
    rows = np.arange(20, 180, 7)
    np.testing.assert_allclose(ParallelFilter(KERNEL, rows, 200).apply(x), direct(x, rows),
                               atol=1e-13)


def test_a_periodic_filter_goes_on_at_the_start() -> None:
    x = np.random.default_rng(1).standard_normal((50, 2))
    rows = np.arange(0, 50, 3)
    np.testing.assert_allclose(ParallelFilter(KERNEL, rows, 50, is_periodic=True).apply(x),
                               direct(np.vstack([x, x, x]), rows + 50), atol=1e-13)


def test_pieces_give_the_same_as_the_whole() -> None:
    x = np.random.default_rng(2).standard_normal((1000, 4))
    whole = ParallelFilter(KERNEL, np.arange(20, 980, 8), 1000)
    parts = []
    for start in range(0, len(whole.rows), 25):
        needed, piece = whole.piece(start, start + 25)
        parts.append(piece.apply(x[needed]))
    np.testing.assert_array_equal(np.concatenate(parts), whole.apply(x))


def test_unknown_values_spoil_only_their_neighbourhood() -> None:
    x = np.zeros((300, 1))
    x[150] = np.nan
    rows = np.arange(20, 280)
    spoiled = rows[np.isnan(ParallelFilter(KERNEL, rows, 300).apply(x))[:, 0]]
    assert (spoiled.min(), spoiled.max()) == (130, 170)


def test_slow_motion_passes_and_ripple_does_not() -> None:
    """Zero phase: a slow sine comes out in place; three times the cutoff is gone."""
    t = np.arange(1000) / 100
    filter_ = ParallelFilter(KERNEL, np.arange(20, 980), 1000)
    slow, ripple = np.sin(2 * np.pi * 0.5 * t), np.sin(2 * np.pi * 15 * t)
    np.testing.assert_allclose(filter_.apply(slow), slow[20:980], atol=0.01)
    assert np.abs(filter_.apply(ripple)).max() < 0.01
    assert KERNEL.sum() == pytest.approx(1)


def test_noise_gain_is_that_of_white_noise() -> None:
    noise = np.random.default_rng(3).standard_normal((200_000, 1))
    filter_ = ParallelFilter(KERNEL, np.arange(20, 199_980), 200_000)
    assert filter_.apply(noise).std() == pytest.approx(filter_.noise_gain, rel=0.02)


def test_a_wrong_number_of_rows_is_refused() -> None:
    with pytest.raises(ValueError, match='expected 200 rows, found 199'):
        ParallelFilter(KERNEL, np.arange(20, 180), 200).apply(np.zeros(199))
