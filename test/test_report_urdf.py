"""The identified URDF: the original but for what was identified, and it predicts the same."""

from difflib import SequenceMatcher
from pathlib import Path
import re
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.config import Config, load_config, ModelOptions
from robident_ros.estimation.prior import make_prior
from robident_ros.model.physical import judge_link
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot, Robot
from robident_ros.report.urdf import identified_urdf, write_identified
from shipped import random_samples, ROBOTS, ROOT, SHARED, shipped
from synthetic import with_drives

DATA = SHARED / 'data'
FIXED = """<?xml version="1.0"?>
<robot name="fixed">
  <link name="base"/>
  <link name="arm"><!-- kept -->
    <visual><geometry><box size="1 1 1"/></geometry></visual>
    <inertial><mass value="2"/><origin xyz="0.1 0 0"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
  </link>
  <link name="tool">
    <inertial><mass value="1"/><origin xyz="0 0 0.1" rpy="0.3 0 0"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.015"/></inertial>
  </link>
  <link name="hand"/>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="flange" type="fixed">
    <parent link="arm"/><child link="tool"/><origin xyz="0.5 0 0" rpy="0 0.2 0"/>
  </joint>
  <joint name="wrist" type="revolute">
    <parent link="tool"/><child link="hand"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="1"/>
  </joint>
  <transmission name="t"><joint name="shoulder"><dynamics/></joint></transmission>
</robot>
"""


def bodies(robot: Robot, factor: float = 1.3) -> np.ndarray:
    """Return consistent parameters that differ from the URDF's."""
    theta = with_drives(robot)
    links = np.ravel(robot.link_columns[:, None] + np.arange(10))
    theta[links] = factor * make_prior(robot).theta[links]
    return theta


def torques(robot: Robot, theta: np.ndarray) -> np.ndarray:
    return torque_regressor(robot, *random_samples(robot, 30)) @ theta


def reloaded(robot: Robot, theta: np.ndarray, folder: Path) -> Robot:
    write_identified(robot, theta, folder / 'identified.urdf', folder / 'config.yaml')
    return load_robot(folder / 'identified.urdf', load_config(folder / 'config.yaml'))


@pytest.mark.parametrize('name', ROBOTS)
def test_it_predicts_what_the_estimate_predicts(name: str, tmp_path) -> None:
    """URDF and configuration together give the torques of the parameters to 1e-8."""
    robot = shipped(name)
    theta = bodies(robot)
    found = reloaded(robot, theta, tmp_path)
    np.testing.assert_allclose(torques(found, found.theta), torques(robot, theta), rtol=1e-8,
                               atol=1e-8)


@pytest.mark.parametrize('path, joints', [
    ('panda/panda.urdf', tuple(f'panda_joint{i}' for i in range(1, 8))),
    ('ur10_bag/ur10_robot.urdf', None)])
@pytest.mark.filterwarnings('ignore::UserWarning')
def test_robots_in_the_wild(path: str, joints: tuple | None, tmp_path) -> None:
    """Fixed hands, locked fingers, foreign attributes."""
    if not (DATA / path).is_file():
        pytest.skip('the measured data (shared/data) are not on this machine')
    robot = load_robot(DATA / path, Config(model=ModelOptions(joints=joints)))
    theta = bodies(robot)
    found = reloaded(robot, theta, tmp_path)
    np.testing.assert_allclose(torques(found, found.theta), torques(robot, theta), atol=1e-8)


@pytest.mark.parametrize('name', ['arm6', 'arm7', 'tx40'])
def test_everything_else_stays_byte_for_byte(name: str) -> None:
    robot = shipped(name)
    old, new = robot.description.xml, identified_urdf(robot, bodies(robot))
    strip = [r'<inertial>.*?</inertial>', r'\s*<dynamics [^>]*/>', r'\s*<!-- identified by.*?-->']
    for pattern in strip:
        old, new = (re.sub(pattern, '', text, flags=re.S) for text in (old, new))
    # what is left differs by white space around inserted elements at most
    assert ''.join(old.split()) == ''.join(new.split())
    assert SequenceMatcher(None, old, new, autojunk=False).quick_ratio() > 0.99


def test_windows_line_ends_stay() -> None:
    text = (ROOT / 'urdf' / 'arm6.urdf').read_bytes().replace(b'\n', b'\r\n').decode()
    robot = load_robot(text)
    new = identified_urdf(robot, bodies(robot))
    assert '\n' not in new.replace('\r\n', '')


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_attached_links_keep_their_inertials_and_the_moving_link_gets_the_rest() -> None:
    robot = load_robot(FIXED)
    theta = bodies(robot)
    text = identified_urdf(robot, theta)
    old, new = ElementTree.fromstring(FIXED), ElementTree.fromstring(text)
    tool = [ElementTree.tostring(root.find('link[@name="tool"]')) for root in (old, new)]
    assert tool[0] == tool[1]
    found = load_robot(text)
    np.testing.assert_allclose(found.theta[robot.link_columns[0]:robot.link_columns[0] + 10],
                               theta[robot.link_columns[0]:robot.link_columns[0] + 10],
                               atol=1e-12)
    assert '<!-- kept -->' in text and '<link name="hand">' in text
    assert '<transmission name="t"><joint name="shoulder"><dynamics/></joint>' in text


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_where_the_rest_is_no_body_the_moving_link_gets_all() -> None:
    """A composite lighter than its tool: the tool's inertial goes, with a word why."""
    robot = load_robot(FIXED)
    theta = bodies(robot, 0.2)
    text = identified_urdf(robot, theta)
    found = load_robot(text)
    assert 'inertial is part of arm' in text
    np.testing.assert_allclose(found.theta[robot.link_columns[0]:robot.link_columns[0] + 10],
                               theta[robot.link_columns[0]:robot.link_columns[0] + 10],
                               atol=1e-12)
    assert judge_link('', found.theta[robot.link_columns[0]:robot.link_columns[0] + 10]).consistent


@pytest.mark.parametrize('name', ['arm6', 'arm7', 'tx40', 'stanford'])
def test_pinocchio_and_mujoco_load_it(name: str, tmp_path) -> None:
    """Both give the rigid-body torques of the estimate."""
    mujoco = pytest.importorskip('mujoco')
    robot = shipped(name)
    theta = bodies(robot)
    theta[robot.drive_columns] = 0
    write_identified(robot, theta, tmp_path / 'identified.urdf')
    q, v, a = random_samples(robot, 5)
    expected = torque_regressor(robot, q, v, a) @ theta
    model = pin.buildModelFromUrdf(str(tmp_path / 'identified.urdf'))
    data = model.createData()
    simulated = mujoco.MjModel.from_xml_path(str(tmp_path / 'identified.urdf'))
    simulated.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    state = mujoco.MjData(simulated)
    for k in range(5):
        np.testing.assert_allclose(pin.rnea(model, data, q[k], v[k], a[k]), expected[:, k],
                                   atol=1e-8)
        state.qpos[:], state.qvel[:], state.qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(simulated, state)
        # MuJoCo turns inertias to their principal axes, which costs digits
        np.testing.assert_allclose(state.qfrc_inverse, expected[:, k], atol=1e-8)
