"""What holds for every command: examples, option names, JSON, a quick start."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import pyapsp
from pyapsp import cli
from pyapsp.cli import completion, main, output
from pyapsp.graph import Graph, generators


def commands(parser, name="pyapsp"):
    """Yield the name and the parser of the program, its commands and their parts."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, command in action.choices.items():
                yield from commands(command, f"{name} {word}")


COMMANDS = dict(commands(cli.parser()))
ARGUMENTS = [
    (name, action)
    for name, parser in COMMANDS.items()
    for action in parser._actions
    if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction)
]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_parse(name):
    parser = COMMANDS[name]
    assert parser.description
    about, mark, examples = parser.format_help().partition("\nFor example:\n")
    assert mark, about
    lines = examples.splitlines()
    assert lines
    for line in lines:
        line = re.sub(r"^  mpiexec -n \d+ ", "  ", line)
        assert f"{line} ".startswith(f"  {name} "), line
        words = shlex.split(line.partition(">")[0])[1:]
        if words[-1] == "--help":
            words.pop()
            assert f"pyapsp {' '.join(words)}" in COMMANDS
            continue
        parsed = cli.parser().parse_args(words)
        assert callable(parsed.run)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_is_described(name):
    for command, action in ARGUMENTS:
        if command == name:
            assert action.help, action


# The kinds of arguments that a shell cannot complete.
FREE = {
    *("COLUMN", "FROM", "TO", "VERTEX", "NAME=VALUE", "NAME[=VALUE]", "NAME", "FORMULA", "RECIPE"),
    *("N", "M", "K", "P", "LENGTH", "SECONDS", "SIZE", "TOLERANCE"),
    *("NAME", "NAME=KIND:QUANTITY", "COMMAND", "WORD", "ARG", "SENSOR", "PART"),
}


def test_every_kind_of_argument_is_known_to_the_completion():
    completed = {*completion._words(), *completion._FILES, *completion._FOLDERS}
    assert not completed & FREE
    for name, action in ARGUMENTS:
        if action.nargs == 0 or action.choices:
            continue
        known = action.metavar in completed | FREE or "." in (action.metavar or "")
        assert known, f"{name}: {action.metavar}"


LISTS = [
    (name, action)
    for name, action in ARGUMENTS
    if action.option_strings and action.nargs in ("+", "*")
]


def words_of(action, count):
    """Return words that an argument takes."""
    if action.choices:
        return [next(iter(action.choices))] * count
    return ["1", "2"][:count]


@pytest.mark.parametrize(("name", "action"), LISTS, ids=lambda each: getattr(each, "dest", each))
def test_a_list_may_stand_before_the_other_arguments(name, action):
    """It leaves the words that these must have."""
    others = [each for command, each in ARGUMENTS if command == name]
    positional = [
        word
        for each in others
        if not each.option_strings and each.nargs in (None, "+")
        for word in words_of(each, 1)
    ]
    required = [
        word
        for each in others
        if each.option_strings and each.required and each is not action
        for word in (each.option_strings[0], *words_of(each, 1))
    ]
    option = [action.option_strings[0], *words_of(action, 2)]
    parse = cli.parser().parse_args
    before, after = (
        vars(parse([*name.split()[1:], *words, *required]))
        for words in ([*option, *positional], [*positional, *option])
    )
    assert len(before[action.dest]) == 2
    assert before == after


def test_an_option_means_the_same_in_every_command():
    kinds = {}
    for name, action in ARGUMENTS:
        for option in action.option_strings:
            kinds.setdefault(option, {}).setdefault((action.dest, action.metavar), []).append(name)
    # the files that are written differ; the bench spreads sources, and has words for many methods;
    # traces have formats of their own
    differing = {option for option, found in kinds.items() if len(found) > 1}
    assert differing == {"-o", "--output", "--sources", "--format", "--method"}
    assert {dest for dest, _ in kinds["-o"]} == {"output"}
    assert kinds["-n"].keys() == kinds["--n"].keys() == {("n", "N")}
    assert kinds["-n"] == kinds["--n"]


def test_help_is_quick_and_needs_nothing_heavy():
    code = "import sys; from pyapsp.cli import parser; parser().format_help(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "pyopencl", "rich", "pandas", "shtab", "numba"}
    assert not heavy & set(done.stdout.split())


def test_python_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "pyapsp", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"pyapsp {pyapsp.__version__}\n"


@pytest.fixture
def folder(device, tmp_path, monkeypatch, capsys):
    """A folder with a graph and its result, that is the current one."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path / "tuning"))
    monkeypatch.chdir(tmp_path)
    pyapsp.write(generators.random_graph(40, seed=6), "g.gr")
    (tmp_path / "t.csv").write_text("x,y\n1,2\n3,5\n")
    (tmp_path / "g.gfu").write_text("#g\n3\nA\nB\nA\n2\n0 1\n1 2\n")
    (tmp_path / "q.gfu").write_text("#q\n2\nA\nB\n1\n0 1\n")
    assert main(["solve", "g.gr", "-o", "d.npz", "--predecessors", "--method", "fw-naive"]) == 0
    capsys.readouterr()
    return tmp_path


JSON = {
    "solve": ("solve g.gr -o e.npz --method fw-naive", "method", "fw-naive"),
    "solve --dry-run": ("solve g.gr --dry-run --dtype int32", "answer_bytes", 4 * 40 * 40),
    "bfs": ("bfs g.gr --source 1", "method", "bfs-direction-optimising"),
    "sssp": ("sssp g.gr --method sssp-bellman-ford", "method", "sssp-bellman-ford"),
    "path": ("path d.npz 1 1", "path", ["1"]),
    "within --dry-run": ("within g.gr --dry-run", "answer_bytes", None),
    "distances --dry-run": ("distances g.gr --sources 1 --dry-run", "answer_bytes", 8 * 40),
    "pairs": ("pairs g.gr --sources 1 2 --targets 5 6", "pairs", 2),
    "distances": ("distances g.gr --sources 1 2", "targets", 40),
    "nearest": ("nearest g.gr --targets 1 2 -k 2", "k", 2),
    "within": ("within g.gr --cutoff 5 --sources 1 2", "sources", 2),
    "accessibility": ("accessibility g.gr --cutoff 5 --sources 1 2", "sources", 2),
    "pairs -k": ("pairs g.gr --sources 1 --targets 5 -k 2", "pairs", 1),
    "measure": ("measure g.gr radius --undirected", "graph", None),
    "scc": ("scc g.gr", "problem", "scc"),
    "triangles": ("triangles g.gr", "problem", "triangles"),
    "truss": ("truss g.gr", "problem", "truss"),
    "truss -k": ("truss g.gr -k 3", "k", 3),
    "match": ("match g.gfu q.gfu --matches 5", "method", "device"),
    "verify": ("verify g.gr d.npz", "verified", True),
    "fetch": ("fetch ring-40", "n", 40),
    "fetch --list": ("fetch --list", None, None),
    "convert": ("convert g.gr g.npz", "file", "g.npz"),
    "generate": ("generate ring -n 9 -o r.gr", "n", 9),
    "bulk --list": ("bulk --list", "fft", None),
    "mine": ("mine t.csv --templates I", "invariants", 3),
    "bench": ("bench g.gr --repeat 1 --method fw-naive --peers scipy", "schema", 3),
    "check": ("check scc g.gr", "verified", True),
    "methods": ("methods", None, None),
    "devices": ("devices", None, None),
    "scale": ("scale -n 100 --ranks 1", "rates", None),
}


def strictly(text):
    """Parse JSON as its standard says."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("case", JSON)
def test_json_is_one_document(case, folder, capsys):
    line, key, value = JSON[case]
    assert main([*line.split(), "--json"]) == 0
    found = strictly(capsys.readouterr().out)
    if key is None:
        assert isinstance(found, list)
    elif value is None:
        assert key in found
    else:
        assert found[key] == value


def test_json_is_where_facts_are_printed():
    with_json = {name for name, action in ARGUMENTS if "--json" in action.option_strings}
    told = {f"pyapsp {case.split()[0]}" for case in JSON}
    # these have tests of their own
    own = {"pyapsp doctor", "pyapsp tune", "pyapsp selftest"}
    own |= {f"pyapsp profile {part}" for part in ("device", "kernel", "run", "primitives")}
    assert with_json == told | own


def test_json_has_neither_nan_nor_types_of_numpy(tmp_path):
    content = {"a": float("nan"), "b": [np.float64("inf"), np.int64(2**60)], 3: np.arange(2)}
    output.write_json(tmp_path / "a.json", content)
    text = (tmp_path / "a.json").read_text()
    assert strictly(text) == {"a": None, "b": [None, 2**60], "3": [0, 1]}


def test_an_error_leaves_standard_output_empty(folder, capsys):
    pyapsp.write(Graph.from_arcs(2, [0, 1], [1, 0], [1, -2]), "cycle.gr")
    assert main(["solve", "cycle.gr", "-o", "x.npz", "--json"]) == 6
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_a_wrong_result_is_told_in_json(folder, capsys):
    result = pyapsp.Result.load("d.npz")
    row = result.distances[3]
    row[np.isinf(row).argmax() if np.isinf(row).any() else 4] = 1
    result.distances[4, 5] = np.inf
    result.save("d.npz")
    assert main(["verify", "g.gr", "d.npz", "--json"]) == 1
    found = strictly(capsys.readouterr().out)
    assert found["verified"] is False
    assert found["max_error"] is None  # infinitely wrong
    assert found["certificate"] != "holds"
