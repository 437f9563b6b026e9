"""NumPy archives, ``.npz``: a complete :class:`Graph`, or a matrix of SciPy's save_npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy

from pyapsp.base.errors import GraphError
from pyapsp.graph.compressed import Sparse
from pyapsp.graph.io import archive, text
from pyapsp.graph.io.contents import Matrix, Rows
from pyapsp.graph.io.source import LineError, Source
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


def read(source: Source) -> Rows | Matrix:
    """Read the arrays of a saved graph, or a SciPy sparse matrix.

    Raises
    ------
    LineError
        The archive is damaged, or has neither a graph nor a matrix.
    """
    arrays = archive.load(source.path, "the archive holds no graph")
    try:
        if "format" in arrays:
            return Matrix(_matrix(source.path))
        return Rows(
            arrays["indptr"],
            arrays["indices"],
            arrays["weights"],
            labels=arrays.get("labels"),
            directed=arrays["directed"].item(),
            name=str(arrays["name"]) if "name" in arrays else None,
        )
    except KeyError as error:
        raise LineError(None, f"the archive holds no graph: {error.args[0]}") from None
    except (ValueError, TypeError) as error:
        raise LineError(None, f"the archive holds no graph: {error}") from None


def _matrix(path: Path) -> Sparse:
    """Return the matrix of an archive of `save_npz`; `graph_of` checks its index arrays."""
    try:
        matrix = scipy.sparse.load_npz(path)
    except Exception as error:  # SciPy does not check types and shapes
        raise LineError(None, f"the archive holds no matrix: {error}") from None
    text.check_vertices(None, max(matrix.shape), matrix.nnz)
    return matrix


def write(graph: Graph, path: Path) -> None:
    """Write the arrays, labels, name and direction.

    Raises
    ------
    GraphError
        Labels that are neither all integers nor all strings.
    """
    if graph.labels is not None and graph.labels.dtype == object:
        raise GraphError("labels in a file must be all integers or all strings")
    archive.write(
        path,
        indptr=graph.indptr,
        indices=graph.indices,
        weights=graph.weights,
        directed=np.array(graph.directed),
        labels=graph.labels,
        name=None if graph.name is None else np.array(graph.name),
    )
