"""``pyapsp fetch``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyapsp.cli import main
from pyapsp.graph import datasets, read


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYAPSP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path / "mirror"))


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == datasets.names()
    assert "8,859" in lines[1]
    (sample,) = (line for line in lines if line.startswith("rmat-7 "))
    assert sample.endswith("comes with pyapsp")
    assert lines[-1].endswith("connected_graph n=131072 seed=1")


def test_prints_the_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["fetch", "grid-8x8"]) == 0
    assert Path(capsys.readouterr().out.strip()) == datasets.fetch("grid-8x8")
    target = tmp_path / "a.mtx"
    assert main(["fetch", "grid-8x8", "-o", str(target)]) == 0
    assert capsys.readouterr().out.strip() == str(target)
    assert read(target) == datasets.load("grid-8x8")


def test_errors(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["fetch", "rome"]) == 2
    assert "one of rome99" in capsys.readouterr().err
    assert main(["fetch", "grid-8x8", "-o", str(tmp_path / "a.gr")]) == 2
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "rome99.gr").write_text("p sp 0 0\n")
    assert main(["fetch", "rome99", "-o", str(tmp_path / "a.gr")]) == 3
    assert "sha256" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mirror"]
    for arguments in (["fetch"], ["fetch", "rome99", "--list"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
