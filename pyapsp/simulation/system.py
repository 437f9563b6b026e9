"""A model as a system of ordinary differential equations.

Every front end makes it, every simulator takes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyapsp.simulation.expressions import Expression

__all__ = ["System"]


@dataclass(frozen=True)
class System:
    """An initial value problem.

    A name belongs to one quantity; ``time`` is the time and no quantity.

    Attributes
    ----------
    name : str
        Name of the model.
    parameters : mapping of str to float
        Values that do not change and that a user may set.
    constants : mapping of str to Expression
        Values that do not change, from parameters and other constants.
    initial : mapping of str to Expression
        The value of each state at the start. Every name may occur; the name of a state is its
        initial value.
    derivatives : mapping of str to Expression
        The derivative of each state with respect to the time. Its keys are those of ``initial``.
    functions : mapping of str to Expression
        Other values that change in time, from any name. They may use each other but not in a cycle.
    resets : mapping of str to Expression
        Values that states get after each step, all at once. The names in them have their values
        at the end of the step. An integrator with its own choice of steps refuses a system that
        has any.
    start : float
        The time at which ``initial`` holds.
    time_unit : str
        Unit of the time, empty if the model has none.
    units : mapping of str to str
        The unit of each quantity that has one.
    """

    name: str
    parameters: Mapping[str, float]
    constants: Mapping[str, Expression]
    initial: Mapping[str, Expression]
    derivatives: Mapping[str, Expression]
    functions: Mapping[str, Expression]
    resets: Mapping[str, Expression] = field(default_factory=dict)
    start: float = 0.0
    time_unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
