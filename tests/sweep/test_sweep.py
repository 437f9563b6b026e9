"""The sweep engine: both schemes from one body, slices, choices and what it refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count, islice

import numpy as np
import pytest

from pyapsp.device import model, quirks
from pyapsp.errors import DeviceError, DeviceMemoryError, KernelBuildError, ParameterError
from pyapsp.sweep import Array, Repeat, Step, Sweep, engine
from pyapsp.sweep.forms import default_lanes

SCHEMES = ["naive", "interleaved"]

# Two steps; the second reads what other threads of the task wrote in the first.
BODY = """
STEP(multiply)
{
    const int i = THREAD_Y * 5 + THREAD_X;
    double sum = COMMON(offset, 0);
    for (int k = 0; k < 10; k++)
        sum += COMMON(matrix, i * 10 + k) * IN(vector, k);
    SCRATCH(product, i) = sum;
}
STEP(reverse)
{
    const int i = THREAD_X;
    OUT(result, i) = SCRATCH(product, 9 - i);
    OUT(which, 0) = TASK;
}
"""
ARRAYS = [
    Array("vector", "input", "float64", (2, 5)),
    Array("matrix", "common", "float64", (10, 10)),
    Array("offset", "common", "float64"),
    Array("product", "scratch", "float64", 10),
    Array("result", "output", "float64", 10),
    Array("which", "output", "int32"),
]
STEPS = [Step("multiply", (5, 2), stage=["matrix"]), Step("reverse", 10)]

# Rounds of each task differ: 3 n + 1 until one is reached, as Collatz has it.
COLLATZ = """
STEP(start) { SCRATCH(value, THREAD_X) = IN(first, THREAD_X); }
STEP(next)
{
    const int value = SCRATCH(value, THREAD_X);
    if (value > 1) {
        SCRATCH(value, THREAD_X) = value % 2 ? 3 * value + 1 : value / 2;
        OUT(rounds, THREAD_X)++;
        AGAIN();
    }
}
"""
COLLATZ_ARRAYS = [
    Array("first", "input", "int32", 3),
    Array("value", "scratch", "int32", 3),
    Array("rounds", "output", "int32", 3, fill=0),
]

# Sums of rows of different lengths, one for each thread.
ROWS = """
for (int i = COMMON(first, THREAD_X); i < COMMON(first, THREAD_X + 1); i++)
    OUT(sum, THREAD_X) += IN(scale, 0) * COMMON(entries, i);
"""


def rows_of(lengths):
    first = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    entries = np.arange(first[-1], dtype=np.int32) % 1001
    return first, entries, np.diff(np.concatenate([[0], np.cumsum(entries)])[first])


def example(tasks, seed=0):
    rng = np.random.default_rng(seed)
    vector, matrix = rng.random((tasks, 2, 5)), rng.random((10, 10))
    expected = (vector.reshape(tasks, 10) @ matrix.T + 0.5)[:, ::-1]
    return {"vector": vector, "matrix": matrix, "offset": 0.5}, expected


def collatz(values):
    rounds = np.zeros_like(values)
    while (more := values > 1).any():
        rounds += more
        values = np.where(more, np.where(values % 2, 3 * values + 1, values // 2), values)
    return rounds


@pytest.fixture
def like_gpu(monkeypatch):
    """Launch on any device as on one where neighbouring work-items form a vector."""
    traits = quirks.Traits("builtin", "builtin", max_vector_bytes=8, scalar_groups=False)
    monkeypatch.setattr(model, "traits_of", lambda *who: traits)


@pytest.fixture
def overlapping(monkeypatch):
    """Transfer slices in threads, as for a device with its own memory."""
    seen, plan = [], engine.plan

    def overlapped(*arguments, **options):
        planned = plan(*arguments, **options)
        seen.append(replace(planned, slots=3))
        return seen[-1]

    monkeypatch.setattr(engine, "plan", overlapped)
    return seen


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tasks", [0, 1, 32, 101])
def test_schemes_agree_with_numpy(tasks, scheme, device):
    arrays, expected = example(tasks)
    outcome = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme)(**arrays)
    assert set(outcome) == {"result", "which"}
    assert outcome["result"].shape == (tasks, 10)
    np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)
    np.testing.assert_array_equal(outcome["which"], np.arange(tasks))
    assert outcome.scheme == scheme
    assert outcome.lanes == (1 if scheme == "naive" else default_lanes(device))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("staging", [False, True])
@pytest.mark.parametrize("lanes", [4, 64])
def test_groups_of_gpus(lanes, staging, scheme, like_gpu, device):
    arrays, expected = example(77)
    options = {"device": device, "scheme": scheme, "lanes": lanes, "staging": staging}
    outcome = Sweep(BODY, ARRAYS, STEPS, **options)(**arrays)
    np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)
    np.testing.assert_array_equal(outcome["which"], np.arange(77))


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "uint64"])
def test_arrangement_and_back(kind, like_gpu, device):
    rng = np.random.default_rng(1)
    for shape in ((1,), (32,), (3, 11)):
        arrays = [Array("x", "input", kind, shape), Array("y", "output", kind, shape)]
        size = int(np.prod(shape))
        sweep = Sweep(
            "OUT(y, THREAD_X) = IN(x, THREAD_X);",
            arrays,
            Step("task", size),
            device=device,
            scheme="interleaved",
        )
        x = rng.integers(0, 200, (45, *shape)).astype(kind)
        outcome = sweep(x=x)
        np.testing.assert_array_equal(outcome["y"], x)
        assert (outcome.seconds["arrangement"] > 0) == (size > 1)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("gpu", [False, True])
def test_repeated_until_no_task_asks(gpu, scheme, device, request):
    if gpu:
        request.getfixturevalue("like_gpu")
    steps = [Step("start", 3), Repeat(Step("next", 3))]
    first = np.random.default_rng(0).integers(1, 200, (50, 3), np.int32)
    sweep = Sweep(COLLATZ, COLLATZ_ARRAYS, steps, device=device, scheme=scheme)
    np.testing.assert_array_equal(sweep(first=first)["rounds"], collatz(first))


def test_too_many_rounds(device):
    def rounds(limit):
        steps = [Step("start", 3), Repeat(Step("next", 3), limit=limit)]
        sweep = Sweep(COLLATZ, COLLATZ_ARRAYS, steps, device=device, scheme="naive")
        return sweep(first=np.full((2, 3), 27, np.int32))["rounds"]

    # one more in which nothing asks
    assert (rounds(112) == 111).all()
    with pytest.raises(ParameterError, match=r"'limit' parameter of Repeat .* Got 111"):
        rounds(111)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("longest", [3, 3000])
def test_rows_are_staged_where_they_fit(longest, scheme, like_gpu, device):
    lengths = np.random.default_rng(2).integers(0, longest + 1, 40)
    first, entries, sums = rows_of(lengths)
    arrays = [
        Array("first", "common", "int32", 41),
        Array("entries", "common", "int32", entries.size, rows="first"),
        Array("scale", "input", "int32"),
        Array("sum", "output", "int32", 40, fill=0),
    ]
    step = Step("task", 40, stage=["entries"])
    sweep = Sweep(ROWS, arrays, step, device=device, scheme=scheme)
    scale = np.arange(70, dtype=np.int32)
    found = sweep(scale=scale, first=first, entries=entries)["sum"]
    np.testing.assert_array_equal(found, scale[:, None] * sums)
    assert "__local int near_entries" in sweep.source(scheme)


def test_threads_in_three_dimensions(device):
    body = """
    const int own = (THREAD_Z * 5 + THREAD_Y) * 70 + THREAD_X;
    OUT(place, own) = TASK * 1000 + THREAD_Z * 500 + THREAD_Y * 100 + THREAD_X;
    """
    z, y, x = np.ogrid[:3, :5, :70]
    for scheme in SCHEMES:
        arrays = [Array("place", "output", "int32", (3, 5, 70))]
        found = Sweep(body, arrays, Step("task", (70, 5, 3)), device=device, scheme=scheme)(20)
        expected = np.arange(20)[:, None, None, None] * 1000 + z * 500 + y * 100 + x
        np.testing.assert_array_equal(found["place"], expected)


VECTORS = """
LANE(float) x = IN(x, 0);
LANE(int) going = x > 1, count = 0;
while (ANY(going)) {
    x = going ? x / 2 : x;
    count += going ? (LANE(int))1 : (LANE(int))0;
    going = x > 1;
}
OUT(count, 0) = CONVERT(int, count);
"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_vectors_of_tasks(scheme, device):
    arrays = [Array("x", "input", "float32"), Array("count", "output", "int32")]
    sweep = Sweep(VECTORS, arrays, device=device, scheme=scheme, vectors=True)
    x = np.random.default_rng(0).random(101, np.float32) * 1000
    outcome = sweep(x=x)
    np.testing.assert_array_equal(outcome["count"], np.ceil(np.log2(x)).clip(0))
    if device.traits.scalar_groups:
        assert outcome.lanes == (1 if scheme == "naive" else device.traits.lanes(4))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tasks_that_fit", [64, 17, 5, 1])
def test_slices_give_identical_results(tasks_that_fit, scheme, device):
    arrays, expected = example(99)
    whole = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme)(**arrays)
    assert whole.slices == 1
    per_task = 8 * 30 + 4 + (8 * 20 if scheme == "interleaved" and tasks_that_fit > 1 else 0)
    limit = 808 + 64 + tasks_that_fit * per_task
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme, memory_limit=limit)
    sliced = sweep(**arrays)
    assert sliced.slices >= 99 / tasks_that_fit
    assert sliced.device_bytes <= limit
    for name in whole:
        np.testing.assert_array_equal(sliced[name], whole[name])
    np.testing.assert_allclose(sliced["result"], expected, rtol=1e-12)
    if scheme == "interleaved":
        # fewer lanes where the usual ones do not fit
        usual = default_lanes(device)
        assert sliced.lanes == {64: usual, 17: 16, 5: 4, 1: 1}[tasks_that_fit]


def test_what_does_not_fit_at_all(device):
    arrays, _ = example(9)
    for scheme in ("auto", "naive", "interleaved", "measure"):
        sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme, memory_limit=1000)
        with pytest.raises(DeviceMemoryError, match="memory_limit") as caught:
            sweep(**arrays)
        assert caught.value.available == 1000
        assert caught.value.needed == 808 + 64 + 8 * 30 + 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_slices_overlap(scheme, overlapping, device):
    arrays, expected = example(333)
    done = []
    options = {"per_launch": 32, "progress": lambda *step: done.append(step)}
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme, **options)
    outcome = sweep(**arrays)
    assert overlapping[-1].slots == 3
    assert outcome.slices == 11
    np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)
    np.testing.assert_array_equal(outcome["which"], np.arange(333))
    assert done == [(min(32 * (k + 1), 333), 333) for k in range(11)]
    steps = [Step("start", 3), Repeat(Step("next", 3))]
    first = np.random.default_rng(0).integers(1, 200, (150, 3), np.int32)
    sweep = Sweep(COLLATZ, COLLATZ_ARRAYS, steps, device=device, scheme=scheme, per_launch=32)
    np.testing.assert_array_equal(sweep(first=first)["rounds"], collatz(first))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tasks_as_they_come_while_slices_overlap(scheme, overlapping, device):
    arrays, expected = example(150)
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme, per_launch=16)
    common = {name: arrays[name] for name in ("matrix", "offset")}
    found = sweep.over(({"vector": arrays["vector"][k % 150]} for k in count()), **common)
    taken = list(islice(found, 200))
    found.close()
    assert overlapping[-1].slots == 3
    np.testing.assert_allclose([each["result"] for each in taken[:150]], expected, rtol=1e-12)
    np.testing.assert_array_equal([each["which"] for each in taken], np.arange(200))


def test_a_failure_while_slices_overlap(overlapping, device):
    def broken(done, total):
        raise ZeroDivisionError

    arrays, _ = example(333)
    sweep = Sweep(
        BODY, ARRAYS, STEPS, device=device, scheme="naive", per_launch=32, progress=broken
    )
    with pytest.raises(ZeroDivisionError):
        sweep(**arrays)


def test_the_breakdown_is_of_what_was_done(device):
    arrays, _ = example(64)
    naive = Sweep(BODY, ARRAYS, STEPS, device=device, scheme="naive")(**arrays).seconds
    other = Sweep(BODY, ARRAYS, STEPS, device=device, scheme="interleaved")(**arrays).seconds
    for seconds in (naive, other):
        assert set(seconds) == {"upload", "arrangement", "kernel", "readback", "total"}
        assert all(seconds[name] > 0 for name in ("upload", "kernel", "readback"))
        assert sum(seconds.values()) <= 2 * seconds["total"]
    assert naive["arrangement"] == 0
    assert other["arrangement"] > 0


@pytest.mark.parametrize("scheme", ["auto", "measure", "naive", "interleaved"])
def test_tasks_as_they_come(scheme, device):
    arrays, expected = example(150)
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme=scheme, per_launch=32)
    common = {name: arrays[name] for name in ("matrix", "offset")}
    tasks = ({"vector": vector} for vector in arrays["vector"])
    for number, found in enumerate(sweep.over(tasks, **common)):
        np.testing.assert_allclose(found["result"], expected[number], rtol=1e-12)
        assert found["which"] == number
    assert number == 149
    assert list(sweep.over([], **common)) == []
    endless = ({"vector": arrays["vector"][k % 150]} for k in count())
    taken = list(islice(sweep.over(endless, **common), 200))
    np.testing.assert_allclose(taken[-1]["result"], expected[49], rtol=1e-12)


# Each thread adds up a row of eight; or neighbours take neighbours.
STRIDED = """
float sum = 0;
for (int k = 0; k < 8; k++)
    sum += IN(x, THREAD_X * 8 + k);
OUT(y, THREAD_X) = sum;
"""
LINEAR = "OUT(y, THREAD_X) = IN(x, THREAD_X) + IN(x, THREAD_X + 64);"
# Which entry is read depends on the task.
SCATTERED = "OUT(y, THREAD_X) = IN(x, (THREAD_X + TASK * 37 + TASK * TASK * 11) % 512);"


def access_arrays():
    return [Array("x", "input", "float32", 512), Array("y", "output", "float32", 64)]


def test_the_guideline_follows_the_accesses(like_gpu, device):
    x = np.random.default_rng(0).random((64, 512), np.float32)
    found = {}
    for name, body in (("strided", STRIDED), ("linear", LINEAR), ("scattered", SCATTERED)):
        sweep = Sweep(body, access_arrays(), Step("task", 64), device=device)
        [read] = [each for each in sweep.analyse(x=x) if each.array == "x"]
        found[name] = read, sweep(x=x)
    strided, linear, scattered = (found[name][0] for name in ("strided", "linear", "scattered"))
    assert (strided.similarity, strided.continuity, strided.accesses) == (1, 0, 512)
    assert (linear.similarity, linear.continuity, linear.accesses) == (1, 1, 128)
    assert scattered.similarity < 0.1
    assert scattered.continuity > 0.9
    # 32 neighbours in rows of eight floats are in 8 pieces of 128 bytes, interleaved in one
    assert strided.naive == 8 / 32
    assert strided.interleaved == linear.interleaved == 1 / 32
    assert scattered.interleaved == 1
    assert found["linear"][1].scheme == found["scattered"][1].scheme == "naive"
    many = Sweep(
        f"for (int r = 0; r < 9; r++) {{ {STRIDED} }}",
        access_arrays(),
        Step("task", 64),
        device=device,
    )
    outcome = many(x=x)
    assert outcome.scheme == "interleaved"
    assert "memory transactions" in outcome.why
    np.testing.assert_allclose(outcome["y"], x.reshape(64, 64, 8).sum(2), rtol=1e-5)


def test_few_tasks_are_not_interleaved(device):
    arrays, expected = example(7)
    outcome = Sweep(BODY, ARRAYS, STEPS, device=device)(**arrays)
    assert (outcome.scheme, outcome.lanes) == ("naive", 1)
    np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)


def test_what_does_not_fit_interleaved_is_not(device):
    arrays, expected = example(40)
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, memory_limit=808 + 64 + 6 * 404)
    outcome = sweep(**arrays)
    assert outcome.scheme == "naive"
    assert outcome.why == f"{default_lanes(device)} tasks do not fit the memory"
    np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)


def test_a_measurement_takes_the_faster_one(device, monkeypatch):
    arrays, expected = example(200)
    for slow in SCHEMES:
        sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme="measure")
        run = sweep._run

        def delayed(scheme, *rest, slow=slow, run=run, **options):
            outcome = run(scheme, *rest, **options)
            outcome.seconds["total"] += scheme == slow
            return outcome

        monkeypatch.setattr(sweep, "_run", delayed)
        outcome = sweep(**arrays)
        assert outcome.scheme != slow
        assert re.match(r"\d+ tasks took: naive ", outcome.why)
        np.testing.assert_allclose(outcome["result"], expected, rtol=1e-12)


def test_the_compiler_names_the_line_of_the_body(device, tmp_path):
    arrays = [Array("y", "output", "int32")]
    text = "STEP(fails)\n{\n    int x = 1;\n    OUT(y, 0) = x + absent;\n}\n"
    with pytest.raises(KernelBuildError) as caught:
        Sweep(text, arrays, Step("fails"), device=device, scheme="naive")(1)
    assert "body:4:" in caught.value.log
    with pytest.raises(KernelBuildError) as caught:
        Sweep("int x = 1;\nOUT(z, 0) = x;", arrays, device=device, scheme="naive")(1)
    assert "body:2:" in caught.value.log
    path = tmp_path / "my task.cl"
    path.write_text(text)
    with pytest.raises(KernelBuildError) as caught:
        Sweep(path, arrays, Step("fails"), device=device, scheme="interleaved")(32)
    assert "my task.cl:4:" in caught.value.log


def test_inputs_cannot_be_written(device):
    arrays = [Array("x", "input", "int32"), Array("y", "output", "int32")]
    with pytest.raises(KernelBuildError) as caught:
        Sweep("OUT(y, 0) = 1;\nIN(x, 0) = 1;", arrays, device=device, scheme="naive")(x=[1])
    assert "body:2:" in caught.value.log


Y = Array("y", "output", "int32")
REFUSED = {
    "name": (lambda: Array("1st", "input", "int32"), "'name' parameter of Array"),
    "role": (lambda: Array("x", "in", "int32"), "'role' .* one of input, common, output, scratch"),
    "dtype": (lambda: Array("x", "input", "complex64"), "'dtype' parameter of array 'x'"),
    "object": (lambda: Array("x", "input", "no such type"), "'dtype' parameter of array 'x'"),
    "shape": (lambda: Array("x", "input", "int32", (3, 0)), "'shape' .* positive integers"),
    "shape text": (lambda: Array("x", "input", "int32", "wide"), "'shape' .* positive integers"),
    "fill": (lambda: Array("x", "input", "int32", fill=1), "'fill' parameter of array 'x'"),
    "rows": (lambda: Array("x", "output", "int32", rows="y"), "'rows' parameter of array 'x'"),
    "threads": (lambda: Step("s", (1, 0)), "'threads' parameter of step 's'"),
    "dimensions": (lambda: Step("s", (1, 1, 1, 1)), "'threads' parameter of step 's'"),
    "step": (lambda: Step("a b"), "'name' parameter of Step"),
    "repeat": (lambda: Repeat(), "'steps' parameter of Repeat"),
    "limit": (lambda: Repeat(Step("s"), limit=0), "'limit' parameter of Repeat"),
    "no output": (lambda: Sweep("", [Array("x", "input", "int32")]), "an output among them"),
    "twice": (lambda: Sweep("", [Y, Y]), "'arrays' .* different names"),
    "no steps": (lambda: Sweep("", [Y], []), "'steps' parameter of Sweep"),
    "steps": (lambda: Sweep("", [Y], [Step("a"), Step("a", 2)]), "steps of different names"),
    "stage": (lambda: Sweep("", [Y], Step("a", stage=["y"])), "'stage' parameter of step 'a'"),
    "rows of": (
        lambda: Sweep("", [Y, Array("e", "common", "int32", 9, rows="f")]),
        "'rows' parameter of array 'e'",
    ),
    "row count": (
        lambda: Sweep(
            "",
            [
                Y,
                Array("e", "common", "int32", 9, rows="f"),
                Array("f", "common", "int32", 5),
            ],
            Step("a", 5, stage=["e"]),
        ),
        "'threads' parameter of step 'a' must be of 4 threads",
    ),
    "missing step": (lambda: Sweep("STEP(a) {}", [Y], Step("b")), r"one STEP\(b\)"),
    "commented step": (
        lambda: Sweep("// STEP(b)\nSTEP(a) {}", [Y], Step("b")),
        r"one STEP\(b\)",
    ),
    "no body": (lambda: Sweep(3, [Y]), "'body' parameter of Sweep"),
    "scheme": (lambda: Sweep("", [Y], scheme="fast"), "'scheme' .* auto, naive, interleaved"),
    "lanes": (lambda: Sweep("", [Y], lanes=3), "'lanes' parameter of Sweep"),
    "lanes of a float": (lambda: Sweep("", [Y], lanes=2.0), "'lanes' parameter of Sweep"),
    "progress": (lambda: Sweep("", [Y], progress="yes"), "'progress' parameter of Sweep"),
    "a macro of ours": (lambda: Sweep("", [Y], defines={"TASK": 3}), "'defines' .* without TASK"),
    "no number": (lambda: Sweep("", [Y], defines={"N": float("nan")}), "'defines' .* finite"),
    "a truth value": (lambda: Sweep("", [Y], defines={"N": True}), "'defines' parameter of Sweep"),
    "no dtype": (lambda: Array("x", "input", None), "'dtype' parameter of array 'x'"),
    "shape of a bool": (lambda: Array("x", "input", "int8", True), "'shape' .* positive integers"),
    **{
        f"threads {value!r}": (lambda value=value: Step("s", value), "'threads' parameter of step")
        for value in (True, 2.5, None, b"1", np.array(2.5), np.timedelta64(3, "s"))
    },
    **{
        f"stage {value!r}": (
            lambda value=value: Step("s", stage=value),
            "'stage' parameter of step",
        )
        for value in ("ab", True, [3], b"a")
    },
    "limit of a bool": (lambda: Repeat(Step("s"), limit=True), "'limit' parameter of Repeat"),
    "per_launch": (lambda: Sweep("", [Y], per_launch=0), "'per_launch' parameter of Sweep"),
    "memory_limit": (lambda: Sweep("", [Y], memory_limit=-1), "'memory_limit' parameter"),
    "defines": (lambda: Sweep("", [Y], defines={"A B": 1}), "'defines' parameter of Sweep"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_descriptions_that_cannot_be_right(case):
    make, message = REFUSED[case]
    with pytest.raises(ParameterError, match=message):
        make()


def test_a_body_that_cannot_be_read(tmp_path):
    with pytest.raises(ParameterError, match="'body' parameter of Sweep must be readable"):
        Sweep(tmp_path / "absent.cl", [Y])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector": None}, "'vector' parameter of the sweep must be given"),
        ({"other": 1}, "'other' parameter of the sweep must be one of vector, matrix, offset"),
        ({"vector": np.zeros((4, 5))}, r"'vector' .* shape \(tasks, 2, 5\). Got \(4, 5\)"),
        ({"matrix": np.zeros((10, 9))}, r"'matrix' .* of shape \(10, 10\)"),
        ({"vector": np.zeros((4, 2, 5), complex)}, "'vector' .* numbers that float64"),
        ({"vector": [["a"]]}, "'vector' .* numbers that float64"),
        ({"vector": [[1, 2], [3]]}, "'vector' parameter of the sweep"),
        ({"tasks": 7}, "'tasks' .* same for all inputs"),
    ],
)
def test_arguments_that_cannot_be_right(change, message, device):
    arrays, _ = example(4)
    arrays = {name: value for name, value in (arrays | change).items() if value is not None}
    tasks = arrays.pop("tasks", None)
    with pytest.raises(ParameterError, match=message):
        Sweep(BODY, ARRAYS, STEPS, device=device, scheme="naive")(tasks, **arrays)


def test_integers_keep_their_values(device):
    arrays = [Array("x", "input", "uint8"), Array("y", "output", "uint8")]
    sweep = Sweep("OUT(y, 0) = IN(x, 0);", arrays, device=device, scheme="naive")
    np.testing.assert_array_equal(sweep(x=[0, 255])["y"], [0, 255])
    for wrong in ([256], [-1]):
        with pytest.raises(ParameterError, match=r"'x' .* within the range of uint8"):
            sweep(x=wrong)
    with pytest.raises(ParameterError, match=r"'x' .* numbers that uint8"):
        sweep(x=[0.5])


def test_no_inputs_need_a_number_of_tasks(device):
    sweep = Sweep("OUT(y, 0) = TASK * TASK;", [Y], device=device)
    np.testing.assert_array_equal(sweep(40)["y"], np.arange(40) ** 2)
    with pytest.raises(ParameterError, match=r"'tasks' .* given"):
        sweep()
    for wrong in (-1, 2.7, True, "3", np.nan, np.inf, 2**31):
        with pytest.raises(ParameterError, match=r"'tasks' .* from 0"):
            sweep(wrong)


def test_tasks_that_cannot_be_right(device):
    arrays, _ = example(4)
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme="naive")
    common = {name: arrays[name] for name in ("matrix", "offset")}
    with pytest.raises(ParameterError, match="task 1"):
        list(sweep.over([{"vector": arrays["vector"][0]}, {"other": 1}], **common))
    with pytest.raises(ParameterError, match=r"'vector' .* of shape \(2, 5\) in task 0"):
        list(sweep.over([{"vector": 1}], **common))


def test_a_driver_that_fails_is_a_device_error(device, monkeypatch):
    import pyopencl as cl

    def refuse(*arguments, **options):
        raise cl.RuntimeError("out of luck")

    arrays, _ = example(4)
    sweep = Sweep(BODY, ARRAYS, STEPS, device=device, scheme="naive")
    monkeypatch.setattr(cl, "enqueue_copy", refuse)
    with pytest.raises(DeviceError, match="out of luck"):
        sweep(**arrays)


def short_arrays():
    return [
        Array("x", "input", "int32"),
        Array("c", "common", "int32", 3),
        Array("y", "output", "int32", 2),
        Array("z", "output", "int32", (2, 2), fill=0),
        Array("s", "scratch", "int32", 4),
    ]


# body -> what the message says
WRONG = {
    "OUT(y, 0) = IN(x, 1);": "accesses entry 1 of input 'x', whose length is 1",
    "OUT(y, 0) = IN(x, -1);": "accesses entry -1 of input 'x', whose length is 1",
    "OUT(y, 0) = IN(x, get_work_dim() * 4294967295u);": "accesses entry -1 of input 'x'",
    "OUT(y, 2) = 1;": "accesses entry 2 of output 'y', whose length is 2",
    "OUT(z, 4)++;": "accesses entry 4 of output 'z', whose length is 4",
    "atomic_inc(&OUT(z, 4));": "accesses entry 4 of output 'z', whose length is 4",
    "SCRATCH(s, 4) = 1;": "accesses entry 4 of scratch 's', whose length is 4",
    "OUT(y, 0) = COMMON(c, 3 + IN(x, 0) * 0);": "accesses entry 3 of common 'c'",
    "OUT(y, 0) = OUT(y, 1);": "reads entry 1 of output 'y', whose length is 2, before anything",
    "OUT(y, 0) += 1;": "reads entry 0 of output 'y'",
    "OUT(y, 1)++;": "reads entry 1 of output 'y'",
    "--OUT(y, 1);": "reads entry 1 of output 'y'",
    "OUT(y, 0) = 1 & OUT(y, 1);": "reads entry 1 of output 'y'",
    "OUT(y, 0) = (1) & OUT(y, 1);": "reads entry 1 of output 'y'",
    "if (1 && OUT(y, 1)) OUT(y, 0) = 1;": "reads entry 1 of output 'y'",
    "if (OUT(y, 0) == 1) OUT(y, 0) = 1;": "reads entry 0 of output 'y'",
    "OUT(y, SCRATCH(s, 3)) = 1;": "reads entry 3 of scratch 's'",
    "SCRATCH(s, 0) = 1; OUT(y, 0) = SCRATCH(s, 0) + SCRATCH(s, 1);": "reads entry 1 of scratch",
    "OUT(y, 0) = IN(y, 1);": "reads entry 1 of output 'y'",
    "OUT(y, 0) = IN(s, 1) + 1;": "reads entry 1 of scratch 's'",
    "OUT /* a */ ( y, 0 ) = OUT\n(y,\n1);": "reads entry 1 of output 'y'",
}


@pytest.mark.every(2)
@pytest.mark.parametrize("checked", [None, True])
@pytest.mark.parametrize("body", WRONG)
def test_wrong_accesses_are_found_before_the_run(body, checked, device, monkeypatch):
    x, c = np.arange(40, dtype=np.int32), np.arange(3, dtype=np.int32)
    monkeypatch.setattr(engine, "Run", None)  # nothing runs
    for tasks in (1, 40):
        for scheme in (*SCHEMES, "auto", "measure"):
            sweep = Sweep(body, short_arrays(), device=device, scheme=scheme, checked=checked)
            for _ in range(2):  # the second call does not run either
                with pytest.raises(ParameterError, match=re.escape(WRONG[body])) as caught:
                    sweep(x=x[:tasks], c=c)
                assert re.match(r"step 'task' of the body, in task \d+,", str(caught.value))
            with pytest.raises(ParameterError, match=re.escape(WRONG[body])):
                list(sweep.over(({"x": each} for each in x[:tasks]), c=c))
            with pytest.raises(ParameterError, match=re.escape(WRONG[body])):
                sweep.analyse(x=x[:tasks], c=c)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_output_without_a_value_is_an_error(scheme, device):
    """It would be what was in the memory before, of another sweep for instance."""
    x = np.arange(40, dtype=np.int32)
    arrays = [Array("x", "input", "int32"), Array("y", "output", "int32", 2)]
    for body, task in (("int q = IN(x, 0);", 0), ("if (IN(x, 0) != 1) OUT(y, 0) = 1;", 1)):
        words = f"the body writes no entry of output 'y' in task {task}: write it, or give"
        with pytest.raises(ParameterError, match=words):
            Sweep(body, arrays, device=device, scheme=scheme)(x=x)
        filled = [arrays[0], Array("y", "output", "int32", 2, fill=7)]
        assert Sweep(body, filled, device=device, scheme=scheme)(x=x)["y"][task].tolist() == [7, 7]


# body -> y and z of a task with x; what is not given stays
RIGHT = {
    "OUT(y, 0) = 1; OUT(y, 1) = OUT(y, 0) + 1; OUT(y, 0)++;": ([2, 2], [0, 0, 0, 0]),
    "(OUT(y, 0)) = 5; ((OUT(y, 1))) = OUT(y, 0);": ([5, 5], [0, 0, 0, 0]),
    "atomic_add(&OUT(z, 3), 2); OUT(z, 0) += OUT(z, 1) + 7; YES": ([1, 1], [7, 0, 0, 2]),
    "*(&OUT(y, 0)) = 3; OUT(y, 1) = atomic_add( & OUT(y, 0), 4);": ([7, 3], [0, 0, 0, 0]),
    "SCRATCH(s, 2) = 4; OUT(y, 0) = SCRATCH(s, 2); OUT(y, 1) = LAST;": ([4, 4], [0, 0, 0, 0]),
    "/* OUT(y, 9) */ YES // = OUT(y, 0)": ([1, 1], [0, 0, 0, 0]),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("checked", [None, True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("body", RIGHT)
def test_right_accesses_run(body, scheme, checked, device):
    text = f"#define LAST \\\n  SCRATCH(s, 2)\n#define YES OUT(y, 0) = OUT(y, 1) = 1;\n{body}\n"
    sweep = Sweep(text, short_arrays(), device=device, scheme=scheme, checked=checked)
    found = sweep(x=np.zeros(40, np.int32), c=[0, 0, 0])
    y, z = RIGHT[body]
    assert (found["y"] == y).all()
    assert (found["z"].reshape(40, 4) == z).all()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("vectors", [False, True])
def test_every_access_of_every_task_is_bounded(scheme, vectors, device, overlapping):
    """Only task 300 is wrong, which is not among the first."""
    body = "OUT(y, COMMON(at, TASK)) = IN(x, 0);"
    arrays = [
        Array("x", "input", "int32"),
        Array("at", "common", "int32", 400),
        Array("y", "output", "int32", fill=7),
    ]
    at = np.zeros(400, np.int32)
    at[(304 if vectors else 300)] = 1
    options = {"device": device, "scheme": scheme, "vectors": vectors, "per_launch": 64}
    sweep = Sweep(body, arrays, checked=True, **options)
    where = r"in task 30[04], accesses entry 1 of output 'y', whose length is 1"
    x = np.arange(400, dtype=np.int32)
    with pytest.raises(ParameterError, match=where):
        sweep(x=x, at=at)
    taken = []
    with pytest.raises(ParameterError, match=where):
        taken.extend(sweep.over(({"x": each} for each in x), at=at))
    assert (sweep(x=x, at=at * 0)["y"] == x).all()
    # without the option only the first tasks are looked at
    assert len(Sweep(body, arrays, **options)(x=x[:200], at=at)["y"]) == 200


def test_a_later_round_is_checked(device):
    body = """
    STEP(count)
    {
        if (SCRATCH(rounds, 0) < 9) {
            SCRATCH(rounds, 0)++;
            AGAIN();
        }
        OUT(y, SCRATCH(rounds, 0)) = 1;
    }
    STEP(end) { OUT(z, 0) = OUT(y, SCRATCH(rounds, 0)); }
    """
    steps = [Repeat(Step("count")), Step("end")]

    def run(length):
        arrays = [
            Array("rounds", "scratch", "int32", fill=0),
            Array("y", "output", "int32", length),
            Array("z", "output", "int32"),
        ]
        return Sweep(body, arrays, steps, device=device, scheme="naive")(3)["z"]

    assert (run(10) == 1).all()
    with pytest.raises(ParameterError, match=r"step 'count' .* accesses entry 9 of output 'y'"):
        run(9)


def test_steps_read_what_earlier_ones_wrote(device):
    body = "STEP(one) { OUT(y, THREAD_X) = 1; }\nSTEP(two) { OUT(z, 0) = OUT(y, 1 - THREAD_X); }\n"
    arrays = [Array("y", "output", "int32", 2), Array("z", "output", "int32")]

    def run(*steps):
        return Sweep(body, arrays, steps, device=device)(40)

    assert (run(Step("one", 2), Step("two"))["z"] == 1).all()
    with pytest.raises(ParameterError, match=r"step 'two' .* reads entry 1 of output 'y'"):
        run(Step("two"), Step("one", 2))
    with pytest.raises(ParameterError, match=r"step 'two' .* reads entry 1 of output 'y'"):
        run(Step("one"), Step("two"))
