"""Writing of ``.npz`` files; safe reading of ``.npz`` and ``.npy`` files from any source.

No code in them is run. For damaged content NumPy, zipfile and their parsers raise a dozen kinds of
exceptions, which depend on their versions. Here all of them become a `FormatError`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import IO, Any, TypeVar

import numpy as np

from pyapsp.base.errors import FormatError
from pyapsp.base.files import atomic_write, resolved
from pyapsp.graph.io.source import LineError, check_size

__all__ = ["Pieces", "load", "mapped", "restored", "write", "written_in_pieces"]

# Bytes that are copied at once.
_COPIED = 2**20
# The largest code point of Unicode. Surrogates are no valid characters either.
_LAST_LETTER = 0x10FFFF

_Object = TypeVar("_Object")


def write(path: str | os.PathLike[str], **arrays: np.ndarray | None) -> None:
    """Write the arrays that are not None. After an error there is no incomplete file."""
    named = {name: array for name, array in arrays.items() if array is not None}
    with atomic_write(path, "wb") as file:
        # newer types take an array for `allow_pickle`, which older versions of NumPy would store
        np.savez(file, **named)  # type: ignore[arg-type]


class Pieces:
    """Arrays that grow at their ends, each in a file, for `written_in_pieces`.

    Attributes
    ----------
    others : dict of str to ndarray or None
        Arrays to write beside them.
    """

    def __init__(self, files: Mapping[str, IO[bytes]]) -> None:
        self.others: dict[str, np.ndarray | None] = {}
        self._files = files
        self._sizes: dict[str, tuple[np.dtype, int]] = {}

    def add(self, **pieces: np.ndarray) -> None:
        """Append one-dimensional pieces, always of the same types."""
        for name, piece in pieces.items():
            piece.tofile(self._files[name])
            _, size = self._sizes.get(name, (piece.dtype, 0))
            self._sizes[name] = piece.dtype, size + piece.size

    def into(self, file: IO[bytes]) -> None:
        """Write the archive."""
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in self.others.items():
                if array is not None:
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            for name, (dtype, size) in self._sizes.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    descr = np.lib.format.dtype_to_descr(dtype)
                    about = {"descr": descr, "fortran_order": False, "shape": (size,)}
                    np.lib.format.write_array_header_1_0(member, about)
                    self._files[name].seek(0)
                    shutil.copyfileobj(self._files[name], member, _COPIED)


@contextmanager
def written_in_pieces(path: str | os.PathLike[str], *names: str) -> Iterator[Pieces]:
    """Write an archive when the block ends; meanwhile arrays with these names grow in files.

    Those are beside the archive, without names, so that they take its space on the disk twice.
    After an error there is no incomplete file.
    """
    special = os.path.exists(path) and not os.path.isfile(path)
    folder = None if special else resolved(path).parent
    with atomic_write(path, "wb") as file, ExitStack() as stack:
        made = (stack.enter_context(tempfile.TemporaryFile(dir=folder)) for _ in names)
        pieces = Pieces(dict(zip(names, made, strict=True)))
        yield pieces
        pieces.into(file)


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
