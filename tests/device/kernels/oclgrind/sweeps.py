"""Sweeps in both schemes: against their references."""

import numpy as np

from pyapsp.sweep.applications import (
    gaussian_filter,
    joint_histogram,
    neural_network,
    ode_ensemble,
    shortest_paths,
)

for scheme in ("naive", "interleaved"):
    for staging in (False, True):
        options = {"scheme": scheme, "staging": staging, "lanes": 8}
        arrays = shortest_paths.inputs(37)
        costs = shortest_paths.sweep(37, 148, **options)(37, **arrays)["costs"]
        assert np.array_equal(costs, shortest_paths.reference(arrays, 37)["costs"])
        arrays = gaussian_filter.inputs(11, (9, 19))
        result = gaussian_filter.sweep((9, 19), **options)(**arrays)["result"]
        assert np.allclose(result, gaussian_filter.reference(arrays)["result"], atol=1e-6)
    arrays = neural_network.inputs(9)
    scores = neural_network.sweep(**options)(**arrays)["scores"]
    assert np.allclose(scores, neural_network.reference(arrays)["scores"], atol=1e-4)
    arrays = joint_histogram.inputs(9, (2, 5, 7), 16)
    counts = joint_histogram.sweep((2, 5, 7), 16, **options)(**arrays)["histogram"]
    assert np.array_equal(counts, joint_histogram.reference(arrays, 16)["histogram"])
    for system in ode_ensemble.SYSTEMS:
        for method in ode_ensemble.METHODS:
            arrays = ode_ensemble.inputs(system, 11, steps=60)
            sweep = ode_ensemble.sweep(system, method, dtype="float64", **options)
            assert np.isfinite(sweep(**arrays)["states"]).all()
arrays = shortest_paths.inputs(37)
assert shortest_paths.sweep(37, 148).analyse(37, **arrays)
