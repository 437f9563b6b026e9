"""Files as people and their programs write them: the graph they mean, or an error that says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from plausible import CASES, Means

from pyapsp.errors import FormatError
from pyapsp.graph import read


@pytest.mark.parametrize("case", CASES)
def test_plausible_files(tmp_path: Path, case: str) -> None:
    name, content, expected = CASES[case]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if not isinstance(expected, Means):
        with pytest.raises(FormatError) as caught:
            read(path)
        assert expected.words in str(caught.value)
        assert caught.value.line == expected.line
        return
    graph = read(path)
    names = range(graph.n) if graph.labels is None else graph.labels.tolist()
    tails, heads, weights = (array.tolist() for array in graph.arcs())
    arcs = [(names[t], names[h], w) for t, h, w in zip(tails, heads, weights, strict=True)]
    assert sorted(arcs) == sorted(expected.all_arcs)
    assert graph.directed == expected.directed
    mentioned = {end for arc in expected.arcs for end in arc[:2]}
    assert graph.n == (len(mentioned) if expected.n is None else expected.n)
