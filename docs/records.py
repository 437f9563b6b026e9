"""The records of what was measured, which pages of the site are made from.

``data/records/DEVICE/`` has documents of ``pyapsp bench`` and ``python -m papers measure``, without
what no table needs. ``make records`` adds those of a device; so does

    python docs/records.py DOCUMENT...
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["RECORDS", "benches", "devices", "keep", "papers"]

RECORDS = Path(__file__).resolve().parents[1] / "data" / "records"
# Of each run: what repeats from run to run, and single turns behind the medians.
_DROPPED = {
    "schema",
    "pyapsp",
    "commit",
    "environment",
    "tuning",
    "kernel_hash",
    "hash",
    "times",
    "roof_forms",
    "roof_spread",
    "build_seconds",
}

# Of each run of the experiments of a thesis: what the labels say, too.
_SAID = {"busato": {"method", "parameters", "work"}}


def keep(paths: Iterable[Path], folder: Path = RECORDS) -> list[Path]:
    """Add documents to the records, one file for each device.

    Parameters
    ----------
    paths : iterable of Path
        What ``pyapsp bench -o`` and ``python -m papers measure -o`` wrote. The name of a bench is
        that of its file; a record of the same name, device and size is replaced.
    folder : Path
        Where the records are.

    Returns
    -------
    list of Path
        The files written.
    """
    written = []
    for path in paths:
        document = json.loads(path.read_text(encoding="utf-8"))
        for place, part in _parts(document, path.stem):
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_text(part), encoding="utf-8")
            written.append(target)
    return written


def _parts(document: dict[str, Any], name: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the place and the content of each record of a document: one for each device."""
    if "experiment" in document:
        place = f"{_slug(document['device'])}/papers/{document['experiment']}-{document['n']}.json"
        dropped = {"device"} | _SAID.get(document["experiment"].partition("-")[0], set())
        yield place, document | {"runs": [_short(run, dropped) for run in document["runs"]]}
        return
    environment = document["runs"][0]["environment"] if document["runs"] else {}
    for slug in dict.fromkeys(_slug(run["device"]) for run in document["runs"]):
        runs = [_short(run) for run in document["runs"] if _slug(run["device"]) == slug]
        peers = [_short(peer) for peer in document["peers"]]
        yield (
            f"{slug}/{name}.json",
            document
            | {
                "environment": environment,
                "runs": runs,
                "peers": peers,
            },
        )


def _slug(device: dict[str, Any]) -> str:
    """Return the folder of a device: its name and its platform, in short."""
    words = f"{device['name']} {device['platform']}".lower()
    return "-".join(re.findall("[a-z0-9]+", words.replace("(r)", "").replace("(tm)", "")))


def _short(value: Any, dropped: Iterable[str] = ()) -> Any:
    """Return a part of a document without what no table needs, numbers with five digits."""
    if isinstance(value, dict):
        left = value.keys() - _DROPPED - set(dropped)
        return {key: _short(each) for key, each in value.items() if key in left}
    if isinstance(value, list):
        return [_short(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return value


def _text(document: dict[str, Any]) -> str:
    """Write JSON with a line for each entry of a list."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value:
            entries = ",\n".join(_line(each) for each in value)
            lines.append(f"{json.dumps(key)}: [\n{entries}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {_line(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    """Write JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def benches(name: str, folder: Path = RECORDS) -> list[Path]:
    """Return the records of a bench, one for each device that has it."""
    return sorted(folder.glob(f"*/{name}.json"))


def devices(folder: Path = RECORDS) -> list[Path]:
    """Return the folders of the devices that have records of benches."""
    return sorted({path.parent for path in folder.glob("*/*.json")})


def papers(source: str, folder: Path = RECORDS) -> list[list[Path]]:
    """Return the records of what was measured for a paper, a list for each device that has some."""
    found = (sorted(device.glob(f"papers/{source}-*.json")) for device in sorted(folder.iterdir()))
    return [paths for paths in found if paths]


if __name__ == "__main__":
    print(*keep(map(Path, sys.argv[1:])), sep="\n")
