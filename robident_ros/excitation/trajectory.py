"""
Trajectories: what every exciting motion can be asked, and how it is kept in a file.

A trajectory knows its joints by name, its duration (the period, if it is periodic), and gives
positions, speeds and accelerations at any time, exactly differentiated.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from robident_ros.config import read_yaml
from robident_ros.errors import ExcitationError
from robident_ros.files import write_text
import yaml

SCHEMA = 'robident_trajectory/1'


@runtime_checkable
class Trajectory(Protocol):
    """A motion of named joints."""

    joint_names: tuple[str, ...]

    @property
    def period(self) -> float:
        """Duration of one pass, s."""

    @property
    def is_periodic(self) -> bool:
        """Whether the end joins the start smoothly, so that it can be repeated."""

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a at times t (N,), each (N, n)."""

    def to_data(self) -> dict:
        """Return all that defines it, as plain numbers, lists and texts, ``kind`` included."""


def save_trajectory(trajectory: Trajectory, path: str | Path, about: dict | None = None) -> None:
    """
    Write a trajectory to a YAML file, whole or not at all.

    :param about: how it was made; kept in the file, not read back.
    """
    data = {'schema': SCHEMA, **trajectory.to_data()}
    if about:
        data['about'] = about
    write_text(path, yaml.safe_dump(data, sort_keys=False, allow_unicode=True))


def load_trajectory(path: str | Path) -> Trajectory:
    """Read a trajectory (or a plan of single-joint motions) back; the file says which kind."""
    from robident_ros.excitation.fourier import FourierTrajectory
    from robident_ros.excitation.polynomial import PolynomialTrajectory
    from robident_ros.excitation.single_joint import SingleJointPlan
    kinds = {'fourier': FourierTrajectory, 'polynomial': PolynomialTrajectory,
             'single_joint': SingleJointPlan}
    data = read_yaml(path)
    schema, kind = data.pop('schema', None), data.pop('kind', None)
    data.pop('about', None)
    if schema != SCHEMA:
        raise ExcitationError(f'{path}: schema is {schema!r}, expected {SCHEMA!r}; is it a '
                              'trajectory written by "robident design" of this version?')
    if kind not in kinds:
        raise ExcitationError(f'{path}: kind is {kind!r}, expected one of {", ".join(kinds)}')
    try:
        return kinds[kind].from_data(data)
    except (KeyError, TypeError, ValueError) as error:
        raise ExcitationError(f'{path}: is damaged: {type(error).__name__}: {error}') from error
