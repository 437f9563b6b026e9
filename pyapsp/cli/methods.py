"""List the methods, their parameters and their sources."""

from __future__ import annotations

import argparse
import json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def run(arguments: argparse.Namespace) -> int:
    """Print the registry."""
    import pyapsp

    if arguments.json:
        rows = [
            {
                "id": method.id,
                "area": method.area,
                "summary": method.summary,
                "source": method.source,
                "parameters": {name: list(values) for name, values in method.choices.items()},
            }
            for method in pyapsp.methods()
        ]
        print(json.dumps(rows, indent=2))
        return 0
    for method in pyapsp.methods():
        print(f"{method.id}: {method.summary}\n    {method.source}")
        for name, values in method.choices.items():
            print(f"    {name} = {', '.join(map(str, values))}")
    return 0
