"""``pyapsp generate``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyapsp.cli import main
from pyapsp.graph import Graph, generators, read


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("random -n 30", generators.random_graph(30)),
        ("random -n 30 -m 50 --seed 3", generators.random_graph(30, 50, seed=3)),
        ("random -n 30 --max-weight 5", generators.random_graph(30, max_weight=5)),
        ("rmat -n 32", generators.rmat(5)),
        ("rmat -n 32 -m 64 --max-weight 1", generators.rmat(5, 2, max_weight=1)),
        ("rmat -n 1", generators.rmat(0)),
        ("ring -n 9 --seed 2", generators.ring(9, seed=2)),
        ("complete -n 9", generators.complete(9)),
        ("grid -n 30 --seed 4", generators.grid_2d(5, 6, seed=4)),
        ("grid -n 7", generators.grid_2d(1, 7)),
        ("small-world -n 20", generators.small_world(20)),
        ("small-world -n 20 -k 6 -p 0.5", generators.small_world(20, 6, 0.5)),
        ("connected -n 20 --seed 3", generators.connected_graph(20, seed=3)),
        ("connected -n 20 -m 60 --max-weight 1", generators.connected_graph(20, 30, 1)),
        ("power-law -n 40", generators.power_law(40)),
        ("power-law -n 40 -m 90 --max-degree 30", generators.power_law(40, 90, 30)),
    ],
)
def test_writes_what_the_generator_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, expected: Graph
) -> None:
    target = tmp_path / "out.npz"
    assert main(["generate", *arguments.split(), "-o", str(target)]) == 0
    graph = read(target)
    assert graph == expected
    assert graph.name == expected.name
    assert capsys.readouterr().out == f"{target}: {expected!r}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("random -n -3", "'n' parameter"),
        ("random -n 3 -m 7", "'m' parameter"),
        ("random -n 3 -k 2", "'k' parameter of generate must be absent: a random graph"),
        ("grid -n 9 --max-weight 3", "'max_weight' parameter of generate must be absent"),
        ("grid -n 0", "'n' parameter"),
        ("ring -n 9 -m 9", "'m' parameter of generate"),
        ("rmat -n 33", "must be a power of two"),
        ("rmat -n 0", "must be a power of two"),
        ("rmat -n 32 -m 33", "must be a multiple of n = 32"),
        ("small-world -n 9 -k 3", "must be even"),
        ("small-world -n 9 -p 2", "'p' parameter"),
        ("connected -n 9 -m 31", "must be even"),
        ("connected -n 9 -m 10", "'edges' parameter"),
        ("power-law -n 9 --max-degree 9", "'max_degree' parameter"),
        ("random -n 9 --max-degree 3", "'max_degree' parameter of generate must be absent"),
    ],
)
def test_wrong_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    target = tmp_path / "out.npz"
    assert main(["generate", *arguments.split(), "-o", str(target)]) == 2
    assert message in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize("arguments", [["wheel", "-n", "3"], ["ring"], ["ring", "-n", "x"]])
def test_usage(tmp_path: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["generate", *arguments, "-o", str(tmp_path / "out.npz")])
    assert caught.value.code == 2
