"""Arguments of wrong types: an error that names the argument, or the answer of the right type."""

from __future__ import annotations

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

import pyapsp
from pyapsp import bulk
from pyapsp.dynamic import Hornet, PathRows, analytics
from pyapsp.errors import (
    DeviceMemoryError,
    GraphError,
    ModelError,
    ParameterError,
    PrecisionError,
)
from pyapsp.graph import generators
from pyapsp.matching import Network, match_many, probabilities
from pyapsp.mining import Trace, mine, read_pieces
from pyapsp.simulation.expressions import Number
from pyapsp.simulation.formulas import formula
from pyapsp.simulation.generators import luo_rudy, luo_rudy_line, wang_buzsaki
from pyapsp.simulation.system import System
from pyapsp.sweep import Array, Sweep
from pyapsp.traversal import partition

GRAPH = pyapsp.Graph.from_arcs(4, [0, 1, 2], [1, 2, 0], [1, 2, 3])
# What compares by element, and what a set or a dictionary cannot hold.
ODD = [np.array(["auto", "host"]), ["auto"], {"auto": 1}, np.array(1)]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("method", lambda value: pyapsp.solve(GRAPH, value)),
        ("method", lambda value: pyapsp.solve_many([GRAPH], value)),
        ("method", lambda value: pyapsp.bfs(GRAPH, 0, value)),
        ("method", lambda value: match_many([], Network.from_edges([], "A"), method=value)),
        ("method", pyapsp.method),
        ("problem", pyapsp.methods),
        ("problem", pyapsp.problem),
        ("keep", lambda value: pyapsp.solve(GRAPH, keep=value)),
        ("library", lambda value: pyapsp.bfs(GRAPH, 0).to_frame(value)),
        ("part", lambda value: pyapsp.bow_tie(GRAPH).vertices(value)),
        ("layout", lambda value: Hornet(3, layout=value)),
        ("duplicates", lambda value: Hornet(3).insert_edges([0], [1], duplicates=value)),
        ("value", lambda value: Hornet(3).to_csr(value)),
        ("semiring", lambda value: analytics.spmv(GRAPH, np.ones(4), semiring=value)),
        ("mapping", lambda value: mine(Trace.of({"a": [1, 2]}), mapping=value)),
        ("engine", lambda value: _simulated(engine=value)),
        ("scheme", lambda value: _sweep(scheme=value)),
        ("role", lambda value: Array("x", value, "float32")),
    ],
)
def test_a_choice_that_is_no_text(name, call, value, device):
    with pytest.raises(ParameterError, match=f"'{name}'"):
        call(value)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("copy", lambda: pyapsp.Graph([0, 0], [], [], copy="no")),
        ("copy", lambda: pyapsp.graph.as_graph([[0.0]], copy="no")),
        ("directed", lambda: pyapsp.graph.from_scipy(csr_array((2, 2)), directed="no")),
        ("copy", lambda: pyapsp.graph.from_scipy(csr_array((2, 2)), copy="no")),
        ("weight", lambda: pyapsp.graph.from_networkx(networkx.Graph(), weight=["km"])),
        ("weight", lambda: pyapsp.solve(networkx.Graph(), weight={})),
        ("weight", lambda: pyapsp.graph.from_frame({"source": [1], "target": [2]}, weight=[1])),
        ("dtype", lambda: GRAPH.to_dense("no")),
        ("weights", lambda: pyapsp.graph.reweight(GRAPH, None)),
        ("weights", lambda: pyapsp.graph.reweight(GRAPH, 3)),
        ("component", lambda: _components().vertices(np.timedelta64(0, "s"))),
        ("match", lambda: _matches().draw(0.5)),
        ("stop", lambda: Trace.of({"a": [1, 2]}).part(0, 1.5)),
        ("nan_is_no_arc", lambda: pyapsp.Graph.from_dense([[0.0]], nan_is_no_arc="no")),
        ("memory_limit", lambda: pyapsp.solve(GRAPH, memory_limit=np.timedelta64(3, "s"))),
        ("k", lambda: pyapsp.nearest(GRAPH, [0], 10**30)),
        ("edge_factor", lambda: generators.rmat(4, 10**30)),
        ("output", lambda: _simulated(output=np.array(2))),
        ("tolerances", lambda: _simulated(tolerances=(1e-3, 1e-3))),
        ("similarity", lambda: match_many([_pair()], _pair(), similarity=np.array(2))),
        ("options", lambda: probabilities(_pair(), _pair(), seed=3)),
        ("options", lambda: probabilities(_pair(), _pair(), rounds=3)),
        ("improved", lambda: pyapsp.closeness_centrality(GRAPH, improved="no")),
        ("stable", lambda: Hornet(3).delete_edges([0], [1], stable="no")),
        ("vectors", lambda: _sweep(vectors="no")),
        ("staging", lambda: _sweep(staging="no")),
        ("per_launch", lambda: _sweep(per_launch=1.5)),
        ("per_launch", lambda: _sweep(per_launch="all")),
        ("memory_limit", lambda: _sweep(memory_limit="1 GB")),
        ("defines", lambda: _sweep(defines=["N"])),
        ("instants", lambda: read_pieces("trace.csv", instants="all")),
        ("variables", lambda: read_pieces("trace.csv", variables="ab")),
        ("similarity", lambda: match_many([], Network.from_edges([], "A"), similarity=1.0)),
        ("top", lambda: _matches().to_frame(-1)),
        ("top", lambda: _matches().summary("all")),
        ("cells", lambda: luo_rudy_line(2.5)),
        ("seed", lambda: wang_buzsaki(2, seed=0.5)),
        ("dtype", lambda: pyapsp.solve(GRAPH, dtype=np)),
        ("dtype", lambda: pyapsp.pinned_empty(3, object)),
        ("shape", lambda: pyapsp.pinned_empty((2, -1))),
        ("sources", lambda: PathRows(Hornet(3), np.ma.array([0, 1], mask=[0, 1]))),
        ("sources", lambda: PathRows(Hornet(3), [3])),
    ],
)
def test_what_only_looks_like_a_value(name, call, device):
    with pytest.raises(ParameterError, match=f"'{name}'"):
        call()


def test_a_limit_beyond_what_python_counts(device):
    found = pyapsp.all_shortest_paths(GRAPH, 0, 2, limit=10**30, device=device)
    expected = pyapsp.all_shortest_paths(GRAPH, 0, 2, device=device)
    assert found.to_frame().equals(expected.to_frame())


def test_pairs_that_are_no_vertices_are_no_edges():
    """Of numbers below zero another pair was an edge."""
    network = Network.from_edges([(0, 2), (0, 1)], "ABC")
    assert network.has_edges([1, 2, 1], [0, 0, 2]).tolist() == [True, True, False]
    for tails, heads in (([1], [-1]), ([0.9], [1.2]), (["1"], ["0"]), ([0], [3])):
        with pytest.raises(GraphError, match="of the arcs must"):
            network.has_edges(tails, heads)


def test_names_of_networks_without_dimension():
    for names in (np.array("A"), 3):
        with pytest.raises(GraphError, match="a sequence"):
            Network.from_edges([], names)
        with pytest.raises(GraphError, match="a sequence"):
            Network.from_edges([], "A", vertices=names)


def _components():
    return pyapsp.strongly_connected_components(GRAPH)


def _pair():
    return Network.from_edges([(0, 1)], "AB")


def _matches():
    return match_many([_pair()], _pair(), matches=2)[0]


def _simulated(step=0.01, **options):
    return pyapsp.simulate(luo_rudy_line(2), duration=0.02, step=step, method="euler", **options)


def _sweep(**options):
    arrays = [Array("x", "input", "float32"), Array("y", "output", "float32")]
    return Sweep("OUT(y, 0) = IN(x, 0);", arrays, **options)


@pytest.mark.parametrize("number", [np.int8(100), np.int32(2**31 - 1), np.uint64(2**63)])
def test_limits_may_be_numpy_integers(number, device):
    """Sums and products with them do not overflow."""
    if number < 2**30:
        with pytest.raises(DeviceMemoryError):
            pyapsp.diameter(GRAPH, memory_limit=number, device=device)
    else:
        assert pyapsp.diameter(GRAPH, memory_limit=number, device=device) == 5
    many = pyapsp.solve_many([GRAPH] * 3, group=number, memory_limit=2**30, device=device)
    assert len(many) == 3


def test_widths_may_be_numpy_integers(device):
    trace = Trace.of({"a": [1, 2]})
    found = mine(trace, width=np.int8(1), tile=np.int8(1), device=device)
    assert list(found) == list(mine(trace, device=device))


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1, [np.nan]])
def test_rows_of_paths_refuse_weights_without_length(weight, device):
    rows = PathRows(Hornet(3, weight="int32", device=device))
    with pytest.raises(PrecisionError):
        rows.insert_edges([0], [1], weight)
    assert rows.insert_edges([0], [1], [5]) == 1


def test_rows_of_paths_refuse_weights_that_are_text(device):
    with pytest.raises(GraphError, match="real numbers"):
        PathRows(Hornet(3, weight="int32", device=device)).insert_edges([0], [1], "5")


def test_masked_offsets():
    with pytest.raises(ParameterError, match="offsets must not be masked"):
        partition(np.ma.array([0, 2, 5], mask=[0, 1, 0]))


def test_only_graphs_are_written(tmp_path):
    with pytest.raises(GraphError, match=r"ndarray.*as_graph"):
        pyapsp.write(np.eye(3), tmp_path / "graph.txt")
    assert not list(tmp_path.iterdir())


def test_labels_without_dimension():
    with pytest.raises(GraphError, match="a sequence"):
        pyapsp.Graph.from_arcs(1, [], [], labels=np.array(1))


def test_steps_longer_than_int64(device):
    frame = _simulated(step=10**30, device=device)
    assert frame["time"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "float32"),
        (pd.array([1, None], dtype="Int64"), "int32"),
        ([1e300], "float32"),
        ([2**24 + 1], "float32"),
        ([2**31], "int32"),
        ([-1], "uint8"),
    ],
)
def test_values_that_a_task_would_not_get(values, kind, device):
    """Of sweeps: masks were dropped, and large numbers were infinite or others."""
    arrays = [Array("x", "input", kind), Array("y", "output", kind)]
    sweep = Sweep("OUT(y, 0) = IN(x, 0);", arrays, device=device)
    with pytest.raises(ParameterError, match="'x'"):
        sweep(x=values)
    if isinstance(values, np.ma.MaskedArray):
        with pytest.raises(ParameterError, match="'x'"):
            list(sweep.over([{"x": values[1]}]))


@pytest.mark.parametrize(
    ("fill", "kind"),
    [(1.5, "int32"), (300, "int8"), (np.nan, "int32"), ("a", "int32"), (1e300, "float32")],
)
def test_fills_that_a_type_does_not_hold(fill, kind):
    with pytest.raises(ParameterError, match="'fill'"):
        Array("y", "output", kind, fill=fill)
    assert Array("y", "output", "float32", fill=np.inf).fill == np.inf


def test_values_that_an_instance_would_not_get(device):
    program = bulk.load(bulk.programs()["prefix_sums"], device=device)
    (name, array), *_ = program.empty(2).items()
    for values in (np.full(array.shape, 1e300), np.ma.masked_equal(np.ones(array.shape), 1)):
        with pytest.raises(ParameterError, match=f"'{name}'"):
            program.run({name: values})
    with pytest.raises(ParameterError, match="'b'"):
        list(bulk.split({name: array}, 0))


def test_parameters_of_simulations_are_not_rounded(device):
    for value, kind in ((2**53 + 1, "float64"), (1e300, "float32")):
        for sets in ({"G_Na": value}, pd.DataFrame({"G_Na": [value]})):
            with pytest.raises(ParameterError, match=f"'G_Na'.*{kind}"):
                pyapsp.simulate(
                    luo_rudy(), duration=1, step=0.1, parameters=sets, dtype=kind, device=device
                )
    with pytest.raises(ParameterError, match=r"pandas\.DataFrame"):
        pyapsp.simulate(luo_rudy(), duration=1, step=0.1, parameters=pl.DataFrame({"G_Na": [1.0]}))


def test_outputs_of_simulations(device):
    frame = _simulated(output=(name for name in ["cell[1].V"]), device=device)
    assert list(frame) == ["time", "cell[1].V"]
    sets = pd.DataFrame({"cell[1].V": [-80.0, -81.0]})
    with pytest.raises(ParameterError, match="'time'"):
        _simulated(parameters=sets, reduce={"last": ("last", "time")}, device=device)


@pytest.mark.parametrize("text", ["1e999", "9007199254740993", "1" * 400, "+".join("k" * 3000)])
def test_formulas_that_float64_or_python_cannot_hold(text):
    with pytest.raises(ParameterError, match=r"float64 does not hold|nested less deeply"):
        formula(text)


def test_systems_of_what_is_no_expression():
    system = System("s", {}, {}, {"x": Number(1.0)}, {"x": 0.5}, {})
    with pytest.raises(ModelError, match=r"derivative of 'x': 0\.5 is no expression"):
        pyapsp.simulate(system, duration=1, step=0.1)


def test_a_simulation_continues_with_another_readback(tmp_path, device):
    def stop(done, total):
        if done == 2:
            raise InterruptedError

    given = {"duration": 0.1, "step": 0.01, "method": "euler", "device": device}
    whole = pyapsp.simulate(luo_rudy(), **given)
    given["checkpoint"] = tmp_path / "run.npz"
    with pytest.raises(InterruptedError):
        pyapsp.simulate(luo_rudy(), **given, readback=1, progress=stop)
    assert pyapsp.simulate(luo_rudy(), **given).equals(whole)


DOORS = [
    pyapsp.read,
    pyapsp.Result.load,
    pyapsp.Components.load,
    pyapsp.open_rows,
    pyapsp.bulk.load,
    pyapsp.mining.read_trace,
    pyapsp.matching.read_network,
    pyapsp.matching.read_similarity,
    lambda path: pyapsp.write(GRAPH, path),
    lambda path: pyapsp.solve(GRAPH, "fw-outofcore", checkpoint=path or 0),
]


@pytest.mark.parametrize("path", [None, 3, b"name.csv", "a\0b.csv"], ids=repr)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__qualname__)
def test_what_is_no_name_of_a_file(door, path):
    with pytest.raises(ParameterError, match="must be the name of a file"):
        door(path)


def test_a_column_of_arrow_with_missing_values():
    """pyarrow is not installed here: its arrays have a number ``null_count`` and no dtype."""

    class Column:
        null_count = 1

        def __array__(self, dtype=None, copy=None):
            return np.array([1, np.nan])

    with pytest.raises(ParameterError, match="'a' must not be missing"):
        pyapsp.mining.Trace.of({"a": Column()})
    with pytest.raises(GraphError, match="must not be missing"):
        pyapsp.Graph.from_arcs(3, [0, 1], [1, 2], Column())
