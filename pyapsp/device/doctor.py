"""Find out why a device is missing or does not work, in a separate process that may crash."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from importlib import metadata
from typing import Any

from pyapsp.device import loader
from pyapsp.device.caches import full_disk
from pyapsp.device.quirks import RUNTIME_SETTINGS, RUNTIMES, VARIABLES
from pyapsp.device.verdicts import failures

__all__ = ["examine", "report"]

_PACKAGES = ("pyapsp", "numpy", "scipy", "pyopencl")
_VARIABLES = (
    "PYAPSP_DEVICE",
    "PYOPENCL_CTX",
    "OCL_ICD_VENDORS",
    "OPENCL_VENDOR_PATH",
    "OCL_ICD_FILENAMES",
    "LD_LIBRARY_PATH",
    "XDG_CACHE_HOME",
    "TMPDIR",
    *VARIABLES,
    *RUNTIME_SETTINGS,
)


def examine(timeout: float = 120.0) -> dict[str, Any]:
    """Check everything that an OpenCL program needs, and test every device.

    Parameters
    ----------
    timeout : float
        Seconds given to each driver for an answer.

    Returns
    -------
    dict
        JSON values: ``ok`` (at least one device works), ``python``, ``system``, ``packages``
        (name to version or None), ``runtimes`` (packages with OpenCL drivers, installed or not),
        ``environment`` (variables that are set), ``loader`` (path of the OpenCL loader in use),
        ``implementations`` (every library found, its origin, and whether it was loaded or the
        error), ``devices`` (each with ``works``, ``seconds``, ``error``, and ``failed``: the
        methods and functions known to be wrong on its driver, with the fault), ``advice`` (list
        of text).
    """
    survey = _ask([], timeout)
    found = survey.get("devices", [])
    for device in found:
        device.update(works=False, seconds=None)
        device.update(_ask([device["id"]], timeout))
        device["failed"] = failures(device)
    ok = any(device["works"] for device in found)
    runtimes = [
        {
            "name": runtime.name,
            "distribution": runtime.distribution,
            "version": runtime.distribution and _version(runtime.distribution),
            "install": runtime.install,
        }
        for runtime in RUNTIMES
    ]
    return {
        "ok": ok,
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "packages": {name: _version(name) for name in _PACKAGES},
        "runtimes": runtimes,
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "loader": survey.get("loader"),
        "implementations": survey.get("implementations", []),
        "devices": found,
        "advice": _advice(survey, found, runtimes, ok),
    }


def report(examined: dict[str, Any]) -> str:
    """Return the result of :func:`examine` as text.

    Parameters
    ----------
    examined : dict
        The result of :func:`examine`. A device may also have ``advice``, a line of text.

    Returns
    -------
    str
        Lines of plain text.
    """
    lines = [f"python {examined['python']}", f"system {examined['system']}", "", "packages"]
    for name, version in examined["packages"].items():
        lines.append(f"  {name} {version or 'not installed'}")
    for runtime in examined["runtimes"]:
        if runtime["distribution"]:
            state = runtime["version"] or f"not installed: {runtime['install']}"
            lines.append(f"  {runtime['distribution']} ({runtime['name']}) {state}")
    if examined["environment"]:
        lines += ["", "environment"]
        lines += [f"  {name}={value}" for name, value in examined["environment"].items()]
    lines += ["", f"OpenCL loader: {examined['loader'] or 'not known'}", "", "implementations"]
    for each in examined["implementations"]:
        source = f"named by {each['icd']}" if each["icd"] else "has no .icd file, added by pyapsp"
        lines.append(f"  {each['library']}\n    from: {each['origin']}, {source}")
        lines.append("    loaded" if each["loaded"] else f"    NOT LOADED: {each['error']}")
    if not examined["implementations"]:
        lines.append("  none found")
    lines += ["", "devices"]
    for device in examined["devices"]:
        lines.append(f"  {device['id']} ({device['kind']}) {device['name']}, {device['platform']}")
        if device["works"]:
            lines.append(f"    works: kernel built, run and checked in {device['seconds']:.2f} s")
        else:
            lines.append(f"    FAILS: {device['error']}")
        for subject, fault in device["failed"].items():
            lines.append(f"    found wrong on this driver: {subject}: {fault}")
        if device.get("advice"):
            lines.append(f"    {device['advice']}")
    if not examined["devices"]:
        lines.append("  none found")
    return "\n".join([*lines, "", *examined["advice"]])


def _ask(arguments: list[str], timeout: float) -> dict[str, Any]:
    """Call the drivers in another process; a crash or timeout becomes the ``error`` text."""
    command = [sys.executable, "-m", "pyapsp.device.selftest", *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer from the driver within {timeout:g} s"}
    if done.returncode < 0:
        how = signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
        return {"error": f"the driver ended the process: {how}. {_last_line(done.stderr)}"}
    try:
        answer: dict[str, Any] = json.loads(_last_line(done.stdout))
    except json.JSONDecodeError:
        return {"error": f"exit status {done.returncode}. {_last_line(done.stderr)}"}
    return answer


def _last_line(text: str) -> str:
    return next(reversed(text.strip().splitlines()), "")


def _advice(
    survey: dict[str, Any],
    found: list[dict[str, Any]],
    runtimes: list[dict[str, str | None]],
    ok: bool,
) -> list[str]:
    advice = [*survey.get("failed", []), *loader.hidden()]
    if (full := full_disk()) is not None:
        advice.append(str(full))
    if ok:
        working = sum(device["works"] for device in found)
        return [f"{working} of {len(found)} devices work.", *advice]
    advice.insert(0, "No device works." if found else survey["error"])
    if setting := loader.user_setting():
        name, value = setting
        advice.append(
            f"Only {name}={value} was searched: unset it to find the other implementations."
        )
    if not all(each["loaded"] for each in survey.get("implementations", [])):
        advice.append("An implementation was found that cannot be loaded; the error is above.")
    errors = " ".join([survey.get("error", ""), *(device["error"] or "" for device in found)])
    advice += [
        f"{each.name} links kernels: install {each.linker}."
        for each in RUNTIMES
        if each.linker and "linking" in errors
    ]
    missing = [each for each in runtimes if each["distribution"] and not each["version"]]
    advice += [f"{each['name']} is not installed: {each['install']}" for each in missing]
    return advice


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
