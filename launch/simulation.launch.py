"""The whole experiment on the embedded robot: a rehearsal without hardware."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def typed(name: str, kind: type) -> ParameterValue:
    """Return a launch argument as a parameter of a type."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)


def generate_launch_description() -> LaunchDescription:
    """Start the embedded robot, recorder, excitation and identification."""
    share = FindPackageShare('robident_ros')
    return LaunchDescription([
        DeclareLaunchArgument('urdf',
                              default_value=PathJoinSubstitution([share, 'urdf', 'arm6.urdf']),
                              description='URDF file of the robot to simulate'),
        DeclareLaunchArgument('sample_rate', default_value='500.0',
                              description='joint states per second'),
        DeclareLaunchArgument('speed', default_value='1.0',
                              description='simulated seconds per second; other than 1.0 needs '
                              'use_sim_time'),
        DeclareLaunchArgument('controller', default_value='joint_trajectory_controller',
                              description='name of the controller that moves the robot'),
        DeclareLaunchArgument('interface', default_value='topic',
                              description='how it is commanded: topic, action or stream'),
        DeclareLaunchArgument('joint_states_topic', default_value='/joint_states',
                              description='measured positions, velocities and efforts'),
        DeclareLaunchArgument('config', default_value=PathJoinSubstitution(
                                  [share, 'config', 'demo.yaml']),
                              description='configuration of the package (YAML)'),
        DeclareLaunchArgument('trajectory', description='trajectory file of robident design'),
        DeclareLaunchArgument('periods', default_value='0',
                              description='how often it is played; 0: as configured'),
        DeclareLaunchArgument('rate', default_value='0.0',
                              description='trajectory points or commands per second; 0.0: as '
                              'configured'),
        DeclareLaunchArgument('autostart', default_value='true',
                              description='whether to move without ~/start being called'),
        DeclareLaunchArgument('recording', default_value='recording',
                              description='new folder for the bag'),
        DeclareLaunchArgument('output', default_value='identified',
                              description='folder for what ~/identify finds'),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of the nodes'),
        DeclareLaunchArgument('use_sim_time', default_value='false',
                              description='whether time comes from /clock'),
        DeclareLaunchArgument('log_level', default_value='info',
                              description='debug, info, warn or error'),
        DeclareLaunchArgument('params_file',
                              default_value=PathJoinSubstitution([share, 'config', 'nodes.yaml']),
                              description='parameters of the nodes, beside those given here'),
        Node(package='robident_ros', executable='simulated_robot_node', name='simulated_robot',
             namespace=LaunchConfiguration('namespace'), output='screen', emulate_tty=True,
             arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
             parameters=[LaunchConfiguration('params_file'), {
                         'urdf': typed('urdf', str),
                         'config': typed('config', str),
                         'joint_states_topic': typed('joint_states_topic', str),
                         'trajectory_controller': typed('controller', str),
                         'position_controller': typed('controller', str),
                         'rate_hz': typed('sample_rate', float),
                         'clock': typed('use_sim_time', bool),
                         'speed': typed('speed', float),
                         }]),
        Node(package='robident_ros', executable='recorder_node', name='recorder',
             namespace=LaunchConfiguration('namespace'), output='screen', emulate_tty=True,
             arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
             parameters=[LaunchConfiguration('params_file'), {
                         'output': typed('recording', str),
                         'trajectory': typed('trajectory', str),
                         'joint_states_topic': typed('joint_states_topic', str),
                         'trajectory_controller': typed('controller', str),
                         'position_controller': typed('controller', str),
                         'use_sim_time': typed('use_sim_time', bool),
                         }]),
        Node(package='robident_ros', executable='excitation_node', name='excitation',
             namespace=LaunchConfiguration('namespace'), output='screen', emulate_tty=True,
             arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
             parameters=[LaunchConfiguration('params_file'), {
                         'urdf': typed('urdf', str),
                         'config': typed('config', str),
                         'joint_states_topic': typed('joint_states_topic', str),
                         'use_sim_time': typed('use_sim_time', bool),
                         'trajectory': typed('trajectory', str),
                         'controller': typed('controller', str),
                         'interface': typed('interface', str),
                         'periods': typed('periods', int),
                         'rate_hz': typed('rate', float),
                         'autostart': typed('autostart', bool),
                         'recorder': 'recorder',
                         }]),
        Node(package='robident_ros', executable='identification_node', name='identification',
             namespace=LaunchConfiguration('namespace'), output='screen', emulate_tty=True,
             arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
             parameters=[LaunchConfiguration('params_file'), {
                         'urdf': typed('urdf', str),
                         'config': typed('config', str),
                         'joint_states_topic': typed('joint_states_topic', str),
                         'use_sim_time': typed('use_sim_time', bool),
                         'trajectory': typed('trajectory', str),
                         'recording': typed('recording', str),
                         'output': typed('output', str),
                         }]),
    ])
