"""
Three ways to let a controller play a motion: topic, action, or one position at a time.

A player tells whether somebody listens (``absence``), begins what a session plays, follows it
tick by tick, hands on its stop, and tells when the controller has refused or given up
(``refusal``).
"""

from typing import Protocol

from rclpy.node import Node
from robident_ros.errors import ExperimentError
from robident_ros.experiment.motion import Motion
from robident_ros.experiment.session import Session
from robident_ros.experiment.timeline import match_joints
from robident_ros.ros.messages import sample_points, to_trajectory
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

TOPIC, ACTION, STREAM = 'topic', 'action', 'stream'
# Points of the past that a message begins with, s. A controller that finds itself between two
# points goes on there; one that finds itself before the first would go to it from where it is.
PAST = 0.2
LATENCY = 0.05  # s that a message may need to its controller


class Player(Protocol):
    """What lets a controller play what a session commands."""

    refusal: str

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""

    def begin(self, now: float) -> None:
        """Begin to play."""

    def tick(self, now: float) -> None:
        """Go on."""

    def stop(self, now: float) -> None:
        """Hand on that the session is stopping."""


class TopicPlayer:
    """
    Sends JointTrajectory messages; what the controller thinks of them is not told.

    A message reaches no farther than the horizon and ends in a stop: should this node die, the
    robot comes to rest by itself. The next message continues it in time, on the same path.
    """

    def __init__(self, node: Node, controller: str, session: Session, horizon: float) -> None:
        self._publisher = node.create_publisher(JointTrajectory,
                                                f'{controller}/joint_trajectory', 10)
        self._session, self._horizon = session, horizon
        self._due = self._end = float('inf')  # when to send again; when the robot stops itself
        self._window: Motion | None = None
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._publisher.get_subscription_count():
            return ''
        return (f'no controller listens on {self._publisher.topic_name}; check its name and that '
                'it is active')

    def begin(self, now: float) -> None:
        """Send the beginning."""
        self._end = float('inf')
        self._send(now)

    def tick(self, now: float) -> None:
        """Send what follows, well before the last message ends."""
        if now >= self._due:
            self._send(now)

    def stop(self, now: float) -> None:
        """Send the stop, which replaces the rest."""
        self._send(now)

    def _send(self, now: float) -> None:
        session = self._session
        if now > self._end - LATENCY:  # going on would tear the robot out of its own stop
            session.fall_back(self._window, 'this computer was too slow to continue in time')
            self._due = float('inf')
            return
        reach = max(session.begin - now, 0.0) + self._horizon
        motion = session.window(now, reach)
        points = sample_points(motion, now - session.begin - PAST, session.options.rate_hz)
        self._publisher.publish(to_trajectory(session.robot.joint_names, points, session.begin))
        is_last = motion is session.motion
        self._window = motion
        self._due = float('inf') if is_last else now + reach - self._horizon / 2
        self._end = float('inf') if is_last else now + reach


class ActionPlayer:
    """Sends FollowJointTrajectory goals, and hears when they are refused or aborted."""

    def __init__(self, node: Node, controller: str, session: Session) -> None:
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
        self._session = session
        self._goal = 0  # number of the goal that counts; earlier ones are preempted
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._client.server_is_ready():
            return ''
        return f'no controller serves {self._name}; check its name and that it is active'

    def begin(self, now: float) -> None:
        """Send the whole timeline as a goal."""
        self._send(0.0)

    def tick(self, now: float) -> None:
        """Nothing to do: the controller has it all."""

    def stop(self, now: float) -> None:
        """Send the stop as a new goal, which preempts the old one without a jerk."""
        self._send(now - self._session.begin - PAST)

    def _send(self, start: float) -> None:
        session = self._session
        points = sample_points(session.motion, start, session.options.rate_hz)
        trajectory = to_trajectory(session.robot.joint_names, points, session.begin)
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

    def __init__(self, node: Node, controller: str, session: Session,
                 command_joints: tuple[str, ...]) -> None:
        self._publisher = node.create_publisher(Float64MultiArray, f'{controller}/commands', 10)
        names = session.robot.joint_names
        self._order = list(match_joints(names, command_joints or names, 'command_joints'))
        self._session = session
        self.refusal = ''

    def absence(self) -> str:
        """Return why nobody would obey, or nothing."""
        if self._publisher.get_subscription_count():
            return ''
        return (f'no controller listens on {self._publisher.topic_name}; check its name and that '
                'it is active')

    def begin(self, now: float) -> None:
        """Send where the robot is already."""
        self.refusal = ''
        self.tick(now)

    def tick(self, now: float) -> None:
        """Send a position, if it is within the envelope."""
        q, v, _ = self._session.command(now)
        verdict = self._session.envelope.check_command(q, v)
        if verdict.ok:
            self._publisher.publish(Float64MultiArray(data=q[self._order].tolist()))
        else:
            self.refusal = verdict.reason

    def stop(self, now: float) -> None:
        """Nothing to send at once: the ticks follow the stop."""
