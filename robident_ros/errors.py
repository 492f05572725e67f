"""
One tree of errors: whatever goes wrong for a reason the user can mend is a RobidentError.

A message says what is wrong, where, what was expected and found, and the next step.
"""

from difflib import get_close_matches
from typing import Iterable


class RobidentError(Exception):
    """Root of all errors that are explained to the user in one line."""


class ConfigError(RobidentError):
    """A configuration file or option is wrong; the message starts with its key path."""


class ModelError(RobidentError):
    """A robot description cannot be used, or does not have what was asked for."""


class EstimationError(RobidentError):
    """Parameters cannot be estimated from the data given."""


class RankDeficient(EstimationError):
    """The data do not say enough to identify anything."""


class SolverFailed(EstimationError):
    """A numerical solver gave no answer."""


class RecordingError(RobidentError):
    """Measured data cannot be read, or do not hold what was asked for."""


class ExperimentError(RobidentError):
    """An experiment cannot be planned, or a command cannot be followed."""


class UnsafeMotion(ExperimentError):
    """
    A planned motion breaks a bound; it is found before anything moves.

    ``time`` is in s from the beginning of the motion, ``phase`` the part of it.
    """

    def __init__(self, quantity: str, joint: str, value: float, bound: float, unit: str,
                 time: float, phase: str, advice: str) -> None:
        super().__init__(f'{phase}, t = {time:.3f} s: {joint}: {quantity} {value:.4g} {unit} '
                         f'is beyond {bound:.4g} {unit}; {advice}')
        self.quantity, self.joint, self.value, self.bound = quantity, joint, value, bound
        self.time, self.phase = time, phase


class SafetyStop(ExperimentError):
    """The experiment was stopped because a measured or commanded value broke a bound."""

    def __init__(self, joint: str, value: float, bound: float, reason: str) -> None:
        super().__init__(f'stopped: {reason}')
        self.joint, self.value, self.bound = joint, value, bound


class ExcitationError(RobidentError):
    """A trajectory cannot be designed or read."""


class InfeasibleExcitation(ExcitationError):
    """No trajectory within the limits was found; the message names the limit and by how much."""


class RobidentWarning(UserWarning):
    """Something the user may accept but should know."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return what is nearest to ``name`` among ``known``, as the end of an error message."""
    by_lower_case = {str(item).lower(): str(item) for item in known}
    close = get_close_matches(str(name).lower(), by_lower_case, n=1)
    if close:
        return f'did you mean {by_lower_case[close[0]]!r}?'
    return 'known are: ' + (', '.join(by_lower_case.values()) or 'none')
