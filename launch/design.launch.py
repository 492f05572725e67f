"""Design an exciting trajectory; needs no robot."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description() -> LaunchDescription:
    """Run robident design."""
    return LaunchDescription([
        DeclareLaunchArgument('urdf', description='URDF file of the robot'),
        DeclareLaunchArgument('output', default_value='trajectory.yaml',
                              description='trajectory file to write'),
        DeclareLaunchArgument('budget', default_value='20',
                              description='CPU seconds that the design may take'),
        ExecuteProcess(output='screen', cmd=[
            'robident', 'design', LaunchConfiguration('urdf'), '--budget',
            LaunchConfiguration('budget'), '--output', LaunchConfiguration('output')]),
    ])
