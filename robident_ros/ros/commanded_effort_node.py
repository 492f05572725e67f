"""
Publishes what a joint_trajectory_controller commands as joint states to identify from.

In Gazebo the reported joint effort is the transmitted rigid-body torque: damping and friction of
the joint are not in it. The commanded effort has them.
"""

from collections.abc import Sequence
import sys

from rclpy.qos import QoSProfile
from robident_ros.errors import ExperimentError
from robident_ros.ros.base_node import BaseNode, OK, run_node, WARN
from robident_ros.ros.messages import DEPTH
from robident_ros.ros.parameters import Setting
from sensor_msgs.msg import JointState

SETTINGS = (
    Setting('controller', 'joint_trajectory_controller', 'controller that commands efforts'),
)


def to_joint_state(state: object) -> JointState | None:
    """
    Return measured positions and velocities with commanded efforts, or None without efforts.

    :param state: a control_msgs/JointTrajectoryControllerState.
    """
    n = len(state.joint_names)
    measured = state.feedback if state.feedback.positions else state.actual  # before Jazzy
    if len(state.output.effort) != n or len(measured.positions) != n:
        return None
    message = JointState(name=list(state.joint_names), position=list(measured.positions),
                         velocity=list(measured.velocities), effort=list(state.output.effort))
    message.header.stamp = state.header.stamp
    return message


class CommandedEffortNode(BaseNode):
    """Relays the state of a controller."""

    def __init__(self) -> None:
        super().__init__('commanded_effort', SETTINGS)
        try:
            from control_msgs.msg import JointTrajectoryControllerState
        except ImportError as error:
            raise ExperimentError('commanded efforts need control_msgs: apt install '
                                  'ros-$ROS_DISTRO-control-msgs') from error
        self._count, self._without = 0, 0
        self._publisher = self.create_publisher(JointState, '~/joint_states',
                                                QoSProfile(depth=DEPTH))
        self.create_subscription(JointTrajectoryControllerState,
                                 f'{self.settings.controller}/controller_state', self._on_state,
                                 QoSProfile(depth=DEPTH))
        self.every(0.5, self._report)

    def _on_state(self, state: object) -> None:
        message = to_joint_state(state)
        if message is None:
            self._without += 1
        else:
            self._count += 1
            self._publisher.publish(message)

    def _report(self) -> None:
        values = {'messages': self._count, 'without efforts': self._without}
        if self._without:
            self.report(WARN, 'the controller commands no efforts', values)
        else:
            self.report(OK, 'relaying' if self._count else 'waits for the controller', values)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(CommandedEffortNode, args)


if __name__ == '__main__':
    sys.exit(main())
