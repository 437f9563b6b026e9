"""Connections between ranks that report errors and ended ranks.

MPI does not report that a process has died, and a rank that waits for a broadcast waits for ever.
So each rank keeps a connection to rank 0, the *hub*. The operating system closes it when the
process ends in any way. A rank sends its error over it, and the hub sends the first error to all
ranks. The hub also hands out the next sources to search from. A thread does this, so that rank 0
can compute.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from pyapsp.base.errors import NoDeviceError, RankError
from pyapsp.base.json import Record

__all__ = ["DIED", "Lifeline"]

# The names of the hub, its port, and what a rank says to show that it belongs to the run.
_Address: TypeAlias = tuple[list[str], int, str]
#: The cause that is told of a rank whose process ended.
DIED = "its process ended without a message, as if it was killed"

# Seconds until all ranks must be connected, for the answer of the hub, and until all must end.
_CONNECT, _ANSWER, _END = 60.0, 3.0, 4.0
# Seconds between two looks for a rank that has failed, while ranks connect.
_LOOK = 0.1


class Lifeline:
    """The connections of a rank.

    Parameters
    ----------
    rank, size : int
    host : str

    Attributes
    ----------
    verdict : RankError or None
        The first error of any rank.
    deadline : callable or None
        Called with the verdict in a thread, if it came some seconds ago and `leave` was not called.
    """

    def __init__(self, rank: int, size: int, host: str) -> None:
        self.rank, self._hosts = rank, [host] * size
        self.verdict: RankError | None = None
        self.deadline: Callable[[RankError], None] | None = None
        self._changed = threading.Condition()
        self._links: dict[int, socket.socket] = {}
        self._gone: set[int] = set()
        self._served: dict[str, int] = {}
        self._ranges: list[tuple[int, int]] = []
        self._leaving = False

    def connect(
        self,
        hosts: list[str],
        share: Callable[[_Address | None], _Address],
        attend: Callable[[], None],
    ) -> None:
        """Make the connections. All ranks make theirs at the same time.

        Parameters
        ----------
        hosts : list of str
            The host of each rank.
        share : callable
            ``share(value)`` returns the value of rank 0 on all ranks.
        attend : callable
            Raises the error of a rank that has failed.
        """
        self._hosts = hosts
        if len(hosts) == 1:
            return
        if self.rank == 0:
            self._listen(share, attend)
        else:
            self._connect(share(None), attend)
        for other, link in self._links.items():
            threading.Thread(target=self._follow, args=(other, link), daemon=True).start()

    # -- connections -------------------------------------------------------------------------

    def _listen(
        self, share: Callable[[_Address | None], _Address], attend: Callable[[], None]
    ) -> None:
        one_host = len(set(self._hosts)) == 1
        token = secrets.token_hex(16)
        with socket.create_server(
            ("127.0.0.1" if one_host else "", 0), backlog=len(self._hosts)
        ) as server:
            names = [self._hosts[0]]
            with suppress(OSError):
                names += socket.gethostbyname_ex(names[0])[2]
            share((names, server.getsockname()[1], token))
            server.settimeout(_LOOK)
            end = time.monotonic() + _CONNECT
            while len(self._links) < len(self._hosts) - 1:
                attend()
                try:
                    link, _ = server.accept()
                except TimeoutError:
                    if time.monotonic() < end:
                        continue
                    missing = set(range(1, len(self._hosts))) - set(self._links)
                    raise NoDeviceError(f"no connection from the ranks {sorted(missing)}") from None
                link.settimeout(_ANSWER)
                with suppress(OSError, ValueError):
                    message = json.loads(_line(link))
                    if secrets.compare_digest(str(message.get("token")), token):
                        self._links[int(message["rank"])] = _ready(link)

    def _connect(self, address: _Address, attend: Callable[[], None]) -> None:
        names, port, token = address
        if self._hosts[self.rank] == self._hosts[0]:
            names = ["127.0.0.1", *names]
        for name in names:
            with suppress(OSError):
                link = socket.create_connection((name, port), _CONNECT / 4)
                self._links[0] = _ready(link)
                self._send(0, {"rank": self.rank, "token": token})
                return
        end = time.monotonic() + _ANSWER
        while time.monotonic() < end:  # rank 0 may have failed, and its message be under way
            attend()
            time.sleep(_LOOK)
        raise NoDeviceError(f"cannot connect to rank 0 on {self._hosts[0]}, port {port}")

    def _send(self, other: int, message: Record) -> None:
        with suppress(OSError):  # whoever has died is noticed by the thread that reads
            self._links[other].sendall(json.dumps(message).encode() + b"\n")

    def _follow(self, other: int, link: socket.socket) -> None:
        """Read what another rank says until it ends."""
        with suppress(OSError, ValueError), link.makefile("rb") as lines:
            for line in lines:
                self._hear(other, json.loads(line))
        with self._changed:
            gone = other in self._gone
            self._gone.add(other)
            self._changed.notify_all()
        if not gone and not self._leaving:
            self._judge(RankError(other, self._hosts[other], "", DIED))

    def _hear(self, other: int, message: dict[str, Any]) -> None:
        if "bye" in message:
            with self._changed:
                self._gone.add(other)
                self._changed.notify_all()
        elif "fail" in message:
            self._judge(RankError(*message["fail"]))
        elif "next" in message:
            self._send(other, {"range": self._serve(*message["next"])})
        elif "range" in message:
            with self._changed:
                self._ranges.append(tuple(message["range"]))
                self._changed.notify_all()

    # -- errors ------------------------------------------------------------------------------

    def _judge(self, error: RankError) -> None:
        """Note the first error; the hub tells it to all."""
        with self._changed:
            if self.verdict is not None:
                return
            self.verdict = error
            self._changed.notify_all()
        if self.rank == 0:
            message: Record = {"fail": [error.rank, error.host, error.kind, error.cause]}
            for other in self._links:
                self._send(other, message)
        if self.deadline is not None:
            timer = threading.Timer(_END, self._late, (error,))
            timer.daemon = True
            timer.start()

    def _late(self, error: RankError) -> None:
        if not self._leaving and self.deadline is not None:
            self.deadline(error)

    def check(self) -> None:
        """Raise the error of another rank, if there is one."""
        if self.verdict is not None:
            raise self.verdict

    def fail(self, kind: str, cause: str) -> RankError:
        """Tell all ranks of an error here, and return the first error of any rank."""
        mine = RankError(self.rank, self._hosts[self.rank], kind, cause)
        if self.rank == 0 or 0 not in self._links:
            self._judge(mine)
        else:
            self._send(0, {"fail": [mine.rank, mine.host, mine.kind, mine.cause]})
            with self._changed:
                self._changed.wait_for(lambda: self.verdict is not None, _ANSWER)
        return self.verdict or mine

    def leave(self, *, together: bool = False) -> None:
        """End the connections; with `together` when all ranks do, or after some seconds."""
        self._leaving = True
        for other in self._links:
            self._send(other, {"bye": 1})
        if together:
            with self._changed:
                self._changed.wait_for(lambda: self._gone >= set(self._links), _ANSWER)
        for link in self._links.values():
            with suppress(OSError):
                link.shutdown(socket.SHUT_WR)

    # -- numbers -----------------------------------------------------------------------------

    def _serve(self, name: str, total: int, unit: int) -> tuple[int, int]:
        """Return the next numbers: many at first, a unit at the end, so that ranks end together."""
        with self._changed:
            start = self._served.get(name, 0)
            count = max(1, (total - start) // (2 * len(self._hosts) * unit)) * unit
            stop = min(start + count, total)
            self._served[name] = stop
        return start, stop

    def take(self, name: str, total: int, unit: int) -> tuple[int, int]:
        """Return numbers below a total that no other rank takes: first, and one past the last.

        Parameters
        ----------
        name : str
            Of these numbers; each name begins at 0.
        total : int
        unit : int
            All but the last are a multiple of it.

        Returns
        -------
        (int, int)
            Two equal numbers if none are left.

        Raises
        ------
        RankError
            If a rank has failed.
        """
        self.check()
        if self.rank == 0:
            return self._serve(name, total, unit)
        self._send(0, {"next": [name, total, unit]})
        with self._changed:
            self._changed.wait_for(lambda: self._ranges or self.verdict is not None)
        self.check()
        return self._ranges.pop()

    def served(self, name: str) -> int:
        """Return how many numbers were taken; on rank 0."""
        return self._served.get(name, 0)


def _ready(link: socket.socket) -> socket.socket:
    link.settimeout(None)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # for a host that loses power
    os.set_inheritable(link.fileno(), False)
    return link


def _line(link: socket.socket) -> bytes:
    """Read a line, and nothing behind it."""
    line = b""
    while not line.endswith(b"\n") and len(line) < 1000:
        byte = link.recv(1)
        if not byte:
            break
        line += byte
    return line
