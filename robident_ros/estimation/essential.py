"""
Essential parameters: those that the data really say something about (papers 003 and [10]).

The parameter with the largest relative deviation %σ is removed, the others are estimated again,
and so on. A removal is final only while an F-test finds no loss of fit (what all removals cost
is compared with the residual of the full model) and while the residual rises by little.
"""

from dataclasses import dataclass

import numpy as np
from robident_ros.estimation.least_squares import LeastSquares, solve_problem
from robident_ros.estimation.problem import Problem


@dataclass(frozen=True)
class Step:
    """One removal: the parameter, its %σ then, and the relative rise of the residual so far."""

    name: str
    relative_std: float
    loss: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Essential:
    """
    The essential parameters.

    ``kept`` indexes the base parameters; ``estimate`` is the least squares of those alone.
    ``refused`` is the removal at which the test said stop.
    """

    kept: np.ndarray
    estimate: LeastSquares
    steps: tuple[Step, ...]
    refused: Step | None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the essential parameters."""
        return self.estimate.names

    def expand(self, size: int) -> np.ndarray:
        """Return all base parameters: those that are not essential are zero."""
        beta = np.zeros(size)
        beta[self.kept] = self.estimate.beta
        return beta


def essential_parameters(full: LeastSquares, relative_std: float = 10.0, level: float = 0.05,
                         correlation: float = 1.0, loss: float = np.inf) -> Essential:
    """
    Remove what is not essential.

    :param relative_std: parameters with %σ below this are all kept: they are certain.
    :param level: significance at which the F-test calls a loss of fit real.
    :param correlation: number of samples that say as much as one independent sample; residuals
        of measured data are correlated in time.
    :param loss: the largest rise of the residual's norm that is accepted, as a share, even
        where few independent samples cannot tell it from chance.
    """
    problem, steps, refused = full.problem, [], None
    kept, estimate = np.arange(len(full.names)), full
    while len(kept) > 1 and estimate.relative_std.max() > relative_std:
        worst = int(np.argmax(estimate.relative_std))
        remaining = np.delete(kept, worst)
        smaller = solve_problem(problem.restrict(remaining), full.deviations)
        step = Step(estimate.names[worst], float(estimate.relative_std[worst]),
                    *_loss(problem, full, smaller, len(remaining), correlation))
        if step.p_value < level or step.loss > loss:
            refused = step
            break
        steps.append(step)
        kept, estimate = remaining, smaller
    return Essential(_indices(kept), estimate, tuple(steps), refused)


def _loss(problem: Problem, full: LeastSquares, smaller: LeastSquares, size: int,
          correlation: float) -> tuple[float, float]:
    """Return the relative rise of the residual's norm, and the p-value of the F-test."""
    from scipy.stats import f
    least, cost = problem.cost(full.beta), smaller.problem.cost(smaller.beta)
    removed = len(full.names) - size
    freedom = problem.rows / correlation - len(full.names)
    rise = max(cost - least, 0.0) / max(least, np.finfo(float).tiny)
    loss = float(np.sqrt(1 + rise) - 1)
    if freedom <= 0:
        return loss, 1.0
    return loss, float(f.sf(rise / removed * freedom, removed, freedom))


def _indices(kept: np.ndarray) -> np.ndarray:
    kept = np.array(kept, dtype=int)
    kept.setflags(write=False)
    return kept
