"""Fixtures for every test: the OpenCL devices of this machine.

A test with a `device` argument runs once per device. ``PYAPSP_TEST_DEVICES`` (specs of
`pyapsp.device.choose`, separated by commas) narrows them. Without any device such tests fail,
because the `test` extra brings one; ``PYAPSP_REQUIRE_DEVICE=0`` skips them instead.

``mesa`` is Mesa's implementation on the CPU (Debian: mesa-opencl-icd), which shows a device only
when it is told to, has no fp64, and ends long loops, for which pyapsp refuses it: the tests run on
it all the same, for their inputs are small. Where a device refuses by name what it really does not
have, the test is skipped on that device.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from types import ModuleType

import pyopencl as cl
import pytest

from pyapsp.device import Device, choose, devices, model, sensors, verdicts
from pyapsp.device.kernels import residents, transfer
from pyapsp.errors import CapabilityError, NoDeviceError
from pyapsp.registry.tuning.database import Row

# Names for devices that need more than to be chosen: the spec, and variables that show them.
NAMED = {"mesa": ("rusticl", {"RUSTICL_ENABLE": "llvmpipe"})}

# Compiled kernels, and modules of the processes that tests start, are kept between runs, whatever
# the caller's shell says.
os.environ["POCL_KERNEL_CACHE"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# It hides output that is lost at the end of a process.
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ.pop("PYOPENCL_NO_CACHE", None)
# What the user has tuned is not what is tested.
os.environ["PYAPSP_TUNING"] = os.path.join(os.path.dirname(__file__), "no tuning of the user")


_short: set[Device] = set()


def tested_devices() -> list[Device]:
    """The devices to run the tests on; empty when there is none."""
    named = os.environ.get("PYAPSP_TEST_DEVICES", "").replace(" ", "").split(",")
    for _, variables in (NAMED[name] for name in named if name in NAMED):
        os.environ.update(variables)
    specs = [NAMED[name][0] if name in NAMED else name for name in named if name]
    try:
        found = list(dict.fromkeys(map(choose, specs))) if specs else devices()
        return [_with_short_loops(device) for device in found]
    except NoDeviceError as error:
        if specs and devices():
            raise pytest.UsageError(f"PYAPSP_TEST_DEVICES: {error}") from None
        return []


def _with_short_loops(device: Device) -> Device:
    """Let a device that is refused because it ends long loops run what has none."""
    if not device.capabilities.long_loops and os.environ.get("PYAPSP_TEST_DEVICES"):
        able = dataclasses.replace(device.capabilities, long_loops=True)
        model._capabilities[device.handle] = able
        _short.add(device)
    return device


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-combinations",
        action="store_true",
        help="run tests with the marker 'pairwise' for all combinations of their parameters",
    )


@pytest.hookimpl(tryfirst=True)  # before the marker slow is looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose among the combinations of parameters, and begin with the slow tests.

    At the end no worker should wait for a slow one.
    """
    if not config.getoption("all_combinations"):
        left_out = _thinned(items)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _thinned(items: list[pytest.Item]) -> set[pytest.Item]:
    """Choose among the tests of each function, on each device.

    As many stay as they are that every value of each parameter occurs, and of a function marked
    every(k) each k-th of these; the others of them become slow. Of the combinations with values
    that have occurred, every fourth is slow, and the rest runs at night. Of a function marked
    pairwise those are slow that complete the pairs of values; the rest is returned.
    """
    functions: dict[tuple[str, str], dict[pytest.Item, list[tuple[str, str]]]] = {}
    for item in items:
        # what runs only at night stands for nothing else
        if isinstance(item, pytest.Function) and not item.get_closest_marker("nightly"):
            values = _values(item)
            key = item.nodeid.partition("[")[0], values.pop("device", "")
            functions.setdefault(key, {})[item] = sorted(values.items())
    left_out: set[pytest.Item] = set()
    for tests in functions.values():
        first = next(iter(tests))
        chosen = _covering({test: {*values} for test, values in tests.items()}, []) or [first]
        if first.get_closest_marker("pairwise"):
            pairs = {test: {*itertools.combinations(values, 2)} for test, values in tests.items()}
            slow = _covering(pairs, chosen)[len(chosen) :]
            left_out.update({*tests} - {*chosen, *slow})
        else:
            more = [test for test in tests if test not in chosen]
            slow = more[::4]
            for test in more:
                if test not in slow:
                    test.add_marker("nightly")
        if every := first.get_closest_marker("every"):
            slow += [test for i, test in enumerate(chosen) if i % every.args[0]]
        for test in slow:
            test.add_marker("slow")
    return left_out


def _values(test: pytest.Function) -> dict[str, str]:
    """Return the values of the parameters of a test; those of one row of a table are one value."""
    params = dict(test.callspec.params) if hasattr(test, "callspec") else {}
    values = {}
    for marker in test.iter_markers("parametrize"):
        names = marker.args[0]
        if not isinstance(names, str) or "," in names:
            names = names.replace(" ", "").split(",") if isinstance(names, str) else names
            values[repr(names)] = repr([id(params.pop(name)) for name in names])
    return values | {name: str(id(value)) for name, value in params.items()}


def _covering(
    contents: Mapping[pytest.Item, Set[object]], chosen: list[pytest.Item]
) -> list[pytest.Item]:
    """Return the chosen tests and as many more as bring in everything that tests contain."""
    missing = set().union(*contents.values()).difference(*(contents[test] for test in chosen))
    chosen, rest = [*chosen], {test: None for test in contents if test not in chosen}
    while missing:
        best = max(rest, key=lambda test: len(contents[test] & missing))
        del rest[best]
        chosen.append(best)
        missing -= contents[best]
    return chosen


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        found = tested_devices()
        names = [device.platform_name for device in found]
        ids = [
            name if names.count(name) == 1 else f"{name} {device.id}"
            for name, device in zip(names, found, strict=True)
        ]
        metafunc.parametrize(
            "device", found or [None], ids=ids or ["no device"], indirect=True, scope="session"
        )


@pytest.fixture(scope="session", autouse=True)
def _verdicts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests find out about drivers from the user, and share it among the workers."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdicts, "root", lambda: folder / "verdicts")
        yield


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no driver have been seen, and forget what the test finds out."""
    monkeypatch.setattr(verdicts, "root", lambda: tmp_path / "verdicts")
    monkeypatch.setattr(verdicts, "_known", {})


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> Device:
    """Each OpenCL device in turn."""
    if request.param is None:
        if os.environ.get("PYAPSP_REQUIRE_DEVICE") == "0":
            pytest.skip("no OpenCL device")
        pytest.fail('no OpenCL device: pip install "pyapsp[cpu]" (PYAPSP_REQUIRE_DEVICE=0 skips)')
    return request.param


@pytest.fixture
def heard() -> Iterator[None]:
    """Let this process hear Ctrl-C; a shell tells those in its background to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["twice", "thrice", "parts"])
def several(request: pytest.FixtureRequest, device: Device) -> list[Device]:
    """The device more than once, and where it can be divided, its parts."""
    if request.param == "parts":
        kinds = cl.device_partition_property
        if device.capabilities.compute_units > 1 and device.handle.partition_properties[0]:
            parts = [kinds.BY_COUNTS, 1, 1, kinds.BY_COUNTS_LIST_END]
            return [choose(each) for each in device.handle.create_sub_devices(parts)]
    return [device] * (3 if request.param == "thrice" else 2)


@pytest.fixture
def row_of(device: Device) -> Callable[..., Row]:
    """Return a function that makes a row of a tuning database for the device."""
    return functools.partial(
        Row,
        platform=device.platform_name,
        kind=device.kind,
        architecture=device.architecture,
        device=device.plain_name,
        predecessors=False,
        family="uniform",
    )


@pytest.fixture
def there(device: Device, monkeypatch: pytest.MonkeyPatch) -> residents.Residents:
    """Return what stays on the device, at first nothing; arrays are copied, also to a CPU."""
    monkeypatch.setattr(transfer, "in_place", lambda handle: False)
    monkeypatch.setattr(residents, "_all", {})
    return residents.residents(device.context)


class Toy(sensors.Sensor):
    """A sensor that shows 100 W, until it was read so many times."""

    name = "toy"
    reads, most = 0, 10**9

    def joules(self) -> float:
        self.reads += 1
        if self.reads > self.most:
            raise OSError("unplugged")
        return 100 * time.perf_counter()

    def watts(self) -> float:
        return 100.0


@pytest.fixture
def toy_sensor(monkeypatch: pytest.MonkeyPatch) -> Toy:
    """Let every device have a sensor."""
    sensor = Toy()
    monkeypatch.setitem(sensors._OPENED, "rapl", lambda device: sensor)
    return sensor


@pytest.fixture
def zarr() -> ModuleType:
    """Return the package zarr, which needs a later Python than the oldest of pyapsp."""
    if sys.version_info < (3, 11):
        pytest.skip("Zarr 3 needs Python 3.11")
    import zarr

    return zarr


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let the process grow by 1 GiB only, so that a reader that believes a header fails."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


# What a device may not have, and what refusals then say.
_MISSING = {
    "fp64": ("has no float64", "needs double precision"),
    "device_scope_fence": ("needs device_scope_fence",),
}


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Skip what the device of a test refuses by name, and does not have."""
    device = pyfuncitem.funcargs.get("device")
    if device in _short and pyfuncitem.get_closest_marker("long_loops"):
        pytest.skip("this device ends long loops")
    try:
        return (yield)
    except Exception as error:
        causes = getattr(error, "exceptions", [error])  # of a group, as Hypothesis raises
        if device is not None and all(_refused(device, each) for each in causes):
            pytest.skip(f"refused: {causes[0]}")
        raise


def _refused(device: Device, error: BaseException) -> bool:
    """Return whether an error names what a device really does not have."""
    # OpenCL requires 32 KiB of local memory; tests that let a CPU pass for a GPU need it
    small = device.capabilities.local_memory < 2**15
    if small and isinstance(error, CapabilityError) and "bytes of local memory" in str(error):
        return True
    return isinstance(error, CapabilityError) and any(
        not getattr(device.capabilities, capability) and any(text in str(error) for text in texts)
        for capability, texts in _MISSING.items()
    )
