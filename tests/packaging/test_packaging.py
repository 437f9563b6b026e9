"""What is installed is complete, works outside the checkout, and is light to import."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted(path.name for path in (ROOT / "data" / "samples").iterdir())
KERNELS = sorted(
    path.relative_to(ROOT / "cl") for path in (ROOT / "cl").rglob("*") if path.is_file()
)


TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "Makefile",
    "README.md",
    "Snakefile",
    "docs",
    "cl",
    "data",
    "pyapsp",
    "pyproject.toml",
    "tests",
    "workflow",
}


def run(*command: object, cwd: Path) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


def test_one_pure_wheel_holds_code_kernels_and_data(built):
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
    published = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("pyapsp/papers/**/*.csv")}
    assert published
    assert {*published, "pyapsp/papers/exhibits.html.j2"} <= names
    assert {f"pyapsp/report/page.{kind}" for kind in ("css", "html.j2", "js")} <= names
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "pyapsp").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules


def test_the_source_distribution_holds_everything_tracked(built):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert tops - {"PKG-INFO", ".gitignore"} == TOP_LEVEL | {".ci"}


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
def test_the_wheel_solves_a_graph_in_a_clean_environment(built, tmp_path):
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
