"""
The embedded robot behind the topics of a real one, so that an experiment rehearses without one.

It obeys trajectories and streamed positions as ros2_control's controllers do, publishes what its
sensors see, and can be told to have a fault, so that one sees beforehand what a fault does.
"""

from collections.abc import Sequence
import sys
from time import monotonic

import numpy as np
from rclpy.qos import QoSProfile
from robident_ros.errors import ConfigError, ExperimentError
from robident_ros.experiment.simulator import Measurement, Simulator
from robident_ros.experiment.timeline import Points
from robident_ros.recording.cdr import encode
from robident_ros.ros.base_node import BaseNode, OK, ROBOT_SETTINGS, run_node, WARN
from robident_ros.ros.messages import DEPTH, from_command, from_time, from_trajectory, LATCHED
from robident_ros.ros.messages import NANO, to_time
from robident_ros.ros.parameters import Setting
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

FAULTS = ('none', 'silent', 'frozen', 'not_a_number', 'beyond_limits', 'off_track', 'deaf')
SETTINGS = (
    *ROBOT_SETTINGS,
    Setting('trajectory_controller', 'joint_trajectory_controller',
            'name of the controller that follows JointTrajectory messages'),
    Setting('position_controller', 'forward_position_controller',
            'name of the controller that takes streamed positions'),
    Setting('command_joints', [''], 'order of the joints in streamed positions; if empty, that '
            'of the robot'),
    Setting('joint_states_topic', '/joint_states', 'where measured states are published'),
    Setting('rate_hz', 500.0, 'joint states per second; must divide the rate of the simulation',
            minimum=1.0, maximum=10000.0),
    Setting('speed', 1.0, 'simulated seconds per second; other than 1 needs clock',
            minimum=0.01, maximum=100.0),
    Setting('clock', False, 'whether to publish /clock, for nodes with use_sim_time'),
    Setting('fault', 'none', 'what is wrong with the robot: joint states that are silent, '
            'frozen, not a number, beyond limits or off the track; or deaf to commands',
            choices=FAULTS, live=True),
)
TICK_S = 0.002  # s between looks at the clock
CLOCK_S = 0.01  # s between messages on /clock: each costs every node a callback
BEHIND_S = 0.25  # s that simulated time may lag before it is let go
BURST_S = 0.02  # s that it may advance at once where it is the time of all
OFF_TRACK = 0.5  # rad or m of that fault


class SimulatedRobotNode(BaseNode):
    """The embedded robot as a node."""

    def __init__(self) -> None:
        super().__init__('simulated_robot', SETTINGS)
        settings = self.settings
        if not settings.urdf and not settings.robot_description:
            raise ConfigError('parameter urdf: is empty; name the URDF file to simulate')
        if settings.speed != 1 and not settings.clock:
            raise ConfigError('parameter speed: needs clock: true, and use_sim_time in the other '
                              'nodes')
        config = self.load_config()
        self.robot = self.load_robot(config)
        self.simulator = Simulator(self.robot, config.simulation)
        self._stride = self._steps_per_sample()
        self._command_joints = tuple(name for name in settings.command_joints if name)
        self._frozen: Measurement | None = None
        self._refusals, self._slips, self._samples = 0, 0, 0
        self._connect()
        self._origin, self._told_time = monotonic(), 0.0
        self._stamp_origin = 0 if settings.clock else self.get_clock().now().nanoseconds
        self.every(TICK_S, self._tick)
        self.every(0.5, self._report)

    def _steps_per_sample(self) -> int:
        rate = 1 / self.simulator.options.step_s
        stride = rate / self.settings.rate_hz
        if stride < 1 or abs(stride - round(stride)) > 1e-6:
            raise ConfigError(f'parameter rate_hz: is {self.settings.rate_hz:g}, expected a '
                              f'divisor of {rate:g} (simulation: step_s)')
        return round(stride)

    def _connect(self) -> None:
        settings = self.settings
        self._states = self.create_publisher(JointState, settings.joint_states_topic,
                                             QoSProfile(depth=DEPTH))
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=self.robot.description.xml))
        self._clock_publisher = (self.create_publisher(Clock, '/clock', 10) if settings.clock
                                 else None)
        self.create_subscription(JointTrajectory,
                                 f'{settings.trajectory_controller}/joint_trajectory',
                                 self._on_trajectory, 10)
        self.create_subscription(Float64MultiArray, f'{settings.position_controller}/commands',
                                 self._on_command, 10)

    def _tick(self) -> None:
        """Let simulated time catch up, and publish what was measured on the way."""
        due = (monotonic() - self._origin) * self.settings.speed
        behind = BURST_S if self.settings.clock else BEHIND_S
        if due - self.simulator.t > behind * max(self.settings.speed, 1.0):
            self._slip(due)
        sampled = []
        period = self._stride * self.simulator.options.step_s
        while self.simulator.t + period <= due:
            self.simulator.step(self._stride)
            sampled.append(self.simulator.measure())
        if sampled and self.settings.fault != 'silent':
            self._publish([self._with_fault(sample) for sample in sampled])
        if (self._clock_publisher is not None  # after what was measured: nothing seems late
                and monotonic() - self._told_time >= CLOCK_S):
            self._told_time = monotonic()
            self._clock_publisher.publish(Clock(clock=to_time(self.simulator.t)))

    def _slip(self, due: float) -> None:
        """Real time was lost: go on from now, with a gap in the stamps unless time is ours."""
        lost = (due - self.simulator.t) / self.settings.speed
        self._origin += lost
        if not self.settings.clock:
            self._stamp_origin += round(lost * NANO)
        self._slips += 1

    def _publish(self, sampled: list[Measurement]) -> None:
        stamps = self._stamp_origin + np.rint([NANO * sample.t for sample in sampled]).astype(int)
        for message in encode(self.robot.joint_names, stamps, {
                'position': np.array([sample.q for sample in sampled]),
                'velocity': np.array([sample.v for sample in sampled]),
                'effort': np.array([sample.effort for sample in sampled])}):
            self._states.publish(message.tobytes())
        self._samples += len(sampled)

    def _with_fault(self, sample: Measurement) -> Measurement:
        fault, q = self.settings.fault, np.array(sample.q)
        if fault == 'frozen':
            self._frozen = self._frozen or sample
            return Measurement(sample.t, self._frozen.q, self._frozen.v, self._frozen.effort)
        self._frozen = None
        if fault == 'not_a_number':
            q[0] = np.nan
        elif fault == 'beyond_limits':
            q[0] = self.robot.limits.upper[0] + OFF_TRACK
        elif fault == 'off_track':
            q[-1] += OFF_TRACK
        return Measurement(sample.t, q, sample.v, sample.effort)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if self.settings.fault == 'deaf':
            return
        names, points = from_trajectory(message)
        begin = from_time(message.header.stamp)
        if begin:  # stamped: points are counted from then, those of the past are left out
            points = _from_now_on(points, begin - self._stamp_origin / NANO - self.simulator.t)
        try:
            self.simulator.follow(names, points.t, points.q, points.v, points.a)
        except ExperimentError as error:
            self._refuse(str(error))

    def _on_command(self, message: Float64MultiArray) -> None:
        if self.settings.fault == 'deaf':
            return
        try:
            self.simulator.stream(from_command(message.data, self._command_joints,
                                               self.robot.joint_names))
        except ExperimentError as error:
            self._refuse(str(error))

    def _refuse(self, reason: str) -> None:
        self._refusals += 1
        self.get_logger().error(reason)

    def _report(self) -> None:
        fault = self.settings.fault
        self.report(OK if fault == 'none' else WARN, self.simulator.mode, {
            'mode': self.simulator.mode, 'time': self.simulator.t, 'fault': fault,
            'samples': self._samples, 'refused commands': self._refusals,
            'real time lost': self._slips,
            'speed': float(np.abs(self.simulator.v).max())})


def _from_now_on(points: Points, delay: float) -> Points:
    t = points.t + delay
    future = t > 0
    if not future.any():
        future[-1] = True
        t[-1] = 1e-3
    return Points(t[future], *(None if values is None else values[future]
                               for values in (points.q, points.v, points.a)))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(SimulatedRobotNode, args)


if __name__ == '__main__':
    sys.exit(main())
