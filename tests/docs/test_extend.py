"""Toys added by the steps of the page "Extending", and by nothing else: they work afterwards."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGE = (TOP / "docs" / "extend.md").read_text(encoding="utf-8")


def steps(title):
    """The section of the page."""
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


class Tree:
    """A copy of the package, in which a section of the page is followed."""

    def __init__(self, top, title, **words):
        self.top = top
        for folder in ("pyapsp", "cl", "data"):
            ignored = shutil.ignore_patterns("__pycache__", "records")
            shutil.copytree(TOP / folder, top / folder, ignore=ignored)
        text = steps(title)
        for word, value in words.items():
            text = text.replace(f"<{word}>", value)
        self.named = {each for each in re.findall(r"`([\w/.]+)`", text) if "/" in each}

    def write(self, file, text):
        """Write a file that the section names."""
        assert file in self.named, f"the page does not name {file}"
        (self.top / file).parent.mkdir(exist_ok=True)
        (self.top / file).write_text(text, encoding="utf-8")

    def write_in(self, folder, name, text):
        """Write a file in a folder that the section names."""
        assert f"{folder}/" in self.named, f"the page does not name {folder}/"
        (self.top / folder).mkdir(parents=True, exist_ok=True)
        (self.top / folder / name).write_text(text, encoding="utf-8")

    def change(self, file, before, after):
        """Change a file that the section names."""
        text = (self.top / file).read_text(encoding="utf-8")
        assert text.count(before) == 1
        self.write(file, text.replace(before, after))

    def run(self, code):
        """Run a program with this package."""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.top, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def test_a_method(tmp_path):
    tree = Tree(tmp_path, "Add a method", area="all_pairs/dense", name="fw_toy")
    kernel = (TOP / "cl/all_pairs/dense/fw_naive.cl").read_text(encoding="utf-8")
    tree.write("cl/all_pairs/dense/fw_toy.cl", kernel.replace("fw_naive", "fw_toy"))
    module = (TOP / "pyapsp/all_pairs/dense/fw_naive.py").read_text(encoding="utf-8")
    for old, new in (("fw_naive", "fw_toy"), ("fw-naive", "fw-toy"), ("FwNaive", "FwToy")):
        module = module.replace(old, new)
    tree.write("pyapsp/all_pairs/dense/fw_toy.py", module)
    line = "from pyapsp.all_pairs.dense.fw_twolevel import FwTwolevel\n"
    new = "from pyapsp.all_pairs.dense.fw_toy import FwToy\n"
    tree.change("pyapsp/all_pairs/dense/__init__.py", line, new + line)
    assert "fw-toy" in tree.run(
        "import numpy as np, pyapsp\n"
        "from pyapsp.graph import generators\n"
        "from scipy.sparse.csgraph import floyd_warshall\n"
        "graph = generators.random_graph(50, 200, seed=1)\n"
        "result = pyapsp.solve(graph, 'fw-toy')\n"
        "np.testing.assert_allclose(result.distances, floyd_warshall(graph.to_scipy()))\n"
        "print(*(method.id for method in pyapsp.methods('all-pairs')))\n"
    )


def test_a_problem(tmp_path):
    tree = Tree(tmp_path, "Add a problem", problem="toy")
    toy = (TOP / "tests/registry/toy.py").read_text(encoding="utf-8")
    tree.write("pyapsp/toy/__init__.py", toy)
    line = '    "truss": "pyapsp.trusses.problems",\n'
    tree.change("pyapsp/registry/index.py", line, line + '    "toy": "pyapsp.toy",\n')
    assert {"tests/architecture/layers.py"} <= tree.named
    shown = tree.run(
        "from pyapsp.cli import main\n"
        "from pyapsp.graph import generators\n"
        "import pyapsp\n"
        "pyapsp.write(generators.random_graph(30, 90, seed=1), 'graph.gr')\n"
        "assert main(['methods']) == 0\n"
        "assert main(['check', 'toy', 'graph.gr']) == 0\n"
    )
    assert "toy-degrees" in shown


def test_a_problem_with_a_kernel(tmp_path, device, monkeypatch):
    """The example runs its own tests, which are those of the fourth step."""
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    tree = Tree(tmp_path, "Add a problem", problem="forest")
    example = TOP / "docs/examples/forest"
    places = {"__init__": "pyapsp", "boruvka": "pyapsp", "test_boruvka": "tests"}
    for name, top in places.items():
        tree.write_in(f"{top}/forest", f"{name}.py", (example / f"{name}.py").read_text("utf-8"))
    tree.write_in("cl/forest", "boruvka.cl", (example / "boruvka.cl").read_text("utf-8"))
    line = '    "truss": "pyapsp.trusses.problems",\n'
    tree.change(
        "pyapsp/registry/index.py", line, f'{line}    "spanning-forest": "pyapsp.forest",\n'
    )
    tree.run(
        "import pytest\n"
        "from pyapsp.cli import main\n"
        "from pyapsp.graph import generators\n"
        "import pyapsp\n"
        "pyapsp.write(generators.random_graph(300, 900, seed=1), 'graph.gr')\n"
        "assert main(['check', 'spanning-forest', 'graph.gr']) == 0\n"
        "assert pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/forest']) == 0\n"
    )


def test_a_file_format(tmp_path):
    tree = Tree(tmp_path, "Add a file format", name="pairs")
    example = (TOP / "docs/examples/pairs.py").read_text(encoding="utf-8")
    tree.write("pyapsp/graph/io/pairs.py", example)
    entrance = "pyapsp/graph/io/__init__.py"
    modules = "import dimacs, edge_list, matrix_market, metis, npz"
    tree.change(entrance, modules, f"{modules}, pairs")
    tree.change(entrance, '    ".graph": metis,\n', '    ".graph": metis,\n    ".pairs": pairs,\n')
    tree.run(
        "import numpy as np, pyapsp\n"
        "from pyapsp.errors import FormatError\n"
        "graph = pyapsp.Graph.from_arcs(4, [0, 1, 3], [1, 2, 0], [5, 7, 2])\n"
        "pyapsp.write(graph, 'good.pairs')\n"
        "assert pyapsp.read('good.pairs') == graph\n"
        "open('bad.pairs', 'w').write('0 1 2\\n0 1\\n')\n"
        "try:\n"
        "    pyapsp.read('bad.pairs')\n"
        "except FormatError as error:\n"
        "    assert 'bad.pairs' in str(error) and '2' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )


def test_a_quirk_of_a_device(tmp_path):
    tree = Tree(tmp_path, "Add a device")
    (line,) = re.findall(r'`(\("toy", "gpu"\): .*)`', PAGE)
    tree.change("pyapsp/device/quirks.py", "_KNOWN = {\n", "_KNOWN = {\n    " + line + "\n")
    asked = (
        "from pyapsp.device.quirks import traits_of\n"
        "print(traits_of('The Toy Platform', 'gpu', '', frozenset()).max_vector_bytes)\n"
    )
    assert tree.run(asked) == "4\n"
    assert Tree(tmp_path / "without", "Add a device").run(asked) == "1\n"


def test_a_file_that_the_page_does_not_name_fails(tmp_path):
    tree = Tree(tmp_path, "Add a file format", name="pairs")
    with pytest.raises(AssertionError, match=r"does not name pyapsp/graph/model\.py"):
        tree.write("pyapsp/graph/model.py", "")
