"""Broadcasts between ranks on one host, through memory that they share.

Libraries of MPI move a broadcast in small pieces, each when all ranks call the library, so that its
speed depends on how often they do. Here the root copies a piece into shared memory, and the others
copy it from there; MPI is used only to synchronise. There are two slots: a slot is reused when all
ranks have passed the barrier after their copies.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING

import numpy as np

from pyapsp.base import host
from pyapsp.cluster.leftovers import FOLDER

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["LEAST", "Broadcast", "Window"]

#: Bytes from which a broadcast goes through shared memory.
LEAST = 2**18

# Bytes of a slot.
_SLOT = 2**26


class Window:
    """Shared memory of all ranks of a communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        All ranks are on this host. Used for nothing else.
    slots : (2, k) uint8 ndarray
    """

    def __init__(self, comm: MPI.Comm, slots: np.ndarray) -> None:
        self._comm, self._slots = comm, slots
        self._barriers: list[MPI.Request | None] = [None, None]
        self._tokens: list[tuple[MPI.Request, np.ndarray]] = []
        self._turn = 0

    @classmethod
    def opened(
        cls,
        comm: MPI.Comm,
        share: Callable[[str], str],
        everywhere: Callable[[bool], list[bool]],
    ) -> Window | None:
        """Return a new window on all ranks; None on all if there is no such memory.

        The file has no name any more when this returns, so that nothing is left of it.

        Parameters
        ----------
        comm : mpi4py.MPI.Comm
        share, everywhere : callable
            As `Ranks.share` and `Ranks.all`.
        """
        first, name = comm.Get_rank() == 0, ""
        if first:
            with suppress(OSError):
                descriptor, name = mkstemp(prefix="pyapsp-", dir=FOLDER)
                try:
                    os.posix_fallocate(descriptor, 0, 2 * _SLOT)
                except OSError:
                    os.unlink(name)
                    name = ""
                finally:
                    os.close(descriptor)
        try:
            name, slots = share(name), None
            with suppress(OSError):
                if name:
                    with open(name, "r+b") as file:
                        memory = mmap.mmap(file.fileno(), 2 * _SLOT)
                    slots = np.frombuffer(memory, np.uint8).reshape(2, _SLOT)
            everywhere_open = all(everywhere(slots is not None))
        finally:
            if first and name:
                Path(name).unlink(missing_ok=True)
        return cls(comm, slots) if everywhere_open and slots is not None else None

    def start(self, memory: np.ndarray, root: int) -> Broadcast:
        """Start the broadcast of a flat array of bytes. One ends before the next is started."""
        return Broadcast(self, memory, root)

    def progress(self) -> None:
        """Let MPI work on what is under way."""
        for each in self._barriers:
            if each is not None:
                each.Test()
        self._tokens = [each for each in self._tokens if not each[0].Test()]

    def _free(self) -> np.ndarray | None:
        """Return the next slot, None if a rank still copies from it."""
        place = self._turn % 2
        barrier = self._barriers[place]
        if barrier is not None and not barrier.Test():
            return None
        slot: np.ndarray = self._slots[place]
        return slot

    def _token(self, root: int) -> MPI.Request:
        """Start the broadcast of a byte that says that a slot is filled."""
        byte = np.zeros(1, np.uint8)
        request = self._comm.Ibcast(byte, root)
        self._tokens.append((request, byte))
        return request

    def _done(self) -> None:
        """Note that this rank has copied to or from the slot."""
        self._barriers[self._turn % 2] = self._comm.Ibarrier()
        self._turn += 1


class Broadcast:
    """A broadcast under way, with the method of a request of MPI."""

    def __init__(self, window: Window, memory: np.ndarray, root: int) -> None:
        self._window, self._memory, self._root = window, memory, root
        self._is_root = window._comm.Get_rank() == root
        self._token: MPI.Request | None = None
        self._at = 0
        if not self._is_root:
            self._token = window._token(root)

    def Test(self) -> bool:  # noqa: N802  # the name in mpi4py
        """Continue, and return whether this rank has, or has given, all bytes."""
        window = self._window
        window.progress()
        while self._at < self._memory.size:
            part = self._memory[self._at : self._at + _SLOT]
            if self._is_root:
                slot = window._free()
                if slot is None:
                    return False
                host.copy(slot[: part.size], part)
                window._token(self._root)
            else:
                assert self._token is not None
                if not self._token.Test():
                    return False
                host.copy(part, window._slots[window._turn % 2][: part.size])
            self._at += part.size
            window._done()
            if not self._is_root and self._at < self._memory.size:
                self._token = window._token(self._root)
        return True
