"""Processors that a driver's compiler does not know."""

import ctypes

import pytest

from pyapsp.device.processor import name_processor
from pyapsp.device.quirks import nearest_processor

UNKNOWN = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-generic"
AVX2 = frozenset(["avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c", "rdrand"])
AVX512 = AVX2 | {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
ZEN = AVX2 | frozenset(["sse4a", "clwb", "vaes", "vpclmulqdq"])


@pytest.mark.parametrize(
    ("version", "features", "known"),
    [
        (UNKNOWN, AVX2, "haswell"),
        (UNKNOWN, ZEN, "znver3"),
        (UNKNOWN, ZEN | AVX512, "skx"),
        (UNKNOWN, ZEN | AVX512 - {"avx512vl"}, "znver3"),
        (UNKNOWN, frozenset({"sse2"}), ""),
        (UNKNOWN.replace("generic", "znver2"), ZEN, ""),
        ("OpenCL 3.0 CUDA 12.8", ZEN, ""),
    ],
)
def test_the_nearest_processor_has_no_instruction_too_many(version, features, known):
    assert nearest_processor(version, features)[1] == known


class Handle:
    """A device object of a driver: somewhere in it the address of the processor's name."""

    def __init__(self, version, name):
        self.version = version
        self.name = ctypes.create_string_buffer(name)
        self.content = (ctypes.c_uint64 * 512)()
        self.content[:3] = [3, 2**63 + 8, ctypes.addressof(self.content)]
        self.content[80] = ctypes.addressof(self.name)
        self.int_ptr = ctypes.addressof(self.content)


@pytest.fixture
def zen(monkeypatch):
    monkeypatch.setattr("pyapsp.device.processor.features", lambda: ZEN)
    monkeypatch.setattr("pyapsp.device.processor._seen", set())


def test_the_name_is_written_over(zen):
    handle = Handle(UNKNOWN, b"generic")
    name_processor(handle)
    assert handle.name.value == b"znver3"


@pytest.mark.parametrize(
    ("version", "name"),
    [(UNKNOWN, b"generics"), (UNKNOWN.replace("generic", "znver3"), b"generic")],
)
def test_other_objects_stay_as_they_are(zen, version, name):
    handle = Handle(version, name)
    before = bytes(handle.content)
    name_processor(handle)
    assert handle.name.value == name
    assert bytes(handle.content) == before
