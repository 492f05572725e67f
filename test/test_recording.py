"""What a recording promises, and what it refuses."""

from motions import NAMES, random_recording
import numpy as np
import pytest
from robident_ros.errors import RecordingError
from robident_ros.recording import Recording
from robident_ros.recording.recording import read_only


def make(**changes) -> Recording:
    values = {'t': [0, 0.1, 0.2], 'q': np.zeros((3, 2)), 'v': None, 'tau': np.zeros((3, 2)),
              'joint_names': ('a', 'b')}
    return Recording(**{**values, **changes})


def test_arrays_are_copied_and_closed() -> None:
    """Changing what a recording was made from does not change it; it cannot be written to."""
    q = np.zeros((3, 2))
    recording = make(q=q)
    q[0, 0] = 1
    assert recording.q[0, 0] == 0
    with pytest.raises(ValueError):
        recording.q[0, 0] = 1


def test_closed_arrays_are_not_copied_again() -> None:
    """Large arrays that nobody can write to are taken as they are; views are not."""
    x = read_only([1.0, 2.0])
    assert read_only(x) is x
    assert read_only(x[:1]) is not x


@pytest.mark.parametrize('changes, message', [
    ({'joint_names': ('a', 'a')}, 'differ from each other'),
    ({'joint_names': ()}, 'differ from each other'),
    ({'joint_names': ('a',)}, 'shape (3, 2)'),
    ({'t': [0, 0.1]}, '2 rows'),
    ({'t': [[0], [0.1], [0.2]]}, 'vector'),
    ({'t': [0, 0.2, 0.2]}, 'does not increase at row 2'),
    ({'t': [0, 0.2, 0.1]}, 'does not increase at row 2'),
    ({'t': [0, np.nan, 0.1]}, 'time of row 1'),
    ({'v': np.zeros((2, 2))}, 'v must have 3 rows'),
    ({'q': [[0, 0], [0, np.nan], [0, 0]]}, "position of 'b' at row 1"),
    ({'tau': [[0, 0], [np.inf, 0], [0, 0]]}, "tau of 'a' at row 1"),
    ({'t': [0], 'q': [[0, 0]], 'tau': [[0, 0]]}, 'two samples'),
])
def test_refusals_name_what_is_wrong(changes: dict, message: str) -> None:
    with pytest.raises(RecordingError) as error:
        make(**changes)
    assert message in str(error.value)


def test_unknown_efforts_and_velocities_are_marked_not_refused() -> None:
    recording = make(v=np.full((3, 2), np.nan), tau=np.full((3, 2), np.nan))
    assert np.isnan(recording.tau).all()


def test_select_reorders_and_names_what_is_near() -> None:
    recording = random_recording()
    swapped = recording.select(['wrist', 'shoulder'])
    np.testing.assert_array_equal(swapped.q, recording.q[:, [2, 0]])
    assert swapped.joint_names == ('wrist', 'shoulder')
    with pytest.raises(RecordingError, match="no joint 'wrists', did you mean 'wrist'"):
        recording.select(['wrists'])


def test_rename_keeps_data_and_refuses_unknown_joints() -> None:
    recording = random_recording().rename({'wrist': 'tool'})
    assert recording.joint_names == (*NAMES[:2], 'tool')
    with pytest.raises(RecordingError, match='no joint'):
        recording.rename({'wrist': 'hand'})


def test_between_keeps_times_and_refuses_an_empty_part() -> None:
    recording = random_recording()
    part = recording.between(0.1, 0.2)
    assert part.t[0] >= 0.1 and part.t[-1] < 0.2
    with pytest.raises(RecordingError, match='fewer than two samples'):
        recording.between(5, 6)


def bursts(count: int, size: int = 8) -> np.ndarray:
    """Return stamps of 200 samples per second that arrive in groups, 10 µs apart."""
    number = np.arange(count)
    return number // size * (size / 200) + number % size * 1e-5


def test_rate_does_not_rise_with_bursts() -> None:
    """Messages that arrive together would seem to be measured at 100 kHz."""
    t = bursts(400)
    recording = Recording(t, np.zeros((400, 1)), None, np.zeros((400, 1)), ['a'])
    assert recording.is_bursty
    assert recording.rate == pytest.approx(200, rel=0.2)


def test_a_long_pause_is_no_burst() -> None:
    t = np.arange(200) / 100 + 500.0 * (np.arange(200) >= 100)
    recording = Recording(t, np.zeros((200, 1)), None, np.zeros((200, 1)), ['a'])
    assert not recording.is_bursty
    assert recording.rate == pytest.approx(100)


def test_rate_does_not_fall_with_dropped_samples() -> None:
    t = np.delete(np.arange(1000) * 1e-3, np.arange(100, 900, 5))
    n = len(t)
    recording = Recording(t, np.zeros((n, 1)), None, np.zeros((n, 1)), ['a'])
    assert recording.rate == pytest.approx(1000)
    assert recording.duration == pytest.approx(0.999)
