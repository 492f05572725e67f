"""
Nodes as processes of their own: started with their parameters, ended in order, never left behind.

They run in sessions of their own, so that Ctrl-C in a terminal reaches the one who started them,
who then lets the robot come to rest before the recorder closes its bag.
"""

from collections.abc import Mapping
import ctypes
import os
from pathlib import Path
import random
import signal
import subprocess
import sys

import yaml

PATIENCE_S = 15.0  # s for an orderly end; a stop takes a few
PR_SET_PDEATHSIG = 1
DOMAINS = range(1, 102)  # that are safe on every operating system


def private_environment(home: Path) -> dict[str, str]:
    """Return settings that keep nodes on this machine, apart from other robots' nodes."""
    return {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_HOME': str(home),
            'ROS_LOG_DIR': str(home / 'log'), 'ROS_DOMAIN_ID': str(random.choice(DOMAINS))}


def _die_with_parent() -> None:
    """Ask Linux to interrupt this process when its parent dies, however that happens."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    except (OSError, AttributeError):
        pass  # not Linux


class Processes:
    """Nodes that end with the block they were started in, the last one first."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self._folder = folder
        # Small matrices, and one core for each of several nodes: no threads of linear algebra.
        self._environment = {'OMP_NUM_THREADS': '1', 'OPENBLAS_NUM_THREADS': '1', **os.environ,
                             **(environment or {})}
        self._running: dict[str, subprocess.Popen] = {}

    def __enter__(self) -> 'Processes':
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *error: object) -> None:
        for name in reversed(list(self._running)):
            self.stop(name)

    def start(self, name: str, parameters: Mapping[str, object],
              remaps: Mapping[str, str] | None = None) -> subprocess.Popen:
        """
        Start a node of this package; its output goes to a log file in the folder.

        :param name: of the module, without ``_node``.
        """
        path = self._folder / f'{name}_parameters.yaml'
        path.write_text(yaml.safe_dump({'/**': {'ros__parameters': dict(parameters)}}),
                        encoding='utf-8')
        command = [sys.executable, '-m', f'robident_ros.ros.{name}_node', '--ros-args',
                   '--params-file', str(path)]
        for old, new in (remaps or {}).items():
            command += ['-r', f'{old}:={new}']
        with self.log_path(name).open('ab') as log:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment,
                start_new_session=True, preexec_fn=_die_with_parent)
        return self._running[name]

    def log_path(self, name: str) -> Path:
        """Return where a node's output goes."""
        return self._folder / f'{name}.log'

    def stop(self, name: str, patience: float = PATIENCE_S) -> int | None:
        """End a node in order; by force only when it does not end."""
        process = self._running.pop(name, None)
        if process is None:
            return None
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                process.send_signal(number)
            try:
                return process.wait(patience)
            except subprocess.TimeoutExpired:
                continue
        return process.wait()

    def failure(self) -> str:
        """Return the last words of a node that has ended by itself, or nothing."""
        for name, process in self._running.items():
            if process.poll() is not None:
                lines = self.log_path(name).read_text(errors='replace').strip().splitlines()
                return lines[-1] if lines else f'{name} ended with code {process.returncode}'
        return ''
