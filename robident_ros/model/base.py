"""
Base parameters: the combinations of standard parameters that move the torques (paper 002).

Random samples of a regressor show which columns are zero (parameters without effect) and which
are combinations of columns before them (parameters to regroup): "larger subscripts are
regrouped". The remaining ones, with what is regrouped into them, are the base parameters β = K·θ.

A column counts as dependent when less than ``TOLERANCE`` of it points out of the span of the
columns before it. A robot's geometry makes that fraction either large or zero to round-off; what
lies between comes from rounded numbers in the URDF (1.5708 for π/2) or from tiny offsets, and is
reported as ambiguous.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from robident_ros.errors import ModelError
from robident_ros.model.regressor import energy_regressor, simplified_regressor, stack
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot

TOLERANCE = 1e-4
AMBIGUOUS = (TOLERANCE / 100, TOLERANCE * 100)
ROUTES = ('d', 'd0', 'h', 'dh')
METHODS = ('qr', 'svd')
SMALL = 'numpy'  # for some hundred samples, loading numba costs more than it saves


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """
    The base parameters of a robot.

    ``kept`` and ``regrouped`` index the standard parameters; column i of ``beta`` says how
    ``regrouped[i]`` enters the kept ones, θ_b = θ[kept] + beta @ θ[regrouped]. ``pivots`` is the
    fraction of each effective column that the columns before it do not explain; ``numerical_rank``
    the rank by the tolerance of paper 002, from pivoted QR and from SVD.
    """

    standard: tuple[str, ...]
    effective: np.ndarray
    kept: np.ndarray
    regrouped: np.ndarray
    beta: np.ndarray
    pivots: np.ndarray
    numerical_rank: tuple[int, int]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the base parameters: those of the standard parameters that lead them."""
        return tuple(self.standard[i] for i in self.kept)

    @property
    def regrouped_names(self) -> tuple[str, ...]:
        """Names of the standard parameters that are regrouped into base parameters."""
        return tuple(self.standard[i] for i in self.regrouped)

    @property
    def effective_names(self) -> tuple[str, ...]:
        """Names of the standard parameters that have an effect on the torques."""
        return tuple(self.standard[i] for i in self.effective)

    @cached_property
    def K(self) -> np.ndarray:
        """Map from standard to base parameters, (b, p)."""
        K = np.zeros((len(self.kept), len(self.standard)))
        K[np.arange(len(self.kept)), self.kept] = 1
        K[:, self.regrouped] = self.beta
        return K

    def reduce(self, W: np.ndarray) -> np.ndarray:
        """Return the base columns of a regressor (…, p), so that W·θ is this times K·θ."""
        return W[..., self.kept]

    def to_standard(self, theta_b: np.ndarray) -> np.ndarray:
        """Return the standard parameters with these base values and all others zero."""
        theta = np.zeros(len(self.standard))
        theta[self.kept] = theta_b
        return theta

    @property
    def margin(self) -> float:
        """Return the smallest pivot that was kept over the largest one that was dropped."""
        kept = np.isin(self.effective, self.kept)
        dropped = self.pivots[~kept].max(initial=np.finfo(float).eps)
        return float(self.pivots[kept].min(initial=1.0) / dropped)

    @property
    def ambiguous(self) -> tuple[str, ...]:
        """Names of the parameters that were kept or regrouped by a narrow margin."""
        low, high = AMBIGUOUS
        return tuple(self.standard[i] for i, pivot in zip(self.effective, self.pivots)
                     if low < pivot < high)

    def relation(self, index: int) -> str:
        """Return how one base parameter is made up, ``ZZR1 = ZZ1 + Ia1 + 0.29·M3``."""
        name = self.names[index]
        terms = [(self.beta[index, i], self.regrouped_names[i])
                 for i in np.flatnonzero(self.beta[index])]
        if not terms:
            return name
        symbol = name.rstrip('0123456789')
        text = ''.join(_signed(coefficient, other) for coefficient, other in terms)
        return f'{symbol}R{name[len(symbol):]} = {name}{text}'


def _signed(coefficient: float, name: str) -> str:
    size = f'{abs(coefficient):.6g}'
    factor = '' if size == '1' else size + '·'
    return f' {"-" if coefficient < 0 else "+"} {factor}{name}'


def base_parameters(robot: Robot, route: str = 'd', method: str = 'qr',
                    seed: int = 0) -> BaseParameters:
    """
    Find the base parameters of a robot from random samples of one of its regressors.

    :param route: 'd' torque, 'd0' torque at rest, 'h' energy, 'dh' energy differences. Friction
        and offsets have no effect in the last three.
    :param method: 'qr' or 'svd'; both must give the same answer.
    """
    W = _sample(robot, route, np.random.default_rng(seed))
    effective = _with_effect(robot, W)
    if not effective.size:
        raise ModelError(f'{robot.description.source}: no parameter has an effect on {route}')
    scale = np.linalg.norm(W[:, effective], axis=0)
    A = W[:, effective] / scale
    pivots = _pivots(A)
    independent = pivots > TOLERANCE
    if method == 'svd':
        independent = _independent_by_svd(A)
    beta = _regroup(A, independent) * scale[~independent] / scale[independent, None]
    return BaseParameters(robot.parameter_names, effective, effective[independent],
                          effective[~independent], beta, pivots, _numerical_rank(A))


def _sample(robot: Robot, route: str, rng: np.random.Generator) -> np.ndarray:
    """Return a regressor of random samples, with several rows for every column."""
    n, p = len(robot.joint_names), len(robot.parameters)
    count = 3 * p if route in ('h', 'dh') else -(-3 * p // n)
    q, v, a = rng.uniform(-3, 3, (3, count, n))  # all of a turn; speeds and metres alike
    if route == 'd':
        return stack(torque_regressor(robot, q, v, a, SMALL))
    if route == 'd0':
        return stack(simplified_regressor(robot, q, a, SMALL))
    if route not in ROUTES:
        raise ValueError(f'route is {route!r}, expected one of {", ".join(ROUTES)}')
    h = energy_regressor(robot, q, v)
    if route == 'dh':
        return np.diff(h, axis=0)
    # Only changes of energy do work: what is constant, to round-off, has no effect.
    varying = h - h.mean(axis=0)
    return np.where(np.ptp(h, axis=0) > 1e-9 * np.abs(h).max(axis=0), varying, 0.0)


def _with_effect(robot: Robot, W: np.ndarray) -> np.ndarray:
    """Return the columns that are not negligible beside others of their unit, nor known zero."""
    norms = np.linalg.norm(W, axis=0)
    largest: dict[str, float] = {}
    for parameter, norm in zip(robot.parameters, norms):
        largest[parameter.unit] = max(largest.get(parameter.unit, 0.0), norm)
    return np.array([i for i, parameter in enumerate(robot.parameters)
                     if norms[i] > TOLERANCE * largest[parameter.unit]
                     and parameter.name not in robot.config.model.zero], dtype=int)


def _pivots(A: np.ndarray) -> np.ndarray:
    """
    Return for each unit column the norm of what the independent columns before it leave.

    This is |diag R| of an unpivoted QR, with dependent columns skipped so that their round-off
    does not enter the basis. Projecting twice keeps the basis orthogonal to machine precision.
    """
    basis = np.empty_like(A)
    pivots = np.empty(A.shape[1])
    rank = 0
    for i, column in enumerate(A.T):
        Q = basis[:, :rank]
        residual = column - Q @ (Q.T @ column)
        residual -= Q @ (Q.T @ residual)
        pivots[i] = np.linalg.norm(residual)
        if pivots[i] > TOLERANCE:
            basis[:, rank] = residual / pivots[i]
            rank += 1
    return pivots


def _independent_by_svd(A: np.ndarray) -> np.ndarray:
    """
    Return which columns are kept, from the null space of A (paper 002, section IV).

    A column can be regrouped into those before it when some null vector ends at it: the rows of
    the null space, taken from the last one up, that are independent.
    """
    _, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    null = Vt[sigma <= TOLERANCE * sigma[0]]
    independent = np.ones(A.shape[1], dtype=bool)
    for i in reversed(range(A.shape[1])):
        size = np.linalg.norm(null[:, i])
        if size > TOLERANCE:
            independent[i] = False
            u = null[:, i] / size
            null = null - np.outer(u, u @ null)
    return independent


def _regroup(A: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return the dependent columns as combinations of the independent ones, noise removed."""
    kept, dropped = A[:, independent], A[:, ~independent]
    beta, *_ = np.linalg.lstsq(kept, dropped, rcond=None)
    noise = np.linalg.norm(dropped - kept @ beta, axis=0).max(initial=0)
    return np.where(np.abs(beta) > max(1e-10, 10 * noise), beta, 0.0)


def _numerical_rank(A: np.ndarray) -> tuple[int, int]:
    """Return the rank by pivoted QR and by SVD with paper 002's tolerance r · ε · largest."""
    from scipy.linalg import qr
    diagonal = np.abs(np.diag(qr(A, mode='r', pivoting=True)[0]))
    sigma = np.linalg.svd(A, compute_uv=False)
    return tuple(int(np.sum(values > len(A) * np.finfo(float).eps * values[0]))
                 for values in (diagonal, sigma))
