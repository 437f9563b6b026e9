"""Writing of ``.npz`` files; safe reading of ``.npz`` and ``.npy`` files from any source.

No code in them is run. For damaged content NumPy, zipfile and their parsers raise a dozen kinds of
exceptions, which depend on their versions. Here all of them become a `FormatError`.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from pyapsp.base.errors import FormatError
from pyapsp.base.files import atomic_write
from pyapsp.graph.io.source import LineError, check_size

__all__ = ["load", "mapped", "restored", "write"]

# The largest code point of Unicode. Surrogates are no valid characters either.
_LAST_LETTER = 0x10FFFF

_Object = TypeVar("_Object")


def write(path: str | os.PathLike[str], **arrays: np.ndarray | None) -> None:
    """Write the arrays that are not None. After an error there is no incomplete file."""
    named = {name: array for name, array in arrays.items() if array is not None}
    with atomic_write(path, "wb") as file:
        # newer types take an array for `allow_pickle`, which older versions of NumPy would store
        np.savez(file, **named)  # type: ignore[arg-type]


def load(path: str | os.PathLike[str], fault: str) -> dict[str, np.ndarray]:
    """Return the arrays of an archive by their names.

    Parameters
    ----------
    path : path-like
    fault : str
        What to say of a file that cannot be read, for messages.

    Raises
    ------
    FormatError
        It is no archive, is damaged, has arrays of objects, or is larger than the memory.
    OSError
        The file cannot be opened.
    """
    with open(path, "rb") as raw:
        try:
            if not zipfile.is_zipfile(raw):
                raise ValueError("not an archive of arrays, or not a whole one")
            with zipfile.ZipFile(raw) as archive:
                # zipfile reads no more of a member than this
                check_size(sum(each.file_size for each in archive.infolist()))
            raw.seek(0)
            with np.load(raw, allow_pickle=False) as arrays:
                return {name: _array(arrays, name) for name in arrays.files}
        except LineError as error:
            raise error.of(path) from None
        except Exception as error:  # see above
            raise FormatError(path, None, f"{fault}: {error}") from None


def restored(
    path: str | os.PathLike[str],
    fault: str,
    name: str,
    schema: int,
    make: Callable[[dict[str, np.ndarray], dict[str, Any]], _Object],
) -> _Object:
    """Return an object that was saved as arrays and a JSON text about them.

    Parameters
    ----------
    path, fault
        As for `load`.
    name : str
        The array with the text.
    schema : int
        The one that is known.
    make : callable
        Makes the object of the arrays and the content of the text; a ValueError says what is wrong.

    Raises
    ------
    FormatError
        As `load`, or the object cannot be made.
    """
    arrays = load(path, fault)
    try:
        about = json.loads(str(arrays[name]))
        if about["schema"] != schema:
            raise ValueError(f"its schema {about['schema']} is not known")
        return make(arrays, about)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(path, None, f"{fault}: {error}") from None


def mapped(path: str | os.PathLike[str], fault: str) -> np.ndarray:
    """Return the array of an ``.npy`` file, read-only and without loading it.

    Parameters and errors are those of `load`.
    """
    with open(path, "rb"):
        pass  # an OSError about the file; later ones are about its content
    try:
        array: np.ndarray = np.lib.format.open_memmap(path, "r")
    except Exception as error:  # see above
        raise FormatError(path, None, f"{fault}: {error}") from None
    return array


def _array(arrays: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    array = arrays[name]
    if not isinstance(array, np.ndarray):  # for other members NumPy returns bytes
        raise ValueError(f"{name} is no array")
    if array.dtype.kind == "U" and array.size:
        letters = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder + "u4")
        if np.any((letters > _LAST_LETTER) | ((letters >= 0xD800) & (letters < 0xE000))):
            raise ValueError(f"{name} has letters that are none")
    return array
