"""The documents of ``python -m papers measure``, of which tables are made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from papers.values import Value
from pyapsp.errors import FormatError, VerificationError

__all__ = ["Document", "Measured"]


class Document(TypedDict):
    """What ``python -m papers measure`` writes: an experiment of size n."""

    experiment: str
    n: int
    date: str
    device: dict[str, str | int | bool]
    inputs: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    left_out: list[dict[str, str]]


@dataclass(frozen=True)
class Measured:
    """The documents of ``python -m papers measure`` for one source on one device."""

    documents: dict[str, dict[int, Document]]  # experiment -> n -> document
    # The same of other devices, for statements about several devices.
    others: Sequence[Measured] = ()

    @classmethod
    def load(cls, source: str, paths: Sequence[str | os.PathLike[str]]) -> Measured:
        """Read the files.

        Raises
        ------
        FormatError
            If a file is not such a document, is of another source or device, or if two are of the
            same experiment and n.
        VerificationError
            If an answer was not verified.
        """
        documents: dict[str, dict[int, Document]] = {}
        device = None
        for path in map(Path, paths):
            document = _read(path)
            experiment, n = document["experiment"], document["n"]
            if not experiment.startswith(f"{source}-"):
                raise FormatError(path, None, f"{experiment} is not an experiment of {source}")
            key = (document["device"]["name"], document["device"]["platform"])
            if key != (device or key):
                raise FormatError(path, None, "measured on another device than the others")
            device = key
            if n in documents.setdefault(experiment, {}):
                raise FormatError(path, None, f"{experiment} with n = {n} is in two files")
            for run in document["runs"]:
                if run.get("verified") is not True:
                    raise VerificationError(f"{path}: {run['label']} was not verified")
            documents[experiment][n] = document
        if not documents:
            raise FormatError(source, None, "there are no measurements")
        return cls({name: dict(sorted(by_n.items())) for name, by_n in documents.items()})

    @classmethod
    def of_devices(
        cls, source: str, paths: Iterable[Sequence[str | os.PathLike[str]]]
    ) -> list[Measured]:
        """Read the files of several devices, one sequence for each; each knows the others."""
        devices = [cls.load(source, each) for each in paths]
        return [
            replace(each, others=[other for other in devices if other is not each])
            for each in devices
        ]

    @property
    def every(self) -> list[Document]:
        """All documents."""
        return [document for by_n in self.documents.values() for document in by_n.values()]

    @property
    def device(self) -> dict[str, str | int | bool]:
        """The device of all measurements."""
        return self.every[0]["device"]

    def sizes(self, experiment: str) -> list[int]:
        """Return the values of n of an experiment."""
        return list(self.documents.get(experiment, {}))

    def inputs(self, experiment: str, n: int) -> list[dict[str, Any]]:
        """Return the facts about each input, with its label."""
        document = self.documents.get(experiment, {}).get(n)
        return document["inputs"] if document else []

    def each_input(self, experiment: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield n and the facts about each input of an experiment."""
        for n in self.sizes(experiment):
            for about in self.inputs(experiment, n):
                yield n, about

    def each_run(self, experiment: str, **label: Value) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield n and the record of each run whose label has these values."""
        for n in self.sizes(experiment):
            for run in self.runs(experiment, n, **label):
                yield n, run

    def input(self, experiment: str, n: int) -> dict[str, Any]:
        """Return the facts about the only input of an experiment.

        Raises
        ------
        LookupError
            If there is not exactly one.
        """
        inputs = self.inputs(experiment, n)
        if len(inputs) != 1:
            raise LookupError(f"{len(inputs)} inputs of {experiment}, n = {n}")
        return inputs[0]

    def runs(self, experiment: str, n: int, **label: Value) -> Iterator[dict[str, Any]]:
        """Yield the records whose labels have these values."""
        document = self.documents.get(experiment, {}).get(n)
        for run in document["runs"] if document else []:
            if all(run["label"].get(name) == value for name, value in label.items()):
                yield run

    def run(self, experiment: str, n: int, **label: Value) -> dict[str, Any] | None:
        """Return the only record with these values; None if there is none.

        Raises
        ------
        LookupError
            If there are several.
        """
        runs = list(self.runs(experiment, n, **label))
        if len(runs) > 1:
            raise LookupError(f"{len(runs)} runs of {experiment}, n = {n}, {label}")
        return runs[0] if runs else None

    def seconds(self, experiment: str, n: int, **label: Value) -> float | None:
        """Return the kernel seconds of the only run with these values."""
        run = self.run(experiment, n, **label)
        return run["kernel_seconds"] if run else None

    def phases(self, experiment: str, n: int, **label: Value) -> dict[str, float]:
        """Return the seconds of the only such run, by phase; empty if there is no such run."""
        run = self.run(experiment, n, **label)
        return run["seconds"] if run else {}

    def phase(self, experiment: str, n: int, name: str, **label: Value) -> float | None:
        """Return the seconds of the launches of one kind in the only such run."""
        run = self.run(experiment, n, **label)
        return (run["phases"] or {}).get(name) if run else None


def _read(path: Path) -> Document:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise FormatError(path, error.lineno, f"not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise FormatError(path, None, str(error)) from None
    known = ("experiment", "n", "device", "inputs", "runs", "left_out")
    for key in known:
        if not isinstance(document, dict) or key not in document:
            raise FormatError(path, None, f"not from 'python -m papers measure': no {key!r}")
    checked: Document = document
    return checked
