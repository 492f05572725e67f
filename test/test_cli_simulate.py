"""``robident simulate``: a bag like a recorder's, and the truth beside it."""

import json
from pathlib import Path

import pytest
from robident_ros.cli.main import main
from robident_ros.recording import read_recording
from shipped import ROOT, shipped
import yaml

pytest.importorskip('mujoco', reason='MuJoCo is not installed')
URDF = str(ROOT / 'urdf' / 'arm6.urdf')


@pytest.fixture
def trajectory(tmp_path: Path) -> str:
    import numpy as np
    from robident_ros.excitation.fourier import FourierTrajectory, make_basis
    from robident_ros.excitation.trajectory import save_trajectory
    basis = make_basis(shipped('arm6').joint_names, 0.5, (1, 2))
    coefficients = 0.1 * np.random.default_rng(0).uniform(-1, 1, basis.mask.shape)
    save_trajectory(FourierTrajectory(basis, coefficients), tmp_path / 'trajectory.yaml')
    return str(tmp_path / 'trajectory.yaml')


def test_it_writes_a_bag_and_the_true_parameters(tmp_path: Path, trajectory: str,
                                                 capsys: pytest.CaptureFixture) -> None:
    assert main(['simulate', URDF, trajectory, '-o', str(tmp_path / 'out'), '--periods', '1',
                 '--rate', '100', '--json']) == 0
    said = json.loads(capsys.readouterr().out)
    recording = read_recording(tmp_path / 'out' / 'recording')
    assert len(recording) == said['samples']
    assert recording.joint_names == shipped('arm6').joint_names
    truth = yaml.safe_load((tmp_path / 'out' / 'truth.yaml').read_text())
    assert tuple(truth) == shipped('arm6').parameter_names


@pytest.mark.parametrize('options, words', [
    (['--rate', '333'], 'expected a divisor'), (['--rate', '0'], 'expected above zero'),
    (['--periods', '0'], '--periods: is 0')])
def test_what_cannot_be_simulated_is_refused(tmp_path: Path, trajectory: str, options: list,
                                             words: str, capsys: pytest.CaptureFixture) -> None:
    assert main(['simulate', URDF, trajectory, '-o', str(tmp_path / 'out'), *options]) == 1
    error = capsys.readouterr().err
    assert words in error and len(error.splitlines()) == 1


def test_running_asks_first_and_needs_a_trajectory(tmp_path: Path,
                                                   capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    assert main(['run', URDF, str(tmp_path / 'none.yaml')]) == 1
    assert 'none.yaml: there is no such file' in capsys.readouterr().err
