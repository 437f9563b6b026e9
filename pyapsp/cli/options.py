"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from pyapsp.files import atomic_write

__all__ = ["add_device", "bytes_of", "parameter_of", "write_json"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add ``--device``."""
    parser.add_argument(
        "--device",
        metavar="SPEC",
        help="which OpenCL device: an id or part of a name from 'pyapsp devices', 'gpu' or 'cpu'",
    )


def bytes_of(text: str) -> int:
    """Parse a size such as ``512MiB``, ``2G`` or ``4096``; for argparse's ``type=``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]I?)?B?", text.strip().upper())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 4096, 512MiB or 2G")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def parameter_of(text: str) -> tuple[str, int]:
    """Parse ``name=number``; for argparse's ``type=``."""
    match = re.fullmatch(r"(\w+)=(-?\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not name=number")
    return match[1], int(match[2])


def write_json(path: str | Path, content: dict[str, Any]) -> None:
    """Write a JSON file that appears only when it is complete."""
    with atomic_write(path) as file:
        json.dump(content, file, indent=2)
        file.write("\n")
