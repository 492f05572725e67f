"""The description for Gazebo: driven by efforts, and understood by Gazebo's own parser."""

import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from shipped import ROOT, shipped

XACRO = ROOT / 'urdf' / 'gazebo.urdf.xacro'
ARM = ROOT / 'urdf' / 'arm6.urdf'


def expand(**arguments: str) -> str:
    import xacro
    return xacro.process_file(str(XACRO), mappings=arguments).toxml()


@pytest.fixture(scope='module')
def urdf() -> str:
    return expand(urdf=str(ARM), controllers='controllers.yaml')


def test_every_joint_is_commanded_by_effort(urdf: str) -> None:
    root = ElementTree.fromstring(urdf)
    joints = root.findall('ros2_control/joint')
    assert [joint.get('name') for joint in joints] == list(shipped('arm6').joint_names)
    for joint in joints:
        assert [item.get('name') for item in joint.findall('command_interface')] == ['effort']
        assert [item.get('name') for item in joint.findall('state_interface')] == [
            'position', 'velocity', 'effort']
    assert root.findtext('gazebo/plugin/parameters') == 'controllers.yaml'
    assert root.find("joint[@name='world_joint']/child").get('link') == 'base_link'


def test_controllers_are_those_of_the_joints() -> None:
    import yaml
    data = yaml.safe_load((ROOT / 'config' / 'gazebo_controllers.yaml').read_text())
    controller = data['joint_trajectory_controller']['ros__parameters']
    assert tuple(controller['joints']) == shipped('arm6').joint_names
    assert controller['command_interfaces'] == ['effort']
    assert set(controller['gains']) == set(controller['joints'])


def test_another_robot_needs_only_arguments() -> None:
    root = ElementTree.fromstring(expand(
        urdf=str(ROOT / 'urdf' / 'arm7.urdf'), joints='joint1 joint2', base=''))
    assert len(root.findall('ros2_control/joint')) == 2
    assert root.find("joint[@name='world_joint']") is None


@pytest.fixture(scope='module')
def sdf(urdf: str, tmp_path_factory: pytest.TempPathFactory) -> ElementTree.Element:
    """Convert with the real parser of Gazebo."""
    tool = shutil.which('gz') or shutil.which('ign')
    if tool is None:
        pytest.skip("Gazebo's parser is not installed: apt install ignition-tools "
                    'libsdformat-dev')
    path = tmp_path_factory.mktemp('sdf') / 'robot.urdf'
    path.write_text(urdf)
    check = subprocess.run([tool, 'sdf', '-k', str(path)], capture_output=True, text=True,
                           check=False)
    assert check.returncode == 0, check.stderr
    output = subprocess.run([tool, 'sdf', '-p', str(path)], capture_output=True, text=True,
                            check=True).stdout
    return ElementTree.fromstring(output[output.index('<sdf'):])


def test_the_converted_robot_weighs_what_it_did(sdf: ElementTree.Element) -> None:
    """Fixed links are lumped into their parents; no mass of a moving link is lost."""
    robot = shipped('arm6')
    masses = {link.get('name'): float(link.findtext('inertial/mass'))
              for link in sdf.iter('link') if link.find('inertial') is not None}
    moving = sum(mass for name, mass in masses.items() if name != 'base_link')
    assert moving == pytest.approx(sum(robot.tree.inertias[i].mass
                                       for i in range(1, robot.tree.njoints)), rel=1e-9)


def test_the_converted_robot_moves_as_pinocchio_says(sdf: ElementTree.Element) -> None:
    """The dynamics of the SDF, put together link by link, agree with those of the URDF."""
    robot = shipped('arm6')
    model = model_of_sdf(sdf)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v, a = rng.uniform(-1, 1, (3, 6))
        expected = pin.rnea(robot.tree, robot.tree.createData(), q, v, a)
        # sdformat prints poses and inertias with six digits or more
        np.testing.assert_allclose(pin.rnea(model, model.createData(), q, v, a), expected,
                                   atol=2e-4 * np.abs(expected).max())


def model_of_sdf(sdf: ElementTree.Element) -> pin.Model:
    """Build a Pinocchio model from SDF, independently of any URDF."""
    model = pin.Model()
    links = {link.get('name'): link for link in sdf.iter('link')}
    ids = {}
    for joint in sdf.iter('joint'):
        child, parent = joint.findtext('child'), joint.findtext('parent')
        if joint.get('type') == 'fixed':
            continue
        pose = joint.find('pose')
        relative = links[child].find('pose')
        placement = to_se3(pose if pose is not None and pose.get('relative_to') == parent
                           else relative)
        axis = np.array([float(x) for x in joint.findtext('axis/xyz').split()])
        ids[child] = model.addJoint(ids.get(parent, 0), pin.JointModelRevoluteUnaligned(axis),
                                    placement, joint.get('name'))
        model.appendBodyToJoint(ids[child], to_inertia(links[child].find('inertial')),
                                pin.SE3.Identity())
    return model


def to_se3(pose: ElementTree.Element | None) -> pin.SE3:
    if pose is None:
        return pin.SE3.Identity()
    values = [float(x) for x in pose.text.split()]
    return pin.SE3(pin.rpy.rpyToMatrix(*values[3:]), np.array(values[:3]))


def to_inertia(inertial: ElementTree.Element) -> pin.Inertia:
    m = {key: float(inertial.findtext(f'inertia/{key}')) for key in
         ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')}
    inertia = np.array([[m['ixx'], m['ixy'], m['ixz']], [m['ixy'], m['iyy'], m['iyz']],
                        [m['ixz'], m['iyz'], m['izz']]])
    pose = to_se3(inertial.find('pose'))
    return pin.Inertia(float(inertial.findtext('mass')), pose.translation,
                       pose.rotation @ inertia @ pose.rotation.T)
