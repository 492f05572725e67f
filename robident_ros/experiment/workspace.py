"""The workspace: a box that one frame of the robot must not leave."""

from functools import cached_property

import numpy as np
import pinocchio as pin
from robident_ros.config import WorkspaceOptions
from robident_ros.errors import ConfigError, did_you_mean
from robident_ros.model.robot import Robot


class Workspace:
    """Bounds of a frame's origin in the root frame, in m; without any it is not watched."""

    def __init__(self, robot: Robot, options: WorkspaceOptions) -> None:
        self._robot = robot
        self.frame = options.frame
        self.lower = _corner(options.lower, -np.inf, 'lower')
        self.upper = _corner(options.upper, np.inf, 'upper')
        if options.floor is not None:
            self.lower[2] = max(self.lower[2], options.floor)
        for axis, low, high in zip('xyz', self.lower, self.upper):
            if low > high:
                raise ConfigError(f'experiment: envelope: workspace: lower {axis} {low} is above '
                                  f'upper {axis} {high}')
        if self.frame is None and np.isfinite([*self.lower, *self.upper]).any():
            raise ConfigError('experiment: envelope: workspace: frame: is missing; name the link '
                              'that is watched')
        if self.frame is not None and not robot.tree.existFrame(self.frame):
            known = [frame.name for frame in robot.tree.frames]
            raise ConfigError(f'experiment: envelope: workspace: frame: there is no '
                              f'{self.frame!r}, {did_you_mean(self.frame, known)}')

    @cached_property
    def _frame_id(self) -> int:
        return self._robot.tree.getFrameId(self.frame)

    @cached_property
    def _data(self) -> pin.Data:
        return self._robot.tree.createData()

    def position(self, q: np.ndarray) -> np.ndarray:
        """Return x, y, z of the frame's origin at one position of the active joints."""
        tree, joint_map = self._robot.tree, self._robot.joint_map
        pin.forwardKinematics(tree, self._data, joint_map.G @ q + joint_map.c)
        return pin.updateFramePlacement(tree, self._data, self._frame_id).translation


def _corner(values: tuple[float, ...] | None, default: float, key: str) -> np.ndarray:
    if values is None:
        return np.full(3, default)
    if len(values) != 3:
        raise ConfigError(f'experiment: envelope: workspace: {key}: has {len(values)} numbers, '
                          'expected three (x, y, z)')
    return np.array(values)
