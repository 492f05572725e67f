"""
Which joint to move for which constants, and the proof that it is enough (paper 001, Algorithm 2).

A step identifies the constants of one composite body from the torque of its joint j, where those
of the bodies behind j are known. Axis r is the first revolute one, s the first that is not
parallel to r. The paper moves

1. every prismatic joint itself, for its mass m̂;
2. joint r in three or more configurations of q_j, for j from n to s; also j itself, if it is
   always at right angles to r, which hides U33; for prismatic j, configurations of q_s;
3. for revolute joints before s: r, if gravity is not parallel to it; otherwise a revolute joint at
   a distance from j; if there is none, r for U33 and a prismatic joint that is not parallel for k.
   For prismatic joints between r and s: r.

Whether the rows have full rank for the new constants is then computed. The paper's motions are
enough under gravity, on all robots that were tried; without gravity often not, as what holds the
first moments then needs a second axis. There, motions of further joints and further configurations
are added until the rank is full, and what remains hidden is an error.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from robident_ros.errors import ExcitationError
from robident_ros.excitation.limits import design_limits
from robident_ros.excitation.single_joint import make_motion, SingleJointMotion, SingleJointPlan
from robident_ros.model.composite import COINCIDENT, minimal_set, MinimalSet
from robident_ros.model.composite import normal_frames, PARALLEL
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Limits, Robot

# A combination of constants counts as shown if its effect is this large, relative to what the
# constants do when all joints move; round-off is below 1e-10.
SHOWN = 1e-6
# Samples of one motion: its torques are sums of a few harmonics.
SAMPLES = 24
# Positions that are tried for a configuration that is not accepted.
TRIES = 10
KERNEL = 'numpy'  # for so few samples, loading numba costs more than it saves

Accept = Callable[[SingleJointMotion], bool]


def every(motion: SingleJointMotion) -> bool:
    """Accept any motion within the joint limits."""
    return True


def design_single_joint(robot: Robot, *, limits: Limits | None = None, stroke: float = 1.0,
                        configurations: int = 3, draws: int = 30, seed: int = 0,
                        accept: Accept = every) -> SingleJointPlan:
    """
    Plan motions of one joint at a time that identify the minimal set of a serial robot.

    :param limits: finite limits to keep; default: those of the robot.
    :param stroke: how far the moving joint goes at most, rad or m.
    :param configurations: of the locked joints, per step; more are added where needed.
    :param draws: random locked configurations from which the best is chosen, per step.
    :param accept: says whether a motion may be made, for example without a collision.
    """
    task = _Task(robot, design_limits(robot) if limits is None else limits, stroke,
                 configurations, draws, accept)
    rng, known, motions = np.random.default_rng(seed), [], []
    for j, constants in task.steps():
        step = _plan_step(task, j, constants, known, rng)
        motions += step
        known += constants
    return SingleJointPlan(tuple(motions))


def coefficients(robot: Robot, motion: SingleJointMotion, to_constants: np.ndarray,
                 samples: int = SAMPLES) -> np.ndarray:
    """
    Return the rows of the observed torque over the minimal set, (samples, constants).

    :param to_constants: pseudo-inverse of the map of the minimal set.
    """
    t = np.arange(samples) / samples * motion.period
    W = torque_regressor(robot, *motion.sample(t), KERNEL)
    return W[robot.joint_names.index(motion.observed)] @ to_constants


def unidentified(robot: Robot, plan: SingleJointPlan,
                 limits: Limits | None = None) -> tuple[str, ...]:
    """
    Return the constants of the minimal set that a plan leaves unknown: none, if it is complete.

    Each step must show its own constants, given those before it, and depend on no others.

    :param limits: which motions are usual, to tell effects from none; default: the robot's.
    """
    task = _Task(robot, design_limits(robot) if limits is None else limits)
    known: list[str] = []
    for step in plan.steps:
        C = np.vstack([coefficients(robot, motion, task.to_constants) for motion in step])
        if _hidden(C / task.sizes, task.names, step[0].constants, known) is None:
            known += step[0].constants
    return tuple(name for name in task.names if name not in known)


@dataclass(frozen=True, eq=False)
class _Task:
    """A robot with its geometry and what the user asked for."""

    robot: Robot
    limits: Limits
    stroke: float = 1.0
    configurations: int = 3
    draws: int = 30
    accept: Accept = every

    @cached_property
    def knowledge(self) -> MinimalSet:
        """Return what is to be identified."""
        return minimal_set(self.robot)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the minimal set."""
        return self.knowledge.names

    @cached_property
    def to_constants(self) -> np.ndarray:
        """Map of torque rows over the parameters to rows over the minimal set."""
        return np.linalg.pinv(self.knowledge.map)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Return what each constant does to the torques when all joints move."""
        shape, rng = (50, len(self.robot.joint_names)), np.random.default_rng(0)
        q = rng.uniform(self.limits.lower, self.limits.upper, shape)
        v, a = (rng.uniform(-limit, limit, shape)
                for limit in (self.limits.velocity, self.limits.acceleration))
        W = torque_regressor(self.robot, q, v, a, KERNEL) @ self.to_constants
        return np.sqrt(np.mean(np.sum(W**2, axis=0), axis=0))

    @cached_property
    def axes(self) -> np.ndarray:
        """Axes of the joints in the root frame in random configurations, (k, n, 3)."""
        rng, frames = np.random.default_rng(0), normal_frames(self.robot)
        q = rng.uniform(self.limits.lower, self.limits.upper, (5, len(self.limits.lower)))
        return np.array([[frame.rotation[:, 2] for frame in frames.place(row)] for row in q])

    @property
    def revolute(self) -> list[int]:
        """Revolute joints."""
        return [i for i, kind in enumerate(self.robot.kinds) if kind == 'revolute']

    def parallel(self, i: int, j: int) -> bool:
        """Whether two axes are always parallel."""
        return bool(np.all(np.linalg.norm(np.cross(self.axes[:, i], self.axes[:, j]), axis=1)
                           < PARALLEL))

    def steps(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield joints and constants: masses of prismatic joints, then bodies backward."""
        last = len(self.robot.kinds) - 1
        bodies = [[name for name in self.names if name.rsplit('_', 1)[1] == str(j + 1)]
                  for j in range(last + 1)]
        for j in range(last, -1, -1):
            if self.robot.kinds[j] == 'prismatic':
                yield j, (f'm_{j + 1}',)
        for j in range(last, -1, -1):
            constants = tuple(name for name in bodies[j] if not name.startswith('m_'))
            if constants:
                yield j, constants

    def movers(self, j: int, constants: tuple[str, ...]) -> list[int]:
        """Return the joints that Algorithm 2 moves for these constants of joint j."""
        if constants[0].startswith('m_'):
            return [j]
        r = self.revolute[0]
        if self.robot.kinds[j] == 'prismatic':
            return [r]
        if any(not self.parallel(r, i) for i in self.revolute if i <= j):
            upright = np.all(np.abs(np.sum(self.axes[:, r] * self.axes[:, j], axis=1)) < PARALLEL)
            return [r, j] if upright else [r]
        g = self.robot.tree.gravity.linear
        if np.linalg.norm(np.cross(self.axes[0, r], g)) > PARALLEL * np.linalg.norm(g):
            return [r]
        apart = [i for i in self.revolute if i < j and self._distance(i, j) > COINCIDENT]
        sliding = [k for k in range(j) if k not in self.revolute and not self.parallel(k, j)]
        return apart[:1] or [r, *sliding[:1]]

    def _distance(self, i: int, j: int) -> float:
        """Return the distance of two parallel axes where all joints are at zero."""
        frames = normal_frames(self.robot).place(np.zeros(len(self.robot.kinds)))
        between = frames[j].translation - frames[i].translation
        return float(np.linalg.norm(np.cross(between, frames[j].rotation[:, 2])))

    def varied(self, j: int) -> int:
        """Return the joint that makes the configurations different: j, or s for sliders."""
        if self.robot.kinds[j] == 'revolute':
            return j
        before = [i for i in self.revolute if i < j]
        return next((i for i in before if not self.parallel(before[0], i)), j)


def _hidden(C: np.ndarray, names: tuple[str, ...], new: tuple[str, ...],
            known: list[str]) -> str | None:
    """
    Return a new constant that rows C, relative to their sizes, do not show; None if all.

    The rows may depend on what is known, but on nothing else that is not new.
    """
    own = C[:, [names.index(name) for name in new]]
    others = C[:, [i for i, name in enumerate(names) if name not in new and name not in known]]
    _, sigma, Vt = np.linalg.svd(own / np.sqrt(len(own)), full_matrices=False)
    if len(sigma) < len(new) or sigma[-1] < SHOWN or np.abs(others).max(initial=0) > SHOWN:
        return new[int(np.argmax(np.abs(Vt[-1])))]
    return None


def _plan_step(task: _Task, j: int, constants: tuple[str, ...], known: list[str],
               rng: np.random.Generator) -> list[SingleJointMotion]:
    """Return the motions of one step: the paper's, and more if they are not enough."""
    movers = task.movers(j, constants)
    further = [i for i in range(j, -1, -1) if i not in movers]
    usual = task.configurations if len(constants) > 1 else 1
    for extra in range(len(further) + 2):
        count = usual if extra <= len(further) else task.configurations + 3
        motions, C = _best(task, j, movers + further[:extra], constants, count, rng)
        hidden = _hidden(C, task.names, constants, known) if motions else constants[0]
        if hidden is None:
            return motions
    if not motions:
        raise ExcitationError(f'{task.robot.name}: no motion for {", ".join(constants)} was '
                              'accepted; allow more, or make more draws')
    raise ExcitationError(
        f'{task.robot.name}: {hidden} cannot be identified by moving one joint at a time within '
        f'the limits; widen those of joint {task.robot.joint_names[j]!r} and the joints before')


def _best(task: _Task, j: int, movers: list[int], constants: tuple[str, ...], count: int,
          rng: np.random.Generator) -> tuple[list[SingleJointMotion], np.ndarray]:
    """Return, of random configurations, the motions that show the constants most evenly."""
    columns = [task.names.index(name) for name in constants]
    best: tuple = (-1.0, [], np.zeros((0, len(task.names))))
    for _ in range(task.draws):
        groups = [_motions(task, j, mover, constants, count, rng) for mover in movers]
        if not all(groups):
            continue
        motions = [motion for group in groups for motion in group]
        C = np.vstack([coefficients(task.robot, motion, task.to_constants)
                       for motion in motions]) / task.sizes
        least = np.linalg.svd(C[:, columns] / np.sqrt(len(C)), compute_uv=False)[-1]
        if least > best[0]:
            best = least, motions, C
    return best[1], best[2]


def _motions(task: _Task, j: int, mover: int, constants: tuple[str, ...], count: int,
             rng: np.random.Generator) -> list[SingleJointMotion]:
    """
    Return motions in configurations that differ in one joint, all accepted; or none.

    With more configurations than asked for, all joints differ.
    """
    lower, upper = task.limits.lower, task.limits.upper
    varied, motions = task.varied(j), []
    if varied == mover and count == task.configurations:
        count = 1  # what a joint shows of itself needs no configurations
    q = rng.uniform(lower, upper)
    shares = (np.arange(count) + rng.random()) / count  # evenly over the range, if accepted
    for share in shares:
        if count > task.configurations:
            q = rng.uniform(lower, upper)
        for place in [share, *rng.random(TRIES)]:
            q[varied] = lower[varied] + place * (upper - lower)[varied]
            readable = np.clip(np.round(q, 3), lower, upper)
            motion = make_motion(task.robot.joint_names, mover, j, constants, readable,
                                 task.limits, task.stroke)
            if task.accept(motion):
                motions.append(motion)
                break
    return motions if len(motions) == count else []
