"""`mine` equals algorithm 17, whatever the form of the kernels, the inference and the pieces.

``PYAPSP_MINING_TRACES=10000`` sets the number of random traces of the longest test, which then has
every width of vectors.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pyapsp
from pyapsp.errors import CapabilityError, DeviceMemoryError, ParameterError, PrecisionError
from pyapsp.mining import TemplateSet, Trace, mine
from pyapsp.mining.inference import combinations
from pyapsp.mining.sequential import loop, sequential

TRACES = int(os.environ.get("PYAPSP_MINING_TRACES", "60"))
WIDTHS = (None, 1, 2, 4, 8, 16) if TRACES > 60 else (None,)
# Each arity of both kinds, with few kernels to compile.
FEW = TemplateSet(
    boolean=["a = b", "a != b", "a = b & c", "a -> b | c"],
    numeric=["a = min(b, c)", "a <= b + c", "a = b ** c"],
)
FORMS = {
    "width": (1, 2, 4, 8, 16),
    "tile": (1, 2, 4, 8),
    "group": (1, 8),
    "slab": (128, 512, None),
    "mapping": ("slab", "entry", "item"),
    "early_exit": (True, False),
    "inference": (True, False),
    "double": (False, True),
}


def random_trace(seed, n=None, *, double=False):
    """A trace in which templates hold: Booleans and numbers made of earlier ones."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 131)) if n is None else n
    rates = random.random(3)
    bits = [random.random(n) < rate for rate in rates]
    for _ in range(random.integers(7)):
        x, y = (bits[k] for k in random.integers(len(bits), size=2))
        flat = np.full(n, bool(random.integers(2)))
        bits.append([x, ~x, x & y, x | y, x ^ y, flat][random.integers(6)])
    rows = [random.integers(-3, 12, n).astype(float) for _ in range(2)]
    for _ in range(random.integers(5)):
        x, y = (rows[k] for k in random.integers(len(rows), size=2))
        with np.errstate(all="ignore"):
            rows.append(
                [x, x * 2, np.minimum(x, y), np.maximum(x, y), np.log(x), x + 1, np.full(n, 7.0)][
                    random.integers(7)
                ]
            )
    kind = np.float64 if double else np.float32
    columns = {f"b{k}": each for k, each in enumerate(bits)}
    columns |= {f"x{k}": each.astype(kind) for k, each in enumerate(rows)}
    return Trace.of(columns, dtype=np.dtype(kind).name)


def pairwise(options):
    """Return few choices in which every two values of every two options meet."""
    names = list(options)
    missing = {
        (a, x, b, y)
        for a, b in itertools.combinations(names, 2)
        for x in options[a]
        for y in options[b]
    }
    random, chosen = np.random.default_rng(1), []
    while missing:
        tries = [
            {name: values[random.integers(len(values))] for name, values in options.items()}
            for _ in range(200)
        ]
        met = [
            {(a, t[a], b, t[b]) for a, b in itertools.combinations(names, 2)} & missing
            for t in tries
        ]
        best = max(range(len(tries)), key=lambda k: len(met[k]))
        chosen.append(tries[best])
        missing -= met[best]
    return chosen


PAIRS = pairwise(FORMS)


def skips_double(device, double):
    return double and not device.capabilities.fp64


def test_random_traces_have_the_invariants_of_algorithm_17(device):
    for seed in range(TRACES):
        trace = random_trace(seed)
        right = sorted(loop(trace, "II"))
        width = WIDTHS[seed % len(WIDTHS)]
        for inference in (True, False):
            found = mine(trace, "II", device=device, inference=inference, width=width)
            assert sorted(found) == right, (seed, inference, width)
            assert len(found) == len(right)


def of_every_form(test):
    """Run a test of a form of the kernels on random traces."""
    ids = ["-".join(map(str, form.values())) for form in PAIRS]
    return pytest.mark.every(12)(pytest.mark.parametrize("form", PAIRS, ids=ids)(test))


def assert_mines(form, device, changed=lambda trace, seed: trace):
    options = dict(form)
    double = options.pop("double") and device.capabilities.fp64
    for seed, n in ((0, 1), (1, 77), (2, 130), (3, 1024), (5, 5000)):
        trace = changed(random_trace(seed, n, double=double), seed)
        assert sorted(mine(trace, FEW, device=device, **options)) == sorted(loop(trace, FEW)), seed


@of_every_form
def test_every_form_has_the_same_invariants(form, device):
    assert_mines(form, device)


def with_unknown(trace, seed):
    """The same trace, with unknown values: few, many, or all of a variable."""
    random = np.random.default_rng(seed)
    columns = {
        name: row
        for kind in ("numeric", "boolean")
        for name, row in zip(trace.names(kind), trace.values(kind), strict=True)
    }
    rates = random.choice([0, 0.02, 0.5, 0.98, 1], len(columns))
    masks = {name: random.random(trace.n) < rate for name, rate in zip(columns, rates, strict=True)}
    return Trace.of(columns, dtype=trace.dtype.name, unknown=masks)


@of_every_form
def test_a_statement_is_about_the_instants_at_which_its_variables_are_known(form, device):
    assert_mines(form, device, with_unknown)


@pytest.mark.slow
def test_unknown_values_in_all_templates_and_in_pieces(device):
    for seed in range(max(TRACES // 6, 5)):
        known = random_trace(seed, 3000)
        trace = with_unknown(known, seed)
        right = sorted(loop(trace, "II"))
        parts = [trace.part(start, start + 1024) for start in range(0, 3000, 1024)]
        assert sorted(mine(trace, "II", device=device)) == right
        assert sorted(mine(parts, "II", device=device)) == right
        limit = trace.nbytes // 2 + 2**14
        assert sorted(mine(trace, "II", device=device, memory_limit=limit)) == right
        # what was inferred before the first unknown value holds
        mixed = [known.part(0, 1024), *parts[1:]]
        masks = {
            name: np.r_[np.zeros(1024, bool), ~np.unpackbits(bits.view(np.uint8), bitorder="little")
                        [1024:3000].astype(bool)]
            for kind in ("numeric", "boolean")
            for name, bits in zip(trace.names(kind), trace.knowledge(kind), strict=True)
        }  # fmt: skip
        columns = {
            name: row
            for kind in ("numeric", "boolean")
            for name, row in zip(known.names(kind), known.values(kind), strict=True)
        }
        finite = all(np.isfinite(row).all() for row in columns.values())
        if finite:  # NaN is a value in the first part, and unknown in the others
            whole = Trace.of(columns, dtype=known.dtype.name, unknown=masks)
            assert sorted(mine(mixed, "II", device=device)) == sorted(loop(whole, "II"))


def test_what_is_unknown_is_given_for_the_variables_of_the_trace():
    columns = {"p": [True, False], "n": [1, 2]}
    mask = np.array([True, False])
    trace = Trace.of(columns, unknown={"n": mask})
    assert np.isnan(trace.values("numeric")[0]).tolist() == [True, False]
    with pytest.raises(ParameterError, match="no variable 'q'"):
        Trace.of(columns, unknown={"q": mask})
    with pytest.raises(ParameterError, match="an array of 2 Booleans"):
        Trace.of(columns, unknown={"p": mask[:1]})
    with pytest.raises(ParameterError, match="takes no trace with unknown values"):
        sequential(trace)


def test_every_length_ends_right(device):
    """A statement that only the last instant contradicts, for each place of it in a vector."""
    for n in range(1, 131):
        for place in {n - 1, n // 2}:
            low, bit = np.zeros(n, np.float32), np.zeros(n, bool)
            low[place], bit[place] = 2, True
            trace = Trace.of({"x": low, "one": np.ones(n), "p": bit, "q": np.zeros(n, bool)})
            found = set(mine(trace, "I", device=device))
            assert "q = false" in found
            assert "p = false" not in found
            assert ("p = true" in found) == (n == 1)
            assert ("one < x" in found) == (n == 1)
            assert ("x < one" in found) is False


def test_long_traces_that_later_instants_contradict(device):
    """After the probes, in the last slab of many."""
    n = 200_001
    random = np.random.default_rng(0)
    x = random.integers(0, 100, n).astype(np.float32)
    columns = {"x": x, "y": x + 1, "z": x.copy(), "p": x > 50, "q": x > 50, "r": x > 50}
    columns["z"][-1] += 0.5
    columns["y"][70_000] -= 2
    columns["r"][-1] ^= True
    trace = Trace.of(columns)
    found = set(mine(trace, "II", device=device))
    assert found == set(loop(trace, "II"))
    assert {"x <= z", "p = q"} <= found
    assert not {"x = z", "x < y", "p = r", "q = r"} & found


def test_the_compiled_sequential_miner_is_algorithm_17():
    for seed in range(4):
        trace = random_trace(seed)
        assert sorted(sequential(trace, FEW)) == sorted(loop(trace, FEW))


def test_inference_checks_fewer_entries(device):
    n, random = 3000, np.random.default_rng(3)
    base = [random.random(n) < 0.5 for _ in range(3)]
    columns = {f"b{k}": base[k % 3] ^ (k >= 9) for k in range(12)}
    columns |= {"yes": np.ones(n, bool), "no": np.zeros(n, bool)}
    trace = Trace.of(columns)
    with_it, without = (mine(trace, "II", device=device, inference=each) for each in (True, False))
    assert sorted(with_it) == sorted(without) == sorted(loop(trace, "II"))
    assert with_it.facts["checked"] < 0.6 * without.facts["checked"]


def test_pieces_have_the_invariants_of_the_whole(device):
    """What holds up to a piece may end in the next one, inferred or checked."""
    for seed in range(12):
        parts = [random_trace(seed, 1024), random_trace(seed, 1024), random_trace(seed + 1, 37)]
        names = parts[0].numeric_names[:3], parts[0].boolean_names[:3]
        columns = {
            name: np.concatenate(
                [each.values(kind)[each.names(kind).index(name)] for each in parts]
            )
            for kind, known in zip(("numeric", "boolean"), names, strict=True)
            for name in known
            if all(name in each.names(kind) for each in parts)
        }
        columns |= {"same": columns["b0"].copy(), "other": ~columns["b0"]}
        columns["other"][1500] ^= True
        columns["same"][2060] ^= True
        whole = Trace.of(columns)
        right = sorted(loop(whole, "II"))
        pieces = [whole.part(0, 1024), whole.part(1024, 2048), whole.part(2048, whole.n)]
        for inference in (True, False):
            found = mine(iter(pieces), "II", device=device, inference=inference)
            assert sorted(found) == right
            assert (found.n, found.facts["pieces"]) == (whole.n, 3)
        for overlap in (True, False):
            limit = int(whole.nbytes * 0.7) << overlap  # two pieces are in memory at a time
            cut = mine(whole, "II", device=device, overlap=overlap, memory_limit=limit)
            assert sorted(cut) == right
            assert cut.facts["pieces"] > 1


def test_the_frame_and_the_files_have_readable_formulas(device, tmp_path):
    trace = Trace.of({"low": [1, 2, 3], "high": [4, 4, 4], "p": [True, True, True]})
    found = mine(trace, "I", device=device)
    frame = found.frame()
    assert list(frame.columns) == ["kind", "template", "formula", "a", "b", "c"]
    assert set(frame.formula) == {"low != high", "low < high", "low <= high", "p = true"}
    row = frame[frame.formula == "low < high"].iloc[0]
    assert (row.kind, row.template, row.a, row.b, row.c) == (
        "numeric",
        "a < b",
        "low",
        "high",
        None,
    )
    found.save(tmp_path / "found.txt")
    assert (tmp_path / "found.txt").read_text().splitlines() == list(found)
    found.save(tmp_path / "found.csv")
    assert (tmp_path / "found.csv").read_text().count("\n") == 1 + len(found)
    for suffix in ("npz", "tsv", "json"):
        with pytest.raises(ParameterError, match=r"must be a file \.txt or \.csv; for"):
            found.save(tmp_path / f"found.{suffix}")
    assert len(list(tmp_path.iterdir())) == 2


def test_templates_of_the_user(device):
    random = np.random.default_rng(2)
    request = random.random(500) < 0.3
    trace = Trace.of({"request": request, "grant": request | (random.random(500) < 0.1)})
    own = TemplateSet(boolean=["a -> b"])
    assert list(pyapsp.mine(trace, own, device=device)) == ["request -> grant"]


def test_numbers_that_float32_cannot_hold_are_float64(device):
    columns = {"x": [2**24, 1], "y": [2**24 + 1, 1]}
    trace = Trace.of(columns)
    assert trace.dtype == np.float64
    if skips_double(device, True):
        with pytest.raises(CapabilityError, match="float64"):
            mine(trace, "I", device=device)
    else:
        assert "x = y" not in set(mine(trace, "I", device=device))
    assert "x = y" in set(mine(Trace.of(columns, dtype="float32"), "I", device=device))
    with pytest.raises(PrecisionError, match="'z' has integers that float64 cannot hold"):
        Trace.of({"z": [2**53 + 1]})
    with pytest.raises(PrecisionError, match="beyond the range of float32"):
        Trace.of({"z": [1e300]}, dtype="float32")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"templates": "III"}, "'templates'"),
        ({"width": 3}, "'width'"),
        ({"tile": 5}, "'tile'"),
        ({"slab": 4}, "'slab'"),
        ({"mapping": "thread"}, "'mapping'"),
        ({"memory_limit": 0}, "'memory_limit'"),
        ({"memory_limit": "1G"}, "'memory_limit'"),
        ({"group": 0}, "'group'"),
        ({"inference": "no"}, "'inference'"),
        ({"early_exit": None}, "'early_exit'"),
        ({"overlap": 1}, "'overlap'"),
        ({"progress": 5}, "'progress'"),
        ({"trace": {"x": [1]}}, r"Trace\.of"),
        ({"clock": "x"}, "'clock'"),
        ({"trace": 7}, "'trace'"),
        ({"trace": [7]}, "'trace'"),
        ({"trace": []}, "no variable"),
        ({"templates": TemplateSet(boolean=["a"])}, "no variable"),
    ],
)
def test_wrong_arguments_are_named(options, said, device):
    given = {"trace": Trace.of({"x": [1.0], "y": [2.0]}), "device": device, **options}
    with pytest.raises(ParameterError, match=said):
        mine(**given)


def test_a_limit_of_memory_that_no_piece_fits_is_refused(device):
    for limit in (1, 4000):
        with pytest.raises(DeviceMemoryError, match="1024 instants is the least"):
            mine(random_trace(0, 3000), "I", device=device, memory_limit=limit)


def test_pieces_must_belong_together(device):
    one = Trace.of({"x": [1], "y": [2]})
    with pytest.raises(ParameterError, match="differ"):
        mine([one, Trace.of({"x": [1]})], "I", device=device)
    with pytest.raises(PrecisionError, match="continue as float64"):
        mine([one, Trace.of({"x": [1], "y": [0.1]})], "I", device=device)


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"x": []},
        {"x": [1], "y": [1, 2]},
        {"x": [[1]]},
        {"x": [[1], [1, 2]]},
        {"x": ["a"]},
        {"x": [1j]},
        {"": [1]},
        {"x": np.ma.array([1, 2], mask=[False, True])},
        {"x": np.ma.array([True, False], mask=[False, True])},
        {"x": pd.Series([1, None], dtype="Int64")},
        pd.DataFrame({"x": [True, None]}, dtype="boolean"),
        pl.DataFrame({"x": [1, None]}),
        7,
    ],
)
def test_what_is_no_trace_is_refused(columns):
    with pytest.raises(ParameterError):
        Trace.of(columns)


def test_entries_are_the_increasing_tuples():
    for variables, arity in itertools.product(range(6), (1, 2, 3)):
        right = list(itertools.combinations(range(variables), arity))
        assert [tuple(each) for each in combinations(variables, arity).tolist()] == right


def test_the_smaller_and_the_larger_of_two_variables(device):
    x, y = np.random.default_rng(2).random((2, 50))
    trace = Trace.of({"x": x, "y": y, "z": np.minimum(x, y), "t": np.maximum(x, y)})
    own = TemplateSet(numeric=["A = min(B, C)", "A = max(B, C)"])
    right = {"z = min(x, y)", "t = max(x, y)"}
    for found in (mine(trace, own, device=device), sequential(trace, own), loop(trace, own)):
        assert right <= set(found)
        assert not {"t = min(x, y)", "z = max(x, y)"} & set(found)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_opposite_infinities_are_not_near(device, kind):
    """The gap between them is infinite, and so are 32 units in the last place."""
    columns = {"a": np.array([np.inf, -np.inf], kind), "b": np.array([np.inf, np.inf], kind)}
    own = TemplateSet(numeric=["A = log(B)", "A != log(B)"])
    assert list(mine(Trace.of(columns), own, device=device)) == []
    apart = {"a": np.array([-np.inf], kind), "b": np.array([np.inf], kind)}
    trace = Trace.of(apart)
    assert list(mine(trace, own, device=device)) == ["a != log(b)"]
    assert list(sequential(trace, own)) == ["a != log(b)"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": 1}, "variable 'a' must be a sequence of values, one for each instant. Got 1 "),
        ({"a": [1, 2], "b": "x"}, "variable 'b' must be a sequence of values.* Got 'x' "),
        ({"a": [[1], [2]]}, r"variable 'a' .* Got an array of shape \(2, 1\) "),
        ({"a": [1, 2], "b": [1]}, "'a' has 2, and 'b' has 1"),
        ({"a": pl.Series([1, 2**70], dtype=pl.Int128)}, "values of variable 'a' are no array: "),
    ],
)
def test_columns_that_make_no_trace(columns, message):
    with pytest.raises(ParameterError, match=message):
        Trace.of(columns)


@pytest.mark.parametrize("columns", [{"a": [1]}, np.zeros((2, 2))])
def test_names_of_variables_are_a_sequence(columns):
    with pytest.raises(ParameterError, match="'names' parameter of Trace must be a sequence"):
        Trace.of(columns, 5)
