"""``pyapsp bulk``."""

from __future__ import annotations

import sys

import pytest

from pyapsp.bulk import programs, translate
from pyapsp.cli import main

SORT = str(programs()["bitonic_sort"])


def test_it_prints_or_writes_the_translation(capsys, tmp_path):
    assert main(["bulk", SORT, "-D", "N=8", "--arrangement", "row"]) == 0
    printed = capsys.readouterr().out
    assert printed == translate(SORT, defines={"N": 8}, arrangement="row").source
    out = tmp_path / "out.cl"
    assert main(["bulk", SORT, "-o", str(out)]) == 0
    assert out.read_text() == translate(SORT).source
    assert capsys.readouterr().out == ""


def test_check_tells_what_goes_in_and_out(capsys, tmp_path):
    path = str(programs()["montgomery"])
    out = tmp_path / "out.cl"
    assert main(["bulk", path, "--check", "-o", str(out)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0][1:] == ["montgomery", "is", "oblivious"]
    assert ["X[16]", "uint32", "in"] in lines
    assert ["Z[16]", "uint32", "out"] in lines
    assert ["577", "accesses"] in lines
    assert not out.exists()


def test_list(capsys):
    assert main(["bulk", "--list"]) == 0
    found = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert found == {name: str(path) for name, path in programs().items()}


def test_mistakes(capsys, tmp_path):
    assert main(["bulk"]) == 2
    assert main(["bulk", str(tmp_path / "none.c")]) == 3
    assert "none.c" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["bulk", SORT, "-D", "3=N"])


def test_without_the_parser_the_extra_is_named(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("pyapsp.bulk", "pycparser"))]:
        monkeypatch.delitem(sys.modules, name)
    import pyapsp

    monkeypatch.delattr(pyapsp, "bulk", raising=False)
    monkeypatch.setitem(sys.modules, "pycparser", None)
    assert main(["bulk", SORT]) == 3
    assert "install the extra 'bulk'" in capsys.readouterr().err
