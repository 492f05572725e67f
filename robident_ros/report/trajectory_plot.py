"""A picture of a trajectory: every joint against its limits, and the path of the tool."""

from pathlib import Path

import numpy as np
from robident_ros.errors import RobidentError
from robident_ros.excitation.single_joint import SingleJointPlan
from robident_ros.excitation.trajectory import Trajectory
from robident_ros.model.points import end_effector, locate
from robident_ros.model.robot import Robot

SAMPLES = 1000
_QUANTITIES = (('position', 'rad', 'm'), ('velocity', 'rad/s', 'm/s'),
               ('acceleration', 'rad/s²', 'm/s²'))


def plot_trajectory(trajectory: Trajectory, robot: Robot, path: str | Path) -> None:
    """Draw position, speed and acceleration with limits per joint, and the tool's path."""
    try:
        import matplotlib
        matplotlib.use('Agg')
        from matplotlib import pyplot
    except ImportError as error:
        raise RobidentError(f'{path}: pictures need matplotlib; pip install matplotlib') from error
    t, motion = _sample(trajectory)
    n = len(robot.joint_names)
    figure = pyplot.figure(figsize=(13, 1.6 * n + 1), layout='constrained')
    grid = figure.add_gridspec(n, 4, width_ratios=(1, 1, 1, 1.3))
    for joint, name in enumerate(robot.joint_names):
        for column in range(3):
            axes = figure.add_subplot(grid[joint, column])
            _draw(axes, t, motion[column][:, joint], _limits(robot, joint)[column])
            _label(axes, robot, joint, column, name)
    _draw_path(figure.add_subplot(grid[:, 3], projection='3d'), robot, motion[0])
    figure.suptitle(f'{robot.name}: exciting trajectory, {t[-1]:.4g} s')
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _sample(trajectory: Trajectory | SingleJointPlan) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return times and q, v, a; the motions of a plan one after the other, gaps between them."""
    if not isinstance(trajectory, SingleJointPlan):
        t = np.linspace(0, trajectory.period, SAMPLES)
        return t, list(trajectory.sample(t))
    times, parts, begin = [], [], 0.0
    for motion in trajectory.motions:
        t = np.linspace(0, motion.period, SAMPLES // 10)
        times += [begin + t, [begin + motion.period]]
        parts.append([np.vstack([values, np.full_like(values[:1], np.nan)])
                      for values in motion.sample(t)])
        begin += motion.period
    return np.concatenate(times), [np.vstack(values) for values in zip(*parts)]


def _limits(robot: Robot, joint: int) -> tuple[tuple[float, float], ...]:
    limits = robot.limits
    return ((limits.lower[joint], limits.upper[joint]),
            (-limits.velocity[joint], limits.velocity[joint]),
            (-limits.acceleration[joint], limits.acceleration[joint]))


def _draw(axes, t: np.ndarray, values: np.ndarray, limits: tuple[float, float]) -> None:
    axes.plot(t, values, color='#0072b2', linewidth=1.4)
    for limit in limits:
        if np.isfinite(limit):
            axes.axhline(limit, color='#d55e00', linewidth=1, linestyle='--')
    axes.margins(x=0)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)


def _label(axes, robot: Robot, joint: int, column: int, name: str) -> None:
    kind, turning, sliding = _QUANTITIES[column]
    prismatic = robot.kinds[robot.tree_joint_names.index(name)] == 'prismatic'
    axes.set_ylabel(f'{name}\n[{sliding if prismatic else turning}]' if column == 0
                    else f'[{sliding if prismatic else turning}]', fontsize=8)
    if joint == 0:
        axes.set_title(f'{kind} (dashed: limit)', fontsize=9)
    if joint == len(robot.joint_names) - 1:
        axes.set_xlabel('time [s]', fontsize=8)


def _draw_path(axes, robot: Robot, q: np.ndarray) -> None:
    place = locate(robot, end_effector(robot, robot.config.workspace.link), q).positions[:, 0]
    axes.plot(*place.T, color='#009e73', linewidth=1.2)
    axes.scatter(*place[0], color='#000000', s=18)
    axes.set_title('path of the tool (dot: start)', fontsize=9)
    for setter, label in zip((axes.set_xlabel, axes.set_ylabel, axes.set_zlabel), 'xyz'):
        setter(f'{label} [m]', fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_box_aspect(np.nanmax(place, axis=0) - np.nanmin(place, axis=0) + 0.05)
