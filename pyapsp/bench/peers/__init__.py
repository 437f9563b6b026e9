"""Other packages that solve the same problems, for comparison if they are installed.

Each is called as its documentation recommends, with the input in its own form. The time to convert
the input to that form is not counted, nor is the time to make a `Graph` for our methods.
"""

from __future__ import annotations

from pyapsp.base.errors import ParameterError
from pyapsp.bench.peers import all_pairs, traversal, trusses
from pyapsp.bench.peers.peer import Peer

__all__ = ["PEERS", "Peer", "installed", "peer"]

PEERS = (*all_pairs.PEERS, *traversal.PEERS, *trusses.PEERS)


def peer(problem: str, name: str) -> Peer:
    """Return the peer of this name for a problem.

    Raises
    ------
    ParameterError
        If there is none.
    """
    peers = [each for each in PEERS if each.problem == problem]
    for each in peers:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in peers) or "none"
    raise ParameterError.of("peers", "bench", f"some of {known}", name)


def installed() -> tuple[Peer, ...]:
    """Return the peers that are installed here."""
    return tuple(each for each in PEERS if each.version is not None)
