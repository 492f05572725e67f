"""
Three ways to let a controller play a motion: topic, action, or one position at a time.

A player tells whether somebody listens (``absence``), begins a timeline, follows it tick by tick,
replaces it by a stop, and tells when the controller has refused or given up (``refusal``).
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from rclpy.node import Node
from robident_ros.errors import ExperimentError
from robident_ros.experiment.motion import Motion
from robident_ros.experiment.timeline import match_joints, Timeline
from robident_ros.ros.messages import sample_points, to_trajectory
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

TOPIC, ACTION, STREAM = 'topic', 'action', 'stream'


class Player(Protocol):
    """What plays motions."""

    refusal: str

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""

    def play(self, timeline: Timeline, begin: float) -> None:
        """Begin a timeline at a time."""

    def tick(self, q: np.ndarray) -> None:
        """Follow the position that is commanded now."""

    def stop(self, motion: Motion, begin: float) -> None:
        """Come to rest by a motion, in place of what is played."""


class TopicPlayer:
    """Sends JointTrajectory messages; what the controller thinks of them is not told."""

    def __init__(self, node: Node, controller: str, joint_names: tuple[str, ...],
                 rate_hz: float) -> None:
        self._publisher = node.create_publisher(JointTrajectory,
                                                f'{controller}/joint_trajectory', 10)
        self._names, self._rate_hz = joint_names, rate_hz
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._publisher.get_subscription_count():
            return ''
        return (f'no controller listens on {self._publisher.topic_name}; check its name and that '
                'it is active')

    def play(self, timeline: Timeline, begin: float) -> None:
        """Send the whole timeline."""
        points = timeline.points(self._rate_hz)
        self._publisher.publish(to_trajectory(self._names, points, begin))

    def tick(self, q: np.ndarray) -> None:
        """Nothing to do: the controller has it all."""

    def stop(self, motion: Motion, begin: float) -> None:
        """Send the stop, which replaces the rest of the timeline."""
        points = sample_points(motion, self._rate_hz)
        self._publisher.publish(to_trajectory(self._names, points, begin))


class ActionPlayer:
    """Sends FollowJointTrajectory goals, and hears when they are refused or aborted."""

    def __init__(self, node: Node, controller: str, joint_names: tuple[str, ...],
                 rate_hz: float) -> None:
        try:
            from control_msgs.action import FollowJointTrajectory
        except ImportError as error:
            raise ExperimentError('interface "action" needs control_msgs: apt install '
                                  'ros-$ROS_DISTRO-control-msgs; or use the interface '
                                  '"topic"') from error
        from rclpy.action import ActionClient
        self._kind = FollowJointTrajectory
        self._client = ActionClient(node, FollowJointTrajectory,
                                    f'{controller}/follow_joint_trajectory')
        self._name = f'{controller}/follow_joint_trajectory'
        self._names, self._rate_hz = joint_names, rate_hz
        self._goal = 0  # number of the goal that counts; earlier ones are preempted
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._client.server_is_ready():
            return ''
        return f'no controller serves {self._name}; check its name and that it is active'

    def play(self, timeline: Timeline, begin: float) -> None:
        """Send the whole timeline as a goal."""
        self._send(to_trajectory(self._names, timeline.points(self._rate_hz), begin))

    def tick(self, q: np.ndarray) -> None:
        """Nothing to do: the controller has it all."""

    def stop(self, motion: Motion, begin: float) -> None:
        """Send the stop as a new goal, which preempts the old one without a jerk."""
        self._send(to_trajectory(self._names, sample_points(motion, self._rate_hz), begin))

    def _send(self, trajectory: JointTrajectory) -> None:
        self._goal += 1
        self.refusal = ''
        future = self._client.send_goal_async(self._kind.Goal(trajectory=trajectory))
        future.add_done_callback(lambda done, goal=self._goal: self._on_answer(goal, done))

    def _on_answer(self, goal: int, future: object) -> None:
        handle = future.result()
        if not handle.accepted:
            if goal == self._goal:
                self.refusal = f'{self._name}: the controller refused the trajectory'
            return
        result = handle.get_result_async()
        result.add_done_callback(lambda done, goal=goal: self._on_result(goal, done))

    def _on_result(self, goal: int, future: object) -> None:
        result = future.result().result
        if goal == self._goal and result.error_code:
            self.refusal = (f'{self._name}: the controller gave up (code {result.error_code}): '
                            f'{result.error_string or "no reason given"}')


class StreamPlayer:
    """Sends one position after the other, each of them past the gate."""

    def __init__(self, node: Node, controller: str, joint_names: tuple[str, ...],
                 command_joints: tuple[str, ...],
                 gate: Callable[[np.ndarray], object]) -> None:
        self._publisher = node.create_publisher(Float64MultiArray, f'{controller}/commands', 10)
        self._order = list(match_joints(joint_names, command_joints or joint_names,
                                        'command_joints'))
        self._gate = gate
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._publisher.get_subscription_count():
            return ''
        return (f'no controller listens on {self._publisher.topic_name}; check its name and that '
                'it is active')

    def play(self, timeline: Timeline, begin: float) -> None:
        """Nothing to send yet: the first tick begins."""
        self.refusal = ''

    def tick(self, q: np.ndarray) -> None:
        """Send a position, if it is within the envelope."""
        verdict = self._gate(q)
        if verdict.ok:
            self._publisher.publish(Float64MultiArray(data=q[self._order].tolist()))
        else:
            self.refusal = verdict.reason

    def stop(self, motion: Motion, begin: float) -> None:
        """Nothing to send at once: the ticks follow the stop."""
