"""Traces from files: value change dumps, tables and arrays; spoilt files end in typed errors."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pyapsp.cli import main
from pyapsp.errors import FormatError, ParameterError, PrecisionError, PyApspError
from pyapsp.mining import Trace, mine, read_pieces, read_trace, tables

SPOILT = int(os.environ.get("PYAPSP_MINING_FILES", "150"))
DUMP = """\
$date today $end
$timescale 1 ns $end
$scope module top $end
$var wire 1 ! clk $end
$var reg 1 " go $end
$var wire 4 #a data [3:0] $end
$scope module sub $end
$var wire 1 ! clock $end
$var integer 8 $ count $end
$var real 64 % level $end
$var event 1 & fired $end
$upscope $end
$upscope $end
$enddefinitions $end
$comment a # in a comment 1! $end
$dumpvars
0!
x"
b0 #a
b0 $
r0.5 %
$end
#10
1!
1"
#20
0! b1x1 #a
#30
1! b101 #a
b11111110 $
#40
0!
#40
0"
r-1.25e1 %
#50
1!
1&
#60
"""


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "some.vcd"
    path.write_text(DUMP)
    return path


def columns(trace):
    return {
        name: row.tolist()
        for kind in ("boolean", "numeric")
        for name, row in zip(trace.names(kind), trace.values(kind), strict=True)
    }


def test_a_dump_is_sampled_at_every_time_stamp(dump):
    zero = read_trace(dump, unknown="zero")
    assert zero.n == 7
    assert columns(zero) == {
        "clk": [False, True, False, True, False, True, True],
        "go": [False, True, True, True, False, False, False],
        "data": [0, 0, 0, 5, 5, 5, 5],
        "sub.count": [0, 0, 0, -2, -2, -2, -2],
        "sub.level": [0.5, 0.5, 0.5, 0.5, -12.5, -12.5, -12.5],
    }
    known = read_trace(dump)  # without the first instant, and the one in which data is x
    assert known.facts["dropped"] == 2
    assert columns(known)["data"] == [0, 5, 5, 5, 5]
    with pytest.raises(FormatError, match="unknown values"):
        read_trace(dump, unknown="error")
    assert columns(read_trace(dump, variables=["sub.level", "clk"], unknown="error")).keys() == {
        *("clk", "sub.level")
    }


def test_a_dump_is_sampled_before_the_edges_of_a_clock(dump):
    rising = columns(read_trace(dump, clock="clk", unknown="zero"))
    assert rising == {
        "go": [False, True, False],
        "data": [0, 0, 5],
        "sub.count": [0, 0, -2],
        "sub.level": [0.5, 0.5, -12.5],
    }
    assert columns(read_trace(dump, clock="sub.clock", edge="falling"))["data"] == [0, 5]
    both = read_trace(dump, clock="clk", edge="both", unknown="zero")
    assert columns(both)["data"] == [0, 0, 0, 5, 5]


def test_pieces_of_a_dump_are_the_whole(tmp_path):
    random, n = np.random.default_rng(0), 2500
    bits, numbers = random.random((2, n)) < 0.2, random.integers(0, 200, n)
    lines = ["$var wire 1 a p $end $var wire 1 b q $end $var wire 8 cc x $end"]
    lines.append("$enddefinitions $end")
    for time in range(n):
        lines.append(f"#{3 * time}")
        for code, row in zip("ab", bits, strict=True):
            if time == 0 or row[time] != row[time - 1]:
                lines.append(f"{int(row[time])}{code}")
        lines.append(f"b{numbers[time]:b} cc")
    path = tmp_path / "many.vcd"
    path.write_text("\n".join(lines))
    whole = Trace.of({"p": bits[0], "q": bits[1], "x": numbers})
    assert columns(read_trace(path)) == columns(whole)
    parts = [columns(each) for each in read_pieces(path, instants=1024)]
    assert [len(each["x"]) for each in parts] == [1024, 1024, 452]
    for name, row in columns(whole).items():
        assert [value for each in parts for value in each[name]] == row
    assert sorted(mine(path, "II", instants=1024)) == sorted(mine(whole, "II"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("$enddefinitions $end", "", r"there is no \$enddefinitions"),
        ("$timescale 1 ns $end", "$timescale 1 ns", "no declaration"),
        ('$var reg 1 " go $end', '$var reg 0 " go $end', "no declaration"),
        ("#30", "#3x", ":28: '#3x': a time stamp"),
        ("#30", "#5", ":28: '#5': a time stamp"),
        ("b101 #a", "b121 #a", ":29: 'b121': a vector"),
        ("b101 #a", "b10101 #a", ":29: 'b10101': a value that is too wide"),
        ("b101 #a", "b101 ?", "is not declared"),
        ("r0.5 %", "rhalf %", "'half' is not a number"),
        ("r0.5 %", "r0.5 #a", "a vector has"),
        ("#40\n0!", "#40\nq!", "is expected"),
        ("#40\n0!", "#40\n$dumb", "is expected"),
        ("1! $end", "1!", "a comment without"),
        (DUMP, "", "empty"),
    ],
)
def test_a_wrong_dump_is_refused_with_its_place(old, new, said, tmp_path):
    path = tmp_path / "wrong.vcd"
    assert old in DUMP
    path.write_text(
        DUMP.replace(old, new, 1)
        if said != "a comment without"
        else DUMP.replace("1! $end\n", "1!\n", 1).replace("$end\n#10", "#10")
    )
    with pytest.raises(FormatError, match=said):
        read_trace(path, unknown="zero")


def test_vectors_of_any_width_are_exact_or_refused(tmp_path):
    path = tmp_path / "wide.vcd"
    head = "$var wire 200 a wide $end\n$enddefinitions $end\n#0\n"
    for digits, value in (("1" + "0" * 60, 2.0**60), ("0" * 140 + "1" * 53, 2.0**53 - 1)):
        path.write_text(f"{head}b{digits} a\n")
        assert columns(read_trace(path)) == {"wide": [value]}
    for digits in ("1" * 54, "1" * 200):
        path.write_text(f"{head}b{digits} a\n")
        with pytest.raises(PrecisionError, match=r"wide\.vcd:4: float64 cannot hold"):
            read_trace(path)


def test_reals_are_those_of_python(tmp_path):
    random = np.random.default_rng(0)
    drawn = random.standard_normal(50) * 10.0 ** random.integers(-30, 30, 50)
    texts = [repr(each) for each in drawn.tolist()]
    texts += ["1", "-0", "+2.5E3", ".5", "5.", "123456789012345678901234567890", "1e22", "1e-22"]
    path = tmp_path / "reals.vcd"
    steps = "\n".join(f"#{k}\nr{text} a" for k, text in enumerate(texts))
    path.write_text(f"$var real 64 a x $end\n$enddefinitions $end\n{steps}\n")
    assert columns(read_trace(path)) == {"x": [float(text) for text in texts]}


def test_names_are_short_and_differ(tmp_path):
    path = tmp_path / "names.vcd"
    path.write_text(
        "$scope module s $end $var wire 1 a x [0] $end $var wire 1 b x [1] $end\n"
        "$var wire 4 c y [3:0] $end $var wire 4 d y [3:0] $end $upscope $end\n"
        "$enddefinitions $end #0 0a 0b b0 c b1 d"
    )
    assert read_trace(path).boolean_names == ("x[0]", "x[1]")
    assert read_trace(path).numeric_names == ("y[3:0]", "y[3:0]#d")


TABLE = {"p": [True, False, True], "x": [1.5, 2.0, -3.0], "n": [1, 2, 3]}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz", ".npy"])
def test_tables_are_read_whole_and_in_part(suffix, tmp_path):
    path = tmp_path / f"table{suffix}"
    if suffix == ".csv":
        pl.DataFrame(TABLE).write_csv(path)
    elif suffix == ".parquet":
        pl.DataFrame(TABLE).write_parquet(path)
    elif suffix == ".npz":
        np.savez(path, **{name: np.array(each) for name, each in TABLE.items()})
    else:
        kinds = [("p", bool), ("x", float), ("n", int)]
        np.save(path, np.array(list(zip(*TABLE.values(), strict=True)), dtype=kinds))
    assert columns(read_trace(path)) == TABLE
    assert list(columns(read_trace(path, variables=["n", "p"]))) == ["p", "n"]
    with pytest.raises(ParameterError, match="no variable 'q'"):
        read_trace(path, variables=["q"])
    with pytest.raises(ParameterError, match="'clock'"):
        read_trace(path, clock="p")
    path.write_bytes(path.read_bytes()[:-7] if suffix != ".csv" else b"a,b\n1,2,3\n")
    with pytest.raises(FormatError):
        read_trace(path)


def test_lines_of_values(tmp_path, monkeypatch):
    """In blocks of a few lines, each with types of its own, and whole."""
    path, other, n = tmp_path / "lines.csv", tmp_path / "wrong.csv", 3000
    expected = {"x": [k + 0.5 * (k >= 1500) for k in range(n)], "n": list(range(n))}
    expected["p"] = [k % 3 != 0 for k in range(n)]
    rows = [f"{x:g}, {k} ,{str(p).lower()}" for x, k, p in zip(*expected.values(), strict=True)]
    path.write_text("x, n ,p\n" + "\n".join(rows))
    for block in (2**26, 2**12):
        monkeypatch.setattr("pyapsp.mining.tables._BLOCK", block)
        assert columns(read_trace(path)) == expected
        pieces = list(read_pieces(path, instants=1024))
        assert [piece.n for piece in pieces] == [1024, 1024, 952]
        for name, right in expected.items():
            assert [value for piece in pieces for value in columns(piece)[name]] == right
        for at, wrong, said in (
            (2000, "1,2,maybe", "2002: variable 'p': 'maybe' is no Boolean"),
            (2000, "1,2-,true", "2002: variable 'n': '2-' is no number"),
            (7, "1,,true", "9: variable 'n' has a missing value"),
            (2500, "1,2", "2502: variable 'p' has a missing value"),
            (2500, "1,2,true,4", "more values than the header"),
        ):
            other.write_text("x, n ,p\n" + "\n".join([*rows[:at], wrong, *rows[at + 1 :]]))
            with pytest.raises(FormatError, match=said):
                read_trace(other)
    monkeypatch.setattr("pyapsp.mining.tables._BLOCK", 3)
    for text, right in (
        ("x,y\n1,2\n3.5,4\n\n", None),
        ("x,y", None),
        ("x\ntrue\n1\n", None),
        ("x,y\r\n1,2\r\n3.5,4\r\n", {"x": [1, 3.5], "y": [2, 4]}),
        ('"x","y"\n1,2', {"x": [1], "y": [2]}),
    ):
        path.write_text(text, newline="")
        if right is None:
            with pytest.raises(FormatError):
                read_trace(path)
        else:
            assert columns(read_trace(path)) == right


def test_archives_are_read_in_pieces(tmp_path):
    values = {"x": np.arange(3e3), "p": np.arange(3000) % 2 == 0, "n": np.arange(3000, dtype="i2")}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "some.npz", **values)
        pieces = list(read_pieces(tmp_path / "some.npz", instants=1024))
        assert [piece.n for piece in pieces] == [1024, 1024, 952]
        for name, right in values.items():
            assert [v for piece in pieces for v in columns(piece)[name]] == right.tolist()
    for wrong in ({"x": np.arange(5)}, {"p": np.zeros((2, 2))}, {"n": np.array(["a"] * 3000)}):
        np.savez(tmp_path / "wrong.npz", **(values | wrong))
        with pytest.raises(FormatError):
            read_trace(tmp_path / "wrong.npz")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1,2\n2,3\n", "1: the first line must have the names"),
        ("True,false\nfalse,true\n", "1: the first line must have the names"),
        (",x,y\n0,1,2\n1,2,3\n", "1: column 1 has no name"),
        ("x,y,x\n1,2,3\n", "1: two columns have the name 'x'"),
        ("x;y\n1,5;2,5\n", "1: values must be separated by commas, not by semicolons"),
        ("x\ty\n1\t2\n", "1: values must be separated by commas, not by tabs"),
        ("x,y\n1,2\n3,4,5\n", "more values than the header has names"),
        ("x,y\n1,2\nNA,3\n", "'NA' is no number"),
    ],
)
def test_tables_whose_columns_are_not_clear_are_refused(content, said, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(FormatError, match=said):
        read_trace(path)
    path.write_bytes(content.encode("utf-16"))
    with pytest.raises(FormatError, match="UTF-16"):
        read_trace(path)
    path.write_text(",x\n0,1\n1,2\n")
    assert columns(read_trace(path, variables=["x"])) == {"x": [1, 2]}


def test_frames_and_arrays_are_traces():
    for frame in (pd.DataFrame(TABLE), pl.DataFrame(TABLE), TABLE):
        assert columns(Trace.of(frame)) == TABLE
        assert columns(Trace.of(frame, ["x"])) == {"x": TABLE["x"]}
    array = Trace.of(np.arange(6).reshape(3, 2), ["a", "b"])
    assert columns(array) == {"a": [0, 2, 4], "b": [1, 3, 5]}


def test_lines_are_joined_once_for_a_block(tmp_path, monkeypatch):
    path, calls, joined = tmp_path / "lines.csv", [], tables._joined
    path.write_text("x\n" + "".join(f"{k}\n" for k in range(100)))
    monkeypatch.setattr(tables, "_joined", lambda waiting: calls.append(1) or joined(waiting))
    pieces = [found["x"].tolist() for found, _ in tables.csv(path, 7, None)]
    assert [number for piece in pieces for number in piece] == list(range(100))
    assert [len(piece) for piece in pieces] == [7] * 14 + [2]
    assert len(calls) == 2


def test_later_numbers_that_need_another_type_are_refused(tmp_path):
    values = np.ones(2000)
    values[1500] = 0.1
    np.savez(tmp_path / "late.npz", x=values, y=values)
    with pytest.raises(PrecisionError, match="float64"):
        mine(tmp_path / "late.npz", "I", instants=1024)
    assert "x = y" in set(mine(tmp_path / "late.npz", "I", instants=1024, dtype="float32"))


def test_spoilt_files_end_in_typed_errors(tmp_path):
    random = np.random.default_rng(0)
    npz = tmp_path / "good.npz"
    np.savez(npz, **{name: np.array(each) for name, each in TABLE.items()})
    pl.DataFrame(TABLE).write_parquet(tmp_path / "good.parquet")
    np.save(tmp_path / "good.npy", np.array([TABLE["x"], TABLE["n"]]).T)
    good = {
        ".vcd": DUMP.encode(),
        ".csv": pl.DataFrame(TABLE).write_csv().encode(),
        ".npz": npz.read_bytes(),
        ".npy": (tmp_path / "good.npy").read_bytes(),
        ".parquet": (tmp_path / "good.parquet").read_bytes(),
    }
    path, outcomes, said = tmp_path / "spoilt", {suffix: set() for suffix in good}, []
    pieces = [b"#", b"$end", b"$var", b" ", b"b1", b"\n", b"r", b"9" * 30, b"\xff\0", b"x", b","]
    for number in range(SPOILT):
        for suffix, text in good.items():
            spoilt = bytearray(text)
            for _ in range(random.integers(1, 5)):
                at = int(random.integers(len(spoilt) + 1))
                piece = pieces[random.integers(len(pieces))]
                length = int(random.integers(0, 20))
                spoilt[at : at + length * (number % 3)] = piece * (number % 2)
            file = path.with_suffix(suffix)
            file.write_bytes(spoilt)
            try:
                trace = read_trace(file, unknown="zero") if suffix == ".vcd" else read_trace(file)
                outcomes[suffix].add(trace.n)
            except PyApspError as error:
                outcomes[suffix].add(type(error))
                said.append(str(error))
    assert all(FormatError in each and len(each) > 1 for each in outcomes.values())
    assert all("spoilt." in text or "variable" in text for text in said)


def test_the_command_prints_and_writes_invariants(device, dump, tmp_path, capsys):
    words = ["mine", str(dump), "--unknown", "zero", "--device", device.id]
    assert main([*words, "--numeric", "a <= b"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("7 instants, 3 numeric and 2 Boolean variables, 1 invariant")
    assert told[1:] == ["  sub.count <= data"]
    assert main([*words, "--templates", "II", "-o", str(tmp_path / "all.csv")]) == 0
    right = mine(read_trace(dump, unknown="zero"), "II", device=device)
    assert sorted(pd.read_csv(tmp_path / "all.csv").formula) == sorted(right)
    assert main([*words, "-o", str(dump)]) == 2
    assert main(["mine", "absent.vcd"]) == 3
    assert main(["mine", str(dump), "--numeric", "a <"]) == 2
