"""
The command ``robident``: one subcommand per module of this package.

Each module has ``add_parser(subparsers)`` and ``run(args)``; what is heavy to import is imported
inside ``run``, so that help and completion are instant. This is the one place where errors
become a line on stderr and an exit code.
"""

import argparse
from importlib import import_module
import os
import sys
from typing import Sequence
import warnings

from robident_ros.errors import RobidentError, RobidentWarning

COMMANDS = ('base', 'design', 'simulate', 'run', 'inspect', 'identify', 'payload', 'validate',
            'demo')


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog='robident',
        description='Identify the dynamic parameters of a robot from its own motion.')
    parser.add_argument('--version', action='version', version=_version())
    subparsers = parser.add_subparsers(dest='command', required=True, metavar='command')
    for name in COMMANDS:
        import_module(f'robident_ros.cli.{name}').add_parser(subparsers)
    return parser


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version
    try:
        return f'robident_ros {version("robident_ros")}'
    except PackageNotFoundError:
        return 'robident_ros (not installed)'


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; a known failure is one line on stderr and exit code 1."""
    # The matrices are small: threads of the linear algebra cost more than they bring, by far so
    # where several processes share the cores. It must be said before numpy is loaded.
    for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS'):
        os.environ.setdefault(name, '1')
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, 'reconfigure'):
            stream.reconfigure(errors='replace')  # a terminal that cannot show kg·m²
    args = make_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.simplefilter('always', RobidentWarning)
        warnings.showwarning = _show_warning(args.command, warnings.showwarning)
        try:
            return args.run(args)
        except RobidentError as error:
            print(f'robident {args.command}: {error}', file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print(f'robident {args.command}: stopped', file=sys.stderr)
            return 130
        except BrokenPipeError:  # `robident … | head` is not an error
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as error:
            print(f'robident {args.command}: {error}', file=sys.stderr)
            return 1


def _show_warning(command: str, fallback):
    def show(message, category, filename, lineno, file=None, line=None):
        if issubclass(category, RobidentWarning):
            print(f'robident {command}: warning: {message}', file=sys.stderr)
        else:
            fallback(message, category, filename, lineno, file, line)
    return show


if __name__ == '__main__':
    sys.exit(main())
