"""
The whole experiment in Gazebo, with gz_ros2_control and joint_trajectory_controller.

The controller commands efforts, and these are what is identified from: the joint effort that
Gazebo reports is the transmitted rigid-body torque, without damping and friction of the joints.
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def typed(name: str, kind: type) -> ParameterValue:
    """Return a launch argument as a parameter of a type."""
    return ParameterValue(LaunchConfiguration(name), value_type=kind)


def generate_launch_description() -> LaunchDescription:
    """Start Gazebo with the robot and its controllers, and the nodes of the experiment."""
    share = FindPackageShare('robident_ros')
    description = ParameterValue(Command([
        'xacro ', PathJoinSubstitution([share, 'urdf', 'gazebo.urdf.xacro']),
        ' urdf:=', LaunchConfiguration('urdf'), ' base:=', LaunchConfiguration('base'),
        ' joints:="', LaunchConfiguration('joints'), '"',
        ' controllers:=', LaunchConfiguration('controllers')]), value_type=str)
    return LaunchDescription([
        DeclareLaunchArgument('urdf',
                              default_value=PathJoinSubstitution([share, 'urdf', 'arm6.urdf']),
                              description='URDF file of the robot'),
        DeclareLaunchArgument('base', default_value='base_link',
                              description='link that is fixed to the world; empty: none'),
        DeclareLaunchArgument('joints',
                              default_value='joint1 joint2 joint3 joint4 joint5 joint6',
                              description='joints that are driven'),
        DeclareLaunchArgument('controllers', default_value=PathJoinSubstitution(
                                  [share, 'config', 'gazebo_controllers.yaml']),
                              description='controllers of these joints'),
        DeclareLaunchArgument('gz_args', default_value='-r -s empty.sdf',
                              description='arguments of gz sim; without -s it has a window'),
        DeclareLaunchArgument('controller', default_value='joint_trajectory_controller',
                              description='name of the controller that moves the robot'),
        DeclareLaunchArgument('interface', default_value='topic',
                              description='how it is commanded: topic, action or stream'),
        DeclareLaunchArgument('joint_states_topic', default_value='/commanded_effort/joint_states',
                              description='positions and velocities with'
                              ' commanded efforts'),
        DeclareLaunchArgument('config', default_value='',
                              description='configuration of the package (YAML)'),
        DeclareLaunchArgument('trajectory', description='trajectory file of robident design'),
        DeclareLaunchArgument('periods', default_value='0',
                              description='how often it is played; 0: as configured'),
        DeclareLaunchArgument('rate', default_value='0.0',
                              description='trajectory points or commands per second; 0.0: as '
                              'configured'),
        DeclareLaunchArgument('autostart', default_value='false',
                              description='whether to move without ~/start being called'),
        DeclareLaunchArgument('recording', default_value='recording',
                              description='new folder for the bag'),
        DeclareLaunchArgument('output', default_value='identified',
                              description='folder for what ~/identify finds'),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of the nodes'),
        DeclareLaunchArgument('use_sim_time', default_value='true',
                              description='whether time comes from /clock'),
        DeclareLaunchArgument('log_level', default_value='info',
                              description='debug, info, warn or error'),
        DeclareLaunchArgument('params_file',
                              default_value=PathJoinSubstitution([share, 'config', 'nodes.yaml']),
                              description='parameters of the nodes, beside those given here'),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(PathJoinSubstitution(
                [FindPackageShare('ros_gz_sim'), 'launch', 'gz_sim.launch.py'])),
            launch_arguments={'gz_args': LaunchConfiguration('gz_args')}.items()),
        Node(package='ros_gz_bridge', executable='parameter_bridge', output='screen',
             arguments=['/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock']),
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[{'robot_description': description,
                          'use_sim_time': typed('use_sim_time', bool)}]),
        Node(package='ros_gz_sim', executable='create', output='screen',
             arguments=['-topic', 'robot_description', '-name', 'robot']),
        Node(package='controller_manager', executable='spawner',
             arguments=['joint_state_broadcaster', LaunchConfiguration('controller')]),
        Node(package='robident_ros', executable='commanded_effort_node', name='commanded_effort',
             namespace=LaunchConfiguration('namespace'), output='screen', emulate_tty=True,
             arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
             parameters=[LaunchConfiguration('params_file'), {
                         'controller': typed('controller', str),
                         'use_sim_time': typed('use_sim_time', bool),
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
