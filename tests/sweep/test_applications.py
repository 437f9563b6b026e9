"""The applications of the paper, and ours, against NumPy and SciPy."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from scipy.integrate import solve_ivp

from pyapsp.errors import ParameterError
from pyapsp.sweep import applications
from pyapsp.sweep.applications import (
    gaussian_filter,
    joint_histogram,
    neural_network,
    ode_ensemble,
    shortest_paths,
)

SCHEMES = ["naive", "interleaved"]


@pytest.mark.every(2)
@pytest.mark.long_loops
@pytest.mark.parametrize("scheme", SCHEMES)
def test_neural_network(scheme, device):
    arrays = neural_network.inputs(37)
    scores = neural_network.sweep(device=device, scheme=scheme)(**arrays)["scores"]
    expected = neural_network.reference(arrays)["scores"]
    assert expected.std() > 0.2
    np.testing.assert_allclose(scores, expected, atol=2e-5)


@pytest.mark.every(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("staging", [False, True])
def test_shortest_paths(staging, scheme, device):
    arrays = shortest_paths.inputs(101, degree=3)
    # no way leads back to where these come from
    arrays["heads"][arrays["heads"] < 4] = 50
    sweep = shortest_paths.sweep(101, 303, device=device, scheme=scheme, staging=staging)
    costs = sweep(101, **arrays)["costs"]
    np.testing.assert_array_equal(costs, shortest_paths.reference(arrays, 101)["costs"])
    assert (costs == shortest_paths.INFINITY).any()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_joint_histogram(scheme, device):
    shape, bins = (3, 11, 35), 64
    arrays = joint_histogram.inputs(20, shape, bins)
    arrays["moving"][5] = 60000  # counted with the largest
    histogram = joint_histogram.sweep(shape, bins, device=device, scheme=scheme)(**arrays)
    expected = joint_histogram.reference(arrays, bins)["histogram"]
    np.testing.assert_array_equal(histogram["histogram"], expected)
    assert (expected.sum((1, 2)) == np.prod(shape)).all()


@pytest.mark.every(2)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_gaussian_filter(scheme, device):
    arrays = gaussian_filter.inputs(18, (21, 40))
    result = gaussian_filter.sweep((21, 40), device=device, scheme=scheme)(**arrays)["result"]
    np.testing.assert_allclose(result, gaussian_filter.reference(arrays)["result"], atol=1e-6)


def test_coefficients_of_the_gaussian_filter_are_a_bell():
    radius = gaussian_filter.RADIUS
    point = np.zeros(2 * radius + 1)
    point[radius] = 1
    bell = ndimage.gaussian_filter1d(point, radius / 3, radius=radius)
    found = gaussian_filter.inputs(1, (3, 3))["coefficients"]
    np.testing.assert_allclose(found, bell, rtol=1e-6)


@pytest.mark.every(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", ode_ensemble.METHODS)
@pytest.mark.parametrize("system", ode_ensemble.SYSTEMS)
def test_trajectories(system, method, scheme, device):
    times = (0.5, 0.7, 1.4)
    arrays = ode_ensemble.inputs(system, 21, times=times, steps=1500, tolerances=(1e-9, 1e-9))
    options = {"dtype": "float64", "device": device, "scheme": scheme}
    found = ode_ensemble.sweep(system, method, samples=2, **options)(**arrays)
    for task in (0, 10, 20):
        parameters = arrays["parameters"][task]
        exact = solve_ivp(
            lambda t, y, p=parameters: ode_ensemble.right_hand_side(system, y, p),
            (times[0], times[-1]),
            arrays["start"][task],
            t_eval=times[1:],
            method="DOP853",
            rtol=1e-12,
            atol=1e-12,
        )
        np.testing.assert_allclose(found["states"][task], exact.y.T, rtol=1e-5, atol=1e-5)
    if method == "rk4":
        assert (found["evaluations"] == 4 * 2 * 1500).all()
    else:
        assert (found["evaluations"] > 50).all()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_errors_fall_with_tolerances_and_steps(scheme, device):
    def error(method, **arguments):
        options = {"dtype": "float64", "device": device, "scheme": scheme}
        arrays = ode_ensemble.inputs("van-der-pol", 20, **arguments)
        exact = arrays | {"steps": 10**6, "tolerances": [1e-13, 1e-13]}
        [first, second] = (
            ode_ensemble.sweep("van-der-pol", name, **options)(**each)["states"]
            for name, each in ((method, arrays), ("dopri5", exact))
        )
        return np.abs(first - second).max()

    # order 4: half of the step, a sixteenth of the error
    assert error("rk4", steps=100) / error("rk4", steps=200) == pytest.approx(16, rel=0.2)
    errors = [error("dopri5", steps=10**6, tolerances=(t, t)) for t in (1e-4, 1e-7, 1e-10)]
    assert errors[0] > 100 * errors[1] > 10**4 * errors[2]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_trajectory_that_takes_too_many_steps_is_not_a_number(scheme, device):
    arrays = ode_ensemble.inputs("lorenz", 19, times=(0.0, 0.001, 5.0), steps=30)
    sweep = ode_ensemble.sweep("lorenz", samples=2, device=device, scheme=scheme)
    found = sweep(**arrays)
    assert (found["evaluations"] == -1).any()
    failed = found["evaluations"] == -1
    assert np.isnan(found["states"][failed, 1]).all()
    assert np.isfinite(found["states"][:, 0]).all()
    assert np.isfinite(found["states"][~failed]).all()


def test_trajectories_that_end_at_different_times_share_a_vector(device):
    arrays = ode_ensemble.inputs("van-der-pol", 16, steps=10**6)
    # one lane needs many steps, its neighbours few
    arrays["parameters"][3] = 200
    options = {"dtype": "float32", "device": device}
    one, two = (
        ode_ensemble.sweep("van-der-pol", scheme=scheme, **options)(**arrays) for scheme in SCHEMES
    )
    assert one["evaluations"][3] > 3 * np.median(one["evaluations"])
    np.testing.assert_allclose(one["states"], two["states"], atol=1e-4)
    assert np.abs(one["evaluations"] - two["evaluations"]).max() <= 0.1 * one["evaluations"].max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rossler",), "'system' .* one of lorenz, van-der-pol"),
        (("lorenz", "euler"), "'method' .* one of rk4, dopri5"),
    ],
)
def test_what_there_is_not(arguments, message):
    with pytest.raises(ParameterError, match=message):
        ode_ensemble.sweep(*arguments)
    with pytest.raises(ParameterError, match=r"'dtype' .* float32 or float64"):
        ode_ensemble.sweep("lorenz", dtype="int32")


# A sweep, its arguments, and how many bytes of the device some of its tasks take.
LARGE = {
    "NN": (neural_network.sweep, (), neural_network.inputs(40), None, 800_000),
    "APSP": (shortest_paths.sweep, (64, 256), shortest_paths.inputs(64), 64, 20_000),
    "JH": (
        joint_histogram.sweep,
        ((2, 8, 8), 16),
        joint_histogram.inputs(40, (2, 8, 8), 16),
        None,
        50_000,
    ),
    "GF": (gaussian_filter.sweep, ((9, 9),), gaussian_filter.inputs(40, (9, 9)), None, 30_000),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", LARGE)
def test_more_than_fits_is_done_in_slices(name, scheme, device):
    make, shape, arrays, tasks, limit = LARGE[name]
    options = {"device": device, "scheme": scheme}
    whole = make(*shape, **options)(tasks, **arrays)
    sliced = make(*shape, **options, memory_limit=limit)(tasks, **arrays)
    assert whole.slices == 1 < sliced.slices
    assert sliced.device_bytes <= limit < whole.device_bytes
    same = sliced.lanes == whole.lanes  # another number of lanes is other code, which may round
    tolerance = 0 if same else 1e-5
    for output in whole:
        np.testing.assert_allclose(sliced[output], whole[output], rtol=tolerance, atol=tolerance)


def kinds(sweep, tasks=None, **arrays):
    """Return whether accesses are similar, and continuous, by step and array."""
    return {
        (each.step, each.array): (each.similarity > 0.5, each.continuity > 0.5)
        for each in sweep.analyse(tasks, **arrays)
    }


# Similarity and continuity of accesses, as the paper's table II has them.


def test_accesses_of_the_neural_network(device):
    found = kinds(neural_network.sweep(device=device), **neural_network.inputs(32))
    assert found["first_layer", "image"] == (True, False)
    assert found["third_layer", "small"] == (True, False)
    assert found["third_layer", "weights3"] == (True, False)


def test_accesses_of_shortest_paths(device):
    sweep = shortest_paths.sweep(64, 256, device=device)
    found = kinds(sweep, 64, **shortest_paths.inputs(64))
    assert found["scatter", "modified"] == found["check", "costs"] == (True, True)
    assert not found["scatter", "heads"][1]
    assert not found["scatter", "offers"][1]


def test_accesses_of_the_joint_histogram(device):
    shape, bins = (2, 16, 64), 128
    arrays = joint_histogram.inputs(32, shape, bins)
    found = kinds(joint_histogram.sweep(shape, bins, device=device), **arrays)
    assert found["count", "moving"] == found["count", "reference"] == (True, True)
    assert found["count", "histogram"] == (False, False)


def test_accesses_of_the_gaussian_filter(device):
    arrays = gaussian_filter.inputs(32, (40, 256))
    found = kinds(gaussian_filter.sweep((40, 256), device=device), **arrays)
    assert found["along_rows", "image"] == found["along_columns", "rows"] == (True, True)


def test_applications_use_the_public_names_only():
    for path in Path(applications.__file__).parent.glob("*.py"):
        imported = [
            node.module
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyapsp")
        ]
        allowed = {"pyapsp.sweep", "pyapsp.sweep.applications", "pyapsp.base.errors"}
        assert set(imported) <= allowed, path.name
