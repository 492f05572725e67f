"""
Quintics that join points (q, q̇) with zero accelerations at both ends (paper 000, eqs. 24 to 28).

In the time s = t/u of an interval of duration u, every joint moves as

    q(s) = q_a + (q_b - q_a)·P(s) + u·q̇_a·F(s) + u·q̇_b·G(s)

so that values are linear in the points, and where something is extreme follows from polynomials:

- acceleration is s·(1 - s) times a linear function, so speed has one extremum inside;
- that splits speed into two monotone pieces, so position has at most two extrema inside;
- extrema of acceleration are the roots of a quadratic.

For durations, all limits are just met at roots of polynomials in u. Between neighbouring roots
nothing changes, so the first stretch whose middle is within the limits starts at the shortest
duration. That matters since the highest acceleration is not monotone in u.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial
from robident_ros.arrays import read_only

# P, F and G, ascending powers of s; one column each. Then their first and second derivatives.
_BASIS = np.array([[0, 0, 0, 10, -15, 6], [0, 1, 0, -6, 8, -3], [0, 0, 0, -4, 7, -3]], float).T
_BASES = tuple(polynomial.polyder(_BASIS, order) for order in range(3))

# Bisections: a double has 52 bits; extrema are flat, so that half as many make them exact.
_BITS = 52
# Relative; round-off of a polynomial of degree five.
ROUND_OFF = 1e-12
# Duration of an interval in which nothing moves, s.
SHORTEST = 1e-3


@dataclass(frozen=True, eq=False)
class Quintics:
    """
    Quintics of n joints through m + 1 points.

    :param q: positions of the points, (m + 1, n); ``v`` their speeds.
    :param u: durations, (m,), s.
    """

    q: np.ndarray
    v: np.ndarray
    u: np.ndarray

    def __post_init__(self) -> None:
        """Copy and close the arrays."""
        for name in ('q', 'v', 'u'):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def value(self, s: np.ndarray, order: int) -> np.ndarray:
        """
        Return position, speed or acceleration (order 0, 1, 2).

        :param s: times within the intervals, 0 to 1, that broadcast with (m, n, k).
        """
        value = _value(self._step, self._before, self._after, self.u[:, None, None], s, order)
        return value + self.q[:-1, :, None] if order == 0 else value

    def at(self, i: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v and a, each (N, n), at times s (N,) of the intervals i (N,)."""
        interval = (self._step[i, :, 0], self._before[i, :, 0], self._after[i, :, 0],
                    self.u[i][:, None], s[:, None])
        return (self.q[i] + _value(*interval, 0), _value(*interval, 1), _value(*interval, 2))

    def product(self, bar: np.ndarray, s: np.ndarray,
                order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the gradient of Σ bar ∘ value(s, order) with respect to q, v and u, at fixed s.

        Where the value is extreme in s, this is the gradient of the extremum as well.
        """
        u = self.u[:, None, None]
        P, F, G = polynomial.polyval(s, _BASES[order])
        step = np.sum(bar * P * u**-order, axis=2)
        before, after = (np.sum(bar * B * u**(1 - order), axis=2) for B in (F, G))
        q_bar, v_bar = np.zeros_like(self.q), np.zeros_like(self.v)
        q_bar[1:] += step
        q_bar[:-1] += (np.sum(bar, axis=2) if order == 0 else 0) - step
        v_bar[:-1] += before
        v_bar[1:] += after
        slope = (-order * self._step * P / u
                 + (1 - order) * (self._before * F + self._after * G)) * u**-order
        return q_bar, v_bar, np.sum(bar * slope, axis=(1, 2))

    def extrema(self, order: int) -> np.ndarray:
        """Return times s, (m, n, 2), where position, speed or acceleration may be extreme."""
        c = _normalised(self._step, self._before, self._after, self.u[:, None, None])
        if order == 2:
            return np.concatenate(_acceleration_extrema(*c), axis=2)
        turn = _speed_extremum(*c)
        start, end = np.zeros_like(turn), np.ones_like(turn)
        if order == 1:
            return np.concatenate([turn, end], axis=2)
        return _standstill(c, self._before * self.u[:, None, None],
                           np.concatenate([start, turn], axis=2),
                           np.concatenate([turn, end], axis=2))

    @property
    def _step(self) -> np.ndarray:
        return np.diff(self.q, axis=0)[:, :, None]

    @property
    def _before(self) -> np.ndarray:
        return self.v[:-1, :, None]

    @property
    def _after(self) -> np.ndarray:
        return self.v[1:, :, None]


def _value(step: np.ndarray, before: np.ndarray, after: np.ndarray, u: np.ndarray,
           s: np.ndarray, order: int) -> np.ndarray:
    """Return a derivative of q(s), without q_a; the arguments broadcast."""
    P, F, G = polynomial.polyval(s, _BASES[order])
    return (step * P / u + before * F + after * G) * u**(1 - order)


def _normalised(step: np.ndarray, before: np.ndarray, after: np.ndarray,
                u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coefficients of s³, s⁴ and s⁵: eq. (28) times the powers of u."""
    return tuple(step * P + u * (before * F + after * G) for P, F, G in _BASIS[3:])


def _speed_extremum(c3: np.ndarray, c4: np.ndarray, c5: np.ndarray) -> np.ndarray:
    """Return where acceleration, 6·c3·s + 12·c4·s² + 20·c5·s³, is zero besides s = 0 and 1."""
    with np.errstate(divide='ignore', invalid='ignore'):
        return _inside(0.3 * c3 / c5)


def _acceleration_extrema(c3: np.ndarray, c4: np.ndarray, c5: np.ndarray) -> tuple:
    """Return the roots of c3 + 4·c4·s + 10·c5·s², computed without cancellation."""
    root = np.sqrt(np.maximum(4 * c4**2 - 10 * c3 * c5, 0))
    large = -2 * c4 - np.copysign(root, c4)
    with np.errstate(divide='ignore', invalid='ignore'):
        return _inside(large / (10 * c5)), _inside(c3 / large)


def _inside(s: np.ndarray) -> np.ndarray:
    """Return times clipped to the interval; what is not a number becomes its start."""
    return np.clip(np.nan_to_num(s, nan=0.0, posinf=1.0, neginf=0.0), 0, 1)


def _standstill(c: tuple, c1: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Bisect pieces of monotone speed; where none is a standstill, the interval's end stands."""
    def speed(s: np.ndarray) -> np.ndarray:
        return c1 + s**2 * (3 * c[0] + s * (4 * c[1] + s * 5 * c[2]))

    rising = speed(high) > speed(low)
    stops = speed(low) * speed(high) < 0
    for _ in range(_BITS // 2):
        middle = (low + high) / 2
        left = (speed(middle) > 0) == rising
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    return np.where(stops, (low + high) / 2, 1.0)


def peaks(step: np.ndarray, before: np.ndarray, after: np.ndarray,
          u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the highest |speed| and |acceleration| of quintics; the arguments broadcast.

    :param step: q_b - q_a; ``before`` and ``after`` are the speeds there, ``u`` the duration.
    """
    c = _normalised(step, before, after, u)
    c3, c4, c5 = c
    s = _speed_extremum(*c)
    inside = before + s**2 * (3 * c3 + s * (4 * c4 + s * 5 * c5)) / u
    speed = np.maximum(np.maximum(np.abs(before), np.abs(after)), np.abs(inside))
    acceleration = np.maximum(*(np.abs(s * (6 * c3 + s * (12 * c4 + s * 20 * c5))) / u**2
                                for s in _acceleration_extrema(*c)))
    return speed, acceleration


def shortest_durations(q: np.ndarray, v: np.ndarray, velocity: np.ndarray,
                       acceleration: np.ndarray) -> np.ndarray:
    """
    Return the shortest durations, (m,), that meet the limits of all joints (section 5.2).

    :param q: positions of the points, (m + 1, n); ``v`` their speeds, within ``velocity``.
    :param velocity: highest speeds, (n,); ``acceleration`` highest accelerations.
    """
    step, before, after = np.diff(q, axis=0), v[:-1], v[1:]

    def within(u: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Return whether durations (m, k) meet the limits."""
        speed, peak = peaks(step[part, :, None], before[part, :, None], after[part, :, None],
                            u[:, None])
        return np.all((speed <= velocity[:, None] * (1 + ROUND_OFF))
                      & (peak <= acceleration[:, None] * (1 + ROUND_OFF)), axis=1)

    brackets = np.empty((len(step), 2))
    for i, interval in enumerate(zip(step, before, after)):
        edges = np.append(SHORTEST, _just_met(*interval, velocity, acceleration))
        middles = np.append((edges[1:] + edges[:-1]) / 2, 2 * edges[-1])
        feasible = int(np.argmax(within(middles[None], slice(i, i + 1))))
        brackets[i] = middles[feasible - 1] if feasible else SHORTEST, middles[feasible]
    low, high = brackets.T
    for _ in range(_BITS):
        middle = (low + high) / 2
        met = within(middle[:, None])[:, 0]
        low, high = np.where(met, low, middle), np.where(met, middle, high)
    return high


def _just_met(step: np.ndarray, before: np.ndarray, after: np.ndarray, velocity: np.ndarray,
              acceleration: np.ndarray) -> np.ndarray:
    """Return the durations, ascending, at which some extremum is equal to its limit."""
    found = [np.empty(0)]
    for A, va, vb, v_max, a_max in zip(step, before, after, velocity, acceleration):
        # c3, c4 and c5 as polynomials in u, highest power first.
        c3, c4, c5 = ([va * F + vb * G, A * P] for P, F, G in _BASIS[3:])
        for sign in (-1, 1):
            found.append(_roots(_speed_polynomial(c3, c5, va - sign * v_max)))
            if np.isfinite(a_max):
                found.append(_roots(_acceleration_polynomial(c3, c4, c5, sign * a_max)))
    found = np.unique(np.concatenate(found))
    return found[found > SHORTEST]


def _speed_polynomial(c3: list, c5: list, excess: float) -> np.ndarray:
    """Return what is zero where the extremum at s = 3·c3/(10·c5) is the highest speed."""
    cube = _times(c3, c3, c3)
    return np.polyadd(_times([excess, 0], c5, c5, c5), np.polysub(
        0.09 * _times(cube, c5), 0.0135 * _times(cube, c3)))


def _acceleration_polynomial(c3: list, c4: list, c5: list, highest: float) -> np.ndarray:
    """Return the discriminant, in s, of acceleration less the highest one: a sextic in u."""
    a, b, c = (k * np.array(x) for k, x in ((20, c5), (12, c4), (6, c3)))
    d = np.array([-highest, 0, 0])
    terms = [18 * _times(a, b, c, d), -4 * _times(b, b, b, d), _times(b, b, c, c),
             -4 * _times(a, c, c, c), -27 * _times(a, a, d, d)]
    return sum((np.pad(term, (7 - len(term), 0)) for term in terms), np.zeros(7))


def _times(*factors: np.ndarray) -> np.ndarray:
    """Return the product of polynomials; leading zeros are kept, as all have their degree."""
    result = np.ones(1)
    for factor in factors:
        result = np.convolve(result, factor)
    return result


def _roots(coefficients: np.ndarray) -> np.ndarray:
    """Return the real parts of roots that are real to the accuracy of double roots."""
    roots = np.roots(coefficients)
    return roots.real[np.abs(roots.imag) <= 1e-6 * np.abs(roots)]
