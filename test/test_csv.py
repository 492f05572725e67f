"""Text files: our own layout, and the column map for foreign ones."""

from pathlib import Path

from motions import assert_same, NAMES, random_recording
import numpy as np
import pytest
from robident_ros.config import build, ChannelOptions, RecordingOptions
from robident_ros.errors import ConfigError, RecordingError
from robident_ros.recording import read_csv, read_mapped, read_recording, Recording, write_csv
from shipped import SHARED

TX40 = {
    'joints': [f'joint{i}' for i in range(1, 7)], 'rate_hz': 5000,
    'position': {'file': 'pos_read_data.csv'}, 'effort': {'file': 'curr_data.csv'},
    'reduction': {'joint1': {'joint1': 32}, 'joint2': {'joint2': 32}, 'joint3': {'joint3': 45},
                  'joint4': {'joint4': -48}, 'joint5': {'joint5': 45},
                  'joint6': {'joint5': 32, 'joint6': 32}},
    'position_offset': {'joint2': -np.pi / 2, 'joint3': np.pi / 2}}
PANDA = {
    'joints': [f'panda_joint{i}' for i in range(1, 8)],
    'time': {'file': 'exciting_traj_time.txt'},
    **{name: {'file': f'exciting_traj_{file}.txt', 'one_per_line': True} for name, file in
       (('position', 'positions'), ('velocity', 'velocity'), ('effort', 'torques'))}}


def measured(name: str) -> Path:
    path = SHARED / 'data' / name
    if not path.is_dir():
        pytest.skip('the measured data (shared/data) are not on this machine')
    return path


def options(data: dict) -> RecordingOptions:
    return build(RecordingOptions, data, 'recording')


@pytest.mark.parametrize('start_ns', [0, 1_700_000_000_123_456_789])
def test_a_recording_comes_back_the_same(tmp_path: Path, start_ns: int) -> None:
    recording = random_recording(start_ns=start_ns)
    write_csv(recording, tmp_path / 'new' / 'x.csv')
    assert_same(recording, read_recording(tmp_path / 'new' / 'x.csv'))
    no_velocity = Recording(recording.t, recording.q, None, recording.tau, ['a,b', 'c"d', 'ü/x'])
    write_csv(no_velocity, tmp_path / 'y.csv')
    back = read_csv(tmp_path / 'y.csv')
    assert back.v is None and back.joint_names == ('a,b', 'c"d', 'ü/x')
    np.testing.assert_array_equal(back.tau, recording.tau)


def test_columns_may_stand_in_any_order_and_cells_be_empty(tmp_path: Path) -> None:
    path = tmp_path / 'x.csv'
    path.write_text('effort/a;time;position/b;position/a\n1;0;2;3\n;0.1;2;3\n')
    recording = read_csv(path)
    assert recording.joint_names == ('b', 'a') and recording.v is None
    np.testing.assert_array_equal(recording.tau, [[np.nan, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(recording.q, [[2, 3], [2, 3]])


def test_times_since_1970_count_from_the_first_sample(tmp_path: Path) -> None:
    path = tmp_path / 'x.csv'
    path.write_text('time,position/a\n1700000000.5,0\n1700000000.75,0\n')
    recording = read_csv(path)
    np.testing.assert_array_equal(recording.t, [0, 0.25])
    assert recording.start_ns == 1_700_000_000_500_000_000


@pytest.mark.parametrize('content, message', [
    ('', 'samples or more, found 0'),
    ('time,position/a\n', 'samples or more, found 0'),
    ('time,position/a\n0,1\n', 'samples or more, found 1'),
    ('t,q1\n0,1\n1,2\n', 'expected a header line with "time"'),
    ('0,1\n1,2\n', 'expected a header line with "time"'),
    ('time,position/a\n0,1\n1,x\n', 'is not a table of numbers'),
    ('time,position/a\n0,1\n1\n', 'is not a table of numbers'),
    ('time,position/a\n0,1,5\n1,2,5\n', 'names 2 columns, the table has 3'),
    ('time,position/a\n0,1\n0,2\n', 'does not increase at row 1'),
    ('time,position/a\n0,1\n1,nan\n', "position of 'a' at row 1"),
])
def test_refusals_name_the_file_and_the_fault(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / 'x.csv'
    path.write_text(content)
    with pytest.raises(RecordingError) as error:
        read_csv(path)
    assert str(path) in str(error.value) and message in str(error.value)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'x.csv').write_bytes(bytes(range(256)))
    with pytest.raises(RecordingError, match='not a text file'):
        read_csv(tmp_path / 'x.csv')


def test_power_is_the_same_on_both_sides_of_a_coupled_reduction(tmp_path: Path) -> None:
    """
    With q = R⁻¹·q_m and τ = Rᵀ·τ_m the mechanical power τᵀ·q̇ is as it was at the motors.

    Motor side and joint side may be mixed, and units are converted.
    """
    rng = np.random.default_rng(0)
    motor = rng.standard_normal((3, 20, 2))
    for name, values in zip('qvi', motor):
        np.savetxt(tmp_path / f'{name}.txt', values)
    ratios = np.array([[50.0, 0.0], [30.0, -80.0]])
    chosen = {'joints': ['a', 'b'], 'rate_hz': 100,
              'reduction': {'a': {'a': 50}, 'b': {'a': 30, 'b': -80}},
              'position': {'file': 'q.txt', 'unit': 'deg'}, 'velocity': {'file': 'v.txt'},
              'effort': {'file': 'i.txt', 'scale': 2.0}, 'position_offset': {'b': 1.0}}
    recording = read_mapped(tmp_path, options(chosen))
    np.testing.assert_allclose((recording.tau * recording.v).sum(axis=1),
                               (2 * motor[2] * motor[1]).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose((recording.q - [0, 1]) @ ratios.T, np.deg2rad(motor[0]))
    chosen['effort']['side'] = 'joint'
    np.testing.assert_allclose(read_mapped(tmp_path, options(chosen)).tau, 2 * motor[2])


def test_columns_are_found_by_name_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / 'log.csv'
    path.write_text('ms,q1,q2,i1,i2\n' + '\n'.join(f'{k},{k},2,3,4' for k in range(5)))
    chosen = {'joints': ['a', 'b'], 'time': {'columns': ['ms'], 'unit': 'ms'},
              'position': {'columns': ['q2', 'q1']}, 'effort': {'first_column': 4}}
    recording = read_recording(path, options=options(chosen))
    np.testing.assert_array_equal(recording.t, np.arange(5) / 1000)
    np.testing.assert_array_equal(recording.q[:, 1], np.arange(5))
    np.testing.assert_array_equal(recording.tau, np.tile([3, 4], (5, 1)))


@pytest.mark.parametrize('change, message', [
    ({'joints': []}, 'recording: joints'),
    ({'position': {'columns': ['q1', 'q9']}}, "no column 'q9', known are: ms, q1"),
    ({'position': {'first_column': 5}}, 'expected 2 columns, one per joint, found 1'),
    ({'position': {}}, 'expected 2 columns, one per joint, found 5'),
    ({'position': {'first_column': 2, 'one_per_line': True}}, 'one number per line'),
    ({'position': {'file': 'missing.csv', 'first_column': 1}}, 'cannot be read'),
    ({'time': None}, 'rate_hz'),
    ({'reduction': {'c': {'a': 1}}}, "unknown joint 'c'"),
    ({'reduction': {'a': {'b': 1}, 'b': {'b': 2}}}, 'cannot be inverted'),
    ({'position_offset': {'z': 1}}, "unknown joint 'z'"),
    ({'effort': {'file': 'short.csv'}}, 'as many samples'),
])
def test_a_wrong_column_map_is_explained(tmp_path: Path, change: dict, message: str) -> None:
    (tmp_path / 'log.csv').write_text('ms,q1,q2,i1,i2\n' + '1,2,3,4,5\n2,2,3,4,5\n3,2,3,4,5\n')
    (tmp_path / 'short.csv').write_text('1,2\n3,4\n')
    chosen = {'joints': ['a', 'b'], 'time': {'columns': ['ms']}, 'position': {'first_column': 2}}
    with pytest.raises(RecordingError) as error:
        read_mapped(tmp_path / 'log.csv', options({**chosen, **change}))
    assert message in str(error.value)


def test_a_folder_needs_file_names(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match='give recording: position: file'):
        read_mapped(tmp_path, RecordingOptions(joints=('a',), position=ChannelOptions()))


def test_an_unknown_unit_is_a_configuration_error() -> None:
    with pytest.raises(ConfigError, match="recording: position: unit: unknown 'degrees'"):
        options({'position': {'unit': 'degrees'}})


def test_joints_are_renamed_and_selected_by_their_own_names(tmp_path: Path) -> None:
    recording = random_recording()
    write_csv(recording, tmp_path / 'x.csv')
    chosen = RecordingOptions(rename={'wrist': 'tool'})
    back = read_recording(tmp_path / 'x.csv', ['tool', 'shoulder'], options=chosen)
    assert back.joint_names == ('tool', 'shoulder')
    np.testing.assert_array_equal(back.q, recording.q[:, [2, 0]])
    assert read_recording(tmp_path / 'x.csv', options=chosen).joint_names == (*NAMES[:2], 'tool')


def test_motor_data_of_a_tx40_are_read() -> None:
    """The matrix form of the reduction, written out by hand."""
    path = measured('tx40')
    recording = read_recording(path, options=options(TX40))
    motor = np.loadtxt(path / 'pos_read_data.csv', delimiter=',', skiprows=1)
    current = np.loadtxt(path / 'curr_data.csv', delimiter=',', skiprows=1)
    R = np.diag([32.0, 32, 45, -48, 45, 32])
    R[5, 4] = 32
    q = motor @ np.linalg.inv(R).T + [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    np.testing.assert_allclose(recording.q, q, atol=1e-12)
    np.testing.assert_allclose(recording.tau, current @ R, atol=1e-12)
    assert len(recording) == 45000 and recording.rate == pytest.approx(5000)


def test_one_number_per_line_is_read() -> None:
    path = measured('panda')
    recording = read_recording(path, options=options(PANDA))
    assert recording.q.shape == (20544, 7)
    torques = np.loadtxt(path / 'exciting_traj_torques.txt').reshape(-1, 7)
    np.testing.assert_array_equal(recording.tau, torques)
