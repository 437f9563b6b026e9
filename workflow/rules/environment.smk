# The environment of commands and scripts.
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

import pyapsp


def pyapsp_found():
    """Return what the shell does before a command of a rule, so that python finds pyapsp.

    python is that of the environment that runs Snakemake, even if it is not activated. An environment by conda has a
    python of its own, with the packages that pyapsp needs: pyapsp comes from a folder with a link to it and nothing
    else. A container has python with pyapsp.
    """
    deployment = workflow.deployment_settings.deployment_method
    if DeploymentMethod.APPTAINER in deployment:
        return ""
    if DeploymentMethod.CONDA not in deployment:
        return f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    folder = Path(".snakemake", "pyapsp").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f".{os.getpid()}"
    made.symlink_to(Path(pyapsp.__file__).parent)
    made.replace(folder / "pyapsp")
    return f"export PYTHONPATH={shlex.quote(str(folder))}; "


shell.prefix(pyapsp_found())

# A submitted job has many runs. The Snakemake of the job runs their commands itself: to start one for each takes seconds.
INSIDE_A_JOB = workflow.remote_exec

# Snakemake 9 does not quote the Python that runs a script.
if " " in sys.executable:
    raise WorkflowError(
        f"{sys.executable}: Snakemake runs no script with a Python whose path has a space; make the environment elsewhere"
    )

# Snakemake 9 finds no script by its path beside rules in a local git repository.
SCRIPTS = workflow.current_basedir.join("../scripts")


def script_file(name):
    """Return the address of a script."""
    return SCRIPTS.join(name).get_path_or_uri(secret_free=False)
