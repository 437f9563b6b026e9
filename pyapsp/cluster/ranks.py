"""The ranks of a run: collective operations that end when a rank has failed.

A blocking call of MPI waits for ever for a rank that has ended, and keeps a core busy. Here every
wait polls the requests, sleeps, and checks whether a rank has failed (`lifeline`). Until the ranks
have connections, a rank that fails sends a message of MPI to the others.
"""

from __future__ import annotations

import errno
import os
import pickle
import socket
import textwrap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pyapsp.base.errors import CapabilityError, ParameterError, RankError
from pyapsp.cluster import leftovers
from pyapsp.cluster.launchers import started
from pyapsp.cluster.lifeline import Lifeline
from pyapsp.cluster.window import LEAST, Broadcast, Window

_T = TypeVar("_T")

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Ranks", "ended", "joined", "world"]

# Seconds for which a wait looks without a pause, and the longest pause.
_SPIN, _PAUSE = 5e-5, 1e-3
# Pauses that `tune` tries, and what is about as fast as the fastest.
_PAUSES, _ABOUT = (_PAUSE, 5e-5, 0.0), 1.3
# The seconds in which a rank that fails tells the others without connections, and the tag of that.
_TELL, _FAILED = 3.0, 1
# The seconds after which a process ends itself, if the launcher has not ended it.
_ABORT = 5.0
# Letters of a value of rank 0 in a message.
_SHOWN = 60
# Bytes of a broadcast: more are sent as several, which follow each other through the network.
_CHUNK = 2**25


def world() -> MPI.Comm:
    """Return the communicator of all processes.

    Raises
    ------
    CapabilityError
        If mpi4py is missing, or MPI knows of fewer processes than the launcher.
    """
    # the error of a rank is said by that rank
    os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise CapabilityError(f'no MPI: {error}; pip install "pyapsp[mpi]"') from None
    if MPI.COMM_WORLD.Get_size() == 1 < started():
        library = MPI.Get_library_version().partition("\n")[0].strip(" \0")
        raise CapabilityError(
            f"{started()} processes were started, and each is alone: the launcher is not that of "
            f"the MPI library of mpi4py, {library} (with srun: see srun --mpi=list)"
        )
    return MPI.COMM_WORLD


class Ranks:
    """The processes of a communicator, as a context manager. All of them make it together.

    If its block raises an exception on one rank, all others get a `RankError`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    call : str
        The function that they call, the same on all.

    Attributes
    ----------
    rank, size : int
    host : str
    hosts : list of str
        The host of each rank.
    lifeline : Lifeline
    """

    def __init__(self, comm: MPI.Comm, call: str) -> None:
        if not all(hasattr(comm, name) for name in ("Ibcast", "Iallgatherv", "Idup")):
            raise ParameterError.of("comm", call, "an mpi4py communicator", type(comm).__name__)
        if comm.Get_size() == 1:
            world()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.host = socket.gethostname()
        self.hosts: list[str] = [self.host]
        self.lifeline = Lifeline(self.rank, self.size, self.host)
        self._depth, self._names = 0, 0
        self._window: Window | None = None
        self._tokens: list[MPI.Comm] = []
        self._pause = _PAUSE
        self._own: tuple[MPI.Comm, MPI.Request] | None = None
        self._joining = False
        try:
            self._join(comm, call)
        except BaseException as error:
            if not isinstance(error, RankError):
                self._tell(comm, error)
            raise

    def _join(self, comm: MPI.Comm, call: str) -> None:
        """Make a communicator and the connections, together with the other ranks."""
        self._own = comm.Idup()
        self._comm, request = self._own
        self.wait([request])
        self._joining = True
        self.hosts, calls = map(list, zip(*self.all((self.host, call)), strict=True))
        if self.hosts.index(self.host) == self.rank:
            leftovers.remove()
        self.lifeline.connect(self.hosts, self.share, self._attend)
        if call != calls[0]:
            raise ParameterError(f"All ranks must call {calls[0]}, as rank 0 does, not {call}.")
        self.barrier()
        self._joining = False

    def _tell(self, comm: MPI.Comm, error: BaseException) -> None:
        """Tell the other ranks of an error of this one, while some have no connections."""
        end = time.monotonic() + _TELL
        with suppress(Exception):  # the error itself is raised
            own, request = self._own or comm.Idup()
            while not request.Test() and time.monotonic() < end:
                time.sleep(_PAUSE)
            message = self.rank, self.host, *_named(error)
            _messages[:] = [each for each in _messages if not each.Test()]
            _messages.extend(
                own.isend(message, other, _FAILED)
                for other in range(self.size)
                if other != self.rank
            )
            while not all(each.Test() for each in _messages) and time.monotonic() < end:
                time.sleep(_PAUSE)
            self.lifeline.fail(*_named(error))

    def _attend(self) -> None:
        """Raise the error of another rank, if there is one."""
        if self._joining and self._comm.Iprobe(tag=_FAILED):
            self.lifeline.verdict = RankError(*self._comm.recv(tag=_FAILED))
        self.lifeline.check()

    def __enter__(self) -> Ranks:
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._depth -= 1
        if error is None and self._depth == 0:
            try:
                self.close()
            except BaseException as late:
                self._fail(late)
                raise
        elif error is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Tell the other ranks of an error, if it is one of this rank."""
        if not isinstance(error, RankError):
            self.lifeline.fail(*_named(error))

    def close(self) -> None:
        """End the connections, after a run without an error."""
        self.barrier()
        self.lifeline.leave()
        for each in (self._comm, *self._tokens):
            each.Free()

    # -- waiting -----------------------------------------------------------------------------

    def wait_for(self, done: Callable[[], bool], longest: float = _PAUSE) -> None:
        """Wait until a condition holds.

        Parameters
        ----------
        done : callable
        longest : float
            Seconds between two looks, at most.

        Raises
        ------
        RankError
            If a rank has failed.
        """
        started, pause = time.monotonic(), 0.0
        while not done():
            self._attend()
            if self._window is not None:
                self._window.progress()
            if time.monotonic() - started > _SPIN:
                pause = min(longest, pause + 2e-5)
                time.sleep(pause)

    def wait(self, requests: Sequence[MPI.Request | Broadcast]) -> None:
        """Wait for requests of MPI."""
        left = list(requests)

        def done() -> bool:
            left[:] = [each for each in left if not each.Test()]
            return not left

        self.wait_for(done, self._pause)

    def tune(self, seconds: Callable[[], float]) -> float:
        """Choose how waits for MPI pause, and return the seconds of a broadcast with that.

        Some libraries move a small piece of a message in each call, so that a pause makes them
        slow; a wait without a pause takes a core from the work. The longest pause is taken with
        which a broadcast is about as fast as without one. On one host, shared memory is used.

        Parameters
        ----------
        seconds : callable
            Broadcasts something, and returns the seconds that the slowest rank took.
        """
        if len(set(self.hosts)) == 1 < self.size and self._window is None:
            token, request = self._comm.Idup()
            self.wait([request])
            self._tokens = [token]
            self._window = Window.opened(self._tokens[0], self.share, self.all)
        if self._window is not None:
            return min(seconds() for _ in range(3))  # the first touches its pages
        times = []
        for self._pause in _PAUSES:
            times.append(seconds())
        pairs = list(zip(_PAUSES, times, strict=True))
        self._pause, taken = next(pair for pair in pairs if pair[1] <= _ABOUT * min(times))
        return taken

    # -- collective operations ---------------------------------------------------------------

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.wait([self._comm.Ibarrier()])

    def start_broadcast(self, array: np.ndarray, root: int) -> list[MPI.Request | Broadcast]:
        """Start the broadcast of a contiguous array, and return its requests."""
        memory = array.reshape(-1).view(np.uint8)
        if self._window is not None and memory.size >= LEAST:
            return [self._window.start(memory, root)]
        return [
            self._comm.Ibcast(memory[start : start + _CHUNK], root)
            for start in range(0, memory.size, _CHUNK)
        ]

    def broadcast(self, array: np.ndarray, root: int = 0) -> np.ndarray:
        """Broadcast the content of a contiguous array."""
        self.wait(self.start_broadcast(array, root))
        return array

    def share(self, value: _T | None = None, root: int = 0) -> _T:
        """Return the value of one rank, any object, on all ranks."""
        data = pickle.dumps(value) if self.rank == root else b""
        size = int(self.broadcast(np.array([len(data)], np.int64), root)[0])
        memory = np.frombuffer(data, np.uint8) if self.rank == root else np.empty(size, np.uint8)
        shared: _T = pickle.loads(self.broadcast(memory.copy(), root).tobytes())
        return shared

    def all(self, value: _T) -> list[_T]:
        """Return the values of all ranks, any objects, on all ranks."""
        data = np.frombuffer(pickle.dumps(value), np.uint8)
        sizes = np.empty(self.size, np.int64)
        self.wait([self._comm.Iallgather(np.array([data.size], np.int64), sizes)])
        gathered = np.empty(int(sizes.sum()), np.uint8)
        self.wait([self._comm.Iallgatherv(data, [gathered, sizes.tolist()])])
        ends = np.cumsum(sizes)
        return [
            pickle.loads(gathered[end - size : end].tobytes())
            for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
        ]

    def largest(self, value: float) -> float:
        """Return the largest of the values of all ranks."""
        return float(max(self.all(float(value))))

    def same(self, owner: str, /, **values: object) -> None:
        """Check that all ranks were called with the same values.

        Parameters
        ----------
        owner : str
            The function they are of, for messages.
        **values
            Sequences and arrays are compared by all their elements.

        Raises
        ------
        ParameterError
            With the first that differs from that of rank 0.
        """
        mine = {name: _written(each) for name, each in values.items()}
        digests = {name: sha256(text.encode()).digest() for name, text in mine.items()}
        short = {name: textwrap.shorten(text, _SHOWN) for name, text in mine.items()}
        theirs, told = self.share((digests, short))
        for name, digest in digests.items():
            if digest != theirs[name]:
                raise ParameterError(
                    f"The {name!r} parameter of {owner} must be that of rank 0, {told[name]}, on "
                    f"all ranks. Got {short[name]} instead."
                )

    def name(self) -> str:
        """Return a new name, the same on all ranks, for `Lifeline.take`."""
        self._names += 1
        return str(self._names)


# Messages of ranks that failed: MPI may read their memory until they have arrived.
_messages: list[MPI.Request] = []


def _named(error: BaseException) -> tuple[str, str]:
    """Return the kind of an error, and what it says."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    name = "DiskSpaceError" if full else type(error).__name__
    return name, str(error) or name


def _written(value: object) -> str:
    """Return a text that is equal for equal values, whatever holds them."""
    # columns of data frames show a part of their values
    if isinstance(value, list | tuple | range) or hasattr(value, "__array__"):
        with suppress(ValueError):  # of lists that are no array
            return repr(np.asarray(value).tolist())
    return repr(value)


def joined(comm: MPI.Comm | Ranks, call: str) -> Ranks:
    """Return the ranks of a communicator, which may be ranks already, for a function."""
    return comm if isinstance(comm, Ranks) else Ranks(comm, call)


def ended(ranks: Ranks, code: int) -> None:
    """End this process, when the others have cleaned up as well.

    MPI is not finalised: that would wait for the broadcasts that were under way.
    """
    ranks.lifeline.leave(together=True)
    with suppress(OSError, ValueError):
        import sys

        sys.stdout.flush()
        sys.stderr.flush()
    if ranks.size > 1:
        # A launcher kills the others when one of several ends, and may return that signal. It
        # returns the code of an abort, for which the others wait.
        if ranks.rank == 0:
            from mpi4py import MPI

            MPI.COMM_WORLD.Abort(code)
        time.sleep(_ABORT)
    os._exit(code)
