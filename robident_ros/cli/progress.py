"""Progress of long work, on a terminal's last line; silent where nobody looks."""

from collections.abc import Mapping
import sys
import time

PATIENCE = 2.0  # s without a word
PERIOD = 0.2  # s between words


class Progress:
    """Tell the stage and the share that is done, once work has taken a while."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, stage: str, share: float) -> None:
        """Show where the work is."""
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._start > PATIENCE and now - self._last > PERIOD:
            print(f'\r{stage} {100 * share:3.0f} %', end='', file=sys.stderr, flush=True)
            self._last, self._shown = now, True

    def done(self) -> None:
        """Clear the line."""
        if self._shown:
            print('\r' + ' ' * 30 + '\r', end='', file=sys.stderr, flush=True)
            self._shown = False


class ExperimentProgress:
    """Tell where an experiment is, from what its nodes say: in one line, or line by line."""

    def __init__(self) -> None:
        self._line = ''
        self._last = 0.0

    def __call__(self, statuses: Mapping[str, Mapping[str, str]]) -> None:
        """Show the phase, the period and what is known so far."""
        line = self._describe(statuses)
        live = sys.stderr.isatty()
        if not line or line == self._line or (live and time.monotonic() - self._last < PERIOD):
            return
        self._line, self._last = line, time.monotonic()
        print(f'\r\x1b[K{line}' if live else line, end='' if live else '\n', file=sys.stderr,
              flush=True)

    def _describe(self, statuses: Mapping[str, Mapping[str, str]]) -> str:
        excitation = statuses.get('excitation', {})
        if not excitation.get('phase'):
            return ''
        where = excitation['phase']
        if excitation['phase'] == 'periods':
            where = f'period {excitation["period"]} of {excitation["periods"]}'
        recorder, found = statuses.get('recorder', {}), statuses.get('identification', {})
        parts = [where.replace('_', ' ')]
        if sys.stderr.isatty():
            parts.append(f'{float(excitation["elapsed"]):.0f} of '
                         f'{float(excitation["duration"]):.0f} s')
            parts.append(f'{recorder.get("messages", 0)} joint states')
        parts.append(f'{recorder.get("lost", 0)} lost')
        if 'torque error' in found:
            parts.append(f'live torque error {100 * float(found["torque error"]):.1f} %')
        return ', '.join(parts)

    def done(self) -> None:
        """End the line."""
        if self._line and sys.stderr.isatty():
            print(file=sys.stderr)
