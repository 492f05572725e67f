"""The bulk decoder against rosbags' own serialiser, message by message."""

import numpy as np
import pytest
from robident_ros.recording.cdr import CdrError, decode, encode, FIELDS, parse_layout, RawMessages
from rosbags.typesys import get_typestore, Stores

STORE = get_typestore(Stores.ROS2_HUMBLE)
KIND = 'sensor_msgs/msg/JointState'


def message(names, position, velocity, effort, stamp=(3, 7), frame='base') -> bytes:
    types = STORE.types
    header = types['std_msgs/msg/Header'](types['builtin_interfaces/msg/Time'](*stamp), frame)
    state = types[KIND](header, list(names), *(np.array(x, float)
                                               for x in (position, velocity, effort)))
    return bytes(STORE.serialize_cdr(state, KIND))


def raw(messages: list[bytes]) -> RawMessages:
    lengths = np.array([len(m) for m in messages])
    starts = np.cumsum(lengths) - lengths
    return RawMessages(np.frombuffer(b''.join(messages), np.uint8), starts, lengths,
                       np.arange(len(messages)))


def random_names(rng: np.random.Generator, count: int) -> list[str]:
    return ['j' * int(rng.integers(1, 12)) + str(k) for k in range(count)]


def test_decoding_inverts_rosbags_for_any_names_and_fields() -> None:
    """Alignment depends on name lengths and empty fields: many combinations, mixed in a batch."""
    rng = np.random.default_rng(0)
    expected, messages = [], []
    for _ in range(200):
        names = random_names(rng, int(rng.integers(0, 5)))
        fields = [rng.standard_normal(len(names) if rng.random() < 0.7 else 0) for _ in FIELDS]
        stamp = (int(rng.integers(-5, 2 ** 31)), int(rng.integers(0, 10 ** 9)))
        expected.append((tuple(names), stamp[0] * 10 ** 9 + stamp[1], fields))
        messages.append(message(names, *fields, stamp=stamp, frame='f' * int(rng.integers(0, 9))))
    seen = 0
    for block in decode(raw(messages)):
        for row, index in enumerate(block.index):
            names, stamp_ns, fields = expected[index]
            assert block.names == names and block.stamp_ns[row] == stamp_ns
            for field, values in zip(FIELDS, fields):
                np.testing.assert_array_equal(block.fields[field][row], values)
            seen += 1
    assert seen == len(messages)


def test_an_ordinary_stream_is_one_block() -> None:
    """Messages that differ in stamps and numbers only are decoded together."""
    rng = np.random.default_rng(1)
    q = rng.standard_normal((50, 3))
    rows = encode(('a', 'bb', 'ccc'), np.arange(50), {'position': q, 'velocity': None,
                                                      'effort': -q})
    (block,) = decode(raw([row.tobytes() for row in rows]))
    np.testing.assert_array_equal(block.fields['effort'], -q)
    assert block.fields['velocity'].shape == (50, 0)


def test_encoding_equals_rosbags() -> None:
    q = np.array([[1.0, -2.0]])
    rows = encode(('a', 'long_name'), np.array([3_000_000_007]),
                  {'position': q, 'velocity': 2 * q, 'effort': None})
    assert rows[0].tobytes() == message(['a', 'long_name'], q[0], 2 * q[0], [], frame='')


def test_big_endian_messages_are_read() -> None:
    little = message(['ab'], [1.5], [], [2.5])
    state = STORE.deserialize_cdr(little, KIND)
    big = bytes(STORE.serialize_cdr(state, KIND, little_endian=False))
    (block,) = decode(raw([big, big]))
    np.testing.assert_array_equal(block.fields['effort'], [[2.5], [2.5]])
    assert block.stamp_ns[0] == 3_000_000_007


@pytest.mark.parametrize('length', range(0, 60, 3))
def test_a_cut_message_is_refused_and_others_are_kept(length: int) -> None:
    whole = message(['a', 'b'], [1, 2], [3, 4], [5, 6])
    with pytest.raises(CdrError):
        parse_layout(whole[:length])
    blocks = list(decode(raw([whole, whole[:length], whole])))
    assert sorted(np.concatenate([b.index for b in blocks])) == [0, 2]


def test_random_bytes_never_crash() -> None:
    rng = np.random.default_rng(2)
    noise = [b'\0\1\0\0' + rng.bytes(int(rng.integers(0, 200))) for _ in range(500)]
    list(decode(raw(noise)))
