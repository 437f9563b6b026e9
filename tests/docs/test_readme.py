"""Every command and every line of Python in the README runs.

The sections run one by one, each in a folder of its own, in the order of their lines. What would
take minutes, or needs a network, a GPU or a cluster, runs in the reduced form of `REDUCED`; what
cannot run at all is checked by `CHECKED`. A command that nothing here knows fails.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from pyapsp import cli
from pyapsp.graph import generators, write

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

import tomllib

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")

# what stands in the README -> what runs here
REDUCED = {
    r"rome99": "random-60",  # bundled, where rome99 must be fetched
    r"(npz \d+) 100$": r"\1 60",  # a vertex of it
    r"wiki-Vote": "GRAPH",
    r"GRAPH(?!\.)": "GRAPH.npz",
    r"--n \d+": "--n 48",
    r"-n \d+ -m \d+": "-n 64 -m 512",
    r"--method all": "--method fw-naive near-far --repeat 1",
    r"^pyapsp bench": "pyapsp bench --repeat 1",
    r"^pyapsp tune": "pyapsp tune --max-configurations 2",
    r"^snakemake --report \S+$": "snakemake --cores 2",  # tests/workflow makes such a report
    r"^snakemake": "snakemake --dry-run",
    r"^make": "make --dry-run",
}


def check_pip(*words: str) -> None:
    """Look at what ``pip install`` names: extras of ours, or what is installed here."""
    assert words[0] == "install"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words[1:]:
        ours = re.fullmatch(r"\.(?:\[([\w,]+)\])?", word)
        if ours:
            assert set((ours[1] or "cpu").split(",")) <= extras.keys()
        else:
            assert metadata.version(word)


def run_pyapsp(*words: str) -> None:
    """Run the command line in this process."""
    if words == ("--help",):
        with pytest.raises(SystemExit, match="0"):
            cli.main(list(words))
    else:
        assert cli.main(list(words)) == 0


def run_program(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# the program of a command -> what runs it
PROGRAMS = {
    "make": lambda *words: run_program("make", *words),
    "pip": check_pip,
    "pyapsp": run_pyapsp,
    "snakemake": lambda *words: run_program(sys.executable, "-m", "snakemake", *words),
    "python": lambda *words: run_program(sys.executable, *words),
}

YOUR_CODE = """\
import networkx as nx
print(nx.diameter(nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=1)))
"""


def commands(text: str) -> list[str]:
    """Return what a piece of Markdown says to run: blocks of Python, and commands of one line."""
    found: list[str] = []
    fence, block = None, ""
    for line in text.splitlines():
        if fence is None:
            fenced = re.fullmatch(r"```(\w*)", line)
            if fenced:
                fence, block = fenced[1], ""
            elif line.startswith("    "):
                found += command(line)
            else:
                inline = re.findall(r"`([^`]+)`", line)
                found += [each for each in inline if program(each) in PROGRAMS and " " in each]
        elif line == "```":
            found += [block] if fence == "python" else []
            fence = None
        elif fence == "python":
            block += line + "\n"
        else:
            found += command(line)
    return found


def command(line: str) -> list[str]:
    """Return the command on a line of a block, which is nothing for the table of folders."""
    if re.match(r"    (\w+/|  ) ", line):
        return []
    line = re.sub(r"\s+# .*", "", line.strip())
    assert program(line) in PROGRAMS, f"nothing says how to run: {line}"
    return [line]


def program(line: str) -> str:
    """Return the first word of a command, after the variables that it sets."""
    return next((word for word in line.split() if not re.match("[A-Z_]+=", word)), "")


def sections() -> dict[str, list[str]]:
    """Return what each section says to run, by its heading."""
    parts = re.split(r"^#+ (.*)\n", README, flags=re.MULTILINE)
    found = {"": commands(parts[0])}
    found |= {title: commands(text) for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    return {title: lines for title, lines in found.items() if lines}


def reduced(line: str) -> str:
    for pattern, replacement in REDUCED.items():
        line = re.sub(pattern, replacement, line, flags=re.MULTILINE)
    return line


def run_python(block: str, names: dict, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a block of Python; what a comment says of the output of its line must come out."""
    capsys.readouterr()
    exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    for said in re.findall(r"^print\(.*\)  # (\[.*\])$", block, re.MULTILINE):
        assert f"{ast.literal_eval(said)}\n" in printed


@pytest.mark.parametrize("title", sections())
def test_section(title, tmp_path, monkeypatch, capsys):
    for name in ("Snakefile", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("workflow", "data"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "your_code.py").write_text(YOUR_CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYAPSP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path / "tuning"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    write(generators.random_graph(64, 256), "GRAPH.npz")
    names: dict = {"__name__": "README"}
    lines = sections()[title]
    if not any(line.startswith("pyapsp fetch") for line in lines):  # an earlier section has it
        shutil.copy(ROOT / "data" / "samples" / "random-60.gr", tmp_path)
    for line in dict.fromkeys(map(reduced, lines)):
        if "\n" in line:
            run_python(line, names, capsys)
            continue
        words = shlex.split(line)
        with monkeypatch.context() as variables:
            while "=" in words[0]:
                variables.setenv(*words.pop(0).split("=", 1))
            PROGRAMS[words[0]](*words[1:])


def test_sections_have_what_they_show():
    everything = sections()
    assert {"", "Install", "Three doors", "How fast", "Larger than the device"} <= everything.keys()
    assert sum(map(len, everything.values())) > 25


@pytest.mark.parametrize(
    "line", ["    rm -r results", "    curl https://example.org", "```sh\ndot a\n```"]
)
def test_a_program_that_no_rule_covers_fails(line):
    with pytest.raises(AssertionError):
        commands(f"text\n\n{line}\n")


def test_every_reduction_is_used():
    lines = [line for found in sections().values() for line in found]
    for pattern in REDUCED:
        assert any(re.search(pattern, line, re.MULTILINE) for line in lines), pattern
