"""Options that several commands share, and what they stand for."""

import argparse
from dataclasses import replace

from robident_ros.errors import ConfigError, did_you_mean


def add_robot_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say which robot is meant."""
    parser.add_argument('urdf', metavar='URDF', help='URDF or xacro file of the robot')
    parser.add_argument('--config', metavar='FILE', help='configuration (YAML)')
    parser.add_argument('--terms', metavar='LIST',
                        help='drive terms, e.g. Ia,Fv,Fc,off or none (default: as configured, '
                        'else all)')


def load_robot_from(args: argparse.Namespace):
    """Return the robot that the options of ``add_robot_options`` name."""
    from robident_ros.model.robot import load_robot
    return load_robot(args.urdf, load_config_from(args))


def load_config_from(args: argparse.Namespace):
    """Return the configuration, with the drive terms of the command line."""
    from robident_ros.config import load_config
    config = load_config(args.config)
    if args.terms is not None:
        config = replace(config, drives=replace(config.drives, terms=_terms(args.terms)))
    return config


def _terms(text: str) -> tuple[str, ...]:
    from robident_ros.config import DRIVE_TERMS
    chosen = [] if text == 'none' else [term.strip() for term in text.split(',') if term.strip()]
    for term in chosen:
        if term not in DRIVE_TERMS:
            raise ConfigError(f'--terms: unknown {term!r}, {did_you_mean(term, DRIVE_TERMS)}')
    return tuple(term for term in DRIVE_TERMS if term in chosen)
