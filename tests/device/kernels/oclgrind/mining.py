"""Invariants in every mapping, of numbers and Booleans: against algorithm 17 in NumPy."""

import numpy as np

from pyapsp.mining import Trace, mine
from pyapsp.mining.sequential import loop

random = np.random.default_rng(0)
x = random.integers(1, 9, 700).astype(np.float32)
p, q = x > 4, random.random(700) < 0.5
trace = Trace.of({"x": x, "y": x + 1, "z": x * 2, "p": p, "q": q, "r": p & q, "s": ~p})
right = sorted(loop(trace, "II"))
for mapping in ("slab", "entry", "item"):
    for early in (True, False):
        for group in (1, 8):
            options = {"mapping": mapping, "early_exit": early, "group": group, "slab": 512}
            assert sorted(mine(trace, "II", **options)) == right
