"""Conversion of objects of other libraries to graphs, and the recipes that change weights.

No optional library is imported here. Only the methods of their objects are used.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from pyapsp.base.errors import GraphError, ParameterError, PrecisionError
from pyapsp.graph import compressed
from pyapsp.graph.attributes import Weight, WeightFunction, check_weight, default_of
from pyapsp.graph.compressed import Sparse
from pyapsp.graph.model import Graph
from pyapsp.graph.validation import flag, is_real

if TYPE_CHECKING:
    import igraph
    import networkx
    import sparse

_T = TypeVar("_T")

# The types of real numbers; numpy.number has the complex ones as well.
_WHOLE = (int, np.integer, np.bool_)
_REAL = (*_WHOLE, float, np.floating)

#: Formats of SciPy that fill blocks or diagonals with zeros.
PADDED = ("bsr", "dia")

# How `reweight` changes weights; the last one is followed by a number.
_RECIPES, _SUBTRACT = ("as-is", "unweighted", "absolute"), "subtract-from:"

__all__ = [
    "PADDED",
    "arcs_of",
    "check_recipe",
    "from_igraph",
    "from_networkx",
    "from_scipy",
    "in_scipy",
    "is_kind",
    "is_sparse",
    "numbers",
    "reweight",
]


def from_scipy(
    matrix: Sparse, *, directed: bool = True, name: str | None = None, copy: bool = True
) -> Graph:
    """Make a graph from a SciPy sparse array or matrix of any format.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix, shape (n, n)
        Or a sparse array of PyData, as `scipy.sparse.csgraph` takes it.
        Entry (i, j) is the weight of the arc i -> j. Stored zeros are arcs of weight zero,
        except in the formats BSR and DIA, which pad with zeros; there a zero is no arc. Of
        duplicate entries the smallest is used; SciPy would add them.
    directed : bool, default True
        False takes the smaller of the two weights for both directions.
    name : str, optional
        Name of the graph.
    copy : bool, default True
        False shares the memory of a CSR matrix if it has the right types. Then it must not change
        while the graph is used.

    Raises
    ------
    GraphError
        The matrix is not square, its index arrays are wrong, or it holds NaN, -inf or complex
        numbers.
    """
    directed, copy = flag("directed", "from_scipy", directed), flag("copy", "from_scipy", copy)
    matrix = in_scipy(matrix)
    if not is_sparse(matrix):
        raise GraphError(f"a SciPy sparse matrix is wanted, not {type(matrix).__name__}")
    n, starts = compressed.sparse(matrix)
    matrix = _pruned(matrix)
    if matrix.format == "csc":
        matrix, copy = matrix.tocsr(), False
        _, starts = compressed.sparse(matrix)
    elif matrix.format == "csr" and starts is None:
        matrix, copy = _sorted(matrix), False
        _, starts = compressed.sparse(matrix)
    if starts is not None:
        rows = starts, matrix.indices, matrix.data
        graph = Graph.from_checked_rows(*rows, name=name, copy=copy)
        return graph if directed else graph.symmetrized()
    return Graph.from_arcs(n, *arcs_of(matrix), directed=directed, name=name)


def arcs_of(matrix: Sparse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows, columns and values of the entries of a checked matrix that are arcs.

    Zeros that fill the blocks of a BSR matrix or the diagonals of a DIA matrix are none.

    Raises
    ------
    GraphError
        SciPy cannot convert the matrix.
    """
    try:
        entries = _pruned(matrix).tocoo()
    except (TypeError, ValueError) as error:
        raise GraphError(f"no sparse matrix of weights: {error}") from None
    tails, heads, weights = entries.row, entries.col, entries.data
    if matrix.format in PADDED:
        stored = weights != 0
        return tails[stored], heads[stored], weights[stored]
    return tails, heads, weights


def _pruned(matrix: Sparse) -> Sparse:
    """Return a matrix without unused entries behind the last row; they have no row numbers."""
    if matrix.format in ("csr", "csc", "bsr") and matrix.indptr[-1] < matrix.indices.size:
        matrix = matrix.copy()
        matrix.prune()
    return matrix


def _sorted(matrix: Sparse) -> Sparse:
    """Return a copy of a CSR matrix whose rows have their columns in order, if SciPy can sort it.

    SciPy sorts each row, which takes a tenth of the time in which all arcs are sorted.
    """
    found = matrix.copy()
    found.has_sorted_indices = False
    try:
        found.sort_indices()
    except (TypeError, ValueError):
        return matrix  # e.g. float16
    return found


def from_networkx(graph: networkx.Graph, *, weight: Weight = ...) -> Graph:
    """Make a graph from a NetworkX graph; the nodes become the labels, in the same order.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        Of parallel edges the one with the smallest weight is used.
    weight : hashable, callable or None, optional
        The edge attribute with the weight. An edge without it has weight 1. A function is called as
        ``weight(tail, head, attributes)`` for each edge, and returns the weight, or None for no
        edge. None: all weights are 1. By default ``"weight"``.

    Raises
    ------
    GraphError
        A weight is not a real number, or is NaN or -inf; no edge has the attribute; or no weight is
        named, no edge has the attribute ``"weight"``, and there are other numbers.
    """
    _check_kind(graph, "networkx", "Graph")
    check_weight(weight, "from_networkx")
    row = {node: number for number, node in enumerate(graph)}
    edges = list(graph.edges(data=True))
    ends = [(row[tail], row[head]) for tail, head, _ in edges]
    if weight is ...:
        every = (name for *_, attributes in edges for name in attributes)
        weight = default_of(every, lambda: _numeric(attributes for *_, attributes in edges))
    weights = None
    if callable(weight):
        ends, weights = _computed(weight, edges, ends)
    elif weight is not None:
        if edges and not any(weight in attributes for *_, attributes in edges):
            raise GraphError(f"no edge has the attribute {weight!r}")
        weights = numbers([attributes.get(weight, 1) for *_, attributes in edges])
    tails, heads = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_arcs(
        len(row),
        tails,
        heads,
        weights,
        directed=graph.is_directed(),
        labels=list(row),
        name=_text(graph.name) or None,
    )


def _numeric(rows: Iterable[Mapping[Hashable, object]]) -> list[Hashable]:
    """Return the names of attributes that have a number somewhere, in the order of their rows."""
    found = {name: True for row in rows for name, value in row.items() if is_real(value)}
    return list(found)


def _computed(
    weight: WeightFunction,
    edges: Sequence[tuple[Hashable, Hashable, Mapping[Hashable, object]]],
    ends: Sequence[tuple[int, int]],
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the ends and weights of the edges for which a function gives a weight."""
    values = [weight(*edge) for edge in edges]
    kept = [place for place, value in enumerate(values) if value is not None]
    found = numbers([cast("float", values[place]) for place in kept])
    return [ends[place] for place in kept], found


def from_igraph(graph: igraph.Graph, *, weight: Weight = ...) -> Graph:
    """Make a graph from an igraph graph; the vertex attribute ``name`` becomes the labels.

    Parameters
    ----------
    graph : igraph.Graph
        Of parallel edges the one with the smallest weight is used.
    weight : hashable, callable or None, optional
        The edge attribute with the weight, as for `from_networkx`. A function gets the names of
        vertices, or their numbers if they have none.

    Raises
    ------
    GraphError
        There is no such attribute, a weight is not a real number, or is NaN or -inf, or a name
        occurs twice; or no weight is named, there is no ``"weight"``, and there are other numbers.
    """
    _check_kind(graph, "igraph", "Graph")
    check_weight(weight, "from_igraph")
    pairs, attributes = graph.get_edgelist(), graph.es.attributes()
    if weight is ...:
        weight = default_of(attributes, lambda: _numeric(each.attributes() for each in graph.es))
    weights = None
    if callable(weight):
        names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        edges = [
            (names[tail], names[head], edge.attributes())
            for (tail, head), edge in zip(pairs, graph.es, strict=True)
        ]
        pairs, weights = _computed(weight, edges, pairs)
    elif weight is not None:
        if weight not in attributes:
            shown = ", ".join(map(repr, attributes)) or "none"
            raise GraphError(f"the edges have no attribute {weight!r}, but {shown}")
        weights = numbers(graph.es[weight])
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Graph.from_arcs(
        graph.vcount(),
        ends[:, 0],
        ends[:, 1],
        weights,
        directed=graph.is_directed(),
        labels=graph.vs["name"] if "name" in graph.vs.attributes() else None,
        name=_text(graph["name"]) if "name" in graph.attributes() else None,
    )


def is_kind(source: object, module: str, name: str) -> bool:
    """Return whether an object is of a class of a library; False if the library is not imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(source, kind)


def is_sparse(source: object) -> bool:
    """Return whether an object is a sparse array or matrix of SciPy, as `scipy.sparse.issparse`."""
    return any(is_kind(source, "scipy.sparse", kind) for kind in ("sparray", "spmatrix"))


def in_scipy(source: _T) -> _T | Sparse:
    """Return a sparse array of the library `sparse` (PyData) as one of SciPy.

    Other objects are returned as they are.

    As in `scipy.sparse.csgraph`, what is not stored must be 0, inf or NaN; it is no arc.

    Raises
    ------
    GraphError
        It is another number, or there are not two dimensions.
    """
    if not is_kind(source, "sparse", "SparseArray"):
        return source
    entries = cast("sparse.SparseArray", source)
    try:
        converted: Sparse = entries.to_scipy_sparse(accept_fv=[0, np.inf, np.nan])
    except (AttributeError, TypeError, ValueError) as error:
        raise GraphError(f"no sparse matrix of weights: {error}") from None
    return converted


def _check_kind(source: object, module: str, name: str) -> None:
    if not is_kind(source, module, name):
        raise GraphError(f"a {module}.{name} is wanted, not {type(source).__name__}")


def _text(name: Hashable | None) -> str | None:
    """Return the name of a graph as text; in other libraries it may be any object."""
    return None if name is None else str(name)


def check_recipe(recipe: str) -> None:
    """Raise a ParameterError if `reweight` has no such recipe."""
    text = isinstance(recipe, str)
    if not text or (recipe not in _RECIPES and not re.fullmatch(rf"{_SUBTRACT}-?\d+", recipe)):
        rule = f"{', '.join(_RECIPES)} or {_SUBTRACT}<whole number>"
        raise ParameterError.of("weights", "reweight", rule, recipe, _RECIPES)


def reweight(graph: Graph, recipe: str) -> Graph:
    """Change the weights of a graph by a recipe, as ``pyapsp convert --weights`` does.

    Parameters
    ----------
    graph : Graph
        The graph.
    recipe : {"as-is", "unweighted", "absolute", "subtract-from:<whole number>"}
        ``as-is`` changes nothing. ``unweighted`` makes all weights 1. ``absolute`` takes absolute
        values. ``subtract-from`` takes the number minus the weight, to turn a rating into a cost.

    Raises
    ------
    ParameterError
        There is no such recipe.
    PrecisionError
        A changed weight does not fit into int64.
    """
    check_recipe(recipe)
    if recipe == "as-is":
        return graph
    if recipe == "unweighted":
        return graph.unweighted()
    if recipe == "absolute":
        _check_range(graph, [abs(graph.min_weight or 0)])
        return graph.with_weights(np.abs(graph.weights))
    number = int(recipe.removeprefix(_SUBTRACT))
    _check_range(graph, [number - (graph.min_weight or 0), number - (graph.max_weight or 0)])
    return graph.with_weights(number - graph.weights)


def _check_range(graph: Graph, extremes: list[float]) -> None:
    """Raise an error for changed weights that would overflow int64."""
    for weight in extremes:
        if graph.dtype.kind == "i" and not -(2**63) <= weight < 2**63:
            raise PrecisionError(f"int64 cannot hold the changed weight {weight}")


def numbers(values: Sequence[float], place_of: Callable[[int], str] | None = None) -> np.ndarray:
    """Return Python or NumPy numbers as an array of weights; an error names the wrong one.

    Parameters
    ----------
    values : list
        Numbers, or what should be.
    place_of : callable, optional
        Names a place in the list for errors, by default as the edge of this number.

    Raises
    ------
    GraphError
        A value is no real number, or int64 or float64 cannot hold it.
    """
    place_of = place_of or "edge number {}".format
    for place, value in enumerate(values):
        # timedelta64 is a subclass of NumPy's integers
        if not isinstance(value, _REAL) or isinstance(value, np.timedelta64):
            raise GraphError(f"the weight of {place_of(place)} is no real number: {value!r}")
    if all(isinstance(value, _WHOLE) for value in values):
        try:
            return np.array([int(value) for value in values], dtype=np.int64)
        except OverflowError:
            raise GraphError("a weight does not fit into int64") from None
    for place, value in enumerate(values):
        if isinstance(value, _WHOLE):
            value = int(value)  # Python compares an int with a float exactly
        try:
            held = float(value)
        except OverflowError:
            held = math.inf
        if held != value and value == value:  # `Graph` raises the error for NaN
            raise GraphError(
                f"the weight of {place_of(place)} does not fit into float64, which the others "
                f"need: {value!r}"
            )
    return np.array(values, dtype=np.float64)
