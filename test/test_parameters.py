"""Standard parameters convert to and from Pinocchio and URDF inertials without loss."""

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.model.parameters import from_inertial, from_pinocchio, to_inertial, to_pinocchio

RNG = np.random.default_rng(0)


def test_pinocchio_order_there_and_back_is_exact() -> None:
    parameters = RNG.normal(size=(5, 10))
    np.testing.assert_array_equal(from_pinocchio(to_pinocchio(parameters)), parameters)


def test_order_is_that_of_pinocchios_dynamic_parameters() -> None:
    body = pin.Inertia.Random()
    expected = from_inertial(body.mass, body.lever, body.inertia)
    np.testing.assert_allclose(from_pinocchio(body.toDynamicParameters()), expected, rtol=1e-14)


@pytest.mark.parametrize('seed', range(5))
def test_inertials_there_and_back_are_equal_to_round_off(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass, com, root = rng.uniform(0.1, 10), rng.normal(size=3), rng.normal(size=(3, 3))
    inertia = root @ root.T
    mass_back, com_back, inertia_back = to_inertial(from_inertial(mass, com, inertia))
    # Steiner's term is subtracted again: round-off of its size, not of the inertia's.
    scale = np.abs(inertia).max() + mass * com @ com
    assert mass_back == mass
    np.testing.assert_allclose(com_back, com, rtol=1e-15)
    np.testing.assert_allclose(inertia_back, inertia, atol=4e-16 * scale)


def test_a_link_without_mass_has_its_centre_at_the_origin() -> None:
    mass, com, inertia = to_inertial(np.zeros(10))
    assert mass == 0 and not com.any() and not inertia.any()
