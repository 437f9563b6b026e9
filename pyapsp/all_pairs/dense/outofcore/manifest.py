"""The manifest of a checkpoint: the identity of the run, its progress, the content of the data.

A manifest is JSON with a checksum of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyapsp.base.errors import CheckpointError
from pyapsp.base.version import __version__

__all__ = ["DATA", "SCHEMA", "compare", "encoded", "of", "parsed", "plain", "read", "remedy"]

#: Names of data files.
DATA = re.compile(r"distances-[0-9a-f]{16}\.bin")
SCHEMA = 2
_FORMAT = "checkpoint of pyapsp"


def of(
    subject: Mapping[str, Any],
    state: Mapping[str, Any],
    matrix: Mapping[str, Any],
    data: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the manifest of a snapshot.

    Parameters
    ----------
    subject : mapping
        What the run is.
    state : mapping
        How far it was.
    matrix : mapping
        Its n and dtype.
    data : mapping
        The data file, its bytes, the rows under one checksum and the checksums.
    """
    return {
        "format": _FORMAT,
        "schema": SCHEMA,
        "pyapsp": __version__,
        "subject": subject,
        "state": state,
        "matrix": matrix,
        "data": data,
    }


def read(path: Path, subject: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a manifest, None if there is no such file.

    Raises
    ------
    CheckpointError
        If it is damaged, or has another schema or another subject.
    """
    found = parsed(path, _FORMAT, SCHEMA, subject)
    if found is not None and not _is_whole(found):
        raise CheckpointError(f"{path} is damaged, it lacks a field: {remedy(path.parent)}")
    return found


def parsed(path: Path, form: str, schema: int, subject: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a manifest of this format and schema, None if there is no such file.

    Raises
    ------
    CheckpointError
        If it is damaged, or has another format, schema or subject.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    way_out = remedy(path.parent)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged, no JSON: {way_out}") from None
    if not isinstance(found, dict) or found.get("format") != form:
        raise CheckpointError(f"{path} is not of a {form}: choose another folder")
    if found.get("schema") != schema:
        raise CheckpointError(
            f"{path} has schema {found.get('schema')!r} and pyapsp {__version__} reads "
            f"{schema}: continue with pyapsp {found.get('pyapsp')}, or {way_out}"
        )
    content = {key: value for key, value in found.items() if key != "sha256"}
    if text != encoded(content):
        raise CheckpointError(f"{path} is damaged, its checksum is wrong: {way_out}")
    compare(path.parent, found.get("subject"), subject)
    return content


def compare(folder: Path, theirs: Any, ours: Any, name: str = "") -> None:
    """Refuse the first field in which what a checkpoint says differs from what this run says."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            field = f"{name}.{key}" if name else key
            compare(folder, theirs.get(key), ours.get(key), field)
    elif theirs != ours or type(theirs) is not type(ours):
        raise CheckpointError(
            f"{folder} is the checkpoint of another run: {name} is {theirs!r} there and "
            f"{ours!r} here; choose another folder, or {remedy(folder)}"
        )


def remedy(folder: Path) -> str:
    """Say what to do about a checkpoint that cannot be used."""
    return f"remove {folder} to start from the beginning"


def plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what JSON makes of it."""
    plain: dict[str, Any] = json.loads(json.dumps(content, allow_nan=False))
    return plain


def encoded(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a manifest, with its checksum."""
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    whole = {**content, "sha256": checksum}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Return whether a manifest has all fields of its data file."""
    data, matrix = found.get("data"), found.get("matrix")
    if not (isinstance(data, dict) and isinstance(matrix, dict)):
        return False
    file, checksums = data.get("file"), data.get("crc32")
    rows, count, n = (
        _count(each) for each in (data.get("rows"), data.get("bytes"), matrix.get("n"))
    )
    return (
        isinstance(found.get("state"), dict)
        and isinstance(file, str)
        and DATA.fullmatch(file) is not None
        and rows > 0
        and min(count, n) >= 0
        and isinstance(checksums, list)
        and len(checksums) == -(-n // rows)
        and all(_count(each) >= 0 for each in checksums)
    )


def _count(value: object) -> int:
    """Return a whole number, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
