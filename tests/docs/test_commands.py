"""Every command and every block of Python in the README, the design and the site runs.

A page is read section by section. The commands of a section run one after the other in a folder of
their own. Three tables change that:

`REDUCED`   commands that would take long, or need a file from the network, run in a smaller form
`CHECKED`   commands that cannot run here; each has a check and the reason
`PROGRAMS`  what runs the other commands

A command that no table covers fails.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from pyapsp import cli
from pyapsp.graph import generators, write

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

import tomllib

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "pyapsp" / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
YOUR_CODE = """\
import networkx as nx
print(nx.diameter(nx.connected_watts_strogatz_graph(300, 6, 0.1, seed=1)))
"""

COMMANDS = next(each for each in cli.parser()._actions if each.dest == "command").choices

# what a page says -> what runs here
REDUCED = {
    r"\.\./data/records": str(ROOT / "data" / "records"),
    r"--n \d+(?: \d+)*": "--n 48",
    r"-n \d+ -m \d+": "-n 64 -m 512",
    r"scale -n 2000": "scale -n 200",
    r"--method all": "--method fw-naive near-far",
    r"--dtype (\w+)(?: \w+)+": r"--dtype \1",
    r"^pyapsp bench(?! .*--repeat)": "pyapsp bench --repeat 1",
    r"^pyapsp tune(?! --quick)": "pyapsp tune --max-configurations 2",
    r"--device SPEC": "--device cpu",
    r"--device 0:0( 0:\d)+": "--device 0:0 0:0",  # one device, twice
}


# -- commands that cannot run here ---------------------------------------------------------------


def check_pip(*words: str) -> None:
    """What ``pip install`` names is an extra of ours, a file of ours, or installed here."""
    assert words[1] == "install"
    for before, word in itertools.pairwise(words[1:]):
        if before == "-r":
            assert (ROOT / word).is_file()
            continue
        if word.startswith("-"):
            continue
        ours = re.fullmatch(r"\.(?:\[([\w,]+)\])?", word)
        if ours:
            known = PYPROJECT["project"]["optional-dependencies"].keys()
            assert set((ours[1] or "cpu").split(",")) <= known
        else:
            assert metadata.version(word)


def check_make(*words: str) -> None:
    """``make`` knows the target."""
    run_program("make", "--dry-run", "--directory", str(ROOT), *words[1:])


def check_pytest(*words: str) -> None:
    """The marker exists."""
    marks = [
        mark.partition(":")[0] for mark in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]
    ]
    options = words[words.index("pytest") + 1 :]
    assert options == ("--pyargs", "networkx") or (options[0] == "-m" and options[1] in marks)


def check_pyapsp(*words: str) -> None:
    """The parser of the command line takes it."""
    cli.parser().parse_args(words[1:])


def check_snakemake(*words: str) -> None:
    """Snakemake's parser takes it, and the files and keys that it names exist."""
    from snakemake.cli import parse_args

    with contextlib.chdir(ROOT):  # a profile is looked for here
        _, parsed = parse_args(list(words[1:]))
    assert all((ROOT / file).exists() for file in parsed.configfile or ())
    assert set(parsed.targets) <= rules()
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    assert {each.partition("=")[0] for each in parsed.config or ()} <= schema["properties"].keys()


@cache
def rules() -> set[str]:
    """Return the rules of the workflow."""
    with contextlib.chdir(ROOT):
        return set(run_program(sys.executable, "-m", "snakemake", "--list-rules").split())


def check_r(*words: str) -> None:
    """The folder is an R package."""
    assert words[1:3] == ("CMD", "INSTALL")
    assert (ROOT / words[3] / "DESCRIPTION").is_file()


def check_module(*words: str) -> None:
    """The module exists."""
    assert importlib.util.find_spec(words[2])


def check_files(*words: str) -> None:
    """The program is there."""
    assert (ROOT / words[1]).is_file()


def check_nothing(*words: str) -> None:
    """Nothing is known here of this program."""


class Checked(NamedTuple):
    """A command that cannot run here."""

    pattern: str
    check: Callable[..., None]
    reason: str


CHECKED = (
    Checked(r"pip install ", check_pip, "needs a network"),
    Checked(r"make ", check_make, "installs packages, takes minutes"),
    Checked(r"snakemake ", check_snakemake, "takes minutes; tests/workflow runs it"),
    Checked(r"python -m pytest ", check_pytest, "takes minutes"),
    Checked(r"pyapsp profile", check_pyapsp, "takes minutes; tests/cli runs it"),
    Checked(r"pyapsp selftest", check_pyapsp, "takes a minute; tests/cli runs it"),
    Checked(r"pyapsp tune .*--quick", check_pyapsp, "takes a minute; tests/cli runs it"),
    Checked(r"pyapsp doctor", check_pyapsp, "takes seconds for each driver; tests/cli runs it"),
    Checked(r"python -m pyapsp.simulation.peers", check_module, "needs a peer; tests/simulation"),
    Checked(r"python docs/(recipes|packages).py", check_nothing, "takes minutes; run in small"),
    Checked(r"python docs/kernels.py", check_files, "needs compilers for all GPUs, takes minutes"),
    Checked(r"python docs/records.py ", check_files, "needs records; tests/docs runs it"),
    Checked(r"(srun|sinfo|sacctmgr|scancel|scontrol) ?", check_nothing, "needs a Slurm cluster"),
    Checked(r"(podman|apptainer) ", check_nothing, "makes an image from a registry"),
    Checked(r"R CMD ", check_r, "needs R; tests/r runs it"),
    Checked(r"find ~/", check_nothing, "looks into the home of the user"),
    Checked(r"python3 -m venv ", check_module, "makes an environment in the home of the user"),
    Checked(r"\. \S+/bin/activate$", check_nothing, "enters an environment"),
    Checked(r"export \w+=\S+$", check_nothing, "sets a variable of the shell"),
)


# -- commands that run ---------------------------------------------------------------------------


def run_pyapsp(*words: str) -> None:
    """Run the command line in this process."""
    if words[1:] == ("--help",):
        with pytest.raises(SystemExit, match="0"):
            cli.main(list(words[1:]))
    else:
        assert cli.main(list(words[1:])) == 0


def run_program(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_ranks(*words: str) -> None:
    """Run a command on ranks."""
    run_program("mpiexec", *words[1:])


PROGRAMS: dict[str, Callable[..., object]] = {
    "mpiexec": run_ranks,
    "pyapsp": run_pyapsp,
    "python": lambda *words: run_program(sys.executable, *words[1:]),
}


def checked(line: str) -> Checked | None:
    """Return the entry of `CHECKED` for a command, after the variables that it sets."""
    line = re.sub(r"^([A-Z_]+=\S* )+", "", line)
    return next((entry for entry in CHECKED if re.match(entry.pattern, line)), None)


def run_command(line: str) -> None:
    """Run a command, or check it."""
    words = shlex.split(line)
    with pytest.MonkeyPatch.context() as variables:
        while re.match(r"[A-Z_]+=", words[0]):
            variables.setenv(*words.pop(0).split("=", 1))
        entry = checked(line)
        (entry.check if entry else PROGRAMS[words[0]])(*words)


def run_python(block: str, names: dict, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a block of Python; what a comment says of the output of its line must come out."""
    capsys.readouterr()
    exec(compile(block, "page", "exec"), names)
    printed = capsys.readouterr().out
    for said in re.findall(r"^print\(.*\)  # (\[.*\])$", block, re.MULTILINE):
        assert f"{ast.literal_eval(said)}\n" in printed


# -- pages ---------------------------------------------------------------------------------------


def program(line: str) -> str:
    """Return the first word of a command, after the variables that it sets."""
    return next((word for word in line.split() if not re.match("[A-Z_]+=", word)), "")


def command(line: str) -> str:
    """Return the command on a line of a block, without its comment."""
    line = re.sub(r"\s+# .*", "", line.strip())
    assert program(line) in PROGRAMS or checked(line), f"nothing says how to run: {line}"
    return line


def is_inline(text: str) -> bool:
    """Whether text in backticks is a command with arguments; one that is only named must exist."""
    words = text.split()
    if words[0] == "pyapsp" and len(words) == 2:
        assert words[1] in ("--help", *COMMANDS), f"no such command: {text}"
        return False
    return len(words) > 1 and (program(text) in PROGRAMS or checked(text) is not None)


def check_yaml(block: str) -> None:
    """A block of YAML has options of Snakemake, or is a config of the workflow."""
    from snakemake.cli import get_argument_parser
    from snakemake.utils import validate

    content = yaml.safe_load(block)
    known = get_argument_parser()._option_string_actions
    if not {f"--{key}" for key in content} <= known.keys():
        validate(content, ROOT / "workflow/schemas/config.schema.yaml")


def check_script(block: str) -> None:
    """A job script has options of Slurm, and starts commands that the parser takes."""
    first, *lines = block.splitlines()
    assert first.startswith("#SBATCH --nodes=")
    for line in lines:
        start, words = line.split(" pyapsp ")
        assert start.startswith("srun ")
        check_pyapsp("pyapsp", *shlex.split(words))


def commands(text: str) -> list[str]:
    """Return what a piece of Markdown says to run: commands of one line, and blocks of Python."""
    found: list[str] = []
    fence, block = None, ""
    for line in text.splitlines():
        if fence is None:
            fenced = re.fullmatch(r"```(\S*)( .*)?", line)
            if fenced:
                fence, block = fenced[1], ""
                known = fence in ("python", "yaml", "sh") or fence.startswith("{")
                assert known, f"no rule for {line}"
            elif line.startswith("    "):
                found.append(command(line))
            else:
                found += [each for each in re.findall(r"`([^`]+)`", line) if is_inline(each)]
        elif line == "```":
            found += [block] if fence == "python" else []
            if fence == "yaml":
                check_yaml(block)
            if fence == "sh":
                check_script(block)
            fence = None
        else:
            block += line + "\n"
    return found


def sections() -> dict[str, list[str]]:
    """Return what each section of each page says to run, by page and heading."""
    found = {}
    for path in PAGES:
        text = re.sub(r"\A---\n.*?^---\n", "", path.read_text("utf-8"), flags=re.M | re.S)
        titles = re.split(r"^#+ (.*)\n", text, flags=re.MULTILINE)
        for title, part in zip(["", *titles[1::2]], titles[0::2], strict=True):
            lines = commands(part)
            if lines:
                found[f"{path.relative_to(ROOT)}: {title}"] = lines
    return found


SECTIONS = sections()


def reduced(line: str) -> str:
    for pattern, replacement in REDUCED.items():
        line = re.sub(pattern, replacement, line, flags=re.MULTILINE)
    return line


# Sections whose programs take more than five seconds.
LONG = {
    "docs/cluster.md: On a Slurm cluster",
    "docs/extend.md: Add a device",
    "docs/on-a-cluster.md: How long it will take",
    "docs/on-a-cluster.md: One problem on a cluster",
    "docs/papers.md: What papers measured",
    "docs/performance.md: Adding the records of a device",
}


@pytest.mark.parametrize(
    "title",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in SECTIONS],
)
def test_section(title, tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "data" / "samples" / "random-60.gr", tmp_path / "rome99.gr")
    (tmp_path / "target.gfu").write_text("#t\n3\nA\nB\nA\n2\n0 1\n1 2\n")
    (tmp_path / "query.gfu").write_text("#q\n2\nA\nB\n1\n0 1\n")
    (tmp_path / "your_code.py").write_text(YOUR_CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYAPSP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path / "tuning"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow"))  # where the module papers is
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    write(generators.random_graph(64, 256), "GRAPH.npz")
    names: dict = {"__name__": "page"}
    for line in dict.fromkeys(map(reduced, SECTIONS[title])):
        if "\n" in line:
            run_python(line, names, capsys)
        else:
            run_command(line)


def test_pages_have_commands():
    assert SECTIONS.keys() >= LONG
    pages = {title.partition(":")[0] for title in SECTIONS}
    assert {"README.md", "pyapsp/README.md", "docs/performance.md", "docs/cluster.md"} <= pages
    assert sum(map(len, SECTIONS.values())) > 80


@pytest.mark.parametrize(
    "text",
    ["    rm -r results", "    curl https://example.org", "```sh\ndot a\n```", "```c\na\n```"],
)
def test_a_program_that_no_rule_covers_fails(text):
    with pytest.raises(AssertionError):
        commands(f"text\n\n{text}\n")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("pip install '.[cpus]'", AssertionError),
        ("pip install no-such-package", metadata.PackageNotFoundError),
        ("make demos", AssertionError),
        ("snakemake --core 2 --config metods=all", AssertionError),
        ("snakemake --cores 2 bsf", AssertionError),
        ("python -m pytest -m browsers", AssertionError),
        ("pyapsp selftest --deviec cpu", SystemExit),
    ],
)
def test_a_wrong_command_fails(line, error):
    with pytest.raises(error):
        run_command(line)


def test_every_entry_is_used():
    lines = [line for found in SECTIONS.values() for line in found]
    for pattern in REDUCED:
        assert any(re.search(pattern, line, re.MULTILINE) for line in lines), pattern
    used = {entry for line in lines if "\n" not in line and (entry := checked(line))}
    assert used == set(CHECKED)
    assert all(entry.reason for entry in CHECKED)


@pytest.mark.parametrize("page", ["README.md", "pyapsp/README.md", "CONTRIBUTING.md"])
def test_lines_are_short_and_links_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("!", "| ["))]
    assert max(map(len, lines)) <= 120  # an image, and a row of a table with links, has one line
    links = re.findall(r"\]\(([^)#]+)", text) + re.findall(r"(?m)^\[[^\]]+\]: ([^#\s]+)", text)
    assert links
    assert all(((ROOT / page).parent / link).exists() for link in links)
