"""Twins in CUDA of kernels of OpenCL, and what the hardware counts of them.

A twin has the text of the kernel, in the words of CUDA (``opencl.cuh``), and the same launch. ncu,
which sees only CUDA, observes it.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from papers.runner import require_equal
from pyapsp.base.json import Json
from pyapsp.device import Device
from pyapsp.errors import CapabilityError

if TYPE_CHECKING:
    from papers.busato_profiling.launches import SavedLaunch

__all__ = ["Counters", "counters_of", "cuda_text", "in_cuda", "require_tools"]

#: Name of a counter -> its value in a launch.
Counters = Mapping[str, float]

_HERE = Path(__file__).parent
# `__local` of a variable, not of a pointer
_VARIABLE = re.compile(r"__local\b(?=[\w\s]+[\[;,])")
_SECTIONS = ("Occupancy", "LaunchStats")
_TYPES = {
    np.int32: "c_int",
    np.uint32: "c_uint",
    np.int64: "c_int64",
    np.uint64: "c_uint64",
    np.float32: "c_float",
    np.float64: "c_double",
}


def require_tools(device: Device) -> dict[str, str]:
    """Return the paths of the programs that twins need, by name.

    Raises
    ------
    CapabilityError
        If one is not there, or the device does not run CUDA.
    """
    if not device.architecture.startswith("sm_"):
        raise CapabilityError(f"twins in CUDA do not run on {device.name}")
    found = {name: shutil.which(name) for name in ("nvcc", "ncu")}
    for name, path in found.items():
        if path is None:
            raise CapabilityError(f"{name} is not in PATH: it is a part of CUDA's toolkit")
    return {name: str(path) for name, path in found.items()}


def cuda_text(source: str) -> str:
    """Return the text of kernels in the words of CUDA."""
    header = (_HERE / "opencl.cuh").read_text(encoding="utf-8")
    return f"{header}\n{_VARIABLE.sub('__shared__', source)}\n"


def in_cuda(saved: SavedLaunch, folder: Path) -> None:
    """Write what `driver.py` reads of a launch, but for the module, which is yet to be compiled.

    Raises
    ------
    CapabilityError
        If it has arguments that `driver.py` does not know.
    """
    names: dict[int, str] = {}
    arguments: list[Json] = []
    for number, each in enumerate(saved.arguments):
        if isinstance(each, np.ndarray):
            if id(each) not in names:
                names[id(each)] = f"{number}.bin"
                (folder / f"{number}.bin").write_bytes(each.tobytes())
            arguments.append({"buffer": names[id(each)]})
        elif isinstance(each, np.generic) and type(each) in _TYPES:
            arguments.append({"type": _TYPES[type(each)], "value": each.item()})
        elif each is None:
            arguments.append(None)
        else:
            raise CapabilityError(f"{saved.kernel}: argument {number} has no twin")
    about = {
        "module": "twin.cubin",
        "kernel": saved.kernel,
        "device": saved.device.pci_address,
        "items": _of_three(saved.shape.items),
        "group": _of_three(saved.shape.group),
        "arguments": arguments,
    }
    (folder / "launch.json").write_text(json.dumps(about), encoding="utf-8")
    (folder / "twin.cu").write_text(cuda_text(saved.source), encoding="utf-8")


def counters_of(
    saved: SavedLaunch, names: Sequence[str], results: Sequence[np.ndarray]
) -> Counters:
    """Return what the hardware counts of the twin of a launch.

    Parameters
    ----------
    saved : SavedLaunch
    names : sequence of str
        Metrics of ncu, beside those of its sections Occupancy and LaunchStats.
    results : sequence of ndarray
        The bytes of all buffers after the launch.

    Raises
    ------
    CapabilityError
        If a program is missing, the twin does not compile, or ncu may not read the counters.
    VerificationError
        If the twin writes something else.
    """
    tools = require_tools(saved.device)
    with TemporaryDirectory() as name:
        folder = Path(name)
        in_cuda(saved, folder)
        compiler = [tools["nvcc"], f"-arch={saved.device.architecture}", "-cubin", "-w"]
        done = _run([*compiler, "-o", folder / "twin.cubin", folder / "twin.cu"])
        if done.returncode:
            raise CapabilityError(f"nvcc refuses the twin of {saved.kernel}: {done.stderr}")
        profiler = [tools["ncu"], "--clock-control", "none", "--csv", "--page", "raw"]
        profiler += ["--print-units", "base", "--log-file", str(folder / "counters.csv")]
        profiler += [word for each in _SECTIONS for word in ("--section", each)]
        profiler += ["--metrics", ",".join(names)]
        done = _run([*profiler, sys.executable, "-I", _HERE / "driver.py", folder])
        log = folder / "counters.csv"
        text = log.read_text(encoding="utf-8") if log.exists() else ""
        if done.returncode or '"ID"' not in text:
            raise CapabilityError(f"ncu: {(text + done.stdout + done.stderr).strip()[-500:]}")
        files = sorted(folder.glob("*.bin"), key=lambda file: int(file.stem))
        for right, file in zip(results, files, strict=True):
            what = f"the twin of {saved.kernel}, argument {file.stem}"
            require_equal(np.frombuffer(file.read_bytes(), np.uint8), right, what)
        return read(text)


def read(text: str) -> Counters:
    """Return the counters of the one launch in a log of ncu, as CSV."""
    rows = list(csv.reader(text[text.index('"ID"') :].splitlines()))
    names, values = rows[0], rows[-1]  # between them are units
    found = {}
    for name, value in zip(names, values, strict=True):
        with suppress(ValueError):  # names of programs and devices are among them
            found[name] = float(value.replace(",", ""))
    return found


def _run(words: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)


def _of_three(shape: Sequence[int]) -> list[Json]:
    return [*shape, *[1] * (3 - len(shape))]
