"""Quintics: their end conditions, exact extrema, gradients, and the shortest durations."""

import numpy as np
import pytest
from robident_ros.excitation.quintic import peaks, Quintics, SHORTEST, shortest_durations

S = np.linspace(0, 1, 4001)


def random_quintics(seed: int, intervals: int = 30, joints: int = 3) -> Quintics:
    """Return quintics of all kinds: at rest, with equal ends, short and long."""
    rng = np.random.default_rng(seed)
    q, v = rng.uniform(-1, 1, (2, intervals + 1, joints))
    q *= rng.choice([0, 0.01, 1], (intervals + 1, 1))
    v *= rng.choice([0, 1], (intervals + 1, 1))
    return Quintics(q, v, np.exp(rng.uniform(-2, 2, intervals)))


def test_ends_are_the_points_with_zero_accelerations() -> None:
    """Equation (27)."""
    quintics = random_quintics(0)
    ends = np.array([0.0, 1.0])
    for order, points in enumerate((quintics.q, quintics.v, np.zeros_like(quintics.q))):
        expected = np.stack([points[:-1], points[1:]], axis=2)
        np.testing.assert_allclose(quintics.value(ends, order), expected, atol=1e-11)


def test_coefficients_are_those_of_the_paper() -> None:
    """Equation (28), as the reference results write it."""
    A, va, vb, u = 0.7, 0.3, -0.4, 1.7
    a = [10 * A / u**3 - (6 * va + 4 * vb) / u**2, -15 * A / u**4 + (8 * va + 7 * vb) / u**3,
         6 * A / u**5 - 3 * (va + vb) / u**4]
    t = S * u
    expected = 0.2 + va * t + a[0] * t**3 + a[1] * t**4 + a[2] * t**5
    found = Quintics([[0.2], [0.2 + A]], [[va], [vb]], [u]).value(S, 0)
    np.testing.assert_allclose(found[0, 0], expected, atol=1e-13)


@pytest.mark.parametrize('order', [0, 1, 2])
def test_extrema_are_exact(order: int) -> None:
    """No sample exceeds the extrema and the ends, and some sample comes close to them."""
    quintics = random_quintics(1)
    candidates = np.concatenate([quintics.value(quintics.extrema(order), order),
                                 quintics.value(np.array([0.0, 1.0]), order)], axis=2)
    dense = quintics.value(S, order)
    scale = 1 + np.abs(dense).max()
    assert np.all(dense.max(axis=2) <= candidates.max(axis=2) + 1e-12 * scale)
    assert np.all(dense.min(axis=2) >= candidates.min(axis=2) - 1e-12 * scale)
    # Between samples an extremum hides a parabola of (1/4000)² times a curvature.
    np.testing.assert_allclose(dense.max(axis=2), candidates.max(axis=2), atol=1e-5 * scale)
    np.testing.assert_allclose(dense.min(axis=2), candidates.min(axis=2), atol=1e-5 * scale)


def test_peaks_are_the_extrema_of_speed_and_acceleration() -> None:
    quintics = random_quintics(2)
    speed, acceleration = peaks(np.diff(quintics.q, axis=0), quintics.v[:-1], quintics.v[1:],
                                quintics.u[:, None])
    dense = [np.abs(quintics.value(S, order)).max(axis=2) for order in (1, 2)]
    np.testing.assert_allclose(speed, dense[0], rtol=1e-5)
    np.testing.assert_allclose(acceleration, dense[1], rtol=1e-5)


@pytest.mark.parametrize('order', [0, 1, 2])
def test_product_is_the_gradient(order: int) -> None:
    """Against central differences, of values at fixed times and of the extrema themselves."""
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-1, 1, (2, 6, 2))
    u = rng.uniform(0.5, 2, 5)
    quintics = Quintics(q, v, u)
    bar = rng.normal(size=(5, 2, 2))
    s = quintics.extrema(order)
    bars = quintics.product(bar, s, order)
    directions = [rng.normal(size=x.shape) for x in (q, v, u)]
    step = 1e-6

    def value(sign: float, at_extrema: bool) -> float:
        moved = Quintics(*(x + sign * step * d for x, d in zip((q, v, u), directions)))
        times = moved.extrema(order) if at_extrema else s
        return np.sum(bar * moved.value(times, order))

    found = sum(np.sum(x * d) for x, d in zip(bars, directions))
    for at_extrema in (False, True):
        expected = (value(1, at_extrema) - value(-1, at_extrema)) / (2 * step)
        assert found == pytest.approx(expected, rel=1e-6)  # central differences: 1e-9 or better


def test_durations_are_those_of_the_reference(golden: dict) -> None:
    for example in golden['p000']['uf_examples']:
        q_a, q_b, v_a, v_b = np.array(example['intervals'], dtype=float).T
        found = shortest_durations(np.array([q_a, q_b]), np.array([v_a, v_b]),
                                   np.array(example['vM']), np.array(example['aM']))
        assert found == pytest.approx(example['uf'], rel=1e-10)
        speed, acceleration = peaks(q_b - q_a, v_a, v_b, found)
        np.testing.assert_allclose(speed, example['vmax'], rtol=1e-9)
        np.testing.assert_allclose(acceleration, example['amax'], rtol=1e-9)


def test_acceleration_is_not_monotone_in_the_duration(golden: dict) -> None:
    """The reference's counterexample to the paper; the first feasible duration is found."""
    example = golden['p000']['monotone_counterexample']
    q_a, q_b, v_a, v_b = example['interval']
    _, acceleration = peaks(q_b - q_a, v_a, v_b, np.array(example['u'], dtype=float))
    np.testing.assert_allclose(acceleration, example['amax'], atol=1e-12)
    points = np.array([[q_a], [q_b]], float), np.array([[v_a], [v_b]], float)
    found = shortest_durations(*points, np.array([1.5]), np.array([0.5]))[0]
    assert found < 1  # a search from above would stop at the last feasible stretch, beyond 2
    assert peaks(1, 1, 1, np.array([found]))[1] == pytest.approx(0.5)
    assert peaks(1, 1, 1, np.array([2.0]))[1] > 0.5


def test_no_shorter_duration_is_feasible() -> None:
    """A scan of all shorter durations, on intervals of one to three joints."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n = rng.integers(1, 4)
        q = rng.uniform(-1, 1, (2, n)) * rng.choice([0.01, 0.3, 2])
        v = rng.uniform(-1, 1, (2, n))
        limit = 10**rng.uniform(-1, 1, n)
        found = shortest_durations(q, v, np.ones(n), limit)[0]

        def within(u: np.ndarray) -> np.ndarray:
            speed, acceleration = peaks((q[1] - q[0])[:, None], v[0][:, None], v[1][:, None], u)
            return np.all((speed <= 1) & (acceleration <= limit[:, None]), axis=0)

        assert not within(np.geomspace(SHORTEST, found * (1 - 1e-6), 5000)).any()
        assert within(np.array([found * (1 + 1e-9)])).all()


def test_a_joint_that_stays_takes_no_time() -> None:
    still = np.zeros((2, 3))
    assert shortest_durations(still, still, np.ones(3), np.ones(3)) == pytest.approx(
        SHORTEST)


def test_without_a_limit_of_acceleration_speed_decides() -> None:
    """From rest to rest the highest speed is 15/8 of the mean."""
    found = shortest_durations(np.array([[0.0], [2.0]]), np.zeros((2, 1)), np.ones(1),
                               np.array([np.inf]))
    assert found == pytest.approx(15 / 8 * 2)
