"""A load from samples: ``identify_load(unloaded, loaded, robot, options)``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from robident_ros.config import EstimatorOptions
from robident_ros.estimation.assemble import describe_weakness, excitation_of
from robident_ros.estimation.compress import compress, predict
from robident_ros.estimation.least_squares import correlation_length
from robident_ros.estimation.payload import identify_payload, Payload
from robident_ros.estimation.prepare import compress_all, look_at
from robident_ros.estimation.solution import BaseSolution, Setting, solve_base
from robident_ros.model.robot import Robot
from robident_ros.processing.process import Samples


@dataclass(frozen=True, eq=False)
class Load:
    """A load, how many samples say as much as an independent one, and what is odd."""

    payload: Payload
    correlation: float
    notes: tuple[str, ...]


def identify_load(unloaded: Samples, loaded: Samples, robot: Robot,
                  options: EstimatorOptions = EstimatorOptions(),
                  frame: str | None = None) -> Load:
    """
    Identify a load with the checks that every identification makes.

    :param frame: link or frame that carries the load.
    """
    (unloaded,), setting, notes = look_at([unloaded], robot, options)
    (loaded,), other, more = look_at([loaded], robot, options)
    silent = setting.silent | other.silent
    # How friction rises is settled without the load, as the model knows of none.
    setting, _ = compress_all([unloaded], replace(setting, silent=silent))
    recordings = (unloaded, loaded)
    informations = [compress(samples, setting.robot, setting.base)[0] for samples in recordings]
    solutions = [solve_base(information, setting) for information in informations]
    notes += describe_weakness(excitation_of(solutions[0], 1.0))
    more += describe_weakness(excitation_of(solutions[1], 1.0))
    correlation = _correlation(recordings, solutions, setting)
    payload = identify_payload(*informations, setting.robot, setting.base, frame, silent,
                               correlation)
    told = [f'without the load: {note}' for note in notes if note not in more]
    told += [f'with the load: {note}' for note in more if note not in notes]
    return Load(payload, correlation, tuple([note for note in notes if note in more] + told))


def _correlation(recordings: Sequence[Samples], solutions: Sequence[BaseSolution],
                 setting: Setting) -> float:
    """Return the correlation length of what each recording alone leaves unexplained."""
    lengths = []
    for samples, solution in zip(recordings, solutions):
        theta = setting.base.to_standard(solution.beta)
        residual = samples.filter.apply(samples.tau) - predict(samples, setting.robot, theta)[0]
        lengths += [correlation_length(np.where(w > 0, e, 0.0)) for e, w, skip in
                    zip(residual.T, samples.weights.T, setting.silent) if not skip]
    return float(np.mean(lengths))
