"""Networks as those of proteins on which [B] chapter 21 measures cuRnet.

The networks themselves are from the STRING database, and not here. A network of interactions has
weighted edges with a heavy-tailed number for each protein; with a higher threshold of the score
there are fewer edges, about as many for each protein as in the human network. The human, zebrafish
and maize networks are alike in the text, so there is one.

A network of homologues has an arc from each protein to the best hit in every other species. Here a
protein of a species belongs to a family, and its best hit is the one of the same family, if this
species has it, or a random protein.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers import shapes

__all__ = ["SPECIES", "THRESHOLDS", "homologues", "interactions"]

_SEED = 21
#: Threshold of the score -> mean number of neighbours.
THRESHOLDS = {0: 384.0, 200: 96.0, 900: 24.0}
# The deviation of degrees over their mean.
_SPREAD = 1.2
#: Numbers of species; the largest is that of the thesis.
SPECIES = (8, 32, 114)
# How often a species has a family, and how often a hit is a random one.
_HAS, _STRAY = 0.8, 0.02


def interactions(n: int, threshold: int) -> pd.DataFrame:
    """Return the edges of a network of n proteins, each once, with whole weights in 1..100."""
    mean = min(THRESHOLDS[threshold], n / 8)
    tails, heads, _ = shapes.skewed(n, mean, _SPREAD * mean, _SEED)
    ring = np.arange(n)
    tails, heads = np.concatenate([tails, ring]), np.concatenate([heads, np.roll(ring, 1)])
    ends = np.sort(np.stack([tails, heads], axis=1)[tails != heads], axis=1)
    ends = np.unique(ends, axis=0)
    weights = np.random.default_rng(_SEED).integers(1, 101, len(ends))
    return pd.DataFrame({"source": ends[:, 0], "target": ends[:, 1], "weight": weights})


def homologues(n: int, species: int) -> pd.DataFrame:
    """Return the arcs of a network of these species; the one of the most has about n proteins."""
    families = max(round(n / SPECIES[-1] / _HAS), 2)
    rng = np.random.default_rng(_SEED)
    has = rng.random((species, families)) < _HAS
    has[:, 0] = True
    numbers = np.cumsum(has.ravel()).reshape(has.shape) - 1
    tails, heads = [], []
    for other in range(species):
        of, family = np.nonzero(has)
        out = (of != other) & (has[other, family] | (rng.random(of.size) < _STRAY))
        hits = np.where(has[other, family], numbers[other, family], numbers[other, 0])
        tails.append(numbers[of, family][out])
        heads.append(hits[out])
    return pd.DataFrame({"source": np.concatenate(tails), "target": np.concatenate(heads)})
