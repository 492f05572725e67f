"""Commands identify and validate: files, JSON, words, and one line for every failure."""

import json
from pathlib import Path

import numpy as np
import pytest
from robident_ros.cli.main import main
from robident_ros.recording import Recording, write_bag, write_csv
from shipped import ROOT, SHARED, shipped
from synthetic import motion, torque, with_drives

ROBOT = shipped('arm6')
URDF = str(ROOT / 'urdf' / 'arm6.urdf')
DATA = SHARED / 'data'
FAST = """schema: robident_config/1
estimation: {coulomb: sign, segments: 2}
"""


def recording(seed: int = 0, count: int = 4000) -> Recording:
    """Return a recording of the arm at 200 Hz, with the motion that its positions really make."""
    t, q, _, _ = motion(ROBOT, count, seed)
    step = t[1] - t[0]
    v = np.gradient(q, step, axis=0)
    a = np.gradient(v, step, axis=0)
    tau = torque(ROBOT, with_drives(ROBOT), q, v, a)
    noise = np.random.default_rng(seed).normal(size=tau.shape)
    return Recording(t, q, None, tau + 0.01 * tau.std(axis=0) * noise, ROBOT.joint_names)


@pytest.fixture(scope='module')
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp('recordings')
    write_csv(recording(0), folder / 'one.csv')
    write_bag(recording(1), folder / 'two')
    (folder / 'fast.yaml').write_text(FAST)
    return folder


@pytest.fixture(scope='module')
def identified(files: Path) -> Path:
    folder = files / 'out'
    assert main(['identify', URDF, str(files / 'one.csv'), '-o', str(folder),
                 '--config', str(files / 'fast.yaml')]) == 0
    return folder


def test_json_has_the_keys_that_programs_rely_on(files: Path, tmp_path, capsys) -> None:
    assert main(['identify', URDF, str(files / 'one.csv'), str(files / 'two'), '--json',
                 '--config', str(files / 'fast.yaml'), '--holdout', 'second-half', '-o',
                 str(tmp_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {'relative_error', 'relative_error_per_joint', 'condition', 'base', 'essential',
            'consistent', 'masses', 'holdout_error', 'cpu_seconds', 'peak_mb'} <= set(data)
    assert data['relative_error'] < 0.05 and data['consistent'] is True
    assert set(data['masses']) == set(ROBOT.joint_names)


def test_the_summary_fits_a_terminal(identified: Path, files: Path, tmp_path, capsys) -> None:
    assert main(['identify', URDF, str(files / 'one.csv'), '-o', str(tmp_path), '--config',
                 str(files / 'fast.yaml')]) == 0
    text = capsys.readouterr().out
    assert 'joint1' in text and 'identified.urdf' in text
    lines = [line for line in text.splitlines() if not line.startswith('written')]
    assert max(len(line) for line in lines) <= 80


def test_the_folder_is_complete(identified: Path) -> None:
    assert {path.name for path in identified.iterdir()} == {
        'estimate.yaml', 'identified.urdf', 'config.yaml', 'parameters.csv', 'residuals.npz'}


def test_another_recording_validates_the_estimate(identified: Path, files: Path,
                                                  capsys) -> None:
    for what in (identified, identified / 'estimate.yaml'):
        assert main(['validate', str(what), str(files / 'two'), '--json']) == 0
        data = json.loads(capsys.readouterr().out)
        assert {'relative_error', 'relative_error_per_joint', 'before', 'after'} <= set(data)
        assert data['after'] == data['relative_error'] < 0.1 < data['before']


def test_the_identified_urdf_validates_by_itself(identified: Path, files: Path, capsys) -> None:
    urdf, config = identified / 'identified.urdf', identified / 'config.yaml'
    assert main(['validate', str(identified), str(files / 'two'), '--json']) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main(['validate', str(urdf), str(files / 'two'), '--config', str(config),
                 '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['relative_error'] == pytest.approx(expected['after'], rel=1e-9)
    assert found['before'] is None


def test_validation_prints_a_table(identified: Path, files: Path, capsys) -> None:
    assert main(['validate', str(identified), str(files / 'two')]) == 0
    assert 'before' in capsys.readouterr().out


def failure(capsys, *arguments: str) -> str:
    """Return the one line that a failing command says."""
    assert main(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.out == '' and captured.err.count('\n') == 1
    return captured.err


def test_other_joint_names_are_explained(tmp_path, capsys) -> None:
    write_csv(recording().rename({name: f'fer_{name}' for name in ROBOT.joint_names}),
              tmp_path / 'a.csv')
    line = failure(capsys, 'identify', URDF, str(tmp_path / 'a.csv'))
    assert 'fer_joint1' in line and 'recording: rename' in line


def test_joints_that_were_not_recorded_are_locked(files: Path, tmp_path, capsys) -> None:
    write_csv(recording().select(ROBOT.joint_names[:5]), tmp_path / 'five.csv')
    assert main(['identify', URDF, str(tmp_path / 'five.csv'), '-o', str(tmp_path / 'out'),
                 '--config', str(files / 'fast.yaml'), '--json']) == 0
    captured = capsys.readouterr()
    assert 'joint6; taken as locked' in captured.err
    assert len(json.loads(captured.out)['masses']) == 5


def test_a_missing_recording_is_named(capsys) -> None:
    assert 'nowhere' in failure(capsys, 'identify', URDF, 'nowhere')


def test_a_folder_that_cannot_be_written_is_named(files: Path, capsys) -> None:
    line = failure(capsys, 'identify', URDF, str(files / 'one.csv'), '--config',
                   str(files / 'fast.yaml'), '-o', str(files / 'one.csv' / 'below'))
    assert 'cannot be written' in line


def test_a_wrong_estimate_is_refused(files: Path, capsys) -> None:
    assert 'schema' in failure(capsys, 'validate', str(files / 'fast.yaml'), str(files / 'two'))


def test_an_estimate_takes_what_concerns_the_recordings(identified: Path, files: Path, tmp_path,
                                                        capsys) -> None:
    """How to process them, but not another robot."""
    command = ['validate', str(identified), str(files / 'two'), '--json']
    assert main(command) == 0
    plain = json.loads(capsys.readouterr().out)['after']
    assert main([*command, '--config', str(files / 'fast.yaml')]) == 0
    assert json.loads(capsys.readouterr().out)['after'] == plain
    (tmp_path / 'cut.yaml').write_text(f'{FAST}processing: {{stop_s: 9}}\n')
    assert main([*command, '--config', str(tmp_path / 'cut.yaml')]) == 0
    assert json.loads(capsys.readouterr().out)['after'] != plain
    (tmp_path / 'other.yaml').write_text(f'{FAST}drives: {{terms: [Fv]}}\n')
    assert 'drives: differs' in failure(capsys, *command[:3], '--config',
                                        str(tmp_path / 'other.yaml'))
    assert '--terms' in failure(capsys, *command[:3], '--terms', 'Fv')


def test_robust_identification_ignores_spikes(files: Path, tmp_path, capsys) -> None:
    original = recording()
    tau = np.array(original.tau)
    tau[::97] += 15 * tau.std(axis=0)
    write_csv(Recording(original.t, original.q, None, tau, original.joint_names),
              tmp_path / 'spikes.csv')
    (tmp_path / 'robust.yaml').write_text(FAST.replace('coulomb', 'robust: true, coulomb'))
    errors = []
    for config in (files / 'fast.yaml', tmp_path / 'robust.yaml'):
        out = tmp_path / config.stem
        assert main(['identify', URDF, str(tmp_path / 'spikes.csv'), '--config', str(config),
                     '-o', str(out), '--json']) == 0
        capsys.readouterr()
        assert main(['validate', str(out), str(files / 'two'), '--json']) == 0
        errors.append(json.loads(capsys.readouterr().out)['after'])
    assert errors[1] < errors[0] / 3


def test_gains_turn_currents_into_efforts(files: Path, tmp_path, capsys) -> None:
    original = recording()
    halved = Recording(original.t, original.q, None, -original.tau / 2, original.joint_names)
    write_csv(halved, tmp_path / 'currents.csv')
    gains = ', '.join(f'{name}: -2' for name in ROBOT.joint_names)
    (tmp_path / 'c.yaml').write_text(f'{FAST}drives: {{gains: {{{gains}}}}}\n')
    assert main(['identify', URDF, str(tmp_path / 'currents.csv'), '--config',
                 str(tmp_path / 'c.yaml'), '-o', str(tmp_path / 'out'), '--json']) == 0
    assert json.loads(capsys.readouterr().out)['relative_error'] < 0.05


# --- measured data -------------------------------------------------------------------------------

TX40 = (ROOT / 'config' / 'recordings' / 'tx40_currents.yaml').read_text()
PANDA = (ROOT / 'config' / 'recordings' / 'panda_link_side.yaml').read_text()


def measured(tmp_path: Path, capsys, urdf: Path, data: Path, config: str = FAST) -> dict:
    if not data.exists():
        pytest.skip('the measured data (shared/data) are not on this machine')
    (tmp_path / 'config.yaml').write_text(config)
    assert main(['identify', str(urdf), str(data), '--config', str(tmp_path / 'config.yaml'),
                 '--holdout', 'second-half', '-o', str(tmp_path / 'out'), '--json']) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['consistent'] is True
    for joint, mass in found['masses'].items():
        assert 0.2 <= mass / found['apriori_masses'][joint] <= 5, joint
    return found


@pytest.mark.slow
@pytest.mark.parametrize('min_speed, error', [('min_speed: 0', 0.075), ('', 0.055)])
def test_tx40_currents(min_speed: str, error: float, tmp_path, capsys) -> None:
    """Over all samples, and without those near zero velocity."""
    found = measured(tmp_path, capsys, ROOT / 'urdf' / 'tx40.urdf', DATA / 'tx40',
                     f'{TX40}  {min_speed}\n')
    assert found['relative_error'] < error
    assert found['base'] == 60 and 25 <= found['essential'] <= 31
    errors = found['relative_errors']
    assert errors['essential'] - errors['base'] < 0.003


@pytest.mark.slow
def test_ur10_bag(tmp_path, capsys) -> None:
    found = measured(tmp_path, capsys, DATA / 'ur10_bag' / 'ur10_robot.urdf', DATA / 'ur10_bag')
    assert found['relative_error'] < 0.065


@pytest.mark.slow
@pytest.mark.filterwarnings('ignore::UserWarning')
def test_panda(tmp_path, capsys) -> None:
    found = measured(tmp_path, capsys, DATA / 'panda' / 'panda.urdf', DATA / 'panda', PANDA)
    assert found['base'] == 64 and found['condition'] == pytest.approx(120, rel=0.1)
    assert found['relative_error'] < 0.014 and found['holdout_error'] < 0.012
