"""An environment that has what some extras install, and nothing else of what is installed here."""

from __future__ import annotations

import os
import subprocess
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


class Alone:
    """An environment with the requirements of pyapsp and of some extras.

    Parameters
    ----------
    folder : path
        A new folder.
    extras : str
    source : path
        The folder that has pyapsp.
    """

    def __init__(self, folder: Path, *extras: str, source: Path = ROOT) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        (packages,) = folder.glob("lib/python*/site-packages")
        (packages / "pyapsp.pth").write_text(f"{source}\n")
        for name in {"pyapsp", *required(*extras)}:
            distribution = metadata.distribution(name)
            for line in (distribution.read_text("RECORD") or "").splitlines():
                top = line.split(",")[0].split("/")[0]
                # that file says where an editable pyapsp is; entry points are in another
                if top not in ("..", "_pyapsp.pth") and not (packages / top).exists():
                    (packages / top).symlink_to(distribution.locate_file(top))

    def run(self, *arguments: object, cwd: Path) -> str:
        """Run Python, which must succeed, and return what it printed."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return run(self.python, *arguments, cwd=cwd, env=env)


def run(*command: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command, which must succeed, and return what it printed."""
    done = completed(*command, cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout
    return done.stdout


def completed(
    *command: object, cwd: Path, env: dict[str, str] | None
) -> subprocess.CompletedProcess[str]:
    """Run a command; its output and its messages are in `stdout`."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def required(*extras: str) -> set[str]:
    """The distributions that pyapsp needs with some extras, directly or not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    seen: set[tuple[str, str]] = set()
    waiting = [("pyapsp", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        if name == "pyapsp":
            lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
        else:
            lines = metadata.requires(name) or []
        waiting += _asked(lines, extra)
    return {name for name, _ in seen} - {"pyapsp"}


def _asked(lines: list[str], extra: str) -> Iterator[tuple[str, str]]:
    """The names, each with no extra and with those asked for, of the lines that hold here."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            yield from ((name, each) for each in ("", *requirement.extras))
