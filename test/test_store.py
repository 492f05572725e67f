"""Estimates on disk: exact, whole, and refused when they are not what they should be."""

import numpy as np
import pytest
from robident_ros.config import EstimatorOptions
from robident_ros.errors import EstimationError, RobidentError
from robident_ros.estimation.identify import Identification, identify
from robident_ros.files import write_atomically
from robident_ros.report.folder import read_folder, write_folder
from robident_ros.report.provenance import hash_of, provenance_of
from robident_ros.report.store import load_estimate, save_estimate, to_data
from robident_ros.report.tables import base_table, fit_table, link_table, parameter_table
from shipped import shipped
from synthetic import simulate, with_drives

ROBOT = shipped('tx40')


@pytest.fixture(scope='module')
def result() -> Identification:
    samples = simulate(ROBOT, with_drives(ROBOT), 300, 0.02)
    return identify([samples], ROBOT, EstimatorOptions(coulomb='sign', segments=2))


def test_an_estimate_loads_back_exactly(result: Identification, tmp_path) -> None:
    save_estimate(result.estimate, tmp_path / 'estimate.yaml')
    loaded = load_estimate(tmp_path / 'estimate.yaml')
    assert to_data(loaded) == to_data(result.estimate)
    assert np.array_equal(loaded.standard.consistent, result.estimate.standard.consistent)
    assert not loaded.base.value.flags.writeable


def test_the_schema_is_the_first_line(result: Identification, tmp_path) -> None:
    save_estimate(result.estimate, tmp_path / 'estimate.yaml')
    first = (tmp_path / 'estimate.yaml').read_text().splitlines()[0]
    assert first == 'schema: robident_estimate/1'


@pytest.mark.parametrize('old, new, message', [
    ('robident_estimate/1', 'robident_estimate/2', 'update robident_ros'),
    ('robident_estimate/1', 'robident_config/1', 'expected .robident_estimate/1'),
    ('coulomb_width: 0.0', 'coulomb_width: wide', 'coulomb_width: expected float'),
    ('coulomb_width:', 'colomb_width:', 'colomb_width'),
])
def test_a_damaged_or_newer_file_is_refused(result: Identification, tmp_path, old: str, new: str,
                                            message: str) -> None:
    path = tmp_path / 'estimate.yaml'
    save_estimate(result.estimate, path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(EstimationError, match=message):
        load_estimate(path)


def test_a_truncated_file_is_refused(result: Identification, tmp_path) -> None:
    path = tmp_path / 'estimate.yaml'
    save_estimate(result.estimate, path)
    text = path.read_text()
    for share in np.linspace(0.05, 0.95, 10):
        path.write_text(text[:int(share * len(text))])
        with pytest.raises(EstimationError, match='estimate.yaml'):
            load_estimate(path)


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(EstimationError, match='nowhere.yaml'):
        load_estimate(tmp_path / 'nowhere.yaml')


def test_a_folder_holds_the_whole_result(result: Identification, tmp_path) -> None:
    files = write_folder(result, tmp_path / 'out')
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == sorted(files)
    robot, estimate = read_folder(tmp_path / 'out')
    np.testing.assert_allclose(robot.theta, estimate.standard.consistent, atol=1e-12)
    with np.load(tmp_path / 'out' / 'residuals.npz') as data:
        assert data['measured'].shape == (300, 6)


def test_an_estimate_beside_another_robot_is_refused(result: Identification, tmp_path) -> None:
    write_folder(result, tmp_path)
    (tmp_path / 'config.yaml').write_text('schema: robident_config/1\n')
    with pytest.raises(EstimationError, match='keep the files of one result together'):
        read_folder(tmp_path)


def test_a_failure_leaves_the_old_file(tmp_path) -> None:
    path = tmp_path / 'file.txt'
    path.write_text('old')
    with pytest.raises(KeyError):
        with write_atomically(path) as file:
            file.write('new')
            raise KeyError
    assert path.read_text() == 'old'
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_is_named(tmp_path) -> None:
    (tmp_path / 'file').write_text('')
    with pytest.raises(RobidentError, match='cannot be written'):
        with write_atomically(tmp_path / 'file' / 'below'):
            pass


def test_tables_have_names_and_all_sets(result: Identification) -> None:
    parameters = parameter_table(result.estimate)
    assert list(parameters.index) == list(ROBOT.parameter_names)
    assert {'apriori', 'closest', 'essential_closest', 'consistent', 'base', 'std', 'essential',
            'relative_std'} <= set(parameters.columns)
    base = base_table(result.estimate)
    assert base.essential.count() == len(result.estimate.essential.names)
    assert fit_table(result.estimate).loc['all', 'base'] == result.estimate.relative_error['base']
    assert link_table(result.estimate).consistent.all()


def test_provenance_knows_what_went_in(tmp_path) -> None:
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag' / 'a.db3').write_bytes(b'1')
    before = hash_of(tmp_path / 'bag')
    (tmp_path / 'bag' / 'a.db3').write_bytes(b'2')
    assert hash_of(tmp_path / 'bag') != before
    found = provenance_of([tmp_path / 'bag'], ROBOT.config)
    assert found.sources[0].sha256 == hash_of(tmp_path / 'bag')
    assert 'numpy' in found.versions and found.config['drives']['couplings']
