"""Speed and memory of regressors and base parameters."""

from functools import cache
from pathlib import Path

from harness import benchmark, cpu_seconds, Figure, in_child
import numpy as np
import pinocchio as pin
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import torque_regressor
from robident_ros.model.robot import load_robot

URDF = Path(__file__).parents[1] / 'urdf'
SAMPLES = 100_000
LOOP = 'Python loop over pinocchio.computeJointTorqueRegressor'


@cache
def _arm():
    return load_robot(URDF / 'arm6.urdf')


@cache
def _samples() -> np.ndarray:
    return np.random.default_rng(0).uniform(-2, 2, (3, SAMPLES, 6))


@cache
def _loop_seconds() -> float:
    """Fill an array of the same size, in the layout that suits the loop best."""
    model, (q, v, a) = _arm().tree, _samples()
    data = model.createData()
    W = np.zeros((SAMPLES, 6, len(_arm().parameters)))

    def loop() -> None:
        for k in range(SAMPLES):
            W[k, :, :60] = pin.computeJointTorqueRegressor(model, data, q[k], v[k], a[k])
    return cpu_seconds(loop, repeats=2)


def _regressor(kernel: str, target: float) -> Figure:
    W = torque_regressor(_arm(), *_samples(), kernel)  # compiles, and allocates once for all
    seconds = cpu_seconds(lambda: torque_regressor(_arm(), *_samples(), kernel, W))
    return Figure(seconds, 's', _loop_seconds(), LOOP, target)


@benchmark('regressor')
def regressor() -> Figure:
    """Torque regressor with drive columns, 100,000 samples, 6 joints, numpy alone."""
    return _regressor('numpy', 0.9)


@benchmark('regressor_numba')
def regressor_numba() -> Figure:
    """Measure the same with numba, compilation apart."""
    return _regressor('numba', 0.15)


MEMORY = f"""
import numpy as np
from robident_ros.model.regressor import torque_regressor, torque_regressor_chunks
from robident_ros.model.robot import load_robot
robot = load_robot({str(URDF / 'arm6.urdf')!r})
q, v, a = np.random.default_rng(0).uniform(-2, 2, (3, {{samples}}, 6))
before = peak_mb()
{{work}}
print(json.dumps({{{{'grown': peak_mb() - before, 'result': {{result}}}}}}))
"""


@benchmark('regressor_extra_mb')
def regressor_extra_mb() -> Figure:
    """Peak memory beyond the result itself."""
    figures = in_child(MEMORY.format(
        samples=SAMPLES, result='W.nbytes / 2**20',
        work='W = torque_regressor(robot, q, v, a, "numpy")'))
    return Figure(figures['grown'] - figures['result'], 'MB', target=200)


@benchmark('regressor_chunks_mb')
def regressor_chunks_mb() -> Figure:
    """Peak memory of iterating over a million samples, whose whole regressor has four GB."""
    work = 'for _, W in torque_regressor_chunks(robot, q, v, a, use="numpy"): pass'
    figures = in_child(MEMORY.format(samples=10 * SAMPLES, work=work, result='0'))
    return Figure(figures['grown'], 'MB', target=200)


@benchmark('base_parameters')
def base_parameters_seconds() -> Figure:
    """Find the base parameters of a seven-joint robot, after import."""
    robot = load_robot(URDF / 'arm7.urdf')
    return Figure(cpu_seconds(lambda: base_parameters(robot), repeats=1), 's', target=0.15)
