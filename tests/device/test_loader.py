"""The loader answers once per process, so each of these tests asks in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path

import pytest

from pyapsp.device import loader
from pyapsp.device.loader import Implementation
from pyapsp.device.quirks import RUNTIMES

PRELUDE = """
import json, os, sys, tempfile
from pathlib import Path
from pyapsp.device import choose, devices, loader
from pyapsp.errors import PyApspError
def loaded():
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sorted({Path(line.split()[-1]).name for line in maps if "/" in line})
def tell(**facts):
    print(json.dumps(facts))
"""
VARIABLES = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "PYAPSP_DEVICE", "PYOPENCL_CTX")
WHEELS = [runtime for runtime in RUNTIMES if runtime.distribution]


def ask(code, **environment):
    """Run `code` after PRELUDE in a new process and return what it tells."""
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + code],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def is_installed(runtime):
    try:
        return bool(metadata.version(runtime.distribution))
    except metadata.PackageNotFoundError:
        return False


@pytest.mark.parametrize(
    "runtime", [runtime for runtime in WHEELS if is_installed(runtime)], ids=lambda each: each.name
)
def test_installed_wheels_give_devices_without_any_variable(runtime):
    told = ask("found = devices(); tell(loaded=loaded(), n=len(found))")
    stem = runtime.library.partition("*")[0].partition(".so")[0]
    assert told["n"] >= 1
    assert any(name.startswith(stem) for name in told["loaded"])


def test_every_installed_wheel_is_its_own_platform():
    told = ask("tell(platforms=[platform.name for platform in loader.platforms()])")
    assert len(told["platforms"]) >= sum(map(is_installed, WHEELS))


@pytest.mark.every(2)
@pytest.mark.parametrize("before", [None, ""])
def test_environment_is_restored_and_nothing_is_left_behind(before, tmp_path):
    extra = {} if before is None else {"OCL_ICD_VENDORS": before}
    python_path = filter(None, [os.environ.get("PYTHONPATH")])
    told = ask(
        """
before = dict(os.environ)
import pyopencl as cl
before["PYOPENCL_HOME"] = os.environ.get("PYOPENCL_HOME")
get_platforms, seen = cl.get_platforms, []
def spy():
    where = os.environ.get("OCL_ICD_VENDORS")
    seen.append(sorted(p.read_text() for p in Path(where).iterdir()) if where else None)
    return get_platforms()
cl.get_platforms = spy
loader.SYSTEM_DIRECTORY = Path(os.environ["SYSTEM"])
first, second = loader.platforms(), loader.platforms()
tell(same=first == second, asked=len(seen), shown=seen[0],
     changed=[k for k in set(before) | set(os.environ) if before.get(k) != os.environ.get(k)])
""",
        TMPDIR=str(tmp_path),
        SYSTEM=str(fake_system(tmp_path / "system", "libno-such-thing.so.1")),
        # a library outside the .icd files, so that there is something to show in any case
        PYTHONPATH=os.pathsep.join(
            [str(fake_wheel(tmp_path / "site", "libpocl-elsewhere.so")), *python_path]
        ),
        **extra,
    )
    assert told["same"]
    assert told["asked"] == 1
    assert told["changed"] == []
    assert "libno-such-thing.so.1\n" in told["shown"]
    assert any(line.endswith("/libpocl-elsewhere.so\n") for line in told["shown"])
    assert not list(tmp_path.glob("pyapsp-icd-*"))


def fake_system(directory, library):
    directory.mkdir()
    (directory / "one.icd").write_text(f"{library}\n")
    return directory


def fake_wheel(site, library):
    """An installed distribution of another site that contains `library`."""
    info = site / "pocl_binary_distribution-9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pocl-binary-distribution\nVersion: 9.9\n"
    )
    (info / "RECORD").write_text(f"somewhere/{library},,\nmissing/libpocl-gone.so,,\n")
    (site / "somewhere").mkdir()
    (site / "somewhere" / library).write_text("")
    return site


def test_a_wheel_on_any_path_is_found_by_its_files(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(fake_wheel(tmp_path, "libpocl-elsewhere.so")))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = [each for each in loader.implementations() if "elsewhere" in each.library]
    assert found == [Implementation(str(tmp_path / "somewhere/libpocl-elsewhere.so"), "wheel")]
    assert not any("gone" in each.library for each in loader.implementations())


@pytest.mark.parametrize(
    ("named", "added"),
    [
        ("libpocl-elsewhere.so", False),
        ("libpocl-elsewhere.so.2.14\n# more", False),
        ("{here}/libpocl-elsewhere.so.2", False),
        ("/no/such/place/libpocl-elsewhere.so", True),  # broken, so it names nothing
        ("libpocl-other.so", True),
        ("", True),
    ],
)
def test_a_library_named_by_the_system_is_not_added_again(tmp_path, monkeypatch, named, added):
    monkeypatch.syspath_prepend(str(fake_wheel(tmp_path / "site", "libpocl-elsewhere.so")))
    (tmp_path / "libpocl-elsewhere.so.2").write_text("")
    system = fake_system(tmp_path / "system", named.format(here=tmp_path))
    monkeypatch.setattr(loader, "SYSTEM_DIRECTORY", system)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = loader.implementations()
    assert any(each.origin == "wheel" and "elsewhere" in each.library for each in found) == added
    of_system = [each for each in found if each.origin == "system"]
    assert [each.icd for each in of_system] == ([system / "one.icd"] if named else [])
    assert all("\n" not in each.library for each in found)


def test_what_lies_beside_the_loader_is_left_to_the_loader(tmp_path, monkeypatch):
    beside = tmp_path / "pyopencl/.libs"
    beside.mkdir(parents=True)
    (beside.parent / "__init__.py").write_text("")
    (beside / "libOpenCL-1234.so.1").write_text("")
    (beside / "libpocl-elsewhere.so").write_text("")
    (beside / "x.icd").write_text("libpocl-elsewhere.so")  # a name, meant beside the .icd file
    monkeypatch.syspath_prepend(str(fake_wheel(tmp_path / "site", "libpocl-elsewhere.so")))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = [each for each in loader.implementations() if "elsewhere" in each.library]
    assert found == [
        Implementation(str(beside / "libpocl-elsewhere.so"), "loader", beside / "x.icd")
    ]
    (beside / "libOpenCL-1234.so.1").unlink()  # a loader of the system reads no such files
    found = [each for each in loader.implementations() if "elsewhere" in each.library]
    assert [each.origin for each in found] == ["wheel"]


def test_broken_files_in_the_environment_are_passed_over(tmp_path, monkeypatch):
    vendors = tmp_path / "etc/OpenCL/vendors"
    vendors.mkdir(parents=True)
    (vendors / "a.icd").write_text("/placeholder/of/a/packager/libx.so")
    (vendors / "b.icd").write_text("libgood-name.so")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    found = [each for each in loader.implementations() if each.origin == "environment"]
    assert found == [Implementation("libgood-name.so", "environment", vendors / "b.icd")]


@pytest.mark.slow
def test_a_library_without_icd_is_found_on_the_linkers_path(tmp_path):
    library = next(runtime.library for runtime in RUNTIMES if runtime.distribution is None)
    source = next(Path(sys.prefix).glob("lib/python*/site-packages/numpy/random/_common*.so"))
    shutil.copy(source, tmp_path / library)
    code = "tell(found=[e.library for e in loader.implementations() if e.origin == 'library'])"
    assert ask(code, LD_LIBRARY_PATH=str(tmp_path))["found"] == [library]
    told = ask(
        "loader.SYSTEM_DIRECTORY = Path(os.environ['SYSTEM'])\n" + code,
        LD_LIBRARY_PATH=str(tmp_path),
        SYSTEM=str(fake_system(tmp_path / "system", library)),
    )
    assert told["found"] == []
    # no implementation of OpenCL at all: the loader passes over it
    assert ask("tell(n=len(devices()))", LD_LIBRARY_PATH=str(tmp_path))["n"] >= 1


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"])
def test_the_users_setting_is_respected(name, tmp_path):
    fake_system(tmp_path / "mine", "libno-such-thing.so.1")
    told = ask(
        """
import pyopencl as cl
get_platforms, seen = cl.get_platforms, []
def spy():
    seen.append(os.environ.get(os.environ["NAME"]))
    return get_platforms()
cl.get_platforms = spy
loader.platforms()
tell(seen=seen, origins=sorted({e.origin for e in loader.implementations()}),
     user=[e.library for e in loader.implementations() if e.origin == "user"])
""",
        NAME=name,
        **{name: str(tmp_path / "mine")},
    )
    assert told["seen"] == [str(tmp_path / "mine")]
    assert set(told["origins"]) <= {"user", "loader"}
    assert told["user"] == ["libno-such-thing.so.1"]


def test_the_user_can_name_one_library(monkeypatch, tmp_path):
    library = tmp_path / "libmine.so"
    library.write_text("")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(library))
    assert loader.implementations() == [Implementation(str(library), "user")]


NOTHING = """
try:
    choose()
except PyApspError as error:
    tell(name=type(error).__name__, text=str(error), n=N)
"""


def test_no_platform_is_no_device():
    told = ask(NOTHING.replace("N", "len(devices())"), OCL_ICD_VENDORS="/nonexistent")
    assert told["name"] == "NoDeviceError"
    assert told["n"] == 0
    assert 'pip install "pyapsp[cpu]"' in told["text"]
    assert "pyapsp doctor" in told["text"]


def test_a_driver_that_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "x.icd").write_text("/no/such/libx.so\n")
    told = ask(NOTHING.replace("N", "len(devices())"), OCL_ICD_VENDORS=f"{tmp_path}/x.icd")
    assert told["name"] == "NoDeviceError"
    assert "A driver cannot be loaded (/no/such/libx.so: " in told["text"]
    assert 'pip install "pyapsp[cpu]"' in told["text"]


def test_no_pyopencl_is_no_device():
    told = ask("sys.modules['pyopencl'] = None\n" + NOTHING.replace("N", "0"))
    assert told["name"] == "NoDeviceError"
    assert "PyOpenCL cannot be imported" in told["text"]
    assert 'pip install "pyapsp[cpu]"' in told["text"]


def test_another_fault_of_the_loader_is_a_device_error(monkeypatch):
    import pyopencl as cl

    from pyapsp.errors import DeviceError, NoDeviceError

    class Broken(cl.Error):
        code = -6

    def fail():
        raise Broken("out of host memory")

    monkeypatch.setattr(cl, "get_platforms", fail)
    monkeypatch.setattr(loader, "_platforms", None)
    with pytest.raises(DeviceError, match="out of host memory") as caught:
        loader.platforms()
    assert not isinstance(caught.value, NoDeviceError)


def test_threads_get_one_answer(monkeypatch):
    import pyopencl as cl

    asked, answers = [], []
    real = cl.get_platforms
    monkeypatch.setattr(cl, "get_platforms", lambda: asked.append(1) or real())
    monkeypatch.setattr(loader, "_platforms", None)
    threads = [
        threading.Thread(target=lambda: answers.append(loader.platforms())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert len(answers) == 8
    assert all(answer == answers[0] for answer in answers)
