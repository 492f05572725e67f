"""True parameters of a simulated robot: changed, known, and possible."""

from experiment_cases import chain
import numpy as np
import pytest
from robident_ros.config import Config, DriveOptions, SimulationOptions
from robident_ros.errors import ConfigError, ModelError
from robident_ros.experiment.truth import check_possible, perturbed_parameters, true_parameters
from robident_ros.model.physical import judge_link
from robident_ros.model.robot import load_robot, Robot
from shipped import shipped


@pytest.mark.parametrize('name', ['arm6', 'arm7', 'kuka_ir361'])
@pytest.mark.parametrize('seed', range(5))
def test_perturbed_bodies_are_possible_and_different(name: str, seed: int) -> None:
    robot = shipped(name)
    theta = perturbed_parameters(robot, seed, 0.5)
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        assert judge_link(joint, theta[column:column + 10]).consistent
        assert abs(theta[column + 9] / robot.theta[column + 9] - 1) > 1e-4
    check_possible(robot, theta)


def test_spread_is_relative_to_the_robot() -> None:
    """No spread changes nothing; a spread of 0.1 changes masses by up to about 10 %."""
    robot = shipped('arm6')
    np.testing.assert_allclose(perturbed_parameters(robot, 3, 0.0), robot.theta, atol=1e-12)
    masses = robot.link_columns + 9
    ratio = perturbed_parameters(robot, 3, 0.1)[masses] / robot.theta[masses]
    assert 0.9 < ratio.min() and ratio.max() < 1.11


def test_seed_decides() -> None:
    robot = shipped('arm6')
    first, again, other = (perturbed_parameters(robot, seed, 0.2) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0


def test_bodies_without_mass_stay_without() -> None:
    robot = shipped('tx40')
    theta = perturbed_parameters(robot, 0, 0.2)
    for column in robot.link_columns:
        if robot.theta[column + 9] == 0:
            assert theta[column + 9] == 0


def rods() -> Robot:
    damped = '<dynamics damping="0.5" friction="0.2"/>'
    config = Config(drives=DriveOptions(rotor_inertia={'j1': 0.3}))
    return load_robot(chain(('', ''), more=(damped, '')), config)


def test_options_name_the_drives_values() -> None:
    """What is not named is the model's, times a factor near one."""
    robot = rods()
    options = SimulationOptions(spread=0.1, viscous={'j2': 2.0}, offset={'j1': -0.7},
                                coulomb={'j2': 3.0}, rotor_inertia={'j2': 0.05})
    value = dict(zip(robot.parameter_names, true_parameters(robot, options)))
    assert [value[name] for name in ('Fv2', 'off1', 'Fc2', 'Ia2')] == [2.0, -0.7, 3.0, 0.05]
    for name, model in (('Ia1', 0.3), ('Fv1', 0.5), ('Fc1', 0.2)):
        assert value[name] == pytest.approx(model, rel=0.11) and value[name] != model
    assert value['off2'] == 0


@pytest.mark.parametrize('options, message', [
    (SimulationOptions(viscous={'j9': 1.0}), "simulation: viscous: 'j9' is no joint with Fv"),
    (SimulationOptions(coulomb={'j1': -1.0}), 'simulation: coulomb: j1: is -1.0')])
def test_wrong_drive_values_are_refused(options: SimulationOptions, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        true_parameters(rods(), options)


@pytest.mark.parametrize('name', ['puma560', 'stanford', 'gautier_khalil_3dof'])
def test_impossible_bodies_are_refused(name: str) -> None:
    """What the papers print is not a body: it cannot be simulated, and the error says which."""
    robot = shipped(name)
    with pytest.raises(ModelError, match='cannot be simulated: link of joint .joint'):
        check_possible(robot, robot.theta)


def test_negative_friction_is_refused() -> None:
    robot = rods()
    theta = np.array(robot.theta)
    theta[robot.parameter_names.index('Fv2')] = -0.1
    with pytest.raises(ModelError, match='Fv2 is -0.1, expected zero or more'):
        check_possible(robot, theta)
