"""The base class of all methods."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from pyapsp.base.errors import CapabilityError, ParameterError, PyApspError
from pyapsp.base.shown import table
from pyapsp.base.spelling import meant
from pyapsp.registry.steps import (
    Answer,
    AnyPlan,
    Loaded,
    Parameters,
    ParameterValues,
    Thresholds,
)

__all__ = ["Method", "Requirements"]


@dataclass(frozen=True)
class Requirements:
    """The requirements of a method for inputs and devices.

    Attributes
    ----------
    capabilities : tuple of str
        Names of `Capabilities` that the device must have, in addition to those of the dtype.
    """

    capabilities: tuple[str, ...] = ()


class _Kind(ABCMeta):
    """The class of methods: a list of them is readable."""

    def __repr__(cls) -> str:
        return f"<method {cls.id}>" if hasattr(cls, "id") else super().__repr__()


class Method(metaclass=_Kind):
    """One algorithm for a problem, with its parameters.

    Parameters
    ----------
    **parameters : int or str
        Values of parameters in `choices`. The others are chosen for the device.

    Attributes
    ----------
    id : str
        The short name, e.g. ``"fw-blocked"``.
    problem : str
        The id of the `Problem` that it solves.
    area : str
        The folder of its module, e.g. ``all_pairs/dense``; `register` sets it.
    summary : str
        One line for tables.
    source : str
        Paper and section.
    requires : Requirements
    choices : mapping of str to sequence of int or str
        The allowed values of each parameter: a list, a range, or `Thresholds`.
    tunable : bool
        Whether the tuner can choose parameters. It is a
        `pyapsp.registry.tuning.method.TunableMethod`.

    Raises
    ------
    ParameterError
        If a parameter does not exist, or its value is not allowed.
    """

    id: ClassVar[str]
    problem: ClassVar[str]
    area: ClassVar[str]
    summary: ClassVar[str]
    source: ClassVar[str]
    requires: ClassVar[Requirements] = Requirements()
    choices: ClassVar[ParameterValues] = {}
    tunable: ClassVar[bool] = False

    def __init__(self, **parameters: int | str) -> None:
        for name, value in parameters.items():
            if name not in self.choices:
                known = ", ".join(self.choices) or "none"
                hint = meant(name, self.choices)
                raise ParameterError(
                    f"{self.id} has no parameter {name!r}; it has: {known}{hint and f'.{hint}'}"
                )
            is_integer = isinstance(value, Integral) and not isinstance(value, bool)
            if not (is_integer or isinstance(value, str)) or value not in self.choices[name]:
                words = [each for each in self.choices[name] if isinstance(each, str)]
                raise ParameterError.of(name, self.id, _legal(self.choices[name]), value, words)
        self.parameters = Parameters(
            (name, value if isinstance(value, str) else int(value))
            for name, value in parameters.items()
        )

    def __repr__(self) -> str:
        shown = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return f"method({self.id!r}{shown})"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        about = {"summary": self.summary, "source": self.source, **self.parameters}
        return table([self.id, ""], about.items())

    def unmet(self, about: Any, options: Any) -> PyApspError | None:
        """Return the error of the first requirement that the input or the device does not meet.

        Parameters
        ----------
        about : object
            The input, or its facts.
        options : Options
        """
        device = options.device
        for capability in self.requires.capabilities:
            if not getattr(device.capabilities, capability):
                return CapabilityError(
                    f"{self.id} needs {capability}: {device.without(capability)}"
                )
        return None

    @abstractmethod
    def plan(self, data: Any, options: Any) -> AnyPlan:
        """Check the request against the device, choose parameters and build the kernels.

        Parameters
        ----------
        data : object
            The input.
        options : Options

        Raises
        ------
        ParameterError
            If the given parameters contradict each other, or the device does not support them.
        DeviceMemoryError
            If the run needs more memory than the device has, or than the limit.
        """

    @abstractmethod
    def run(self, plan: Any) -> Answer:
        """Run a plan of this method."""

    def load(self, plan: Any) -> Loaded:
        """Copy the input of a plan to the device, where its kernels can run again and again.

        Raises
        ------
        ParameterError
            If the method, or this plan, does not run without copies: the default.
        """
        raise ParameterError(f"{self.id} cannot run its kernels without its copies")


def _legal(values: Sequence[int | str]) -> str:
    if isinstance(values, Thresholds):
        return f"a whole number in [{values[0]}, {values[-1]}]"
    if isinstance(values, range):
        return f"a multiple of {values.step} in [{values[0]}, {values[-1]}]"
    return f"one of {', '.join(map(str, values))}"
