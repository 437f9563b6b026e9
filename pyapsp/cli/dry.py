"""The option ``--dry-run`` of commands that call one function, or several."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyapsp.cli.options import add_flag
from pyapsp.cli.output import facts, print_json

if TYPE_CHECKING:
    from pyapsp.graph import Graph

__all__ = ["add_dry_run", "show_memory"]


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add ``--dry-run``, for `show_memory`."""
    add_flag(parser, "--dry-run", "do not search; print the memory that the search needs")


def show_memory(arguments: argparse.Namespace, graph: Graph, *calls: Callable[[], object]) -> int:
    """Print the memory of calls that come one after the other, without their work.

    Returns
    -------
    int
        The exit code.
    """
    import pyapsp

    needs = [pyapsp.dry_run(call) for call in calls]
    device = max(each.device_bytes for each in needs)
    known = [each.answer_bytes for each in needs if each.answer_bytes is not None]
    answer = sum(known) if len(known) == len(needs) else None
    if arguments.json:
        about = {"device_bytes": device, "answer_bytes": answer}
        print_json({"graph": facts(graph), **about})
        return 0
    size = "as large as what is found" if answer is None else f"{answer / 2**20:,.1f} MiB"
    print(f"device memory: {device / 2**20:,.1f} MiB\nanswer: {size}")
    return 0
