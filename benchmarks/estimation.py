"""
Identification of a long recording: one million samples of seven joints.

The whole way from samples to the consistent estimate runs in a process of its own, which reports
CPU time by stage and its largest resident size. Baseline: the regressor of all samples held in
memory and numpy.linalg.lstsq on it, on a fifth of the samples, its time and memory times five.
"""

from functools import cache

from harness import benchmark, Figure, in_child

SAMPLES, SHARE = 1_000_000, 5

SETUP = """
import time
import numpy as np
from robident_ros.model.base import base_parameters
from robident_ros.model.regressor import stack, torque_regressor, torque_regressor_chunks
from robident_ros.model.robot import load_robot
from robident_ros.processing.parallel_filter import ParallelFilter
from robident_ros.processing.process import Samples
from robident_ros.share import share_path

robot = load_robot(share_path() / 'urdf' / 'arm7.urdf')
base, n = base_parameters(robot), 7
rng = np.random.default_rng(0)
t = np.arange({samples}) * 1e-3
q, v, a = (np.zeros(({samples}, n)) for _ in range(3))
for j in range(n):
    for k in range(5):
        w = 2 * np.pi * (0.1 * (k + 1) + 0.003 * rng.random())
        A, phase = rng.normal(), 6 * rng.random()
        q[:, j] += 0.5 * A / w * np.sin(w * t + phase)
        v[:, j] += 0.5 * A * np.cos(w * t + phase)
        a[:, j] -= 0.5 * A * w * np.sin(w * t + phase)
theta = np.array(robot.theta)
theta[robot.drive_columns] = 0.5
torque_regressor(robot, q[:100], v[:100], a[:100])  # compile, or load what is compiled
tau = np.empty_like(q)
for part, W in torque_regressor_chunks(robot, q, v, a):
    tau[part] = (W @ theta).T
tau += 0.05 * tau.std(axis=0) * rng.normal(size=tau.shape)

def clock(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start
"""

OURS = SETUP + """
from robident_ros.estimation.compress import compress
from robident_ros.estimation.identify import identify
from robident_ros.estimation.information import combine
from robident_ros.estimation.prior import make_prior
from robident_ros.estimation.solution import Setting, solve_base, solve_consistent, solve_near
from robident_ros.config import EstimatorOptions

samples = Samples(t, q, v, a, tau, robot.joint_names, 1e3,
                  ParallelFilter(np.ones(1), np.arange(len(t)), len(t)), np.ones(tau.shape),
                  np.full(n, np.nan), 100.0)
del t, q, v, a, tau
result, seconds = clock(identify, [samples], robot)
peak = peak_mb()
start = time.process_time()
for _ in torque_regressor_chunks(robot, samples.q, samples.v, samples.a):
    pass
regressor = time.process_time() - start
parts, compression = clock(compress, samples, robot, base)
none = np.zeros(n, dtype=bool)
setting = Setting(robot, base, make_prior(robot), EstimatorOptions(), none, none)
solution, base_seconds = clock(solve_base, combine(parts), setting)
consistent, consistent_seconds = clock(solve_consistent, solution, setting)
near, near_seconds = clock(solve_near, solution, setting, 1.0)
error = np.abs(base.K @ consistent.theta - base.K @ theta).max()
print(json.dumps(dict(seconds=seconds, peak_mb=peak, regressor=regressor,
                      compression=compression, base=base_seconds,
                      consistent=consistent_seconds, near=near_seconds, error=error)))
"""

LSTSQ = SETUP + """
start = time.process_time()
W = np.concatenate([stack(W[..., base.kept]) for _, W in torque_regressor_chunks(robot, q, v, a)])
y = np.concatenate([tau[part].T.ravel() for part, _ in torque_regressor_chunks(robot, q, v, a)])
np.linalg.lstsq(W, y, rcond=None)
print(json.dumps(dict(seconds=time.process_time() - start, peak_mb=peak_mb())))
"""


@cache
def _ours() -> dict:
    return in_child(OURS.replace('{samples}', str(SAMPLES)))


@cache
def _baseline() -> dict:
    found = in_child(LSTSQ.replace('{samples}', str(SAMPLES // SHARE)))
    return {key: SHARE * value for key, value in found.items()}


def _figure(value: float, unit: str, key: str, target: float | None = None) -> Figure:
    return Figure(value, unit, _baseline()[key], 'W in memory and lstsq (a fifth, times five)',
                  target, of_ratio=False)


@benchmark('long_identification_peak_mb')
def long_identification_peak_mb() -> Figure:
    """Peak memory from samples to the consistent estimate."""
    return _figure(_ours()['peak_mb'], 'MB', 'peak_mb', 1000)


@benchmark('long_identification')
def long_identification() -> Figure:
    """CPU time of the whole identification, cross-validation and residuals included."""
    return _figure(_ours()['seconds'], 's', 'seconds')


@benchmark('long_compression')
def long_compression() -> Figure:
    """CPU time of regressor and QR."""
    return _figure(_ours()['compression'], 's', 'seconds')


@benchmark('long_regressor')
def long_regressor() -> Figure:
    """CPU time of the regressor alone."""
    return Figure(_ours()['regressor'], 's')


@benchmark('base_estimate')
def base_estimate() -> Figure:
    """CPU time of the base parameters from compressed data."""
    return Figure(_ours()['base'], 's', target=1.0)


@benchmark('consistent_estimate')
def consistent_estimate() -> Figure:
    """CPU time of the consistent estimate from compressed data, its weight chosen."""
    return Figure(_ours()['consistent'], 's', target=1.0)


@benchmark('essential_estimate')
def essential_estimate() -> Figure:
    """CPU time of essential and CAD-closest parameters from compressed data."""
    return Figure(_ours()['near'], 's', target=1.0)
