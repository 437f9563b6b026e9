"""What the tuner, the databases and the plan of a method need to know about its parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pyapsp.registry import Method, Parameters

__all__ = ["Tunable"]


class Tunable(Method):
    """Base of the methods with parameters that the tuner can choose.

    Attributes
    ----------
    carries_predecessors : bool
        Whether the kernels that have the parameters are different with predecessors.
    slowdown : float
        A type twice as wide takes 2 ** slowdown times as long.
    growth : float
        Twice the size of the largest row has 2 ** growth times its rate.
    """

    tunable = True
    carries_predecessors: ClassVar[bool] = False
    slowdown: ClassVar[float] = 1.0
    growth: ClassVar[float] = 0.0

    @abstractmethod
    def candidates(self, options: Any) -> Iterator[Mapping[str, int | str]]:
        """Yield complete parameter sets, from the likely fastest to the one that needs least."""

    def fits(self, parameters: Parameters, options: Any) -> bool:
        """Return whether parameters are a legal set within the limits of the device.

        By default: whether the device has groups of this size.
        """
        group = parameters.integer("group") if "group" in parameters else 1
        return bool(group <= options.device.capabilities.max_work_group_size)

    def idle(self, parameters: Parameters, options: Any) -> Mapping[str, int | str]:
        """Return the parameters that do nothing beside the others, and the value they have then.

        Other values of them are refused.
        """
        return {}

    def takes(self, parameters: Parameters, options: Any) -> bool:
        """Return whether a complete set fits, and no value in it does nothing."""
        return self.fits(parameters, options) and all(
            parameters[name] == value for name, value in self.idle(parameters, options).items()
        )

    def rule(self, options: Any) -> str:
        """Return the conditions of `fits`, with the limits of the device, for messages."""
        return f"group must be at most {options.device.capabilities.max_work_group_size}"
