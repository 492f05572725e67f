"""Where the package's own robots and configurations lie."""

from pathlib import Path

PACKAGE = 'robident_ros'


def share_path() -> Path:
    """
    Return the folder that holds ``urdf/``, ``config/`` and ``launch/``.

    That is the source tree, or ``share/robident_ros`` of whatever prefix (virtual environment,
    colcon workspace, /opt/ros) the package is installed in.
    """
    here = Path(__file__).resolve()
    for parent in here.parents:
        for folder in (parent, parent / 'share' / PACKAGE):
            if (folder / 'package.xml').is_file() and (folder / 'urdf').is_dir():
                return folder
    raise FileNotFoundError(f'the data files of {PACKAGE} are not installed beside {here}')
