"""List the methods, their parameters and their sources.

For example:
  pyapsp methods
  pyapsp methods --json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from pyapsp.cli.options import add_json, print_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)


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
                "parameters": {name: _listed(values) for name, values in method.choices.items()},
            }
            for method in pyapsp.methods()
        ]
        print_json(rows)
        return 0
    for method in pyapsp.methods():
        print(f"{method.id}: {method.summary}\n    {method.source}")
        for name, values in method.choices.items():
            shown = _listed(values)
            if isinstance(shown, dict):
                print(f"    {name} = {shown['from']} to {shown['to']} in steps of {shown['step']}")
            else:
                print(f"    {name} = {', '.join(map(str, shown))}")
    return 0


def _listed(values: Sequence[Any]) -> list[Any] | dict[str, int]:
    """Return the legal values, of a range its ends and its step."""
    if isinstance(values, range):
        return {"from": values[0], "to": values[-1], "step": values.step}
    return list(values)
