"""
Suspicions: what is likely wrong with data that do not fit, said before anyone builds on them.

Names travel with the data, but columns of a text file, signs and units do not check themselves.
Some mistakes show in the numbers at once; for others a few likely ones are tried, and named if
one of them would halve the error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from robident_ros.errors import EstimationError, SolverFailed
from robident_ros.estimation.consistent import Consistent, estimate_consistent
from robident_ros.estimation.solution import BaseSolution, Setting
from robident_ros.model.base import BaseParameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import Robot
from robident_ros.processing.process import Samples

DEGREE = np.pi / 180
STILL = 0.01  # of the largest joint's range of motion: a joint that moves less stands still
LEAST_RANGE = 1e-3, 1e-4  # rad, m: less is the noise of an encoder
CONSTANT = 1e-6  # of its mean: an effort that varies less was not measured
# An effort that varies by no more than its noise does, and by a hundredth of what the URDF
# predicts, was not measured either: the channel is dead.
NOISE_ONLY, DEAD = 3.0, 0.01
POOR = 0.2  # relative error from which mistakes are looked for
STRANGE = 0.15  # rise of the residual by consistency that is more than noise explains
OTHER_UNIT = 50.0  # factor between efforts and a-priori ones that parameters do not explain
TRIED = 400  # samples that mistakes are tried on
CERTAIN = 5.0  # standard deviations below zero at which friction is negative beyond doubt
IMPOSSIBLE = 0.5  # rise of the residual that possible bodies cost: something else is wrong
WRAPS = 4 * np.pi  # rad; a revolute joint that goes further is rather in degrees


def find_still_joints(robot: Robot, positions: Sequence[np.ndarray]) -> list[np.ndarray]:
    """
    Return which joints do not move in each recording, as flags; an error if none ever does.

    Encoders are never quite still: less than a thousandth of a radian, or a tenth of a
    millimetre, is no motion, nor is a hundredth of what the widest-ranging joint does.
    """
    spreads = [np.ptp(q, axis=0) for q in positions]
    revolute = _revolute(robot)
    least = np.where(revolute, *LEAST_RANGE)
    widest = np.max(spreads, axis=0)
    if (widest <= least).all():
        raise EstimationError('no joint moves in the recording (the widest range is '
                              f'{widest.max():.2g} rad or m); nothing can be identified from it')
    largest = np.where(revolute, widest[revolute].max(initial=0), widest[~revolute].max(initial=0))
    return [spread <= np.maximum(least, STILL * largest) for spread in spreads]


def _revolute(robot: Robot) -> np.ndarray:
    return np.array([robot.kinds[robot.tree_joint_names.index(name)] == 'revolute'
                     for name in robot.joint_names])


def hold_still(samples: Samples, still: np.ndarray) -> Samples:
    """
    Return samples in which joints that stand still really do.

    Noise of their positions, differentiated, would pass for motion. Their efforts have no say:
    a brake or static friction carries what it likes of them.
    """
    if not still.any():
        return samples
    return replace(samples, q=np.where(still, samples.q.mean(axis=0), samples.q),
                   v=np.where(still, 0.0, samples.v), a=np.where(still, 0.0, samples.a),
                   weights=np.where(still, 0.0, samples.weights))


def find_silent_joints(robot: Robot, recordings: Sequence[Samples]) -> np.ndarray:
    """Return whose efforts do not change or are not known, as flags; an error if all are so."""
    flags = np.zeros(len(robot.joint_names), dtype=bool)
    left = np.zeros(len(flags), dtype=bool)
    efforts = np.concatenate([samples.filter.apply(samples.tau) for samples in recordings])
    weights = np.concatenate([samples.weights for samples in recordings])
    noise = np.sqrt(np.mean([samples.noise_std**2 for samples in recordings], axis=0))
    expected = _expected_variation(robot, recordings[0])
    for j, (effort, weight) in enumerate(zip(efforts.T, weights.T)):
        known = effort[(weight > 0) & np.isfinite(effort)]
        left[j] = known.size >= 2
        flags[j] = not left[j] or np.ptp(known) <= CONSTANT * np.abs(known).max() or (
            known.std() < min(NOISE_ONLY * noise[j], DEAD * expected[j]))
    if flags.all() and left.any():
        raise EstimationError(f'the efforts of all joints ({", ".join(robot.joint_names)}) are '
                              'constant or unknown; is effort measured, and is it in the topic?')
    if flags.all():
        reasons = sorted({item.reason for samples in recordings for item in samples.dropped})
        raise EstimationError('no sample is left to identify from; what was dropped: '
                              + ('; '.join(reasons) or 'all rows have weight zero'))
    return flags


def _expected_variation(robot: Robot, samples: Samples) -> np.ndarray:
    """Return the standard deviation of the efforts that the a-priori parameters predict."""
    pick = np.unique(np.linspace(0, len(samples.q) - 1, TRIED).astype(int))
    W = torque_regressor(robot, samples.q[pick], samples.v[pick], samples.a[pick])
    return (W @ robot.theta).std(axis=1)


def suspect_degrees(robot: Robot, q: np.ndarray) -> list[str]:
    """Say which revolute joints look as if their positions were in degrees."""
    limits, found = robot.limits, []
    for j, name in enumerate(robot.joint_names):
        if robot.kinds[robot.tree_joint_names.index(name)] != 'revolute':
            continue
        low, high = q[:, j].min(), q[:, j].max()
        bound = max(abs(limits.lower[j]), abs(limits.upper[j]))
        bound = 2 * bound if np.isfinite(bound) and bound > 0 else WRAPS
        if max(abs(low), abs(high)) > bound and max(abs(low), abs(high)) * DEGREE < bound:
            found.append(f'joint {name!r}: positions go from {low:.4g} to {high:.4g}; they look '
                         'like degrees, expected radians')
    return found


def suspect_signs(names: tuple[str, ...], beta: np.ndarray, std: np.ndarray,
                  robot: Robot) -> list[str]:
    """Return the joints whose friction drives instead of braking, beyond doubt."""
    certainty: dict[str, float] = {}
    for name, value, deviation in zip(names, beta, std):
        parameter = next(p for p in robot.parameters if p.name == name)
        if parameter.symbol in ('Fv', 'Fc') and 0 < deviation < np.inf:
            joint = parameter.joint
            certainty[joint] = certainty.get(joint, 0.0) + value / deviation
    return [joint for joint, total in certainty.items() if total < -CERTAIN]


def suspect_units(setting: Setting, solution: BaseSolution) -> list[str]:
    """Say if efforts are so far from what the URDF predicts that their unit must be another."""
    problem = solution.problem
    predicted = np.linalg.norm(problem.A @ setting.base.K @ setting.robot.theta)
    ratio = float(np.linalg.norm(problem.y) / predicted) if predicted > 0 else 1.0
    if 1 / OTHER_UNIT < ratio < OTHER_UNIT:
        return []
    unit = 'mN·m or mA' if ratio > 1 else 'kN·m, or motor currents'
    return [f'efforts are {ratio:.2g} times what the URDF predicts: are they in {unit}? If so, '
            'set drives: gains']


def suspect_mistakes(samples: Samples, robot: Robot, base: BaseParameters) -> list[str]:
    """Try likely mistakes on some of the samples; name the one that would halve the error."""
    pick = np.unique(np.linspace(0, len(samples.q) - 1, TRIED).astype(int))
    state = [np.array(x[pick]) for x in (samples.q, samples.v, samples.a, samples.tau)]
    known = np.isfinite(state[3]).all(axis=1)
    state = [x[known] for x in state]
    if len(state[0]) * len(robot.joint_names) < 2 * len(base.kept):
        return []
    present = _error(robot, base, *state)
    trials = [(what, _error(robot, base, *changed)) for what, changed
              in _mistakes(robot.joint_names, *state)]
    what, error = min(trials, key=lambda trial: trial[1])
    if error > present / 2:
        return []
    return [f'{what}: the error of a plain fit would fall from {100 * present:.0f} % to '
            f'{100 * error:.1f} %']


def _mistakes(names: tuple[str, ...], q: np.ndarray, v: np.ndarray, a: np.ndarray,
              tau: np.ndarray) -> Iterator[tuple[str, list[np.ndarray]]]:
    yield ('positions look like degrees, expected radians',
           [DEGREE * q, DEGREE * v, DEGREE * a, tau])
    for j, name in enumerate(names):
        sign = np.where(np.arange(len(names)) == j, -1.0, 1.0)
        yield (f'the effort of joint {name!r} seems to have the wrong sign', [q, v, a, sign * tau])
        yield (f'the position of joint {name!r} seems to have the wrong sign',
               [sign * q, sign * v, sign * a, tau])
    for i, j in combinations(range(len(names)), 2):
        order = np.arange(len(names))
        order[[i, j]] = j, i
        pair = f'{names[i]!r} and {names[j]!r}'
        yield f'the efforts of {pair} seem to be exchanged', [q, v, a, tau[:, order]]
        yield (f'the columns of {pair} seem to be exchanged',
               [q[:, order], v[:, order], a[:, order], tau[:, order]])


def _error(robot: Robot, base: BaseParameters, q: np.ndarray, v: np.ndarray, a: np.ndarray,
           tau: np.ndarray) -> float:
    """Return the relative error of ordinary least squares, on samples not used for it."""
    W = torque_regressor(robot, q, v, a)[..., base.kept]
    train, test = W[:, ::2].reshape(-1, W.shape[2]), W[:, 1::2].reshape(-1, W.shape[2])
    scale = np.linalg.norm(train, axis=0)
    scale[scale == 0] = 1
    beta, *_ = np.linalg.lstsq(train / scale, tau[::2].T.ravel(), rcond=1e-9)
    unseen = tau[1::2].T.ravel()
    return float(np.linalg.norm(test @ (beta / scale) - unseen) / np.linalg.norm(unseen))


def describe(setting: Setting, q: np.ndarray) -> list[str]:
    """Say what the data and the robot show before anything is estimated."""
    robot, notes = setting.robot, suspect_degrees(setting.robot, q)
    for name, flag, spread in zip(robot.joint_names, setting.still, np.ptp(q, axis=0)):
        if flag:
            notes.append(f'joint {name!r} does not move (range {spread:.2g}): its rotor inertia '
                         'and friction are not identified and keep their a-priori values')
    for name, flag in zip(robot.joint_names, setting.silent & ~setting.still):
        if flag:
            notes.append(f'joint {name!r}: effort is constant or unknown, so it has no say; what '
                         'the other joints show is identified')
    if setting.prior.mended:
        notes.append('the URDF has no possible body for the links of '
                     f'{", ".join(setting.prior.mended)}; the nearest ones that are stand in as '
                     'prior of the consistent estimate')
    if setting.prior.invented:
        notes.append('the URDF has no inertial for the links of '
                     f'{", ".join(setting.prior.invented)}; solid spheres of a typical mass '
                     'stand in as prior of the consistent estimate')
    return notes


def describe_signs(setting: Setting, solution: BaseSolution, consistent: Consistent,
                   correlation: float) -> list[str]:
    """
    Say whose efforts seem to count in the wrong direction.

    :param correlation: number of samples that say as much as one independent one.
    """
    robot, estimate = setting.robot, solution.estimate
    std = estimate.std * np.sqrt(correlation)
    wrong = suspect_signs(estimate.names, estimate.beta, std, robot)
    if not wrong and consistent.loss > IMPOSSIBLE and _fits_reversed(setting, solution):
        wrong = list(robot.joint_names)
    if not wrong:
        return []
    gains = ', '.join(f'{name}: -1' for name in wrong)
    return [f'the effort of {", ".join(wrong)} seems to have the wrong sign: friction would '
            f'drive the joint; if so, set drives: gains: {{{gains}}}']


def _fits_reversed(setting: Setting, solution: BaseSolution) -> bool:
    """Return whether possible bodies fit the reversed efforts much better."""
    problem = solution.problem
    costs = []
    for candidate in (problem, replace(problem, y=-problem.y)):
        try:
            fit = estimate_consistent(candidate, setting.robot, setting.base, setting.prior,
                                      weight=1e-3)
        except SolverFailed:
            return False
        costs.append(candidate.cost(setting.base.K @ fit.theta))
    return costs[1] < costs[0] / 4
