"""The robots of urdf/ as tests use them, and where reference data lie."""

from functools import cache
from pathlib import Path

import numpy as np
from robident_ros.config import load_config
from robident_ros.model.robot import load_robot, Robot

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / 'shared'
ROBOTS = sorted(path.stem for path in (ROOT / 'urdf').glob('*.urdf'))


@cache
def shipped(name: str) -> Robot:
    """Return a robot of urdf/, with its configuration where there is one."""
    config = ROOT / 'config' / f'{name}.yaml'
    return load_robot(ROOT / 'urdf' / f'{name}.urdf',
                      load_config(config if config.is_file() else None))


def random_samples(robot: Robot, count: int, seed: int = 0) -> np.ndarray:
    """Return random q, v, a, each (count, n)."""
    return np.random.default_rng(seed).uniform(-2, 2, (3, count, len(robot.joint_names)))
