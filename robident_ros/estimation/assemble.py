"""Put what was estimated together into one auditable result."""

import numpy as np
from robident_ros.arrays import read_only
from robident_ros.estimation.consistent import Consistent
from robident_ros.estimation.estimate import BaseResult, EssentialResult, Estimate, Excitation
from robident_ros.estimation.estimate import JointResult, LinkResult, StandardResult
from robident_ros.estimation.information import SquareRootInformation
from robident_ros.estimation.problem import column_norms
from robident_ros.estimation.solution import BaseSolution, NearSolution, Setting
from robident_ros.estimation.suspicion import STRANGE
from robident_ros.estimation.validation import relative_error
from robident_ros.model.parameters import M
from robident_ros.model.physical import judge_link

ILL = 1000  # condition of the scaled regressor above which small errors are great ones
WEAK = 0.3  # share of the largest entry at which a parameter belongs to the weakest direction


def assemble(setting: Setting, information: SquareRootInformation, solution: BaseSolution,
             near: NearSolution, consistent: Consistent, correlation: float, errors: dict,
             samples: int, notes: list[str]) -> Estimate:
    """
    Return the estimate.

    :param information: of all rows, without robust weights; what errors are told of.
    """
    K = setting.base.K
    betas = {'apriori': K @ setting.robot.theta, 'base': solution.beta,
             'essential': near.essential_beta, 'closest': K @ near.closest,
             'essential_closest': K @ near.essential_closest, 'consistent': K @ consistent.theta}
    return Estimate(
        robot=setting.robot.name, joint_names=setting.robot.joint_names, samples=samples,
        coulomb_width=setting.robot.config.drives.coulomb_width,
        relative_error={name: relative_error(information, beta) for name, beta in betas.items()},
        cross_validation={name: errors[name] for name in ('base', 'consistent')
                          if name in errors},
        holdout_error=errors['holdout'], prior_weight=consistent.weight,
        consistency_loss=consistent.loss, base=_base(setting, solution, correlation),
        essential=_essential(near, correlation), standard=_standard(setting, near, consistent),
        links=_links(setting, near, consistent),
        joints=_joints(setting, information, solution, betas),
        excitation=excitation_of(solution, correlation),
        notes=(*notes, *_notes(setting, solution, consistent)))


def _base(setting: Setting, solution: BaseSolution, correlation: float) -> BaseResult:
    base = setting.base
    units = tuple(setting.robot.parameters[column].unit for column in base.kept)
    identified = np.isin(np.arange(len(base.kept)), solution.free)
    return BaseResult(base.names, units, tuple(base.relation(i) for i in range(len(base.kept))),
                      read_only(base.K @ setting.robot.theta), read_only(solution.beta),
                      read_only(solution.std * np.sqrt(correlation)),
                      tuple(bool(flag) for flag in identified))


def _essential(near: NearSolution, correlation: float) -> EssentialResult:
    essential = near.essential
    return EssentialResult(
        essential.names, essential.estimate.beta,
        read_only(essential.estimate.std * np.sqrt(correlation)), essential.steps,
        essential.refused)


def _standard(setting: Setting, near: NearSolution, consistent: Consistent) -> StandardResult:
    parameters = setting.robot.parameters
    return StandardResult(
        tuple(parameter.name for parameter in parameters),
        tuple(parameter.unit for parameter in parameters),
        tuple(parameter.joint for parameter in parameters), setting.robot.theta,
        read_only(near.closest), read_only(near.essential_closest), consistent.theta)


def _links(setting: Setting, near: NearSolution, consistent: Consistent
           ) -> tuple[LinkResult, ...]:
    robot, links = setting.robot, []
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        ten = slice(column, column + 10)
        verdicts = {name: judge_link(joint, theta[ten]) for name, theta in
                    (('apriori', robot.theta), ('closest', near.closest),
                     ('essential_closest', near.essential_closest),
                     ('consistent', consistent.theta))}
        prior = ('mended' if joint in setting.prior.mended else
                 'invented' if joint in setting.prior.invented else 'urdf')
        links.append(LinkResult(
            joint, float(robot.theta[column + M]), float(consistent.theta[column + M]),
            **{name: verdict.consistent for name, verdict in verdicts.items()},
            reason=verdicts['consistent'].reason, prior=prior))
    return tuple(links)


def _joints(setting: Setting, information: SquareRootInformation, solution: BaseSolution,
            betas: dict[str, np.ndarray]) -> tuple[JointResult, ...]:
    norms = information.effort_norms
    residuals = {name: information.residual_norms(beta) for name, beta in betas.items()}
    return tuple(JointResult(
        joint, int(information.counts[j]),
        float(norms[j] / np.sqrt(max(information.counts[j], 1))),
        float(solution.estimate.deviations[j]), not setting.still[j], not setting.silent[j],
        {name: float(values[j] / norms[j]) if norms[j] else 0.0
         for name, values in residuals.items()})
        for j, joint in enumerate(information.joint_names))


def excitation_of(solution: BaseSolution, correlation: float) -> Excitation:
    """Return how well the data determine the base parameters."""
    problem = solution.estimate.problem
    sigma = solution.estimate.singular_values
    _, scaled, Vt = np.linalg.svd(problem.A / column_norms(problem.A))
    weak = np.abs(Vt[-1]) > WEAK * np.abs(Vt[-1]).max()
    order = np.argsort(-np.abs(Vt[-1]))
    held = np.setdiff1d(np.arange(len(solution.beta)), solution.free)
    return Excitation(
        float(sigma[0] / sigma[-1]), float(scaled[0] / scaled[-1]), sigma,
        tuple(problem.names[i] for i in order if weak[i]),
        tuple(solution.problem.names[i] for i in held), correlation)


def describe_weakness(excitation: Excitation) -> list[str]:
    """Say what the data hardly show."""
    if excitation.scaled_condition < ILL:
        return []
    return [f'the data hardly show {", ".join(excitation.weakest)} (condition number '
            f'{excitation.scaled_condition:.2g} with columns scaled): do not trust these values; '
            'record longer, or move wider and faster']


def _notes(setting: Setting, solution: BaseSolution, consistent: Consistent) -> list[str]:
    notes, robot = [], setting.robot
    held = [solution.problem.names[i] for i in range(len(solution.beta))
            if i not in set(solution.free)]
    if held:
        notes.append(f'not shown by the data, kept at their a-priori values: {", ".join(held)}')
    notes += describe_weakness(excitation_of(solution, 1.0))
    if consistent.loss > STRANGE:
        notes.append(f'possible bodies fit the efforts {100 * consistent.loss:.0f} % worse than '
                     'free parameters do: look for wrong joint zeros, frames, signs or units')
    if setting.options.mass_bounds is not None:
        low, high = setting.options.mass_bounds
        at_bound = [joint for joint, column in zip(robot.tree_joint_names, robot.link_columns)
                    if joint not in setting.prior.invented and not
                    low * 1.01 < consistent.theta[column + M] / setting.prior.theta[column + M]
                    < high * 0.99]
        if not consistent.bounded:
            notes.append('the data contradict the masses in the URDF: bounds on mass were given '
                         'up; check the URDF, or the unit of the efforts')
        elif at_bound:
            notes.append(f'the mass of the links of {", ".join(at_bound)} is at its bound; the '
                         'data or the URDF are wrong about it')
    return notes
