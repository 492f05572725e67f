"""
The standard parameters: names, order and units, to and from Pinocchio and URDF.

A link has ten inertial parameters, in the papers' order ``XX XY XZ YY YZ ZZ MX MY MZ M``: the
inertia about the origin of its joint frame, the first moments and the mass. A drive adds its
rotor inertia ``Ia``, viscous and Coulomb friction ``Fv`` and ``Fc``, and an offset ``off``.
Only this module knows that Pinocchio's order is another one.
"""

from dataclasses import dataclass

import numpy as np

INERTIAL = ('XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ', 'MX', 'MY', 'MZ', 'M')
XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = range(10)

# Pinocchio: m mx my mz Ixx Ixy Iyy Ixz Iyz Izz
_TO_PINOCCHIO = np.array([M, MX, MY, MZ, XX, XY, YY, XZ, YZ, ZZ])
_FROM_PINOCCHIO = np.argsort(_TO_PINOCCHIO)

_INERTIAL_UNITS = {**dict.fromkeys(INERTIAL[:6], 'kg·m²'),
                   **dict.fromkeys(INERTIAL[6:9], 'kg·m'), 'M': 'kg'}
_DRIVE_UNITS = {'revolute': {'Ia': 'kg·m²', 'Fv': 'N·m·s/rad', 'Fc': 'N·m', 'off': 'N·m'},
                'prismatic': {'Ia': 'kg', 'Fv': 'N·s/m', 'Fc': 'N', 'off': 'N'}}


@dataclass(frozen=True)
class Parameter:
    """One standard parameter: ``symbol`` of the link or drive numbered ``label``."""

    symbol: str
    label: str
    joint: str
    unit: str

    @property
    def name(self) -> str:
        """Name as the papers write it, ``ZZ1`` or ``Fvm6``."""
        return self.symbol + self.label


def inertial_parameters(label: str, joint: str) -> tuple[Parameter, ...]:
    """Return the ten parameters of the link that ``joint`` moves."""
    return tuple(Parameter(symbol, label, joint, _INERTIAL_UNITS[symbol]) for symbol in INERTIAL)


def drive_parameter(symbol: str, label: str, joint: str, kind: str) -> Parameter:
    """Return one parameter of the drive of a ``kind`` ('revolute' or 'prismatic') joint."""
    return Parameter(symbol, label, joint, _DRIVE_UNITS[kind][symbol])


def to_pinocchio(parameters: np.ndarray) -> np.ndarray:
    """Reorder inertial parameters (…, 10) from the papers' order to Pinocchio's."""
    return np.asarray(parameters)[..., _TO_PINOCCHIO]


def from_pinocchio(parameters: np.ndarray) -> np.ndarray:
    """Reorder inertial parameters (…, 10) from Pinocchio's order to the papers'."""
    return np.asarray(parameters)[..., _FROM_PINOCCHIO]


def symmetric(inertia: np.ndarray) -> np.ndarray:
    """Return the 3×3 matrix of ``XX XY XZ YY YZ ZZ``."""
    xx, xy, xz, yy, yz, zz = inertia[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def from_inertial(mass: float, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """
    Return the ten parameters of a link.

    :param mass: in kg.
    :param com: centre of mass in the joint frame, in m.
    :param inertia: 3×3 inertia about the centre of mass, axes of the joint frame, in kg·m².
    """
    com = np.asarray(com, dtype=float)
    about_origin = np.asarray(inertia) + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.concatenate([about_origin[np.triu_indices(3)], mass * com, [mass]])


def to_inertial(parameters: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """
    Return mass, centre of mass and inertia about it (paper 003, eq. 36) of ten parameters.

    A link without mass has its centre of mass at the origin.
    """
    mass = float(parameters[M])
    first = np.asarray(parameters[MX:MZ + 1], dtype=float)
    com = first / mass if mass else np.zeros(3)
    inertia = symmetric(parameters) - (com @ first * np.eye(3) - np.outer(com, first))
    return mass, com, (inertia + inertia.T) / 2
