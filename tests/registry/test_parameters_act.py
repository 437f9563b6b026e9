"""Every value of every parameter acts or is refused: what is compiled, or launched, differs.

Words differ from each other. Of numbers two must differ, because a threshold beyond the size of the
input is that of the size. A parameter may act only together with others: those of `TOGETHER`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import pyapsp
from pyapsp.errors import ParameterError

sys.path.insert(0, str(Path(__file__).parent))
import acting

# A configuration of Helix: without the others, a value of a parameter changes some of them.
_HELIX: dict[str, int | str] = {
    **{"group": 64, "warp": 8, "balance": "node", "width": 2, "gather": "none", "heavy": "none"},
    **{"base": 6, "queue": "vertex", "sync": "multi", "update": "ballot", "duplicates": "none"},
    **{"bitmask": "none", "rows": "csr", "scan": "ordered", "leaves": "keep", "chunk": "fixed"},
    "prefix": "two-pass",
}
# What it has for one of its parameters.
_CHANGED: dict[str, dict[str, int | str]] = {
    "warp": {"balance": "scan-warp", "width": 1},
    "balance": {"width": 1},
    "base": {"heavy": "bins"},
    **{name: {"balance": "device", "width": 1} for name in ("leaves", "chunk", "prefix")},
}
# With these other parameters a parameter acts that does nothing without them.
TOGETHER: dict[tuple[str, str], dict[str, int | str]] = {
    ("bfs-4k", "coalesce"): {"warp": 32},
    ("bfs-4k", "discover"): {"warp": 16},
    ("bfs-4k", "dynamic"): {"single": 0, "heavy": 200, "piece": 4},
    ("bfs-4k", "extended"): {"dynamic": "relaunch", "group": 1024},
    ("bfs-4k", "least_width"): {"group": 64, "warp": 32, "single": 0, "resident": 16},
    ("bfs-4k", "resident"): {"single": 4},
    ("bfs-4k", "sync"): {"dynamic": "off", "single": 0},
    ("bfs-4k", "widths"): {"group": 64, "warp": 32, "least_width": 1, "single": 16, "discover": 0},
    ("bfs-b40c", "resident"): {"frontier": "hybrid"},
    ("bfs-b40c", "warp"): {"group": 32},
    ("bfs-direction-optimising", "crew"): {"group": 64},
    ("bfs-gunrock", "each"): {"balance": "arcs"},
    ("bfs-gunrock", "warp"): {"group": 256},
    ("bfs-luo", "middle"): {"group": 1},
    ("partition-dynamic-warp", "each"): {"threshold": 4, "least": 32},
    ("partition-dynamic-warp", "heavy"): {"threshold": 4, "least": 4},
    ("partition-multi-phase", "deviation"): {"search": "hybrid", "mean": 1024},
    ("partition-multi-phase", "grid"): {"each": 3},
    ("partition-multi-phase", "mean"): {"search": "hybrid", "deviation": 1024},
    ("fw-outofcore", "split"): {"block": 64, "rows": 64},  # several parts, whatever the speeds
    ("partition-multi-phase", "resident"): {"grid": "resident", "each": 1, "rounds": 1},
    ("partition-multi-phase", "staging"): {"warp": 8},
    ("partition-multi-phase", "vector"): {"group": 16, "each": 4},
    ("sssp-bucketing", "buckets"): {"delta": 25},
    ("scc-colouring", "width"): {"group": 64, "sweeps": 1},
    ("scc-multi-step", "colour_search"): {"searches": 17, "trim": 0},
}
TOGETHER |= {
    ("bfs-helix", name): {
        each: value for each, value in {**_HELIX, **_CHANGED.get(name, {})}.items() if each != name
    }
    for name in _HELIX
    if name != "group"  # which has to be asked for on a CPU
}
# Inputs on which a parameter acts that does nothing on the usual one.
INPUTS = {
    ("bfs-b40c", "frontier"): acting.Input(20_000),
    ("bfs-gunrock", "balance"): acting.Input(20_000),  # with a frontier of more than 4,096 vertices
    ("fw-minplus", "bits"): acting.Input(like="near-far"),  # without negative weights
    ("scc-colouring", "width"): acting.Input(family="mesh"),
}
# These act on something else than launches on one device, which other tests look at.
ELSEWHERE = {
    ("dijkstra-cpu", "threads"): "threads of the host",
    ("fw-mm", "selector"): "the model that chooses l: see its tests; models may agree",
    ("fw-multidevice", "helpers"): "which of several devices take part",
    ("fw-outofcore", "helpers"): "which of several devices take part",
    ("fw-outofcore", "interval"): "how often a checkpoint is written",
    ("fw-outofcore", "lookahead"): "the order of launches: see its tests",
    ("fw-outofcore", "pivot"): "which of several devices closes pivot blocks",
    ("fw-twolevel", "selector"): "the model that chooses l, as in fw-mm",
    ("johnson", "search"): "the id of another method, which has tests of its own",
}
# Each of them takes seconds: by default every twelfth, and those where a fault was found.
ALWAYS = {("sssp-h-bf", "duplicates"), ("near-far", "delta"), ("bfs-helix", "rules")}

PARAMETERS = [
    (method.id, name)
    for problem in pyapsp.problems()
    for method in pyapsp.methods(problem.id)
    for name in method.choices
    if (method.id, name) not in ELSEWHERE
]


def values_of(method: str, name: str) -> Sequence[int | str]:
    """The values of a parameter, or three of many."""
    values = pyapsp.method(method).choices[name]
    return [values[0], values[len(values) // 3], values[-1]] if len(values) > 20 else values


def context(method: str, name: str) -> acting.Context:
    """With what a parameter acts."""
    place = method, name
    return {"others": TOGETHER.get(place, {}), "about": INPUTS.get(place, acting.Input())}


@pytest.fixture(autouse=True)
def _clang():
    if shutil.which("clang-19") is None:
        pytest.fail("the preprocessor is that of clang: apt install clang-19")


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("method", "name"),
    [
        pytest.param(*each, marks=[] if each in ALWAYS or not place % 12 else pytest.mark.nightly)
        for place, each in enumerate(PARAMETERS)
    ],
)
def test_every_value_acts_or_is_refused(method, name, device):
    groups = acting.alike(method, name, values_of(method, name), device, **context(method, name))
    assert _acts(groups), groups


def _acts(groups: Sequence[acting.Alike]) -> bool:
    """Return whether values differ, and no two words do the same."""
    words = [sum(isinstance(each, str) for each in group.values) for group in groups]
    accepted = sum(len(group.values) for group in groups)
    return max(words) < 2 and (len(groups) > 1 or accepted == 1)


@pytest.mark.parametrize(
    ("method", "name", "value", "others", "only"),
    [
        ("bfs-4k", "coalesce", 10, {"warp": 8, "queue": 4}, 0),
        ("bfs-4k", "coalesce", 1, {"warp": 1}, 0),
        ("bfs-b40c", "resident", 16, {"frontier": "two-phase"}, 2048),
        ("bfs-gunrock", "each", 2, {"balance": "degrees"}, 8),
        ("bfs-gunrock", "switch", 64, {"balance": "arcs"}, 4096),
        ("partition-dynamic-warp", "each", 4, {"heavy": "none"}, 8),
        ("partition-dynamic-warp", "each", 4, {"heavy": "group-strip"}, 8),
        ("partition-dynamic-warp", "threshold", 32, {"heavy": "none"}, 4096),
        ("partition-dynamic-warp", "least", 4, {"width": 8, "group": 16}, 1),
        ("partition-dynamic-warp", "resident", 64, {"width": 1}, 1),
        ("partition-multi-phase", "deviation", 5, {"search": "standard"}, 8),
        ("partition-multi-phase", "mean", 3, {"search": "standard"}, 9),
        ("partition-multi-phase", "prefetch", 1, {"find": "marks", "group": 16}, 0),
        ("partition-multi-phase", "staging", "warp", {"find": "marks", "group": 16}, "group"),
        ("partition-multi-phase", "vector", 1, {"find": "search", "group": 16, "each": 10}, 0),
        ("partition-multi-phase", "vector", 1, {"find": "search", "group": 1}, 0),
        ("partition-multi-phase", "warp", 8, {"find": "marks", "group": 16}, 16),
        ("partition-two-phase", "search", "interpolation", {"form": "merge-path"}, "optimised"),
    ],
)
def test_a_value_that_does_nothing_is_refused(method, name, value, others, only, device):
    about = acting.Input(40)
    message = f"{name}={value} of {method} does nothing with .*: there it can only be {only}$"
    with pytest.raises(ParameterError, match=message):
        acting.sources_of(method, {**others, name: value}, about, device)
    # without it the method runs, and the one value may be given
    acting.sources_of(method, others, about, device)
    acting.sources_of(method, {**others, name: only}, about, device)


def test_a_parameter_that_does_nothing_is_found():
    def acts(*groups):
        return _acts([acting.Alike(group) for group in groups])

    assert not acts(["a", "b"])
    assert not acts(["a", "b"], ["c"])
    assert acts(["a"], ["b"])
    assert acts(["a", 1], ["b"])
    assert acts([1], [2, 3])
    assert acts([1])  # the others are refused
    assert not acts([1, 2, 3])


def test_only_what_a_kernel_reaches_counts():
    text = """
    #define A 1
    typedef int number;
    static inline number twice(number x) { return A * x; }
    static inline number other(number x) { return 7 * x; }
    __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void k(global number *x)
    { x[0] = twice(x[0]); }
    __kernel void l(global number *x) { x[0] = other(x[0]); }
    """
    reached = acting.reached(text, "k")
    assert "twice" in reached
    assert "typedef" in reached
    assert "other" not in reached
    assert acting.reached(text.replace("A 1", "A 2"), "k") != reached
    assert acting.reached(text.replace("7 *", "8 *"), "k") == reached
    assert acting.reached(text, "m") == ""
