"""Robot descriptions are parsed safely, and what is wrong with them is named."""

from pathlib import Path

import pytest
from robident_ros.errors import ModelError, RobidentWarning
from robident_ros.model.description import read_description

INERTIAL = ('<inertial><mass value="1"/>'
            '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>')
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3"/>'


def pendulum(inertial: str = INERTIAL, limit: str = LIMIT, kind: str = 'revolute',
             axis: str = '0 1 0', child: str = 'arm', more: str = '') -> str:
    return f"""<robot name="pendulum"><link name="base"/><link name="arm">{inertial}</link>
        <joint name="hinge" type="{kind}"><parent link="base"/><child link="{child}"/>
        <axis xyz="{axis}"/>{limit}</joint>{more}</robot>"""


def test_limits_friction_and_mimic_are_read() -> None:
    joint = read_description(pendulum(
        limit=LIMIT + '<dynamics damping="0.5" friction="0.25"/>')).joint('hinge')
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == (-1, 1, 2, 3)
    assert (joint.damping, joint.friction, joint.mimic) == (0.5, 0.25, None)


def test_a_bound_that_is_left_out_is_zero_as_the_urdf_specification_says() -> None:
    joint = read_description(pendulum(limit='<limit upper="1" velocity="1"/>')).joint('hinge')
    assert joint.lower == 0 and joint.effort == float('inf')


def test_a_continuous_joint_has_no_position_limits() -> None:
    joint = read_description(pendulum(kind='continuous')).joint('hinge')
    assert joint.upper == float('inf') and joint.velocity == 2


def test_missing_limits_are_a_warning_that_names_the_joint() -> None:
    with pytest.warns(RobidentWarning, match="joint 'hinge': has no <limit>; taken as unlimited"):
        joint = read_description(pendulum(limit='')).joint('hinge')
    assert joint.upper == float('inf')


BILLION_LAUGHS = """<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/passwd">]>
<robot name="&a;"/>"""
SECOND = '<joint name="hinge" type="fixed"><parent link="base"/><child link="arm"/></joint>'


@pytest.mark.parametrize(('text', 'message'), [
    ('<robot>', 'is not well-formed XML'),
    ('<sdf/>', 'root element is <sdf>, expected <robot>'),
    (BILLION_LAUGHS, 'XML entities are not allowed'),
    (EXTERNAL, 'XML entities are not allowed'),
    (pendulum(kind='floating'), "joint 'hinge': type 'floating' is not supported"),
    (pendulum(axis='0 0 0'), "joint 'hinge': axis is zero"),
    (pendulum(axis='0 1'), "joint 'hinge': xyz is '0 1', expected three finite numbers"),
    (pendulum(child='arn'), "no link 'arn', did you mean 'arm'"),
    (pendulum(limit='<limit lower="1" upper="-1"/>'), 'lower limit 1.0 is above the upper'),
    (pendulum(limit='<limit velocity="fast"/>'), "velocity is 'fast', expected a finite number"),
    (pendulum(limit=LIMIT + '<mimic/>'), "joint 'hinge': <mimic> names no joint"),
    (pendulum(INERTIAL.replace('"1"/>', '"-1"/>', 1)), "link 'arm'.*mass is -1.0 kg"),
    (pendulum(INERTIAL.replace('"1"/>', '"nan"/>', 1)), "link 'arm'.*value is 'nan'"),
    (pendulum(INERTIAL.replace('ixx="1"', 'ixx="NaN"')), "link 'arm'.*ixx is 'NaN'"),
    (pendulum(INERTIAL.replace('ixx="1"', '')), "link 'arm'.*ixx is None"),
    (pendulum('<inertial><mass value="1"/></inertial>'), 'has no <inertia>'),
    (pendulum(more=SECOND), "joint name 'hinge' stands twice"),
    (pendulum(more=SECOND.replace('hinge', 'weld')), "link 'arm' is the child of two joints"),
    (pendulum(more='<link name="loose"/>'), 'expected one root link, found base, loose'),
    (pendulum(kind='fixed', limit=''), 'has no movable joint'),
    (pendulum(more='<link name="arm"/>'), "link name 'arm' stands twice"),
    (pendulum(more='<link/>'), 'a <link> has no name'),
])
def test_malformed_and_hostile_descriptions_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read_description(text)


def test_a_ring_of_links_beside_the_tree_is_refused() -> None:
    ring = ''.join(f'<link name="{a}"/><joint name="{a}{b}" type="fixed"><parent link="{a}"/>'
                   f'<child link="{b}"/></joint>' for a, b in ('pq', 'qp'))
    with pytest.raises(ModelError, match='links p, q are not connected to the root'):
        read_description(pendulum(more=ring))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match='nowhere.urdf: cannot be read: No such file'):
        read_description(tmp_path / 'nowhere.urdf')
    (tmp_path / 'mesh.urdf').write_bytes(b'\xff\xfe\x00\x01')
    with pytest.raises(ModelError, match='mesh.urdf: is not a text file'):
        read_description(tmp_path / 'mesh.urdf')


def test_unknown_joint_names_get_a_suggestion() -> None:
    with pytest.raises(ModelError, match="no joint 'hinges', did you mean 'hinge'"):
        read_description(pendulum()).joint('hinges')


XACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="reach" value="2"/>""" + pendulum(
    limit='<limit lower="0" upper="${reach * 2}" velocity="1" effort="1"/>').split('>', 1)[1]


def test_xacro_is_expanded_from_a_file_and_from_text(tmp_path: Path) -> None:
    (tmp_path / 'arm.urdf.xacro').write_text(XACRO)
    for source in (XACRO, tmp_path / 'arm.urdf.xacro'):
        assert read_description(source).joint('hinge').upper == 4


def test_errors_of_xacro_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / 'arm.xacro'
    path.write_text(XACRO.replace('name="reach"', 'name="length"'))
    with pytest.raises(ModelError, match='arm.xacro: xacro: .*reach') as error:
        read_description(path)
    assert '\n' not in str(error.value)


def test_meshes_that_are_not_there_do_not_matter() -> None:
    mesh = '<collision><geometry><mesh filename="package://gone/a.stl"/></geometry></collision>'
    description = read_description(pendulum(inertial=INERTIAL + mesh))
    assert 'mesh' not in description.tree_urdf() and 'mesh' in description.xml
