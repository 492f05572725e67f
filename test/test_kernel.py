"""The batched kernel equals Pinocchio, and its product equals finite differences."""

import numpy as np
import pinocchio as pin
import pytest
from robident_ros.model.kernel import fill_regressor, kinematics_of, regressor_product
from robident_ros.model.parameters import from_pinocchio
from shipped import ROBOTS, shipped

KERNELS = ['numpy', 'numba']
KINDS = ['RX', 'RY', 'RZ', 'PX', 'PY', 'PZ', 'RU', 'PU']
GENERAL = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])


def random_tree(seed: int, joints: int = 7) -> pin.Model:
    """Return a tree with random branches, placements, axes, bodies and gravity."""
    rng = np.random.default_rng(seed)
    model = pin.Model()
    for i in range(joints):
        kind = KINDS[rng.integers(len(KINDS))]
        joint = (getattr(pin, f'JointModel{kind}')() if kind[1] != 'U' else
                 pin.JointModelRevoluteUnaligned(GENERAL) if kind == 'RU' else
                 pin.JointModelPrismaticUnaligned(GENERAL))
        rotation = pin.exp3(rng.normal(size=3))
        parent = int(rng.integers(max(i - 2, 0), i + 1))
        index = model.addJoint(parent, joint, pin.SE3(rotation, rng.normal(size=3)), f'j{i}')
        model.appendBodyToJoint(index, pin.Inertia.Random(), pin.SE3.Identity())
    model.gravity.linear = rng.normal(size=3) * 5
    return model


def models() -> list:
    trees = [pytest.param(random_tree(seed), id=f'tree{seed}') for seed in range(8)]
    return trees + [pytest.param(shipped(name).tree, id=name) for name in ROBOTS]


def evaluate(model: pin.Model, kernel: str, q, v, a) -> np.ndarray:
    if kernel == 'numba':
        pytest.importorskip('numba')
    n, N = q.shape
    W = np.zeros((10 * n, n, N))
    fill_regressor(W, 10 * np.arange(n), kinematics_of(model), q, v, a, kernel)
    return W


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('model', models())
def test_regressor_equals_pinocchios(model: pin.Model, kernel: str) -> None:
    """To 1e-12 of the largest entry, for a number of samples that fills no block exactly."""
    n, N = model.nv, 70
    q, v, a = np.random.default_rng(1).uniform(-2, 2, (3, n, N))
    W = evaluate(model, kernel, q, v, a)
    data = model.createData()
    for k in range(N):
        Y = pin.computeJointTorqueRegressor(model, data, *(x[:, k].copy() for x in (q, v, a)))
        Y = from_pinocchio(Y.reshape(n, n, 10)).reshape(n, 10 * n)
        np.testing.assert_allclose(W[:, :, k].T, Y, atol=1e-12 * np.abs(Y).max())


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('model', models())
def test_product_equals_finite_differences(model: pin.Model, kernel: str) -> None:
    """Central differences with a step of 1e-6 are good to about 1e-9 of the gradient's size."""
    n, N = model.nv, 5
    rng = np.random.default_rng(2)
    motion = rng.uniform(-2, 2, (3, n, N))
    W_bar = rng.normal(size=(10 * n, n, N))
    evaluate(model, kernel, *motion)  # skips where there is no numba
    bars = regressor_product(W_bar, 10 * np.arange(n), kinematics_of(model), *motion, kernel)
    for which, bar in enumerate(bars):
        for joint in range(n):
            step = np.zeros_like(motion)
            step[which, joint] = 1e-6
            difference = (evaluate(model, kernel, *(motion + step))
                          - evaluate(model, kernel, *(motion - step))) / 2e-6
            expected = np.sum(W_bar * difference, axis=(0, 1))
            scale = np.abs(W_bar * difference).sum() + 1
            np.testing.assert_allclose(bar[joint], expected, atol=1e-8 * scale)


@pytest.mark.parametrize('model', models())
def test_both_kernels_agree_over_several_chunks(model: pin.Model) -> None:
    q, v, a = np.random.default_rng(3).uniform(-2, 2, (3, model.nv, 1030))
    numpy_W, numba_W = (evaluate(model, kernel, q, v, a) for kernel in KERNELS)
    np.testing.assert_allclose(numba_W, numpy_W, atol=1e-12 * np.abs(numpy_W).max())


@pytest.mark.parametrize('kernel', KERNELS)
def test_a_sample_that_is_not_a_number_spoils_only_itself(kernel: str) -> None:
    """Nothing is compiled in a way that hides NaN."""
    model = shipped('arm6').tree
    q, v, a = np.random.default_rng(4).uniform(-2, 2, (3, 6, 9))
    clean = evaluate(model, kernel, q, v, a)
    v[2, 4] = np.nan
    W = evaluate(model, kernel, q, v, a)
    assert np.isnan(W[:, :, 4]).any()
    np.testing.assert_array_equal(np.delete(W, 4, axis=2), np.delete(clean, 4, axis=2))


def test_large_angles_are_as_good_as_small_ones() -> None:
    """Continuous joints may turn many times: the reduction of angles is exact."""
    model = shipped('arm6').tree
    q, v, a = np.random.default_rng(5).uniform(-2, 2, (3, 6, 9))
    q = q + 2 * np.pi * np.array([0, 1, -1, 7, 100, -1000, 3, 10000, -20000])
    numpy_W, numba_W = (evaluate(model, kernel, q, v, a) for kernel in KERNELS)
    np.testing.assert_allclose(numba_W, numpy_W, atol=1e-12 * np.abs(numpy_W).max())
