"""What every program does around its work: standard streams, signals, exit codes of errors."""

from __future__ import annotations

import codecs
import errno
import io
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

__all__ = ["code_of", "run"]

# The exit code of an unexpected exception. Not 1, which means that a check failed.
_OWN_FAULT = 70


def run(work: Callable[[], int]) -> int:
    """Do the work of a program; errors become one line on standard error, and an exit code.

    Parameters
    ----------
    work : callable
        Returns the exit code of success or of a failed check.
    """
    _fill_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        _print_any_name(stream)
    try:
        with _stopped_alike(), _warnings_in_one_line():
            code = work()
            if sys.stdout is not None:
                # Flush here: at the end of the process Python ignores the error of a full disk.
                sys.stdout.flush()
            return code
    except BrokenPipeError:
        # the reader of the pipe closed it, which is not an error of this command
        return 0
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, _Stopped) else signal.SIGINT
        message = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
        _say(message)
        return 128 + number
    except Exception as error:
        failure = _exit_code(error)
        if failure is None:
            with suppress(OSError):
                traceback.print_exc()
            return _OWN_FAULT
        _say(str(error))
        return failure
    finally:
        for stream in (sys.stdout, sys.stderr):
            _drop_what_is_lost(stream)


def _say(text: str) -> None:
    """Print a message on standard error, if that is open; a failure to print is ignored."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"pyapsp: {text}", file=sys.stderr)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print warnings of this package as errors are printed, without the line of the code."""
    shown = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category.__module__.startswith("pyapsp"):
            _say(f"warning: {message}")
        else:
            shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


def _fill_standard_streams() -> None:
    """Open /dev/null in place of each closed descriptor from 0 to 2.

    Otherwise a file opened later would get the number 1 or 2, and drivers, which print to these
    numbers, would write into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def _print_any_name(stream: TextIO | None) -> None:
    """Let a stream print names of files and vertices that its encoding cannot represent."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    if codecs.lookup(stream.encoding).name in ("ascii", "utf-8"):
        # bytes of arguments are printed unchanged, as in Python's UTF-8 mode
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    else:
        stream.reconfigure(errors="backslashreplace")


class _Stopped(KeyboardInterrupt):
    """Raised for SIGTERM and SIGHUP; a KeyboardInterrupt, so that the same code cleans up."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


@contextmanager
def _stopped_alike() -> Iterator[None]:
    """Let SIGTERM (a scheduler) and SIGHUP (a terminal that closes) end a command as SIGINT does.

    After the first signal the others are ignored, so that they do not interrupt the clean-up. A
    signal that already has a handler, or is ignored (nohup), is left unchanged.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)
        raise _Stopped(signal.Signals(number))

    taken: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        names = ("SIGTERM", "SIGHUP")  # some systems have no SIGHUP
        known = [getattr(signal, name) for name in names if hasattr(signal, name)]
        taken += [each for each in known if signal.getsignal(each) == signal.SIG_DFL]
    try:
        for each in taken:
            signal.signal(each, stop)
        yield
    finally:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)


def _drop_what_is_lost(stream: TextIO | None) -> None:
    """Discard output that cannot be written: the interpreter would retry at exit, and fail."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _exit_code(error: Exception) -> int | None:
    """Return the exit code of an expected error, None for any other exception."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return 5
    return code_of(type(error))


def code_of(kind: type[BaseException]) -> int | None:
    """Return the exit code of a class of errors."""
    from pyapsp.base import errors

    codes: tuple[tuple[type[Exception], int], ...] = (
        (errors.VerificationError, 1),
        (errors.ParameterError, 2),
        (errors.NegativeCycleError, 6),
        (errors.DeviceMemoryError, 5),
        (errors.DeviceError, 4),
        (errors.DiskSpaceError, 5),
        (errors.HostMemoryError, 5),
        (errors.PyApspError, 3),
        (MemoryError, 5),
        (OSError, 3),
    )
    return next((code for known, code in codes if issubclass(kind, known)), None)
