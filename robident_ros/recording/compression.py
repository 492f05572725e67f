"""What rosbag2 compresses: chunks of mcap files, and single messages."""

import numpy as np
from robident_ros.errors import RecordingError
from robident_ros.recording.cdr import RawMessages

ZSTD_MARK = b'\x28\xb5\x2f\xfd'


def expand(packed: bytes | memoryview, compression: str) -> bytes | memoryview:
    """
    Decompress; of input that ends early, as much as it gives.

    A ValueError says why nothing can be had.
    """
    if compression == '':
        return packed
    try:
        if compression == 'lz4':
            from lz4.frame import LZ4FrameDecompressor as Decompressor
        elif compression == 'zstd':
            Decompressor = _zstd_decompressor()
        else:
            raise ValueError(f'its compression {compression!r} is not known')
    except ImportError as error:
        raise RecordingError(f'to read a bag compressed with {compression}, install rosbags: '
                             'pip install rosbags') from error
    try:
        return Decompressor().decompress(packed)
    except Exception as error:  # each library has errors of its own
        raise ValueError(f'it cannot be unpacked ({error})') from error


def _zstd_decompressor() -> type:
    try:
        from compression.zstd import ZstdDecompressor  # Python 3.14
    except ImportError:
        from backports.zstd import ZstdDecompressor
    return ZstdDecompressor


def expand_messages(raw: RawMessages) -> RawMessages:
    """Return a batch as it is, or decompressed where each message was compressed by itself."""
    first = raw.buffer[raw.starts[0]:raw.starts[0] + len(ZSTD_MARK)].tobytes()
    if first != ZSTD_MARK:
        return raw
    messages = [_try_expand(raw.buffer[start:start + length].tobytes())
                for start, length in zip(raw.starts, raw.lengths)]
    lengths = np.array([len(message) for message in messages])
    return RawMessages(np.frombuffer(b''.join(messages), np.uint8), np.cumsum(lengths) - lengths,
                       lengths, raw.received_ns)


def _try_expand(message: bytes) -> bytes:
    try:
        return expand(message, 'zstd')
    except ValueError:
        return b''  # counted as damaged when it is decoded
