"""Imports point one way, and vendor names stay in one file."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from layers import LAYERS, PAGE, PUBLIC, ROOMS, page

TOP = Path(__file__).resolve().parents[2]
PACKAGE = TOP / "pyapsp"

LEVELS = {package: place for place, package in enumerate(p for _, each in LAYERS for p in each)}
VENDORS = re.compile(
    r"\b(nvidia|amd|intel|qualcomm|apple|pocl|mesa|rusticl|llvmpipe|rocm|cuda)\b", re.IGNORECASE
)


def part_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "pyapsp" if parts == ("__init__",) else parts[0]


def imports_of(path):
    """Yield (line, dotted name) of every import from this package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pyapsp":
                    yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "pyapsp":
                for alias in node.names:
                    yield node.lineno, f"pyapsp.{alias.name}"
            elif node.module and node.module.split(".")[0] == "pyapsp":
                yield node.lineno, node.module


MODULES = sorted(PACKAGE.rglob("*.py"))


def test_the_root_has_the_packages_and_nothing_else():
    loose = {
        "__init__.py",
        "__main__.py",
        "py.typed",
        "README.md",
        *(f"{name}.py" for name in PUBLIC),
    }
    there = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert there - {"_cl", "_data"} == loose | set(LEVELS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_down(path):
    part = part_of(path)
    if part in ("pyapsp", "__main__", *PUBLIC):
        return  # the root: its imports are for type checkers only: names are imported on first use
    for line, name in imports_of(path):
        parts = name.split(".")
        target = parts[1] if len(parts) > 1 else "pyapsp"
        if target == part:
            continue
        if target == "pyapsp":
            assert part in LAYERS[-1][1], f"{path}:{line}: only interfaces use the public names"
            continue
        assert LEVELS[target] < LEVELS[part], f"{path}:{line}: {part} imports {target}"


@pytest.mark.parametrize("package", ROOMS)
def test_imports_between_subpackages_point_one_way(package):
    rooms = ROOMS[package]
    assert {path.parent.name for path in (PACKAGE / package).glob("*/__init__.py")} == set(rooms)
    for room, allowed in rooms.items():
        for path in sorted((PACKAGE / package / room).rglob("*.py")):
            for line, name in imports_of(path):
                parts = name.split(".")
                if parts[1] != package:
                    continue
                target = parts[2] if len(parts) > 2 else ""
                assert target in (room, *allowed), f"{path}:{line}: {room} imports {name}"


def test_no_import_circles_between_modules():
    """Also none through imports inside functions or for type checkers; the root is exempt."""
    names = {}
    for path in MODULES:
        parts = path.relative_to(TOP).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    edges = {}
    for name, path in names.items():
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    longer = f"{node.module}.{alias.name}"
                    targets.add(longer if longer in names else node.module)
        edges[name] = {each for each in targets if each in names and each not in (name, "pyapsp")}
    edges["pyapsp"] = set()

    done, path = set(), []

    def visit(name):
        assert name not in path, f"import circle: {' -> '.join([*path[path.index(name) :], name])}"
        if name in done:
            return
        path.append(name)
        for other in sorted(edges[name]):
            visit(other)
        path.pop()
        done.add(name)

    for name in sorted(names):
        visit(name)
    assert done == set(names)


def test_the_design_page_has_these_layers():
    assert page() == PAGE.read_text(encoding="utf-8"), "run python tests/architecture/layers.py"


def test_kernels_and_tests_mirror_the_packages():
    others = {"common", "tuning"}  # headers of several packages; the shipped databases
    assert {path.name for path in (TOP / "cl").iterdir() if path.is_dir()} - others <= set(LEVELS)
    others = {"architecture", "docs", "faults", "packaging", "r", "trust", "workflow"}
    folders = {path.name for path in (TOP / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    assert folders - others == set(LEVELS)


def sources():
    for folder in (PACKAGE, TOP / "cl"):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def may_name_vendors(path):
    return (
        path == PACKAGE / "device" / "quirks.py"
        or (TOP / "cl" / "tuning") in path.parents
        or re.fullmatch(r".+\.(nvidia|amd|intel|cpu)\.(cl|h)", path.name) is not None
    )


def test_vendor_words_stay_in_their_file():
    found = [
        f"{path.relative_to(TOP)}:{number}: {line.strip()}"
        for path in sources()
        if not may_name_vendors(path)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if VENDORS.search(line)
    ]
    assert found == []


def test_launches_name_their_groups():
    """A driver that chooses them compiles a kernel again for each size of an input."""
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) > 2:
                queue, _, group = map(ast.unparse, node.args[:3])
                if queue.endswith("queue") and group == "None":
                    found.append(f"{path}:{node.lineno}")
    assert not found


def test_areas_have_their_kernels_and_tests():
    sys.path.insert(0, str(TOP))
    import pyapsp

    areas = {method.area for method in pyapsp.methods()}
    assert {"all_pairs/dense", "all_pairs/sparse", "traversal/bfs", "trusses"} <= areas
    for area in areas:
        assert (PACKAGE / area).is_dir()
        assert (TOP / "cl" / area).is_dir()
        assert (TOP / "tests" / area.partition("/")[0]).is_dir()


def test_importing_the_package_loads_only_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import pyapsp; "
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TOP
    ).stdout.split()
    assert "pyapsp" in loaded
    assert set(loaded) - {"pyapsp"} <= set(sys.stdlib_module_names)


def test_every_public_name_exists():
    import pyapsp

    for name in pyapsp.__all__:
        assert getattr(pyapsp, name) is not None
    assert set(pyapsp.__all__) <= set(dir(pyapsp))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(pyapsp, "nothing")  # noqa: B009
