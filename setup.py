from glob import glob
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

PACKAGE = 'robident_ros'
# package.xml is the one place where the version is written.
MANIFEST = ElementTree.parse(Path(__file__).parent / 'package.xml').getroot()

NODES = ('commanded_effort_node', 'excitation_node', 'identification_node', 'recorder_node',
         'simulated_robot_node')
EXTRAS = {
    'fast': ['numba'],
    'plot': ['matplotlib'],
    'sim': ['mujoco'],
    'lint': ['flake8', 'flake8-builtins', 'flake8-comprehensions', 'flake8-docstrings',
             'flake8-import-order', 'flake8-quotes', 'pydocstyle', 'ros-ament-flake8',
             'ros-ament-pep257'],
    'test': ['cvxpy', 'pytest'],
    'ros': ['ros-rclpy[fastrtps]', 'ros-sensor-msgs', 'ros-trajectory-msgs', 'ros-std-msgs',
            'ros-std-srvs', 'ros-diagnostic-msgs', 'ros-rosgraph-msgs'],
}
EXTRAS['dev'] = [item for name in ('fast', 'plot', 'sim', 'lint', 'test', 'ros')
                 for item in EXTRAS[name]]

setup(
    name=PACKAGE,
    version=MANIFEST.findtext('version'),
    description=' '.join(MANIFEST.findtext('description').split()),
    license='Apache-2.0',
    maintainer=MANIFEST.findtext('maintainer'),
    maintainer_email=MANIFEST.find('maintainer').get('email'),
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    python_requires='>=3.10',
    install_requires=['clarabel', 'defusedxml', 'numpy', 'pandas', 'pin>=3', 'pyyaml', 'rosbags',
                      'scipy', 'xacro'],
    extras_require=EXTRAS,
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        (f'share/{PACKAGE}/config', glob('config/*.yaml')),
        (f'share/{PACKAGE}/config/recordings', glob('config/recordings/*.yaml')),
        (f'share/{PACKAGE}/hook', glob('hook/*')),
        (f'share/{PACKAGE}/launch', glob('launch/*.launch.py')),
        (f'share/{PACKAGE}/urdf', glob('urdf/*')),
    ],
    entry_points={'console_scripts': [
        'robident = robident_ros.cli.main:main',
        *(f'{node} = robident_ros.ros.{node}:main' for node in NODES)]},
    zip_safe=True,
)
