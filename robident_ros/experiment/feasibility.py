"""
Whether a planned motion keeps to every bound, also between samples.

A motion is sampled finely, and again much finer around the worst sample of every quantity: its
parts are polynomials and low harmonics, so that no extreme hides between two samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from robident_ros.config import ExperimentOptions
from robident_ros.errors import UnsafeMotion
from robident_ros.excitation.constraints import is_limited, Motion, WorkspaceFamily
from robident_ros.experiment.motion import Played, Sample
from robident_ros.experiment.units import joint_units
from robident_ros.model.collision import CollisionModel
from robident_ros.model.regressor import torque_regressor_chunks
from robident_ros.model.robot import Robot

STEP = 1e-3  # s between the first samples
COLLISION_STEP = 1e-2  # s; distances are slower to compute, and vary more slowly
REFINEMENT = 64  # samples around the worst
# What exceeds a bound by less than this fraction of it is round-off of whoever optimised it.
ROUND_OFF = 1e-6

_ADVICE = {
    'position': 'move the robot to within its limits, or design the trajectory within them',
    'velocity': 'design the trajectory for these limits, or correct model: limits',
    'acceleration': 'design the trajectory for these limits, or lengthen experiment: ramp_s',
    'effort': 'design the trajectory for these limits, or correct model: limits',
    'distance outside': 'design the trajectory within the workspace, or start from another pose',
    'distance': 'start from another pose, or correct experiment: clearance',
}


@dataclass(frozen=True)
class Extreme:
    """
    The value of a quantity that comes nearest to its bound, or goes farthest beyond.

    ``excess`` is how far it is beyond; what is within has a negative one.
    """

    quantity: str
    joint: str
    value: float
    bound: float
    unit: str
    time: float
    phase: str
    excess: float

    @property
    def fits(self) -> bool:
        """Whether the value is within its bound."""
        return self.excess <= ROUND_OFF * max(1.0, abs(self.bound))


@dataclass(frozen=True, eq=False)
class _Quantities:
    """Named columns with their bounds, and how to compute them at given times."""

    labels: list[tuple[str, str, str]]  # quantity, joint, unit
    lower: np.ndarray
    upper: np.ndarray
    evaluate: Callable[[np.ndarray], np.ndarray]
    step: float


class PhasedMotion(Protocol):
    """What is checked: a timeline."""

    phases: tuple
    sample: Callable[[np.ndarray], Sample]
    phase_at: Callable


def check_motion(timeline: PhasedMotion, robot: Robot, options: ExperimentOptions,
                 collision: CollisionModel) -> tuple[Extreme, ...]:
    """
    Return the extremes of all quantities of a timeline, or raise UnsafeMotion for the first.

    Position, speed and acceleration are held against the robot's limits (those of passive joints
    too), effort by inverse dynamics with the a-priori parameters, and if there are any, workspace
    and link distances.
    """
    found = []
    for quantities in (_joint_quantities(timeline, robot), _passive_quantities(timeline, robot),
                       _workspace_quantities(timeline, robot),
                       _distance_quantities(timeline, collision, options)):
        if quantities is not None:
            found += _find_extremes(timeline, quantities)
    for extreme in found:
        if not extreme.fits:
            raise UnsafeMotion(extreme.quantity, extreme.joint, extreme.value, extreme.bound,
                               extreme.unit, extreme.time, extreme.phase,
                               _ADVICE[extreme.quantity])
    return tuple(found)


def predict_effort(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return efforts (N, n) by the a-priori parameters."""
    effort = np.empty(q.shape)
    for part, W in torque_regressor_chunks(robot, q, v, a):
        effort[part] = (W @ robot.theta).T
    return effort


def _joint_quantities(timeline: PhasedMotion, robot: Robot) -> _Quantities:
    limits, units = robot.limits, joint_units(robot, robot.joint_names)
    labels = [(kind, name, unit[kind]) for kind in ('position', 'velocity', 'acceleration',
                                                    'effort')
              for name, unit in zip(robot.joint_names, units)]
    highest = np.concatenate([limits.velocity, limits.acceleration, limits.effort])

    def evaluate(t: np.ndarray) -> np.ndarray:
        q, v, a = timeline.sample(t)
        return np.hstack([q, v, a, predict_effort(robot, q, v, a)])
    return _Quantities(labels, np.concatenate([limits.lower, -highest]),
                       np.concatenate([limits.upper, highest]), evaluate, STEP)


def _passive_quantities(timeline: PhasedMotion, robot: Robot) -> _Quantities | None:
    """Take the limits of passive joints, which follow the others, from the description."""
    rows = [i for i, name in enumerate(robot.tree_joint_names) if name not in robot.joint_names]
    if not rows:
        return None
    names = [robot.tree_joint_names[i] for i in rows]
    joints = [robot.description.joint(name) for name in names]
    labels = [(kind, name, unit[kind]) for kind in ('position', 'velocity')
              for name, unit in zip(names, joint_units(robot, names))]
    G, c = robot.joint_map.G[rows], robot.joint_map.c[rows]
    velocity = [joint.velocity for joint in joints]

    def evaluate(t: np.ndarray) -> np.ndarray:
        q, v, _ = timeline.sample(t)
        return np.hstack([q @ G.T + c, v @ G.T])
    return _Quantities(labels, np.array([joint.lower for joint in joints]
                                        + [-value for value in velocity]),
                       np.array([joint.upper for joint in joints] + velocity), evaluate, STEP)


def _workspace_quantities(timeline: PhasedMotion, robot: Robot) -> _Quantities | None:
    if not is_limited(robot.config.workspace):
        return None
    family = WorkspaceFamily(robot, robot.config.workspace, length=1.0)

    def evaluate(t: np.ndarray) -> np.ndarray:
        return family.evaluate(Motion(robot, *timeline.sample(t)))[0].T
    count = len(family.names)
    return _Quantities([('distance outside', f'workspace {name}', 'm') for name in family.names],
                       np.full(count, -np.inf), np.zeros(count), evaluate, COLLISION_STEP)


def _distance_quantities(timeline: PhasedMotion, collision: CollisionModel,
                         options: ExperimentOptions) -> _Quantities | None:
    if not collision.pairs:
        return None
    labels = [('distance', f'{first} and {second}', 'm') for first, second in collision.pairs]
    return _Quantities(
        labels, np.full(len(labels), options.clearance), np.full(len(labels), np.inf),
        lambda t: collision.distances(timeline.sample(t)[0]), COLLISION_STEP)


def _find_extremes(timeline: PhasedMotion, quantities: _Quantities) -> list[Extreme]:
    t = _times(timeline, quantities.step)
    worst_t, _ = _worst(quantities, t)
    window = np.linspace(-quantities.step, quantities.step, REFINEMENT + 1)
    finer = np.clip(worst_t[:, None] + window, t[0], t[-1]).ravel()
    worst_t, values = _worst(quantities, finer)
    return [_extreme(timeline, *row) for row in zip(quantities.labels, values, quantities.lower,
                                                    quantities.upper, worst_t)]


def _times(timeline: PhasedMotion, step: float) -> np.ndarray:
    """Sample all phases; of a periodic one, one period."""
    times = []
    for phase in timeline.phases:
        motion = phase.motion
        length = motion.trajectory.period if isinstance(motion, Played) else motion.duration
        times.append(phase.start + np.linspace(0, length, int(np.ceil(length / step)) + 1))
    return np.concatenate(times)


def _worst(quantities: _Quantities, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column the time and the value farthest beyond (or least within) bounds."""
    values = quantities.evaluate(t)
    excess = np.maximum(values - quantities.upper, quantities.lower - values)
    index = np.argmax(excess, axis=0)  # a value that is not a number counts as the worst
    return t[index], values[index, np.arange(values.shape[1])]


def _extreme(timeline: PhasedMotion, label: tuple[str, str, str], value: float, lower: float,
             upper: float, t: float) -> Extreme:
    quantity, joint, unit = label
    bound = upper if value - upper > lower - value else lower
    excess = max(value - upper, lower - value) if np.isfinite(value) else np.inf
    return Extreme(quantity, joint, float(value), float(bound), unit, float(t),
                   timeline.phase_at(t).name, float(excess))
