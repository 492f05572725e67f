"""Trajectories and robots that the tests of the experiment share."""

from dataclasses import dataclass, replace

import numpy as np
from robident_ros.config import Config
from robident_ros.model.robot import load_robot, Robot
from shipped import ROOT


@dataclass(frozen=True, eq=False)
class Fourier:
    """A finite Fourier series with harmonics 1 … K: periodic, with exact derivatives."""

    joint_names: tuple[str, ...]
    center: np.ndarray
    sines: np.ndarray  # (n, K)
    cosines: np.ndarray
    period: float = 4.0
    is_periodic: bool = True

    def sample(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w = 2 * np.pi / self.period * np.arange(1, self.sines.shape[1] + 1)
        sin, cos = (function(np.outer(t, w)) for function in (np.sin, np.cos))
        return (self.center + sin @ self.sines.T + cos @ self.cosines.T,
                (cos * w) @ self.sines.T - (sin * w) @ self.cosines.T,
                -(sin * w**2) @ self.sines.T - (cos * w**2) @ self.cosines.T)


def random_trajectory(robot: Robot, seed: int = 0, amplitude: float = 0.15,
                      period: float = 4.0) -> Fourier:
    """Three harmonics about the middle of the joints' ranges."""
    rng = np.random.default_rng(seed)
    n = len(robot.joint_names)
    sines, cosines = amplitude * rng.uniform(-1, 1, (2, n, 3)) / np.arange(1, 4)
    return Fourier(robot.joint_names, middle(robot), sines, cosines, period)


def middle(robot: Robot) -> np.ndarray:
    return np.clip(np.zeros(len(robot.joint_names)), robot.limits.lower + 0.5,
                   robot.limits.upper - 0.5)


def configured(name: str, config: Config) -> Robot:
    """Load one of urdf/ with another configuration than its own."""
    return load_robot(ROOT / 'urdf' / f'{name}.urdf', config)


def with_limits(robot: Robot, **limits: list[float]) -> Robot:
    """Return the robot with other limits of its joints."""
    return replace(robot, limits=replace(robot.limits, **{
        key: np.asarray(values, dtype=float) for key, values in limits.items()}))


LINK = """<link name="{name}"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>{shape}</link>"""
ROD = ('<collision><origin xyz="0.25 0 0"/><geometry><box size="0.4 0.04 0.04"/></geometry>'
       '</collision>')
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="4" effort="100"/>{more}</joint>"""


def chain(shapes: tuple[str, ...] = (ROD, ROD, ROD), kinds: tuple[str, ...] | None = None,
          more: tuple[str, ...] | None = None) -> str:
    """Return the URDF of rods of 0.5 m in a row, moving up and down."""
    kinds = kinds or ('revolute',) * len(shapes)
    more = more or ('',) * len(shapes)
    parts = ['<robot name="chain"><link name="base"/>']
    for i, (shape, kind, extra) in enumerate(zip(shapes, kinds, more), start=1):
        parts.append(JOINT.format(name=f'j{i}', kind=kind, parent='base' if i == 1 else
                                  f'l{i - 1}', child=f'l{i}', x=0 if i == 1 else 0.5, more=extra))
        parts.append(LINK.format(name=f'l{i}', shape=shape))
    return ''.join(parts) + '</robot>'
