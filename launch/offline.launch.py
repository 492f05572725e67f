"""Identify from a bag that is there already; needs no robot."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description() -> LaunchDescription:
    """Run robident identify."""
    return LaunchDescription([
        DeclareLaunchArgument('urdf', description='URDF file of the robot'),
        DeclareLaunchArgument('recording', description='rosbag2 folder, .db3, .mcap or .csv file'),
        DeclareLaunchArgument('topic', default_value='/joint_states',
                              description='topic of the joint states in the bag'),
        DeclareLaunchArgument('output', default_value='identified',
                              description='folder for the result'),
        ExecuteProcess(output='screen', cmd=[
            'robident', 'identify', LaunchConfiguration('urdf'),
            LaunchConfiguration('recording'), '--topic', LaunchConfiguration('topic'),
            '--output', LaunchConfiguration('output')]),
    ])
