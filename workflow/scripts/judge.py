"""Count the runs that are ok, refused, wrong and failed; fail if one is wrong or failed.

The records of wrong and failed runs are removed, and those that are in place of a graph, so that
the next start of the workflow tries them again. The report was written before, and keeps the rows.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from pyapsp.cli.attempt import failure

# In the order in which they are counted, and whether the workflow fails.
STATES = {"ok": False, "refused": False, "wrong": True, "failed": True}


def judged(records: Iterable[Path]) -> tuple[list[str], bool]:
    """Return what was not ok, the counts, and whether the workflow fails.

    Runs with the same state and reason are one line: a graph that cannot be read has many.
    Records of runs to try again are removed.
    """
    reasons, counts = defaultdict[tuple[str, str], list[Path]](list), Counter[str]()
    for path in records:
        record = json.loads(path.read_text(encoding="utf-8"))
        status = record["status"]
        counts[status] += 1
        if status != "ok":
            reasons[status, record.get("why", "")].append(path)
        if STATES[status]:
            path.unlink()
    lines = []
    for (status, why), paths in reasons.items():
        others = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        lines.append(f"{status}: {paths[0]}{others}: {why}")
    lines.append(", ".join(f"{counts[state]} {state}" for state in STATES))
    return lines, any(counts[state] for state, fails in STATES.items() if fails)


def main() -> None:
    """Judge the records of the rule."""
    job = snakemake  # noqa: F821  # Snakemake defines it
    lines, fails = judged(map(Path, job.input.records))
    for path in map(Path, job.input.graphs):
        if failure(path) is not None:
            path.unlink()
    text = "\n".join(lines) + "\n"
    Path(job.log[0]).write_text(text, encoding="utf-8")
    print(text, file=sys.stderr, end="")
    if fails:
        sys.exit(1)
    Path(job.output[0]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
