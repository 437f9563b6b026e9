"""Running: shapes, types, slices, arrangements, groups, streams."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp import bulk
from pyapsp.errors import DeviceMemoryError, ParameterError

TEXT = """
#define N 5
int x[N], y[N], start[3] = {7, 8};
float scale;
short wide[2][3];
#pragma kernel
void run(void)
{
    for (int i = 0; i < N; i++)
        y[i] = x[i] * 2 + start[i % 3] + (int)scale;
    start[0] += 1;
    wide[1][2] += x[0];
}
"""


@pytest.fixture
def path(written):
    return written(TEXT)


def numbers(p, seed=0):
    return np.random.default_rng(seed).integers(-99, 99, (p, 5)).astype(np.int32)


def expected(x, scale=0):
    return x * 2 + np.array([7, 8, 0, 7, 8]) + np.asarray(scale).reshape(-1, 1).astype(int)


def test_the_arrangement_that_suits_the_device(path, device):
    usual = "row" if device.kind == "cpu" else "column"
    assert bulk.load(path, device=device).translation.arrangement == usual


@pytest.mark.parametrize("arrangement", ["column", "row"])
@pytest.mark.parametrize("axis", [0, -1])
def test_axes_and_arrangements(axis, arrangement, path, device):
    program = bulk.load(path, device=device, arrangement=arrangement, axis=axis)
    x, wide = numbers(77), np.arange(77 * 6, dtype=np.int16).reshape(77, 2, 3)
    turn = (lambda a: a) if axis == 0 else (lambda a: np.moveaxis(a, 0, -1))
    found = program(x=turn(x), wide=turn(wide), scale=np.arange(77))
    np.testing.assert_array_equal(found["y"], turn(expected(x, np.arange(77))))
    wide[:, 1, 2] += x[:, 0].astype(np.int16)
    np.testing.assert_array_equal(found["wide"], turn(wide))
    np.testing.assert_array_equal(found["start"], turn(np.tile([8, 8, 0], (77, 1))))
    assert set(found) == {"y", "wide", "start"}


@pytest.mark.parametrize("arrangement", ["column", "row"])
@pytest.mark.parametrize("axis", [0, -1])
def test_slices_where_memory_is_short(axis, arrangement, path, device):
    program = bulk.load(
        path, device=device, arrangement=arrangement, axis=axis, memory_limit=10_000
    )
    x = numbers(333)
    run = program.run({"x": x if axis == 0 else x.T, "scale": np.ones(333)})
    assert run.slices == -(-333 // program.capacity(333)) > 2
    y = run.outputs["y"] if axis == 0 else run.outputs["y"].T
    np.testing.assert_array_equal(y, expected(x, 1))
    assert set(run.seconds) == {"upload", "arrange", "kernel", "download"}
    assert run.seconds["kernel"] > 0


def test_no_room_for_one(path, device):
    program = bulk.load(path, device=device, memory_limit=50)
    with pytest.raises(DeviceMemoryError, match="raise memory_limit"):
        program(x=numbers(2))


def test_addresses_stay_within_32_bits(path, device, monkeypatch):
    from pyapsp.bulk import program

    monkeypatch.setattr(program, "_LARGEST", 600)
    found = bulk.load(path, device=device, arrangement="column")
    assert found.capacity(1000) == 96  # 6 elements in the largest array, whole warps
    np.testing.assert_array_equal(found(x=numbers(500))["y"], expected(numbers(500)))


@pytest.mark.parametrize("group_size", [1, 7, 64, None])
def test_any_number_of_instances(group_size, path, device):
    program = bulk.load(path, device=device, group_size=group_size)
    for p in (0, 1, 2, 63, 64, 65, 1000):
        found = program(x=numbers(p))["y"]
        np.testing.assert_array_equal(found, expected(numbers(p)).reshape(p, 5))


def test_a_program_runs_again_and_forgets(path, device):
    program = bulk.load(path, device=device)
    for _ in range(3):
        assert program(x=numbers(9))["start"].tolist() == [[8, 8, 0]] * 9


@pytest.mark.parametrize(
    ("inputs", "rule"),
    [
        ({}, "must be given for the same number of instances"),
        ({"z": np.zeros((3, 5))}, "one of the arrays of"),
        ({"x": np.zeros((3, 4), int)}, r"an array of shape \(p, 5\)"),
        ({"x": np.zeros(5, int)}, r"an array of shape \(p, 5\)"),
        ({"x": np.float64(1)}, r"an array of shape"),
        ({"scale": np.zeros((2, 1))}, r"an array of shape \(p,\)"),
        ({"x": np.full((2, 5), 0.5)}, "of type int32"),
        ({"x": np.full((2, 5), 2**31)}, "whole numbers that int32 can hold"),
        ({"x": [["a"] * 5]}, "of type int32"),
        ({"x": numbers(3), "scale": np.zeros(4)}, r"\{'x': 3, 'scale': 4\}"),
    ],
)
def test_inputs_that_do_not_fit(inputs, rule, path, device):
    with pytest.raises(ParameterError, match=rule):
        bulk.load(path, device=device)(**inputs)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"arrangement": "diagonal"}, "arrangement.*column"),
        ({"group_size": 0}, "group_size.*whole number"),
        ({"group_size": 10**9}, "group_size.*whole number"),
        ({"axis": 1}, "axis.*0 or -1"),
        ({"memory_limit": 0}, "memory_limit.*number of bytes"),
    ],
)
def test_options_that_are_wrong(options, rule, path, device):
    with pytest.raises(ParameterError, match=rule):
        bulk.load(path, device=device, **options)


def test_other_types_that_hold_the_values(path, device):
    program = bulk.load(path, device=device)
    for dtype in (np.int64, np.uint8, np.bool_):
        x = (numbers(8) > 0).astype(dtype)
        np.testing.assert_array_equal(program(x=x)["y"], expected(x.astype(np.int32)))
    np.testing.assert_array_equal(program(x=numbers(8).tolist())["y"], expected(numbers(8)))


def test_the_first_values_of_arrays_in_both_arrangements(written, native, device):
    text = """
int a[2][3] = {{1, 2}, {4, 5, 6}}, total;
double b[2] = {0.5, -1e3}, c = 2.5;
#pragma kernel
void run(void)
{
    total += a[0][0] + a[0][1] * 10 + a[0][2] * 100 + a[1][0] * 1000 + a[1][2];
    a[1][1] = (int)(b[1] * c + b[0]);
}
"""
    path = written(text)
    inputs = {"total": np.arange(70, dtype=np.int32)}
    expected = native(path)(**inputs)
    for arrangement in ("column", "row"):
        found = bulk.load(path, device=device, arrangement=arrangement)(**inputs)
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)


def test_defines(written, device):
    path = written(TEXT.replace("#define N 5", "#ifndef N\n#define N 5\n#endif"))
    program = bulk.load(path, device=device, defines={"N": 3})
    assert {each.name: each.shape for each in program.arrays}["x"] == (3,)
    x = numbers(4)[:, :3]
    np.testing.assert_array_equal(program(x=x)["y"], x * 2 + [7, 8, 0])


# Streams


@pytest.mark.parametrize("arrangement", ["column", "row"])
@pytest.mark.parametrize(("p", "b"), [(1, 1), (10, 3), (300, 64), (300, 300), (300, 1000)])
def test_streams_give_what_a_run_gives(p, b, arrangement, path, device):
    program = bulk.load(path, device=device, arrangement=arrangement)
    inputs = {"x": numbers(p), "scale": np.arange(p, dtype=np.float32)}
    stream = program.stream(bulk.split(inputs, b), b)
    groups = list(stream)
    assert [len(group["y"]) for group in groups] == [min(b, p - at) for at in range(0, p, b)]
    whole = program(**inputs)
    for name, values in whole.items():
        np.testing.assert_array_equal(np.concatenate([g[name] for g in groups]), values)
    assert stream.instances == p
    assert len(stream.latencies) == len(groups)
    assert all(0 < latency <= stream.seconds for latency in stream.latencies)
    assert stream.throughput == pytest.approx(p / stream.seconds)


def test_outputs_come_before_the_last_group_is_given(path, device):
    """No more than three groups are taken before the first is handed out."""
    program, taken, handed = bulk.load(path, device=device), [], []

    def groups():
        for number in range(20):
            taken.append(number)
            yield {"x": numbers(8, seed=number)}

    for outputs in program.stream(groups(), 8):
        handed.append(len(taken))
        np.testing.assert_array_equal(outputs["y"], expected(numbers(8, seed=len(handed) - 1)))
    assert len(handed) == 20
    assert all(taken <= number + 4 for number, taken in enumerate(handed))


def test_the_oldest_group_is_waited_for_when_none_is_done(path, device, monkeypatch):
    from pyapsp.bulk import stream

    monkeypatch.setattr(stream, "_is_done", lambda group: False)
    program, handed = bulk.load(path, device=device), 0
    for outputs in program.stream(({"x": numbers(8, seed=k)} for k in range(10)), 8):
        np.testing.assert_array_equal(outputs["y"], expected(numbers(8, seed=handed)))
        handed += 1
    assert handed == 10


def test_a_stream_can_be_left(path, device):
    program = bulk.load(path, device=device)
    stream = iter(program.stream(({"x": numbers(8)} for _ in range(10**6)), 8))
    np.testing.assert_array_equal(next(stream)["y"], expected(numbers(8)))
    stream.close()
    np.testing.assert_array_equal(program(x=numbers(8))["y"], expected(numbers(8)))


def test_streams_that_cannot_be(path, device):
    program = bulk.load(path, device=device)
    with pytest.raises(ParameterError, match="'b' parameter"):
        program.stream([], 0)
    with pytest.raises(ParameterError, match="between 1 and b = 4"):
        list(program.stream([{"x": numbers(5)}], 4))
    with pytest.raises(ParameterError, match="'axis' parameter of stream"):
        bulk.load(path, device=device, axis=-1).stream([], 4)
    with pytest.raises(DeviceMemoryError, match="make the groups smaller"):
        bulk.load(path, device=device, memory_limit=10_000).stream([], 100)
    assert list(program.stream([], 4)) == []


@pytest.mark.every(2)
@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("tiles", [False, True])
def test_transposition(width, tiles, device):
    """Both kernels are tested, although the device would use only one of them."""
    for shape in ((1, 5), (5, 1), (31, 33), (64, 32), (100, 7), (257, 66)):
        assert_transposed(width, shape, tiles, device)


def assert_transposed(width, shape, tiles, device):
    import pyopencl as cl

    from pyapsp.device.kernels import build

    dtype = np.dtype(f"u{width}")
    source = np.random.default_rng(0).integers(0, 255, shape).astype(dtype)
    queue, flags = device.queue(), cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    left = cl.Buffer(device.context, flags, hostbuf=source)
    right = cl.Buffer(device.context, flags, hostbuf=np.zeros_like(source))
    name, group = ("transpose_tiles", 64) if tiles else ("transpose_blocks", 1)
    program = build(
        device,
        "bulk/transpose.cl",
        {"PYAPSP_BYTES": width, "PYAPSP_TILE": 32, "PYAPSP_GROUP": 64},
    )
    count = -(-shape[0] // 32) * -(-shape[1] // 32)
    sizes = np.int32(shape[0]), np.int32(shape[1])
    program.kernel(name)(queue, (count * group,), (group,), left, right, *sizes)
    found = np.empty(shape[::-1], dtype)
    cl.enqueue_copy(queue, found, right)
    np.testing.assert_array_equal(found, source.T)
