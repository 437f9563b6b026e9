"""The workflow on a Slurm cluster: few submissions, and the answers of a run without a cluster.

The cluster is this machine: munged, slurmctld and slurmd run in a temporary folder, on ports of
their own, as whoever runs the test. ``tests/workflow/slurm.sh`` installs them on Debian.
"""

from __future__ import annotations

import base64
import csv
import getpass
import itertools
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import pyapsp
from pyapsp.graph import generators, write

if sys.version_info < (3, 11):
    pytest.skip("Snakemake 9 needs Python 3.11", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cluster"))

import launching  # noqa: E402

from . import checkouts  # noqa: E402

PROFILE = ("--profile", "workflow/profiles/slurm")
LOCAL = {"fetch_dataset", "write_report", "judge_runs", "default"}
TIMES = {
    "kernel_seconds",
    "transfer_seconds",
    "wall_seconds",
    "rate",
    "fraction_of_roof",
    "least_seconds",
    "greatest_seconds",
}
# Cores and GPUs need not be there: jobs of the size that the profile says fit the node. The numbers
# of jobs are new in each cluster: MPICH names memory after them, which a killed process leaves.
SLURM = """\
ClusterName=pyapsp
FirstJobId={first}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/{track}
TaskPlugin=task/{task}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
MpiDefault=none
MailProg=/bin/true
MinJobAge=86400
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=node NodeAddr=127.0.0.1 NodeHostname={host} CPUs=16 RealMemory=64000 Gres=gpu:2
PartitionName=all Nodes=node Default=YES State=UP
"""


class Cluster:
    """A Slurm cluster of one node without accounting, everything of it in one folder."""

    def __init__(self, folder: Path, limits: bool = False) -> None:
        """With limits, jobs get no more memory than they asked for: needs root and cgroups."""
        self.folder = folder
        self.daemons: list[subprocess.Popen[bytes]] = []
        # Daemons are in sbin, which the PATH of a user may lack.
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.environment["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"
        self._require("munged", "slurmctld", "slurmd", "srun")
        for name in ("state", "spool", "bin"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        (folder / "slurm.conf").write_text(
            SLURM.format(
                first=int(time.time()) % 60_000_000 + 1,
                host=socket.gethostname(),
                ports=_free_ports(2),
                user=getpass.getuser(),
                folder=folder,
                track="cgroup" if limits else "pgid",
                task="cgroup" if limits else "none",
            )
        )
        (folder / "cgroup.conf").write_text("ConstrainRAMSpace=yes\n")
        (folder / "gres.conf").write_text("NodeName=node Name=gpu File=/dev/null,/dev/zero\n")
        # Inside a job the executor forgets SLURM_CONF, because clusters have theirs in /etc.
        srun = folder / "bin" / "srun"
        srun.write_text(
            f'#!/bin/sh\nSLURM_CONF="{folder}/slurm.conf" exec {shutil.which("srun")} "$@"\n'
        )
        srun.chmod(0o755)

    def _require(self, *programs: str) -> None:
        missing = [
            name for name in programs if not shutil.which(name, path=self.environment["PATH"])
        ]
        if missing:
            pytest.fail(
                f"no {', '.join(missing)}: tests/workflow/slurm.sh installs Slurm on Debian "
                "(apt-get install --no-install-recommends slurm-wlm) and runs these tests",
                pytrace=False,
            )

    def start(self) -> None:
        folder = self.folder
        self._start(
            "munged",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.socket",
            f"--key-file={folder}/munge.key",
            f"--pid-file={folder}/munged.pid",
            f"--seed-file={folder}/munge.seed",
            f"--log-file={folder}/munged.log",
        )
        self._wait_for((folder / "munge.socket").exists)
        self._start("slurmctld", "-D")
        self._start("slurmd", "-D", "-N", "node")
        self._wait_for(lambda: self.ask("sinfo", "--noheader", "--format=%T").strip() == "idle")

    def ask(self, *command: str) -> str:
        """The output of a Slurm command."""
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=60
        ).stdout

    def stop(self) -> None:
        """End the jobs, then the daemons, however far they got."""
        if len(self.daemons) == 3:
            self.ask("scancel", f"--user={getpass.getuser()}")
            self._wait_for(lambda: not self.ask("squeue", "--noheader"))
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()

    def _start(self, *command: str) -> None:
        with open(self.folder / f"{command[0]}.out", "wb") as output:
            self.daemons.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def _wait_for(self, done: Callable[[], bool], seconds: int = 60) -> None:
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end:
                logs = [path.read_text(errors="replace") for path in self.folder.glob("*.out")]
                pytest.fail("the cluster does not answer:\n" + "\n".join(logs), pytrace=False)
            time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for found in sockets:
            found.bind(("127.0.0.1", 0))
        return [found.getsockname()[1] for found in sockets]
    finally:
        for found in sockets:
            found.close()


@contextmanager
def started(made: Cluster) -> Iterator[Cluster]:
    """Start a cluster; it is stopped again whatever happens."""
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with started(Cluster(tmp_path_factory.mktemp("cluster"))) as made:
        yield made


@pytest.fixture
def strict_cluster(tmp_path_factory):
    """A cluster that kills what takes more memory than it asked for."""
    with started(Cluster(tmp_path_factory.mktemp("strict"), limits=True)) as made:
        yield made


def snakemake(directory: Path, *arguments: str, environment: dict[str, str] | None = None) -> str:
    """Run the workflow; its output."""
    done = checkouts.snakemake(directory, *arguments, env=environment)
    assert done.returncode == 0, done.stdout
    return done.stdout


def submitted(cluster: Cluster, directory: Path, *arguments: str) -> tuple[set[str], str]:
    """Run the workflow on the cluster; the Slurm ids of its jobs, and its output."""
    output = snakemake(
        directory,
        *PROFILE,
        "--slurm-status-command=squeue",
        "--slurm-init-seconds-before-status-checks=3",
        *arguments,
        environment=cluster.environment,
    )
    return set(re.findall(r"has been submitted with SLURM jobid (\d+)", output)), output


def rows(directory: Path) -> list[dict[str, str]]:
    """The table of all runs, without what differs from run to run."""
    table = []
    for path in sorted((directory / "results" / "report" / "tables").glob("*.csv")):
        table += [
            {key: row[key] for key in row if key not in TIMES and not key.startswith("over_")}
            for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        ]
    return sorted(table, key=lambda row: tuple(row.values()))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["config", "real"])
def test_jobs_are_submitted_in_groups(tmp_path, config):
    directory = checkouts.copied(tmp_path / "planned")
    options = (*PROFILE, "--dry-run", "--configfile", f"config/{config}.yaml")
    output = snakemake(directory, *options)
    total = {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", output, re.M)}
    assert total["run_method"] > 80
    # jobs of a group are indented
    assert set(re.findall(r"^(?:local)?rule (\w+):", output, re.M)) == LOCAL
    assert Counter(re.findall(r"^    rule (\w+):", output, re.M)) == {
        rule: count for rule, count in total.items() if rule not in LOCAL | {"total"}
    }
    timings = math.ceil(total.get("time_methods", 0) / 5)
    assert Counter(re.findall(r"Group job (\w+) ", output)) == Counter(
        graphs=1,
        runs=math.ceil((total["run_method"] + total.get("check_area", 0)) / 20),
        timings=timings,
    )


@pytest.mark.slurm
@pytest.mark.timeout(3600)
def test_the_default_run_finds_on_a_cluster_what_it_finds_without(cluster, tmp_path):
    start = time.monotonic()
    on_cluster = checkouts.copied(tmp_path / "on a cluster")
    ids, output = submitted(cluster, on_cluster)
    seconds = time.monotonic() - start
    found = rows(on_cluster)
    assert len(found) > 80
    assert {row["verified"] for row in found} == {"True"}

    jobs = cluster.ask("squeue", "--states=all", "--noheader", "--format=%i %T %k %m %l").split(
        "\n"
    )
    told = {job.split()[0]: job.split()[1:] for job in jobs if job}
    assert ids == set(told)
    assert {state for state, *_ in told.values()} == {"COMPLETED"}
    # of the runs in a job every one has its minutes, and the memory of one is enough
    planned = checkouts.jobs(output)
    count = planned["run_method"] + planned["check_area"]
    runs = [rest for _, name, *rest in told.values() if name.startswith("rule_runs_")]
    assert len(runs) == math.ceil(count / 20)
    assert len(ids) == 1 + len(runs) + math.ceil(planned["time_methods"] / 5)
    assert {memory for memory, _ in runs} == {"1000M"}
    assert sum(_minutes(limit) for _, limit in runs) == 6 * count

    without = checkouts.copied(tmp_path / "without one")
    snakemake(without, "--cores", str(os.cpu_count()))
    assert rows(without) == found
    done = int(re.findall(r"(\d+) of \d+ steps \(100%\) done", output)[-1])
    version = cluster.ask("sinfo", "--version").strip()
    print(f"\n{version}: {done} jobs in {len(ids)} submissions, {seconds:.0f} s")


def _minutes(limit: str) -> int:
    """The minutes of a time limit as Slurm writes it: [hours:]minutes:seconds."""
    hours, minutes, seconds = map(int, f"0:{limit}".split(":")[-3:])
    assert seconds == 0
    return 60 * hours + minutes


@pytest.mark.slurm
def test_a_job_that_solves_gets_the_gpu_of_the_profile(cluster, tmp_path):
    directory = checkouts.copied(tmp_path / "with GPUs")
    profile = directory / "workflow" / "profiles" / "slurm" / "config.yaml"
    text = profile.read_text(encoding="utf-8")
    commented = re.search(r"# set-resources:\n(?:#   .*\n)+", text)[0]
    profile.write_text(text.replace(commented, commented.replace("# ", "")))
    config = (
        "--config",
        "datasets=[grid-8x8]",
        "problems=[all-pairs]",
        "methods=[fw-naive]",
        "dtypes=[int32]",
        "areas=[]",
    )
    ids, _ = submitted(cluster, directory, *config)
    asked = [cluster.ask("scontrol", "show", "job", job) for job in sorted(ids, key=int)]
    gpu = ["gres:gpu:1"]
    assert [re.findall(r"TresPerJob=(\S+)", job) for job in asked] == [[], gpu, gpu]
    assert [row["verified"] for row in rows(directory)] == ["True"]


# Each run writes which GPU it was given, and waits for the run beside it.
MEET = """
import os, pathlib, sys, time
if sys.orig_argv[1:4] == ["-m", "pyapsp", "check"]:
    folder = pathlib.Path(__file__).parent
    (folder / f"{os.getpid()}.seen").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
    end = time.monotonic() + 60
    while len(list(folder.glob("*.seen"))) < 2 and time.monotonic() < end:
        time.sleep(0.1)
"""


@pytest.mark.slurm
def test_runs_at_the_same_time_see_different_gpus(cluster, tmp_path):
    directory = checkouts.copied(tmp_path / "two GPUs")
    environment = cluster.environment | checkouts.first_run(directory, MEET)
    options = ["--cores=4", "--group-components", "runs=1", "--set-resources", "run_method:gpu=1"]
    options += ["--config", "datasets=[grid-8x8]", "problems=[scc]", "peers=[]", "areas=[]"]
    options += ["methods=[scc-tarjan,scc-colouring]"]
    snakemake(
        directory,
        *PROFILE,
        "--slurm-status-command=squeue",
        "--slurm-init-seconds-before-status-checks=3",
        *options,
        environment=environment,
    )
    assert sorted(seen.read_text() for seen in directory.glob("*.seen")) == ["0", "1"]


def finished(directory: Path) -> dict[Path, tuple[int, int]]:
    """The records of runs that are finished, and the file and the time of each.

    A run whose record is there is not finished until its Snakemake says so.
    """
    unfinished = {
        base64.urlsafe_b64decode("".join(marker.parts).replace("@", "")).decode()
        for marker in relative_files(directory / ".snakemake" / "incomplete")
    }
    records = {}
    for path in relative_files(directory / "results" / "checked"):
        name = Path("results", "checked", path)
        if str(name) not in unfinished:
            json.loads((directory / name).read_text(encoding="utf-8"))
            about = (directory / name).stat()
            records[name] = about.st_ino, about.st_mtime_ns
    return records


def relative_files(folder: Path) -> list[Path]:
    return [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]


@pytest.mark.slurm
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("profile", ["slurm", "generic"])
def test_a_killed_scheduler_repeats_no_run_and_loses_none(cluster, tmp_path, profile):
    directory = checkouts.copied(tmp_path / "killed")
    options = ["--profile", f"workflow/profiles/{profile}", "--group-components", "runs=3"]
    if profile == "slurm":
        options += ["--slurm-status-command=squeue"]
        options += ["--slurm-init-seconds-before-status-checks=3"]
    options += ["--config", "datasets=[grid-8x8]", "problems=[bfs]"]
    options += ["dtypes=[int32]", "peers=[]", "areas=[]"]
    complete: dict[Path, tuple[int, int]] = {}
    for _ in range(3):
        with (directory / "killed.log").open("ab") as log:
            scheduler = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *options],
                cwd=directory,
                env=cluster.environment,
                stdout=log,
                stderr=log,
            )
        wanted = len(complete) + 2
        while len(finished(directory)) < wanted:
            assert scheduler.poll() is None, (directory / "killed.log").read_text()
            time.sleep(0.3)
        scheduler.kill()
        scheduler.wait()
        # as docs/cluster.md says
        cluster.ask("scancel", f"--user={getpass.getuser()}")
        cluster._wait_for(lambda: not cluster.ask("squeue", "--noheader"))
        snakemake(directory, "--unlock")
        now = finished(directory)
        assert complete.items() <= now.items()
        complete = now
    snakemake(directory, *options, environment=cluster.environment)
    last = finished(directory)
    assert complete.items() <= last.items()
    found = rows(directory)
    assert len(found) == len(last) > len(complete)
    assert len({tuple(row.values()) for row in found}) == len(found)
    assert {row["verified"] for row in found} == {"True"}


# One run takes ever more memory, and one takes ever more time.
GREEDY = """
import sys, time
given = sys.orig_argv
if given[1:4] == ["-m", "pyapsp", "check"] and "scc-colouring" in given:
    held = []
    while True:
        held.append(b"x" * 10**7)
        time.sleep(0.01)
if given[1:4] == ["-m", "pyapsp", "check"] and "scc-tarjan" in given:
    time.sleep(600)
"""


@pytest.mark.slurm
def test_a_run_that_takes_more_than_its_job_is_a_row(strict_cluster, tmp_path):
    directory = checkouts.copied(tmp_path / "greedy")
    environment = strict_cluster.environment | checkouts.first_run(directory, GREEDY)
    # less than the limit of a run
    options = [*PROFILE, "--set-resources", "run_method:runtime=2", "--config", "problems=[scc]"]
    options += ["methods=[scc-colouring,scc-tarjan,scc-forward-backward]"]
    options += ["datasets=[grid-8x8]", "peers=[]", "areas=[]"]
    done = checkouts.snakemake(
        directory, *options, "--slurm-status-command=squeue", env=environment
    )
    assert "1 ok, 0 refused, 0 wrong, 2 failed" in done.stdout, done.stdout
    assert {row["method"]: row["why"] for row in rows(directory)} == {
        "scc-colouring": "out of memory: it used more than 700 MB",
        "scc-tarjan": "time-out: it took longer than 60 s",
        "scc-forward-backward": "",
    }
    states = strict_cluster.ask("squeue", "--states=all", "--noheader", "--format=%T").split()
    assert set(states) == {"COMPLETED"}

    # faster than it can be watched
    attempt = f"{sys.executable} -m pyapsp.cli.attempt --record record.json --log log --"
    greedy = f"{attempt} {sys.executable} -c 'bytearray(10**9)'"
    batch = ["sbatch", "--wait", "--mem=200M", "--output=batch.log", f"--wrap={greedy}"]
    subprocess.run(batch, cwd=directory, env=environment, check=False)
    record = json.loads((directory / "record.json").read_text(encoding="utf-8"))
    assert record["status"] == "failed"
    assert record["why"].startswith("out of memory: killed by the system, at most 0.")


# Each run ends at once, so that most of the time is that of schedulers.
SHORT = """
import json, os, sys
given = sys.orig_argv
if given[1:4] == ["-m", "pyapsp", "check"]:
    about = {name: given[given.index("--" + name) + 1] for name in ("method", "dtype")}
    about |= {"problem": given[4], "input": {"name": given[5]}, "device": {"name": "none"}}
    refused = {"status": "refused", "why": "it is a short run", "verified": None}
    with open(given[given.index("-o") + 1], "w") as file:
        json.dump(about | refused, file)
    os._exit(4)
"""


@pytest.mark.slurm
@pytest.mark.timeout(3600)
def test_a_run_of_a_group_waits_less_than_a_second_for_schedulers(cluster, tmp_path):
    """It prints the table of docs/cluster.md. A few runs are enough to see what one costs alone."""
    table = ["| profile | runs | runs per submission | all s | in commands s | other s per run |"]
    for profile, together in itertools.product(("slurm", "generic"), (1, 20)):
        directory = checkouts.copied(tmp_path / f"{profile} {together}")
        environment = cluster.environment | checkouts.first_run(directory, SHORT)
        options = ["--profile", f"workflow/profiles/{profile}"]
        if profile == "slurm":
            options += ["--slurm-status-command=squeue"]
        options += ["--group-components", f"runs={together}", "--config", "peers=[]", "areas=[]"]
        if together == 1:
            options += ["datasets=[rmat-7]", "problems=[bfs]"]
        else:
            options += ["datasets=[random-60,small-world-50,rmat-7]"]
            options += ["dtypes=[int32,float32,int64]"]
        start = time.monotonic()
        snakemake(directory, *options, environment=environment)
        seconds = time.monotonic() - start
        commands = [
            float(path.read_text(encoding="utf-8").split("\n")[1].split("\t")[0])
            for path in (directory / "results" / "benchmarks").rglob("*.tsv")
        ]
        other = (seconds - sum(commands)) / len(commands)
        table.append(
            f"| {profile} | {len(commands)} | {together} | {seconds:.0f} | {sum(commands):.0f} "
            f"| {other:.2f} |"
        )
        print("\n" + "\n".join(table), flush=True)
        if together == 20:
            assert len(commands) >= 300
            # on a machine that does nothing else
            assert other <= 1


@pytest.fixture
def swept():
    with launching.swept():
        yield


@pytest.mark.slurm
@pytest.mark.usefixtures("swept")
def test_tasks_of_a_step_share_a_solve(cluster, tmp_path):
    """Two tasks on the node find the bits of one process; an error of both ends both."""
    write(generators.random_graph(600, 3000, seed=1), tmp_path / "graph.npz")
    start = ["srun", "--ntasks=2", "--cpus-per-task=1", "--mpi=pmi2"]
    solve = [sys.executable, "-m", "pyapsp", "solve", "graph.npz", "-o", "out.npy"]
    solve += ["--method", "fw-outofcore", "--set", "block=64"]

    def run(*more):
        return subprocess.run(
            [*start, *solve, *more],
            cwd=tmp_path,
            env=cluster.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    began = time.monotonic()
    done = run("--record", "record.json")
    seconds = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["ranks"] == 2
    graph = pyapsp.read(tmp_path / "graph.npz")
    one = pyapsp.solve(graph, pyapsp.method("fw-outofcore", block=64)).distances
    assert pyapsp.open_rows(tmp_path / "out.npy")[:].tobytes() == one.tobytes()
    failed = run("--device", "no such device")
    told = [line for line in failed.stderr.splitlines() if line.startswith("pyapsp: ")]
    # that of pyapsp, or the greatest: that of a task which Slurm killed because the other aborted
    assert failed.returncode in (4, 137)
    assert len(told) == 1, failed.stderr
    assert re.match(r"pyapsp: rank [01] on \S+: No OpenCL device", told[0])
    version = cluster.ask("sinfo", "--version").strip()
    passes = record["kernel_seconds"]
    print(f"\n{version}: two tasks solved n = 600 in {seconds:.1f} s, passes {passes:.2f} s")
