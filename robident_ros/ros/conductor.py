"""The one who runs an experiment: asks the nodes, waits for them, and hears what they say."""

from collections.abc import Callable
from time import monotonic

from diagnostic_msgs.msg import DiagnosticArray
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from robident_ros.errors import ExperimentError
from robident_ros.ros.messages import from_status
from std_srvs.srv import Trigger


class Conductor:
    """A client of the nodes, with a ROS context of its own."""

    def __init__(self, name: str = 'robident') -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(name, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, object] = {}
        self.statuses: dict[str, dict[str, str]] = {}
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)

    def __enter__(self) -> 'Conductor':
        return self

    def __exit__(self, *error: object) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.statuses[status.name] = {**from_status(status), 'message': status.message,
                                          'level': str(int.from_bytes(status.level, 'little'))}

    def status(self, node: str, key: str) -> str:
        """Return what a node last said of itself, or nothing."""
        return self.statuses.get(node, {}).get(key, '')

    def spin(self, seconds: float = 0.05) -> None:
        """Listen for a while."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)

    def wait(self, condition: Callable[[], bool], seconds: float, what: str,
             failure: Callable[[], str] = lambda: '') -> None:
        """
        Listen until a condition holds.

        :param what: what is waited for, for the error when it takes too long.
        :param failure: asked meanwhile; what it says ends the waiting.
        """
        until = monotonic() + seconds
        while not condition():
            reason = failure()
            if reason:
                raise ExperimentError(reason)
            if monotonic() > until:
                raise ExperimentError(f'{what}: not within {seconds:g} s')
            self.spin(0.02)

    def ask(self, service: str, seconds: float = 30.0,
            failure: Callable[[], str] = lambda: '') -> tuple[bool, str]:
        """Call a Trigger service and return its answer."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self.node.create_client(Trigger, service)
        self.wait(client.service_is_ready, seconds, f'service {service}', failure)
        future = client.call_async(Trigger.Request())
        self.wait(future.done, seconds, f'answer of {service}', failure)
        return future.result().success, future.result().message
