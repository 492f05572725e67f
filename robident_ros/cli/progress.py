"""Progress of long work, on a terminal's last line; silent where nobody looks."""

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
