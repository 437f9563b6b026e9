"""Print what each parameter of methods changes: a table in Markdown.

    python tests/registry/knobs.py partition-multi-phase bfs-helix ...

Without names, of all methods, which takes some minutes. The rows are those of
`test_parameters_act.py`: "a = b" do the same; what is in brackets is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import acting
import test_parameters_act as test

from pyapsp.device import devices


def rows(methods: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield method, parameter, values, what changes, and with which other parameters."""
    chosen, device = set(methods), devices()[0]
    for method, name in test.PARAMETERS:
        if chosen and method not in chosen:
            continue
        values, context = test.values_of(method, name), test.context(method, name)
        groups = acting.alike(method, name, values, device, **context)
        accepted = {value for group in groups for value in group.values}
        shown = [" = ".join(map(str, group.values)) for group in groups]
        refused = [str(value) for value in values if value not in accepted]
        shown += [f"({', '.join(refused)})"] if refused else []
        kernels = sorted(set().union(*(group.kernels for group in groups)))
        changes = ["source of " + ", ".join(kernels)] if kernels else []
        changes += ["launches"] if len({group.kernels for group in groups}) < len(groups) else []
        others = ", ".join(f"{each}={value}" for each, value in context["others"].items())
        yield method, name, "; ".join(shown), " and ".join(changes) or "nothing", others


if __name__ == "__main__":
    print("| method | parameter | values | what changes | with |", "|---" * 5 + "|", sep="\n")
    for row in rows(sys.argv[1:]):
        print(f"| {' | '.join(row)} |", flush=True)
