"""Write the Snakemake workflow and its configuration to a folder.

The workflow runs methods on your graphs, checks every answer, and writes tables. Name the graphs in
config/config.yaml, as config/README.md says, and start snakemake in the folder. It needs the extra
workflow of pyapsp.

For example:
  pyapsp workflow init study
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]

_PACKAGE = Path(__file__).resolve().parents[1]
_PARTS = ("config", "workflow")
# What only a checkout can run; a wheel has none of it.
_OF_CHECKOUT = ("papers*", "records*.yaml", "choices.yaml", "requirements.txt", "__pycache__")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", choices=["init"], help="init: write the files")
    parser.add_argument(
        "folder", metavar="DIR", help="where config/ and workflow/ are to be; it is created"
    )


def run(arguments: argparse.Namespace) -> int:
    """Copy the files."""
    import shutil

    from pyapsp.base.errors import ParameterError
    from pyapsp.base.files import check_name

    folder = check_name(arguments.folder, "workflow init", "folder")
    for part in _PARTS:
        if (folder / part).exists():
            rule = f"a folder without {part}/, which would be overwritten"
            raise ParameterError.of("folder", "workflow init", rule, str(folder))
    ignored = shutil.ignore_patterns(*_OF_CHECKOUT)
    for part in _PARTS:
        shutil.copytree(_source() / part, folder / part, ignore=ignored)
    print(
        f"{folder / 'config' / 'config.yaml'}: name your graphs here, as README.md beside it says\n"
        f"Then, in {folder}: snakemake --cores 2"
    )
    return 0


def _source() -> Path:
    """Return the folder of the workflow: in the installed package, or in a checkout."""
    installed = _PACKAGE / "_workflow"
    return installed if installed.is_dir() else _PACKAGE.parent
