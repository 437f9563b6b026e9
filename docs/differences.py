"""Make ``differences.md`` from the sentences of the tests of differences from SciPy."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

__all__ = ["page"]

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests" / "csgraph" / "test_differences.py"

HEAD = f"""\
# Differences from SciPy

`pyapsp.csgraph` has the functions of `scipy.sparse.csgraph` for shortest paths and components. They
take SciPy's arguments and return SciPy's answers, except for the differences on this page. The test
named after each difference shows both behaviours, with SciPy 1.17. The tests are in
`{TESTS.relative_to(HERE.parent).as_posix()}`; `docs/differences.py` makes this page from them.
"""
KINDS = {
    "other": "Other answers",
    "refused": "Errors where SciPy answers",
    "accepted": "Answers where SciPy refuses",
}


def page() -> str:
    """Return the page, in Markdown."""
    found = defaultdict(list)
    for node in ast.parse(TESTS.read_text(encoding="utf-8")).body:
        for mark in getattr(node, "decorator_list", []):
            if ast.unparse(mark).startswith("pytest.mark.difference("):
                kind, sentence = map(ast.literal_eval, mark.args)
                found[kind].append(f"- {sentence} (`{node.name}`)\n")
    sections = (f"\n## {title}\n\n{''.join(found.pop(kind))}" for kind, title in KINDS.items())
    text = HEAD + "".join(sections)
    assert not found, f"no such kind: {', '.join(found)}"
    return text


if __name__ == "__main__":
    (HERE / "differences.md").write_text(page(), encoding="utf-8")
