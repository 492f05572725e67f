"""What a constraint says in the user's units."""

import numpy as np
from robident_ros.excitation.constraints import Family, JointFamily, Motion

_UNITS = {'position': ('rad', 'm'), 'velocity': ('rad/s', 'm/s'),
          'acceleration': ('rad/s²', 'm/s²'), 'effort': ('N·m', 'N')}


def describe_violation(family: Family, motion: Motion) -> str:
    """Return which limit a motion violates most, and by how much, as part of a sentence."""
    rows, _ = family.evaluate(motion)
    outside = np.abs(rows) - 1 if family.two_sided else rows
    row = int(outside.max(axis=1).argmax())
    amount = float(outside[row].max())
    if family.kind == 'workspace':
        return f'exceeds the workspace ({family.names[row]}) by {amount * family.length:.3g} m'
    if family.kind == 'collision':
        return (f'brings {family.names[row]} {amount * family.length:.3g} m too near to each '
                'other')
    size = family.half[row] if isinstance(family, JointFamily) else family.limits[row]
    name = family.names[row]
    sliding = motion.robot.kinds[motion.robot.tree_joint_names.index(name)] == 'prismatic'
    unit = _UNITS[family.kind][sliding]
    return f'exceeds the {family.kind} limit of {name} by {amount * size:.3g} {unit}'
