"""
Drives: rotor inertia, friction and offset, as rows over the joints.

A motor turns with speed k·q̇ on the joint side, where the row k is usually a unit vector. Its
terms act on the joints through kᵀ: ``Ia`` kᵀ(k·q̈), ``Fv`` kᵀ(k·q̇), ``Fc`` kᵀ sign(k·q̇),
``off`` kᵀ. A coupled wrist, as of the TX-40 (paper 003, eqs. 34–35), is a row with two entries.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.config import DriveOptions
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.model.parameters import drive_parameter, Parameter


@dataclass(frozen=True, eq=False)
class DriveTerm:
    """One drive parameter and the row over the active joints that it acts along."""

    parameter: Parameter
    row: np.ndarray

    @property
    def symbol(self) -> str:
        """Which of ``Ia Fv Fc off`` it is."""
        return self.parameter.symbol


def make_drive_terms(joint_names: tuple[str, ...], kinds: tuple[str, ...],
                     labels: tuple[str, ...], options: DriveOptions) -> tuple[DriveTerm, ...]:
    """
    Return the drive terms of all joints, then the friction of coupled motors.

    The rotor of a coupled motor turns with its row; joint-side friction stays with the joint,
    and the friction at the motor (``Fvm``, ``Fcm``) is added, as paper 003 does.
    """
    rows = dict(zip(joint_names, np.eye(len(joint_names))))
    coupled = {joint: _coupling_row(joint, coupling, rows)
               for joint, coupling in options.couplings.items()}
    terms, motor_terms = [], []
    for joint, kind, label in zip(joint_names, kinds, labels):
        motor_row = coupled.get(joint, rows[joint])
        for symbol in options.terms:
            row = motor_row if symbol == 'Ia' else rows[joint]
            parameter = drive_parameter(symbol, label, joint, kind)
            terms.append(DriveTerm(parameter, read_only(row)))
            if joint in coupled and symbol in ('Fv', 'Fc'):
                parameter = drive_parameter(symbol, f'm{label}', joint, kind)
                motor_terms.append(DriveTerm(parameter, read_only(motor_row)))
    return tuple(terms + motor_terms)


def _coupling_row(joint: str, coupling: dict[str, float], rows: dict) -> np.ndarray:
    for name in (joint, *coupling):
        if name not in rows:
            raise ConfigError(f'drives: couplings: {joint}: there is no joint {name!r}, '
                              + did_you_mean(name, rows))
    row = sum((factor * rows[name] for name, factor in coupling.items()), np.zeros(len(rows)))
    if not row @ rows[joint]:
        raise ConfigError(f'drives: couplings: {joint}: the motor must turn with {joint!r}; '
                          f'give it a coefficient, e.g. {joint}: 1.0')
    return row


def coulomb(speed: np.ndarray, width: float) -> np.ndarray:
    """Return the direction of Coulomb friction: sign, or a smooth tanh of that width."""
    return np.tanh(speed / width) if width > 0 else np.sign(speed)


def fill_drive_columns(W: np.ndarray, columns: np.ndarray, terms: tuple[DriveTerm, ...],
                       v: np.ndarray, a: np.ndarray, width: float) -> None:
    """
    Write the torque columns of drive terms.

    :param W: (p, n, N), written at ``columns``.
    :param v: joint speeds, (n, N); ``a`` accelerations likewise.
    """
    for column, term in zip(columns, terms):
        if term.symbol == 'Ia':
            value = term.row @ a
        elif term.symbol == 'Fv':
            value = term.row @ v
        elif term.symbol == 'Fc':
            value = coulomb(term.row @ v, width)
        else:
            value = np.ones(v.shape[1])
        for joint in np.flatnonzero(term.row):
            W[column, joint] = term.row[joint] * value


def drive_columns_product(W_bar: np.ndarray, columns: np.ndarray, terms: tuple[DriveTerm, ...],
                          v: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the gradient of Σ W_bar ∘ W with respect to speeds and accelerations, (n, N) each.

    A sharp sign has no gradient: optimise with a width.
    """
    v_bar, a_bar = np.zeros_like(v), np.zeros_like(v)
    for column, term in zip(columns, terms):
        value_bar = term.row @ W_bar[column]
        if term.symbol == 'Ia':
            a_bar += np.outer(term.row, value_bar)
        elif term.symbol == 'Fv':
            v_bar += np.outer(term.row, value_bar)
        elif term.symbol == 'Fc' and width > 0:
            slope = (1 - coulomb(term.row @ v, width)**2) / width
            v_bar += np.outer(term.row, value_bar * slope)
    return v_bar, a_bar
