"""What a benchmark is: a named function that returns one figure."""

from collections.abc import Callable
from typing import NamedTuple

BENCHMARKS: dict[str, Callable[[], 'Figure']] = {}


class Figure(NamedTuple):
    """What was measured, and the named baseline measured in the same run."""

    value: float
    unit: str
    baseline: float
    ratio: float


def benchmark(name: str) -> Callable:
    """Register a benchmark under a name."""
    def register(function: Callable[[], Figure]) -> Callable[[], Figure]:
        BENCHMARKS[name] = function
        return function
    return register
