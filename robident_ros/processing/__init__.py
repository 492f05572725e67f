"""From recordings to samples: align, average periods, differentiate, filter in parallel."""

from robident_ros.processing.periods import average_periods, Periods
from robident_ros.processing.process import Dropped, process, Samples
from robident_ros.processing.repetition import find_period

__all__ = ['average_periods', 'Dropped', 'find_period', 'Periods', 'process', 'Samples']
