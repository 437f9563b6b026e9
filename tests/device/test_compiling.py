"""What a compilation says and needs: a line on a terminal, no chatter, a disk with room."""

from __future__ import annotations

import dataclasses
import io
import logging
import os
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pyopencl as cl
import pytest

import pyapsp
from pyapsp.cli import main
from pyapsp.device import caches, compiling, probes, selftest
from pyapsp.device.kernels import Program, program
from pyapsp.device.quirks import Instructions
from pyapsp.errors import DeviceError, DiskSpaceError
from pyapsp.graph import generators

LINE = "pyapsp: compiling kernels, once\n"
CHATTY = "kernel void f(global int *a) { int *q = 3; a[0] = q == 0; }"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def fresh(monkeypatch):
    """A process that has compiled nothing."""
    monkeypatch.setattr(compiling, "_told", threading.Lock())
    monkeypatch.setattr(compiling, "_spent", 0.0)
    monkeypatch.setattr(compiling, "_PATIENCE", 0.3)


def compile_for(*seconds):
    for each in seconds:
        with compiling.compiling("nobody's platform"):
            time.sleep(each)


@pytest.mark.parametrize(
    ("stream", "seconds", "text"),
    [
        (Terminal, [0.5], LINE),
        (Terminal, [0.5, 0.5], LINE),
        (Terminal, [0.2, 0.2], LINE),  # 0.4 s in all
        (Terminal, [0.01] * 40, ""),  # kernels of the cache
        (io.StringIO, [0.5], ""),
    ],
)
def test_a_terminal_is_told_once(stream, seconds, text, fresh, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    compile_for(*seconds)
    assert sys.stderr.getvalue() == text


@pytest.mark.parametrize("gone", [None, "closed"])
def test_without_standard_error_nothing_is_told(gone, fresh, monkeypatch):
    stream = Terminal()
    stream.close()
    monkeypatch.setattr(sys, "stderr", None if gone is None else stream)
    compile_for(0.5)
    assert compiling._spent >= 0.5  # it was looked at, and nothing was raised


def test_compilers_are_silent(device, tmp_path):
    """The driver itself counts warnings on descriptor 2: the process has to be another."""
    code = f"""
from pyapsp.device import choose
from pyapsp.device.kernels import Program, program
Program(choose({device.id!r}), {CHATTY!r})
"""
    folders = {"PYTHONPATH": os.pathsep.join(sys.path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **folders}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_developer_gets_the_warnings(device, caplog, monkeypatch):
    with caplog.at_level(logging.DEBUG, "pyapsp.device.kernels.program"):
        given = []
        build = cl.Program.build

        def noted(self, options=(), **more):
            given.extend(options)
            return build(self, options, **more)

        monkeypatch.setattr(cl.Program, "build", noted)
        Program(device, CHATTY)
        assert "-w" not in given
    Program(device, CHATTY)
    assert given[-1] == "-w"


@pytest.fixture
def folder(device, tmp_path, monkeypatch):
    """The only folder of drivers, which is that of the device's."""
    cache = "PYAPSP_TEST_FOLDER", "below"
    runtime = dataclasses.replace(
        caches.RUNTIMES[0], platform=device.platform_name.lower(), cache=cache
    )
    monkeypatch.setattr(caches, "RUNTIMES", (runtime,))
    monkeypatch.setenv("PYAPSP_TEST_FOLDER", str(tmp_path / "of the driver"))
    return tmp_path / "of the driver"


@pytest.fixture
def no_compiler(monkeypatch):
    """Let any call of a compiler fail the test, as some of them end the process."""

    def called(*_, **__):
        pytest.fail("the compiler was called")

    monkeypatch.setattr(cl, "Program", called)


def fill(monkeypatch):
    full = SimpleNamespace(f_bavail=2**19, f_frsize=1, f_files=100, f_favail=10)
    monkeypatch.setattr(caches.os, "statvfs", lambda path: full)


DOORS = {
    "a kernel": lambda device: Program(device, CHATTY),
    "the probe of fences": lambda device: probes.chain_fault(device.handle),
    "the probe of loops": lambda device: probes._counted(device.handle),
    "a probe of instructions": lambda device: probes._tried(
        device.handle, Instructions(CHATTY, (0,), (0,))
    ),
    "the self test": lambda device: selftest._run(device.id),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_full_disk_is_found_before_the_compiler_runs(
    door, device, folder, no_compiler, monkeypatch
):
    fill(monkeypatch)
    with pytest.raises(DiskSpaceError, match=f"{folder}.*PYAPSP_TEST_FOLDER"):
        DOORS[door](device)


@pytest.mark.parametrize("door", DOORS)
def test_so_is_a_folder_that_is_not_writable(door, device, folder, no_compiler):
    folder.write_text("a file")
    with pytest.raises(DeviceError, match=f"cannot write {folder}.*PYAPSP_TEST_FOLDER"):
        DOORS[door](device)


def test_the_disk_of_another_driver_may_be_full(device, folder, monkeypatch):
    other = dataclasses.replace(caches.RUNTIMES[0], platform="nobody's platform")
    monkeypatch.setattr(caches, "RUNTIMES", (other,))
    fill(monkeypatch)
    assert Program(device, CHATTY).kernel("f").num_args == 1


def test_a_full_disk_is_exit_code_5(device, folder, tmp_path, capsys, monkeypatch):
    graph = tmp_path / "g.gr"
    pyapsp.write(generators.random_graph(23, seed=1), graph)
    monkeypatch.setattr(program, "_build", program._build.__wrapped__)  # nothing is built yet
    with monkeypatch.context() as patch:
        fill(patch)
        code = main(["sssp", str(graph), "--device", device.id])
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (5, 1)
    assert f"compiling a kernel writes into {folder}, and its disk is full" in error
