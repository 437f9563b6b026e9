"""The exceptions of this package.

All of them derive from :class:`PyApspError`, so one ``except`` catches all. Most also derive from
a built-in exception, for instance ValueError.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING

from pyapsp.base.error import PyApspError
from pyapsp.base.shown import plain
from pyapsp.base.spelling import meant

if TYPE_CHECKING:
    from pyapsp.base.negative_cycle import NegativeCycleError as NegativeCycleError

__all__ = [
    "CapabilityError",
    "CheckpointError",
    "DeviceError",
    "DeviceMemoryError",
    "DiskSpaceError",
    "FallbackWarning",
    "FormatError",
    "GraphError",
    "HostMemoryError",
    "KernelBuildError",
    "ModelError",
    "NamesWarning",
    "NegativeCycleError",
    "NegativeWeightError",
    "NoDeviceError",
    "ParameterError",
    "PrecisionError",
    "ProgramError",
    "PyApspError",
    "RankError",
    "SensorError",
    "StallError",
    "VerificationError",
]


_LONGEST = 600  # characters of a message about a file


class FallbackWarning(UserWarning):
    """The method that "auto" chose could not run, and another one takes over.

    Its cause may be gone in the next call, and then the first method runs: distances of both may
    differ by rounding. ``fallback=False`` raises the error of the first method instead.
    """


class NamesWarning(UserWarning):
    """A file was written in a format that has no place for the names of the vertices."""


class ParameterError(PyApspError, ValueError):
    """An argument has a value that is not allowed; the message names parameter, rule and value."""

    @classmethod
    def of(
        cls, parameter: str, owner: str, rule: str, value: object, known: Iterable[str] = ()
    ) -> ParameterError:
        """Return an error with the standard message: parameter, owner, rule and value.

        Parameters
        ----------
        parameter : str
            Name of the parameter.
        owner : str
            The function, class or method id it belongs to.
        rule : str
            What the value must be, e.g. ``"a power of two in [8, 64]"``.
        value : object
            The value that was given.
        known : iterable of str
            Names that are allowed: the message ends with the one that is most like `value`.
        """
        return cls(
            f"The {parameter!r} parameter of {owner} must be {rule}. Got {plain(value)!r} instead."
            f"{meant(value, known)}"
        )


class GraphError(PyApspError, ValueError):
    """The data of a graph is invalid: NaN weights, wrong shapes, vertices out of range."""


class FormatError(GraphError):
    """A file that does not follow its format.

    Parameters
    ----------
    path : path-like
        The file.
    line : int or None
        Line number, from 1; None if the fault is not in one line (binary files).
    message : str
        What is wrong. Its middle is left out if it quotes a very long line.
    """

    def __init__(self, path: str | PathLike[str], line: int | None, message: str) -> None:
        self.path = fspath(path)
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 4 :]}"
        super().__init__(f"{where}: {message}")


class ProgramError(PyApspError, ValueError):
    """A C program cannot be run in bulk, or profiled; the message says where and why.

    Parameters
    ----------
    message : str
        What is wrong.
    path : path-like
        The file.
    line, column : int, optional
        Position of the fault in the file, from 1.
    """

    def __init__(
        self,
        message: str,
        path: str | PathLike[str],
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.path = fspath(path)
        self.line = line
        self.column = column
        where = ":".join(str(part) for part in (self.path, line, column) if part is not None)
        super().__init__(f"{where}: {message}")


class ModelError(PyApspError, ValueError):
    """A model of differential equations is malformed, or has a construct that is not supported.

    Parameters
    ----------
    path : path-like
        The file.
    construct : str
        What is refused, as its format calls it, for instance ``"event 'pulse'"``.
    message : str
        Why.
    line : int, optional
        Line number, from 1.
    """

    def __init__(
        self, path: str | PathLike[str], construct: str, message: str, line: int | None = None
    ) -> None:
        self.path = fspath(path)
        self.construct = construct
        self.line = line
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {construct}: {message}")


class NegativeWeightError(GraphError):
    """A negative weight was given to a method that needs non-negative ones."""


class PrecisionError(PyApspError, ArithmeticError):
    """The requested dtype cannot hold the weights or the distances of this graph."""


class DeviceError(PyApspError, RuntimeError):
    """Base class of the errors of OpenCL devices."""


class NoDeviceError(DeviceError):
    """No OpenCL device was found, or none that fits the request."""


class CapabilityError(DeviceError):
    """The device or the method does not support the request."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The work does not fit into the memory of the device, or into the limit given.

    Parameters
    ----------
    needed, available : int
        Bytes.
    hint : str
        What to do about it.
    """

    def __init__(self, needed: int, available: int, hint: str) -> None:
        self.needed, self.available, self.hint = needed, available, hint
        super().__init__(
            f"{_amount(needed)} are needed and {_amount(available)} are available: {hint}"
        )


class HostMemoryError(MemoryError, PyApspError):
    """The answer does not fit into the memory of the host, or of the process.

    Parameters
    ----------
    needed : int
        Bytes.
    hint : str
        What to do about it.
    """

    def __init__(self, needed: int, hint: str) -> None:
        self.needed, self.hint = needed, hint
        super().__init__(f"{_amount(needed)} are needed, which the host does not have: {hint}")


def _amount(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB" if size >= 2**20 else f"{size:,} bytes"


class StallError(DeviceError):
    """The work-groups of a kernel launch waited for each other, and none made progress."""


class SensorError(DeviceError):
    """A sensor of power cannot be read.

    Parameters
    ----------
    name : str
        Of the sensor, for instance ``"rapl"``.
    message : str
        Why.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name, self.message = name, message
        super().__init__(f"sensor {name}: {message}")


class KernelBuildError(DeviceError):
    """The OpenCL compiler refused a kernel.

    Parameters
    ----------
    log : str
        What the compiler said.
    source : str
        The assembled source it was given.
    """

    def __init__(self, log: str, source: str) -> None:
        self.log = log
        self.source = source
        super().__init__(f"the OpenCL compiler refused the kernel:\n{log}")


class CheckpointError(PyApspError, RuntimeError):
    """A checkpoint cannot be used, or could not be written."""


class RankError(PyApspError, RuntimeError):
    """Another rank of an MPI run has failed.

    Parameters
    ----------
    rank : int
        Which one.
    host : str
        Where it ran.
    kind : str
        The class of its error, for instance ``"DiskSpaceError"``. Empty if its process ended
        without one, because it was killed, for instance.
    cause : str
        The message of its error.
    """

    def __init__(self, rank: int, host: str, kind: str, cause: str) -> None:
        self.rank = rank
        self.host = host
        self.kind = kind
        self.cause = cause
        super().__init__(f"rank {rank} on {host}: {cause}")


class DiskSpaceError(PyApspError, OSError):
    """A disk is full, or too small for what is to be written.

    `errno` is ENOSPC. Parameters are those of `DeviceMemoryError`.
    """

    errno = errno.ENOSPC

    def __init__(self, needed: int, available: int, hint: str) -> None:
        self.needed, self.available, self.hint = needed, available, hint
        super().__init__(
            f"{needed / 2**20:,.1f} MiB of disk space are needed and "
            f"{available / 2**20:,.1f} MiB are free: {hint}"
        )


class VerificationError(PyApspError, AssertionError):
    """An answer failed a check against the graph or against an oracle."""


# Tracebacks name the module that users import.
for _kind in [each for each in vars().values() if isinstance(each, type)]:
    if issubclass(_kind, PyApspError):
        _kind.__module__ = "pyapsp.errors"


def __getattr__(name: str) -> type[PyApspError]:
    if name != "NegativeCycleError":
        raise AttributeError(f"module 'pyapsp.errors' has no attribute {name!r}")
    # its base class is SciPy's, whose import takes longer than the solve of a small graph
    from pyapsp.base.negative_cycle import NegativeCycleError

    globals()[name] = NegativeCycleError
    return NegativeCycleError


def __dir__() -> list[str]:
    return sorted(__all__)
