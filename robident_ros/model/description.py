"""
The robot description: URDF or xacro text, parsed safely and checked before anyone builds on it.

A URDF may come from anywhere, so XML entities are refused. What Pinocchio must not see (meshes
that may not be there, mimic tags, rounded limits) is taken out of the copy that it gets; limits,
mimic relations and friction are read here and kept beside it.
"""

from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Iterator
import warnings
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from robident_ros.errors import did_you_mean, ModelError, RobidentWarning

MOVABLE = ('revolute', 'continuous', 'prismatic')
PRIMITIVES = ('box', 'cylinder', 'sphere')


@dataclass(frozen=True)
class Mimic:
    """Position of a joint that follows another: multiplier · q + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """One joint as the description says it; a limit that is not given is infinite."""

    name: str
    kind: str
    parent: str
    child: str
    lower: float = -inf
    upper: float = inf
    velocity: float = inf
    effort: float = inf
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True)
class Description:
    """A checked robot description."""

    name: str
    xml: str
    source: str
    joints: tuple[Joint, ...]

    def joint(self, name: str) -> Joint:
        """Return the joint of that name."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        movable = [joint.name for joint in self.joints if joint.kind in MOVABLE]
        raise ModelError(f'{self.source}: there is no joint {name!r}, '
                         + did_you_mean(name, movable))

    def tree_urdf(self, shapes: bool = False) -> str:
        """
        Return the kinematic tree with its inertials, and nothing else, as URDF.

        Continuous joints become revolute ones so that every joint has one coordinate.

        :param shapes: keep collision shapes that are primitives.
        """
        root = ElementTree.fromstring(self.xml)
        for child in list(root):
            if child.tag not in ('link', 'joint'):
                root.remove(child)
        for link in root.iter('link'):
            for shape in [*link.findall('visual'), *link.findall('collision')]:
                if not shapes or shape.tag == 'visual' or not is_primitive(shape):
                    link.remove(shape)
        for joint in root.iter('joint'):
            _make_plain(joint)
        return ElementTree.tostring(root, encoding='unicode')


def is_primitive(collision: Element) -> bool:
    """Whether a collision shape is a box, a cylinder or a sphere."""
    return any(collision.find(f'geometry/{kind}') is not None for kind in PRIMITIVES)


def _make_plain(joint: Element) -> None:
    for child in list(joint):
        if child.tag not in ('parent', 'child', 'origin', 'axis'):
            joint.remove(child)
    if joint.get('type') in MOVABLE:
        joint.set('type', 'prismatic' if joint.get('type') == 'prismatic' else 'revolute')
        # urdfdom demands a limit; the true ones are kept in Joint.
        ElementTree.SubElement(joint, 'limit', lower='0', upper='0', velocity='0', effort='0')


def read_description(source: str | Path) -> Description:
    """
    Read a robot description.

    :param source: a URDF or xacro file, or the XML text itself.
    """
    text, label = _read_text(source)
    root = _parse(text, label)
    if root.tag != 'robot':
        raise ModelError(f'{label}: the root element is <{root.tag}>, expected <robot>')
    if _uses_xacro(text):
        text = _expand_xacro(text, source, label)
        root = _parse(text, label)
    _check_links(root, label)
    joints = tuple(_read_joint(element, label) for element in root.findall('joint'))
    _check_tree(joints, [link.get('name') for link in root.findall('link')], label)
    return Description(root.get('name') or 'robot', text, label, joints)


def _read_text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and source.lstrip().startswith('<'):
        return source, 'robot description'
    try:
        return Path(source).read_bytes().decode(), str(source)  # line ends as they are
    except UnicodeDecodeError as error:
        raise ModelError(f'{source}: is not a text file, expected a URDF or xacro') from error
    except OSError as error:
        raise ModelError(f'{source}: cannot be read: {error.strerror}') from error


def _parse(text: str, label: str) -> Element:
    try:
        return fromstring(text.encode())
    except ElementTree.ParseError as error:
        raise ModelError(f'{label}: is not well-formed XML: {error}') from error
    except DefusedXmlException as error:
        raise ModelError(f'{label}: XML entities are not allowed in a robot description; '
                         'write the values out or use xacro properties') from error


def _uses_xacro(text: str) -> bool:
    return '<xacro:' in text or '${' in text or '$(' in text


def _expand_xacro(text: str, source: str | Path, label: str) -> str:
    try:
        import xacro
    except ImportError as error:
        raise ModelError(f'{label}: is a xacro file; install xacro (pip install xacro, or '
                         'apt install ros-$ROS_DISTRO-xacro) or expand it first') from error
    try:
        if label == str(source):
            return xacro.process_file(label).toxml()
        document = xacro.parse(text)
        xacro.process_doc(document)
        return document.toxml()
    except Exception as error:  # xacro evaluates Python expressions: anything may come out
        raise ModelError(f'{label}: xacro: {" ".join(str(error).split())}') from error


def _number(element: Element, key: str, where: str, default: float | None = None) -> float:
    text = element.get(key)
    if text is None and default is not None:
        return default
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = float('nan')
    if not isfinite(value):
        raise ModelError(f'{where}: {key} is {text!r}, expected a finite number')
    return value


def _vector(element: Element | None, key: str, where: str) -> tuple[float, ...] | None:
    text = None if element is None else element.get(key)
    if text is None:
        return None
    try:
        values = tuple(float(word) for word in text.split())
    except ValueError:
        values = ()
    if len(values) != 3 or not all(isfinite(value) for value in values):
        raise ModelError(f'{where}: {key} is {text!r}, expected three finite numbers')
    return values


def _check_links(root: Element, label: str) -> None:
    """Refuse inertials that are not numbers or have a negative mass."""
    for link in root.findall('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        where = f'{label}: link {link.get("name")!r}: inertial'
        for key in ('xyz', 'rpy'):
            _vector(inertial.find('origin'), key, where)
        mass, inertia = inertial.find('mass'), inertial.find('inertia')
        if mass is None or inertia is None:
            missing = 'mass' if mass is None else 'inertia'
            raise ModelError(f'{where}: has no <{missing}>; add it or remove the inertial')
        value = _number(mass, 'value', where)
        if value < 0:
            raise ModelError(f'{where}: mass is {value} kg, expected zero or more')
        for key in ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'):
            _number(inertia, key, where)


def _read_joint(element: Element, label: str) -> Joint:
    name, kind = element.get('name'), element.get('type')
    where = f'{label}: joint {name!r}'
    if kind not in (*MOVABLE, 'fixed'):
        raise ModelError(f'{where}: type {kind!r} is not supported; expected revolute, '
                         'continuous, prismatic or fixed')
    ends = [element.find(tag) for tag in ('parent', 'child')]
    if any(end is None or end.get('link') is None for end in ends):
        raise ModelError(f'{where}: needs <parent link="…"/> and <child link="…"/>')
    for key in ('xyz', 'rpy'):
        _vector(element.find('origin'), key, where)
    parent, child = (end.get('link') for end in ends)
    if kind == 'fixed':
        return Joint(name, kind, parent, child)
    axis = _vector(element.find('axis'), 'xyz', where)
    if axis is not None and not any(axis):
        raise ModelError(f'{where}: axis is zero, expected a direction')
    return Joint(name, kind, parent, child, **_read_limits(element, kind, where),
                 **_read_friction(element, where), mimic=_read_mimic(element, where))


def _read_limits(element: Element, kind: str, where: str) -> dict[str, float]:
    limit = element.find('limit')
    if limit is None:
        if kind != 'continuous':
            warnings.warn(f'{where}: has no <limit>; taken as unlimited', RobidentWarning,
                          stacklevel=2)
        return {}
    limits = {key: _number(limit, key, where, inf) for key in ('velocity', 'effort')}
    if kind != 'continuous':
        # The URDF specification: a bound that is left out is zero.
        limits |= {key: _number(limit, key, where, 0.0) for key in ('lower', 'upper')}
        if limits['lower'] > limits['upper']:
            raise ModelError(f'{where}: lower limit {limits["lower"]} is above the upper limit '
                             f'{limits["upper"]}')
    return limits


def _read_friction(element: Element, where: str) -> dict[str, float]:
    dynamics = element.find('dynamics')
    if dynamics is None:
        return {}
    return {key: _number(dynamics, key, where, 0.0) for key in ('damping', 'friction')}


def _read_mimic(element: Element, where: str) -> Mimic | None:
    mimic = element.find('mimic')
    if mimic is None:
        return None
    if mimic.get('joint') is None:
        raise ModelError(f'{where}: <mimic> names no joint')
    return Mimic(mimic.get('joint'), _number(mimic, 'multiplier', where, 1.0),
                 _number(mimic, 'offset', where, 0.0))


def _check_tree(joints: tuple[Joint, ...], links: list[str], label: str) -> None:
    """Refuse what is not one tree of links with unique names."""
    for kind, names in (('joint', [joint.name for joint in joints]), ('link', links)):
        for name in _repeated(names):
            raise ModelError(f'{label}: {kind} name {name!r} stands twice')
    for name in _repeated([joint.child for joint in joints]):
        raise ModelError(f'{label}: link {name!r} is the child of two joints; say closed loops '
                         'with <mimic> or the configuration key model: followers')
    for joint in joints:
        for link in (joint.parent, joint.child):
            if link not in links:
                raise ModelError(f'{label}: joint {joint.name!r}: there is no link {link!r}, '
                                 + did_you_mean(link, links))
    if not any(joint.kind in MOVABLE for joint in joints):
        raise ModelError(f'{label}: has no movable joint')
    _check_connected(joints, set(links), label)


def _check_connected(joints: tuple[Joint, ...], links: set[str], label: str) -> None:
    roots = links - {joint.child for joint in joints}
    if len(roots) != 1:
        found = ', '.join(sorted(roots)) or 'none (the joints form a ring)'
        raise ModelError(f'{label}: expected one root link, found {found}')
    reached, children = set(), roots
    while children:
        reached |= children
        children = {joint.child for joint in joints if joint.parent in children}
    if reached != links:
        raise ModelError(f'{label}: links {", ".join(sorted(links - reached))} are not connected '
                         'to the root')


def _repeated(names: list[str]) -> Iterator[str]:
    return (name for name in sorted(set(names)) if names.count(name) > 1)
