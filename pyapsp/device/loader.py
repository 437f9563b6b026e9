"""Find OpenCL implementations and show them to the loader before it is first queried.

An OpenCL program talks to a *loader*, which reads ``.icd`` files, each naming the library of one
implementation. Runtimes installed as Python wheels, and drivers mounted into containers, often
lack a usable ``.icd`` file. :func:`platforms` makes a temporary folder with the system's files and
one file for each such library. For the first query an environment variable points the loader to
this folder; then the variable is restored and the folder removed.

If the user has set ``OCL_ICD_VENDORS`` or ``OPENCL_VENDOR_PATH``, nothing is added. So
``OCL_ICD_VENDORS=/nonexistent`` runs the package as on a machine without any device.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pyapsp.base.errors import DeviceError, NoDeviceError
from pyapsp.device.caches import of_user_is_usable, unwritable
from pyapsp.device.quirks import RUNTIMES

if TYPE_CHECKING:
    import pyopencl as cl

__all__ = [
    "Implementation",
    "hidden",
    "implementations",
    "load_fault",
    "no_device",
    "opencl",
    "platforms",
    "user_setting",
]

SYSTEM_DIRECTORY = Path("/etc/OpenCL/vendors")
_PLATFORM_NOT_FOUND = -1001  # CL_PLATFORM_NOT_FOUND_KHR
_INSTALL = (
    'Install a CPU runtime with `pip install "pyapsp[cpu]"`, or the OpenCL driver of your GPU. '
    "`pyapsp doctor` shows what was looked for and where."
)

# PyOpenCL reads this variable when it is first imported. If it is not set and the default folder
# cannot be made (in a container, a user without a home), nothing runs.
if not of_user_is_usable():
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")

_lock = threading.Lock()
_platforms: list[cl.Platform] | None = None


@dataclass(frozen=True)
class Implementation:
    """The library of one OpenCL implementation and how it was found."""

    library: str  # path of the library, or a name for the dynamic linker
    # "user", "system", "loader", "environment", "wheel" or "library". The user's environment
    # variable; an `.icd` file of the system, beside the loader itself, or of the Python
    # environment; an installed wheel; the dynamic linker's path.
    origin: str
    # The `.icd` file that names it; None if there is none and pyapsp writes one.
    icd: Path | None = None


def no_device(failed: Sequence[str] = ()) -> NoDeviceError:
    """Return the error for a machine without an OpenCL device; it names what is missing.

    Parameters
    ----------
    failed : sequence of str
        Messages for the drivers that failed when they were asked for their devices.
    """
    causes = [*failed, *hidden()]
    if not causes:
        faults = (load_fault(each.library) for each in implementations())
        causes = [f"A driver cannot be loaded ({fault})." for fault in faults if fault]
        causes.append(_INSTALL)
    return NoDeviceError(" ".join(["No OpenCL device was found.", *causes]))


def load_fault(library: str) -> str | None:
    """Return why the library of an implementation cannot be loaded; None if it can."""
    try:
        ctypes.CDLL(library)
    except OSError as error:
        return str(error)
    return None


def hidden() -> list[str]:
    """Return a message for each implementation that shows no device, with the remedy."""
    return unwritable(each.library for each in implementations())


def opencl() -> ModuleType:
    """Import PyOpenCL.

    Raises
    ------
    NoDeviceError
        PyOpenCL, or the loader library it is linked to, is missing.
    """
    try:
        import pyopencl
    except ImportError as error:
        raise NoDeviceError(f"PyOpenCL cannot be imported ({error}). {no_device()}") from error
    return pyopencl


def user_setting() -> tuple[str, str] | None:
    """Return the variable (name, value) with which the user sets the ``.icd`` files, if any."""
    for name in ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"):
        if value := os.environ.get(name):
            return name, value
    return None


def implementations() -> list[Implementation]:
    """List the implementations that are shown to the loader, in the order of their origins.

    Returns
    -------
    list of Implementation
        One per library; a library that an ``.icd`` file names is not listed a second time.
    """
    if setting := user_setting():
        return list(_in_user_setting(Path(setting[1])))
    found = [*_in_directory(SYSTEM_DIRECTORY, "system"), *_beside_loader()]
    named = {_stem(each.library) for each in found if _may_exist(each.library)}
    for each in (*_in_prefix(), *_without_icd()):
        if _stem(each.library) not in named:
            named.add(_stem(each.library))
            found.append(each)
    return found


def platforms() -> list[cl.Platform]:
    """Return the OpenCL platforms; the loader is queried once per process.

    If the program has already queried the loader through PyOpenCL, only the platforms that the
    loader found then are returned.

    Raises
    ------
    NoDeviceError
        PyOpenCL is missing.
    DeviceError
        The loader failed with another error than that it found no platform.
    """
    global _platforms
    with _lock:
        if _platforms is None:
            cl = opencl()
            with _shown(implementations()):
                try:
                    _platforms = cl.get_platforms()
                except cl.Error as error:
                    if error.code != _PLATFORM_NOT_FOUND:
                        raise DeviceError(f"the OpenCL loader failed: {error}") from error
                    _platforms = []
        return list(_platforms)


@contextmanager
def _shown(found: list[Implementation]) -> Iterator[None]:
    """Point the loader at everything in `found`, and restore the environment afterwards."""
    # Loaders read .icd files on Linux only, and need no help when every library has one.
    if (
        not sys.platform.startswith("linux")
        or user_setting()
        or all(each.origin in ("system", "loader") for each in found)
    ):
        yield
        return
    before = os.environ.get("OCL_ICD_VENDORS")  # "" counts as not set
    with ExitStack() as stack:
        try:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="pyapsp-icd-"))
            # Fixed names in a fixed order, so that platforms keep their numbers between processes.
            for number, each in enumerate(each for each in found if each.origin != "loader"):
                icd = Path(directory, f"{number:02}.icd")
                icd.write_text(f"{each.library}\n", encoding="utf-8")
        except OSError as error:
            raise DeviceError(
                f"cannot write .icd files for the OpenCL loader: {error}. Set TMPDIR to a folder "
                "that can be written"
            ) from error
        os.environ["OCL_ICD_VENDORS"] = directory
        try:
            yield
        finally:
            if before is None:
                del os.environ["OCL_ICD_VENDORS"]
            else:
                os.environ["OCL_ICD_VENDORS"] = before


def _in_directory(directory: Path, origin: str) -> Iterator[Implementation]:
    for icd in sorted(directory.glob("*.icd")):
        yield from _named_in(icd, origin)


def _named_in(icd: Path, origin: str) -> Iterator[Implementation]:
    try:
        lines = icd.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:  # a file that this process cannot read, the loader cannot read either
        return
    if library := lines[0].strip():
        yield Implementation(library, origin, icd)


def _in_prefix() -> Iterator[Implementation]:
    """``.icd`` files in the tree of the Python environment; those of some wheels are broken."""
    directory = Path(sys.prefix, "etc", "OpenCL", "vendors")
    for each in _in_directory(directory, "environment"):
        if _may_exist(each.library):
            yield each


def _in_user_setting(path: Path) -> Iterator[Implementation]:
    if path.is_dir():
        yield from _in_directory(path, "user")
        yield from _beside_loader()
    elif path.suffix == ".icd":
        yield from _named_in(path, "user")
    elif path.is_file():
        yield Implementation(str(path), "user")


def _beside_loader() -> Iterator[Implementation]:
    """``.icd`` files that a loader bundled with PyOpenCL reads from its own folder."""
    spec = importlib.util.find_spec("pyopencl")
    if spec is None or spec.origin is None:
        return
    directory = Path(spec.origin).parent / ".libs"
    if any(directory.glob("libOpenCL*")):
        for each in _in_directory(directory, "loader"):
            yield Implementation(str(directory / each.library), "loader", each.icd)


def _without_icd() -> Iterator[Implementation]:
    for runtime in RUNTIMES:
        if runtime.distribution is None:
            if load_fault(runtime.library) is None:
                yield Implementation(runtime.library, "library")
        else:
            try:
                files = metadata.files(runtime.distribution) or []
            except metadata.PackageNotFoundError:
                continue
            for file in files:
                path = Path(str(file.locate()))
                if fnmatch(file.name, runtime.library) and path.exists():
                    yield Implementation(str(path.resolve()), "wheel")


def _stem(library: str) -> str:
    """``/usr/lib/libx.so.1.2`` -> ``libx``: the same library under all its version names."""
    return Path(library).name.partition(".so")[0]


def _may_exist(library: str) -> bool:
    """Whether a library named in an ``.icd`` file exists; the linker finds names without path."""
    return not os.path.isabs(library) or os.path.exists(library)
