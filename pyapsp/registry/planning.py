"""The plan of a call: a new one, or that of an earlier call with the same graph on a device.

To choose parameters and find the kernels takes a fifth of the time of a small call, and the result
depends on few of its arguments. So an input that stays on a device, a `DeviceGraph`, has the plans
of its calls, until it is released or deleted. They have no memory of the device: buffers are
allocated when a plan runs.
"""

from __future__ import annotations

from collections.abc import Hashable

from pyapsp.base.changed import changed
from pyapsp.registry.algorithm import Method
from pyapsp.registry.steps import AnyPlan, Options
from pyapsp.registry.tuning.database import databases

__all__ = ["plan_for"]

# Plans of a graph. If there are more, all are deleted: somebody tries parameters or limits.
_MOST = 64


def plan_for(method: Method, data: object, options: Options) -> AnyPlan:
    """Return the plan of a method; an earlier one if it is the same.

    Parameters and errors are those of `Method.plan`.
    """
    plans: dict[Hashable, AnyPlan] | None = getattr(data, "plans", None)
    decisive = options.decisive
    if plans is None or decisive is None:
        return method.plan(data, options)
    # facts of a graph become its attributes when they are first known
    facts = len(vars(data))
    key = type(method), tuple(method.parameters.items()), decisive, facts, databases()
    before = plans.get(key)
    if before is not None:
        return changed(before, input=data, options=options)
    plan = method.plan(data, options)
    if plan.input is data and plan.options is options:
        if len(plans) >= _MOST:
            plans.clear()
        # without the graph, which would refer to itself, and the rows of the answer
        plans[key] = changed(plan, input=None, options=None, build_seconds=0.0)
    return plan
