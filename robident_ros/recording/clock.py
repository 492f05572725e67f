"""
One clock that only goes forward, from the stamps of messages.

The time in a message's header is when the robot was measured; the time it was received carries
the delays of the network and the recorder. So header stamps are preferred, and where they fail
(never set, jumping back), receive times help out. Nothing is mended without a note.
"""

import numpy as np


def choose_stamps(stamp_ns: np.ndarray, received_ns: np.ndarray, notes: list[str]) -> np.ndarray:
    """Return header stamps, or receive times where the headers carry no time."""
    unset = np.count_nonzero(stamp_ns == 0)
    if unset > 1:  # a simulated clock may show zero once
        notes.append(f'{unset} of {len(stamp_ns)} messages have no time in their header: the '
                     'times they were received are used, expect more jitter')
        return received_ns
    return stamp_ns


def increasing(stamp_ns: np.ndarray, received_ns: np.ndarray,
               notes: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """
    Return strictly increasing stamps and the rows they belong to.

    A repeated stamp is dropped, and so is one that lies outside of its neighbours' while these
    follow each other: it is damaged, or its message came late. Where the clock jumps back, what
    follows is moved on by one constant, so that the step across the jump is that of the receive
    times, or one median step where these jumped too: distances on either side stay as they
    were measured.
    """
    rows = np.flatnonzero(np.diff(stamp_ns, prepend=stamp_ns[0] - 1) != 0)
    if len(rows) < len(stamp_ns):
        notes.append(f'{len(stamp_ns) - len(rows)} messages repeat the stamp of the one before '
                     'and were dropped')
    before, at, after = stamp_ns[rows[:-2]], stamp_ns[rows[1:-1]], stamp_ns[rows[2:]]
    astray = 1 + np.flatnonzero((before < after) & ((at < before) | (at > after)))
    if len(astray):
        notes.append(f'{len(astray)} messages have a stamp out of order and were dropped, first '
                     f'message {rows[astray[0]]}')
        rows = np.delete(rows, astray)
    stamps, received = stamp_ns[rows].copy(), received_ns[rows]
    if len(rows) < 2:
        return stamps, rows
    steps, received_steps = np.diff(stamps), np.diff(received)
    usual = max(int(np.median(steps)), 1)
    for jump in np.flatnonzero(steps < 0):
        step = int(received_steps[jump]) if received_steps[jump] > 0 else usual
        notes.append(f'the clock jumps back by {-steps[jump] / 1e9:.6g} s at message '
                     f'{rows[jump + 1]}: later stamps were moved on, {step / 1e9:.6g} s are '
                     'taken to lie between')
        stamps[jump + 1:] += step - steps[jump]
    return stamps, rows
