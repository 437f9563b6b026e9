"""The manifest of a checkpoint: the identity of the run, its progress, the content of the data.

A manifest is JSON with a checksum of itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias, TypedDict, cast

from pyapsp.base.errors import CheckpointError
from pyapsp.base.json import Json, Record
from pyapsp.base.version import __version__

__all__ = [
    "DATA",
    "SCHEMA",
    "Data",
    "Decisive",
    "Manifest",
    "Ranges",
    "State",
    "compare",
    "encoded",
    "is_state",
    "lacking",
    "parsed",
    "plain",
    "read",
    "remedy",
]

#: Names of data files.
DATA = re.compile(r"distances-[0-9a-f]{16}\.bin")
SCHEMA = 2
_FORMAT = "checkpoint of pyapsp"


#: Ranges of rows: first, and one past the last.
Ranges: TypeAlias = Sequence[Sequence[int]]


class Decisive(TypedDict):
    """The data of a checkpoint that a resumed run needs, in addition to the progress."""

    # Pivots of a pass, and what they are a multiple of.
    block: int
    unit: int
    pivot: str  # the parameter
    closer: int  # the number of the device that closes pivot blocks
    closing: dict[str, int | str]  # the parameters of its product
    tuned: bool  # whether tuning rows were used


# the number of the pass, its rows that are not updated yet, and how many pivot blocks are open
_Progress = TypedDict("_Progress", {"pass": int, "left": "Ranges | None", "opened": int})


class State(Decisive, _Progress):
    """The data of a checkpoint that a resumed run needs."""


@dataclass(frozen=True)
class Data:
    """The content of the data file: its name and bytes, rows under one checksum, checksums."""

    file: str
    bytes: int
    rows: int
    crc32: list[int]


@dataclass(frozen=True)
class Manifest:
    """The manifest of a snapshot: what the run is, how far it was, n and dtype, and the data."""

    subject: Record
    state: State
    matrix: Record
    data: Data

    def encoded(self) -> bytes:
        """Return the content of the file."""
        return encoded({"format": _FORMAT, "schema": SCHEMA, "pyapsp": __version__, **asdict(self)})


def read(path: Path, subject: Record) -> Manifest | None:
    """Return a manifest, None if there is no such file.

    Raises
    ------
    CheckpointError
        If it is damaged, or has another schema or another subject.
    """
    document = parsed(path, _FORMAT, SCHEMA, subject)
    if document is None:
        return None
    manifest = _whole(document)
    if manifest is None:
        raise lacking(path)
    return manifest


def parsed(path: Path, form: str, schema: int, subject: Record) -> Record | None:
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
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise CheckpointError(f"{path} is damaged, no JSON: {way_out}") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise CheckpointError(f"{path} is no {form}: choose another folder")
    if document.get("schema") != schema:
        raise CheckpointError(
            f"{path} has schema {document.get('schema')!r} and pyapsp {__version__} reads "
            f"{schema}: continue with pyapsp {document.get('pyapsp')}, or {way_out}"
        )
    content = {key: value for key, value in document.items() if key != "sha256"}
    if text != encoded(content):
        raise CheckpointError(f"{path} is damaged, its checksum is wrong: {way_out}")
    theirs = document.get("subject")
    if not isinstance(theirs, dict):
        raise lacking(path)
    compare(path.parent, theirs, subject)
    return content


def compare(folder: Path, theirs: Json, ours: Json, name: str = "") -> None:
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


def lacking(path: Path) -> CheckpointError:
    """Return the error of a manifest without a field that a run needs."""
    return CheckpointError(f"{path} is damaged, it lacks a field: {remedy(path.parent)}")


def remedy(folder: Path) -> str:
    """Say what to do about a checkpoint that cannot be used."""
    return f"remove {folder} to start from the beginning"


def plain(content: Mapping[str, Json]) -> Record:
    """Return what JSON makes of it."""
    plain: Record = json.loads(json.dumps(content, allow_nan=False))
    return plain


def encoded(content: Mapping[str, Json]) -> bytes:
    """Return the bytes of a manifest, with its checksum."""
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    whole = {**content, "sha256": checksum}
    return (json.dumps(whole, sort_keys=True, indent=1) + "\n").encode()


def _whole(document: Record) -> Manifest | None:
    """Return a manifest that has all fields of its data file, else None."""
    subject, state, matrix, data = (
        document.get(name) for name in ("subject", "state", "matrix", "data")
    )
    if not (
        isinstance(subject, dict)
        and isinstance(state, dict)
        and isinstance(matrix, dict)
        and isinstance(data, dict)
    ):
        return None
    file, checksums = data.get("file"), data.get("crc32")
    if not (isinstance(file, str) and DATA.fullmatch(file) and isinstance(checksums, list)):
        return None
    rows, count, n = _count(data.get("rows")), _count(data.get("bytes")), _count(matrix.get("n"))
    sums = [_count(each) for each in checksums]
    if rows <= 0 or min(count, n, *sums) < 0 or len(sums) != -(-n // rows):
        return None
    # the owner of the checkpoint asks `is_state` before it uses the state
    return Manifest(subject, cast("State", state), matrix, Data(file, count, rows, sums))


def is_state(state: Mapping[str, object]) -> bool:
    """Return whether a state has all fields of `State`, of their types."""
    counts = [_count(state.get(name)) for name in ("block", "unit", "closer", "pass", "opened")]
    left = state.get("left", False)
    return (
        min(counts) >= 0
        and isinstance(state.get("pivot"), str)
        and isinstance(state.get("closing"), dict)
        and isinstance(state.get("tuned"), bool)
        and (left is None or (isinstance(left, list) and all(map(_is_range, left))))
    )


def _is_range(rows: object) -> bool:
    return isinstance(rows, list) and len(rows) == 2 and min(map(_count, rows)) >= 0


def _count(value: object) -> int:
    """Return a whole number, -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1
