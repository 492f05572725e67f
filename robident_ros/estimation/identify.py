"""From samples to an estimate: ``identify(samples, robot, options)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from robident_ros.config import EstimatorOptions
from robident_ros.errors import EstimationError
from robident_ros.estimation import suspicion
from robident_ros.estimation.assemble import assemble
from robident_ros.estimation.compress import compress, predict
from robident_ros.estimation.consistent import Consistent
from robident_ros.estimation.estimate import Estimate
from robident_ros.estimation.information import combine, SquareRootInformation
from robident_ros.estimation.least_squares import correlation_length, robust_weights
from robident_ros.estimation.prepare import check_joints, compress_all, cross_validation, join
from robident_ros.estimation.prepare import look_at, Progress
from robident_ros.estimation.solution import consistent_or_prior, Setting, solve_base
from robident_ros.estimation.solution import solve_consistent, solve_near
from robident_ros.estimation.validation import cross_validate, relative_error
from robident_ros.estimation.whitening import compress_whitened, noise_covariance
from robident_ros.model.robot import Robot
from robident_ros.processing.process import Samples

ROBUST_PASSES = 3


@dataclass(frozen=True, eq=False)
class Residuals:
    """Measured and predicted efforts (m, n) at the kept samples, with their times."""

    t: np.ndarray
    measured: np.ndarray
    apriori: np.ndarray
    base: np.ndarray
    consistent: np.ndarray
    weights: np.ndarray

    def correlation(self) -> float:
        """Return how many samples say as much as one independent sample."""
        return float(np.mean([correlation_length(np.where(w > 0, y - x, 0.0)) for y, x, w in
                              zip(self.measured.T, self.base.T, self.weights.T)]))


@dataclass(frozen=True, eq=False)
class Identification:
    """An estimate, with the robot it is for (its Coulomb width chosen) and the residuals."""

    estimate: Estimate
    robot: Robot
    information: SquareRootInformation
    residuals: Residuals


def identify(recordings: Sequence[Samples], robot: Robot,
             options: EstimatorOptions = EstimatorOptions(),
             holdout: Sequence[Samples] | str | None = None,
             progress: Progress = lambda stage, share: None) -> Identification:
    """
    Identify a robot from samples.

    :param recordings: what ``process`` made of one recording or several.
    :param holdout: other samples to test the result on, or 'second-half': then a result of the
        first half is tested on the second. The estimate itself is always of all recordings.
    :param progress: told the stage and the share of it that is done.
    """
    recordings, setting, notes = look_at(recordings, robot, options)
    setting, parts = compress_all(recordings, setting, progress)
    plain, weights = parts, None
    if options.robust:
        parts, weights = _reweight(recordings, setting, parts)
    elif options.weighting == 'noise':
        setting, parts = _whiten(recordings, setting, parts)
    information = combine(parts)
    solution = solve_base(information, setting)
    consistent, trouble = consistent_or_prior(solution, setting)
    notes += trouble + suspicion.suspect_units(setting, solution)
    base_theta = setting.base.to_standard(solution.beta)
    residuals = _residuals(recordings, setting.robot, base_theta, consistent.theta, weights)
    correlation = residuals.correlation()
    near = solve_near(solution, setting, correlation)
    notes += suspicion.describe_signs(setting, solution, consistent, correlation)
    if relative_error(combine(plain), solution.beta) > suspicion.POOR or (
            consistent.loss > suspicion.STRANGE):
        notes += suspicion.suspect_mistakes(recordings[0], setting.robot, setting.base)
    errors = _validate(parts, plain, setting, consistent, None if trouble else holdout,
                       not trouble)
    estimate = assemble(setting, combine(plain), solution, near, consistent, correlation, errors,
                        len(residuals.t), notes)
    return Identification(estimate, setting.robot, information, residuals)


def _reweight(recordings: Sequence[Samples], setting: Setting, parts: list
              ) -> tuple[list[SquareRootInformation], list[np.ndarray]]:
    """Compress again, with less weight for outliers, until the weights settle."""
    segments = max(setting.options.segments // len(recordings), 1)
    for _ in range(ROBUST_PASSES):
        beta = solve_base(combine(parts), setting).beta
        theta = setting.base.to_standard(beta)
        weights = [robust_weights(samples.filter.apply(samples.tau)
                                  - predict(samples, setting.robot, theta)[0], samples.weights)
                   for samples in recordings]
        parts = [part for samples, w in zip(recordings, weights)
                 for part in compress(samples, setting.robot, setting.base, segments, w)]
    return parts, weights


def _whiten(recordings: Sequence[Samples], setting: Setting, parts: list
            ) -> tuple[Setting, list[SquareRootInformation]]:
    """Compress again by the whole covariance of the noise, where periods tell it."""
    covariance = noise_covariance(recordings, ~setting.silent)
    if covariance is None:
        return setting, parts
    segments = max(setting.options.segments // len(recordings), 1)
    whitened = [part for samples in recordings for part in compress_whitened(
        samples, setting.robot, setting.base, covariance, segments, ~setting.silent)]
    return replace(setting, noise=np.ones(len(covariance))), whitened


def _residuals(recordings: Sequence[Samples], robot: Robot, base: np.ndarray,
               consistent: np.ndarray, weights: list[np.ndarray] | None) -> Residuals:
    predicted = join([predict(samples, robot, np.array([robot.theta, base, consistent]))
                      for samples in recordings], axis=1)
    used = [samples.weights for samples in recordings]
    if weights is not None:
        used = [own * more for own, more in zip(used, weights)]
    return Residuals(join([samples.t[samples.filter.rows] for samples in recordings]),
                     join([samples.filter.apply(samples.tau) for samples in recordings]),
                     *predicted, join(used))


def _validate(parts: list[SquareRootInformation], plain: list[SquareRootInformation],
              setting: Setting, found: Consistent,
              holdout: Sequence[Samples] | str | None, solved: bool) -> dict[str, float | None]:
    """
    Return cross-validation errors of the base and the consistent estimate, and the holdout.

    :param plain: the same parts without weights, which errors are told of.
    :param solved: whether there is a consistent estimate to validate.
    """
    def consistent(part: SquareRootInformation, like: Consistent | None = found) -> np.ndarray:
        return setting.base.K @ solve_consistent(solve_base(part, setting), setting, like).theta

    errors: dict[str, float | None] = {'holdout': None}
    if len(parts) > 1 and (seen := cross_validation(parts, setting, plain)) < np.inf:
        errors['base'] = seen
        if solved:
            errors['consistent'] = float(np.sqrt(np.mean(
                cross_validate(parts, consistent, plain)**2)))
    if holdout == 'second-half':
        if len(parts) < 2:
            raise EstimationError('the recording is too short to hold out its second half')
        half = len(parts) // 2
        errors['holdout'] = relative_error(combine(plain[half:]),
                                           consistent(combine(parts[:half]), None))
    elif holdout is not None:
        unseen = combine([part for samples in holdout for part in
                          compress(check_joints(samples, setting.robot), setting.robot,
                                   setting.base)])
        errors['holdout'] = relative_error(unseen, setting.base.K @ found.theta)
    return errors
