"""Commands on several processes that MPI has started: their end, with one message."""

from __future__ import annotations

import argparse
import builtins
import ctypes
import io
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TYPE_CHECKING

from pyapsp.cli.words import spoken
from pyapsp.cluster.launchers import launched, number

if TYPE_CHECKING:
    from pyapsp.base.errors import RankError

__all__ = ["COMMANDS", "guarded", "launched", "one_voice", "run"]

#: The commands that share their work among ranks.
COMMANDS = ("solve", "measure", "scale")
_PR_SET_PDEATHSIG = 1  # of Linux
# Seconds for a launcher to end all ranks.
_GRACE = 2.0
# What a shell tells of a process that was killed by SIGKILL.
_KILLED = 137


@contextmanager
def one_voice(words: Sequence[str]) -> Iterator[None]:
    """Let only rank 0 print the help, and errors of the arguments, of a command on ranks."""
    if not number() or not launched() or next(iter(words), "") not in COMMANDS:
        yield
        return
    with redirect_stderr(io.StringIO()), redirect_stdout(io.StringIO()):
        yield


def guarded(work: Callable[[], int]) -> int:
    """Do the work of a rank in a child process, and say so if that is killed.

    Launchers kill all other ranks as soon as one has died, so that none of these could say it.
    """
    started = time.monotonic()
    if not hasattr(os, "fork"):
        return work()
    child = os.fork()
    if child == 0:
        _die_with_parent()
        return work()
    taken = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for each in taken:
        signal.signal(each, lambda received, _: os.kill(child, received))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    rank = number()
    cause, host = f"its process was killed by {signal.Signals(-code).name}", socket.gethostname()
    seconds = f"after {time.monotonic() - started:.0f} s"
    print(f"pyapsp: rank {rank} on {host}: {cause} {seconds}", file=sys.stderr, flush=True)
    return 128 - code


def _die_with_parent() -> None:
    """Let the system kill this process when its parent ends, as a launcher kills only that."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run(arguments: argparse.Namespace, code_of: Callable[[type[BaseException]], int | None]) -> int:
    """Run a command on all ranks.

    After an error no rank returns: all of them end with the same exit code, and one prints the
    message.

    Parameters
    ----------
    arguments : argparse.Namespace
        Of the command; gets the attribute `team`.
    code_of : callable
        Returns the exit code of an error, None for an unexpected one.
    """
    from pyapsp.base.errors import RankError
    from pyapsp.cluster.ranks import Ranks, ended, world

    try:
        ranks = Ranks(world(), "pyapsp")
    except RankError as error:  # the other rank prints it
        os._exit(_code(error, code_of))

    def say(error: RankError) -> int:
        speaker = error.rank
        if not error.kind:
            # if a process was killed, `guarded` says so, and the launcher ends this one; if neither
            # happens, its host has failed, and rank 0 says that, or else rank 1
            time.sleep(_GRACE)
            speaker = int(error.rank == 0)
        if speaker == ranks.rank:
            with suppress(OSError, ValueError):
                print(f"pyapsp: {error}", file=sys.stderr, flush=True)
        return _code(error, code_of)

    def late(error: RankError) -> None:
        os._exit(say(error))

    ranks.lifeline.deadline = late
    arguments.team = ranks
    try:
        with ranks:
            code: int = arguments.run(arguments)
            if sys.stdout is not None:
                sys.stdout.flush()
            return code
    except BaseException as error:
        verdict = ranks.lifeline.verdict or RankError(
            ranks.rank, ranks.host, type(error).__name__, spoken(str(error), arguments.options)
        )
        mine, stopped = verdict.rank == ranks.rank, isinstance(error, KeyboardInterrupt)
        if mine and not stopped and code_of(type(error)) is None:
            traceback.print_exc()
        ended(ranks, say(verdict))
    raise AssertionError


def _code(error: RankError, code_of: Callable[[type[BaseException]], int | None]) -> int:
    """Return the exit code of the first error of any rank."""
    from pyapsp.base import errors

    if not error.kind:
        return _KILLED
    if error.kind in ("KeyboardInterrupt", "_Stopped"):
        name = error.cause if error.cause in signal.Signals.__members__ else "SIGINT"
        return 128 + signal.Signals[name]
    kind = getattr(errors, error.kind, getattr(builtins, error.kind, Exception))
    code = code_of(kind)
    return 70 if code is None else code
