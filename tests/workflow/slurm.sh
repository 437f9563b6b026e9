#!/bin/sh
# Run the workflow on a Slurm cluster of one node, this machine, and compare it with a local run.
# Needs Debian or Ubuntu; what is missing of Slurm is installed, as root.
#
#   tests/workflow/slurm.sh [PYTHON]     PYTHON has pyapsp[test]; the default is .venv/bin/python
set -eu
cd "$(dirname "$0")/../.."
if ! PATH="$PATH:/usr/sbin:/sbin" command -v slurmctld > /dev/null; then
    apt-get update
    apt-get install --yes --no-install-recommends slurm-wlm
fi
exec "${1:-.venv/bin/python}" -m pytest -m slurm -s tests/workflow/test_slurm.py
