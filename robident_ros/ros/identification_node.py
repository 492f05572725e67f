"""
Estimates while the robot moves, and identifies from the recording when asked.

Live, the present uncertainty and torque error are published, so that one can stop when they are
good enough. ``~/identify`` runs the whole identification, in a process of its own, writes its
folder and publishes the identified robot description.
"""

from collections.abc import Sequence
import json
from pathlib import Path
import subprocess
import sys

import numpy as np
from robident_ros.errors import ConfigError
from robident_ros.estimation.live import LiveEstimation, LiveResult
from robident_ros.files import write_text
from robident_ros.ros.base_node import BaseNode, OK, ROBOT_SETTINGS, run_node, WARN
from robident_ros.ros.messages import JointStates, LATCHED
from robident_ros.ros.parameters import Setting
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger

SETTINGS = (
    *ROBOT_SETTINGS,
    Setting('joint_states_topic', '/joint_states', 'measured states'),
    Setting('best_effort', False, 'subscribe as best effort, where joint states are published so'),
    Setting('update_s', 2.0, 'length of the blocks that are joined to the live estimate',
            minimum=0.5, maximum=60.0),
    Setting('live', True, 'whether to estimate while the robot moves'),
    Setting('recording', '', 'bag that ~/identify reads'),
    Setting('trajectory', '', 'trajectory that was played, to align periods with; may be empty'),
    Setting('output', 'identified', 'folder that ~/identify writes'),
)
DRAIN_S = 0.1


class IdentificationNode(BaseNode):
    """Live estimation and, on request, identification."""

    def __init__(self) -> None:
        super().__init__('identification', SETTINGS)
        self.robot = self.load_robot(self.load_config())
        self._states = JointStates(self, self.settings.joint_states_topic, self.robot.joint_names,
                                   self.settings.best_effort)
        self._live = LiveEstimation(self.robot)
        self._block: list = []
        self._found: LiveResult | None = None
        self._error = self.create_publisher(Float64, '~/torque_error', LATCHED)
        self._std = self.create_publisher(Float64, '~/relative_std', LATCHED)
        self._description = self.create_publisher(String, '~/robot_description', LATCHED)
        self.create_service(Trigger, '~/identify', self._on_identify)
        if self.settings.live:
            self.every(DRAIN_S, self._drain)
        self.every(0.5, self._report)

    def _drain(self) -> None:
        """Gather states; join them to the estimate when a block is full."""
        for state in self._states.take():
            if self._block and not state.stamp > self._block[-1].stamp:
                continue  # the clock went back: wait until it has passed again
            if state.effort is not None and np.isfinite([state.q, state.effort]).all():
                self._block.append(state)
        if self._block and self._block[-1].stamp - self._block[0].stamp >= self.settings.update_s:
            block, self._block = self._block, []
            self._join(block)

    def _join(self, block: list) -> None:
        measured = all(state.v is not None for state in block)
        self._found = self._live.add(
            np.array([state.stamp for state in block]), np.array([state.q for state in block]),
            np.array([state.v for state in block]) if measured else None,
            np.array([state.effort for state in block]))
        if self._found is not None:
            self._error.publish(Float64(data=self._found.torque_error))
            self._std.publish(Float64(data=float(np.median(self._found.relative_std))))

    def _report(self) -> None:
        if self._found is None:
            self.report(WARN if self._states.problem else OK,
                        self._states.problem or 'not enough data yet', {})
        else:
            found = self._found
            weakest = int(np.argmax(found.relative_std))
            self.report(OK, f'torque error {100 * found.torque_error:.2f} %', {
                'equations': found.rows, 'torque error': found.torque_error,
                'median %σ': float(np.median(found.relative_std)),
                'parameters below 10 %σ': int((found.relative_std < 10).sum()),
                'parameters': len(found.names), 'least certain': found.names[weakest]})

    def _on_identify(self, request: Trigger.Request,
                     response: Trigger.Response) -> Trigger.Response:
        """Answer when the identification has ended; live estimation waits meanwhile."""
        try:
            self.report(OK, 'identifying', {})
            response.success, response.message = self._identify()
        except (ConfigError, OSError) as error:
            response.success, response.message = False, str(error)
        return response

    def _identify(self) -> tuple[bool, str]:
        """Identify in another process: its memory and its time are its own."""
        child = subprocess.run(self._command(), capture_output=True, text=True, check=False,
                               stdin=subprocess.DEVNULL)
        for line in child.stderr.splitlines():
            self.get_logger().warning(line)
        if child.returncode:
            lines = child.stderr.strip().splitlines()
            return False, lines[-1] if lines else f'it ended with code {child.returncode}'
        found = json.loads(child.stdout)
        identified = Path(self.settings.output) / 'identified.urdf'
        self._description.publish(String(data=identified.read_text(encoding='utf-8')))
        return True, (f'torque error {100 * found["relative_error"]:.2f} %, written to '
                      f'{self.settings.output}')

    def _command(self) -> list[str]:
        settings = self.settings
        if not settings.recording:
            raise ConfigError('parameter recording: is empty; name the bag to identify from')
        urdf = settings.urdf
        if not urdf:
            urdf = str(Path(settings.output) / 'original.urdf')
            Path(settings.output).mkdir(parents=True, exist_ok=True)
            write_text(urdf, self.robot.description.xml)
        options = {'--config': settings.config, '--trajectory': settings.trajectory,
                   '--topic': settings.joint_states_topic, '--output': settings.output}
        command = [sys.executable, '-m', 'robident_ros.cli.main', 'identify', urdf,
                   settings.recording, '--json']
        for name, value in options.items():
            command += [name, value] if value else []
        return command


def main(args: Sequence[str] | None = None) -> int:
    """Run the node."""
    return run_node(IdentificationNode, args)


if __name__ == '__main__':
    sys.exit(main())
