"""Make ``differences.md`` of the sentences at the tests that pin differences from SciPy."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

__all__ = ["page"]

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests" / "csgraph" / "test_differences.py"

HEAD = f"""\
# Differences from SciPy

`pyapsp.csgraph` has the shortest paths of `scipy.sparse.csgraph`, with SciPy's arguments, and its
answers but for what is listed here. Every sentence stands at a test that shows both, in
`{TESTS.relative_to(HERE.parent).as_posix()}`; `python docs/differences.py` makes this page of them.
Compared with SciPy 1.17.
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
