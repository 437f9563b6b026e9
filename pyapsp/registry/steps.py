"""The values that a method gets and returns: options, plan, answer, check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np

from pyapsp.base.errors import VerificationError
from pyapsp.base.json import Json, Record
from pyapsp.device import Device
from pyapsp.numbers.precision import name_of

__all__ = [
    "Answer",
    "AnyPlan",
    "Check",
    "Hashed",
    "Loaded",
    "OpaquePlan",
    "Options",
    "ParameterValues",
    "Parameters",
    "Plan",
    "Stats",
    "Thresholds",
]

# The allowed values of each parameter of a method: a list, a range or `Thresholds`.
ParameterValues: TypeAlias = Mapping[str, Sequence[int | str]]

_Input = TypeVar("_Input", covariant=True)
_Options = TypeVar("_Options", bound="Options", covariant=True)
_State = TypeVar("_State", covariant=True)


class Thresholds(tuple[int, ...]):
    """Values of a parameter that takes every whole number from the first to the last.

    The tuner tries these values only.
    """

    def __contains__(self, value: object) -> bool:
        """Return whether a number is in the range."""
        return isinstance(value, Integral) and self[0] <= int(value) <= self[-1]


class Parameters(dict[str, "int | str"]):
    """The parameters of a method, all with values."""

    def __or__(  # type: ignore[override]  # with a dict, `dict` returns a dict
        self, other: Mapping[str, int | str]
    ) -> Parameters:
        return Parameters({**self, **other})

    def integer(self, name: str) -> int:
        """Return a parameter that is a number."""
        value = self[name]
        assert not isinstance(value, str), name
        return value

    def integers(self, *names: str) -> tuple[int, ...]:
        """Return several parameters that are numbers."""
        return tuple(map(self.integer, names))

    def word(self, name: str) -> str:
        """Return a parameter that is a word."""
        value = self[name]
        assert isinstance(value, str), name
        return value

    def macros(self, *names: str) -> dict[str, str | int]:
        """Return parameters that are numbers as macros, such as ``PYAPSP_GROUP`` for "group"."""
        return {f"PYAPSP_{name.upper()}": self.integer(name) for name in names}


class Stats(TypedDict, total=False):
    """What a method measures.

    Attributes
    ----------
    kernel_seconds : float
    transfer_seconds : float or None
        None if they cannot be told from those of other inputs.
    kernel_hash : str
    work : int
        The units of work, if the method counts them.
    more : dict
        Values that only this method reports.
    """

    kernel_seconds: float
    transfer_seconds: float | None
    kernel_hash: str
    work: int
    more: dict[str, Json]


@dataclass(frozen=True)
class Options:
    """The checked arguments of a call. A problem with more arguments has a subclass.

    Attributes
    ----------
    device : Device
    dtype : numpy.dtype
        Type of the answer.
    memory_limit : int or None
        Bytes of device memory that may be used; None is all of it.
    progress : callable or None
        Called as ``progress(done, total)``; an exception that it raises ends the run.
    """

    device: Device
    dtype: np.dtype
    memory_limit: int | None = field(default=None, kw_only=True)
    progress: Callable[[int, int], None] | None = field(default=None, kw_only=True)

    @property
    def dtype_name(self) -> str:
        """The name of the type of the answer."""
        return name_of(self.dtype)

    @property
    def devices(self) -> tuple[Device, ...]:
        """All devices of the call, the main one first."""
        return (self.device,)

    @property
    def memory(self) -> int:
        """The bytes of device memory that the call may use."""
        whole = self.device.capabilities.global_memory
        return whole if self.memory_limit is None else min(whole, self.memory_limit)

    @property
    def decisive(self) -> Hashable | None:
        """The values on which a plan depends; None if later calls cannot use the plan."""
        return None

    def answer_bytes(self, data: object) -> int | None:
        """Return the bytes of the answer on the host for some input; None if only a run tells."""
        return None


class Hashed(Protocol):
    """The state of a plan that knows the hash of its kernels, for instance a program."""

    @property
    def hash(self) -> str:
        """The hash of the kernels."""


@dataclass(frozen=True)
class Plan(Generic[_Input, _Options, _State]):
    """A run that has been checked against the device but not started.

    Attributes
    ----------
    input : object
        The input to solve, for most problems a graph.
    options : Options
    parameters : Parameters
    device_bytes : int
        Device memory that the run will allocate.
    state : object
        What the method has prepared, for instance built programs.
    build_seconds : float
        Time to build them.
    tuning : dict or None
        The tuning row that parameters were taken from: level, database, device, dtype, n, family,
        objective.
    notes : tuple of str
        Further lines for ``explain``.
    packed : str or None
        Name of the type of the values during the run, if words hold several or narrower ones.
    """

    input: _Input
    options: _Options
    parameters: Parameters
    device_bytes: int
    state: _State
    build_seconds: float = 0.0
    tuning: Record | None = None
    notes: tuple[str, ...] = ()
    packed: str | None = None

    @property
    def held_dtype(self) -> str:
        """The name of the type of the values during the run."""
        return self.packed or self.options.dtype_name

    @property
    def answer_bytes(self) -> int | None:
        """The bytes of the answer on the host; None if only a run tells."""
        return self.options.answer_bytes(self.input)

    @property
    def spare_bytes(self) -> int:
        """The device memory that the run may use and does not."""
        return self.options.memory - self.device_bytes


#: A plan whose input and state are not looked at.
OpaquePlan: TypeAlias = Plan[object, Options, object]
#: The plan of whichever method was chosen; each method names the types of its own.
AnyPlan: TypeAlias = Plan[Any, Any, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a method. Each problem has a subclass with the values.

    Attributes
    ----------
    stats : Stats
    """

    stats: Stats = field(default_factory=Stats)


class Loaded(ABC):
    """A plan whose input is on the device, so that its kernels can run without copies."""

    @abstractmethod
    def run(self, times: int = 1) -> None:
        """Run the kernels so many times, one after the other, and wait for their end."""

    @abstractmethod
    def answer(self) -> Answer:
        """Copy the answer of the last run to the host; it has the stats ``kernel_hash`` alone."""


@dataclass(frozen=True)
class Check:
    """The result of checking an answer.

    Attributes
    ----------
    ok : bool
    fault : str or None
        The first fault: what, where, and the value there.
    oracle : str
        What the answer was compared with.
    max_error : float or None
        The largest difference from the oracle; None if there is no number for it.
    """

    ok: bool
    fault: str | None
    oracle: str
    max_error: float | None = None

    def require(self) -> None:
        """Raise `VerificationError` unless `ok`."""
        if not self.ok:
            raise VerificationError(self.fault)
