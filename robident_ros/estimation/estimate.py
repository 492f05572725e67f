"""
The result of an identification: everything needed to use it, and to audit it.

All parameter sets stand side by side: a priori (URDF and configuration), base, essential, the
standard parameters closest to the a-priori ones by eqs. (30) and (32) of paper 003, and the
physically consistent ones, which are what the identified URDF gets.
"""

from dataclasses import dataclass, field

import numpy as np
from robident_ros.estimation.essential import Step

SETS = ('apriori', 'closest', 'essential_closest', 'consistent')


@dataclass(frozen=True, eq=False)
class BaseResult:
    """
    Base parameters; those that the data do not show are held at their a-priori values.

    ``std`` is infinite for a parameter that is held.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    relations: tuple[str, ...]
    apriori: np.ndarray
    value: np.ndarray
    std: np.ndarray
    identified: tuple[bool, ...]

    @property
    def relative_std(self) -> np.ndarray:
        """Return %σ."""
        with np.errstate(divide='ignore', invalid='ignore'):
            return np.where(self.value == 0, np.inf, 100 * self.std / np.abs(self.value))


@dataclass(frozen=True, eq=False)
class EssentialResult:
    """Essential parameters, what was removed in order, and the removal that was refused."""

    names: tuple[str, ...]
    value: np.ndarray
    std: np.ndarray
    removed: tuple[Step, ...]
    refused: Step | None = None


@dataclass(frozen=True, eq=False)
class StandardResult:
    """Standard parameters of all sets."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    joints: tuple[str, ...]
    apriori: np.ndarray
    closest: np.ndarray
    essential_closest: np.ndarray
    consistent: np.ndarray


@dataclass(frozen=True)
class LinkResult:
    """The links that one joint moves: mass, and which sets make a body of them."""

    joint: str
    apriori_mass: float
    mass: float
    apriori: bool
    closest: bool
    essential_closest: bool
    consistent: bool
    reason: str
    prior: str


@dataclass(frozen=True, eq=False)
class JointResult:
    """
    Fit of one joint: ‖τ − τ̂‖/‖τ‖ by parameter set, and the deviation it was weighted with.

    ``moved`` tells whether the joint's own motion was enough to know its drive.
    """

    joint: str
    rows: int
    rms_effort: float
    deviation: float
    moved: bool
    used: bool
    relative_error: dict[str, float]


@dataclass(frozen=True, eq=False)
class Excitation:
    """How well the data determine the base parameters."""

    condition: float
    scaled_condition: float
    singular_values: np.ndarray
    weakest: tuple[str, ...]
    held: tuple[str, ...]
    correlation: float


@dataclass(frozen=True)
class Source:
    """A file that went in."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """Where the result comes from."""

    sources: tuple[Source, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    created: str = ''
    config: dict = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Estimate:
    """One identification."""

    robot: str
    joint_names: tuple[str, ...]
    samples: int
    coulomb_width: float
    relative_error: dict[str, float]
    cross_validation: dict[str, float]
    holdout_error: float | None
    prior_weight: float
    consistency_loss: float
    base: BaseResult
    essential: EssentialResult
    standard: StandardResult
    links: tuple[LinkResult, ...]
    joints: tuple[JointResult, ...]
    excitation: Excitation
    notes: tuple[str, ...]
    provenance: Provenance = Provenance()

    @property
    def is_consistent(self) -> bool:
        """Whether every link of the consistent set is a body."""
        return all(link.consistent for link in self.links)
