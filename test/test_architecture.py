"""The architecture, kept by machine: which stage may import which, one version, no ROS inside."""

import ast
from pathlib import Path
import re
from xml.etree import ElementTree

import pytest
from shipped import ROOT

PACKAGE = ROOT / 'robident_ros'
MODULES = sorted(PACKAGE.rglob('*.py'))
ROS = {'rclpy', 'rosbag2_py', 'sensor_msgs', 'trajectory_msgs', 'control_msgs', 'std_msgs',
       'std_srvs', 'diagnostic_msgs', 'launch', 'launch_ros', 'ament_index_python'}
# A stage may import itself, what stands before it, and the top-level modules.
STAGES = ('model', 'recording', 'excitation', 'experiment', 'processing', 'estimation', 'report')
EDGES = ('ros', 'cli')


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return names


def stage_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else ''


@pytest.mark.parametrize('path', MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    stage = stage_of(path)
    if stage in EDGES:
        return
    names = imports_of(path)
    assert not {name.split('.')[0] for name in names} & ROS
    allowed = STAGES[:STAGES.index(stage) + 1] if stage else ()
    used = {name.split('.')[1] for name in names if name.startswith('robident_ros.')}
    assert not used & set(EDGES)
    assert used & set(STAGES) <= set(allowed)


def test_every_folder_of_the_package_is_a_known_stage() -> None:
    folders = {path.parent.name for path in PACKAGE.glob('*/__init__.py')}
    assert folders <= {*STAGES, *EDGES}


def test_the_version_stands_in_one_place() -> None:
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    assert re.fullmatch(r'\d+\.\d+\.\d+', version)
    assert version in (ROOT / 'CHANGELOG.rst').read_text()
    assert version not in (ROOT / 'setup.py').read_text()


def test_data_files_are_found_wherever_the_package_is_installed() -> None:
    from robident_ros.share import share_path
    assert (share_path() / 'urdf' / 'arm6.urdf').is_file()
