"""Approximate subgraph isomorphism: where a query network is found in a target network.

`match` is the algorithm APPAGATO. `network` has the networks, `reading` the files of its authors,
`experiments` the tools with which results are judged, `picture` the drawing of a match.
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
