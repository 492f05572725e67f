"""The workspace of one measured position: fast, where the excitation stage has it batched."""

import numpy as np
import pinocchio as pin
from robident_ros.excitation.constraints import is_limited, workspace_box
from robident_ros.model.points import end_effector
from robident_ros.model.robot import Robot


class Workspace:
    """Where the watched link of a robot's configuration may be, in the root frame, in m."""

    def __init__(self, robot: Robot) -> None:
        options = robot.config.workspace
        self._robot, self._data = robot, robot.tree.createData()
        self.is_limited = is_limited(options)
        self._lower, self._upper = workspace_box(options)
        self._radius, self._height = options.keep_out_radius, options.keep_out_height
        if self.is_limited:
            point = end_effector(robot, options.link)
            self._joint, self._local = int(point.joints[0]) + 1, point.local[0]

    def position(self, q: np.ndarray) -> np.ndarray:
        """Return x, y, z of the watched link's origin at one position of the active joints."""
        joint_map = self._robot.joint_map
        pin.forwardKinematics(self._robot.tree, self._data, joint_map.G @ q + joint_map.c)
        return self._data.oMi[self._joint].act(self._local)

    def violation(self, q: np.ndarray) -> tuple[str, float, float] | None:
        """Return the coordinate that is outside, its value and its bound; None inside."""
        place = self.position(q)
        for axis, value, lower, upper in zip('xyz', place, self._lower, self._upper):
            if not lower <= value <= upper:
                return axis, float(value), float(lower if value < lower else upper)
        if self._radius is not None and place[2] < self._height:
            radius = float(np.hypot(place[0], place[1]))
            if radius < self._radius:
                return 'distance from the z axis', radius, self._radius
        return None
