"""What every estimation begins with: look at the samples, then compress them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from robident_ros.config import EstimatorOptions
from robident_ros.errors import ConfigError, EstimationError, RankDeficient
from robident_ros.estimation import suspicion
from robident_ros.estimation.compress import compress
from robident_ros.estimation.coulomb import best_width, candidate_widths, choose, width_columns
from robident_ros.estimation.coulomb import with_width
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.prior import make_prior
from robident_ros.estimation.solution import Setting, solve_base
from robident_ros.estimation.validation import cross_validate
from robident_ros.model.base import base_parameters
from robident_ros.model.robot import Robot
from robident_ros.processing.process import Samples

Progress = Callable[[str, float], None]


def check_joints(samples: Samples, robot: Robot) -> Samples:
    """Return the samples if they are of the robot's joints, in its order."""
    if tuple(samples.joint_names) != robot.joint_names:
        raise EstimationError(f'the samples are of {", ".join(samples.joint_names)}, expected '
                              f'{", ".join(robot.joint_names)}; select them in this order')
    return samples


def look_at(recordings: Sequence[Samples], robot: Robot, options: EstimatorOptions
            ) -> tuple[list[Samples], Setting, list[str]]:
    """
    Return the samples to use, what is known before anything is estimated, and what is odd.

    A joint that stands still in a recording is held there: its encoder's noise is no motion.
    """
    recordings = [check_joints(samples, robot) for samples in recordings]
    _check_bounds(options)
    q = join([samples.q for samples in recordings])
    stills = suspicion.find_still_joints(robot, [samples.q for samples in recordings])
    recordings = [suspicion.hold_still(samples, flags)
                  for samples, flags in zip(recordings, stills)]
    silent = suspicion.find_silent_joints(robot, recordings)
    if silent.any():
        recordings = [replace(samples, weights=np.where(silent, 0.0, samples.weights))
                      for samples in recordings]
    noise = _noise(recordings, silent)
    if options.weighting == 'noise' and noise is None:
        raise EstimationError('estimation: weighting: the noise of the efforts is not known from '
                              'this recording; use "residual"')
    setting = Setting(robot, base_parameters(robot), make_prior(robot), options,
                      np.all(stills, axis=0), silent, noise)
    return recordings, setting, suspicion.describe(setting, q)


def _check_bounds(options: EstimatorOptions) -> None:
    bounds = options.mass_bounds
    if bounds is not None and (len(bounds) != 2 or not 0 <= bounds[0] <= 1 <= bounds[1]):
        raise ConfigError(f'estimation: mass_bounds: is {list(bounds)}, expected two multiples of '
                          'the mass in the URDF around 1, e.g. [0.2, 5]')


def _noise(recordings: Sequence[Samples], silent: np.ndarray) -> np.ndarray | None:
    """Return the measured deviations of the efforts that count, None where some is unknown."""
    noise = np.sqrt(np.mean([samples.noise_std**2 for samples in recordings], axis=0))
    noise = np.where(silent, 1.0, noise)
    return noise if np.isfinite(noise).all() and (noise > 0).all() else None


def compress_all(recordings: Sequence[Samples], setting: Setting,
                 progress: Progress = lambda stage, share: None
                 ) -> tuple[Setting, list[SquareRootInformation]]:
    """Compress all recordings in segments, and settle how Coulomb friction rises."""
    robot, options = setting.robot, setting.options
    own = robot.config.drives.coulomb_width
    widths = (0.0,) if options.coulomb == 'sign' else (own,)
    if not own and options.coulomb != 'sign' and any(
            term.symbol == 'Fc' for term in robot.drive_terms):
        widths = candidate_widths(recordings[0].v)
        widths = widths[1:] if options.coulomb == 'smooth' and len(widths) > 1 else widths
    columns = width_columns(robot, setting.base, widths)
    segments = max(options.segments // len(recordings), 1)
    parts = []
    for i, samples in enumerate(recordings):
        parts += compress(samples, columns.robot, setting.base, segments, widths=columns,
                          progress=lambda share: progress('compress',
                                                          (i + share) / len(recordings)))
    if len(widths) == 1:
        return replace(setting, robot=columns.robot), parts
    chosen = [[choose(part, columns, k) for part in parts] for k in range(len(widths))]
    errors = [cross_validation(candidate, setting) for candidate in chosen]
    best = best_width(errors)
    return replace(setting, robot=with_width(robot, widths[best])), chosen[best]


def cross_validation(parts: list[SquareRootInformation], setting: Setting,
                     plain: list[SquareRootInformation] | None = None) -> float:
    """Return the mean error of base estimates on segments they have not seen."""
    try:
        errors = cross_validate(parts, lambda part: solve_base(part, setting).beta, plain)
    except RankDeficient:  # too short to leave anything out
        return np.inf
    return float(np.sqrt(np.mean(errors**2)))


def join(arrays: list[np.ndarray], axis: int = 0) -> np.ndarray:
    """Put arrays together; a single one, which may be large, is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis)
