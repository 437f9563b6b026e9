"""Every method of every problem on samples of every family; new methods are included."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import numpy as np
import pyopencl as cl
import pytest

import pyapsp
from pyapsp.errors import CapabilityError, DeviceError, ParameterError
from pyapsp.paths import Weights
from pyapsp.registry import runs
from pyapsp.registry.record import SCHEMA

# By default a method is tested on one family, its neighbours on others.
CASES = [
    pytest.param(
        (problem, method, family),
        id=f"{problem.id}-{method.id}-{family}",
        marks=[pytest.mark.slow] * ((number + other) % len(problem.families) > 0),
    )
    for problem in pyapsp.problems()
    for number, method in enumerate(pyapsp.methods(problem.id))
    for other, family in enumerate(problem.families)
]


def request_for(problem, method, given, device, dtype=None):
    asked = {"predecessors": True} if "predecessors" in problem.asks else {}
    dtype = problem.dtypes[0] if dtype is None else dtype
    return problem.ask(given, method(), dtype=dtype, device=device, **asked)


def solved(problem, method, given, device, dtype=None):
    request = request_for(problem, method, given, device, dtype)
    return request, runs.solve(request)


@pytest.mark.parametrize("problem", pyapsp.problems(), ids=lambda problem: problem.id)
def test_a_call_uses_the_device_of_its_graph(problem, device):
    other = pyapsp.device.choose(cl.Context([device.handle]))
    given = problem.sample(40, problem.families[0], 0, Weights())
    if isinstance(given, pyapsp.Graph):
        with pyapsp.DeviceGraph(given, other) as there:
            assert problem.ask(there).options.device is other
            assert problem.ask(there, device=device).options.device is device
    else:
        assert problem.ask(given, device=other).options.device is other


@pytest.mark.every(8)
@pytest.mark.parametrize("case", CASES)
def test_answers_are_right(case, device):
    problem, method, family = case
    for number, size in enumerate((1, 2, 40, 150)):
        given = problem.sample(size, family, number, method.requires)
        # another type for each size; samples of odd seeds may have negative weights
        dtype = problem.dtypes[(0, 1, -1, -2)[number] % len(problem.dtypes)]
        request = request_for(problem, method, given, device)
        oracle = problem.oracle(request.input, request.options)
        for each in {problem.dtypes[0], dtype}:
            try:
                _, found = solved(problem, method, given, device, each)
            except CapabilityError as missing:
                assert each in str(missing)  # noqa: PT017 - a type that the device lacks
                continue
            check = oracle(found.answer)
            assert check.ok, (size, each, check.fault)
            assert found.record["dtype"] == each


@pytest.mark.parametrize("case", CASES)
def test_oracles_notice_one_wrong_value(case, device):
    problem, method, family = case
    if family != problem.families[0]:
        method = pyapsp.methods(problem.id)[0]
    given = problem.sample(40, family, 2, method.requires)
    request, found = solved(problem, method, given, device)
    oracle = problem.oracle(request.input, request.options)
    assert oracle(found.answer).ok
    arrays = {
        field.name: getattr(found.answer, field.name)
        for field in dataclasses.fields(found.answer)
        if isinstance(getattr(found.answer, field.name), np.ndarray)
    }
    assert arrays
    for name, values in arrays.items():
        for place in (0, values.size // 2, values.size - 1):
            changed = values.copy()
            if changed.dtype.kind == "f" and not np.isfinite(changed.flat[place]):
                changed.flat[place] = 7
            else:
                changed.flat[place] += 1
            check = oracle(dataclasses.replace(found.answer, **{name: changed}))
            assert not check.ok, (name, place)
            assert check.fault
            with pytest.raises(pyapsp.errors.VerificationError):
                check.require()


@pytest.mark.parametrize("problem", pyapsp.problems(), ids=lambda each: each.id)
def test_samples_come_from_their_seed(problem):
    # methods that need unit weights would make all meshes alike
    requires = type(pyapsp.methods(problem.id)[0].requires)()
    for family in problem.families:
        one, again, other = (problem.sample(60, family, seed, requires) for seed in (4, 4, 6))
        told = problem.about(one)
        assert told == problem.about(again)
        assert told["hash"] != problem.about(other)["hash"]
        assert 0.5 * 60 <= told["n"] <= 60
        assert told["name"]
        assert problem.about(problem.sample(0, family, 4, requires))["n"] == 0


@pytest.mark.parametrize("problem", pyapsp.problems(), ids=lambda each: each.id)
def test_records_say_the_same_of_every_problem(problem, device):
    method = pyapsp.methods(problem.id)[0]
    given = problem.sample(50, problem.families[0], 0, method.requires)
    request, found = solved(problem, method, given, device)
    record = found.record
    assert (record["problem"], record["unit"], record["method"]) == (
        problem.id,
        problem.unit,
        method.id,
    )
    assert record["input"] == problem.about(request.input)
    assert record["work"] == problem.work(request.input, request.options, found.answer) > 0
    assert record["rate"] == pytest.approx(record["work"] / record["kernel_seconds"])
    assert record["wall_seconds"] >= record["kernel_seconds"]
    assert record["device"]["name"] == device.name
    assert record["schema"] == SCHEMA
    assert found.reasons()[0].startswith(f"method {method.id}: as asked")


@pytest.mark.parametrize("problem", pyapsp.problems(), ids=lambda each: each.id)
def test_auto_takes_a_method_of_the_problem(problem, device):
    given = problem.sample(50, problem.families[0], 0, pyapsp.methods(problem.id)[0].requires)
    found = runs.solve(problem.ask(given, "auto", device=device))
    assert found.record["method"] in {each.id for each in pyapsp.methods(problem.id)}
    assert "auto" in found.reasons()[0]


def test_auto_asks_no_method_behind_the_first_that_can_answer(device, monkeypatch):
    asked = []
    for cls in pyapsp.methods("bfs"):

        def unmet(self, about, options, before=cls.unmet):
            asked.append(self.id)
            return before(self, about, options)

        monkeypatch.setattr(cls, "unmet", unmet)
    problem = pyapsp.problem("bfs")
    request = problem.ask(problem.sample(37, "uniform", 0, Weights()), "auto", device=device)
    choices = problem.choices(request)
    assert next(choices).method.id == "bfs-direction-optimising" == asked.pop()
    assert not asked
    rest = [choice.method.id for choice in choices]
    assert rest[0] == "bfs-virtual-warp"
    assert rest[-1] == "bfs-streamed"


@pytest.mark.parametrize("problem", pyapsp.problems(), ids=lambda each: each.id)
def test_methods_of_another_problem_are_refused(problem, device):
    given = problem.sample(9, problem.families[0], 0, pyapsp.methods(problem.id)[0].requires)
    other = next(each for each in pyapsp.methods() if each.problem != problem.id)
    for asked in (other.id, other(), "no-such-method"):
        with pytest.raises(ParameterError, match="'method' parameter"):
            problem.ask(given, asked, device=device)


def test_an_unknown_problem_is_named():
    with pytest.raises(ParameterError, match="'problem' parameter of pyapsp must"):
        pyapsp.problem("mine.gr")


def test_every_method_says_where_it_comes_from():
    ids = [method.id for method in pyapsp.methods()]
    assert len(set(ids)) == len(ids)
    for method in pyapsp.methods():
        assert method.summary
        assert method.problem in {problem.id for problem in pyapsp.problems()}
        assert isinstance(pyapsp.method(method.id), method)


FIRST = [
    "pyapsp.all_pairs.sparse.johnson",
    "pyapsp.all_pairs.dense.fw_packed",
    "pyapsp.traversal.bfs.helix",
]


@pytest.mark.every(3)
@pytest.mark.parametrize("first", FIRST)
def test_methods_have_one_order_whatever_is_imported_first(first):
    code = (
        f"import {first}, pyapsp\n"
        "try: pyapsp.method('no such method')\n"
        "except pyapsp.errors.ParameterError as error: print(error)\n"
        "print([method.id for method in pyapsp.methods()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    error, listed = done.stdout.splitlines()
    ids = [method.id for method in pyapsp.methods() if method.problem != "toy"]
    assert listed == repr(ids)
    assert f"one of {', '.join(ids)}. Got" in error


# Methods of which a part, or the whole, is not published anywhere else.
OURS = (
    "fw-minplus",
    "ms-bfs",
    "near-far",
    "triangles-bitmap",
    "triangles-hash",
    "truss-peeling",
    "truss-serial",
)


@pytest.mark.parametrize("method", pyapsp.methods(), ids=lambda each: each.id)
def test_every_source_can_be_looked_up(method):
    """A source has a DOI or an address. A method of our own says so, and what it is based on."""
    assert re.search(r"doi:10\.\d{4,}/\w|https://\w", method.source), method.source
    assert re.search(r" (19|20)\d\d\b", method.source)  # somebody's, and when
    parts = method.source.split("; ")
    ours = [part for part in parts if part == "ours" or part.endswith(": ours")]
    assert bool(ours) == ("ours" in method.source) == (method.id in OURS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bfs-all", "apsp-bfs"),
        ("sssp-iterative", "apsp-iterative"),
        ("sssp-tasks", "apsp-tasks"),
        ("sssp-tasks-unshared", "apsp-tasks-unshared"),
    ],
)
def test_old_names_tell_the_new_ones(old, new):
    for ask in (lambda: pyapsp.method(old), lambda: pyapsp.solve([[0, 1], [0, 0]], old)):
        with pytest.raises(ParameterError, match=f"'{old}' is called '{new}' now"):
            ask()
    assert pyapsp.method(new).problem == "all-pairs"


@pytest.mark.parametrize("value", [4, 5, 100, 16_384, np.int64(33)])
def test_a_threshold_takes_every_whole_number_of_its_range(value):
    chosen = pyapsp.method("partition-dynamic-warp", threshold=value)
    assert chosen.parameters == {"threshold": value}


@pytest.mark.parametrize("value", [3, 16_385, "100", True, 100.0])
def test_a_threshold_takes_nothing_else(value):
    with pytest.raises(ParameterError, match=r"must be a whole number in \[4, 16384\]"):
        pyapsp.method("partition-dynamic-warp", threshold=value)


def test_a_little_memory_is_refused_before_the_run(device):
    for problem in pyapsp.problems():
        method = pyapsp.methods(problem.id)[0]
        given = problem.sample(200, problem.families[0], 0, method.requires)
        with pytest.raises(DeviceError, match="memory"):
            runs.solve(problem.ask(given, method(), device=device, memory_limit=64))
