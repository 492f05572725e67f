"""
Launch files name only what exists: nodes, parameters with the right types, arguments, files.

They are built here with stand-ins for the launch packages, which record what they are given;
where the real packages are installed, these build them too.
"""

import importlib.util
from pathlib import Path
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
from robident_ros.cli.main import make_parser
from shipped import ROOT

FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
NAMES = ['design', 'gazebo', 'hardware', 'offline', 'simulation']
CONVENTIONAL = {'namespace', 'use_sim_time', 'params_file', 'autostart', 'log_level'}


class Recorded:
    """Anything from the launch packages: keeps its arguments."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.args, self.kwargs = args, kwargs


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch):
    """Give a function that builds a launch file from recorded parts."""
    kinds = {}
    modules = {'launch': ['LaunchDescription'], 'launch.actions': [
        'DeclareLaunchArgument', 'ExecuteProcess', 'IncludeLaunchDescription'],
        'launch.substitutions': ['Command', 'LaunchConfiguration', 'PathJoinSubstitution'],
        'launch.launch_description_sources': ['PythonLaunchDescriptionSource'],
        'launch_ros': [], 'launch_ros.actions': ['Node'],
        'launch_ros.parameter_descriptions': ['ParameterValue'],
        'launch_ros.substitutions': ['FindPackageShare']}
    for name, members in modules.items():
        module = ModuleType(name)
        for member in members:
            kinds[member] = type(member, (Recorded,), {})
            setattr(module, member, kinds[member])
        monkeypatch.setitem(sys.modules, name, module)

    def load(path: Path) -> SimpleNamespace:
        items = load_file(path).generate_launch_description().args[0]
        return SimpleNamespace(**{kind: [item for item in items if isinstance(item, kinds[kind])]
                                  for kind in kinds}, items=items)
    return load


def load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.name.replace('.', '_'), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configurations(part: object) -> set[str]:
    """Return the launch arguments that something refers to."""
    if isinstance(part, Recorded):
        own = {part.args[0]} if type(part).__name__ == 'LaunchConfiguration' else set()
        return own.union(*map(configurations, [*part.args, *part.kwargs.values()]))
    if isinstance(part, dict):
        return set().union(*map(configurations, part.values()))
    if isinstance(part, (list, tuple)):
        return set().union(*map(configurations, part))
    return set()


def test_all_launch_files_are_there() -> None:
    assert [path.name.split('.')[0] for path in FILES] == NAMES


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_arguments_are_described_and_each_is_used(path: Path, build) -> None:
    made = build(path)
    declared = {item.args[0]: item for item in made.DeclareLaunchArgument}
    assert len(declared) == len(made.DeclareLaunchArgument)
    assert all(len(item.kwargs['description']) > 10 for item in declared.values())
    used = configurations([item for item in made.items
                           if item not in made.DeclareLaunchArgument])
    source = path.read_text()
    assert used <= set(declared)
    for name in declared:  # also inside substitutions that are made before the description
        assert len(re.findall(rf"'{name}'", source)) > 1, name
    if made.Node:
        assert CONVENTIONAL <= set(declared)


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_parameters_are_those_of_the_nodes_with_their_types(path: Path, build) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed: the nodes cannot be imported')
    own = [node for node in build(path).Node if node.kwargs['package'] == 'robident_ros']
    for node in own:
        module = importlib.import_module(f'robident_ros.ros.{node.kwargs["executable"]}')
        settings = {setting.name: type(setting.default) for setting in module.SETTINGS}
        settings['use_sim_time'] = bool
        for name, value in node.kwargs['parameters'][1].items():
            assert name in settings, (node.kwargs['executable'], name)
            kind = value.kwargs['value_type'] if isinstance(value, Recorded) else type(value)
            assert kind is settings[name], name


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_nodes_are_console_scripts_and_commands_parse(path: Path, build) -> None:
    setup = (ROOT / 'setup.py').read_text()
    made = build(path)
    for node in made.Node:
        if node.kwargs['package'] == 'robident_ros':
            assert f"'{node.kwargs['executable']}'" in setup
    for process in made.ExecuteProcess:
        words = [word if isinstance(word, str) else '1' for word in process.kwargs['cmd']]
        assert words[0] == 'robident'
        make_parser().parse_args(words[1:])


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_files_that_are_named_are_shipped(path: Path) -> None:
    for folder, name in re.findall(r"share, '(\w+)', '([\w.]+)'", path.read_text()):
        assert (ROOT / folder / name).is_file()


def test_shared_parameters_are_those_of_the_nodes() -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed: the nodes cannot be imported')
    import yaml
    for key, value in yaml.safe_load((ROOT / 'config' / 'nodes.yaml').read_text()).items():
        module = importlib.import_module(f'robident_ros.ros.{key.split("/")[-1]}_node')
        settings = {setting.name: setting.default for setting in module.SETTINGS}
        for name, given in value['ros__parameters'].items():
            assert type(given) is type(settings[name]), name


@pytest.mark.parametrize('path', FILES, ids=NAMES)
def test_the_real_launch_packages_build_it(path: Path) -> None:
    launch = pytest.importorskip('launch', reason='the launch packages of ROS 2 are not installed')
    pytest.importorskip('launch_ros', reason='launch_ros is not installed')
    description = load_file(path).generate_launch_description()
    assert isinstance(description, launch.LaunchDescription)
    assert all(argument.description for argument in description.get_launch_arguments())
