"""
One start of the design: from a feasible motion to a good one.

A posture with room around it, and a random motion about it scaled down until it fits, are a
feasible start without luck. From there a sequence of smooth problems is solved by sequential
quadratic programming (SLSQP): the condition number in p-norms that come closer and closer to the
true one, and constraints aggregated more and more sharply. The condition number itself is not
smooth where extreme singular values coincide, which is where good designs end.
"""

from dataclasses import dataclass
from functools import partial
import time

import numpy as np
from robident_ros.errors import InfeasibleExcitation
from robident_ros.excitation.constraints import Motion
from robident_ros.excitation.criteria import Criterion, find_criterion, smooth
from robident_ros.excitation.fourier import FourierTrajectory
from robident_ros.excitation.information import adapt_criterion
from robident_ros.excitation.problem import Problem
from robident_ros.excitation.units import describe_violation

POSTURES = 100
ROOM = 0.02  # share of the limits that a start leaves free


@dataclass(frozen=True)
class Stage:
    """Exponent of the p-norm, sharpness of the aggregated constraints, and iterations."""

    p: float
    sharpness: float
    iterations: int


EXPLORE = (Stage(8, 40, 60),)
REFINE = (Stage(24, 100, 60), Stage(64, 200, 60))
POLISH = (Stage(128, 400, 40),)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A motion on the way: its variables, criterion, violation, and what it has cost."""

    x: np.ndarray
    value: float
    violation: float
    cpu_seconds: float = 0.0
    evaluations: int = 0

    @property
    def rank(self) -> tuple[float, float]:
        """Return what to sort by: feasible ones by value, others by violation."""
        return (max(self.violation, 0.0), self.value)


class _OutOfTime(Exception):
    pass


def find_start(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Return variables of a random motion that keeps to all limits."""
    centre = _find_posture(problem, rng)
    coefficients = rng.normal(size=problem.basis.mask.shape) * problem.basis.mask
    coefficients[:, 0] = 0
    swing = FourierTrajectory(problem.basis, coefficients)
    q, v, a = (np.abs(values).max(axis=0)
               for values in swing.sample(np.linspace(0, swing.period, 200)))
    limits = problem.limits
    room = np.minimum(limits.upper - centre, centre - limits.lower)
    fitting = np.minimum.reduce([room / q, limits.velocity / v, limits.acceleration / a])
    coefficients *= fitting[:, None]
    scale = 1.0
    while scale > 1e-4:
        scale *= 0.8
        trial = scale * coefficients
        trial[:, 0] = centre
        x = problem.variables(trial)
        if problem.violations(x).max() < -ROOM:
            break
    return x


def _find_posture(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Return the posture with most room among some random ones, at rest."""
    limits = problem.limits
    q = rng.uniform(limits.lower, limits.upper, (POSTURES, len(limits.lower)))
    for joint, position in problem.posture.items():
        q[:, joint] = position
    motion = Motion(problem.robot, q, 0 * q, 0 * q)
    outside = np.stack([(np.abs(rows) - 1 if family.two_sided else rows).max(axis=0)
                        for family in problem.families for rows in [family.evaluate(motion)[0]]])
    best = outside.max(axis=0).argmin()
    if outside[:, best].max() > -ROOM:
        family = problem.families[int(outside[:, best].argmax())]
        raise InfeasibleExcitation(
            f'no posture keeps to all limits: the best of {POSTURES} random ones '
            + describe_violation(family, Motion(problem.robot, q[best:best + 1],
                                                0 * q[best:best + 1], 0 * q[best:best + 1]))
            + '; widen that limit, or give a posture (excitation: posture)')
    return q[best]


def improve(problem: Problem, x: np.ndarray, stages: tuple[Stage, ...],
            cpu_limit: float = np.inf, slack: np.ndarray | float = 0.0) -> Candidate:
    """
    Run stages of the optimisation from x, and return the best motion that was met.

    :param cpu_limit: CPU seconds after which to stop where it is.
    :param slack: how far to stay within the limits, as a share of them, one or one for each.
    """
    begin = time.process_time()
    best, evaluations = None, 0
    for stage in stages:
        run = _Run(problem, stage, slack, begin + cpu_limit)
        try:
            x = run.solve(x)
        except _OutOfTime:
            x = run.best.x if run.best is not None else x
        evaluations += run.evaluations
        if run.best is not None and (run.best.violation <= 0 or best is None):
            best, x = run.best, run.best.x
        if time.process_time() > begin + cpu_limit:
            break
    assert best is not None  # every run looks at its start at least
    return Candidate(best.x, best.value, best.violation, time.process_time() - begin, evaluations)


class _Run:
    """One call of SLSQP, which keeps the best iterate."""

    def __init__(self, problem: Problem, stage: Stage, slack: np.ndarray | float,
                 deadline: float) -> None:
        self.problem, self.stage = problem, stage
        self.best: Candidate | None = None
        self.evaluations = 0
        self._slack, self._deadline = slack, deadline
        self._criterion = _criterion(problem, stage.p)
        self._constraints: tuple[bytes, tuple] | None = None

    def solve(self, x: np.ndarray) -> np.ndarray:
        from scipy.optimize import minimize
        self._note(x)
        limits = {'type': 'ineq', 'fun': lambda x: -self._limits(x)[0],
                  'jac': lambda x: -self._limits(x)[1]}
        result = minimize(self._objective, x, jac=True, method='SLSQP', constraints=[limits],
                          bounds=self.problem.bounds, callback=self._note,
                          options={'maxiter': self.stage.iterations, 'ftol': 1e-5})
        return result.x

    def _objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if time.process_time() > self._deadline:
            raise _OutOfTime
        self.evaluations += 1
        value, gradient = self.problem.objective(x, self._criterion)
        return (value, gradient) if value <= 0 else (np.log(value), gradient / value)

    def _limits(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = x.tobytes()
        if self._constraints is None or self._constraints[0] != key:
            values, jacobian = self.problem.constraints(x, self.stage.sharpness)
            self._constraints = key, (values + self._slack, jacobian)
        return self._constraints[1]

    def _note(self, x: np.ndarray) -> None:
        value, _ = self._criterion(self.problem.target.reduce(self.problem.motion(x).W))
        candidate = Candidate(x.copy(), value,
                              float((self.problem.violations(x) + self._slack).max()))
        if self.best is None or candidate.rank < self.best.rank:
            self.best = candidate


def _criterion(problem: Problem, p: float) -> Criterion:
    """Return what is minimised: the smooth condition number, or another one as configured."""
    name = problem.robot.config.excitation.criterion
    criterion = partial(smooth, p=p) if name == 'cond' else find_criterion(name)
    return adapt_criterion(problem.robot, problem.target, criterion)
