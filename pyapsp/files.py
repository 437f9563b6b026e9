"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    r"""Open a file that appears under its name only when everything was written.

    The content goes to a temporary file in the same directory, which replaces `path` when the
    block ends normally and disappears when it raises.

    Parameters
    ----------
    path : path-like
        The file to create or replace. Its directory must exist.
    mode : {"w", "wb"}
        Text (UTF-8, ``\n`` line ends) or binary.

    Yields
    ------
    file object
        Open for writing.
    """
    target = Path(path).resolve()  # a link stays a link
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    if target.exists() and not target.is_file():
        # a pipe or a device is written to, never replaced; a directory is refused by open()
        with open(target, mode, **text) as file:  # type: ignore[call-overload]
            yield file
        return
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(handle, mode, **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; give the permissions that open() would have given
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
