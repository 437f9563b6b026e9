"""The public modules are attributes of the package, without an import of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULES = [
    "bulk",
    "csgraph",
    "device",
    "dynamic",
    "errors",
    "graph",
    "matching",
    "mining",
    "simulation",
    "sweep",
    "traversal",
    "verify",
]


def _output(code: str) -> str:
    """Return what a new interpreter prints; here the modules may be loaded already."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


@pytest.mark.every(4)
@pytest.mark.parametrize("module", MODULES)
def test_a_public_module_is_an_attribute_after_the_import_of_the_package(module: str) -> None:
    code = f"import pyapsp; print(pyapsp.{module}.__name__)"
    assert _output(code).startswith("pyapsp.")


def test_completion_offers_the_public_modules_and_names_without_loading_them() -> None:
    code = "import pyapsp, sys; print(*dir(pyapsp)); print('numpy' in sys.modules)"
    names, numpy_is_loaded = _output(code).splitlines()
    assert {*MODULES, "Graph", "read", "write", "solve"} <= {*names.split()}
    assert numpy_is_loaded == "False"


def test_an_unknown_name_is_an_attribute_error() -> None:
    code = "import pyapsp\ntry: pyapsp.nothing\nexcept AttributeError as error: print(error)"
    assert "nothing" in _output(code)
