"""All phases of matching: against the reference."""

import numpy as np

from pyapsp.matching import Network, match_many

random = np.random.default_rng(0)
target = Network.from_edges(random.integers(0, 40, (70, 2)), random.integers(0, 3, 40))
queries = [
    Network.from_edges(random.integers(0, n, (2 * n, 2)), random.integers(0, 4, n))
    for n in (1, 7, 35)
]
given = [random.random((each.n, 40)) * (random.random((each.n, 40)) < 0.3) for each in queries]
for similarity in (None, given):
    for options in ({}, {"levels": 4, "strict": True}, {"published": True}):
        options = {"matches": 3, "rounds": 2, "similarity": similarity, **options}
        found = match_many(queries, target, **options)
        expected = match_many(queries, target, method="reference", **options)
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one.partners, other.partners)
            assert np.array_equal(one.units, other.units)
