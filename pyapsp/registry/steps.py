"""The values that the steps of a call pass on: options, request, choice, plan, answer, check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.base.errors import VerificationError
from pyapsp.device import Device

if TYPE_CHECKING:
    from pyapsp.registry.algorithm import Method
    from pyapsp.registry.descriptor import Problem

__all__ = ["Answer", "Check", "Choice", "Options", "Plan", "Request"]


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


@dataclass(frozen=True)
class Plan:
    """A run that has been checked against the device but not started.

    Attributes
    ----------
    input : object
        The input to solve, for most problems a graph.
    options : Options
    parameters : dict
        The parameters of the method, all with values.
    device_bytes : int
        Device memory that the run will allocate.
    state : object
        What the method has prepared, for instance built programs.
    build_seconds : float
        Time to build them.
    tuning : dict or None
        The tuning row that parameters were taken from: level, database, device, dtype, n, family.
    notes : tuple of str
        Further lines for ``explain``.
    """

    input: Any
    options: Any
    parameters: dict[str, Any]
    device_bytes: int
    state: Any = None
    build_seconds: float = 0.0
    tuning: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def spare_bytes(self) -> int:
        """The device memory that the run may use and does not."""
        available: int = self.options.device.capabilities.global_memory
        limit = self.options.memory_limit
        return (available if limit is None else min(available, limit)) - self.device_bytes


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a method. Each problem has a subclass with the values.

    Attributes
    ----------
    stats : dict
        ``kernel_seconds``, ``transfer_seconds``, ``kernel_hash``, and in ``more`` the values that
        only this method reports.
    """

    stats: dict[str, Any] = field(default_factory=dict)


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


@dataclass(frozen=True)
class Request:
    """A problem with its input and the checked arguments.

    Attributes
    ----------
    problem : Problem
    input : object
    method : Method or str
        ``"auto"``, or the method asked for.
    options : Options
    asked : dict
        Arguments for the record of the run, in addition to method and dtype.
    reasons : tuple of str
        The decisions so far, for ``explain``.
    """

    problem: Problem
    input: Any
    method: Method | str
    options: Any
    asked: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Choice:
    """A method that may run, and its options.

    Attributes
    ----------
    method : Method
    options : Options
        The options of the request, adapted to this method.
    reason : str
        Why this method was chosen.
    seconds : float or None
        The predicted time, if methods are ranked by it; after a race the corrected one. It is
        ``predicted_seconds`` of the record.
    told : callable, optional
        Called with the seconds of the whole call, if this choice has answered it.
    """

    method: Method
    options: Any
    reason: str
    seconds: float | None = None
    told: Callable[[float], None] | None = None
