"""fw-packed4, 8 and 16: arithmetic of fields, packing, and distances that do not fit."""

from __future__ import annotations

import itertools

import numpy as np
import pyopencl as cl
import pytest
from scipy.sparse import csgraph

import pyapsp
from pyapsp import verify
from pyapsp.all_pairs.dense import fw_packed
from pyapsp.device.kernels import Program, assemble
from pyapsp.errors import DeviceError, NegativeWeightError, ParameterError, PrecisionError
from pyapsp.graph import Graph
from pyapsp.numbers.precision import DTYPES, infinity

BITS = (4, 8, 16)
VARIANTS = [
    (bits, {"form": form, "single": single})
    for bits in BITS
    for form in ((0, 1) if bits > 4 else (0,))
    for single in (0, 1)
]
IDS = [f"{bits}-form{p['form']}-single{p['single']}" for bits, p in VARIANTS]

ARITHMETIC = """
kernel void arithmetic(global const value_t *a, global const value_t *b, global value_t *sums,
                       global value_t *minima, global value_t *factors)
{
    const size_t i = get_global_id(0);
    const strip_t second = STRIP(global const, b + i * PYAPSP_WIDTH);
    STRIP(global, sums + i * PYAPSP_WIDTH) = extend(a[i * PYAPSP_WIDTH], second);
    const strip_t first = STRIP(global const, a + i * PYAPSP_WIDTH);
    STRIP(global, minima + i * PYAPSP_WIDTH) = SHORTER(first, second);
    for (int f = 0; f < FIELDS; f++)
        factors[i * FIELDS + f] = factor(b[i * PYAPSP_WIDTH], f);
}
"""


@pytest.mark.parametrize("builtin", [0, 1])
@pytest.mark.parametrize("width", [1, 2, 8])
@pytest.mark.parametrize(("bits", "form"), [(4, 0), (8, 0), (8, 1), (16, 0), (16, 1)])
def test_arithmetic_of_fields(bits, form, width, builtin, device):
    """Every pair of 4- or 8-bit numbers, and a million pairs of 16 bits with all the edges."""
    defines = {"PYAPSP_FIELD_BITS": bits, "PYAPSP_FORM": form, "PYAPSP_WIDTH": width}
    defines["PYAPSP_MIN_BUILTIN"] = builtin
    program = Program(device, assemble("all_pairs/dense/words.h", defines) + ARITHMETIC)
    top, narrow = 2**bits - 1, np.dtype("<u2" if bits == 16 else "u1")
    if bits == 16:
        edges = np.r_[0:5, top // 2 - 3 : top // 2 + 4, top - 4 : top + 1]
        values = np.r_[edges, np.random.default_rng(0).integers(0, top + 1, 1024 - edges.size)]
    else:
        values = np.arange(top + 1)
    first, second = (each.ravel().astype(narrow) for each in np.meshgrid(values, values))
    # form 0 packs neighbouring pairs into words; strips have a factor in common, whole words of it
    fields, word = (1, narrow) if form else (32 // bits, np.dtype("<u4"))

    def packed(array):
        if form:
            return array.copy()
        if bits == 4:
            array = array[0::2] | array[1::2] << 4
        return array.view(word).copy()

    def unpacked(words):
        if form or bits > 4:
            return words.view(narrow)
        pairs = words.view("u1")
        return np.stack([pairs & 15, pairs >> 4], 1).ravel()

    a, b = packed(first), packed(second)
    queue, flags = device.queue(), cl.mem_flags
    given = [
        cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=each)
        for each in (a, b)
    ]
    strips = len(a) // width
    outputs = [np.empty(len(a), word), np.empty(len(a), word), np.empty(strips * fields, word)]
    buffers = [cl.Buffer(queue.context, flags.WRITE_ONLY, each.nbytes) for each in outputs]
    program.kernel("arithmetic")(queue, (strips,), None, *given, *buffers)
    for output, buffer in zip(outputs, buffers, strict=True):
        cl.enqueue_copy(queue, output, buffer)
    # the left operand of a strip is its first word, for all words
    left = unpacked(np.repeat(a[::width], width)).astype(int)
    np.testing.assert_array_equal(unpacked(outputs[0]), np.minimum(left + second, top))
    np.testing.assert_array_equal(unpacked(outputs[1]), np.minimum(first, second))
    expected = np.repeat(unpacked(b[::width].copy()), fields)
    np.testing.assert_array_equal(unpacked(outputs[2]), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 33])
def test_packing_and_back(n, bits, dtype, monkeypatch):
    rng, dtype = np.random.default_rng(n), np.dtype(dtype)
    distances = rng.integers(0, min(2**bits - 1, 2**11), (n, n)).astype(dtype)
    distances[rng.random((n, n)) < 0.3] = infinity(dtype)
    words = fw_packed.pack(distances, bits)
    assert words.dtype == "<u4"
    assert words.shape == (n, -(-n * bits // 32))
    field = (words[:, :, None] >> np.arange(0, 32, bits, dtype="u4")) & (2**bits - 1)
    field = field.reshape(n, -1)
    assert (field[:, n:] == 2**bits - 1).all()
    far = distances == infinity(dtype)
    np.testing.assert_array_equal(field[:, :n][~far], distances[~far])
    assert (field[:, :n][far] == 2**bits - 1).all()
    monkeypatch.setattr(fw_packed, "_BLOCK", 5 * n)  # five rows at a time
    np.testing.assert_array_equal(fw_packed.pack(distances, bits), words)
    back = np.empty_like(distances)
    fw_packed.unpack(words, bits, back)
    np.testing.assert_array_equal(back, distances)


def path(lengths):
    n = len(lengths) + 1
    # also an island that nothing reaches, and an arc that no shortest path takes
    tails, heads = np.append(np.arange(n - 1), n), np.append(np.arange(1, n), n + 1)
    return Graph.from_arcs(n + 2, tails, heads, np.append(lengths, 1))


def lengths_to(total, largest, parts=40):
    lengths = np.full(parts, total // parts)
    lengths[0] += total - lengths.sum()
    assert lengths.max() <= largest
    return lengths


@pytest.mark.every(6)
@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "float32"])
@pytest.mark.parametrize(("bits", "parameters"), VARIANTS, ids=IDS)
def test_up_to_the_largest_distance_and_not_beyond(bits, parameters, dtype, device):
    method = pyapsp.method(f"fw-packed{bits}", **parameters)
    largest = method.requires.largest_distance
    assert largest == 2**bits - 2
    lengths = lengths_to(largest, largest)
    graph = path(lengths)
    result = pyapsp.solve(graph, method, dtype=dtype, device=device, predecessors=True)
    assert result.distances[0, len(lengths)] == largest
    np.testing.assert_array_equal(
        np.where(result.distances < result.infinity, result.distances, np.inf),
        csgraph.johnson(graph.to_scipy().astype(float)),
    )
    assert verify.certificate(graph, result, device=device).ok
    lengths[17] += 1
    wider = {4: "use fw-packed8", 8: "use fw-packed16", 16: "32-bit distances"}[bits]
    for check in (True, False):  # the method itself looks, whatever the caller wants
        with pytest.raises(PrecisionError, match=f"a distance is too large.*{wider}"):
            pyapsp.solve(path(lengths), method, dtype=dtype, device=device, check=check)


@pytest.mark.parametrize("source", [0, 39])
def test_a_clipped_distance_is_found_whatever_rows_are_asked_for(source, device):
    lengths = lengths_to(300, 254)
    with pytest.raises(PrecisionError, match="fw-packed16"):
        pyapsp.solve(path(lengths), "fw-packed8", sources=[source], device=device)


@pytest.mark.parametrize(("dtype", "limit"), [("int16", 2**14 - 1), ("uint16", 2**15 - 1)])
def test_the_type_of_the_answer_may_be_the_narrower_one(dtype, limit, device):
    lengths = lengths_to(limit - 1, limit)
    result = pyapsp.solve(path(lengths), "fw-packed16", dtype=dtype, device=device)
    assert result.distances[0, len(lengths)] == limit - 1
    # one too many; and so many that they would wrap round in the type
    for total, check in itertools.product((limit, 40_000, 65_000), (True, False)):
        with pytest.raises(PrecisionError, match=f"a distance is too large for {dtype}: use a wid"):
            pyapsp.solve(
                path(lengths_to(total, limit)),
                "fw-packed16",
                dtype=dtype,
                device=device,
                check=check,
            )


def test_what_the_weights_prove_is_not_looked_for(device, monkeypatch):
    monkeypatch.setattr(fw_packed, "lost", lambda graph, distances: pytest.fail("looked"))
    for length, method in ((14, "fw-packed4"), (254, "fw-packed8")):
        unit = Graph.from_arcs(length + 1, np.arange(length), np.arange(1, length + 1))
        assert pyapsp.solve(unit, method, device=device).distances[0, length] == length


@pytest.mark.parametrize("bits", [4, 8])
def test_what_the_weights_just_do_not_prove_is_looked_for(bits, device):
    length = 2**bits - 1
    unit = Graph.from_arcs(length + 1, np.arange(length), np.arange(1, length + 1))
    with pytest.raises(PrecisionError, match="a distance is too large"):
        pyapsp.solve(unit, f"fw-packed{bits}", device=device)


@pytest.mark.parametrize("bits", BITS)
def test_heavy_weights_are_refused_before_the_run(bits, device, monkeypatch):
    monkeypatch.setattr(fw_packed.FwPacked, "configure", lambda *_: pytest.fail("built"))
    graph = Graph.from_arcs(3, [0, 1], [1, 2], [1, 2**bits - 1])
    with pytest.raises(PrecisionError, match=f"below {2**bits - 1}, and there is a weight of"):
        pyapsp.solve(graph, f"fw-packed{bits}", dtype="int32", device=device)


def test_other_graphs_are_refused(device):
    for weights, error in (([1, -1], NegativeWeightError), ([1, 0.5], PrecisionError)):
        with pytest.raises(error, match="fw-packed8 needs"):
            pyapsp.solve(Graph.from_arcs(3, [0, 1], [1, 2], weights), "fw-packed8", device=device)


def test_whole_numbers_in_a_float_graph_are_taken(device):
    graph = Graph.from_arcs(3, [0, 1], [1, 2], np.array([2.0, 3.0]))
    result = pyapsp.solve(graph, "fw-packed4", device=device)
    assert result.distances[0].tolist() == [0.0, 2.0, 5.0]


@pytest.mark.every(3)
@pytest.mark.pairwise
@pytest.mark.parametrize("n", [50, 130])
@pytest.mark.parametrize(("tile", "contiguous"), [(32, 1), (64, 0), (128, 1)])
@pytest.mark.parametrize(("bits", "parameters"), VARIANTS, ids=IDS)
def test_tiles_and_contiguity(bits, parameters, tile, contiguous, n, device):
    rng = np.random.default_rng(n)
    tails, heads = rng.integers(0, n, (2, 4 * n))
    proper = tails != heads
    weights = rng.integers(0, {4: 2, 8: 12, 16: 3000}[bits], proper.sum())
    graph = Graph.from_arcs(n, tails[proper], heads[proper], weights)
    expected = pyapsp.solve(graph, "fw-naive", dtype="int32", device=device).distances
    method = pyapsp.method(f"fw-packed{bits}", tile=tile, contiguous=contiguous, **parameters)
    try:
        result = pyapsp.solve(graph, method, dtype="int32", device=device)
    except ParameterError:
        assert tile == 128  # two such tiles may not fit
        return
    np.testing.assert_array_equal(result.distances, expected)


def test_parameters_of_the_single_launch_need_it(device):
    graph = path([1, 2])
    for parameters in ({"order": 1}, {"groups": 2}, {"order": 1, "single": 0}):
        with pytest.raises(ParameterError, match="order and groups need single=1"):
            pyapsp.solve(graph, pyapsp.method("fw-packed8", **parameters), device=device)
    with pytest.raises(ParameterError, match="'form' parameter of fw-packed4"):
        pyapsp.method("fw-packed4", form=1)


def test_the_stall_of_a_packed_run_is_an_error(device, monkeypatch):
    monkeypatch.setattr(
        fw_packed.SoftSync,
        "check",
        lambda *_: (_ for _ in ()).throw(DeviceError("stalled")),
    )
    pyapsp.solve(path([1, 2]), pyapsp.method("fw-packed8", single=0), device=device)
    with pytest.raises(DeviceError, match="stalled"):
        pyapsp.solve(path([1, 2]), pyapsp.method("fw-packed8", single=1), device=device)


@pytest.mark.perf
@pytest.mark.parametrize("bits", [8, 16])
def test_wide_vectors_are_worth_their_while_on_a_cpu(bits, device):
    if device.kind != "cpu":
        pytest.skip("the vectors are those of a CPU")
    rng, n = np.random.default_rng(0), 1024
    tails, heads = rng.integers(0, n, (2, 8 * n))
    proper = tails != heads
    graph = Graph.from_arcs(n, tails[proper], heads[proper], rng.integers(1, 9, proper.sum()))

    def seconds(method):
        return min(
            pyapsp.solve(graph, method, dtype="int32", device=device).stats["kernel_seconds"]
            for _ in range(3)
        )

    assert 5 * seconds(f"fw-packed{bits}") < seconds("fw-naive")
