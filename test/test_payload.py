"""A load is found from motion without and with it, and says what it is not sure of."""

import json

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.cli.main import main
from robident_ros.errors import EstimationError
from robident_ros.estimation.compress import compress
from robident_ros.estimation.payload import identify_payload
from robident_ros.model.base import base_parameters
from robident_ros.model.composite import transport
from robident_ros.model.parameters import from_inertial, from_pinocchio
from robident_ros.recording import Recording, write_csv
from shipped import ROOT, shipped
from synthetic import motion, simulate, torque, with_drives

LOAD = from_inertial(2.5, [0.03, -0.02, 0.08], np.diag([0.010, 0.012, 0.008]))


def recordings(name: str, noise: float, seed: int = 1, load: np.ndarray = LOAD) -> tuple:
    """Return the robot, and information without and with the load, under other friction."""
    robot = shipped(name)
    base, column = base_parameters(robot), robot.link_columns[-1]
    unloaded, loaded = with_drives(robot, 0), with_drives(robot, 5)
    column_of_rotor = [c for c, term in zip(robot.drive_columns, robot.drive_terms)
                       if term.symbol == 'Ia']
    loaded[column_of_rotor] = unloaded[column_of_rotor]  # friction changes, rotors do not
    loaded[column:column + 10] += load
    return (compress(simulate(robot, unloaded, 1000, noise, seed), robot, base)[0],
            compress(simulate(robot, loaded, 1000, noise, seed + 1), robot, base)[0], robot, base)


@pytest.mark.parametrize('name', ['arm6', 'arm7'])
def test_exact_data_give_the_load(name: str) -> None:
    found = identify_payload(*recordings(name, 0.0))
    np.testing.assert_allclose(found.value, LOAD, atol=1e-9)
    assert found.names[-1] == 'M' and found.verdict.consistent


def test_deviations_are_honest() -> None:
    errors = []
    for seed in range(0, 40, 2):
        found = identify_payload(*recordings('arm6', 0.05, seed))
        errors.append((found.value - LOAD) / found.std)
    # 200 values: the rms is within 10 % of one if deviations are right
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1, abs=0.2)


def test_no_load_is_found_to_be_none() -> None:
    found = identify_payload(*recordings('arm6', 0.05, load=np.zeros(10)))
    assert (np.abs(found.value) < 5 * found.std).all()


def test_the_load_is_told_in_the_frame_asked_for() -> None:
    unloaded, loaded, robot, base = recordings('arm6', 0.0)
    frame = next(f for f in reversed(list(robot.tree.frames)) if f.parentJoint == 6)
    found = identify_payload(unloaded, loaded, robot, base, frame.name)
    body = pin.Inertia(2.5, np.array([0.03, -0.02, 0.08]), np.diag([0.010, 0.012, 0.008]))
    expected = from_pinocchio(frame.placement.actInv(body).toDynamicParameters())
    np.testing.assert_allclose(found.value, expected, atol=1e-9)


def test_what_the_arm_cannot_show_is_said() -> None:
    """Three joints do not move a load in all directions."""
    robot = shipped('kuka_ir361')
    base = base_parameters(robot)
    theta = with_drives(robot)
    information = compress(simulate(robot, theta, 400), robot, base)[0]
    found = identify_payload(information, information, robot, base)
    assert np.isinf(found.std).any() and found.verdict is None
    assert np.isnan(found.value[np.isinf(found.std)]).all()


def test_a_robot_with_two_ends_must_be_told_which_carries_the_load() -> None:
    """In a closed loop the last joint of the tree need not be the one that leads to the tool."""
    robot = shipped('parallelogram')
    base, frame = base_parameters(robot), 'tool0'
    carrier = next(f for f in robot.tree.frames if f.name == frame)
    column = robot.link_columns[carrier.parentJoint - 1]
    theta = with_drives(robot)
    loaded = np.array(theta)
    loaded[column:column + 10] += transport(carrier.placement) @ LOAD
    data = [compress(simulate(robot, x, 600, 0.0, seed), robot, base)[0]
            for seed, x in enumerate((theta, loaded))]
    with pytest.raises(EstimationError, match=r'2 ends \(.*tool0.*--frame'):
        identify_payload(*data, robot, base)
    found = identify_payload(*data, robot, base, frame)
    shown = np.isfinite(found.std)
    assert shown.any()
    np.testing.assert_allclose(found.value[shown], LOAD[shown], atol=1e-7)


def test_an_unknown_frame_is_refused() -> None:
    with pytest.raises(EstimationError, match="'tool7'"):
        identify_payload(*recordings('arm6', 0.0), 'tool7')


def test_the_command_tells_the_load(tmp_path, capsys) -> None:
    robot = shipped('arm6')
    column = robot.link_columns[-1]
    for name, seed, load in (('without', 1, 0), ('with', 2, LOAD)):
        theta = with_drives(robot)
        theta[column:column + 10] += load
        t, q, _, _ = motion(robot, 4000, seed)
        v = np.gradient(q, t, axis=0)
        a = np.gradient(v, t, axis=0)
        tau = torque(robot, theta, q, v, a)
        write_csv(Recording(t, q, None, tau, robot.joint_names), tmp_path / f'{name}.csv')
    arguments = ['payload', str(ROOT / 'urdf' / 'arm6.urdf'), str(tmp_path / 'without.csv'),
                 str(tmp_path / 'with.csv')]
    assert main([*arguments, '--json']) == 0
    data = json.loads(capsys.readouterr().out)
    # differentiating the positions again costs some digits
    assert data['parameters']['M'] == pytest.approx(2.5, rel=0.05)
    assert main(arguments) == 0
    assert 'load in the frame of joint6' in capsys.readouterr().out
