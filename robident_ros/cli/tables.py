"""Tables for a terminal: aligned columns, long last columns wrapped below themselves."""

from shutil import get_terminal_size
from textwrap import wrap
from typing import Sequence

GAP = '  '
NARROWEST = 20  # of the last column, before lines become longer than the terminal


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]],
                 right: Sequence[int] = ()) -> str:
    """
    Return rows of text as a table.

    :param right: columns to align to the right, as numbers are.
    """
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    used = sum(widths[:-1]) + len(GAP) * (len(header) - 1)
    room = max(get_terminal_size().columns - used - 1, NARROWEST)
    widths[-1] = min(widths[-1], room)
    rule = GAP.join('─' * width for width in widths)
    return '\n'.join([_line(header, widths, right), rule,
                      *(_line(row, widths, right) for row in rows)])


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    aligned = [cell.rjust(width) if i in right else cell.ljust(width)
               for i, (cell, width) in enumerate(zip(cells[:-1], widths))]
    indent = ' ' * sum(len(cell) + len(GAP) for cell in aligned)
    last = wrap(cells[-1], widths[-1]) or ['']
    first = GAP.join([*aligned, last[0]]).rstrip()
    return '\n'.join([first, *(indent + line for line in last[1:])])
