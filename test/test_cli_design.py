"""The command ``robident design``, as a user and as a program calls it."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from robident_ros.cli.main import main
from robident_ros.excitation.trajectory import load_trajectory
from shipped import ROOT

ARM = str(ROOT / 'urdf' / 'arm6.urdf')


def test_json_has_the_agreed_keys_and_the_file_can_be_read(capsys, tmp_path: Path) -> None:
    path = tmp_path / 'traj.yaml'
    assert main(['design', ARM, '--budget', '0.5', '--seed', '1', '-o', str(path), '--json']) == 0
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert {'cond', 'scaled_cond', 'equilibrium', 'feasible', 'margins', 'cpu_seconds',
            'evaluations'} <= set(data)
    assert data['feasible'] and data['seed'] == 1 and 'starts  criterion' in err
    assert load_trajectory(path).joint_names == tuple(f'joint{i}' for i in range(1, 7))


def test_text_says_what_binds_and_what_was_not_known(capsys, monkeypatch) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    assert main(['design', ARM, '--budget', '0.3']) == 0
    text = capsys.readouterr().out
    assert 'condition number' in text and 'at the limit:' in text
    assert 'note: no floor is configured: the tool goes down to z =' in text


def test_a_picture_is_drawn(tmp_path: Path, capsys) -> None:
    pytest.importorskip('matplotlib')
    assert main(['design', ARM, '--budget', '0.3', '--plot', str(tmp_path / 't.png')]) == 0
    assert (tmp_path / 't.png').read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize('option', [['--seed', '-1'], ['--budget', '0'], ['--budget', 'nan'],
                                    ['--budget', '-5'], ['--kind', 'spline']])
def test_impossible_options_are_wrong_usage(option: list) -> None:
    with pytest.raises(SystemExit) as stop:
        main(['design', ARM, *option])
    assert stop.value.code == 2


@pytest.mark.parametrize('kind', ['polynomial', 'single-joint'])
def test_other_kinds_are_written_and_read(capsys, tmp_path: Path, kind: str) -> None:
    path = tmp_path / 'traj.yaml'
    robot = str(ROOT / 'urdf' / 'gautier_khalil_3dof.urdf')
    config = tmp_path / 'c.yaml'
    config.write_text('schema: robident_config/1\nexcitation: {self_collision: false}\n')
    assert main(['design', robot, '--kind', kind, '--budget', '20', '-o', str(path), '--json',
                 '--config', str(config), '--terms', 'none']) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['feasible'] and data['kind'] == kind and data['cond'] > 1
    assert load_trajectory(path).joint_names == ('joint1', 'joint2', 'joint3')


def test_a_polynomial_is_feasible_or_refused_never_written_unsafe(capsys) -> None:
    config = ROOT / 'config' / 'parallelogram.yaml'
    code = main(['design', str(ROOT / 'urdf' / 'parallelogram.urdf'), '--config', str(config),
                 '--kind', 'polynomial', '--budget', '1', '--json'])
    out, err = capsys.readouterr()
    assert code == 0 or 'points joined by polynomials keep the limits of the joints, but' in err
    assert code == 1 or json.loads(out)['feasible']


def test_a_picture_of_unknown_kind_is_said_before_the_work(capsys) -> None:
    assert main(['design', ARM, '--plot', 'a.foo']) == 1
    assert 'a.foo: expected a picture ending in .png, .pdf, .svg' in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_said_before_the_work(capsys) -> None:
    assert main(['design', ARM, '-o', 'nowhere/traj.yaml']) == 1
    assert capsys.readouterr().err == ('robident design: nowhere/traj.yaml: its folder does not '
                                       'exist; make it first\n')


def test_ctrl_c_writes_the_best_so_far(tmp_path: Path) -> None:
    path = tmp_path / 'traj.yaml'
    process = subprocess.Popen(
        [sys.executable, '-m', 'robident_ros.cli.main', 'design', ARM, '--budget', '300',
         '-o', str(path)], cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, 'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1'})
    process.stderr.readline()  # the first start is done
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and 'stopped early: this is the best so far' in out
    assert load_trajectory(path).period == 10
