"""Approximate subgraph isomorphism: find a query network in a target network.

`match` runs the algorithm APPAGATO. Modules: `network` (labelled networks), `reading` (its authors'
file formats), `experiments` (tools to judge results), `picture` (a drawing of a match).
"""

from pyapsp.matching.matches import Matches
from pyapsp.matching.network import Network
from pyapsp.matching.reading import read_network, read_similarity
from pyapsp.matching.search import match, match_many, probabilities

__all__ = [
    "Matches",
    "Network",
    "match",
    "match_many",
    "probabilities",
    "read_network",
    "read_similarity",
]
