"""The entrance of the argument ``comm``: importing this module registers what runs on ranks."""

from pyapsp.cluster.batches import solve_each_on_ranks, solve_many_on_ranks
from pyapsp.cluster.searches import summary_on_ranks
from pyapsp.cluster.solve import solve_on_ranks
from pyapsp.cluster.sources import on_sources

__all__ = [
    "on_sources",
    "solve_each_on_ranks",
    "solve_many_on_ranks",
    "solve_on_ranks",
    "summary_on_ranks",
]
