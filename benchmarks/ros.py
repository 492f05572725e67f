"""
Over real DDS: what the recorder loses on a busy machine, and how evenly commands are streamed.

``python benchmarks/ros.py publish RATE SECONDS`` is the robot of these measurements.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
import os
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
import warnings

from harness import benchmark, Figure
import numpy as np

JOINTS = tuple(f'joint{i}' for i in range(1, 8))
SECONDS = 60.0


def publish(rate: float, seconds: float) -> int:
    """Publish joint states evenly; prints how many."""
    import rclpy
    from rclpy.qos import QoSProfile
    from robident_ros.recording.cdr import encode
    from sensor_msgs.msg import JointState
    rclpy.init()
    node = rclpy.create_node('robot')
    publisher = node.create_publisher(JointState, '/joint_states', QoSProfile(depth=1000))
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    time.sleep(1.0)  # the subscriber knows the publisher too
    values = {key: np.random.default_rng(0).normal(size=(1, 7))
              for key in ('position', 'velocity', 'effort')}
    begin, count = time.monotonic(), round(rate * seconds)
    for i in range(count):
        time.sleep(max(0.0, begin + i / rate - time.monotonic()))
        publisher.publish(encode(JOINTS, np.array([time.time_ns()]), values)[0].tobytes())
    time.sleep(1.0)
    print(count)
    node.destroy_node()
    rclpy.shutdown()
    return 0


@contextmanager
def _busy_cores() -> Iterator[None]:
    """Keep every core busy with something else."""
    loads = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
             for _ in range(os.cpu_count() or 2)]
    try:
        yield
    finally:
        for load in loads:
            load.kill()
            load.wait()


def _lost(rate: float, recorders: int) -> Figure:
    """Return how many messages of a minute are not in the bag of the first recorder."""
    from robident_ros.ros.processes import private_environment, Processes
    with TemporaryDirectory() as name, _busy_cores():
        folder, counted = Path(name), 0
        environment = private_environment(folder / 'ros')
        with Processes(folder, environment) as first, Processes(folder / 'two',
                                                                environment) as second:
            for i, processes in enumerate((first, second)[:recorders]):
                processes.start('recorder', {'output': str(folder / f'bag{i}')})
            output = subprocess.run([sys.executable, __file__, 'publish', str(rate),
                                     str(SECONDS)], env={**os.environ, **environment},
                                    check=True, capture_output=True, text=True).stdout
        for i in range(recorders):
            counted += _read(folder / f'bag{i}')
        return Figure(float(recorders * int(output.split()[-1]) - counted), 'messages',
                      target=0.0)


def _read(bag: Path) -> int:
    from robident_ros.recording import read_recording
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return len(read_recording(bag, JOINTS))


def _jitter() -> Figure:
    """Return the 99th percentile of how far streamed commands are off their even distance."""
    from robident_ros.excitation.fourier import FourierTrajectory, make_basis
    from robident_ros.excitation.trajectory import save_trajectory
    from robident_ros.ros.conductor import Conductor
    from robident_ros.ros.experiment_run import perform, Plan
    from robident_ros.ros.processes import private_environment, Processes
    from robident_ros.model.robot import load_robot
    from robident_ros.recording.mcap_storage import read_messages
    from robident_ros.share import share_path
    urdf, rate = share_path() / 'urdf' / 'arm6.urdf', 100.0
    robot = load_robot(urdf)
    basis = make_basis(robot.joint_names, 0.5, (1, 2))
    coefficients = 0.1 * np.random.default_rng(0).uniform(-1, 1, basis.mask.shape)
    with TemporaryDirectory() as name:
        folder = Path(name)
        environment = private_environment(folder / 'ros')
        os.environ.update(environment)
        save_trajectory(FourierTrajectory(basis, coefficients), folder / 'trajectory.yaml')
        plan = Plan(folder / 'trajectory.yaml', str(urdf), interface='stream', periods=5,
                    controller='forward_position_controller', rate_hz=rate)
        with Processes(folder / 'log', environment) as processes, Conductor() as conductor:
            processes.start('simulated_robot', {'urdf': str(urdf), 'rate_hz': 250.0})
            perform(plan, folder / 'bag', processes, conductor, lambda text: True)
        received = np.concatenate([raw.received_ns for raw in read_messages(
            folder / 'bag' / 'bag_0.mcap', '/forward_position_controller/commands', [])])
    steps = np.diff(np.sort(received)) / 1e6
    return Figure(float(np.percentile(np.abs(steps - 1e3 / rate), 99)), 'ms')


if find_spec('rclpy') is not None and __name__ != '__main__':
    benchmark('recorder_lost_1khz')(lambda: _lost(1000.0, 1))
    benchmark('recorder_lost_500hz_two')(lambda: _lost(500.0, 2))
    benchmark('streaming_jitter')(_jitter)

if __name__ == '__main__':
    sys.exit(publish(float(sys.argv[2]), float(sys.argv[3])))
