"""Problems, and the methods that solve them.

A `Problem` defines how inputs are made, how much work a run did, and whether an answer is right. A
`Method` is an algorithm for one problem. Both are registered here. Tests, tuner, bench, command
line, workflow, tables and documentation enumerate the registry.
"""

from pyapsp.registry.algorithm import Method, Requirements
from pyapsp.registry.descriptor import Choice, Problem, Request
from pyapsp.registry.index import (
    method,
    method_of,
    methods,
    problem,
    problems,
    register,
    register_problem,
)
from pyapsp.registry.limits import check_limits, check_memory, fits
from pyapsp.registry.order import in_order
from pyapsp.registry.request import Limits, request
from pyapsp.registry.steps import (
    Answer,
    AnyPlan,
    Check,
    Hashed,
    Loaded,
    OpaquePlan,
    Options,
    Parameters,
    ParameterValues,
    Plan,
    Stats,
    Thresholds,
)

__all__ = [
    "Answer",
    "AnyPlan",
    "Check",
    "Choice",
    "Hashed",
    "Limits",
    "Loaded",
    "Method",
    "OpaquePlan",
    "Options",
    "ParameterValues",
    "Parameters",
    "Plan",
    "Problem",
    "Request",
    "Requirements",
    "Stats",
    "Thresholds",
    "check_limits",
    "check_memory",
    "fits",
    "in_order",
    "method",
    "method_of",
    "methods",
    "problem",
    "problems",
    "register",
    "register_problem",
    "request",
]
