"""Which front end reads a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pyapsp.base.errors import ModelError
from pyapsp.simulation.frontend.cellml import read_cellml
from pyapsp.simulation.frontend.documents import parse_document
from pyapsp.simulation.frontend.phml import read_phml
from pyapsp.simulation.frontend.phml_files import Files
from pyapsp.simulation.system import System

__all__ = ["read_model"]


def read_model(path: str | PathLike[str]) -> System:
    """Read a model from a file; its content says which format it has.

    Parameters
    ----------
    path : path-like
        A file in SBML, PHML, ISML or CellML 1.0 or 1.1, or a ``.phz`` archive.

    Returns
    -------
    System
        The model.

    Raises
    ------
    ModelError
        The file is malformed, or the model has a construct that is not supported.
    OSError
        The file cannot be read.
    """
    data = Path(path).read_bytes()
    files = Files(path)
    if data.startswith(b"PK"):
        files = Files(path, data)
        data = files.member("model.phml")
    try:
        root = parse_document(data, path)
        if root.name == "sbml":
            from pyapsp.simulation.frontend.sbml import read_sbml

            return read_sbml(data, path)
        if root.name == "insilico-model":
            return read_phml(root, path, files)
        if root.name == "model" and "cellml" in root.namespace:
            return read_cellml(root, path)
    except RecursionError:
        raise ModelError(path, "expression", "its parts nest too deeply") from None
    raise ModelError(path, f"element {root.name!r}", "is the root of no known format", root.line)
