"""The result of `solve`: distances, predecessors, and the record of the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast, overload

import numpy as np

from pyapsp.base.errors import FormatError, ParameterError, VerificationError
from pyapsp.base.extras import extra
from pyapsp.base.files import check_name, check_suffix
from pyapsp.base.shown import Shown
from pyapsp.graph.frames import Tabular
from pyapsp.graph.io import archive
from pyapsp.graph.names import Vertex, check_savable, named, place_of
from pyapsp.graph.validation import integer
from pyapsp.numbers.precision import DTYPES, infinity

if TYPE_CHECKING:
    import xarray

    from pyapsp.paths.device_rows import DeviceRows

__all__ = [
    "NO_PREDECESSOR",
    "REASONED",
    "RECORDED",
    "Explained",
    "Reasoned",
    "Recorded",
    "Result",
    "checked_arrays",
]

#: The predecessor of a source, and of a vertex that the source does not reach. As in SciPy.
NO_PREDECESSOR = -9999

_Value = TypeVar("_Value")

_SCHEMA = 1
_MAGIC = b"\x93NUMPY"  # the first bytes of a .npy file


class MadeLater(Generic[_Value]):
    """An attribute of answers: a value, or a function that makes it at the first read.

    To count the work of a run takes a pass over its answer, and to hash its input longer than that.

    Parameters
    ----------
    default : callable
        Makes the default value.
    """

    def __init__(self, default: Callable[[], _Value]) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, answer: object | None, owner: type) -> _Value:
        # a dataclass asks the class for the default value
        value = self._default if answer is None else answer.__dict__[self._name]
        if answer is not None and callable(value):
            value = answer.__dict__[self._name] = value()
        return cast("_Value", value)

    def __set__(self, answer: object, value: _Value | Callable[[], _Value]) -> None:
        answer.__dict__[self._name] = value


#: The types of `stats` and of `reasons`.
Recorded: TypeAlias = MadeLater[dict[str, Any]]
Reasoned: TypeAlias = MadeLater[tuple[str, ...]]

#: The defaults: no record, and no reasons.
RECORDED, REASONED = Recorded(dict), Reasoned(tuple)


class Explained(Shown):
    """Base of answers that know what was chosen for the run."""

    stats: Recorded
    reasons: Reasoned

    def __getstate__(self) -> dict[str, Any]:
        # what makes them cannot be pickled
        return {**self.__dict__, "stats": self.stats, "reasons": self.reasons}

    def _run(self) -> dict[str, object]:
        """Return what is shown of the run."""
        device = self.stats.get("device")
        return {
            "method": self.stats.get("method"),
            "device": device.get("name") if isinstance(device, dict) else None,
        }

    def explain(self) -> str:
        """Return what was chosen for this run, and why; one choice in each line."""
        return "\n".join(self.reasons)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Explained, Tabular):
    """All-pairs shortest paths of a graph, or the rows of some sources.

    Attributes
    ----------
    distances : (k, n) ndarray
        Row r holds the distances from vertex ``sources[r]``; `infinity` if there is no path.
    predecessors : (k, n) int32 ndarray or None
        The last vertex before j on the path; -9999 if there is none.
    sources : (k,) int64 ndarray
        The source vertex of each row. By default all n vertices in order.
    labels : ndarray or None
        The label of each vertex, for instance its id in the graph file.
    stats : dict
        The record of the run: method, device, dtype, times in seconds, updates per second, bytes.
    reasons : tuple of str
        What was chosen and why; `explain` returns them as text.
    is_converted : bool
        Whether the call was given another object than a `Graph`, so that its caller knows vertices
        by their labels, also by those that are integers.
    """

    distances: np.ndarray
    predecessors: np.ndarray | None
    sources: np.ndarray
    labels: np.ndarray | None = None
    stats: Recorded = RECORDED
    reasons: Reasoned = REASONED
    is_converted: bool = False

    @classmethod
    def of(cls, fields: dict[str, object]) -> Result:
        """Return the result with all these fields.

        The constructor of a frozen dataclass takes longer than the search in a very small graph.
        """
        made = cls.__new__(cls)
        made.__dict__.update(fields)
        return made

    @property
    def infinity(self) -> int | float:
        """The distance of an unreachable vertex in this dtype."""
        return infinity(self._matrix.dtype)

    def _facts(self) -> dict[str, object]:
        rows, n = self._matrix.shape
        before = "no" if self.predecessors is None else "yes"
        about = {"rows": rows, "n": n, "dtype": self._matrix.dtype.name, "predecessors": before}
        return about | self._run()

    @property
    def _matrix(self) -> np.ndarray | DeviceRows:
        """The distances, where they are."""
        return self.distances

    def row(self, place: int) -> np.ndarray:
        """Return the distances from vertex ``sources[place]``, (n,).

        Raises
        ------
        ParameterError
            If there is no such row; the last one is ``len(sources) - 1``, not -1.
        """
        rows = self._matrix.shape[0]
        if not rows:
            raise ParameterError.of("place", "Result.row", "a row, and there is none", place)
        return self._row(integer("place", "Result.row", place, 0, rows - 1))

    def _row(self, place: int) -> np.ndarray:
        found: np.ndarray = self.distances[place]
        return found

    @overload
    def path(self, i: Vertex, j: int) -> list[int]: ...
    @overload
    def path(self, i: Vertex, j: str) -> list[str]: ...
    def path(self, i: Vertex, j: Vertex) -> list[int] | list[str]:
        """Return the vertices of a shortest path from i to j, both included.

        Parameters
        ----------
        i, j : int or str
            Vertices, as calls take them: by their labels, or by their numbers; i must be one of the
            sources. If the call was given a `Graph`, an integer is a number.

        Returns
        -------
        list of int, or of labels if j is one
            ``[i]`` if i equals j, and ``[]`` if j cannot be reached.

        Raises
        ------
        ParameterError
            If a vertex does not exist, i is no source, or there are no predecessors. If an integer
            may be the label of one vertex and the number of another. If weights are negative and
            the path leads through a vertex beyond the cutoff.
        VerificationError
            If the predecessors form a cycle or end before i. Then they are wrong.
        """
        return self._path_from(self._place("i", i)[0], j)

    def _path_from(self, i: int, j: Vertex) -> list[int] | list[str]:
        """Return the path from the vertex with this number."""
        last, by_label = self._place("j", j)
        return named(self.labels, self._path(i, last), by_label)

    def _place(self, name: str, given: Vertex) -> tuple[int, bool]:
        n, owner = self._matrix.shape[1], "Result.path"
        return place_of(self.labels, self.is_converted, n, given, owner, name)

    def _path(self, i: int, j: int) -> list[int]:
        n = self._matrix.shape[1]
        rows = np.flatnonzero(self.sources == i)
        if rows.size == 0:
            raise ParameterError.of("i", "Result.path", "one of the sources of this result", i)
        if self.predecessors is None:
            raise ParameterError(
                "this result has no predecessors: call with predecessors=True (bfs: parents=True)"
            )
        if i == j:
            return [i]
        distances, before = self._row(int(rows[0])), self.predecessors[rows[0]]
        if not distances[j] < self.infinity:
            return []
        backwards = [j]
        while backwards[-1] != i:
            over = backwards[-1]
            step = int(before[over])
            if step == NO_PREDECESSOR and not distances[over] < self.infinity:
                raise ParameterError(
                    f"the path from {i} to {j} leads over vertex {over}, which is beyond the "
                    "cutoff: solve without one"
                )
            if step == NO_PREDECESSOR or len(backwards) > n:
                raise VerificationError(f"the predecessors of row {i} do not lead from {j} to {i}")
            backwards.append(step)
        return backwards[::-1]

    def diameter(self) -> int | float:
        """Return the largest finite distance in these rows.

        `pyapsp.diameter` computes it without a matrix of distances. Unlike NetworkX, both ignore
        pairs of vertices without a path.

        Returns
        -------
        int or float
            0 if no vertex reaches another.

        Raises
        ------
        ParameterError
            If there are no rows.
        """
        if 0 in self._matrix.shape:
            raise ParameterError.of("result", "Result.diameter", "of at least one row", "none")
        return self._largest()

    def _largest(self) -> int | float:
        # no row is empty: each has the distance 0 of its source
        finite = self.distances < self.infinity
        largest: int | float = self.distances.max(where=finite, initial=0).item()
        return largest

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return a row for each source and vertex, by the labels of the graph.

        Returns
        -------
        dict of str to ndarray, shape (k n,)
            Columns ``source``; ``vertex``; ``distance``, missing if there is no path; and
            ``predecessor`` if they were computed, missing for sources and without a path. Columns
            in which a value can be missing are masked arrays.
        """
        k, n = self._matrix.shape
        names, lengths = self._names, self.distances.ravel()
        columns = {
            "source": np.repeat(names[self.sources], n),
            "vertex": np.tile(names, k),
            "distance": np.ma.array(lengths, mask=~(lengths < self.infinity)),
        }
        if self.predecessors is not None:
            last = self.predecessors.ravel()
            columns["predecessor"] = np.ma.array(names[np.maximum(last, 0)], mask=last < 0)
        return columns

    def to_xarray(self) -> xarray.DataArray:
        """Return the distances with the labels of the graph, for xarray, which must be installed.

        Returns
        -------
        xarray.DataArray
            With the dimensions ``source`` and ``vertex``; `infinity` if there is no path. It shares
            the memory of `distances`.

        Raises
        ------
        PyApspError
            If xarray is not installed.
        """
        with extra(None, "Result.to_xarray"):
            import xarray

        names = self._names
        return xarray.DataArray(
            self.distances,
            {"source": names[self.sources], "vertex": names},
            ("source", "vertex"),
            name="distance",
        )

    @property
    def _names(self) -> np.ndarray:
        return np.arange(self._matrix.shape[1]) if self.labels is None else self.labels

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a NumPy ``.npz`` file. After an error there is no incomplete file.

        Raises
        ------
        GraphError
            If labels are neither all integers nor all strings (NetworkX nodes can be any objects).
            To load other objects, NumPy would have to run code from the file.
        ParameterError
            If `path` is no name of a file, or has the suffix of another format.
        """
        text = 'numpy.savetxt(path, distances, delimiter=",")'
        check_suffix(path, f"{type(self).__name__}.save", ".npz", others=text)
        check_savable(self.labels, "labels", "result")
        about = {"schema": _SCHEMA, "stats": self.stats, "reasons": self.reasons}
        about["is_converted"] = self.is_converted
        archive.write(
            path,
            about=np.array(json.dumps(about)),
            distances=self.distances,
            sources=self.sources,
            predecessors=self.predecessors,
            labels=self.labels,
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Result:
        """Read a file written by `save`.

        Raises
        ------
        FormatError
            If the file is not a saved result, or is damaged.
        ParameterError
            If `path` is no name of a file.
        """
        path = check_name(path, "Result.load")
        with open(path, "rb") as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                raise FormatError(
                    path, None, "an array (.npy), not a saved result, which is an .npz file"
                )

        def make(arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Result:
            stats, reasons = dict(about["stats"]), tuple(map(str, about["reasons"]))
            converted = bool(about.get("is_converted", False))
            return cls(
                **checked_arrays(arrays), stats=stats, reasons=reasons, is_converted=converted
            )

        return archive.restored(path, "not a saved result", "about", _SCHEMA, make)


def checked_arrays(file: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the arrays of a result from files; ValueError if they do not match each other."""
    arrays = {name: file.get(name) for name in ("distances", "predecessors", "sources", "labels")}
    distances, before, sources, labels = arrays.values()
    if distances is None or distances.ndim != 2 or distances.dtype.name not in DTYPES:
        raise ValueError(f"there is no matrix of distances in one of {', '.join(DTYPES)}")
    rows, n = distances.shape
    arrays["distances"] = distances.astype(distances.dtype.newbyteorder("="), copy=False)
    if sources is None or sources.shape != (rows,) or sources.dtype.kind != "i":
        raise ValueError(f"there are not {rows} sources")
    if rows and not 0 <= sources.min() <= sources.max() < n:
        raise ValueError("a source is out of range")
    if before is not None:
        if before.shape != (rows, n) or before.dtype != np.int32:
            raise ValueError(f"the predecessors are no ({rows}, {n}) matrix of int32")
        if before.size and not NO_PREDECESSOR <= before.min() <= before.max() < n:
            raise ValueError("a predecessor is out of range")
        if np.any((before < 0) & (before != NO_PREDECESSOR)):
            raise ValueError("a predecessor is out of range")
    if labels is not None and labels.shape != (n,):
        raise ValueError(f"there are not {n} labels")
    return arrays
