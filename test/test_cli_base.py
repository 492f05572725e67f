"""The command ``robident base``, as a user and as a program calls it."""

import json
import subprocess
import sys

import pytest
from robident_ros.cli.main import main
from shipped import ROOT

PUMA = str(ROOT / 'urdf' / 'puma560.urdf')
PUMA_CONFIG = str(ROOT / 'config' / 'puma560.yaml')


def test_json_is_one_object_with_the_agreed_keys(capsys, golden: dict) -> None:
    assert main(['base', PUMA, '--config', PUMA_CONFIG, '--json']) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data['standard'], data['effective'], data['base']) == (66, 55, 40)
    assert data['regrouped'] == golden['p002_puma']['X2']
    first = data['parameters'][0]
    assert first['name'] == 'ZZ1' and first['relation'].startswith('ZZR1 = ZZ1 + Ia1')
    assert first['value'] == pytest.approx(5.01856) and first['unit'] == 'kg·m²'
    assert [link['consistent'] for link in data['consistent']] == [True] + [False] * 5


def test_table_shows_counts_relations_and_verdicts(capsys, monkeypatch) -> None:
    monkeypatch.setenv('COLUMNS', '80')
    assert main(['base', PUMA, '--terms', 'Ia']) == 0
    text = capsys.readouterr().out
    assert '66 standard parameters, 55 with effect, 40 base; 15 are regrouped' in text
    assert 'no: inertia at the centre of mass is not positive definite' in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(('terms', 'standard'), [
    ('none', 60), ('Ia', 66), ('Ia,Fv', 72), ('off,Fc,Fv,Ia', 84)])
def test_terms_choose_the_drive_columns(capsys, terms: str, standard: int) -> None:
    main(['base', PUMA, '--terms', terms, '--json'])
    assert json.loads(capsys.readouterr().out)['standard'] == standard


@pytest.mark.parametrize(('arguments', 'message'), [
    (['nowhere.urdf'], 'robident base: nowhere.urdf: cannot be read: No such file or directory'),
    ([PUMA, '--terms', 'fv'], "robident base: --terms: unknown 'fv', did you mean 'Fv'?"),
    ([PUMA, '--config', 'no.yaml'], 'robident base: no.yaml: cannot be read: No such file'),
])
def test_mistakes_are_one_line_and_exit_code_1(capsys, arguments: list, message: str) -> None:
    assert main(['base', *arguments]) == 1
    out, err = capsys.readouterr()
    assert not out and err.startswith(message) and err.count('\n') == 1


def test_wrong_usage_is_exit_code_2() -> None:
    with pytest.raises(SystemExit) as stop:
        main(['base'])
    assert stop.value.code == 2


def test_warnings_go_to_stderr_with_the_command(capsys, tmp_path) -> None:
    path = tmp_path / 'bare.urdf'
    path.write_text('<robot name="r"><link name="a"/><link name="b"/><joint name="j" '
                    'type="continuous"><parent link="a"/><child link="b"/></joint></robot>')
    assert main(['base', str(path), '--json']) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)['base'] == 6
    assert err.startswith(f"robident base: warning: {path}: joint 'j': the links it moves have no")


def test_help_imports_nothing_heavy() -> None:
    code = ('import sys; from robident_ros.cli.main import make_parser; make_parser(); '
            'print(sorted({"numpy", "scipy", "pinocchio", "pandas", "yaml"} & set(sys.modules)))')
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=True, cwd=ROOT).stdout.strip() == '[]'
