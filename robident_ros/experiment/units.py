"""Units of what is measured at joints."""

from collections.abc import Iterable

from robident_ros.model.robot import Robot

_UNITS = {
    'revolute': {'position': 'rad', 'velocity': 'rad/s', 'acceleration': 'rad/s²',
                 'effort': 'N·m', 'tracking error': 'rad'},
    'prismatic': {'position': 'm', 'velocity': 'm/s', 'acceleration': 'm/s²', 'effort': 'N',
                  'tracking error': 'm'}}


def joint_units(robot: Robot, names: Iterable[str]) -> list[dict[str, str]]:
    """Return the unit of each kind of quantity, for each of the named joints of the tree."""
    return [_UNITS[robot.kinds[robot.tree_joint_names.index(name)]] for name in names]
