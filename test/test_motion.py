"""Motions: splines as joint_trajectory_controller makes them, and motions at another pace."""

from experiment_cases import Fourier
import numpy as np
import pytest
from robident_ros.experiment.motion import make_spline, Paced, Played, rest_to_rest


def random_points(rng: np.random.Generator, count: int = 5) -> tuple[np.ndarray, ...]:
    return np.cumsum(rng.uniform(0.1, 1, count)), *rng.normal(size=(3, count, 2))


@pytest.mark.parametrize('given', [1, 2, 3], ids=['linear', 'cubic', 'quintic'])
def test_spline_passes_through_its_points(given: int) -> None:
    """Whatever is given of a point (position, speed, acceleration) is met."""
    t, *points = random_points(np.random.default_rng(0))
    spline = make_spline(t, *points[:given])
    for found, expected in zip(spline.sample(t)[:given], points):
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize('given, degree', [(1, 1), (2, 3), (3, 5)])
def test_spline_reproduces_polynomials_of_its_degree(given: int, degree: int) -> None:
    polynomial = np.polynomial.Polynomial(np.random.default_rng(1).normal(size=degree + 1))
    t = np.array([0.0, 0.7, 1.0, 2.1])
    derivatives = [polynomial.deriv(k) if k else polynomial for k in range(3)]
    points = [derivative(t)[:, None] for derivative in derivatives[:given]]
    dense = np.linspace(0, 2.1, 50)
    for found, expected in zip(make_spline(t, *points).sample(dense), derivatives):
        np.testing.assert_allclose(found[:, 0], expected(dense), atol=1e-9)


def test_quintic_spline_agrees_with_scipy() -> None:
    interpolate = pytest.importorskip('scipy.interpolate')
    t, q, v, a = random_points(np.random.default_rng(2))
    other = interpolate.BPoly.from_derivatives(t, np.stack([q, v, a], axis=1))
    dense = np.linspace(t[0], t[-1], 101)
    spline = make_spline(t, q, v, a)
    np.testing.assert_allclose(spline.sample(dense)[0], other(dense), atol=1e-10)
    np.testing.assert_allclose(spline.sample(dense)[2], other.derivative(2)(dense), atol=1e-8)


def test_spline_rests_outside_its_points() -> None:
    t, *points = random_points(np.random.default_rng(3))
    q, v, a = make_spline(t, *points).sample(np.array([t[0] - 1, t[-1] + 1]))
    np.testing.assert_allclose(q, points[0][[0, -1]], atol=1e-12)
    assert not v.any() and not a.any()


def test_rest_to_rest_has_the_published_peaks() -> None:
    """A quintic from rest to rest has speed 15/8 and acceleration 10/√3 of way over time."""
    _, v, a = rest_to_rest(np.zeros(1), np.full(1, 2.0), 4.0).sample(np.linspace(0, 4, 100001))
    assert np.abs(v).max() == pytest.approx(15 / 8 * 2 / 4, rel=1e-8)
    assert np.abs(a).max() == pytest.approx(10 / np.sqrt(3) * 2 / 16, rel=1e-8)


@pytest.fixture
def wave() -> Played:
    rng = np.random.default_rng(4)
    trajectory = Fourier(('a', 'b'), rng.normal(size=2), *rng.normal(size=(2, 2, 3)))
    return Played(trajectory, (1, 0), 8.0)


def test_periodic_motion_repeats_and_reorders(wave: Played) -> None:
    t = np.linspace(-3, 3, 7)
    for found, later, own in zip(wave.sample(t), wave.sample(t + 8), wave.trajectory.sample(t)):
        np.testing.assert_allclose(found, later, atol=1e-12)
        np.testing.assert_allclose(found, own[:, ::-1], atol=1e-12)


@pytest.mark.parametrize('rising', [True, False])
def test_paced_motion_has_its_own_derivatives(wave: Played, rising: bool) -> None:
    """Speed and acceleration are those of the position (central differences, 1e-6 s)."""
    paced = Paced(wave, 0.3, 2.0, rising)
    t, h = np.linspace(0.1, 1.9, 40), 1e-6
    before, after = paced.sample(t - h), paced.sample(t + h)
    for k in (0, 1):
        slope = (after[k] - before[k]) / (2 * h)
        np.testing.assert_allclose(paced.sample(t)[k + 1], slope, atol=1e-7)


def test_ramp_joins_rest_and_motion(wave: Played) -> None:
    """A rising pace begins at rest and ends in the motion's own state, half its time ahead."""
    paced = Paced(wave, -1.0, 2.0, rising=True)
    q, v, a = paced.sample(np.array([0.0, 2.0]))
    for found, expected in zip((q, v, a), wave.sample(np.array([0.0]))):
        np.testing.assert_allclose(found[1], expected[0], atol=1e-12)
    np.testing.assert_allclose(q[0], wave.sample(np.array([-1.0]))[0][0], atol=1e-12)
    assert not v[0].any() and not a[0].any()
