"""
What the nodes have in common: time, diagnostics, the robot, and an orderly end.

Signals do not end a node at once: it is asked to shut down, and says itself when it is done, so
that a moving robot can be brought to rest first.
"""

from collections.abc import Callable, Sequence
import signal
import sys
from time import monotonic
import warnings

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from robident_ros.config import Config, load_config
from robident_ros.errors import ConfigError, RobidentError, RobidentWarning
from robident_ros.model.robot import load_robot, Robot
from robident_ros.ros.messages import LATCHED, NANO, to_diagnostics, to_status
from robident_ros.ros.parameters import declare, Setting
from std_msgs.msg import String

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR

ROBOT_SETTINGS = (
    Setting('urdf', '', 'URDF or xacro file of the robot; if empty, robot_description'),
    Setting('robot_description', '', 'URDF text; if empty, the topic robot_description'),
    Setting('config', '', 'configuration file (YAML) of the package; if empty, all defaults'),
    Setting('description_timeout_s', 10.0, 'how long to wait for the topic', minimum=0.1,
            maximum=600.0),
)


class BaseNode(Node):
    """A node with settings, diagnostics and an orderly end."""

    def __init__(self, name: str, settings: Sequence[Setting]) -> None:
        super().__init__(name)
        self.settings = declare(self, settings)
        self.is_done = False
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)

    def now(self) -> float:
        """Return ROS time in s."""
        return self.get_clock().now().nanoseconds / NANO

    def every(self, seconds: float, callback: Callable[[], None]) -> None:
        """Call back in real time, also when simulated time stands still."""
        self.create_timer(seconds, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def report(self, level: bytes, message: str, values: dict[str, object]) -> None:
        """Publish on /diagnostics."""
        status = to_status(self.get_name(), level, message, values)
        self._diagnostics.publish(to_diagnostics(status, self.now()))

    def request_shutdown(self, reason: str) -> None:
        """Come to an end; sets ``is_done`` once nothing is left to do."""
        self.is_done = True

    def on_failure(self) -> None:
        """Do what must be done before the node ends by an error of its own."""

    def load_config(self) -> Config:
        """Return the configuration that the settings name."""
        return load_config(self.settings.config or None)

    def load_robot(self, config: Config) -> Robot:
        """Return the robot from file, parameter or topic."""
        source = self.settings.urdf or self.settings.robot_description
        if not source:
            source = self._wait_for_description(self.settings.description_timeout_s)
        return load_robot(source, config)

    def _wait_for_description(self, timeout: float) -> str:
        found: list[str] = []
        subscription = self.create_subscription(
            String, 'robot_description', lambda message: found.append(message.data), LATCHED)
        until = monotonic() + timeout
        while not found and monotonic() < until:
            rclpy.spin_once(self, timeout_sec=0.1)
        self.destroy_subscription(subscription)
        if not found:
            raise ConfigError(f'no message on {subscription.topic_name} within {timeout:g} s; '
                              'start robot_state_publisher, or set the parameter urdf')
        return found[0]


def run_node(make: Callable[[], BaseNode], args: Sequence[str] | None = None) -> int:
    """Run a node until it is done; a known failure is one line on stderr and exit code 1."""
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    node = None
    interrupted: list[str] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda n, _: interrupted.append(signal.Signals(n).name))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('always', RobidentWarning)
            warnings.showwarning = _to_log
            node = make()
            _spin(node, interrupted)
        return 0
    except RobidentError as error:
        print(f'{node.get_name() if node else make.__name__}: {error}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.shutdown()


def _spin(node: BaseNode, interrupted: list[str]) -> None:
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    asked = False
    try:
        while not node.is_done:
            executor.spin_once(timeout_sec=0.1)
            if interrupted and not asked:
                asked = True
                node.request_shutdown(f'the node was ended by {interrupted[0]}')
    except BaseException:
        node.on_failure()
        raise
    finally:
        executor.shutdown()


def _to_log(message: Warning, category: type, *_: object, **__: object) -> None:
    rclpy.logging.get_logger('robident').warning(str(message))
