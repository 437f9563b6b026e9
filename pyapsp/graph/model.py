"""The graph of all methods: arcs in compressed sparse rows, and cached facts."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, DTypeLike, NDArray

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.base.host import as_type
from pyapsp.base.shown import table
from pyapsp.graph import compressed, exports, validation
from pyapsp.graph.facts import Facts, family_of, soundings, spread_of
from pyapsp.graph.rows import (
    frozen,
    placed,
    sealed,
    sorted_rows,
    starts_among,
    starts_of,
    tails_of,
    transposed,
)
from pyapsp.graph.symmetry import is_symmetric, union
from pyapsp.graph.validation import Span

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas

__all__ = ["DERIVED", "Facts", "Graph"]

# Threads of several devices need a derived graph at the same time: one of them makes it.
_making = threading.Lock()
# Weights from which the mean is estimated, and the number of runs that they are in.
_WEIGHTS, _RUNS = 2**16, 2**8
#: The graphs that a graph stores beside its own attributes.
DERIVED = "_reversed", "_symmetrized", "_both_ways", "_unweighted"
_ATTRIBUTES = "indptr", "indices", "weights", "directed", "labels", "name"


class Graph:
    """A weighted graph, immutable: its arrays are read-only.

    Vertices are the row numbers 0..n-1. Arcs may have weight zero. Arcs of weight +inf are removed.
    An undirected graph stores both arcs of an edge, with the same weight.

    Parameters
    ----------
    indptr : array_like of int, shape (n + 1,)
        The arcs that leave vertex i have the indices ``indptr[i]:indptr[i + 1]``.
    indices : array_like of int, shape (m,)
        Heads of the arcs, strictly increasing within a row.
    weights : array_like, shape (m,)
        Integers and booleans become int64, float16 becomes float32.
    directed : bool, default True
        False means that the graph is undirected: every arc must have its reverse, of equal weight.
    labels : iterable, optional
        n distinct names of the vertices, for instance the ids in the file. None of them may be a
        missing value (NaN, NaT, pandas.NA). The labels 0..n-1 are the same as None.
    name : str, optional
        The name of the graph in records.
    copy : bool, default True
        False shares the memory of the arrays if they have the right types. Then they must not
        change while the graph is used.

    Raises
    ------
    GraphError
        The arrays do not describe such a graph.

    See Also
    --------
    Graph.from_arcs : from arcs in any order.
    Graph.from_dense : from a matrix of weights.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: np.ndarray
    directed: bool
    labels: np.ndarray | None
    name: str | None
    # whether a function made it of another object, so that its caller knows no numbers of vertices
    is_converted: ClassVar[bool] = False

    # Up to this number of arcs, a graph stores its reversed, undirected and unweighted graph: to
    # make one takes as long as a search.
    _stores: ClassVar[int] = 2**22

    def __init__(
        self,
        indptr: ArrayLike,
        indices: ArrayLike,
        weights: ArrayLike,
        *,
        directed: bool = True,
        labels: Iterable[Hashable] | None = None,
        name: str | None = None,
        copy: bool = True,
    ) -> None:
        values = validation.weights(weights)
        if values.ndim != 1:
            raise GraphError(f"the weights must be one-dimensional, not {values.ndim}-dimensional")
        n = compressed.csr(indptr, indices, values.size)
        starts, heads = np.asarray(indptr, np.int64), np.asarray(indices, np.int32)
        name = _text(name)
        directed = validation.flag("directed", "Graph", directed)
        copy = validation.flag("copy", "Graph", copy)
        self._fill(starts, heads, values, directed, validation.labels(labels, n), name, copy)
        if not directed and not self._equals_reverse():
            raise GraphError("an undirected graph needs both arcs of an edge, of equal weight")

    def _fill(
        self,
        starts: NDArray[np.int64],
        heads: NDArray[np.int32],
        values: np.ndarray,
        directed: bool,
        labels: np.ndarray | None,
        name: str | None,
        copy: bool,
    ) -> None:
        """Set the attributes from sorted rows; arcs of infinite weight are removed."""

        def ends(arc: int) -> tuple[int, int]:
            return int(np.searchsorted(starts, arc, side="right")) - 1, int(heads[arc])

        spread = compressed.extremes(values)
        keep = validation.finite(values, spread, ends)
        if keep is None:
            self.__dict__["_extremes"] = spread
        else:
            tails = tails_of(starts)
            starts, heads, values = (
                starts_of(tails[keep], starts.size - 1),
                heads[keep],
                values[keep],
            )
        self.__dict__.update(
            indptr=frozen(starts, copy),
            indices=frozen(heads, copy),
            weights=frozen(values, copy),
            directed=directed,
            labels=None if labels is None else frozen(labels),
            name=name,
        )

    @classmethod
    def from_checked_rows(
        cls,
        indptr: np.ndarray,
        indices: np.ndarray,
        weights: np.ndarray,
        *,
        name: str | None = None,
        copy: bool = True,
    ) -> Graph:
        """Make a directed graph from rows that `Graph` would accept.

        Only weights are checked. For callers that have checked the rows.
        """
        validation.vertex_count(indptr.size - 1)
        values = validation.weights(weights)
        graph: Graph = object.__new__(cls)
        starts, heads = as_type(indptr, np.int64), as_type(indices, np.int32)
        graph._fill(starts, heads, values, True, None, name, copy)
        return graph

    @classmethod
    def _of_new_rows(
        cls,
        starts: NDArray[np.int64],
        heads: NDArray[np.int32],
        values: np.ndarray,
        directed: bool,
        labels: np.ndarray | None,
        name: str | None,
    ) -> Graph:
        """Make a graph from rows that `Graph` would accept, in arrays that nobody else uses."""
        graph: Graph = object.__new__(Graph)
        for array in (starts, heads, values):
            sealed(array)
        # only a view of other memory is copied: the owner of that memory could change it
        graph._fill(starts, heads, values, directed, labels, name, copy=True)
        return graph

    def _sharing(self, directed: bool) -> Graph:
        """Return a graph with the same arrays, without a check of `directed`."""
        graph = object.__new__(Graph)
        arrays = {name: getattr(self, name) for name in _ATTRIBUTES}
        # the facts that are known hold for the other graph too, but for the hash
        graph.__dict__.update(self.__dict__ | arrays, directed=directed)
        for name in ("content_hash", "_unweighted"):
            graph.__dict__.pop(name, None)
        return graph

    @classmethod
    def from_arcs(
        cls,
        n: int,
        tails: ArrayLike,
        heads: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        directed: bool = True,
        labels: Iterable[Hashable] | None = None,
        name: str | None = None,
    ) -> Graph:
        """Make a graph from a list of arcs in any order.

        Parameters
        ----------
        n : int
            Number of vertices.
        tails, heads : array_like of int, shape (arcs,)
            Ends of the arcs, in 0..n-1. If there are several arcs from one vertex to another, the
            one with the smallest weight is kept.
        weights : array_like, shape (arcs,), optional
            None gives every arc the weight 1 (int64).
        directed : bool, default True
            False adds the reverse of every arc; both get the smaller of the two weights.
        labels, name
            As in :class:`Graph`.

        Raises
        ------
        GraphError
            The lengths differ, a vertex is out of range, a weight is NaN or -inf, a value is
            masked, or NumPy would round an integer because the list also has fractions.
        """
        n = validation.vertex_count(n)
        directed = validation.flag("directed", "Graph.from_arcs", directed)
        tail = validation.vertices("tails", tails, n)
        head = validation.vertices("heads", heads, n)
        # equal weights need no array
        given = np.ones(1, np.int64) if weights is None else validation.weights(weights)
        shape = tail.shape if weights is None else given.shape
        if not tail.shape == head.shape == shape:
            raise GraphError(
                f"{tail.size} tails, {head.size} heads and weights of shape {shape} "
                "do not make a list of arcs"
            )
        spread = compressed.extremes(given)
        keep = validation.finite(given, spread, lambda arc: (int(tail[arc]), int(head[arc])))
        if keep is not None:
            tail, head, given = tail[keep], head[keep], given[keep]
            spread = compressed.extremes(given)
        arcs = [(tail, head)] if directed else [(tail, head), (head, tail)]
        rows = sorted_rows(n, placed(n, *arcs), given, spread)
        return cls(*rows, directed=directed, labels=labels, name=name)

    @classmethod
    def from_dense(
        cls,
        matrix: ArrayLike,
        *,
        directed: bool = True,
        no_arc: float = 0,
        nan_is_no_arc: bool = False,
        labels: Iterable[Hashable] | None = None,
        name: str | None = None,
    ) -> Graph:
        """Make a graph from an n-by-n matrix of weights.

        Parameters
        ----------
        matrix : array_like or numpy.ma.MaskedArray, shape (n, n)
            ``matrix[i, j]`` is the weight of the arc i -> j. In a masked array the masked
            entries are no arcs, and all others are arcs, also zeros.
        directed : bool, default True
            False takes the smaller of ``matrix[i, j]`` and ``matrix[j, i]`` for both.
        no_arc : number, default 0
            The value that means "no arc", besides +inf. It is not used for masked arrays. Zero is
            SciPy's convention.
        nan_is_no_arc : bool, default False
            Whether NaN also means "no arc", as in SciPy.
        labels, name
            As in :class:`Graph`.

        Raises
        ------
        GraphError
            The matrix is not square, has NaN (unless allowed) or -inf, or has no real numbers.
        ParameterError
            `directed` is neither True nor False, or `no_arc` is no number.
        """
        directed = validation.flag("directed", "Graph.from_dense", directed)
        if not validation.is_real(no_arc):
            raise ParameterError.of("no_arc", "Graph.from_dense", "a real number", no_arc)
        nan_is_no_arc = validation.flag("nan_is_no_arc", "from_dense", nan_is_no_arc)
        masked = validation.is_masked_array(matrix)
        values = validation.real(np.ma.getdata(matrix) if masked else matrix)
        n = validation.square(values.shape)
        arc = ~np.ma.getmaskarray(matrix) if masked else values != no_arc  # type: ignore[arg-type]
        if values.dtype.kind == "f":
            arc &= ~np.isposinf(values)
            if nan_is_no_arc:
                arc &= ~np.isnan(values)
        starts = np.zeros(n + 1, np.int64)
        np.cumsum(np.count_nonzero(arc, axis=1), out=starts[1:])
        heads = np.nonzero(arc)[1].astype(np.int32)
        weights, names = validation.weights(values[arc]), validation.labels(labels, n)
        graph = cls._of_new_rows(starts, heads, weights, True, names, _text(name))
        return graph if directed else graph.symmetrized()

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"a Graph is immutable: {attribute!r} cannot be set")

    def __getstate__(self) -> dict[str, np.ndarray | Hashable]:
        # a pickle need not have all arcs twice
        return {name: value for name, value in self.__dict__.items() if name not in DERIVED}

    def __setstate__(self, state: dict[str, np.ndarray | Hashable]) -> None:
        # arrays that NumPy has copied or unpickled can be written
        for attribute, value in state.items():
            if isinstance(value, np.ndarray):
                value = sealed(value)
            self.__dict__[attribute] = value

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"a Graph is immutable: {attribute!r} cannot be deleted")

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.indptr.size - 1

    @property
    def m(self) -> int:
        """Number of stored arcs; an undirected edge is two arcs, a self-loop is one."""
        return self.indices.size

    @property
    def dtype(self) -> np.dtype:
        """Type of the weights: int64, float32 or float64."""
        return self.weights.dtype

    @property
    def stored(self) -> np.ndarray:
        """An array with every weight; for a graph that is a matrix, it also has 0 and inf."""
        return self.weights

    @cached_property
    def _extremes(self) -> Span:
        return compressed.extremes(self.weights)

    @property
    def min_weight(self) -> int | float | None:
        """Smallest weight; None without arcs."""
        return self._extremes[0].item() if self.m else None

    @property
    def is_positive(self) -> bool:
        """Whether every weight is above zero."""
        return self.min_weight is None or self.min_weight > 0

    @property
    def max_weight(self) -> int | float | None:
        """Largest weight; None without arcs."""
        return self._extremes[1].item() if self.m else None

    @cached_property
    def max_magnitude(self) -> int | float:
        """Largest absolute value of a weight; 0 without arcs."""
        return max(abs(each.item()) for each in self._extremes) if self.m else 0

    @cached_property
    def mean_weight(self) -> float:
        """The mean of the weights, estimated from some of them; NaN without arcs."""
        some = self.weights
        if self.m > _WEIGHTS:  # runs, because single ones would each take the time of a cache line
            run, each = self.m // _RUNS, _WEIGHTS // _RUNS
            some = some[: _RUNS * run].reshape(_RUNS, run)[:, :each]
        return float(some.mean(dtype=np.float64)) if self.m else float("nan")

    @property
    def has_negative(self) -> bool:
        """Whether a weight is below zero."""
        return bool(self._extremes[0] < 0)

    @cached_property
    def is_integer(self) -> bool:
        """Whether all weights are whole numbers, whatever their dtype."""
        if self.dtype.kind == "i" or self.min_weight == self.max_weight:
            return self.m == 0 or bool(self.weights[0] == np.floor(self.weights[0]))
        return compressed.whole(self.weights)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether every arc has its reverse, of the same weight."""
        return not self.directed or self._equals_reverse()

    @cached_property
    def is_complete(self) -> bool:
        """Whether every vertex has an arc to every other."""
        pairs = self.n * (self.n - 1)
        return self.m >= pairs and self.m - self._loops() == pairs

    def _loops(self) -> int:
        """Return the number of arcs from a vertex to itself."""
        return int(np.count_nonzero(tails_of(self.indptr) == self.indices))

    @cached_property
    def is_unweighted(self) -> bool:
        """Whether all weights are 1."""
        return self.m == 0 or self.min_weight == 1 == self.max_weight

    @cached_property
    def facts(self) -> Facts:
        """The facts that decide which methods are suitable and fast; hashable."""
        return Facts(
            self.n,
            self.m,
            self.max_magnitude,
            self.has_negative,
            self.is_integer,
            self.is_unweighted,
            self.family,
        )

    @cached_property
    def sounded(self) -> Facts:
        """The facts with estimates of reach, depth and spread, by searches from a few vertices."""
        if not self.m:
            return self.facts

        def search(vertex: int) -> tuple[int, int]:
            return compressed.depth(self.indptr, self.indices, vertex, backwards=False)

        reach, depth = soundings(self.n, search)
        return replace(self.facts, reach=reach, depth=depth, spread=self._spread)

    def sounded_within(self, cutoff: float) -> Facts:
        """Return the facts with estimates of reach, and of depth and spread if unweighted.

        The searches go up to a distance.

        Searches with negative weights go farther: then this is `sounded`.
        """
        if not self.m or self.has_negative:
            return self.sounded
        search = compressed.within(self.indptr, self.indices, self.weights, cutoff)
        reach, depth = soundings(self.n, search)
        if not self.is_unweighted:
            return replace(self.facts, reach=reach)
        return replace(self.facts, reach=reach, depth=depth, spread=self._spread)

    @cached_property
    def _spread(self) -> float:
        return spread_of(self.indptr, self.indices)

    @cached_property
    def family(self) -> str:
        """The most similar family of `pyapsp.graph.families`, by the degrees; takes O(n)."""
        return family_of(self.indptr)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hexadecimal) of n, the arcs, the weights with their dtype, and `directed`."""
        digest = hashlib.sha256(f"{self.n} {self.directed} {self.dtype.name}".encode())
        for array in (self.indptr, self.indices, self.weights):
            digest.update(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        return digest.hexdigest()

    def vertex(self, label: Hashable) -> int:
        """Return the number of the vertex with this label; without labels, the labels are 0..n-1.

        Raises
        ------
        ParameterError
            There is no such vertex.
        """
        try:
            return self.numbers[label]
        except (KeyError, TypeError):
            rule = "the label of a vertex"
            raise ParameterError.of("label", "Graph.vertex", rule, label) from None

    def label(self, vertex: int) -> Hashable:
        """Return the label of a vertex as a Python object; without labels, its number.

        Raises
        ------
        ParameterError
            There is no such vertex.

        Examples
        --------
        >>> from pyapsp import Graph
        >>> graph = Graph.from_arcs(3, [0, 1], [1, 2], labels=["a", "b", "c"])
        >>> [graph.label(v) for v in (0, 2)]
        ['a', 'c']
        """
        place = validation.vertex("vertex", "Graph.label", vertex, self.n)
        if self.labels is None:
            return place
        name: Hashable = self.labels[place : place + 1].tolist()[0]
        return name

    @cached_property
    def numbers(self) -> dict[Hashable, int]:
        """The number of the vertex of each label; without labels, the labels are 0..n-1."""
        return {label: number for number, label in enumerate(exports.names_of(self).tolist())}

    def arcs(self) -> tuple[NDArray[np.int32], NDArray[np.int32], np.ndarray]:
        """Return tails, heads and weights of all arcs, each of shape (m,), row by row."""
        return tails_of(self.indptr), self.indices, self.weights

    def reversed(self) -> Graph:
        """Return the graph with every arc reversed; it is stored if it is small."""
        if not self.directed:
            return self

        def make() -> Graph:
            rows = transposed(self.indptr, self.indices, self.weights)
            return self._of_new_rows(*rows, True, self.labels, self.name)

        return self._made("_reversed", make)

    def keeping(self) -> Graph:
        """Return the graph, or one with the same arrays, that keeps its reversed graph."""
        if self.m <= self._stores:
            return self
        graph = self._sharing(self.directed)
        graph.__dict__["_stores"] = sys.maxsize
        return graph

    def symmetrized(self) -> Graph:
        """Return the undirected graph: each edge has the smaller weight of its two arcs.

        It is stored if it is small, or has the same arrays.
        """
        if not self.directed:
            return self

        def make() -> Graph:
            rows = union(self.indptr, self.indices, self.weights, self._extremes)
            return self._of_new_rows(*rows, False, self.labels, self.name)

        if "_symmetrized" not in self.__dict__ and self.is_symmetric:
            self.__dict__["_symmetrized"] = self._sharing(directed=False)
        return self._made("_symmetrized", make)

    def unweighted(self) -> Graph:
        """Return the graph with all weights 1 (int64); it is stored if it is small."""
        if self.is_unweighted and self.dtype.kind == "i":
            return self

        def make() -> Graph:
            graph = object.__new__(Graph)
            # the same arrays of arcs, which may be on a device
            same = {name: getattr(self, name) for name in _ATTRIBUTES}
            graph.__dict__.update(same | {"weights": sealed(np.ones(self.m, np.int64))})
            return graph

        return self._made("_unweighted", make)

    def _made(self, name: str, make: Callable[[], Graph]) -> Graph:
        """Return a graph that is made of this one, and store it if it is small."""
        with _making:
            graph: Graph | None = self.__dict__.get(name)
            if graph is None:
                graph = make()
                if self.m <= self._stores:
                    self.__dict__[name] = graph
        return graph

    def with_arcs(self, kept: ArrayLike) -> Graph:
        """Return the graph with some of its arcs only, (m,) bool, in the order of :meth:`arcs`.

        Raises
        ------
        GraphError
            `kept` has another shape or type, or has one of the two arcs of an edge of an undirected
            graph.
        """
        chosen = validation.array("the arcs to keep", kept)
        if chosen.shape != (self.m,) or chosen.dtype != np.bool_:
            raise GraphError(
                f"the arcs to keep must be {self.m} booleans, not {chosen.dtype} of shape "
                f"{chosen.shape}"
            )
        graph = self.with_checked_arcs(chosen)
        if not self.directed and not graph._equals_reverse():
            raise GraphError("an undirected graph needs both arcs of an edge, or none of them")
        return graph

    def with_checked_arcs(
        self, kept: NDArray[np.bool_], starts: NDArray[np.int64] | None = None
    ) -> Graph:
        """Return the result of `with_arcs`, for callers that keep both arcs of an edge or none.

        They may know where the rows begin: to find it takes half of the time.
        """
        graph: Graph = object.__new__(Graph)
        arcs = np.flatnonzero(kept)  # an array of booleans as an index takes twice as long
        graph.__dict__.update(
            indptr=sealed(starts_among(kept, self.indptr) if starts is None else starts),
            indices=sealed(self.indices.take(arcs)),
            weights=sealed(self.weights.take(arcs)),
            directed=self.directed,
            labels=self.labels,
            name=self.name,
        )
        return graph

    def with_weights(self, weights: ArrayLike) -> Graph:
        """Return the graph with other weights, of shape (m,), in the order of :meth:`arcs`."""
        return Graph(
            self.indptr,
            self.indices,
            weights,
            directed=self.directed,
            labels=self.labels,
            name=self.name,
        )

    def to_dense(
        self,
        dtype: DTypeLike = np.float64,
        no_arc: float = np.inf,
        *,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the n x n matrix of weights.

        Parameters
        ----------
        dtype : data-type, default float64
            Weights are rounded to a float type. An integer type must hold every weight.
        no_arc : number, default inf
            Value of the entries without an arc. This is also the value on the diagonal, unless a
            vertex has a self-loop.
        out : ndarray of shape (n, n), optional
            The array to fill and return. Its dtype is used.

        Raises
        ------
        ParameterError
            The dtype is no type of numbers or cannot hold `no_arc`, or `out` has another shape.
        PrecisionError
            An integer dtype cannot hold a weight.
        """
        matrix = exports.array_to_fill(self, dtype, no_arc, out)
        self.fill_rows(0, self.n, matrix, no_arc)
        return matrix

    def fill_rows(self, first: int, last: int, rows: np.ndarray, no_arc: float) -> None:
        """Write rows first to last - 1 of the matrix of weights, as `to_dense` but without checks.

        Threads may call it for different rows at the same time.
        """
        arcs = slice(self.indptr[first], self.indptr[last])
        rows[...] = no_arc
        with np.errstate(under="ignore"):  # weights are rounded to a float type
            rows[tails_of(self.indptr[first : last + 1]), self.indices[arcs]] = self.weights[arcs]

    @property
    def search_work(self) -> int:
        """The time that `depth` takes, as a number of arcs."""
        return self.m

    def depth(self, vertex: int, *, backwards: bool = False) -> tuple[int, int]:
        """Return the depth of a breadth-first search from a vertex, and how many it reaches.

        The vertex itself counts. A search backwards walks all arcs from head to tail.
        """
        return compressed.depth(self.indptr, self.indices, vertex, backwards)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return a `scipy.sparse.csr_array` of shape (n, n), with its own copy of the data."""
        return scipy.sparse.csr_array(
            (self.weights.copy(), self.indices.copy(), self.indptr.copy()),
            shape=(self.n, self.n),
        )

    def to_networkx(self) -> networkx.Graph:
        """Return a `networkx.DiGraph` (or `Graph`) with the labels as nodes, and weights."""
        return exports.to_networkx(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with the columns source, target, weight.

        An undirected edge is one row; a vertex without arcs does not appear.
        """
        return exports.to_pandas(self)

    def to_igraph(self) -> igraph.Graph:
        """Return an `igraph.Graph` with the edge attribute weight and the vertex names."""
        return exports.to_igraph(self)

    def __eq__(self, other: object) -> bool:
        """Compare n, arcs, weights and their dtype, directedness and labels; not the name."""
        if not isinstance(other, Graph):
            return NotImplemented
        mine, theirs = (
            None if graph.labels is None else graph.labels.tolist() for graph in (self, other)
        )
        return (
            self.directed == other.directed
            and self.dtype == other.dtype
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
            and mine == theirs
        )

    def __hash__(self) -> int:
        return hash((self.n, self.m, self.directed, self.dtype))

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        kind = "directed" if self.directed else "undirected"
        span = f" {self.min_weight}..{self.max_weight}" if self.m else ""
        return f"<Graph{name}: n={self.n}, m={self.m}, {kind}, {self.dtype.name} weights{span}>"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        weights = f"{self.dtype.name} {self.min_weight}..{self.max_weight}" if self.m else None
        about = {
            "vertices": f"{self.n:,}",
            "arcs": f"{self.m:,}",
            "directed": "yes" if self.directed else "no",
            "weights": weights or self.dtype.name,
        }
        return table(["Graph", self.name or ""], about.items())

    def _equals_reverse(self) -> bool:
        alike = self.min_weight == self.max_weight
        return is_symmetric(self.indptr, self.indices, None if alike else self.weights)


def _text(name: object) -> str | None:
    """Return the name of a graph."""
    if not isinstance(name, str | None):
        raise GraphError(f"the name of a graph must be text, not {name!r}")
    return name
