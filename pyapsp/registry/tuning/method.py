"""Methods with tunable parameters: the sets to try, and the plan of the first that fits."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from pyapsp.base.errors import DeviceMemoryError, ParameterError
from pyapsp.registry import AnyPlan, Parameters, Plan, check_memory
from pyapsp.registry.tuning.lookup import Match, tuned, tuned_methods
from pyapsp.registry.tuning.tunable import Tunable

__all__ = ["BufferedMethod", "TunableMethod"]


class TunableMethod(Tunable):
    """Base of the methods with parameters that the tuner can choose."""

    def sets(
        self, n: int, family: str, options: Any, *, rows: bool = True
    ) -> Iterator[tuple[Parameters, Match | None]]:
        """Yield the tuned set and then the candidates, each with the given parameters.

        Parameters
        ----------
        n : int
            Size of the input.
        family : str
            Of the input.
        options : Options
        rows : bool
            Whether to use tuning rows.

        Yields
        ------
        parameters : Parameters
        match : Match or None
            The row that completed them.

        Raises
        ------
        ParameterError
            After the last set: none of them fits.
        """
        found = tuned(self, n, options, family) if rows and self.choices else None
        if found is not None and self._useless(found[0], options) is None:
            yield found
            fitting = True
        else:
            fitting = False
        useless = None
        for candidate in self.candidates(options):
            parameters = Parameters({**candidate, **self.parameters})
            wrong = self._useless(parameters, options)
            useless = useless or wrong
            parameters |= self.idle(parameters, options)
            if wrong is None and self.fits(parameters, options):
                fitting = True
                yield parameters, None
        if not fitting:
            raise ParameterError(
                useless
                or f"no parameters of {self.id} with {self.parameters or 'the defaults'} fit "
                f"{options.device.name}: {self.rule(options)}"
            )

    def _useless(self, parameters: Parameters, options: Any) -> str | None:
        """Return what is wrong with a given value that does nothing, if there is one."""
        for name, value in self.idle(parameters, options).items():
            given = self.parameters.get(name, value)
            if given != value:
                others = ", ".join(
                    f"{other}={each}" for other, each in parameters.items() if other != name
                )
                return (
                    f"{name}={given} of {self.id} does nothing with {others}: there it can only "
                    f"be {value}"
                )
        return None


class BufferedMethod(TunableMethod):
    """Base of the tunable methods whose buffers depend on the parameters.

    A plan has the first parameter set whose buffers fit the memory.
    """

    @abstractmethod
    def buffers(self, data: Any, options: Any, parameters: Parameters) -> list[int]:
        """Return the bytes of each device buffer that a run will allocate."""

    @abstractmethod
    def prepare(self, data: Any, options: Any, parameters: Parameters) -> Any:
        """Build the kernels, and return the state of the plan."""

    def check(self, data: Any, options: Any) -> None:
        """Raise if the type of the answer cannot represent the input or its distances."""

    def plan(self, data: Any, options: Any) -> AnyPlan:
        """Check input and memory, choose parameters and build the kernels."""
        self.check(data, options)
        started = time.perf_counter()
        too_much: DeviceMemoryError | None = None
        known = bool(self.choices) and self.id in tuned_methods()
        family = data.family if known else ""  # finding it takes O(n)
        for parameters, match in self.sets(data.n, family, options, rows=known):
            buffers = self.buffers(data, options, parameters)
            try:
                check_memory(buffers, options)
            except DeviceMemoryError as error:
                if too_much is None or error.needed < too_much.needed:
                    too_much = error
                continue
            state = self.prepare(data, options, parameters)
            seconds = time.perf_counter() - started
            row = match.describe() if match else None
            return Plan(data, options, parameters, sum(buffers), state, seconds, row)
        assert too_much is not None
        raise too_much
