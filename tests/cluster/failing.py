"""What each rank runs: one of them raises an error at each collective operation of a call.

``mpiexec -n P python failing.py CALL`` prints how many errors there were, on rank 0. Every rank
must get an error within `SECONDS`, and the next call must be as if nothing had happened.
"""

from __future__ import annotations

import sys
import tempfile
import time

import numpy as np
from mpi4py import MPI

import pyapsp
from pyapsp.cluster import measure, rates
from pyapsp.cluster.ranks import Ranks
from pyapsp.errors import RankError
from pyapsp.graph import generators

COMM = MPI.COMM_WORLD
SECONDS = 10.0
# Each rank fails at each of the first operations, with which ranks join; then they take turns.
FIRST = 7
BLOCKING = ("Dup", "allgather", "bcast", "Barrier", "Bcast")
COLLECTIVE = (*BLOCKING, "Idup", "Ibarrier", "Ibcast", "Iallgather", "Iallgatherv")
GRAPH = generators.random_graph(40, 160, seed=1)
MATRICES = np.random.default_rng(2).random((6, 9, 9))


class Watched:
    """A communicator that counts collective operations, and raises an error at one of them."""

    begun: list[str] = []  # noqa: RUF012
    at: int | None = None
    kind: type[BaseException] = RuntimeError

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm = comm

    def __getattr__(self, name: str):
        found = getattr(self._comm, name)
        if name not in COLLECTIVE:
            return found

        def call(*arguments, **options):
            Watched.begun.append(name)
            if len(Watched.begun) - 1 == Watched.at:
                raise Watched.kind(f"no {name}")
            made = found(*arguments, **options)
            if name == "Idup":
                return Watched(made[0]), made[1]
            return Watched(made) if name == "Dup" else made

        return call


def measured(comm) -> None:
    with Ranks(comm, "measured") as ranks:
        rates.measured(ranks, 64, np.dtype(np.float32), None, tempfile.gettempdir())


CALLS = {
    "dense": lambda comm: pyapsp.solve(
        GRAPH, pyapsp.method("fw-outofcore", block=32), comm=comm, predecessors=True
    ),
    "sparse": lambda comm: pyapsp.solve(GRAPH, "near-far", comm=comm),
    "summary": lambda comm: pyapsp.diameter(GRAPH, comm=comm),
    "query": lambda comm: pyapsp.reach(GRAPH, cutoff=3, comm=comm),
    "betweenness": lambda comm: pyapsp.betweenness_centrality(GRAPH, comm=comm),
    "batch": lambda comm: pyapsp.solve_many(MATRICES, comm=comm),
    "rates": measured,
}


def outcome(call) -> BaseException | None:
    """Return the error of a call, which must come soon."""
    started, error = time.monotonic(), None
    try:
        call(Watched(COMM))
    except (Exception, KeyboardInterrupt) as found:
        error = found
    taken = time.monotonic() - started
    assert taken < SECONDS, f"{taken:.1f} s for {error!r}"
    return error


def check(victim: int, place: int, kind: type[BaseException]) -> bool:
    """Raise an error at an operation of a rank; return False if it had fewer operations."""
    Watched.begun.clear()
    Watched.at, Watched.kind = (place if COMM.rank == victim else None), kind
    error = outcome(call)
    said = None if error is None else str(error)
    said = COMM.bcast(said, victim)  # how many broadcasts a batch has depends on who solved what
    if said is None:
        assert error is None, repr(error)
    elif COMM.rank == victim:
        assert type(error) is kind, repr(error)
    else:
        assert isinstance(error, RankError), repr(error)
        assert (error.rank, error.kind, error.cause) == (victim, kind.__name__, said), repr(error)
    return said is not None


errors = 0
name = sys.argv[1]
call = CALLS[name]
measure._SAMPLE = rates.disk_of.__globals__["_WRITTEN"] = 2**16
assert outcome(call) is None  # also what is done once, as building kernels
Watched.begun.clear()
assert outcome(call) is None
begun = COMM.allgather(list(Watched.begun))
for place in range(max(map(len, begun))):
    for victim in range(COMM.size) if place < FIRST else [place % COMM.size]:
        errors += check(victim, place, KeyboardInterrupt if place % 4 == 1 else RuntimeError)
Watched.at = None
assert outcome(call) is None
if COMM.rank == 0:
    kinds = sorted(set(begun[0]))
    print(f"raised {errors} at {' '.join(kinds)}")
