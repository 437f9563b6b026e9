"""Options that several commands share."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from pyapsp.errors import ParameterError
from pyapsp.files import atomic_write

__all__ = ["add_device", "bytes_of", "check_outputs", "commit", "parameter_of", "write_json"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 2**10, "MI": 2**20, "GI": 2**30}


def add_device(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add ``--device``, for one or several."""
    parser.add_argument(
        "--device",
        metavar="SPEC",
        nargs="+" if several else None,
        help="which OpenCL device: an id or part of a name from 'pyapsp devices', 'gpu' or 'cpu'"
        + ("; of several the first leads, for methods that use several" if several else ""),
    )


def bytes_of(text: str) -> int:
    """Parse a size such as ``512MiB``, ``2G`` or ``4096``; for argparse's ``type=``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]I?)?B?", text.strip().upper())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 4096, 512MiB or 2G")
    return int(float(match[1]) * _UNITS[match[2] or ""])


def parameter_of(text: str) -> tuple[str, int | str]:
    """Parse ``name=value``, a whole number or a word; for argparse's ``type=``."""
    match = re.fullmatch(r"(\w+)=(?:(-?\d+)|([A-Za-z][\w-]*))", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value")
    return match[1], match[3] if match[2] is None else int(match[2])


def write_json(path: str | Path, content: dict[str, Any]) -> None:
    """Write a JSON file that appears only when it is complete."""
    with atomic_write(path) as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def check_outputs(*paths: str | None) -> None:
    """Find out before the work whether its outcome can be written.

    Raises
    ------
    ParameterError
        If two of the files are the same.
    OSError
        If one is a directory, or its directory does not exist or cannot be written to.
    """
    given = [Path(path) for path in paths if path is not None]
    if len({path.resolve() for path in given}) < len(given):
        raise ParameterError(f"the output files must differ: {', '.join(map(str, given))}")
    for path in given:
        if path.is_dir():
            raise IsADirectoryError(f"{path}: is a directory")
        if not path.resolve().parent.is_dir():
            raise FileNotFoundError(f"{path}: its folder does not exist")
        if not os.access(path.resolve().parent, os.W_OK):
            raise PermissionError(f"{path}: its folder cannot be written to")


def commit() -> str | None:
    """Return the commit of the checkout this runs from, None in an installed package."""
    top = Path(__file__).resolve().parents[2]
    if not (top / ".git").exists():
        return None
    git = ["git", "-C", str(top), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
