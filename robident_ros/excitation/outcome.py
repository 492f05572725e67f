"""The three kinds of design behind one call, and what a user wants to know of each."""

from dataclasses import asdict, dataclass
from time import process_time

import numpy as np
from robident_ros.excitation.constraints import Motion, violation
from robident_ros.excitation.criteria import equilibrium, normalised
from robident_ros.excitation.design import design_fourier, Report
from robident_ros.excitation.limits import design_limits, make_families
from robident_ros.excitation.point_design import design_points
from robident_ros.excitation.single_joint_design import coefficients, design_single_joint
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.excitation.units import describe_violation
from robident_ros.excitation.verify import BINDING
from robident_ros.model.composite import minimal_set
from robident_ros.model.points import end_effector, locate
from robident_ros.model.robot import Robot

STEP_S = 1e-3
CHECKED = 50  # samples of a motion of one joint, which has two harmonics
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
    makers = {'fourier': _fourier, 'polynomial': _polynomial, 'single-joint': _single_joint}
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


def _polynomial(robot: Robot, seed: int, budget_s: float | None,
                report: Report | None) -> Outcome:
    options = robot.config.excitation
    budget = options.budget_s if budget_s is None else budget_s
    limits = design_limits(robot)
    found = design_points(robot, options.points, limits=limits, seed=seed, budget=budget,
                          equilibrium_factor=options.equilibrium_factor, starts=10**6)
    half = (limits.upper - limits.lower) / 2
    sizes = {'position': half, 'velocity': limits.velocity, 'acceleration': limits.acceleration}
    shares = {kind: margin / sizes[kind] for kind, margin in found.margins.items()}
    beyond = _beyond_joints(robot, found.trajectory)
    return Outcome(
        'polynomial', found.trajectory,
        f'{robot.name}: {len(found.W)} rows from points joined by quintics, '
        f'{found.trajectory.period:.4g} s, for {len(found.names)} parameters',
        found.cond, found.scaled_cond, found.equilibrium,
        min(share.min() for share in shares.values()) >= -1e-9 and not beyond,
        {kind: float(share.min()) for kind, share in shares.items()},
        tuple(f'{kind} {name}' for kind, share in shares.items()
              for name, value in zip(robot.joint_names, share) if value < BINDING),
        found.cpu_seconds, found.evaluations, seed,
        notes=(*beyond, *_notes(robot, found.trajectory)))


def _single_joint(robot: Robot, seed: int, budget_s: float | None,
                  report: Report | None) -> Outcome:
    begin = process_time()
    families = make_families(robot, design_limits(robot))

    def accept(motion: Trajectory) -> bool:
        samples = Motion(robot, *motion.sample(np.linspace(0, motion.period, CHECKED)))
        return all(violation(family.evaluate(samples)[0], family.two_sided).max() <= 0
                   for family in families)
    plan = design_single_joint(robot, limits=design_limits(robot), seed=seed, accept=accept)
    matrix = minimal_set(robot).map
    rows = np.vstack([coefficients(robot, motion, np.linalg.pinv(matrix))
                      for motion in plan.motions])
    return Outcome(
        'single-joint', plan,
        f'{robot.name}: {len(plan.motions)} motions of one joint each, for {len(plan.constants)} '
        'constants', float(np.linalg.cond(rows)), float(np.linalg.cond(normalised(rows))),
        float(equilibrium(rows)[0]), True, {}, (), process_time() - begin, 0, seed,
        notes=_acceleration_note(robot))


def _beyond_joints(robot: Robot, trajectory: Trajectory) -> tuple[str, ...]:
    """Say which limits other than those of the joints a motion breaks; points ignore these."""
    count = int(trajectory.period / STEP_S)
    motion = Motion(robot, *trajectory.sample(np.linspace(0, trajectory.period, count)))
    broken = []
    for family in make_families(robot, design_limits(robot)):
        if family.kind not in ('position', 'velocity', 'acceleration') \
                and violation(family.evaluate(motion)[0], family.two_sided).max() > 0:
            broken.append(f'NOT SAFE: the motion {describe_violation(family, motion)}')
    return tuple(broken)


def _notes(robot: Robot, trajectory: Trajectory) -> tuple[str, ...]:
    """Say what the design did not know, where it might matter to whoever stands by."""
    notes = _acceleration_note(robot)
    workspace = robot.config.workspace
    if workspace.floor is not None or workspace.lower is not None:
        return notes
    q, _, _ = trajectory.sample(np.linspace(0, trajectory.period, SAMPLES))
    lowest = locate(robot, end_effector(robot, workspace.link), q).positions[:, 0, 2].min()
    return (*notes, f'no floor is configured: the tool goes down to z = {lowest:.2f} m in the '
            'root frame; if that is too low, set workspace: floor')


def _acceleration_note(robot: Robot) -> tuple[str, ...]:
    unknown = [name for name, value in zip(robot.joint_names, robot.limits.acceleration)
               if not np.isfinite(value)]
    if not unknown:
        return ()
    return (f'no acceleration limit is known of {", ".join(unknown)}: taken as velocity limit / '
            f'{robot.config.excitation.acceleration_time_s:g} s',)
