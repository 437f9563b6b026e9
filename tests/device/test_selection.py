from __future__ import annotations

import re
from dataclasses import dataclass
from types import SimpleNamespace

import pyopencl as cl
import pytest

from pyapsp.cli import main
from pyapsp.device import (
    Device,
    choose,
    devices,
    loader,
    selection,
    selftest,
)
from pyapsp.errors import NoDeviceError, ParameterError


@dataclass(frozen=True)
class Fake(Device):
    """A device without hardware behind it."""

    kind: str = "gpu"
    name: str = "a gpu"
    platform_name: str = "a platform"


def fake(spec, kind, name, platform, *, unified=False, memory=1, units=1):
    handle = SimpleNamespace(
        version="OpenCL 1.2",
        host_unified_memory=unified,
        global_mem_size=memory,
        max_compute_units=units,
    )
    return Fake(handle, spec, None, kind, name, platform)


FPGA = fake("0:0", "accelerator", "Board", "Beta SDK", memory=64, units=64)
BIG_CPU = fake("1:0", "cpu", "Delta Core", "Beta Runtime", unified=True, memory=512, units=128)
IGPU = fake("2:0", "gpu", "Delta Graphics", "Beta Graphics", unified=True, memory=256, units=96)
SMALL = fake("2:1", "gpu", "Gamma 10", "Beta Graphics", memory=8, units=20)
LARGE = fake("3:0", "gpu", "gfx:a+:b-", "Epsilon", memory=80, units=10)
SAME_MEMORY = fake("3:1", "gpu", "Gamma 20", "Epsilon", memory=8, units=40)
BEST_FIRST = [LARGE, SAME_MEMORY, SMALL, IGPU, BIG_CPU, FPGA]


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setattr(selection, "devices", lambda: BEST_FIRST)
    monkeypatch.delenv("PYAPSP_DEVICE", raising=False)
    monkeypatch.delenv("PYOPENCL_CTX", raising=False)
    return monkeypatch


@pytest.fixture
def no_variables(monkeypatch):
    monkeypatch.delenv("PYAPSP_DEVICE", raising=False)
    monkeypatch.delenv("PYOPENCL_CTX", raising=False)
    return monkeypatch


def test_rank_puts_discrete_gpus_first_then_integrated_then_cpus():
    shuffled = [FPGA, SMALL, BIG_CPU, SAME_MEMORY, IGPU, LARGE]
    assert sorted(shuffled, key=selection._rank) == BEST_FIRST


def test_selection_order(fakes):
    assert choose() == LARGE
    fakes.setenv("PYOPENCL_CTX", "2:1")
    assert choose() == SMALL
    fakes.setenv("PYAPSP_DEVICE", "cpu")
    assert choose() == BIG_CPU
    assert choose("board") == FPGA
    fakes.setenv("PYAPSP_DEVICE", " ")  # as good as not set
    assert choose() == SMALL


def test_the_best_device_is_a_cpu_when_there_is_no_gpu(fakes):
    fakes.setattr(selection, "devices", lambda: BEST_FIRST[4:])
    assert choose() == BIG_CPU


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("0", FPGA),
        (1, BIG_CPU),
        ("2", SMALL),  # the best of the platform, not its first
        ("2:0", IGPU),
        ("3:1", SAME_MEMORY),
        ("gpu", LARGE),
        ("CPU", BIG_CPU),
        ("accelerator", FPGA),
        ("beta", SMALL),  # of four, the best
        ("DELTA", IGPU),
        ("gfx:a", LARGE),  # a colon in a name
        ("graphics:gamma", SMALL),
        (" gamma 20 ", SAME_MEMORY),
        (LARGE, LARGE),
    ],
)
def test_specs(fakes, spec, expected):
    assert choose(spec) == expected


@pytest.mark.parametrize("spec", ["4", "0:1", "nothing like it", -1, "2:board", "2:7"])
@pytest.mark.parametrize("how", ["argument", "PYAPSP_DEVICE", "PYOPENCL_CTX"])
def test_no_match_lists_what_there_is(fakes, spec, how):
    if how != "argument":
        fakes.setenv(how, str(spec))
    with pytest.raises(NoDeviceError) as caught:
        choose(spec if how == "argument" else None)
    text = str(caught.value)
    assert repr(str(spec)) in text
    assert all(f"{device.id} ({device.kind}) {device.name}" in text for device in BEST_FIRST)
    assert how == "argument" or how in text


def test_no_match_names_what_a_job_was_given(fakes):
    fakes.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    fakes.setenv("CUDA_VISIBLE_DEVICES", "2")
    with pytest.raises(NoDeviceError) as caught:
        choose("3:2")
    last = str(caught.value).splitlines()[-1]
    assert last == "CUDA_VISIBLE_DEVICES=2 shows some GPUs only. They are numbered from 0."
    assert "ROCR" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", IGPU),  # PyOpenCL takes the first of the platform
        ("2:1", SMALL),
        ("2:1,0", SMALL),
        ("beta", IGPU),  # and the last platform that fits
        ("beta run", BIG_CPU),
        ("graphics:GAMMA", SMALL),
        (":0", FPGA),
        ("epsilon:gfx:a", LARGE),
    ],
)
def test_pyopencl_ctx(fakes, value, expected):
    fakes.setenv("PYOPENCL_CTX", value)
    assert choose() == expected


def test_nothing_at_all_says_what_to_install(fakes):
    fakes.setattr(selection, "devices", list)
    for spec in (None, "gpu", 0):
        with pytest.raises(NoDeviceError, match=r'pip install "pyapsp\[cpu\]"(.|\n)*pyapsp doctor'):
            choose(spec)


class Exhausted(cl.Error):
    code = -6

    def __str__(self):
        return "clGetDeviceIDs failed: OUT_OF_HOST_MEMORY"


class Short(SimpleNamespace):
    """A platform whose driver has no memory left."""

    name = "Zeta Compute"
    __hash__ = object.__hash__

    def get_devices(self):
        raise Exhausted


@pytest.fixture
def short(monkeypatch):
    working = list(loader.platforms())
    platforms = [Short()]
    monkeypatch.setattr(loader, "platforms", lambda: platforms)
    return platforms, working


def test_a_driver_that_fails_is_named(short, no_variables, capsys):
    cause = r"Zeta Compute .*clGetDeviceIDs failed: OUT_OF_HOST_MEMORY"
    with pytest.raises(NoDeviceError, match=cause) as caught:
        choose()
    assert "pip install" not in str(caught.value)
    assert main(["devices"]) == 4
    assert re.search(cause, capsys.readouterr().err)
    told = selftest.survey()
    assert re.search(cause, told["error"])
    assert re.search(cause, told["failed"][0])


def test_a_driver_that_fails_hides_no_other(short, no_variables):
    platforms, working = short
    platforms += working
    assert {device.platform_name for device in devices()} <= {each.name for each in working}
    assert choose() == devices()[0]
    with pytest.raises(NoDeviceError, match=r"There are:(.|\n)*Zeta Compute .*OUT_OF_HOST_MEMORY"):
        choose("no such device")


@pytest.mark.parametrize("spec", [1.5, True, b"cpu", ["cpu"]])
def test_other_types_are_refused(fakes, spec):
    with pytest.raises(ParameterError, match="'device' parameter of choose"):
        choose(spec)


def test_real_devices_resolve_from_everything(device, no_variables):
    assert choose(device) is device
    assert choose(device.id) == device
    assert choose(device.handle) == device
    own = cl.Context([device.handle])
    chosen = choose(own)
    assert chosen.context is own
    assert chosen.handle == device.handle
    assert chosen.id == device.id
    assert chosen != device  # buffers of one are no good in the other


def test_pyopencl_ctx_gives_what_pyopencl_gives(device, no_variables):
    for value in (device.id, device.platform_name[:8], f"{device.platform_name}:0"):
        no_variables.setenv("PYOPENCL_CTX", value)
        assert choose().handle == cl.create_some_context(interactive=False).devices[0]


def test_a_context_of_several_devices_is_refused(device):
    class Several(cl.Context):
        devices = property(lambda self: [device.handle, device.handle])

    with pytest.raises(ParameterError, match="a context of one device"):
        choose(Several([device.handle]))


def test_devices_are_ranked_and_stable():
    found = devices()
    assert found == sorted(found, key=selection._rank) == devices()
    assert len({device.id for device in found}) == len(found)
