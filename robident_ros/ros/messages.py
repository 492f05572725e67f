"""
Messages to arrays and back.

Joint states are taken as serialised bytes, many at a time, and decoded in bulk: at 1 kHz a
callback per message would keep a processor core busy and lose some.
"""

from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
import numpy as np
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from robident_ros.errors import did_you_mean
from robident_ros.experiment.motion import Motion
from robident_ros.experiment.safety import JointState
from robident_ros.experiment.timeline import match_joints, Points
from robident_ros.recording.cdr import decode, RawMessages
from sensor_msgs.msg import JointState as JointStateMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

DEPTH = 2000  # messages that wait to be taken: two seconds at 1 kHz
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
NANO = 1_000_000_000


class _NeverCalled(CallbackGroup):
    """A group whose members are not waited for: their messages are taken when convenient."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


class Inbox:
    """A subscription that is emptied when asked, in serialised messages; counts what was lost."""

    def __init__(self, node: Node, kind: type, topic: str, best_effort: bool = False,
                 qos: QoSProfile | None = None) -> None:
        profile = qos or QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT
                                    if best_effort else ReliabilityPolicy.RELIABLE)
        self._subscription = node.create_subscription(
            kind, topic, lambda message: None, profile, raw=True, callback_group=_NeverCalled())
        self._node, self._kind, self._sequence = node, kind, 0
        self.topic = self._subscription.topic_name
        self.received = self.lost = 0

    def take(self) -> list[tuple[bytes, int]]:
        """Return all messages that wait, each with the time it was received [ns]."""
        messages = []
        handle = self._subscription.handle
        with handle:
            while len(messages) < DEPTH:
                taken = handle.take_message(self._kind, True)
                if taken is None:
                    break
                data, info = taken
                messages.append((bytes(data), int(info['received_timestamp'])))
                self._count(info.get('publication_sequence_number'))
        self.received += len(messages)
        return messages

    def _count(self, number: int | None) -> None:
        """Find gaps in the publisher's own count; only one publisher can be followed."""
        if number is None or number >= 1 << 63:  # the middleware does not count
            return
        if self._sequence and number > self._sequence + 1 and self.publishers <= 1:
            self.lost += number - self._sequence - 1
        self._sequence = number

    @property
    def publishers(self) -> int:
        """Return how many publish on the topic."""
        return self._node.count_publishers(self.topic)


class JointStates:
    """The measured states of a robot, in its own order of joints."""

    def __init__(self, node: Node, topic: str, joint_names: tuple[str, ...],
                 best_effort: bool = False) -> None:
        self.inbox = Inbox(node, JointStateMessage, topic, best_effort)
        self._names = joint_names
        self.last: JointState | None = None
        self.problem = f'no message on {self.inbox.topic} yet'

    def take(self) -> list[JointState]:
        """Return what was measured since the last time; ``problem`` says why there is nothing."""
        messages = self.inbox.take()
        if not messages:
            return []
        states = []
        for block in decode(pack_messages(messages)):
            columns = self._columns(block.names)
            if columns is None:
                continue
            fields = {name: values[:, columns] if values.shape[1] == len(block.names) else None
                      for name, values in block.fields.items()}
            if fields['position'] is None:
                self.problem = f'{self.inbox.topic}: messages have no positions'
                continue
            for i, (row, stamp) in enumerate(zip(block.index, block.stamp_ns)):
                states.append((int(row), JointState(
                    (int(stamp) or messages[row][1]) / NANO, fields['position'][i],
                    *(None if fields[name] is None or np.isnan(fields[name][i]).all()
                      else fields[name][i] for name in ('velocity', 'effort')))))
        ordered = [state for _, state in sorted(states, key=lambda item: item[0])]
        if ordered:
            self.last, self.problem = ordered[-1], ''
        return ordered

    def _columns(self, names: tuple[str, ...]) -> list[int] | None:
        for name in self._names:
            if name not in names:
                if not any(known in names for known in self._names) or self.last is None:
                    self.problem = (f'{self.inbox.topic}: has no joint {name!r} of the robot, '
                                    + did_you_mean(name, names))
                return None
        return [names.index(name) for name in self._names]


def pack_messages(messages: Sequence[tuple[bytes, int]]) -> RawMessages:
    """Put messages into one buffer, as the bulk decoder takes them."""
    lengths = np.array([len(data) for data, _ in messages])
    return RawMessages(np.frombuffer(b''.join(data for data, _ in messages), np.uint8),
                       np.cumsum(lengths) - lengths, lengths,
                       np.array([received for _, received in messages]))


def to_time(seconds: float) -> Time:
    """Return a stamp."""
    whole, nano = divmod(round(seconds * NANO), NANO)
    return Time(sec=int(whole), nanosec=int(nano))


def from_time(stamp: Time) -> float:
    """Return a stamp in s."""
    return stamp.sec + stamp.nanosec / NANO


def to_trajectory(joint_names: tuple[str, ...], points: Points,
                  begin: float | None) -> JointTrajectory:
    """
    Return timed points as a message.

    :param begin: when to start, in s of ROS time; None is on arrival.
    """
    message = JointTrajectory(joint_names=list(joint_names))
    if begin is not None:
        message.header.stamp = to_time(begin)
    message.points = [
        JointTrajectoryPoint(positions=q, velocities=v, accelerations=a,
                             time_from_start=_duration(t))
        for t, q, v, a in zip(points.t.tolist(), points.q.tolist(), points.v.tolist(),
                              points.a.tolist())]
    return message


def _duration(seconds: float) -> Duration:
    time = to_time(seconds)
    return Duration(sec=time.sec, nanosec=time.nanosec)


def sample_points(motion: Motion, start: float, rate_hz: float) -> Points:
    """Return timed points of a motion from ``start`` (s) to its end, where it rests."""
    count = max(int(np.ceil((motion.duration - start) * rate_hz)), 1)
    t = motion.duration + np.arange(1 - count, 1) / rate_hz
    t = t[t > 0.5 / rate_hz] if count > 1 else np.maximum(t, 1 / rate_hz)
    q, v, a = (np.array(values) for values in motion.sample(t))
    v[-1] = a[-1] = 0  # to the last bit: controllers demand it
    return Points(t, q, v, a)


def from_trajectory(message: JointTrajectory) -> tuple[tuple[str, ...], Points]:
    """Return joint names and points; derivatives that not all points have are None."""
    points, n = message.points, len(message.joint_names)

    def rows(name: str) -> np.ndarray | None:
        values = [getattr(point, name) for point in points]
        if all(len(value) == 0 for value in values) and name != 'positions':
            return None
        return np.array([list(value) if len(value) == n else [np.nan] * n for value in values])
    t = np.array([point.time_from_start.sec + point.time_from_start.nanosec / NANO
                  for point in points])
    return tuple(message.joint_names), Points(t, rows('positions'), rows('velocities'),
                                              rows('accelerations'))


def from_command(data: Sequence[float], joints: tuple[str, ...],
                 joint_names: tuple[str, ...]) -> np.ndarray:
    """Return streamed positions, given in the controller's order of joints, in the robot's."""
    values = np.array(data, dtype=float)
    if not joints:
        return values
    columns = match_joints(joints, joint_names, 'command joints')
    return values[list(columns)] if len(values) == len(joints) else values


def to_status(name: str, level: bytes, message: str, values: dict[str, object]
              ) -> DiagnosticStatus:
    """Return one diagnostic status."""
    return DiagnosticStatus(level=level, name=name, message=message, hardware_id='robident',
                            values=[KeyValue(key=key, value=f'{value:.6g}' if isinstance(
                                value, float) else str(value)) for key, value in values.items()])


def to_diagnostics(status: DiagnosticStatus, now: float) -> DiagnosticArray:
    """Return a status as /diagnostics carries it."""
    message = DiagnosticArray(status=[status])
    message.header.stamp = to_time(now)
    return message


def from_status(status: DiagnosticStatus) -> dict[str, str]:
    """Return the values of a diagnostic status."""
    return {item.key: item.value for item in status.values}
