"""The configuration is read strictly: whatever is wrong is named, with what to do."""

from pathlib import Path

import pytest
from robident_ros.config import Config, DriveOptions, dump_config, load_config
from robident_ros.errors import ConfigError

HEAD = 'schema: robident_config/1\n'


def write(folder: Path, text: str) -> Path:
    path = folder / 'robot.yaml'
    path.write_text(text)
    return path


def test_without_a_file_everything_is_at_its_default() -> None:
    assert load_config(None) == Config()


def test_an_empty_section_is_at_its_default(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, HEAD + 'drives:\n')).drives == DriveOptions()


def test_dump_and_load_are_inverse(tmp_path: Path) -> None:
    path = write(tmp_path, HEAD + """
model:
  joints: [a, b]
  followers: {c: {joints: {a: 1.0, b: -1}, offset: 0.5}}
  limits: {a: {velocity: 1e-1}}
drives: {terms: [Fv], couplings: {b: {a: 1, b: 1}}}
""")
    config = load_config(path)
    assert config.model.limits['a'].velocity == 0.1  # YAML 1.1 reads 1e-1 as a text
    assert load_config(write(tmp_path, dump_config(config))) == config


@pytest.mark.parametrize(('text', 'message'), [
    ('model: {}', r'schema is None.*start the file with'),
    ('schema: robident_config/2', r"schema is 'robident_config/2', expected"),
    (HEAD + 'modle: {}', r"modle: unknown key, did you mean 'model'\?"),
    (HEAD + 'drives: {term: [Ia]}', r"drives: term: unknown key, did you mean 'terms'\?"),
    (HEAD + 'drives: {terms: [fv]}', r"drives: terms: unknown 'fv', did you mean 'Fv'\?"),
    (HEAD + 'drives: {terms: Ia}', r'drives: terms: expected a list'),
    (HEAD + 'drives: {coulomb_width: wide}', r'coulomb_width: expected a finite number'),
    (HEAD + 'drives: {coulomb_width: .nan}', r'coulomb_width: expected a finite number'),
    (HEAD + 'drives: {coulomb_width: -1}', r'coulomb_width: is -1.0, expected at least 0'),
    (HEAD + 'drives: {couplings: [1]}', r'couplings: expected a section'),
    (HEAD + 'model: {limits: {a: {velocity: -1}}}', r'limits: a: velocity: is -1.0'),
    (HEAD + 'model: 3', r'model: expected a section'),
    (HEAD + 'model: {}\nmodel: {}', r"key 'model' stands twice"),
    ('- a\n- b', r'expected "key: value" lines'),
    ('a: [', r'is not valid YAML'),
])
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as error:
        load_config(path)
    assert str(error.value).startswith(str(path)) and '\n' not in str(error.value)


def test_missing_and_binary_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='nowhere.yaml: cannot be read: No such file'):
        load_config(tmp_path / 'nowhere.yaml')
    (tmp_path / 'binary.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(ConfigError, match='binary.yaml: cannot be read: is not a text file'):
        load_config(tmp_path / 'binary.yaml')


def test_off_is_the_name_of_a_parameter_and_not_false(tmp_path) -> None:
    """YAML 1.1 reads off as false; in our files only true and false are truth values."""
    path = tmp_path / 'config.yaml'
    path.write_text('schema: robident_config/1\ndrives: {terms: [Fv, off]}\n'
                    'estimation: {robust: true}\n')
    config = load_config(path)
    assert config.drives.terms == ('Fv', 'off')
    assert config.estimation.robust is True
