"""Processors that a driver's compiler does not know."""

import ctypes

import pyopencl as cl
import pytest

from pyapsp.device import processor, selftest
from pyapsp.device.kernels import Program
from pyapsp.device.processor import compiled_for, features
from pyapsp.device.quirks import nearest_processor, told_processor

VERSION = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-"
AVX2 = frozenset(["avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c", "rdrand"])
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
ZEN = AVX2 | frozenset(["sse4a", "clwb", "vaes", "vpclmulqdq"])


def test_the_host_has_a_name(monkeypatch):
    text = "processor\t: 0\nmodel name\t: A fast CPU\n\nprocessor\t: 1\nmodel name\t: other\n"
    monkeypatch.setattr(processor.Path, "read_text", lambda path: text)
    assert processor.model() == "A fast CPU"
    monkeypatch.setattr(processor.Path, "read_text", lambda path: "")
    assert processor.model() == processor.platform.machine()


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (VERSION + "znver2", "znver2"),
        (VERSION + "skylake-avx512", "skylake-avx512"),
        ("OpenCL 3.0 CUDA 12.8", ""),
        ("OpenCL 3.0 (Build 0)", ""),
    ],
)
def test_drivers_say_what_they_tell_their_compiler(version, told):
    assert told_processor(version) == told


WHEEL = "3.0-rc2"


@pytest.mark.parametrize(
    ("told", "features", "nearest"),
    [
        ("generic", AVX2, "haswell"),
        ("generic", ZEN, "znver3"),
        ("generic", ZEN | AVX512, "skx"),
        ("generic", ZEN | AVX512 - {"avx512vl"}, "znver3"),
        ("generic", frozenset({"sse2"}), ""),
        ("znver3", ZEN | AVX512, "skx"),  # Zen 4, to a compiler that is older
        ("znver3", ZEN, ""),
        ("znver3", AVX2, ""),
        ("znver2", ZEN | AVX512, ""),
        ("", ZEN, ""),
    ],
)
def test_the_nearest_processor_has_no_instruction_too_many(told, features, nearest):
    assert nearest_processor(told, WHEEL, features) == nearest


def test_only_one_driver_is_known_to_take_zen4_for_an_older_one():
    """Other implementations may be built for that processor, or set so by the user."""
    assert nearest_processor("znver3", "5.0", ZEN | AVX512) == ""
    assert nearest_processor("generic", "5.0", ZEN | AVX512) == "skx"


class Handle:
    """A device object of a driver: somewhere in it the address of the processor's name."""

    def __init__(self, told, name):
        self.version, self.driver_version = VERSION + told, WHEEL
        self.name = name if isinstance(name, ctypes.Array) else ctypes.create_string_buffer(name)
        self.content = (ctypes.c_uint64 * 512)()
        self.content[:3] = [3, 2**63 + 8, ctypes.addressof(self.content)]
        self.content[80] = ctypes.addressof(self.name)
        self.int_ptr = ctypes.addressof(self.content)


@pytest.fixture(autouse=True)
def no_objects(monkeypatch):
    monkeypatch.setattr(processor, "_right", set())


@pytest.mark.parametrize(
    ("told", "has", "better"),
    [("generic", ZEN, "znver3"), ("znver3", ZEN | AVX512, "skx"), ("generic", AVX2, "haswell")],
)
def test_the_name_is_written_over(told, has, better, monkeypatch):
    monkeypatch.setattr(processor, "features", lambda: has)
    handle = Handle(told, told.encode())
    for _ in range(2):  # the version stays what it was
        assert compiled_for(handle) == better
        assert handle.name.value == better.encode()
    part = Handle(told, handle.name)  # a part of a device has the name of the whole
    assert compiled_for(part) == better


@pytest.mark.parametrize(
    ("told", "name"),
    [("generic", b"generics"), ("znver3", b"generic"), ("znver2", b"znver2")],
)
def test_other_objects_stay_as_they_are(told, name, monkeypatch):
    monkeypatch.setattr(processor, "features", lambda: ZEN | AVX512)
    handle = Handle(told, name)
    before = bytes(handle.content)
    assert compiled_for(handle) == told
    assert handle.name.value == name
    assert bytes(handle.content) == before


def test_what_cannot_be_written_over_stays(monkeypatch):
    """A name that is told nobody must not decide the length of vectors."""
    monkeypatch.setattr(processor, "features", lambda: ZEN | AVX512)

    def refuse(*_, **__):
        raise PermissionError

    monkeypatch.setattr(processor, "open", refuse, raising=False)
    assert compiled_for(Handle("znver3", b"znver3")) == "znver3"


CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
power management:
flags\t\t: fpu vme avx512f

processor\t: 1
vendor_id\t: another
flags\t\t: sse
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CPUINFO, {"fpu", "vme", "avx512f", "AuthenticAMD 25"}),
        ("processor\t: 0\nBogoMIPS\t: 50.00\n", set()),  # another architecture
        (None, set()),
    ],
)
def test_what_linux_says_of_the_processor(text, expected, monkeypatch, tmp_path):
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(processor, "Path", lambda _: path)
    assert features.__wrapped__() == expected


def test_parts_of_a_device_are_compiled_for_like_the_whole(device):
    if device.kind != "cpu" or device.capabilities.compute_units < 2:
        return  # GPUs are not divided
    kind = cl.device_partition_property
    if kind.BY_COUNTS not in device.handle.partition_properties:
        return  # one driver dies of being asked
    part = device.handle.create_sub_devices([kind.BY_COUNTS, 1, kind.BY_COUNTS_LIST_END])[0]
    assert compiled_for(part) == device.processor


def _kernel(device):
    Program(device, "__kernel void nothing(__global int *a) { a[0] = 1; }")


def _test_kernel(device):
    assert selftest._run(device.id) is None


@pytest.mark.parametrize("build", [_kernel, _test_kernel])
def test_kernels_are_built_with_the_name_of_the_processor(build, device, monkeypatch):
    built = []

    class Recorder(cl.Program):
        def build(self, options=(), **more):
            built.append(options)
            return super().build(options, **more)

    monkeypatch.setattr(cl, "Program", Recorder)
    build(device)
    named = [option for option in built[0] if option.startswith("-DPYAPSP_PROCESSOR=")]
    processor = device.architecture.replace("-", "_")
    assert named == ([f"-DPYAPSP_PROCESSOR={processor}"] if device.kind == "cpu" else [])
