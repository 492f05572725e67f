"""
What benchmarks have in common: how to measure, and a register of all of them.

Figures are ratios against a named baseline in the same run, in CPU time of one thread, so that
they mean the same on a busy machine.
"""

from dataclasses import dataclass
import json
import subprocess
import sys
import time
from typing import Callable

BENCHMARKS: dict[str, Callable[[], 'Figure']] = {}


@dataclass(frozen=True)
class Figure:
    """
    One measured figure.

    ``ratio`` is value over baseline; ``target`` the largest value that is good enough, or ratio
    when ``of_ratio``.
    """

    value: float
    unit: str
    baseline: float | None = None
    baseline_name: str = ''
    target: float | None = None
    of_ratio: bool = True

    @property
    def ratio(self) -> float | None:
        """Return the value as a fraction of the baseline's."""
        return None if self.baseline is None else self.value / self.baseline

    @property
    def met(self) -> bool | None:
        """Whether the target is met."""
        measured = self.ratio if self.of_ratio and self.baseline is not None else self.value
        return None if self.target is None else measured <= self.target


def benchmark(name: str) -> Callable:
    """Register a function that measures a figure under a name."""
    def register(function: Callable[[], Figure]) -> Callable[[], Figure]:
        BENCHMARKS[name] = function
        return function
    return register


def cpu_seconds(function: Callable[[], object], repeats: int = 3) -> float:
    """Return the least CPU time of some calls."""
    best = float('inf')
    for _ in range(repeats):
        start = time.process_time()
        function()
        best = min(best, time.process_time() - start)
    return best


def in_child(code: str) -> dict:
    """
    Run Python code in a fresh process.

    :param code: prints one JSON object as its last line; ``peak_mb()`` is there to call.
    """
    # Not getrusage: its maximum counts what the parent had when it forked.
    prelude = ('import json, re\n'
               'def peak_mb():\n'
               '    status = open("/proc/self/status").read()\n'
               '    return int(re.search(r"VmHWM:\\s*(\\d+)", status).group(1)) / 1024\n')
    output = subprocess.run([sys.executable, '-c', prelude + code], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])
