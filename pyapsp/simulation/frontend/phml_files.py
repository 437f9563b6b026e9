"""The files that a PHML document refers to: beside it, or in the same ``.phz`` archive."""

from __future__ import annotations

import io
import zipfile
from os import PathLike
from pathlib import Path, PurePosixPath

from pyapsp.base.errors import ModelError
from pyapsp.simulation.frontend.documents import Element

__all__ = ["Files"]

# A file of an archive may not be larger than this when unpacked.
LARGEST = 2**28


class Files:
    """Reads what a document refers to by ``iref`` (beside it) or ``zref`` (in its archive).

    Parameters
    ----------
    path : path-like
        The document or archive.
    archive : bytes, optional
        Content of the archive.
    """

    def __init__(self, path: str | PathLike[str], archive: bytes | None = None) -> None:
        self._path = path
        self._archive: zipfile.ZipFile | None = None
        if archive is not None:
            try:
                self._archive = zipfile.ZipFile(io.BytesIO(archive))
            except Exception as error:  # zipfile raises much more than BadZipFile
                raise ModelError(path, "archive", str(error)) from None

    def member(self, name: str) -> bytes:
        """Return a file of the archive."""
        if self._archive is None:
            raise ModelError(self._path, f"file {name!r}", "the model is in no archive")
        try:
            with self._archive.open(name) as stream:
                data = stream.read(LARGEST + 1)
        except KeyError:
            raise ModelError(self._path, f"file {name!r}", "is not in the archive") from None
        except Exception as error:  # a damaged archive raises what its decompressor raises
            raise ModelError(self._path, f"file {name!r}", str(error)) from None
        if len(data) > LARGEST:
            raise ModelError(self._path, f"file {name!r}", "is too large")
        return data

    def read(self, element: Element) -> bytes:
        """Return the file that an element refers to. It must be below the folder of the model."""
        if element.get("zref"):
            return self.member(element.get("zref"))
        name = element.get("iref")
        relative = PurePosixPath(name)
        if not name or relative.is_absolute() or ".." in relative.parts or ":" in name:
            message = "only files below the folder of the model are read"
            raise ModelError(self._path, f"file {name!r}", message, element.line)
        try:
            return (Path(self._path).parent / relative).read_bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise ModelError(self._path, f"file {name!r}", why, element.line) from None
