"""List the problems and their methods, with parameters and sources.

For example:
  pyapsp methods
  pyapsp methods --json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_json
from pyapsp.cli.output import print_json

if TYPE_CHECKING:
    from pyapsp.registry import Method

__all__ = ["configure", "run"]


configure = add_json


def run(arguments: argparse.Namespace) -> int:
    """Print the registry."""
    import pyapsp

    if arguments.json:
        rows = [
            {
                "id": method.id,
                "problem": method.problem,
                "area": method.area,
                "summary": method.summary,
                "source": method.source,
                "parameters": {name: _listed(values) for name, values in method.choices.items()},
            }
            for method in pyapsp.methods()
        ]
        print_json(rows)
        return 0
    for problem in pyapsp.problems():
        print(f"{problem.id}: {problem.summary}\n")
        _print(pyapsp.methods(problem.id))
    return 0


def _print(methods: Sequence[type[Method]]) -> None:
    for method in methods:
        print(f"  {method.id}: {method.summary}\n    {method.source}")
        for name, values in method.choices.items():
            shown = _listed(values)
            if isinstance(shown, dict):
                print(f"    {name} = {shown['from']} to {shown['to']} in steps of {shown['step']}")
            else:
                print(f"    {name} = {', '.join(map(str, shown))}")
        print()


def _listed(values: Sequence[int | str]) -> list[int | str] | dict[str, int]:
    """Return the legal values as a list; of a range or thresholds, the ends and the step."""
    from pyapsp.registry import Thresholds

    if isinstance(values, Thresholds):
        return {"from": values[0], "to": values[-1], "step": 1}
    if isinstance(values, range):
        return {"from": values[0], "to": values[-1], "step": values.step}
    return list(values)
