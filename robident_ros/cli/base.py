"""``robident base``: the base parameters of a robot, and whether its links are consistent."""

import argparse
import json

from robident_ros.cli.options import add_robot_options, load_robot_from
from robident_ros.cli.tables import format_table

ROUND_OFF = 1e-12


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        'base', help='count and show the base parameters of a robot',
        description='Show on which combinations of dynamic parameters the torques of a robot '
        'depend, with their values in the URDF, and whether its links are physically consistent.')
    add_robot_options(parser)
    parser.add_argument('--route', default='d', choices=('d', 'd0', 'h', 'dh'),
                        help='regressor: torque, torque at rest, energy, energy differences')
    parser.add_argument('--method', default='qr', choices=('qr', 'svd'), help='how to regroup')
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the base parameters."""
    from robident_ros.model.base import base_parameters
    from robident_ros.model.physical import judge_link
    robot = load_robot_from(args)
    base = base_parameters(robot, args.route, args.method)
    verdicts = [judge_link(joint, robot.theta[column:column + 10])
                for joint, column in zip(robot.tree_joint_names, robot.link_columns)]
    print(json.dumps(_as_data(robot, base, verdicts), ensure_ascii=False) if args.json
          else _as_text(robot, base, verdicts))
    return 0


def _as_data(robot, base, verdicts) -> dict:
    values = base.K @ robot.theta
    return {
        'robot': robot.name,
        'joints': list(robot.joint_names),
        'standard': len(base.standard),
        'effective': len(base.effective),
        'base': len(base.kept),
        'regrouped': list(base.regrouped_names),
        'parameters': [{'name': name, 'relation': base.relation(i), 'value': float(values[i]),
                        'unit': robot.parameters[base.kept[i]].unit}
                       for i, name in enumerate(base.names)],
        'margin': base.margin,
        'ambiguous': list(base.ambiguous),
        'numerical_rank': dict(zip(('qr', 'svd'), base.numerical_rank)),
        'consistent': [{'joint': verdict.joint, 'mass': verdict.mass,
                        'consistent': verdict.consistent, 'semidefinite': verdict.semidefinite,
                        'reason': verdict.reason} for verdict in verdicts],
    }


def _as_text(robot, base, verdicts) -> str:
    values = base.K @ robot.theta
    numbers = [[name, _number(values[i]), robot.parameters[base.kept[i]].unit, base.relation(i)]
               for i, name in enumerate(base.names)]
    links = [[verdict.joint, f'{verdict.mass:.4g}', _word(verdict)] for verdict in verdicts]
    return '\n'.join([
        f'{robot.name}: {len(robot.joint_names)} joints ({", ".join(robot.joint_names)})',
        f'{len(base.standard)} standard parameters, {len(base.effective)} with effect, '
        f'{len(base.kept)} base; {len(base.regrouped)} are regrouped', '',
        format_table(['base', 'URDF value', 'unit', 'relation'], numbers, right=(1,)), '',
        format_table(['link of', 'mass [kg]', 'physically consistent'], links, right=(1,)), '',
        _certainty(base)])


def _number(value: float) -> str:
    return f'{value:.5g}' if abs(value) > ROUND_OFF else '0'


def _word(verdict) -> str:
    if not verdict.consistent:
        return f'no: {verdict.reason}'
    return 'yes, on the boundary (no interior)' if verdict.semidefinite else 'yes'


def _certainty(base) -> str:
    """Say how clear the number of base parameters is."""
    text = f'rank margin {base.margin:.1e} (smallest kept over largest dropped pivot)'
    if base.ambiguous:
        text += (f'\nambiguous: {", ".join(base.ambiguous)} nearly depend on other parameters; '
                 'rounded angles (1.5708) or tiny offsets in the URDF do this')
    if set(base.numerical_rank) != {len(base.kept)}:
        text += (f'\nto machine precision the rank is {base.numerical_rank[0]}: the geometry is '
                 'not exact, what is beyond is too weak to identify')
    return text
