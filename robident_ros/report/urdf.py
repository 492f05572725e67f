"""
The identified robot as a URDF: the original text, with new inertials and friction.

Only what was identified is replaced; every other byte stays. The parameters of a joint are those
of all links that move with it rigidly: the link behind the joint and whatever fixed (or locked)
joints attach to it. The attached links keep their inertials, and the link behind the joint gets
the rest; where that rest is no body, it gets everything and the attached inertials are removed.

A URDF has no place for rotor inertia, offsets, friction of coupled motors, or the width of
smooth Coulomb friction. They go into the configuration (``identified_config``), and a comment in
the URDF says so. Both together predict what the estimate predicts.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from robident_ros.config import Config, dump_config
from robident_ros.files import write_text
from robident_ros.model.parameters import from_pinocchio, to_inertial
from robident_ros.model.physical import judge_link
from robident_ros.model.robot import Robot
from robident_ros.report.xml_text import Element, find_elements, replace_spans, Replacement

NOTE = ('identified by robident_ros; rotor inertia, offsets and motor friction are not part of '
        'a URDF: see config.yaml beside it')


def write_identified(robot: Robot, theta: np.ndarray, urdf: str | Path,
                     config: str | Path | None = None) -> None:
    """
    Write the identified URDF and the configuration that belongs to it.

    :param theta: standard parameters, as of the consistent estimate.
    :param config: where to write the configuration; default: nowhere.
    """
    write_text(urdf, identified_urdf(robot, theta))
    if config is not None:
        write_text(config, dump_config(identified_config(robot, theta)))


def identified_config(robot: Robot, theta: np.ndarray) -> Config:
    """Return the robot's configuration with the drive parameters that a URDF cannot hold."""
    found: dict[str, dict[str, float]] = {'rotor_inertia': {}, 'offset': {}, 'motor_damping': {},
                                          'motor_friction': {}}
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        key = {'Ia': 'rotor_inertia', 'off': 'offset'}.get(term.symbol)
        if term.parameter.label.startswith('m'):
            key = {'Fv': 'motor_damping', 'Fc': 'motor_friction'}[term.symbol]
        if key is not None:
            found[key][term.parameter.joint] = float(theta[column])
    return replace(robot.config, drives=replace(robot.config.drives, **found))


def identified_urdf(robot: Robot, theta: np.ndarray) -> str:
    """Return the text of the identified URDF."""
    text = robot.description.xml
    elements = find_elements(text)
    changes = [Replacement(elements.root.start_tag_end, elements.root.start_tag_end,
                           f'\n  <!-- {NOTE} -->')]
    for joint, column in zip(robot.tree_joint_names, robot.link_columns):
        changes += _inertials(robot, joint, theta[column:column + 10], elements.links, text)
    friction = _friction(robot, theta)
    for joint, values in friction.items():
        changes.append(_dynamics(elements.joints[joint], values, text))
    return replace_spans(text, changes)


def _inertials(robot: Robot, joint: str, composite: np.ndarray, links: dict[str, Element],
               text: str) -> list[Replacement]:
    """Return the new inertials of the links that move rigidly with a joint."""
    link = robot.description.joint(joint).child
    attached = [name for name in _attached(robot, link)
                if links[name].children.get('inertial') is not None]
    rest = composite - sum((_parameters_of(robot, links[name]) for name in attached),
                           np.zeros(10))
    changes = []
    if attached and not judge_link(joint, rest).consistent:
        rest = composite
        for name in attached:
            inertial = links[name].children['inertial']
            changes.append(Replacement(
                inertial.start, inertial.end,
                f'<!-- inertial is part of {link}, with which it was identified -->'))
    return [*changes, _inertial(links[link], rest, text)]


def _attached(robot: Robot, link: str) -> list[str]:
    """Return the links that fixed and locked joints attach to a link, directly or not."""
    found = []
    for joint in robot.description.joints:
        if joint.parent == link and joint.name not in robot.tree_joint_names:
            found += [joint.child, *_attached(robot, joint.child)]
    return found


def _parameters_of(robot: Robot, link: Element) -> np.ndarray:
    """Return the ten parameters of an attached link in the frame of the joint that moves it."""
    frame = robot.tree.frames[robot.tree.getFrameId(link.name, pin.FrameType.BODY)]
    inertial = link.children['inertial'].children
    origin = inertial['origin'].attributes if 'origin' in inertial else {}
    values = {key: float(value) for key, value in inertial['inertia'].attributes.items()}
    tensor = np.array([[values['ixx'], values['ixy'], values['ixz']],
                       [values['ixy'], values['iyy'], values['iyz']],
                       [values['ixz'], values['iyz'], values['izz']]])
    rotation = pin.rpy.rpyToMatrix(_numbers(origin.get('rpy', '0 0 0')))
    body = pin.Inertia(float(inertial['mass'].attributes['value']),
                       _numbers(origin.get('xyz', '0 0 0')), rotation @ tensor @ rotation.T)
    return from_pinocchio(frame.placement.act(body).toDynamicParameters())


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def _inertial(link: Element, ten: np.ndarray, text: str) -> Replacement:
    """Return the inertial of a link in its own frame."""
    mass, com, inertia = to_inertial(ten)
    indent = link.indent(text) + '  '
    tensor = ' '.join(f'{key}="{_digits(value)}"' for key, value in
                      zip(('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'),
                          inertia[np.triu_indices(3)]))
    new = f'\n{indent}  '.join([
        '<inertial>', f'<origin xyz="{" ".join(_digits(x) for x in com)}" rpy="0 0 0"/>',
        f'<mass value="{_digits(mass)}"/>', f'<inertia {tensor}/>']) + f'\n{indent}</inertial>'
    old = link.children.get('inertial')
    if old is not None:
        return Replacement(old.start, old.end, new)
    if link.is_empty:  # <link name="x"/>
        tag = text[link.start:link.end].rstrip('/> \n\t')
        return Replacement(link.start, link.end,
                           f'{tag}>\n{indent}{new}\n{link.indent(text)}</link>')
    return Replacement(link.start_tag_end, link.start_tag_end, f'\n{indent}{new}')


def _friction(robot: Robot, theta: np.ndarray) -> dict[str, dict[str, float]]:
    """Return damping and friction by joint, as far as they were identified."""
    found: dict[str, dict[str, float]] = {}
    for column, term in zip(robot.drive_columns, robot.drive_terms):
        key = {'Fv': 'damping', 'Fc': 'friction'}.get(term.symbol)
        if key is not None and not term.parameter.label.startswith('m'):
            found.setdefault(term.parameter.joint, {})[key] = float(theta[column])
    return found


def _dynamics(joint: Element, values: dict[str, float], text: str) -> Replacement:
    """Return the <dynamics> of a joint with its other attributes kept."""
    old = joint.children.get('dynamics')
    attributes = dict(old.attributes) if old is not None else {}
    attributes |= {key: _digits(value) for key, value in values.items()}
    new = '<dynamics ' + ' '.join(f'{key}="{value}"' for key, value in attributes.items()) + '/>'
    if old is not None:
        return Replacement(old.start, old.end, new)
    end = joint.end_tag_start
    return Replacement(end, end, f'  {new}\n{joint.indent(text)}')


def _digits(value: float) -> str:
    """Write a number so that it reads back exactly."""
    return repr(float(value))
