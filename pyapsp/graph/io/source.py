"""The file that a reader reads, and its content, decompressed."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from pyapsp.base.errors import FormatError
from pyapsp.base.host import available_memory

__all__ = ["LineError", "Source", "beginning", "check_size", "lines_of"]

# Bytes that are decompressed at once, and the part of the memory that a file may take; its lines
# and numbers take several times as much.
_CHUNK, _PART = 2**24, 4
# The first bytes of compressed data.
_GZIP = b"\x1f\x8b"
# Bytes of the beginning of a file. Files shorter than twice this are parsed by lines.
_HEAD = 2**16


class LineError(Exception):
    """A violation of the format of a file; :func:`pyapsp.read` adds the name of the file.

    Parameters
    ----------
    line : int or None
        Line number, from 1; None if the fault is not in one line.
    message : str
        What is wrong.
    """

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message)
        self.line = line

    def of(self, path: str | os.PathLike[str]) -> FormatError:
        """Return the error that names the file."""
        return FormatError(path, self.line, str(self))


@dataclass(frozen=True)
class Source:
    """A file that is read.

    Attributes
    ----------
    path : Path
    suffix : str
        The suffix of its format, without .gz.
    has_suffix : bool
        Whether the name of the file says the format. If not, the first bytes of the file also tell
        whether it is compressed.
    """

    path: Path
    suffix: str
    has_suffix: bool = True

    def content(self) -> bytes:
        """Return the bytes of the file, decompressed if its name ends in ``.gz``.

        Raises
        ------
        LineError
            The compressed data is truncated or damaged, or too much for the memory.
        OSError
            The file cannot be read.
        """
        with open(self.path, "rb") as file:
            check_size(os.fstat(file.fileno()).st_size)
            if self.path.suffix != ".gz" and (self.has_suffix or file.peek(2)[:2] != _GZIP):
                return file.read()
            content = io.BytesIO()
            try:
                with gzip.GzipFile(fileobj=file) as archive:
                    # a few compressed bytes may become very many
                    while part := archive.read(_CHUNK):
                        content.write(part)
                        check_size(content.tell())
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise LineError(None, f"damaged gzip data: {error}") from None
        return content.getvalue()  # without a copy

    def lines(self) -> list[str]:
        """Return the lines of a text file, as `lines_of` does."""
        return lines_of(self.content())


def check_size(count: int) -> None:
    """Refuse content that does not fit in memory, before the system ends the process.

    Parameters
    ----------
    count : int
        Number of bytes, decompressed.

    Raises
    ------
    LineError
        It is more than a quarter of the available memory.
    """
    available = available_memory()
    if available is not None and count > available // _PART:
        raise LineError(None, f"{count:,} bytes are too many for a memory of {available:,} bytes")


def lines_of(content: bytes) -> list[str]:
    """Return the lines of text, without their ends; line i of the file is item i - 1.

    Text is UTF-8, or UTF-16 if it starts with its byte-order mark, as Excel's "Unicode text" does.
    Bytes that are not UTF-8 (they occur in comments) become lone surrogates.

    Raises
    ------
    LineError
        It is no text.
    """
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        try:
            text = content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise LineError(None, f"damaged UTF-16: {error}") from None
    else:
        text = content.decode("utf-8-sig", errors="surrogateescape")
    zero = text.find("\0")
    if zero >= 0:
        line = text.count("\n", 0, zero) + 1
        raise LineError(line, "a zero byte: this is no text, or UTF-16 without its mark")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def beginning(content: bytes) -> list[str] | None:
    """Return the first lines of long UTF-8 text; None if it is short, or of another encoding."""
    if len(content) < 2 * _HEAD or content[:1] in (b"\xff", b"\xfe", b"\xef"):
        return None
    end = content.rfind(b"\n", 0, _HEAD)
    if end <= 0 or (b"\r" in content and content.count(b"\r") != content.count(b"\r\n")):
        return None  # lines may end in a carriage return alone
    return lines_of(content[: end + 1])
