"""Source assembly, build errors and timing."""

from __future__ import annotations

import dataclasses
import gc
import re
import weakref

import numpy as np
import pyopencl as cl
import pytest

from pyapsp.device import Device, model
from pyapsp.device.kernels import Program, Stopwatch, assemble, build, program, source
from pyapsp.errors import CapabilityError, KernelBuildError
from pyapsp.numbers.arithmetic import arithmetic_defines

KERNEL_FILES = sorted(
    path.relative_to(source.root()).as_posix() for path in source.root().rglob("*.cl")
)


@pytest.fixture
def kernel_root(tmp_path, monkeypatch):
    """Make an empty kernel root to write files into; its path has a space."""
    folder = tmp_path / "with space"
    folder.mkdir()
    monkeypatch.setattr(source, "root", lambda: folder)
    monkeypatch.setattr(source, "_CHECKED", 0)
    return folder


def test_includes_are_flattened_once_with_line_markers(kernel_root):
    (kernel_root / "a.h").write_text("A\n")
    (kernel_root / "b.h").write_text('#include "a.h"\nB\n')
    (kernel_root / "k.cl").write_text('first\n#include "a.h"\n#include "b.h"\nlast\n')
    assert assemble("k.cl", {"X": 3}).splitlines() == [
        '#line 1 "<defines>"',
        "#define X 3",
        '#line 1 "k.cl"',
        "first",
        '#line 1 "a.h"',
        "A",
        '#line 3 "k.cl"',
        '#line 1 "b.h"',
        '#line 2 "b.h"',
        "B",
        '#line 4 "k.cl"',
        "last",
    ]


def test_a_text_is_the_same_object_until_a_file_in_it_changes(kernel_root):
    (kernel_root / "a.h").write_text("A\n")
    (kernel_root / "b.h").write_text('#include "a.h"\n')
    (kernel_root / "k.cl").write_text('#include "b.h"\nlast\n')
    first = source.flattened("k.cl")
    assert source.flattened("k.cl") is first
    for name, words in (("a.h", "changed\n"), ("k.cl", "alone\n")):
        (kernel_root / name).write_text(words)
        other = source.flattened("k.cl")
        assert words in other + "\n"
        assert other != first
        assert source.flattened("k.cl") is other
    (kernel_root / "k.cl").unlink()
    with pytest.raises(FileNotFoundError, match=r"k\.cl"):
        source.flattened("k.cl")


def test_files_are_taken_as_unchanged_for_a_moment(kernel_root, monkeypatch):
    now = 0.0
    monkeypatch.setattr(source.time, "monotonic", lambda: now)
    monkeypatch.setattr(source, "_CHECKED", 0.05)
    (kernel_root / "k.cl").write_text("first\n")
    first = source.flattened("k.cl")
    (kernel_root / "k.cl").write_text("another\n")
    now = 0.04
    assert source.flattened("k.cl") is first
    now = 0.06
    assert "another" in source.flattened("k.cl")


def test_missing_include_names_the_file(kernel_root):
    (kernel_root / "k.cl").write_text('#include "absent.h"\n')
    with pytest.raises(FileNotFoundError, match=r"absent\.h"):
        assemble("k.cl")


def test_build_error_shows_file_and_line(kernel_root, device):
    (kernel_root / "bad.h").write_text("inline int f(void)\n{\n    return oops;\n}\n")
    (kernel_root / "k.cl").write_text('#include "bad.h"\n__kernel void k(void) {}\n')
    with pytest.raises(KernelBuildError) as caught:
        build(device, "k.cl", {})
    assert re.search(r"bad\.h:3:", caught.value.log)
    assert "return oops;" in caught.value.source


def test_places_are_found_when_the_compiler_ignores_line_markers(kernel_root):
    (kernel_root / "a.h").write_text("a1\na2\n")
    (kernel_root / "k.cl").write_text('k1\n#include "a.h"\nk3\nk4\n')
    text = assemble("k.cl", {"X": 1})
    lines = text.splitlines()
    for word, place in (("a2", "a.h:2"), ("k1", "k.cl:1"), ("k4", "k.cl:4")):
        assert source.place_of(text, lines.index(word) + 1) == place
    log = f"<kernel>:{lines.index('k3') + 1}:7: error: k3"
    assert program._with_places(log, text) == "k.cl:3:7: error: k3"


def test_a_kernel_that_needs_more_local_memory_is_refused(kernel_root, device, monkeypatch):
    (kernel_root / "k.cl").write_text("__kernel void k(__global int *x) { x[0] = 1; }\n")
    less = dataclasses.replace(device.capabilities, local_memory=4096)
    monkeypatch.setitem(model._capabilities, device.handle, less)
    # not all drivers count
    monkeypatch.setattr(cl.Kernel, "get_work_group_info", lambda *_: 8192)
    with pytest.raises(CapabilityError, match="kernel k needs 8,192 bytes of local memory"):
        build(device, "k.cl", {}).kernel("k")


def test_programs_and_kernels_are_built_once(kernel_root, device):
    (kernel_root / "k.cl").write_text("__kernel void k(__global int *x) { x[0] = VALUE; }\n")
    first = build(device, "k.cl", {"VALUE": 1})
    assert build(device, "k.cl", {"VALUE": 1}) is first
    assert first.kernel("k") is first.kernel("k")
    other = build(device, "k.cl", {"VALUE": 2})
    assert other is not first
    assert other.hash != first.hash


def test_programs_of_many_forms_are_not_all_kept(kernel_root, device, monkeypatch):
    class Built:
        def __init__(self, *given):
            pass

    monkeypatch.setattr(program, "Program", Built)
    (kernel_root / "k.cl").write_text("")
    first = weakref.ref(build(device, "k.cl", {"X": -1}))
    assert first() is build(device, "k.cl", {"X": -1})
    for x in range(2000):
        build(device, "k.cl", {"X": x})
    assert first() is None


def test_an_edited_include_is_seen(kernel_root, device):
    (kernel_root / "k.cl").write_text(
        '#include "v.h"\n__kernel void k(__global int *x) { *x = V; }'
    )
    queue, seen = device.queue(), []
    for value in (7, 8):
        (kernel_root / "v.h").write_text(f"#define V {value}\n")
        out = np.zeros(1, np.int32)
        buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
        build(device, "k.cl", {}).kernel("k")(queue, (1,), None, buffer)
        cl.enqueue_copy(queue, out, buffer)
        seen.append(int(out[0]))
    assert seen == [7, 8]


@pytest.mark.every(8)
@pytest.mark.parametrize("name", KERNEL_FILES)
@pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")
def test_every_kernel_file_opens_alone(name, device):
    """The compiler gets only the unchanged file and the folder of its includes."""
    text = (source.root() / name).read_text(encoding="utf-8")
    # not what was built from the same text when a header was another
    built = cl.Program(device.context, text).build(["-I", str(source.root())], cache_dir=False)
    assert built.kernel_names


@pytest.mark.every(8)
@pytest.mark.parametrize("name", KERNEL_FILES)
def test_every_scalar_argument_has_a_known_type(name, device):
    built, info = build(device, name, {}), cl.kernel_arg_info
    for each in built._program.all_kernels():
        for number in range(each.num_args):
            if each.get_arg_info(number, info.ADDRESS_QUALIFIER) == program._PRIVATE:
                kind = each.get_arg_info(number, info.TYPE_NAME).strip("\0 ")
                assert program._scalar(kind, built.source) is not None, kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("typedef float value_t;", np.float32),
        ("#define V float\n#ifndef V\n#define V int\n#endif\ntypedef V value_t;", np.float32),
        ("#define value_t ulong", np.uint64),
        ("#if A\ntypedef int value_t;\n#else\ntypedef long value_t;\n#endif", None),
        ("typedef struct { int x; } value_t;", None),
        ("typedef float values_t;", None),
        ("", None),
    ],
)
def test_the_type_of_a_name(text, kind):
    assert program._scalar("value_t", f"float value_t_not;\n{text}\n") is kind


@pytest.mark.parametrize("kind", [np.int16, np.uint16, np.int32, np.int64, np.float32])
def test_a_scalar_of_a_named_type_arrives(kernel_root, device, kind):
    text = (
        "typedef KIND value_t;\n__kernel void k(__global value_t *x, const value_t y) { *x = y; }"
    )
    (kernel_root / "k.cl").write_text(text)
    name = {np.int16: "short", np.uint16: "ushort", np.int32: "int", np.int64: "long"}
    copy = build(device, "k.cl", {"KIND": name.get(kind, "float")}).kernel("k")
    value = kind(np.finfo(kind).max if kind is np.float32 else np.iinfo(kind).max)
    found, queue = np.zeros(1, kind), device.queue()
    buffer = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, found.nbytes)
    copy(queue, (1,), None, buffer, value)
    cl.enqueue_copy(queue, found, buffer)
    assert found[0] == value


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_every_macro_has_a_default(name):
    """Also macros in #if, where a compiler does not report an undefined macro."""
    text = assemble(name)
    used = set(re.findall(r"\bPYAPSP_[A-Z_0-9]+\b", text))
    defaulted = set(re.findall(r"#ifndef (PYAPSP_\w+)", text))
    helpers = set(re.findall(r"#define (PYAPSP_\w+)\(", text))
    assert used - helpers <= defaulted


@pytest.mark.parametrize("name", KERNEL_FILES)
def test_every_kernel_file_opens_with_an_essay(name):
    head = (source.root() / name).read_text().split("*/")[0]
    assert head.startswith("/*")
    for heading in ("Purpose", "Layout", "Parameters", "Cost", "Source"):
        assert re.search(rf"^ \* {heading} ", head, re.MULTILINE), heading


def test_stopwatch_adds_up_by_phase(device):
    queue, watch = device.queue(), Stopwatch()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 2**22)
    host = np.zeros(2**22, np.uint8)
    assert watch.seconds("transfer") == 0
    watch.add("transfer", cl.enqueue_copy(queue, buffer, host))
    once = watch.seconds("transfer")
    assert once > 0
    event = watch.add("transfer", cl.enqueue_copy(queue, buffer, host))
    assert watch.seconds("transfer") == pytest.approx(
        once + (event.profile.end - event.profile.start) * 1e-9
    )
    assert watch.seconds("kernel") == 0


def test_stopwatch_reads_the_first_commands_while_later_ones_run(device):
    queue, watch = device.queue(), Stopwatch()
    buffer = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 2**16)
    host, events = np.zeros(2**16, np.uint8), []
    for _ in range(500):
        events.append(watch.add("transfer", cl.enqueue_copy(queue, buffer, host)))
        assert len(watch._pending) <= 64
    times = [(event.profile.start, event.profile.end) for event in events]
    total = sum(end - start for start, end in times)
    assert watch.seconds("transfer") == pytest.approx(total * 1e-9)
    ends = [end for _, end in times]
    assert watch.span("transfer") == pytest.approx((max(ends) - times[0][0]) * 1e-9)


def test_macros_follow_the_capabilities(device, monkeypatch):
    """Macros are not cached from a call with other capabilities."""
    dtype, rich = np.dtype(np.float32), device.capabilities
    for fp64, fp16 in ((False, True), (True, False)):
        changed = dataclasses.replace(rich, fp64=fp64, fp16=fp16)
        monkeypatch.setattr(Device, "capabilities", changed)
        defines = arithmetic_defines(device, dtype)
        assert (defines["PYAPSP_HAS_FP64"], defines["PYAPSP_HAS_FP16"]) == (fp64, fp16)


@pytest.mark.filterwarnings("ignore:Non-empty compiler output")
def test_the_program_of_a_kernel(device):
    """Also of a kernel object that nobody else has; not of programs that others have built."""
    text = "__kernel void one(__global int *x) { x[0] = 1; }"
    one, other = Program(device, text), Program(device, text)
    kernel, own = one.kernel("one"), other.new_kernel("one")
    assert Program.of(kernel) is one
    assert Program.of(own) is other
    del other
    gc.collect()
    assert Program.of(own) is None
    foreign = cl.Program(device.context, text).build(cache_dir=False)
    assert Program.of(foreign.one) is None
