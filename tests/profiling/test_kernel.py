"""`profile kernel`, for a file of a user and for kernels of pyapsp."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyapsp.cli import main
from pyapsp.cli.profile_kernel import lines
from pyapsp.errors import ParameterError
from pyapsp.profiling.kernel import profile_kernel, source_of

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
        (["zeros:4", "zeros:4", "4", "4.5"], "a value of int n"),
        (["missing.npy", "zeros:4", "4", "4"], "No such file"),
    ],
)
def test_arguments_that_do_not_fit(device, file, words, message):
    with pytest.raises(ParameterError, match=message):
        profile_kernel(device, file, "scale", words, [4], defines={"STRIDE": 1})


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
