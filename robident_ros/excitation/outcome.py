"""The three kinds of design behind one call, and what a user wants to know of each."""

from dataclasses import asdict, dataclass

import numpy as np
from robident_ros.excitation.design import design_fourier, Report
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.model.points import end_effector, locate
from robident_ros.model.robot import Robot


SAMPLES = 500


@dataclass(frozen=True, eq=False)
class Outcome:
    """
    A designed motion of any kind.

    ``margins`` are the smallest ones of each kind of limit: shares of the limit, or metres.
    """

    kind: str
    trajectory: Trajectory
    headline: str
    cond: float
    scaled_cond: float
    equilibrium: float
    feasible: bool
    margins: dict[str, float]
    binding: tuple[str, ...]
    cpu_seconds: float
    evaluations: int
    seed: int
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    def to_data(self) -> dict:
        """Return all but the trajectory as plain data."""
        data = asdict(self)
        data.pop('trajectory')
        data['binding'], data['notes'] = list(self.binding), list(self.notes)
        data['joints'] = list(self.trajectory.joint_names)
        return data


def design(robot: Robot, kind: str = 'fourier', seed: int = 0, budget_s: float | None = None,
           report: Report | None = None) -> Outcome:
    """Design a trajectory of the given kind for a robot, as its configuration says."""
    makers = {'fourier': _fourier}
    return makers[kind](robot, seed, budget_s, report)


def _fourier(robot: Robot, seed: int, budget_s: float | None, report: Report | None) -> Outcome:
    found = design_fourier(robot, seed, budget_s, report)
    trajectory = found.trajectory
    low, high = trajectory.band_hz
    return Outcome(
        'fourier', trajectory,
        f'{robot.name}: Fourier series, period {trajectory.period:.4g} s, {low:.3g} to '
        f'{high:.3g} Hz, for {len(found.parameters)} parameters',
        found.cond, found.scaled_cond, found.equilibrium, found.feasible,
        found.verification.smallest(), found.verification.binding, found.cpu_seconds,
        found.evaluations, seed, found.interrupted, _notes(robot, trajectory))


def _notes(robot: Robot, trajectory: Trajectory) -> tuple[str, ...]:
    """Say what the design did not know, where it might matter to whoever stands by."""
    if robot.config.workspace.floor is not None or robot.config.workspace.lower is not None:
        return ()
    q, _, _ = trajectory.sample(np.linspace(0, trajectory.period, SAMPLES))
    tool = end_effector(robot, robot.config.workspace.link)
    lowest = locate(robot, tool, q).positions[:, 0, 2].min()
    return (f'no floor is configured: the tool goes down to z = {lowest:.2f} m in the root frame; '
            'if that is too low, set workspace: floor',)
