"""Zarr stores: arrays in chunks that grow at their ends, for answers that do not fit in memory.

They have version 2 of the format: version 3 has no type for texts of one length, as names of
vertices are.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from pyapsp.base.errors import PyApspError
from pyapsp.base.files import resolved

if TYPE_CHECKING:
    import zarr

    from pyapsp.base.json import Json

__all__ = ["Store", "written_store"]

# Bytes of a chunk, before it is compressed; at least those of a row.
_CHUNK = 2**21


class Store:
    """A group of arrays.

    Attributes
    ----------
    others : dict of str to ndarray or None
        Arrays to write beside those that grow.
    """

    def __init__(self, group: zarr.Group, dimensions: Mapping[str, Sequence[str]]) -> None:
        self.others: dict[str, np.ndarray | None] = {}
        self._group, self._dimensions = group, dimensions
        self._arrays: dict[str, zarr.Array[Any]] = {}

    def add(self, **pieces: np.ndarray) -> None:
        """Append pieces along their first axes, always of the same types and lengths of rows."""
        for name, piece in pieces.items():
            if name not in self._arrays:
                row = [max(size, 1) for size in piece.shape[1:]]
                rows = max(_CHUNK // (math.prod(row) * piece.itemsize), 1)
                about = {"shape": (0, *piece.shape[1:]), "chunks": (rows, *row)}
                self._arrays[name] = self._create(name, dtype=piece.dtype, **about)
            if piece.size:
                self._arrays[name].append(piece)

    def finish(self) -> None:
        """Write the other arrays."""
        for name, array in self.others.items():
            if array is not None:
                self._create(name, data=array)

    def _create(self, name: str, **about: Any) -> zarr.Array[Any]:
        """Create an array; xarray reads the names of its dimensions."""
        # xarray would take values that equal a fill value for missing ones
        array = self._group.create_array(name, fill_value=None, **about)
        if name in self._dimensions:
            array.attrs["_ARRAY_DIMENSIONS"] = list(self._dimensions[name])
        return array


@contextmanager
def written_store(
    path: str | os.PathLike[str],
    attributes: Mapping[str, Json],
    dimensions: Mapping[str, Sequence[str]],
) -> Iterator[Store]:
    """Write a store, a folder, which gets its name when the block ends.

    After an error there is no incomplete store.

    Parameters
    ----------
    path : path-like
    attributes : mapping
        Of the group.
    dimensions : mapping of str to sequence of str
        The names of the dimensions of arrays, for xarray.

    Raises
    ------
    PyApspError
        Zarr is not installed.
    FileExistsError
        There is something of this name: no folder is replaced.
    """
    try:
        from zarr import consolidate_metadata, create_group
    except ImportError:
        raise PyApspError(f"{path} needs zarr 3 or newer: pip install zarr") from None
    target = resolved(path)
    if target.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    folder = tempfile.mkdtemp(dir=target.parent, prefix=".pyapsp-")
    try:
        group = create_group(os.path.join(folder, "store"), zarr_format=2)
        group.attrs.update(attributes)
        store = Store(group, dimensions)
        yield store
        store.finish()
        consolidate_metadata(group.store)
        os.rename(os.path.join(folder, "store"), target)
    finally:
        shutil.rmtree(folder)
