"""Nodes over real DDS, apart from everything else on the machine, gone when the test is over."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
import os
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from robident_ros.excitation.fourier import FourierTrajectory, make_basis
from robident_ros.excitation.trajectory import save_trajectory
from shipped import ROOT, shipped

pytest.importorskip('rclpy', reason='ROS 2 is not installed: pip install "robident_ros[ros]"')
pytest.importorskip('mujoco', reason='MuJoCo is not installed: pip install mujoco')

from rclpy.parameter import Parameter  # noqa: E402, I100
from rclpy.parameter_client import AsyncParameterClient  # noqa: E402
from robident_ros.ros.conductor import Conductor  # noqa: E402
from robident_ros.ros.processes import private_environment, Processes  # noqa: E402

URDF = ROOT / 'urdf' / 'arm6.urdf'
PATIENCE = 60.0  # s for a process to be up on a busy machine
_numbers = count(os.getpid())


def write_trajectory(path: Path, robot: str = 'arm6', period: float = 2.0) -> Path:
    """Write a gentle motion about the middle of the joints' ranges."""
    arm = shipped(robot)
    basis = make_basis(arm.joint_names, 1 / period, (1, 2, 3))
    coefficients = 0.3 * np.random.default_rng(0).uniform(-1, 1, basis.mask.shape)
    coefficients[:, 0] = np.clip(0.0, arm.limits.lower + 0.5, arm.limits.upper - 0.5)
    save_trajectory(FourierTrajectory(basis, coefficients), path)
    return path


def write_config(path: Path) -> Path:
    """Write an envelope for a machine that has more to do than the experiment."""
    path.write_text('schema: robident_config/1\nexperiment:\n  envelope:\n    staleness_s: 0.4\n'
                    '    frozen_s: 0.5\n')
    return path


class Stage(Conductor):
    """A conductor with processes and a folder of its own."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        super().__init__(f'test_{next(_numbers)}')
        self.folder, self.processes = folder, processes
        self._parameters: dict[str, AsyncParameterClient] = {}

    def start(self, name: str, **parameters: object):
        return self.processes.start(name, parameters)

    def state(self) -> str:
        return self.status('excitation', 'state')

    def reason(self) -> str:
        return self.status('excitation', 'reason')

    def until(self, condition, seconds: float = PATIENCE, what: str = 'condition') -> float:
        """Wait for a condition, and return how long it took."""
        begin = monotonic()
        self.wait(condition, seconds, what, self.processes.failure)
        return monotonic() - begin

    def set_parameter(self, node: str, name: str, value: object) -> tuple[bool, str]:
        if node not in self._parameters:
            self._parameters[node] = AsyncParameterClient(self.node, node)
        client = self._parameters[node]
        self.until(client.services_are_ready, what=f'parameters of {node}')
        future = client.set_parameters([Parameter(name, value=value)])
        self.until(future.done, what='answer about a parameter')
        result = future.result().results[0]
        return result.successful, result.reason

    def is_ready(self) -> bool:
        return self.state() == 'idle' and not self.status('excitation', 'waits for')


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Open a private ROS domain on the loopback device."""
    environment = private_environment(folder / 'ros')
    environment['ROS_DOMAIN_ID'] = str(1 + next(_numbers) % 101)
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        with Processes(folder / 'log', environment) as processes:
            with Stage(folder, processes) as conductor:
                yield conductor
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def last_line(process, log: Path) -> tuple[int, str]:
    """Wait for a process to end; return its exit code and last line."""
    code = process.wait(PATIENCE)
    lines = log.read_text().strip().splitlines()
    return code, lines[-1] if lines else ''
