"""The run of `bfs` or `sssp`, and the base class of their results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import numpy as np

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import check_suffix
from pyapsp.base.shown import Shown
from pyapsp.graph import GraphLike, Vertex, Vertices
from pyapsp.graph.frames import Tabular
from pyapsp.paths.device_result import DeviceResult
from pyapsp.paths.device_rows import DeviceRows
from pyapsp.paths.result import Result
from pyapsp.registry import Method, runs
from pyapsp.traversal.narrow import LevelResult, LevelRows
from pyapsp.traversal.request import SearchArguments, requested

if TYPE_CHECKING:
    import pyopencl.array as cl_array
    from typing_extensions import Unpack

__all__ = ["SearchResult", "search"]

_Array = TypeVar("_Array", np.ndarray, "cl_array.Array")

# Sources that are shown in one line.
_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class SearchResult(Shown, Tabular):
    """The result of a search from one source or from several.

    Attributes
    ----------
    rows : Result
        Distances and predecessors as in the result of `solve`, a row for each source.
    single : bool
        Whether the source was one vertex and no sequence. Then the arrays have one dimension.
    """

    _length: ClassVar[str]  # names of columns
    _before: ClassVar[str]

    rows: Result
    single: bool

    def _facts(self) -> dict[str, object]:
        names, given = self.labels, self.sources.tolist()
        shown = [str(v if names is None else names[v]) for v in given[:_SHOWN]]
        if len(given) > len(shown):
            shown.append(f"... ({len(given):,})")
        about = self.rows._facts()
        return {
            "sources": " ".join(shown),
            "n": about["n"],
            self._before + "s": about["predecessors"],
            "method": about["method"],
            "device": about["device"],
        }

    @property
    def sources(self) -> np.ndarray:
        """The sources, (k,) int64."""
        return self.rows.sources

    @property
    def labels(self) -> np.ndarray | None:
        """The label of each vertex, for instance its id in the graph file; None without labels."""
        return self.rows.labels

    @property
    def stats(self) -> dict[str, Any]:
        """The record of the run: method, device, times in seconds, arcs per second, bytes."""
        return self.rows.stats

    @overload
    def path(self, target: int, source: Vertex | None = None) -> list[int]: ...
    @overload
    def path(self, target: str, source: Vertex | None = None) -> list[str]: ...
    def path(self, target: Vertex, source: Vertex | None = None) -> list[int] | list[str]:
        """Return the vertices of a shortest path, both ends included.

        Parameters
        ----------
        target : int or str
            As calls take vertices: by its label, or by its number. If the call was given a `Graph`,
            an integer is a number.
        source : int or str, optional
            One of the sources. It is needed only if there are several.

        Returns
        -------
        list of int, or of labels if the target is one
            ``[]`` if the target cannot be reached.

        Raises
        ------
        ParameterError
            If a vertex does not exist, `source` is not one of the sources, or the result has no
            predecessors. If an integer may be the label of one vertex and the number of another.
        """
        if source is None:
            if self.sources.size != 1:
                rule = "one of the sources, of which there are several"
                raise ParameterError.of("source", f"{type(self).__name__}.path", rule, source)
            return self.rows._path_from(int(self.sources[0]), target)
        return self.rows.path(source, target)

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each vertex, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray, shape (k n,)
            Columns ``vertex``; ``level`` of `bfs` or ``distance`` of `sssp`, missing if there is no
            path; ``parent`` of `bfs` or ``predecessor`` of `sssp` if they were computed, missing
            for sources and without a path. With a sequence of sources, the first column is
            ``source``, and there are n rows for each. Columns in which a value can be missing are
            masked arrays.
        """
        columns = self.rows.to_columns()
        named = {"distance": self._length, "predecessor": self._before}
        if self.single:
            del columns["source"]
        return {named.get(name, name): each for name, each in columns.items()}

    def explain(self) -> str:
        """Return what was chosen for this run, and why; one choice in each line."""
        return self.rows.explain()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the rows to a NumPy ``.npz`` file, which `Result.load` reads; see `Result.save`."""
        check_suffix(path, f"{type(self).__name__}.save", ".npz", others="to_frame().to_csv")
        self.rows.save(path)

    def _of(self, rows: _Array) -> _Array:
        """Return all rows, or the one row of a single source."""
        one: _Array = rows[0] if self.single else rows
        return one

    @property
    def _device_distances(self) -> cl_array.Array | None:
        rows = self.rows
        return self._of(rows.device_distances) if isinstance(rows, DeviceResult) else None

    @property
    def _device_predecessors(self) -> cl_array.Array | None:
        before = self.rows.device_predecessors if isinstance(self.rows, DeviceResult) else None
        return None if before is None else self._of(before)


def search(
    name: str,
    graph: GraphLike,
    method: str | Method,
    source: Vertices,
    **arguments: Unpack[SearchArguments],
) -> tuple[Result, bool]:
    """Search from one source, or from several.

    Parameters
    ----------
    name, graph, method, source, **arguments
        As for `requested`, except that a source must be given.

    Returns
    -------
    rows : Result
    single : bool
        Whether `source` is one vertex, not a sequence.
    """
    started = time.perf_counter()
    if source is None:
        raise ParameterError.of("source", name, "a vertex or a sequence of vertices", source)
    request = requested(name, graph, method, sources=source, **arguments)
    solved = runs.solve(request, started)

    stats = solved.record_of(graph)
    converted = request.input.is_converted
    about = request.options.sources, request.input.labels, stats, solved.reasons, converted
    answer = solved.answer
    single = np.ndim(source) == 0
    if isinstance(answer, LevelRows):
        return LevelResult(answer, answer.predecessors, *about), single
    kind = DeviceResult if isinstance(answer.distances, DeviceRows) else Result
    return kind(answer.distances, answer.predecessors, *about), single
