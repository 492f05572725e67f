"""The command ``robident inspect``, as a user and as a program calls it."""

from dataclasses import replace
import json
from pathlib import Path

from motions import NAMES, periodic_recording
import numpy as np
import pytest
from robident_ros.cli.main import main
from robident_ros.recording import Recording, write_bag, write_csv


@pytest.fixture
def recording() -> Recording:
    """Eight noisy periods, with a gap, unknown efforts and a disturbed period."""
    whole = periodic_recording(8, noise_q=1e-4, noise_tau=0.1)
    tau = whole.tau.copy()
    tau[100:120, 0] = np.nan
    tau[1600:1650, 1] += 8
    keep = (whole.t < 21.0) | (whole.t > 21.4)
    return Recording(whole.t[keep], whole.q[keep], None, tau[keep], NAMES)


def test_json_is_one_object_with_all_facts(capsys, tmp_path: Path, recording: Recording) -> None:
    write_bag(recording, tmp_path / 'bag')
    assert main(['inspect', str(tmp_path / 'bag'), '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts['samples'] == len(recording) and facts['rate_hz'] == pytest.approx(100)
    assert facts['duration_s'] == pytest.approx(39.99)
    assert facts['period_s'] == pytest.approx(5.0, abs=1e-3) and facts['periods'] == 7
    assert facts['periods_left_out'][0].startswith('period 3: outlier: effort of elbow')
    ((start, length),) = facts['gaps']
    assert (start, length) == (pytest.approx(20.99), pytest.approx(0.42))
    assert [joint['name'] for joint in facts['joints']] == list(NAMES)
    for joint in facts['joints']:
        assert joint['position_noise'] == pytest.approx(1e-4, rel=0.1)
        assert joint['effort_noise'] == pytest.approx(0.1, rel=0.1)
    assert facts['joints'][0]['efforts_unknown'] == 20
    assert facts['warnings'] == [] and not facts['has_velocities']


def test_text_and_picture(capsys, tmp_path: Path, recording: Recording) -> None:
    pytest.importorskip('matplotlib')
    write_csv(recording, tmp_path / 'x.csv')
    assert main(['inspect', str(tmp_path / 'x.csv'), '--joints', 'elbow,wrist',
                 '--plot', str(tmp_path / 'x.png')]) == 0
    text = capsys.readouterr().out
    assert 'periods: 7 of 5 s' in text and 'gaps: 1, the longest 420.0 ms at 20.990 s' in text
    assert 'elbow' in text and 'shoulder' not in text
    assert (tmp_path / 'x.png').read_bytes().startswith(b'\x89PNG')


def test_the_joints_of_a_foreign_file_are_described_by_the_configuration(
        capsys, tmp_path: Path, recording: Recording) -> None:
    np.savetxt(tmp_path / 'log.txt', np.hstack([recording.q, recording.tau]))
    (tmp_path / 'c.yaml').write_text(
        'schema: robident_config/1\n'
        'recording:\n  joints: [a, b, c]\n  rate_hz: 100\n  position: {first_column: 1}\n'
        '  effort: {first_column: 4}\n'
        'processing: {average_periods: false, cutoff_hz: 4}\n')
    assert main(['inspect', str(tmp_path / 'log.txt'), '--config', str(tmp_path / 'c.yaml'),
                 '--json']) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [joint['name'] for joint in facts['joints']] == ['a', 'b', 'c']
    assert facts['cutoff_hz'] == 4 and facts['period_s'] is None


def test_a_recording_without_efforts_can_be_looked_at(capsys, tmp_path: Path,
                                                      recording: Recording) -> None:
    silent = replace(recording, tau=np.full(recording.tau.shape, np.nan))
    write_bag(silent, tmp_path / 'bag', 'sqlite3')
    assert main(['inspect', str(tmp_path / 'bag')]) == 0
    text = capsys.readouterr().out
    assert 'no message has efforts' in text and 'periods: 8 of 5 s' in text


@pytest.mark.parametrize('arguments, message', [
    (['missing'], 'missing: there is no such file or folder'),
    (['bag', '--topic', '/other'], "has no topic '/other', it has: /joint_states"),
    (['bag', '--joints', 'elbo'], "has no joint 'elbo', did you mean 'elbow'?"),
    (['bag', '--period', '3.1'], 'does not repeat itself with the period given'),
    (['bag', '--config', 'none.yaml'], 'none.yaml: cannot be read'),
    (['bag', '--plot', 'no/where.png'], 'no/where.png: the picture cannot be written'),
])
def test_a_mistake_is_one_line_and_exit_code_1(capsys, tmp_path: Path, monkeypatch, arguments,
                                               message: str, recording: Recording) -> None:
    monkeypatch.chdir(tmp_path)
    write_bag(recording, tmp_path / 'bag')
    assert main(['inspect', *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith('robident inspect: ') and captured.err.count('\n') == 1
    assert message in captured.err
