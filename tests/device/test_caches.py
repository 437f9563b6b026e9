"""Folders of compilers that cannot be written, or are on a full disk: named, with what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pyopencl as cl
import pytest

from pyapsp.device import caches, doctor, loader
from pyapsp.device.kernels import Program
from pyapsp.errors import DeviceError, DiskSpaceError, KernelBuildError, NoDeviceError

NOWHERE = "/dev/null/cache"  # where nobody can write, the administrator neither
SOLVE = """
import sys, numpy as np, pyapsp
print(pyapsp.solve(np.array([[0, 3], [1, 0.0]]), dtype="int32", device=sys.argv[1]).distances)
"""


def portable():
    """The library of the implementation that needs its cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OCL_ICD_VENDORS", raising=False)
        return next(each for each in loader.implementations() if "libpocl" in each.library)


@pytest.fixture
def hidden(monkeypatch):
    """Let the runtime have nowhere to write."""
    monkeypatch.setenv("XDG_CACHE_HOME", NOWHERE)
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)


def python(*arguments):
    path = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_a_hidden_device_is_named_with_the_cause(hidden, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", portable().library)
    done = python("-c", SOLVE, "cpu")
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert "NoDeviceError: No OpenCL device was found." in last
    assert f"{NOWHERE}/pocl/kcache" in last
    assert "POCL_CACHE_DIR" in last
    assert "XDG_CACHE_HOME" in last
    assert "Install" not in last


def test_the_doctor_names_it_too(hidden, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", portable().library)
    done = python("-m", "pyapsp", "doctor", "--json")
    told = json.loads(done.stdout)
    assert told["devices"] == []
    assert any("POCL_CACHE_DIR" in line and NOWHERE in line for line in told["advice"])
    assert told["environment"]["XDG_CACHE_HOME"] == NOWHERE


def test_a_device_that_is_asked_for_by_name_says_why_it_is_not_there(hidden):
    done = python("-c", SOLVE, "portable")
    assert done.returncode != 0
    assert "NoDeviceError" in done.stderr
    assert "POCL_CACHE_DIR" in done.stderr


@pytest.mark.slow
def test_the_cache_of_pyopencl_and_our_own_are_not_needed(hidden, monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    done = python("-c", SOLVE, "portable")
    assert (done.returncode, done.stdout) == (0, "[[0 3]\n [1 0]]\n"), done.stderr


def test_a_folder_that_can_be_made_hides_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "a" / "b"))
    assert caches.unwritable(["libpocl.so.2.10.0"]) == []
    (tmp_path / "a").write_text("a file")
    assert len(caches.unwritable(["/usr/lib/libpocl.so.2.10.0"])) == 1
    assert caches.unwritable(["libelse.so"]) == []  # of who is not there nothing is missing


def full(free=4096, inodes=10):
    return SimpleNamespace(f_bavail=free, f_frsize=1, f_files=100, f_favail=inodes)


@pytest.mark.parametrize("disk", [full(), full(2**40, 0)], ids=["bytes", "inodes"])
def test_a_full_disk_is_no_fault_of_the_kernel(disk, device, monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    with pytest.raises(KernelBuildError):
        Program(device, "no kernel")
    monkeypatch.setattr(caches.os, "statvfs", lambda path: disk)
    with pytest.raises(DiskSpaceError, match=f"{tmp_path}.*POCL_CACHE_DIR or XDG_CACHE_HOME"):
        Program(device, "no kernel")
    assert any("disk is full" in line for line in doctor.examine(0.001)["advice"])


def test_a_full_temporary_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(caches.tempfile, "gettempdir", lambda: "/tmp/elsewhere")
    there = os.statvfs(tmp_path)
    monkeypatch.setattr(caches.os, "statvfs", lambda path: full() if path == "/tmp" else there)
    monkeypatch.setattr(caches, "_existing", lambda path: "/tmp" if "else" in str(path) else "/")
    assert "TMPDIR" in str(caches.full_disk())


@pytest.mark.parametrize("error", [KeyError("PYOPENCL_CACHE_FAILURE_FATAL"), OSError("read-only")])
def test_a_build_does_without_the_cache_of_pyopencl(error, device, monkeypatch):
    class Uncached(cl.Program):
        def build(self, options=(), cache_dir=None):
            if cache_dir is not False:
                raise error
            return super().build(options, cache_dir=False)

    monkeypatch.setattr(cl, "Program", Uncached)
    assert Program(device, "kernel void right(global int *a) { a[0] = 1; }").kernel("right")


def test_without_a_temporary_folder_the_loader_says_so(monkeypatch):
    def none(**_):
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(loader.tempfile, "TemporaryDirectory", none)
    wheel = loader.Implementation("/x/libx.so", "wheel")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    refused = pytest.raises(DeviceError, match=r"No usable temporary directory found.*TMPDIR")
    with refused, loader._shown([wheel]):
        pytest.fail("shown nothing")


def test_without_opencl_it_imports_and_says_what_to_install(monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/nonexistent")
    assert python("-c", "import pyapsp, pyapsp.csgraph; print(pyapsp.devices())").stdout == "[]\n"
    done = python("-c", SOLVE, "")
    assert "NoDeviceError: No OpenCL device was found. Install" in done.stderr
    assert issubclass(NoDeviceError, DeviceError)
    assert 'pip install "pyapsp[cpu]"' in python("-m", "pyapsp", "doctor").stdout
