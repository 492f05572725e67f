"""
Records joint states and commands into a bag, and says at once how good the recording is.

Messages are taken as serialised bytes, fifty times a second, and reach the file five times a
second: nothing is lost at 1 kHz, and a killed recorder loses less than a second.
"""

from collections import deque
from collections.abc import Sequence
import sys
from time import monotonic, strftime

import numpy as np
from robident_ros.errors import RecordingError
from robident_ros.excitation.trajectory import load_trajectory
from robident_ros.experiment.timeline import Points
from robident_ros.processing.live_periods import PeriodMean
from robident_ros.recording.bag_writer import BagWriter
from robident_ros.recording.cdr import decode
from robident_ros.ros.base_node import BaseNode, ERROR, OK, run_node, WARN
from robident_ros.ros.messages import Inbox, LATCHED, NANO, pack_messages, to_trajectory
from robident_ros.ros.parameters import Setting
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

SETTINGS = (
    Setting('output', '', 'folder of the new bag; if empty, recording_<date>_<time>'),
    Setting('joint_states_topic', '/joint_states', 'measured states'),
    Setting('trajectory_controller', 'joint_trajectory_controller',
            'controller whose JointTrajectory messages are recorded'),
    Setting('position_controller', 'forward_position_controller',
            'controller whose streamed positions are recorded'),
    Setting('trajectory', '', 'trajectory file; gives the period over which means are published'),
    Setting('best_effort', False, 'subscribe as best effort, where joint states are published so'),
)
DRAIN_S, FLUSH_S, REPORT_S = 0.02, 0.2, 0.25
WINDOW = 2000  # joint states over which rate and jitter are told


class RecorderNode(BaseNode):
    """The recorder: it records from its first moment to its last."""

    def __init__(self) -> None:
        super().__init__('recorder', SETTINGS)
        settings = self.settings
        self._inboxes = self._subscribe()
        kinds = {inbox.topic: kind for inbox, kind in self._inboxes}
        self._states = self._inboxes[0][0]
        output = settings.output or strftime('recording_%Y%m%d_%H%M%S')
        self._writer = BagWriter(output, kinds)
        self._mean, self._names = None, ()
        self._period = load_trajectory(settings.trajectory).period if settings.trajectory else 0.0
        self._means = self.create_publisher(JointTrajectory, '~/period_mean', LATCHED)
        self._stamps: deque[int] = deque(maxlen=WINDOW)
        self._problem, self._flushed = '', monotonic()
        self.every(DRAIN_S, self._drain)
        self.every(REPORT_S, self._report)
        self.get_logger().info(f'recording to {self._writer.folder}')

    def _subscribe(self) -> list[tuple[Inbox, str]]:
        settings = self.settings
        return [
            (Inbox(self, JointState, settings.joint_states_topic, settings.best_effort),
             'sensor_msgs/msg/JointState'),
            (Inbox(self, JointTrajectory, f'{settings.trajectory_controller}/joint_trajectory'),
             'trajectory_msgs/msg/JointTrajectory'),
            (Inbox(self, Float64MultiArray, f'{settings.position_controller}/commands'),
             'std_msgs/msg/Float64MultiArray'),
            (Inbox(self, String, 'robot_description', qos=LATCHED), 'std_msgs/msg/String')]

    def _drain(self) -> None:
        """Take everything that waits; bring it to the file from time to time."""
        if self._problem:
            return
        try:
            for inbox, _ in self._inboxes:
                messages = inbox.take()
                for data, received in messages:
                    self._writer.write(inbox.topic, data, received)
                if inbox is self._states and messages:
                    self._look_at(messages)
            if monotonic() - self._flushed >= FLUSH_S:
                self._flushed = monotonic()
                self._writer.flush()
        except RecordingError as error:
            self._problem = str(error)
            self.get_logger().fatal(self._problem)
            self._report()

    def _look_at(self, messages: list[tuple[bytes, int]]) -> None:
        """Keep stamps, and average over periods where the period is known."""
        raw = pack_messages(messages)
        for block in decode(raw):
            stamps = np.where(block.stamp_ns > 0, block.stamp_ns, raw.received_ns[block.index])
            self._stamps.extend(stamps.tolist())
            q, tau = block.fields['position'], block.fields['effort']
            if not self._period or q.shape != tau.shape or not np.isfinite([q, tau]).all():
                continue
            if self._mean is None:
                self._mean, self._names = PeriodMean(self._period, len(block.names)), block.names
            if block.names == self._names and self._mean.add(stamps / NANO, q, tau):
                self._publish_means()

    def _publish_means(self) -> None:
        t, q, tau = self._mean.means()
        none = np.zeros((len(t), 0))
        message = to_trajectory(self._names, Points(t, q, none, none), None)
        for point, effort in zip(message.points, tau.tolist()):
            point.effort = effort
        self._means.publish(message)

    def _report(self) -> None:
        """Publish how the recording goes; whoever moves the robot may watch this."""
        values = {'output': self._writer.folder, 'messages': self._states.received,
                  'lost': self._states.lost, 'bytes': self._writer.size, **self._rate()}
        if self._mean is not None:
            values |= {'periods': self._mean.periods,
                       'change of mean effort by the last period': self._mean.change}
        if self._problem:
            self.report(ERROR, self._problem, values)
        elif not self._states.received:
            self.report(WARN, f'waits for {self._states.topic}', values)
        elif self._states.lost:
            self.report(WARN, f'recording, {self._states.lost} messages were lost', values)
        else:
            self.report(OK, 'recording', values)

    def _rate(self) -> dict[str, float]:
        steps = np.diff(self._stamps) if len(self._stamps) > 2 else np.array([])
        steps = steps[steps > 0] / NANO
        if not steps.size:
            return {}
        return {'rate [Hz]': float(1 / np.median(steps)),
                'jitter [ms]': float(1e3 * np.std(steps)),
                'longest step [ms]': float(1e3 * steps.max())}

    def request_shutdown(self, reason: str) -> None:
        """Take the last messages and close the bag."""
        self._drain()
        if not self._problem:
            self._writer.close()
            self.get_logger().info(f'{self._states.received} joint states in '
                                   f'{self._writer.folder}, {self._states.lost} lost')
        self.is_done = True


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(RecorderNode, args)


if __name__ == '__main__':
    sys.exit(main())
