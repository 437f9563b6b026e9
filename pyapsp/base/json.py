"""The values of JSON documents: records, tuning rows, checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["Json", "Record"]

#: A value that `json.dumps` writes.
Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
#: A JSON object, for instance the record of a run.
Record: TypeAlias = dict[str, Json]
