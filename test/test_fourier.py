"""Fourier trajectories: the paper's series, exact derivatives, files."""

from pathlib import Path

import numpy as np
import pytest
from robident_ros.errors import ConfigError, ExcitationError
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.excitation.trajectory import load_trajectory, save_trajectory, Trajectory

NAMES = ('a', 'b', 'c')


def make(harmonics=(1, 2, 5), seed: int = 0) -> FourierTrajectory:
    basis = make_basis(NAMES, 0.2, harmonics)
    coefficients = np.random.default_rng(seed).normal(size=basis.mask.shape) * basis.mask
    return FourierTrajectory(basis, coefficients)


def test_series_is_that_of_paper_004() -> None:
    """Eq. (5), written out for one joint and one time."""
    trajectory = make()
    q0, a, b = np.split(trajectory.coefficients[1], [1, 4])
    t, w = 1.3, 2 * np.pi * 0.2 * np.array([1, 2, 5])
    q, v, acceleration = (values[0, 1] for values in trajectory.sample(np.array([t])))
    assert q == pytest.approx(q0[0] + np.sum(a / w * np.sin(w * t) - b / w * np.cos(w * t)))
    assert v == pytest.approx(np.sum(a * np.cos(w * t) + b * np.sin(w * t)))
    assert acceleration == pytest.approx(np.sum(-a * w * np.sin(w * t) + b * w * np.cos(w * t)))


def test_derivatives_are_exact_and_the_motion_repeats() -> None:
    trajectory, h = make(), 1e-5
    t = np.linspace(0, 5, 50)
    (q1, v1, _), (q2, v2, _) = trajectory.sample(t - h), trajectory.sample(t + h)
    q, v, a = trajectory.sample(t)
    np.testing.assert_allclose((q2 - q1) / (2 * h), v, atol=1e-7)
    np.testing.assert_allclose((v2 - v1) / (2 * h), a, atol=1e-7)
    np.testing.assert_allclose(trajectory.sample(t + trajectory.period)[0], q, atol=1e-12)
    assert isinstance(trajectory, Trajectory)


def test_harmonics_may_be_skipped_and_differ_by_joint() -> None:
    trajectory = make({'a': (2, 3), 'b': (7,), 'c': (3,)})
    assert trajectory.basis.harmonics == (2, 3, 7)
    assert trajectory.band_hz == pytest.approx((0.4, 1.4))
    t = np.arange(1000) / 1000 * trajectory.period
    spectrum = np.abs(np.fft.rfft(trajectory.sample(t)[1], axis=0)) > 1e-9
    assert [list(np.flatnonzero(column)) for column in spectrum.T] == [[2, 3], [7], [3]]


@pytest.mark.parametrize('harmonics', [(1, 2, 3), {'a': (2, 3), 'b': (7,), 'c': (3,)}])
def test_a_file_keeps_every_bit(tmp_path: Path, harmonics) -> None:
    trajectory = make(harmonics)
    save_trajectory(trajectory, tmp_path / 't.yaml', {'cond': 1.5})
    loaded = load_trajectory(tmp_path / 't.yaml')
    assert loaded.joint_names == NAMES and loaded.period == trajectory.period
    np.testing.assert_array_equal(loaded.coefficients, trajectory.coefficients)
    assert list(tmp_path.iterdir()) == [tmp_path / 't.yaml']


@pytest.mark.parametrize(('damage', 'message'), [
    (('robident_trajectory/1', 'robident_trajectory/2'), "schema is 'robident_trajectory/2'"),
    (('kind: fourier', 'kind: spline'), "kind is 'spline', expected one of fourier"),
    (('q0:', 'q1:'), "is damaged: KeyError: 'q0'"),
    (('frequency_hz: 0.2', 'frequency_hz: -1'), 'frequency_hz is -1, expected above zero'),
    (('frequency_hz: 0.2\n', ''), "is damaged: KeyError: 'frequency_hz'"),
])
def test_damaged_files_are_refused(tmp_path: Path, damage: tuple, message: str) -> None:
    path = tmp_path / 't.yaml'
    save_trajectory(make(), path)
    path.write_text(path.read_text().replace(*damage, 1))
    with pytest.raises(ExcitationError, match=message):
        load_trajectory(path)


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='none.yaml: cannot be read'):
        load_trajectory(tmp_path / 'none.yaml')


@pytest.mark.parametrize(('frequency', 'harmonics', 'message'), [
    (0.0, (1,), 'frequency_hz is 0.0'),
    (0.1, (), "joint 'a' has none; give at least one"),
    (0.1, (1, 1), r"joint 'a' has \[1, 1\], expected different whole numbers"),
    (0.1, (0, 1), 'expected different whole numbers from 1'),
    (0.1, {'a': (1,), 'b': (1,)}, "joint 'c' has none"),
])
def test_bases_that_make_no_sense_are_refused(frequency, harmonics, message: str) -> None:
    with pytest.raises(ExcitationError, match=message):
        make_basis(NAMES, frequency, harmonics)


def test_coefficients_must_fit_and_be_finite() -> None:
    basis = make_basis(NAMES, 0.1, (1,))
    with pytest.raises(ValueError, match=r'shape \(2, 3\), expected \(3, 3\)'):
        FourierTrajectory(basis, np.zeros((2, 3)))
    with pytest.raises(ValueError, match='not all finite'):
        FourierTrajectory(basis, np.full((3, 3), np.nan))
