"""Traces from files: value change dumps, tables and arrays; spoilt files end in typed errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pyapsp.cli import main
from pyapsp.errors import FormatError, ParameterError, PrecisionError, PyApspError
from pyapsp.mining import TemplateSet, Trace, mine, read_pieces, read_trace, tables
from pyapsp.mining.sequential import loop

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
    with pytest.raises(FormatError, match=r"some\.vcd:14: unknown values: top\.go"):
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
        ('$var reg 1 " go $end', '$var reg -1 " go $end', "no declaration"),
        ("#30", "#3x", ":28: '#3x': a time stamp"),
        ("#30", "#5", ":28: '#5': a time stamp"),
        ("b101 #a", "b121 #a", ":29: variable 'top.data': 'b121': a vector"),
        ("b101 #a", "b10101 #a", ":29: variable 'top.data': 'b10101': a value that is"),
        ("b101 #a", "b101 ?", r":29: '\?': this identifier code is not declared"),
        ("r0.5 %", "rhalf %", ":21: variable 'top.sub.level': 'half' is not a number"),
        ("r0.5 %", "r0.5 #a", ":21: variable 'top.data': 'r0.5': a vector has"),
        ("#40\n0!", "#40\nq!", "is expected"),
        ("#40\n0!", "#40\n$dumb", "is expected"),
        ("1! $end", "1!", "a comment without"),
        ("$upscope $end\n$upscope $end", "$upscope $end\n$upscope", ":13: .* is no declaration"),
        ("$date today", "date today", ":1: 'date' is no declaration"),
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
        with pytest.raises(
            PrecisionError, match=r"wide\.vcd:4: variable 'wide': float64 cannot hold"
        ):
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


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("1_5", FormatError, "4: variable 'x': '1_5' is not a number"),
        ("\u0661", FormatError, "is not a number"),
        ("1e400", PrecisionError, "4: variable 'x': float64 cannot hold 'r1e400'"),
    ],
)
def test_reals_that_python_would_change(text, error, said, tmp_path):
    path = tmp_path / "reals.vcd"
    head = "$var real 64 a x $end $var wire 1 b y $end\n$enddefinitions $end\n#0\n"
    path.write_text(f"{head}r{text} a\n0b\n#1\nr{text} a\n1b\n#2\nr-inf a\n")
    with pytest.raises(error, match=said) as caught:
        read_trace(path)
    assert "too" not in str(caught.value)  # it is named once
    if error is PrecisionError:
        assert columns(read_trace(path, exclude=["x"])) == {"y": [False, True, True]}
    path.write_text(f"{head}r-inf a\n0b\n#1\nrnan a\n")
    assert read_trace(path).values("numeric")[0, 0] == -np.inf


def test_no_variables_are_not_all(dump, tmp_path):
    np.savez(tmp_path / "a.npz", x=[1.0])
    for path in (dump, tmp_path / "a.npz"):
        with pytest.raises(ParameterError, match=r"'variables'.*one name at least"):
            read_trace(path, variables=[])


def test_names_are_short_and_differ(tmp_path):
    path = tmp_path / "names.vcd"
    path.write_text(
        "$scope module s $end $var wire 1 a x [0] $end $var wire 1 b x [1] $end\n"
        "$var wire 4 c y [3:0] $end $var wire 4 d y [3:0] $end $upscope $end\n"
        "$enddefinitions $end #0 0a 0b b0 c b1 d"
    )
    assert read_trace(path).boolean_names == ("x[0]", "x[1]")
    assert read_trace(path).numeric_names == ("y[3:0]", "y[3:0]#d")


GHDL = """\
$date
  Sat Nov 28 07:02:35 2026
$end
$version
  GHDL v0
$end
$timescale
  1 fs
$end
$scope module standard $end
$upscope $end
$scope module std_logic_1164 $end
$upscope $end
$scope module bench $end
$var reg 1 ! clk $end
$var reg 4 " bus[3:0] $end
$var reg 0 # nothing[-1:0] $end
$var integer 32 $ n $end
$var real 64 % volts $end
$comment phase is not handled $end
$scope module dut $end
$var reg 1 ! clk $end
$var reg 1 & open_drain $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
U!
bUUUU "
b #
b00000000000000000000000000000000 $
r0.0000000000000000e+00 %
U&
#1000000
0!
b0L1H "
b11111111111111111111111111111111 $
H&
#2000000
1!
b01-1 "
L&
#3000000
bW011 "
#4000000
bHHHH "
r-1.5e+00 %
"""
NVC = """\
$date
  Sat Nov 28 07:02:35 2026
$end
$version nvc 1.13.0 $end
$timescale 1 fs $end
$scope module bench $end
$attrbegin misc 02 BENCH 1 $end
$var logic 1 ! clk $end
$var string 0 " state $end
$scope module  $end
$var logic 8 # bus[7:0] $end
$upscope $end
$upscope $end
$enddefinitions $end
$comment not yet $enddefinitions $end
$dumpvars
0!
sidle "
b00000001 #
$end
#0
#5000000
1!
swaiting for data "
b1111zzzz #
#10000000
srun "
b00000011 #
"""
GTKWAVE = """\
$date
\tSat Nov 28 07:02:35 2026

$end
$version
\tnvc 1.13.0
$end
$comment
 made from a file with $enddefinitions
$end
$timescale
\t1ns
$end
$scope module top $end
$var string 0 ! message $end
$var wire 0 " empty $end
$var wire 1 # go $end
$var parameter 8 $ WIDTH [7:0] $end
$var event 1 % done $end
$upscope $end
$enddefinitions $end
#0
$dumpvars
s !
b "
1#
b1000 $
$end
#7
sa\\040b !
0#
1%
$vcdclose
#9
$end
"""
ICARUS = """\
$date
\tSat Nov 28 07:02:35 2026
$end
$version
\tIcarus Verilog
$end
$timescale
\t1s
$end
$scope module top $end
$var wire 1 ! carry $end
$var parameter 32 " STEP $end
$var reg 4 # count [3:0] $end
$var real 1 $ ratio $end
$scope begin loop $end
$var integer 32 % i [31:0] $end
$upscope $end
$upscope $end
$enddefinitions $end
$comment Show the parameter values. $end
$dumpall
b11 "
$end
#0
$dumpvars
bx %
r0 $
bx #
z!
$end
#1
b11111111111111111111111111111110 %
b0 #
0!
#2
b111 #
r0.25 $
"""
VERILATOR = """\
$version Generated by VerilatedVcd $end
$timescale 1ps $end

 $scope module  $end
  $scope module TOP $end
   $var wire  1 # clk $end
   $scope module cpu $end
    $var wire  1 # clk $end
    $var wire 64 $ address [63:0] $end
    $var wire 128 & line [127:0] $end
    $scope struct pair $end
     $var wire  8 ( low [7:0] $end
    $upscope $end
   $upscope $end
  $upscope $end
 $upscope $end
$enddefinitions $end


#0
0#
b0000000000000000000000000000000000000000000000000000000000000001 $
b1{zeros} &
b00000101 (
#5
1#
b0000000000000000000000000000000000000000000000000000000000000010 $
#10
0#
""".replace("{zeros}", "0" * 127)
SIMULATORS = {
    "ghdl": (
        GHDL,
        # the first instant, and those with "-" and W, are left out
        {
            "clk": [False, True],
            "dut.open_drain": [True, False],
            "bus": [3, 15],
            "n": [-1, -1],
            "volts": [0, -1.5],
        },
    ),
    "nvc": (NVC, {"clk": [False, True], "bus": [1, 3]}),
    "gtkwave": (GTKWAVE, {"go": [True, False, False], "WIDTH": [8, 8, 8]}),
    "icarus": (
        ICARUS,
        {
            "carry": [False, False],
            "STEP": [3, 3],
            "count": [0, 7],
            "ratio": [0, 0.25],
            "loop.i": [-2, -2],
        },
    ),
    "verilator": (
        VERILATOR,
        {
            "clk": [False, True, False],
            "cpu.address": [1, 2, 2],
            "cpu.line": [2.0**127] * 3,
            "cpu.pair.low": [5, 5, 5],
        },
    ),
}


LATE = """\
$var wire 1 a p $end $var wire 1 b q $end $var wire 1 c never $end
$var wire 8 x m $end $var wire 8 y n $end $var wire 8 z late $end
$enddefinitions $end
#0
1a xb xc b1 x bx y
#1
1b b10 x b101 y
#2
0a 0b b11 x
#3
xa 1b bx x b111 y
#4
b1 z
"""


def test_instants_may_be_left_out_for_single_formulas(device, tmp_path, capsys):
    path = tmp_path / "late.vcd"
    path.write_text(LATE)
    with pytest.raises(FormatError, match=r"late\.vcd:1: .*never known: never: .* formula or zero"):
        read_trace(path)
    trace = read_trace(path, unknown="formula")
    assert trace.n == 5
    own = TemplateSet(boolean=["a = b", "a", "a | !a"], numeric=["a < b", "a = 1", "a <= b"])
    right = {"p = q", "p | !p", "q | !q", "m < n", "m <= n", "late = 1", "late < n", "late <= n"}
    assert set(mine(trace, own, device=device)) == set(loop(trace, own)) == right
    sampled = mine(path, own, device=device, unknown="formula", clock="p", edge="falling")
    assert set(sampled) == {"q", "q | !q", "m < n", "m <= n"}
    with pytest.raises(FormatError, match=r"late\.vcd:1: the clock 'p' has no edge .* rising"):
        read_trace(path, unknown="formula", clock="p")
    own = ["--boolean", "a = b", "--numeric", "a < b", "--device", device.id]
    assert main(["mine", str(path), "--unknown", "formula", *own]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.strip() for line in lines[1:]} == {"p = q", "m < n", "late < n"}
    path.write_text("$var wire 1 a p $end\n$enddefinitions $end\n\n")
    for unknown in ("drop", "zero", "error", "formula"):
        with pytest.raises(FormatError, match=r"late\.vcd:4: there is no time stamp"):
            read_trace(path, unknown=unknown)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_dumps_as_simulators_write_them(simulator, tmp_path):
    text, right = SIMULATORS[simulator]
    path = tmp_path / f"{simulator}.vcd"
    path.write_text(text)
    trace = read_trace(path)
    assert columns(trace) == right
    dropped = {"ghdl": 3, "nvc": 1, "icarus": 1}
    assert trace.facts["dropped"] == dropped.get(simulator, 0)
    left_out = {"ghdl": ["bench.nothing[-1:0]"], "nvc": ["bench.state"], "verilator": []}
    left_out |= {"gtkwave": ["top.message", "top.empty", "top.done"], "icarus": []}
    assert trace.facts["left_out"] == left_out[simulator]


def test_values_before_the_first_time_stamp_are_those_at_time_zero(tmp_path):
    path = tmp_path / "early.vcd"
    path.write_text("$var wire 1 a p $end $enddefinitions $end\n1a\n#0\n0a\n#5\n")
    assert columns(read_trace(path)) == {"p": [False, False]}
    path.write_text("$var wire 1 a p $end $enddefinitions $end\n1a\n#3\n0a\n")
    assert columns(read_trace(path)) == {"p": [True, False]}


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("reg 64", {"1" + "0" * 63: 2.0**63, "1" * 53 + "0" * 11: (2.0**53 - 1) * 2**11}),
        ("integer 64", {"1" * 64: -1.0, "1" + "0" * 63: -(2.0**63), "1" * 63 + "0": -2.0}),
        ("longint 60", {"1" * 60: -1.0, "0" * 7 + "1" * 53: 2.0**53 - 1}),
        ("reg 1024", {"1" + "0" * 1023: 2.0**1023, "101" + "0" * 97: 5 * 2.0**97}),
    ],
)
def test_wide_vectors_that_float64_holds_are_exact(words, right, tmp_path):
    path = tmp_path / "wide.vcd"
    steps = "\n".join(f"#{k}\nb{digits} a" for k, digits in enumerate(right))
    path.write_text(f"$var {words} a x $end\n$enddefinitions $end\n{steps}\n")
    assert columns(read_trace(path)) == {"x": list(right.values())}


def test_all_variables_that_float64_cannot_hold_are_named(tmp_path):
    path = tmp_path / "wide.vcd"
    kinds = "".join(
        f"$var {kind} {k} {k} $end\n" for k, kind in zip("abc", ["reg 64"] * 3, strict=True)
    )
    changes = f"#0\nb1 a\nb1 b\nb1 c\n#1\nb{'1' * 64} c\n#2\nb1{'0' * 62}1 a\n#3\n"
    path.write_text(f"$scope module top $end\n{kinds}$enddefinitions $end\n{changes}")
    said = r"wide\.vcd:11: variable 'top\.c': float64 .*: exclude this variable; top\.a too"
    for instants in (None, 1024):
        with pytest.raises(PrecisionError, match=said):
            list(read_pieces(path, instants=instants))
    assert columns(read_trace(path, exclude=["c", "a"])) == {"b": [1, 1, 1, 1]}


def test_variables_have_their_full_names_too(dump, tmp_path):
    short = columns(read_trace(dump, clock="clk", unknown="zero"))
    assert columns(read_trace(dump, clock="top.clk", unknown="zero")) == short
    assert columns(read_trace(dump, clock="top.sub.clock", unknown="zero")) == short
    asked = ["top.sub.level", "data[3:0]"]
    assert list(columns(read_trace(dump, variables=asked, unknown="zero"))) == asked
    with pytest.raises(
        ParameterError, match=r"no variable 'top\.clok'\. Did you mean 'top\.clo?c?k'"
    ):
        read_trace(dump, clock="top.clok")
    path = tmp_path / "twice.vcd"
    path.write_text(
        "$scope module top $end $var wire 1 a x $end $scope module top $end $var wire 1 b x $end\n"
        "$upscope $end $upscope $end $enddefinitions $end\n#0 0a 1b"
    )
    assert columns(read_trace(path, variables=["x"])) == {"x": [False]}
    assert columns(read_trace(path, variables=["top.top.x"])) == {"top.top.x": [True]}
    with pytest.raises(ParameterError, match=r"'top\.x' may be top\.x or top\.top\.x"):
        read_trace(path, variables=["top.x"])


def test_variables_are_excluded_by_name_or_pattern(dump, tmp_path):
    def names(**options):
        return list(columns(read_trace(dump, unknown="zero", **options)))

    assert names(exclude=["top.sub.*"]) == ["clk", "go", "data"]
    assert names(exclude=["clk"]) == ["go", "sub.clock", "data", "sub.count", "sub.level"]
    assert names(exclude=["data[3:0]", "*l*"]) == ["go", "sub.count"]
    assert names(variables=["go", "data"], exclude=["g?"]) == ["data"]
    with pytest.raises(ParameterError, match=r"there is no variable 'dat'\. Did you mean 'data'"):
        names(exclude=["dat"])
    with pytest.raises(ParameterError, match="that is not excluded"):
        names(exclude=["*"])
    with pytest.raises(ParameterError, match="'exclude'"):
        names(exclude="clk")
    for suffix in (".csv", ".parquet", ".npz"):
        path = tmp_path / f"table{suffix}"
        if suffix == ".npz":
            np.savez(path, **{name: np.array(each) for name, each in TABLE.items()})
        else:
            frame = pl.DataFrame(TABLE)
            (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
        assert list(columns(read_trace(path, exclude=["[nx]"]))) == ["p"]
        with pytest.raises(ParameterError, match="there is no variable 'y'"):
            read_trace(path, exclude=["y"])
        with pytest.raises(ParameterError, match="all variables are excluded"):
            read_trace(path, exclude=["*"])
    np.save(tmp_path / "table.npy", np.arange(6).reshape(2, 3))
    assert list(columns(read_trace(tmp_path / "table.npy", exclude=["v1"]))) == ["v0", "v2"]


def test_a_variable_that_is_never_known_is_named_with_its_line(tmp_path):
    path = tmp_path / "never.vcd"
    path.write_text(
        "$scope module top $end\n$var wire 1 a p $end\n$var wire 4 b q $end\n$upscope $end\n"
        "$enddefinitions $end\n#0\n0a\nbx b\n#1\n1a\n#2\nb1x b\n"
    )
    with pytest.raises(FormatError, match=r"never\.vcd:3: at no instant .* known: top\.q: exclude"):
        read_trace(path)
    assert columns(read_trace(path, exclude=["q"])) == {"p": [False, True, True]}
    with pytest.raises(FormatError, match=r"never\.vcd:6: unknown values: top\.q"):
        read_trace(path, unknown="error")
    path.write_text(
        "$var wire 1 c c $end $var wire 1 a p $end $enddefinitions $end #0 0c xa #5\n1c"
    )
    with pytest.raises(FormatError, match=r"never\.vcd:2?1?: unknown values: p"):
        read_trace(path, clock="c", unknown="error")


@pytest.mark.slow
def test_the_compiled_reader_is_kept_for_other_processes(tmp_path):
    """The second process reads the code from files, and writes none; without a folder, it works."""
    path = tmp_path / "some.vcd"
    path.write_text(DUMP)
    program = (
        "import sys; from pyapsp.mining import read_trace; from pyapsp.mining.scan import loop\n"
        f"print(read_trace({str(path)!r}, unknown='zero').n, sum(loop.stats.cache_hits.values()))"
    )
    said = []
    for folder in (tmp_path / "cache", tmp_path / "cache", Path("/proc/none")):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(run.stdout.split())
    assert said[:2] == [["7", "0"], ["7", "1"]]
    assert said[2][0] == "7"


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
    with pytest.raises(ParameterError, match=r"'clock' .* absent for such a file, which has"):
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


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["0.5", "1", "9007199254740993"], "4: variable 'x': float64 cannot hold 9007199254740993"),
        (["1.5", " 9007199254740993"], "3: variable 'x': float64 cannot hold 9007199254740993"),
        (["1", "1e400"], "3: variable 'x': float64 cannot hold 1e400"),
        (["9007199254740993", "1"], "variable 'x' has integers that float64 cannot hold"),
        (["1", str(2**70)], "variable 'x' has integers that float64 cannot hold"),
    ],
)
def test_numbers_that_a_table_would_change(values, said, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["y,x", *(f"0,{each}" for each in values)]) + "\n")
    with pytest.raises(PrecisionError, match=rf"table\.csv:.*{said}"):
        read_trace(path)
    path.write_text("x\n9007199254740992\n0.5\ninf\n1e300\n")
    assert columns(read_trace(path)) == {"x": [2.0**53, 0.5, np.inf, 1e300]}


def test_the_format_may_be_named(dump, device, capsys):
    named = dump.rename(dump.with_suffix(".dat"))
    with pytest.raises(FormatError, match="or name the format"):
        read_trace(named)
    assert read_trace(named, format="vcd", unknown="zero").n == 7
    with pytest.raises(ParameterError, match="'format'"):
        read_trace(named, format="dat")
    words = ["mine", str(named), "--unknown", "zero", "--device", device.id]
    assert main([*words, "--format", "vcd", "--exclude", "top.sub.*", "--numeric", "a = a"]) == 0
    assert "1 numeric and 2 Boolean variables" in capsys.readouterr().out


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
    pieces = [found["x"].tolist() for found, _ in tables.csv(path, tables.Part(7))]
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
