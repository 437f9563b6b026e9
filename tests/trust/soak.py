"""Everything at random, for as long as you like: memory, buffers, queues, threads and files stay.

    python tests/trust/soak.py --minutes 60

The same cases come again and again, each time in another order: what a case needs once (a kernel
that is built and kept) it has after the first pass, and nothing may be added afterwards. Cases are
those of `world`, batches, bulk programs, sweeps, files, and errors and ends in the middle of each.

The rule: after the warm-up, a quarter of the time and at least one pass, the resident memory does
not rise by more than `--slope` bytes a case (by least squares; less than `--noise` MiB in all is
nothing), and there are not more OpenCL objects, threads or open files at the end than after the
warm-up. OpenCL objects are counted by the driver: each buffer, queue, program and event holds a
reference to its context. Per case and not per hour, because some drivers keep a little themselves:
Intel's 70 bytes for each thread of the host that used it and ended, PoCL's nothing.

Exit code 1 when the rule is broken, or an answer was wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import threading
import time
import tracemalloc
from pathlib import Path
from random import Random

import numpy as np
from world import World

import pyapsp
from pyapsp import errors
from pyapsp.bulk import load, programs
from pyapsp.device import choose, devices
from pyapsp.sweep import Array, Step, Sweep

COLUMNS = ("seconds", "cases", "RSS MiB", "heap MiB", "OpenCL", "threads", "files")
BAD = ("p sp 3 1\na 1 9 1\n", "p sp 2000000000 1\na 1 2 3\n", "", "p sp 2 1\na 1 2 nan\n")


def bulk(world: World, random: Random) -> None:
    """Run a C program for many inputs, or one that cannot be run."""
    device = random.choice(world.devices)
    data = np.asarray([[random.random() for _ in range(16)] for _ in range(20)], np.float32)
    program = load(programs()["bitonic_sort"], defines={"N": 16}, device=device)
    np.testing.assert_array_equal(program(A=data)["A"], np.sort(data, axis=1))
    path = world.folder / "refused.c"
    path.write_text("int a[4];\nvoid f(void) { a[a[0]] = 1; }\n#pragma kernel\nf();\n")
    _raises(errors.ProgramError, lambda: load(path, device=device))


def sweep(world: World, random: Random) -> None:
    """Run a sweep, and one whose body the compiler refuses."""
    device, tasks = random.choice(world.devices), random.choice([1, 32, 50])
    arrays = [Array("x", "input", "float32", 8), Array("y", "output", "float32", 8)]
    options = {"device": device, "scheme": random.choice(["naive", "interleaved"])}
    engine = Sweep("OUT(y, THREAD_X) = IN(x, THREAD_X) + 1;", arrays, Step("task", 8), **options)
    x = np.asarray([[random.random() for _ in range(8)] for _ in range(tasks)], np.float32)
    np.testing.assert_array_equal(engine(x=x)["y"], x + 1)
    if random.random() < 0.1:
        broken = Sweep("OUT(y, THREAD_X) = nothing;", arrays, Step("task", 8), **options)
        _raises(errors.KernelBuildError, lambda: broken(x=x))


def bad_file(world: World, random: Random) -> None:
    """Read a file that breaks its format."""
    path = world.folder / "bad.gr"
    path.write_text(random.choice(BAD))
    _raises(errors.FormatError, lambda: pyapsp.read(path))


def resumed(world: World, random: Random) -> None:
    """End an out-of-core run at its second step, go on from its checkpoint."""
    folder, graph = world.folder / "resumed", world.argument(random)
    device, count = random.choice(world.devices), [0]

    def progress(done: int, total: int) -> None:
        count[0] += 1
        if count[0] == 2:
            raise KeyboardInterrupt

    options = {"method": "fw-outofcore", "device": device, "checkpoint": folder}
    for call in (lambda: pyapsp.solve(graph, progress=progress, **options),) * 2:
        try:
            result = world.attempt(call, options)
        except KeyboardInterrupt:
            continue
        if result is not None:
            world.check(result, random, options)
        break


def solve(world: World, random: Random) -> None:
    """Solve, save, load, check the certificate."""
    result = world.solve(random)
    if result is not None and random.random() < 0.2:
        world.saved(result)


METHODS = ("rows", "interrupted", "batch", "summaries", "scipy", "file")
ACTIONS = [solve] * 8 + [bulk, sweep, bad_file, resumed]
ACTIONS += [lambda world, random, name=name: getattr(world, name)(random) for name in METHODS]


def case(world: World, seed: int) -> None:
    """Do what a seed says."""
    random = Random(seed)
    world.start(random)
    random.choice(ACTIONS)(world, random)


def _raises(error: type[Exception], call) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


def measure(world: World) -> tuple[float, float, int, int, int]:
    """Resident memory, memory of Python's own blocks, OpenCL objects, threads, open files."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    heap = tracemalloc.get_traced_memory()[0] if tracemalloc.is_tracing() else 0
    objects = sum(each.context.reference_count for each in world.devices)
    files = len(os.listdir("/proc/self/fd"))
    resident = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return resident, heap / 2**20, objects, threading.active_count(), files


def verdict(samples: np.ndarray, warm: float, slope: float, noise: float) -> list[str]:
    """What broke the rule; samples are rows of COLUMNS."""
    after = samples[samples[:, 0] >= warm]
    if len(after) < 3:
        return ["too few samples after the warm-up: run it longer"]
    faults = []
    rate = float(np.polyfit(after[:, 1], after[:, 2] * 2**20, 1)[0])
    growth = rate * (after[-1, 1] - after[0, 1]) / 2**20
    hours = (after[-1, 0] - after[0, 0]) / 3600
    print(
        f"after the warm-up of {warm:.0f} s: RSS {round(rate):+d} bytes a case, "
        f"{growth:+.2f} MiB in all, {growth / hours:+.2f} MiB/h"
    )
    if rate > slope and growth > noise:
        faults.append(f"the resident memory rose by {rate:.0f} bytes a case")
    for column in (4, 5, 6):
        if after[-1, column] > after[0, column]:
            name = COLUMNS[column]
            faults.append(f"{name}: {after[0, column]:.0f} became {after[-1, column]:.0f}")
    return faults


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--cases", type=int, default=1500, help="in a pass")
    parser.add_argument("--slope", type=float, default=256, metavar="BYTES", help="a case")
    parser.add_argument("--noise", type=float, default=2, metavar="MIB")
    parser.add_argument("--every", type=float, default=30, metavar="SECONDS")
    parser.add_argument("--device", nargs="*", help="all unless given")
    parser.add_argument("--trace", action="store_true", help="say which lines allocated most")
    arguments = parser.parse_args()
    found = [choose(each) for each in arguments.device] if arguments.device else devices()
    if arguments.trace:
        tracemalloc.start(12)
    started, samples, done, warm, first = time.monotonic(), [], 0, None, None
    wrong: dict[int, Exception] = {}
    with tempfile.TemporaryDirectory(prefix="pyapsp-soak-") as folder:
        world = World(found, Path(folder))
        shuffler, order, number = Random(0), [], 0
        print(*(f"{each:>9}" for each in COLUMNS))
        while (now := time.monotonic() - started) < 60 * arguments.minutes:
            if number == len(order):
                if warm is None and order and now >= 15 * arguments.minutes:
                    warm = now
                    first = tracemalloc.take_snapshot() if arguments.trace else None
                order, number = list(range(arguments.cases)), 0
                shuffler.shuffle(order)
            try:
                case(world, order[number])
            except Exception as error:
                if order[number] not in wrong:
                    wrong[order[number]] = error
                    print(f"case {order[number]}: {error!r}", flush=True)
            number, done = number + 1, done + 1
            if not samples or now >= samples[-1][0] + arguments.every:
                samples.append((now, done, *measure(world)))
                print(*(f"{each:9.1f}" for each in samples[-1]), flush=True)
        samples.append((now, done, *measure(world)))
        print(*(f"{each:9.1f}" for each in samples[-1]))
        print(
            f"{done} cases, {done / arguments.cases:.1f} passes:", dict(sorted(world.seen.items()))
        )
    if first is not None:
        for each in tracemalloc.take_snapshot().compare_to(first, "lineno")[:15]:
            print(each)
    if warm is None:
        print("no pass was complete within the warm-up: take fewer cases or more time")
        return 1
    faults = [f"case {seed} went wrong" for seed in sorted(wrong)]
    faults += verdict(np.array(samples), warm, arguments.slope, arguments.noise)
    print("\n".join(faults) or "nothing grows")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
