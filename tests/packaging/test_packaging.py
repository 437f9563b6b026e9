"""What is installed is complete, works outside the checkout, and is light to import."""

from __future__ import annotations

import csv
import http.server
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import tomllib

import pyapsp
from pyapsp.cli import main

from ..alone import run

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.name for path in (ROOT / "data" / "samples").iterdir())
KERNELS = sorted(
    path.relative_to(ROOT / "cl") for path in (ROOT / "cl").rglob("*") if path.is_file()
)


TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "Containerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "Snakefile",
    "config",
    "docs",
    "cl",
    "data",
    "pyapsp",
    "pyproject.toml",
    "r",
    "tests",
    "workflow",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture
def initialised(tmp_path) -> set[str]:
    """The files that ``pyapsp workflow init`` writes."""
    assert main(["workflow", "init", str(tmp_path / "study")]) == 0
    paths = (path for path in (tmp_path / "study").rglob("*") if path.is_file())
    return {path.relative_to(tmp_path / "study").as_posix() for path in paths}


def test_one_pure_wheel_holds_code_kernels_data_and_workflow(built, initialised):
    (wheel,) = built.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tops = {name.split("/")[0] for name in names}
    assert tops == {"pyapsp", f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"}
    assert KERNELS
    assert {f"pyapsp/_cl/{path.as_posix()}" for path in KERNELS} <= names
    assert any(path.parts[0] == "tuning" and path.suffix == ".json" for path in KERNELS)
    assert SAMPLES
    assert {f"pyapsp/_data/samples/{name}" for name in SAMPLES} <= names
    assert {"pyapsp/_data/datasets.csv", "pyapsp/py.typed"} <= names
    workflow = {name for name in names if name.startswith("pyapsp/_workflow/")}
    assert workflow == {f"pyapsp/_workflow/{name}" for name in initialised}
    assert not any("papers" in name for name in names)  # those belong to a checkout
    assert {f"pyapsp/bench/report/page.{kind}" for kind in ("css", "html.j2", "js")} <= names
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pyapsp").rglob("*.py")}
    assert {name for name in names - workflow if name.endswith(".py")} == modules


def test_the_source_distribution_holds_everything_tracked(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert tops - {"PKG-INFO", ".gitignore"} == TOP_LEVEL | {
        *(".ci", ".github", ".test", ".snakemake-workflow-catalog.yml")
    }


def top_level() -> set[str]:
    """The names at the top of the repository."""
    if not (ROOT / ".git").exists():  # an unpacked archive
        made = {"results", "build", "dist"}
        return {path.name for path in ROOT.iterdir()} - made
    listed = run("git", "ls-files", cwd=ROOT)
    return {line.split("/")[0] for line in listed.splitlines()}


def test_the_top_level_is_the_agreed_one():
    assert {name for name in top_level() if not name.startswith(".")} == TOP_LEVEL


def test_importing_loads_only_the_standard_library(tmp_path):
    code = (
        "import sys; before = set(sys.modules); import pyapsp; "
        "print(*(set(sys.modules) - before), sep='\\n')"
    )
    loaded = {name.split(".")[0] for name in run(sys.executable, "-c", code, cwd=tmp_path).split()}
    assert loaded - sys.stdlib_module_names == {"pyapsp"}


# What other systems, or a reduced installation, do not have.
ELSEWHERE = """
import os, signal, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in "fcntl grp pwd resource termios filelock pooch rich shtab".split():
            raise ImportError(f"no {name} here", name=name)

sys.meta_path.insert(0, Missing())
for module, names in (
    (os, "O_DIRECTORY fork posix_fallocate pread preadv pwrite pwritev sched_getaffinity statvfs"),
    (signal, "SIGALRM SIGHUP SIGKILL pthread_sigmask setitimer"),
):
    for name in names.split():
        delattr(module, name)

import numpy as np
import pyapsp
from pyapsp.cli import main

for name in pyapsp.__all__:
    getattr(pyapsp, name)
weights = np.array([[0, 7, 1], [0, 0, 0], [0, 2, 0]])
np.savetxt("g.csv", [[0, 1, 7], [0, 2, 1], [2, 1, 2]], "%d", ",")
assert pyapsp.solve(weights).distances[0].tolist() == [0, 3, 1]
for options in ([], ["--method", "fw-outofcore"], ["--method", "near-far"]):
    line = ["solve", "g.csv", "-o", "d.npy", "--predecessors", *options]
    assert main(line) == 0, line
    assert np.load("d.npy")[0].tolist() == [0, 3, 1]
    assert np.load("d.npy.predecessors.npy")[0].tolist() == [-9999, 2, 0]
assert main([*line[:4], "--method", "fw-outofcore", "--checkpoint", "c"]) == 4
"""


def test_a_solve_without_what_other_systems_lack(tmp_path, device):
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=tmp_path,
        env={**os.environ, "PYAPSP_DEVICE": device.id, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "pyapsp: this system has no os.pwritev, which checkpoints need\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "d.npy",
        "d.npy.predecessors.npy",
        "g.csv",
    ]


# What only the extras install.
EXTRAS = (
    *("clang", "igraph", "jinja2", "libsbml", "matplotlib", "mpi4py", "myokit", "networkit"),
    *("networkx", "numba", "pandas", "pcpp", "polars", "pycparser", "pygments", "pynvml"),
    *("roadrunner", "rustworkx", "snakemake", "tabulate", "tropical_gemm"),
)

# A public module must be there, and must be shown, without the packages that some of it needs.
LOOKED_AT = """
import inspect, pydoc, sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            return None
        return super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
import pyapsp
from pyapsp import *

for name in pyapsp.__all__:
    assert hasattr(pyapsp, name), name
    value = getattr(pyapsp, name)
    if name != "__version__":
        pydoc.render_doc(value)
    if inspect.ismodule(value):
        for inner in dir(value):
            assert hasattr(value, inner), (name, inner)
        exec(f"from {value.__name__} import *", {})
pydoc.render_doc(pyapsp)

from pyapsp.bulk import Program, load
assert not isinstance(0, Program)
try:
    load("sort.c")
except pyapsp.errors.PyApspError as error:
    assert "install the extra 'bulk'" in str(error)
else:
    raise AssertionError("it has no parser")
"""


def test_a_missing_extra_shows_when_it_is_used(tmp_path):
    run(sys.executable, "-c", f"EXTRAS = {EXTRAS}" + LOOKED_AT, cwd=tmp_path)


def project() -> dict:
    """What pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_extra_for_users_has_no_tools_of_developers():
    extras = project()["optional-dependencies"]

    def packages(extra: str) -> set[str]:
        found = set()
        for each in extras[extra]:
            ours = re.match(r"pyapsp\[(.*)\]", each)
            names = ours[1].split(",") if ours else []
            found |= set().union(*map(packages, names)) if ours else {re.split(r"\W", each)[0]}
        return found

    users = ("bulk", "cpu", "energy", "intel", "matching", "mining", "networkx", "report")
    users += ("profile", "simulation", "sparse", "workflow")
    assert packages("all") == set().union(*map(packages, users))
    assert not packages("all") & {"pytest", "mypy", "ruff", "sphinx", "hypothesis", "build"}


def test_the_page_on_installing_names_every_extra_and_package():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    page = page.partition("## Extras")[2].partition("\n## ")[0]
    table = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(table))) == set(project()["optional-dependencies"])
    plain = re.search(r"alone installs (.*?)\.", page, re.DOTALL)[1]
    assert {name.lower() for name in re.findall(r"\w+", plain)} - {"and"} == {
        re.split(r"\W", each)[0] for each in project()["dependencies"]
    }


# What a user's file is told of its calls: expression -> type, ndarray[T] for any shape.
REVEALED = {
    "pyapsp.solve(matrix)": "pyapsp.paths.result.Result",
    "pyapsp.solve(matrix).path(0, 1)": "list[int]",
    "pyapsp.solve_many(batch)": "ndarray[Any]",
    "pyapsp.solve_many(batch, predecessors=True)": "tuple[ndarray[Any], ndarray[int32]]",
    "pyapsp.solve_many([matrix], dtype='int32')": "list[pyapsp.paths.result.Result]",
    "pyapsp.solve_each(batch)": "Iterator[tuple[int, pyapsp.paths.result.Result]]",
    "pyapsp.row_blocks(matrix)": "pyapsp.all_pairs.rows.RowBlocks",
    "pyapsp.bfs(matrix, 0).levels": "ndarray[Any]",
    "pyapsp.diameter(matrix)": "int | float",
    "pyapsp.read('g.gr')": "pyapsp.graph.model.Graph",
    "csgraph.dijkstra(matrix)": "ndarray[float64]",
    "csgraph.dijkstra(matrix, return_predecessors=True)": "tuple[ndarray[float64], ndarray[int32]]",
    "csgraph.dijkstra(matrix, min_only=True)": "ndarray[float64]",
    "csgraph.dijkstra(matrix, return_predecessors=True, min_only=True)": (
        "tuple[ndarray[float64], ndarray[int32], ndarray[int32]]"
    ),
    **{
        f"csgraph.{name}(matrix{more}": answer
        for name in ("shortest_path", "bellman_ford", "johnson", "floyd_warshall")
        for more, answer in (
            (")", "ndarray[float64]"),
            (", return_predecessors=True)", "tuple[ndarray[float64], ndarray[int32]]"),
        )
    },
    "csgraph.floyd_warshall(matrix, True, flag)": (
        "ndarray[float64] | tuple[ndarray[float64], ndarray[int32]]"
    ),
}


@pytest.mark.slow
def test_types_that_a_user_sees(tmp_path):
    file = tmp_path / "user.py"
    lines = ["import numpy as np, pyapsp", "from pyapsp import csgraph", "flag = bool(input())"]
    lines += ["matrix, batch = np.zeros((3, 3)), np.zeros((2, 3, 3))"]
    file.write_text("\n".join([*lines, *(f"reveal_type({call})" for call in REVEALED)]) + "\n")
    # the settings and the cache of `make lint`
    text = run(sys.executable, "-m", "mypy", file, cwd=ROOT)
    found = [line[1:-1] for line in re.findall(r'Revealed type is (".*")', text)]
    for pattern, short in (
        (r"numpy\.signedinteger\[numpy\._typing\._nbit_base\._32Bit\]|numpy\.int32", "int32"),
        (r"numpy\.floating\[numpy\._typing\._nbit_base\._64Bit\]|numpy\.float64", "float64"),
        (r"numpy\.ndarray\[tuple\[Any, \.\.\.\], numpy\.dtype\[(\w+)\]\]", r"ndarray[\1]"),
        (r"typing\.", ""),
    ):
        found = [re.sub(pattern, short, each) for each in found]
    assert dict(zip(REVEALED, found, strict=True)) == REVEALED


SOLVE_AND_COMPARE = """
import numpy as np, pyapsp
from scipy.sparse.csgraph import floyd_warshall
graph = pyapsp.read("graph.npz")
found = np.load("out.npz")["distances"]
expected = floyd_warshall(graph.to_scipy())
assert found.dtype == np.float64 and graph.n > 1
np.testing.assert_allclose(found, expected)
assert "site-packages" in pyapsp.__file__, pyapsp.__file__
"""


@pytest.mark.slow
def test_the_wheel_solves_a_graph_in_a_clean_environment(built, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (wheel,) = built.glob("*.whl")
    here = tmp_path / "no checkout"
    here.mkdir()
    run(sys.executable, "-m", "venv", here / "venv", cwd=here)
    binaries = here / "venv" / "bin"
    run(binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cpu]", cwd=here)
    listing = run(binaries / "pyapsp", "fetch", "--list", cwd=here)
    assert "rome99" in listing
    run(binaries / "pyapsp", "fetch", "random-60", "-o", "random-60.gr", cwd=here)
    run(binaries / "pyapsp", "convert", "random-60.gr", "graph.npz", cwd=here)
    run(binaries / "pyapsp", "solve", "graph.npz", "-o", "out.npz", cwd=here)
    run(binaries / "python", "-c", SOLVE_AND_COMPARE, cwd=here)


@pytest.fixture
def address(tmp_path) -> Iterator[str]:
    """The address of a server on this machine that has the graph far.csv."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "far.csv").write_text("a,b,3\nb,c,4\nc,a,5\n")
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


OWN_GRAPHS = """
problems: [all-pairs, scc]
methods: [fw-blocked, scc-tarjan]
graphs:
  - {{name: mine, file: graph.mtx, directed: false, weighted: true}}
  - {{name: far, url: "{address}/far.csv", directed: true, weighted: true}}
  - {{folder: more, directed: true, weighted: false}}
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.version_info < (3, 11), reason="Snakemake 9 needs Python 3.11")
def test_the_wheel_tabulates_own_graphs_in_a_clean_environment(
    built, tmp_path, address, monkeypatch
):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (wheel,) = built.glob("*.whl")
    study, binaries = tmp_path / "no checkout", tmp_path / "venv" / "bin"
    (study / "more").mkdir(parents=True)
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=study)
    run(binaries / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cpu,workflow]", cwd=study)
    run(binaries / "pyapsp", "workflow", "init", ".", cwd=study)
    for kind, file in (("grid", "graph.mtx"), ("ring", "more/ring.gr"), ("path", "more/path.csv")):
        run(binaries / "pyapsp", "generate", kind, "-n", "64", "-o", file, cwd=study)
    (study / "config" / "config.yaml").write_text(OWN_GRAPHS.format(address=address))
    run(binaries / "snakemake", "--cores", "2", cwd=study)
    for problem in ("all-pairs", "scc"):
        with open(study / "results" / "report" / "tables" / f"{problem}.csv") as file:
            rows = {row["input"]: row["verified"] for row in csv.DictReader(file)}
        assert rows == dict.fromkeys(["mine", "far", "ring", "path"], "True")


def test_the_version_is_written_once():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {pyapsp.__version__}\n" in citation
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert f"(to be {pyapsp.__version__})" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
