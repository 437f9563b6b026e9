"""NumPy archives, ``.npz``: everything a :class:`Graph` holds, or a matrix of SciPy's save_npz."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse

from pyapsp.errors import FormatError, GraphError
from pyapsp.files import atomic_write
from pyapsp.graph.convert import from_scipy
from pyapsp.graph.io import text
from pyapsp.graph.model import Graph

__all__ = ["read", "write"]


def read(path: Path) -> Graph:
    """Read a graph as it was saved, or a directed graph from a SciPy sparse matrix.

    Raises
    ------
    FormatError
        The archive is damaged or holds neither.
    """
    content = io.BytesIO(path.read_bytes())
    if not zipfile.is_zipfile(content):
        raise FormatError(path, None, "this is not an archive of arrays, or not a whole one")
    content.seek(0)
    try:
        with np.load(content, allow_pickle=False) as archive:
            if "format" in archive:
                content.seek(0)
                matrix = scipy.sparse.load_npz(content)
                return from_scipy(matrix, name=text.name_of(path))
            return Graph(
                archive["indptr"],
                archive["indices"],
                archive["weights"],
                directed=bool(archive["directed"]),
                labels=archive.get("labels"),
                name=str(archive["name"]) if "name" in archive else text.name_of(path),
            )
    except KeyError as error:
        raise FormatError(path, None, f"the archive holds no graph: {error.args[0]}") from None
    except (ValueError, TypeError, EOFError, MemoryError, NotImplementedError) as error:
        raise FormatError(path, None, f"the archive holds no graph: {error}") from None
    except (zipfile.BadZipFile, zlib.error, OSError) as error:
        raise FormatError(path, None, f"damaged archive: {error}") from None


def write(graph: Graph, path: Path) -> None:
    """Write the arrays, labels, name and direction.

    Raises
    ------
    GraphError
        Labels that are neither all integers nor all strings.
    """
    arrays = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "weights": graph.weights,
        "directed": np.array(graph.directed),
    }
    if graph.labels is not None:
        if graph.labels.dtype == object:
            raise GraphError("labels in a file must be all integers or all strings")
        arrays["labels"] = graph.labels
    if graph.name is not None:
        arrays["name"] = np.array(graph.name)
    with atomic_write(path, "wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
