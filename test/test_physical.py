"""Verdicts on links: what could be a body passes, what could not is refused with the reason."""

import numpy as np
import pytest
from robident_ros.model.parameters import from_inertial
from robident_ros.model.physical import from_pseudo_inertia, is_positive_definite, judge_link
from robident_ros.model.physical import pseudo_inertia


def body_of_points(count: int, seed: int = 0) -> np.ndarray:
    """Return the parameters of point masses: a body by construction."""
    rng = np.random.default_rng(seed)
    return sum(from_inertial(mass, com, np.zeros((3, 3)))
               for mass, com in zip(rng.uniform(0.1, 1, count), rng.normal(size=(count, 3))))


@pytest.mark.parametrize('seed', range(20))
def test_any_collection_of_masses_is_consistent(seed: int) -> None:
    verdict = judge_link('j', body_of_points(6, seed))
    assert verdict.consistent and not verdict.semidefinite and not verdict.reason


@pytest.mark.parametrize('points', [1, 2, 3])
def test_points_rods_and_plates_are_on_the_boundary(points: int) -> None:
    verdict = judge_link('j', body_of_points(points))
    assert verdict.consistent and verdict.semidefinite


@pytest.mark.parametrize('size', [1e-3, 1, 1e3])
def test_the_verdict_does_not_depend_on_the_size_of_the_body(size: float) -> None:
    units = np.array([size**2] * 6 + [size] * 3 + [1])
    assert judge_link('j', body_of_points(6) * units).consistent
    assert judge_link('j', body_of_points(2) * units).semidefinite


@pytest.mark.parametrize(('mass', 'moments', 'reason'), [
    (0, (1, 1, 1), 'mass 0 kg is not positive'),
    (-1, (1, 1, 1), 'mass -1 kg is not positive'),
    (1, (1, 1, -0.5), r'not positive definite \(eigenvalue -0.5'),
    (1, (1, 1, 2.5), r'triangle inequality fails: principal inertias 1 \+ 1 < 2.5'),
])
def test_impossible_bodies_are_refused_with_the_reason(mass, moments, reason) -> None:
    import re
    verdict = judge_link('j', from_inertial(mass, [0.1, 0.2, 0.3], np.diag(moments)))
    assert not verdict.consistent and re.search(reason, verdict.reason)


def test_pseudo_inertia_there_and_back() -> None:
    parameters = body_of_points(4)
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(parameters)), parameters,
                               rtol=1e-14)


def test_cholesky_has_a_tolerance() -> None:
    assert is_positive_definite(np.eye(3))
    assert not is_positive_definite(np.diag([1, 1, 1e-12]))
    assert not is_positive_definite(np.diag([1, 1, -1]))


def test_verdicts_on_the_tx40_of_the_paper(golden: dict) -> None:
    """Link 3 of the a-priori values is indefinite, link 6 a point mass (paper 003)."""
    from shipped import shipped
    robot, expected = shipped('tx40'), golden['p003']['pd_links_ref']
    for link, value in expected.items():
        column = robot.link_columns[int(link) - 1]
        lowest = judge_link(link, robot.theta[column:column + 10]).inertia_eigenvalues[0]
        assert {True: lowest > 1e-9, False: lowest < -1e-9}.get(value, abs(lowest) < 1e-9)
