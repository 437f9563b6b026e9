"""`profile kernel`, for a file of a user and for kernels of pyapsp."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from pyapsp.cli import main
from pyapsp.cli.profile_kernel import lines
from pyapsp.errors import KernelBuildError, ParameterError, ProgramError
from pyapsp.profiling.benchmarks import disassembly
from pyapsp.profiling.kernel import profile_kernel, source_of
from pyapsp.profiling.traces.criteria import Units

SCALE = """
#include "parts/factor.h"
__kernel void scale(__global const float *x, __global float *y, __local float *t, const int n)
{
    const int i = get_global_id(0), l = get_local_id(0);
    t[l * STRIDE] = x[i * 8];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n)
        y[i] = FACTOR * t[l * STRIDE];
}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/factor.h").write_text("#define FACTOR 2.0f\n")
    path = tmp_path / "scale.cl"
    path.write_text(SCALE)
    return str(path)


PROFILE = {
    "schema": "pyapsp device profile",
    "results": [
        {"benchmark": name, "parameters": place, "rate": rate}
        for name, place, rate in (
            ("read bandwidth", {"bytes": 2**12}, 1e11),
            ("read bandwidth", {"bytes": 2**26}, 1e10),
            ("throughput", {"operation": "f32.add"}, 1e10),
            ("throughput", {"operation": "i32.add"}, 2e10),
            ("bank conflicts", {"stride": 1}, 4e9),
            ("bank conflicts", {"stride": 32}, 1e9),
            ("divergence", {"paths": 1}, 8e9),
            ("divergence", {"paths": 8}, 1e9),
            ("launch", {"clock": "device"}, 1e5),
        )
    ],
}


def test_a_file_with_an_include(device, file, tmp_path, capsys):
    (tmp_path / "device.json").write_text(json.dumps(PROFILE))
    out = tmp_path / "out.json"
    words = ["--args", "random:2048", "zeros:256", "2048", "128", "--global", "256", "--local"]
    more = ["64", "-D", "STRIDE=32", "--on", str(tmp_path / "device.json"), "-o", str(out)]
    where = ["--device", device.id, "--warp", "32"]
    assert main(["profile", "kernel", file, "scale", *words, *more, *where]) == 0
    record = json.loads(out.read_text())
    assert record["operations"] == {
        "load": 256,
        "local store": 256,
        "local load": 128,
        "store": 128,
        "float": 128,
        "int": 3 * 256 + 128,
        "barrier": 256,
        "branch": 256,
    }
    values = record["criteria"]
    assert values["local_efficiency"] == 1 / 32
    assert values["l2_granularity"] == (1024 + 512) / (32 * (256 + 16))
    assert record["footprint"] == 32 * (256 + 16)
    assert values["divergence"] == 1  # the last two groups take the branch as a whole, or not
    limits = record["limits"]
    assert limits["bound"] == "local"
    # 384 accesses at 4e9 a second, each as long as 32; then arithmetic, and the launch
    assert limits["times"]["local"] == pytest.approx(384 / 4e9 * 32)
    issued = limits["times"]["local"] + limits["times"]["arithmetic"]
    assert limits["predicted"] == pytest.approx(issued + 1e-5)
    assert "local_efficiency" in [each["criterion"] for each in limits["advice"]]
    printed = capsys.readouterr().out
    assert f"{file}:6: store t[l * 32]: 3.1% used" in printed
    assert f"{file}:6: load x[i * 8]: 12.5% used" in printed


def test_loops_of_the_compiled_kernel(device, tmp_path, monkeypatch, capsys):
    """They are printed with their instructions, most first."""
    loops = [disassembly.Loop("sass", ("FADD", "FMNMX.NAN", "FADD", "BRA"))] * 4
    monkeypatch.setattr("pyapsp.profiling.kernel.loops_of_kernel", lambda kernel: loops)
    file, out = str(tmp_path / "one.cl"), tmp_path / "one.json"
    Path(file).write_text("__kernel void one(__global int *x) { x[get_global_id(0)] = 1; }\n")
    where = ["--global", "64", "--device", device.id, "-o", str(out)]
    assert main(["profile", "kernel", file, "one", "--args", "zeros:64", *where]) == 0
    mix = {"FADD": 2, "FMNMX": 1, "BRA": 1}
    assert json.loads(out.read_text())["loops"] == [{"instruction_set": "sass", "mix": mix}] * 3
    line = "  loop of 4 instructions (sass): 2 FADD, 1 FMNMX, 1 BRA"
    assert capsys.readouterr().out.count(line) == 3


def test_registers_limit_occupancy(device, tmp_path, monkeypatch, capsys):
    """A unit with 65,536 registers has 8 warps of 32 items that take 256 each, of 64."""
    file = str(tmp_path / "one.cl")
    Path(file).write_text("__kernel void one(__global int *x) { x[get_global_id(0)] = 1; }\n")
    units = Units(1, 2048, 32, 32, 65536, 65536, 256)
    monkeypatch.setattr("pyapsp.profiling.traces.analysis.units_of", lambda *_: units)
    few, many = (disassembly.Registers(count, spilled) for count, spilled in ((16, 0), (255, 24)))
    for registers, occupancy in ((None, 1.0), (few, 1.0), (many, 8 / 64)):
        monkeypatch.setattr("pyapsp.profiling.kernel.registers_of", lambda _, each=registers: each)
        record = profile_kernel(device, file, "one", ["zeros:4096"], [4096], [64])
        assert record["criteria"]["occupancy"] == occupancy
    assert (record["registers"], record["spilled"]) == (255, 24)
    assert "  255 registers, 24 bytes spilled" in lines(record)


@pytest.mark.slow
def test_a_kernel_of_ours(device):
    words = ["zeros:256", "zeros:256", "zeros:600", "zeros:16", "3", "250"]
    record = profile_kernel(device, "traversal/bfs/bfs_frontier.cl", "frontier_start", words, [256])
    assert record["group"] == [64]
    assert record["operations"]["store"] == 250 + 1 + 8
    assert record["limits"] is None
    assert record["criteria"]["intensity"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zeros:4"], r"one word for each parameter: float \* x, float \* y, float \* t, int n"),
        (["many", "zeros:4", "4", "4"], "neither KIND:N"),
        (["zeros:4", "zeros:4", "4", "4.5"], r"must be a value of int n \(invalid literal"),
        (["missing.npy", "zeros:4", "4", "4"], "No such file"),
        (["zeros:0", "zeros:4", "4", "4"], r"float x \(no elements\)"),
    ],
)
def test_arguments_that_do_not_fit(device, file, words, message):
    with pytest.raises(ParameterError, match=message):
        profile_kernel(device, file, "scale", words, [4], defines={"STRIDE": 1})


REQUIRED = """
__kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(__global int *x) { x[0] = 1; }
__kernel void free(__global int *x) { x[0] = 1; }
"""


@pytest.mark.parametrize(
    ("kernel", "items", "group", "width", "message"),
    [
        ("free", [0], None, None, "'global' .* one to three sizes"),
        ("free", [4, 4, 4, 4], None, None, "'global' .* one to three sizes"),
        ("free", [8], [4, 2], None, "'local' .* 1 sizes of at least 1, and at most"),
        ("free", [8], [0], None, "'local' .* 1 sizes of at least 1, and at most"),
        ("free", [2**20], [2**20], None, "'local' .* 1 sizes of at least 1, and at most"),
        ("k", [8, 2], [8, 1], None, "'local' .* the kernel requires, .4, 2, 1"),
        ("k", [8], None, None, "'local' .* the kernel requires, .4, 2, 1"),
        ("free", [8], None, 0, "'warp' .* at least 1 item"),
    ],
)
def test_sizes_that_do_not_fit(device, tmp_path, kernel, items, group, width, message):
    (tmp_path / "k.cl").write_text(REQUIRED)
    with pytest.raises(ParameterError, match=message):
        profile_kernel(
            device, str(tmp_path / "k.cl"), kernel, ["zeros:4"], items, group, width=width
        )


def test_a_missing_kernel(device, file):
    with pytest.raises(ParameterError, match=r"must be one of scale.*scala"):
        profile_kernel(device, file, "scala", [], [4], defines={"STRIDE": 1})


def test_an_argument_from_a_file(device, file, tmp_path):
    np.save(tmp_path / "x.npy", np.ones(512, np.float32))
    words = [str(tmp_path / "x.npy"), "zeros:64", "64", "0"]
    record = profile_kernel(device, file, "scale", words, [64], defines={"STRIDE": 1})
    assert record["operations"]["load"] == 64
    for part, said in ((1, False), (0.25, True)):
        text = "\n".join(lines({**record, "recorded": part}))
        assert ("traces of 25.0% of the groups" in text) is said
        assert ("traces of" in text) is said


VALUES = """
typedef struct { int a[3]; char b; } some_t;
__kernel void values(__global int *x, const int3 add, const some_t s, const char2 c)
{
    for (int j = 0; j < add.y + s.a[1] + c.x; j++)
        x[j] += add.x;
}
"""


@pytest.fixture
def values(tmp_path):
    path = tmp_path / "values.cl"
    path.write_text(VALUES)
    np.save(tmp_path / "s.npy", np.array([0, 2, 0, 0], np.int32))
    np.save(tmp_path / "small.npy", np.zeros(3, np.int32))
    return str(path), str(tmp_path)


def test_vectors_and_structs_by_value(device, values):
    file, folder = values
    words = ["zeros:8", "1,0x2,3", f"{folder}/s.npy", "ones:1"]
    assert profile_kernel(device, file, "values", words, [1])["operations"]["store"] == 5
    words = ["zeros:8", "zeros:1", "zeros:1", "3,4"]
    assert profile_kernel(device, file, "values", words, [1])["operations"]["store"] == 3


@pytest.mark.parametrize(
    ("place", "word", "message"),
    [
        (1, "1,2", r"a value of int3 add \(it has 3 elements\)"),
        (1, "1,2,x", r"a value of int3 add \(invalid literal"),
        (1, "zeros:2", r"a value of int3 add \(it has 16 bytes, and this 32\)"),
        (2, "1", r"a value of some_t s \(neither KIND:N"),
        (2, "FOLDER/small.npy", r"a value of some_t s \(it has 16 bytes, and this 12\)"),
    ],
)
def test_values_that_do_not_fit(device, values, place, word, message):
    file, folder = values
    words = ["zeros:8", "1,2,3", "zeros:1", "0,0"]
    words[place] = word.replace("FOLDER", folder)
    with pytest.raises(ParameterError, match=message):
        profile_kernel(device, file, "values", words, [1])


def test_negative_arguments(device, tmp_path):
    """They are numbers and vectors, and no options."""
    file, out = tmp_path / "signs.cl", tmp_path / "out.json"
    text = "__kernel void k(const float a, const int2 b, __global int *x, const float c) "
    file.write_text(text + "{ for (int j = b.x; j < b.y + (a * c > 0); j++) x[j + 9] = j; }")
    words = ["profile", "kernel", str(file), "k", "--device", device.id, "-o", str(out), "--global"]
    assert main([*words, "1", "--args", "-1e-3", "-4,-2", "zeros:9", "-.5"]) == 0
    assert json.loads(out.read_text())["operations"]["store"] == 3


def test_images_are_refused(device, tmp_path):
    (tmp_path / "image.cl").write_text("__kernel void k(read_only image2d_t i, sampler_t s) { }")
    for words in (["1", "1"], ["zeros:4", "zeros:4"]):
        with pytest.raises(ParameterError, match=r"image2d_t i \(images, samplers.* not supported"):
            profile_kernel(device, str(tmp_path / "image.cl"), "k", words, [1])


INCLUDES = """
#include "op.h"
#define OP +
#  include "op.h" // now it has an operator
#if 0
#include "missing.h"
#include "once.h"
#endif
#include <once.h>
#include "once.h"
__kernel void k(__global int *x) { for (int j = 0; j < add(1, ONE); j++) x[j] = 1; }
"""


@pytest.fixture
def including(tmp_path):
    (tmp_path / "far").mkdir()
    path = tmp_path / "including.cl"
    path.write_bytes(b"// Gr\xfc\xdfe in Latin 1\n" + INCLUDES.encode())
    (tmp_path / "op.h").write_text("#ifdef OP\nint add(int a, int b) { return a OP b; }\n#endif\n")
    once = '#pragma once\n#include "once.h"\ntypedef struct { int a; } one_t;\n#define ONE 1\n'
    (tmp_path / "far/once.h").write_text(once)
    return path


def test_includes_as_a_preprocessor_has_them(device, including):
    """More than once, in other folders, after conditions, and missing where nobody needs them."""
    folders = [str(including.parent / "far")]
    record = profile_kernel(device, str(including), "k", ["zeros:4"], [1], folders=folders)
    assert record["operations"]["store"] == 2
    text = including.read_bytes().replace(b"#if 0", b"#if 1")
    including.write_bytes(text)
    with pytest.raises(ProgramError, match=r'including.cl:7: cannot include "missing.h": there is'):
        profile_kernel(device, str(including), "k", ["zeros:4"], [1], folders=folders)


STEPS = """
#ifndef STEPS
#error no STEPS
#endif
#if __OPENCL_C_VERSION__ >= 200
#define AGAIN 2
#else
#define AGAIN 1
#endif
__kernel void k(__global int *x) { for (int j = 0 STEPS; j < AGAIN; j++) x[j] = 1; }
"""


@pytest.mark.parametrize(("more", "stores"), [((), 1), (("--standard", "CL3.0"), 2)])
def test_options_of_the_compiler(device, tmp_path, capsys, more, stores):
    """A macro may be empty; the standard is that of the kernel with and without probes."""
    file, out = tmp_path / "steps.cl", tmp_path / "out.json"
    file.write_text(STEPS)
    if stores == 2 and device.capabilities.c_version < (3, 0):
        pytest.skip("it has no OpenCL C 3.0")
    words = ["profile", "kernel", str(file), "k", "--args", "zeros:4", "--global", "1", *more]
    words += ["--device", device.id, "-o", str(out)]
    assert main(words) != 0
    said = capsys.readouterr()
    assert f"{file}:3: #error no STEPS" in said.err
    assert said.err.count("STEPS") == 1
    assert main([*words, "-D", "STEPS="]) == 0
    assert json.loads(out.read_text())["operations"]["store"] == stores


def test_the_message_of_the_compiler_is_about_the_file(device, tmp_path):
    """The device lacks a function that the parser knows."""
    if "cl_khr_subgroup_clustered_reduce" in device.capabilities.extensions:
        pytest.skip("it has the function")
    call = "sub_group_clustered_reduce_add(*x, 4)"
    (tmp_path / "k.cl").write_text(f"\n\n\n__kernel void k(__global int *x) {{ *x = {call}; }}")
    with pytest.raises(KernelBuildError, match=r"k.cl:4"):
        profile_kernel(device, str(tmp_path / "k.cl"), "k", ["zeros:1"], [1])


def test_what_is_missing_is_said(file, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["profile", "kernel", file])
    assert "required: NAME, --global" in capsys.readouterr().err


def test_includes_keep_their_lines(file):
    assert source_of(file, {"A": 1}).splitlines()[:3] == [
        '#line 1 "<defines>"',
        "#define A 1",
        f'#line 1 "{file}"',
    ]
