"""Starting ranks with mpiexec, finding and ending one of them, and removing what it leaves."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HERE = Path(sys.executable).parent
MPIEXEC = str(HERE / "mpiexec")


def command(ranks: int, *words: str, options: tuple[str, ...] = ()) -> list[str]:
    return [MPIEXEC, *options, "-n", str(ranks), sys.executable, *words]


def run(ranks: int, *words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run to the end, which must come within two minutes."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        command(ranks, *words),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def processes(launcher: int) -> dict[int, int]:
    """Return the process of each rank of a launcher: the one that computes, not its guard."""
    found, left = {}, [launcher]
    while left:
        pid = left.pop()
        try:
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
            variables = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        left += [int(child) for child in text.split()]
        rank = re.search(r"(?:^|\0)PMI_RANK=(\d+)", variables)
        if rank and pid != launcher:
            found[int(rank[1])] = max(pid, found.get(int(rank[1]), 0))
    return found


def kill(launcher: subprocess.Popen, rank: int) -> None:
    """Kill a rank."""
    os.kill(processes(launcher.pid)[rank], signal.SIGKILL)


def wait_for(condition, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


# MPICH gives the shared memory of a host a name, which ranks that end early do not remove.
SHARED, PREFIX = Path("/dev/shm"), "mpich_shm_"


@contextmanager
def swept(seconds: float = 5.0) -> Iterator[None]:
    """Remove the shared memory of MPICH that is new, except what a process still maps after that.

    Others may use MPICH on this machine at the same time.
    """
    before = named()
    try:
        yield
    finally:
        wait_for(lambda: not (named() - before) & mapped(), seconds)
        for path in named() - before - mapped():
            path.unlink(missing_ok=True)


def named() -> set[Path]:
    """Return the files of this user."""
    found = set()
    for path in SHARED.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if path.stat().st_uid == os.getuid():
                found.add(path)
    return found


def mapped(*pids: int) -> set[Path]:
    """Return the files that processes map; without numbers, all of this user."""
    found = set()
    for maps in [Path(f"/proc/{pid}/maps") for pid in pids] or Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            names = re.findall(rf"{SHARED}/{PREFIX}\S*", maps.read_text(errors="replace"))
            found |= set(map(Path, names))
    return found
