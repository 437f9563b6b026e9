"""The rules run in the environment that Snakemake makes for them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import tomllib
import yaml

import pyapsp

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

from . import checkouts

# A conda that makes an environment with nothing but a python, which notes what it is called for.
CONDA = """\
#!/bin/sh
case "$*" in
    "info --json") echo '{{"conda_prefix": "{base}", "platform": "linux-64"}}' ;;
    --version) echo conda 24.7.1 ;;
    *"--get channel_priority"*) echo '{{"get": {{"channel_priority": "strict"}}}}' ;;
    "env create "*)
        while [ "$1" != --prefix ]; do shift; done
        mkdir -p "$2/bin"
        cp "{base}/python" "$2/bin/python" ;;
esac
"""
PYTHON = """\
#!/bin/sh
echo "$PYTHONPATH $*" >> "{base}/calls"
exec "{python}" "$@"
"""


@pytest.mark.slow
def test_commands_run_in_the_environment_of_conda(tmp_path):
    base = tmp_path / "base"
    for name, text in (("conda", CONDA), ("python", PYTHON), ("activate", 'PATH="$1/bin:$PATH"\n')):
        path = base / "bin" / name if name != "python" else base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(base=base, python=sys.executable))
        path.chmod(0o755)
    directory = checkouts.copied(tmp_path / "a checkout")
    options = ("--cores=2", "--software-deployment-method=conda")
    record = "results/checked/bfs/rmat-7/bfs-edge/int32/auto.json"
    path = {"PATH": f"{base / 'bin'}:{os.environ['PATH']}"}
    done = checkouts.snakemake(directory, *options, "--", record, env=os.environ | path)
    assert done.returncode == 0, done.stdout
    assert (directory / record).exists()
    calls = (base / "calls").read_text().splitlines()
    commands = [re.findall(r"-m (pyapsp\S*)", call)[0] for call in calls if " -m pyapsp" in call]
    # each of fetch, convert and check
    assert commands.count("pyapsp") == commands.count("pyapsp.cli.attempt") == 3
    places = {Path(call.split(" -m ")[0]) for call in calls if " -m pyapsp" in call}
    assert len(places) == 1
    assert [each.name for each in next(iter(places)).iterdir()] == ["pyapsp"]
    assert (next(iter(places)) / "pyapsp").samefile(Path(pyapsp.__file__).parent)


def test_the_environment_has_what_the_rules_need():
    text = (checkouts.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    areas = ("bulk", "matching", "mining", "report", "simulation", "sparse")
    needed = [*project["dependencies"], *(each for extra in areas for each in extras[extra])]
    environment = yaml.safe_load((checkouts.ROOT / "workflow/envs/pyapsp.yaml").read_text())
    names = {"matplotlib": "matplotlib-base"}
    wanted = {re.match(r"[\w-]+", each)[0] for each in needed}
    assert {names.get(name, name) for name in wanted} <= {
        each.split()[0] for each in environment["dependencies"]
    }
    locked = (checkouts.ROOT / "workflow/envs/requirements.txt").read_text(encoding="utf-8")
    pinned = {*re.findall(r"^([\w-]+)==", locked, re.MULTILINE)}
    workflow = [*project["dependencies"], *extras["report"], *extras["sparse"], *extras["cpu"]]
    assert {re.match(r"[\w-]+", each)[0].lower() for each in workflow} <= pinned
