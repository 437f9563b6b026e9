"""An input that the tuner solves, with its oracle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pyapsp.base.errors import VerificationError
from pyapsp.device import Device
from pyapsp.registry import Answer, Check, Method, Problem

__all__ = ["Sample"]


class Sample:
    """An input of a problem, with the options of a request and the oracle.

    The arguments are options for `Problem.ask`: dtype, device, ...
    """

    def __init__(
        self,
        problem: Problem,
        data: Any,
        method: Method,
        arguments: Mapping[str, np.dtype | Device | bool],
    ) -> None:
        request = problem.ask(data, method, **arguments)
        self.input = request.input
        self.options = next(iter(problem.choices(request))).options
        self.n = problem.about(self.input)["n"]
        self._oracle: Callable[[Answer], Check] | None = None
        self._problem = problem

    def check(self, answer: Answer) -> None:
        """Raise VerificationError when an answer is wrong."""
        if self._oracle is None:
            self._oracle = self._problem.oracle(self.input, self.options)
        found = self._oracle(answer)
        if not found.ok:
            raise VerificationError(f"n = {self.n:,}: {found.fault}")

    def forget(self) -> None:
        """Free the right answer, with which answers were compared."""
        self._oracle = None

    def work(self, answer: Answer) -> int:
        """Return the work of a run, in units of the problem."""
        return self._problem.work(self.input, self.options, answer)
