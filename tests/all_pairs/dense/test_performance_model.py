"""The performance model against the numbers of the thesis, and against sums done by hand."""

from __future__ import annotations

import itertools

import pytest

import pyapsp
from pyapsp.all_pairs.dense import performance_model as model
from pyapsp.all_pairs.dense.performance_model import Inputs, Instructions
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions

# Equation (4.9) and, from table 4.4, the warps on a multiprocessor, of which a group has two.
COUNTS = {16: (72, 609, 12), 32: (84, 1166, 12), 64: (108, 2844, 6)}


def gtx280(n, tile):
    alpha, beta, warps = COUNTS[tile]
    return Inputs(
        size=n,
        tile=tile,
        instructions=Instructions(alpha, beta),
        group=64,
        resident=warps // 2,
        units=30,
        rate=8 * 1296e6,
    )


def chosen(inputs, name):
    every = range(1, max(inputs.size // 64, 1) + 1)
    return model.best({count: model.estimate(inputs, count, name) for count in every})


# Table 4.5, columns "MM based".
TABLE = {
    128: (1, 1, 1),
    256: (1, 1, 1),
    512: (2, 2, 3),
    1024: (2, 2, 1),
    2048: (8, 8, 1),
    4096: (4, 4, 4),
    8192: (16, 16, 4),
    9216: (29, 29, 18),
    10240: (8, 8, 16),
    11264: (16, 16, 16),
}


@pytest.mark.parametrize("n", TABLE)
def test_what_the_thesis_chose(n):
    assert tuple(chosen(gtx280(n, tile), "AT") for tile in COUNTS) == TABLE[n]


def test_what_the_thesis_says_of_512_vertices():
    inputs = gtx280(512, 32)
    assert chosen(inputs, "FT") == 8
    assert model.groups(inputs, 8) == 30
    assert model.groups_per_unit(inputs, 8) == 1  # two warps
    assert chosen(inputs, "TI") == 8  # the largest
    assert model.choices(512) == tuple(range(1, 9))


def test_equations_by_hand():
    # 5 submatrices in a row of 320, 2 in a group: 3 groups in each of 20 - 2 rows
    inputs = Inputs(
        size=320,
        tile=32,
        instructions=Instructions(100.0, 1000.0),
        group=64,
        resident=4,
        units=4,
        rate=1e9,
    )
    assert model.groups(inputs, 2) == 54
    assert model.groups_per_unit(inputs, 2) == 14
    # 14 groups by 4 are 3.5 waves, in the time of 4
    assert model.throughput(inputs, 2) == 3.5 / 4
    of_group = 64 * 2100
    assert model.estimate(inputs, 2, "TI") == pytest.approx(of_group * 54 / 4e9)
    assert model.estimate(inputs, 2, "FT") == pytest.approx(of_group * 14 / 1e9)
    assert model.estimate(inputs, 2, "AT") == pytest.approx(of_group * 14 / (1e9 * 3.5 / 4))


def test_a_row_that_is_not_a_multiple_of_64_has_one_submatrix_more():
    inputs = gtx280(336, 16)
    assert model.groups(inputs, 1) == 6 * 20
    assert model.groups(inputs, 5) == 2 * 20
    assert model.groups(gtx280(32, 32), 1) == 0
    assert model.estimate(gtx280(32, 32), 1, "AT") == 0


def test_choices():
    assert model.choices(0) == (1,)
    assert model.choices(64) == (1,)
    assert model.choices(65) == (1, 2)
    assert model.choices(640) == tuple(range(1, 11))
    # 10 in a row: 10, 5, 4, 3, 2, 1 groups
    assert model.choices(640, distinct=True) == (1, 2, 3, 4, 5, 10)
    assert max(model.choices(10**5)) == 64
    assert model.best({1: 2.0, 3: 1.0, 5: 1.0}) == 3


def test_the_source_has_about_the_instructions_of_the_thesis():
    for tile, (alpha, beta, _) in COUNTS.items():
        counts = model.count_in_source(tile)
        # it needed 3 for each of t/4 copied values
        assert counts.alpha - (7 - 3) * tile // 4 == alpha
        # its GPU took one operand from local memory, and its loop was not unrolled for t = 64
        local_loads = 4 * tile
        if tile < 64:
            assert counts.beta - local_loads == pytest.approx(beta, rel=0.01)
    fewer = model.count_in_source(32, group=8, width=8)
    assert fewer.alpha == 60 + 7 * 64
    assert model.count_in_source(32, guard=True).beta == model.count_in_source(32).beta + 4 * 512
    several = model.count_in_source(32, group=1, width=8)
    assert several.beta == 8 * fewer.beta


def program(*blocks):
    """A program with two kernels, as the compilers of virtual machines write them."""
    body = "\n".join(itertools.chain.from_iterable(blocks))
    return f"""//
.version 8.3
.target sm_90, texmode_independent
.entry another(
\t.param .u64 .ptr .global .align 4 another_param_0
)
{{
\tmin.f32 \t%f1, %f2, %f3;
\tret;
}}
\t// .globl\tfw_mm_others
.entry fw_mm_others(
\t.param .u64 .ptr .global .align 4 fw_mm_others_param_0,
\t.param .u32 fw_mm_others_param_1
)
.reqntid 64, 1, 1
{{
\t.reg .pred \t%p<6>;
\t.reg .b32 \t%r<48>;
\t// demoted variable
\t.shared .align 128 .b8 fw_mm_others_left[2560];

{body}
\tret;

}}
"""


def lines(count, operation="add.s32 \t%r1, %r2, 1;"):
    return [f"\t{operation}"] * count


def loop(label, *blocks):
    body = list(itertools.chain.from_iterable(blocks))
    return [f"$L__BB0_{label}:", *body, f"\t@%p{label} bra \t$L__BB0_{label};"]


MINIMUM = "min.f32 \t%f9, %f8, %f7; // 0x1"
STORE = "st.shared.f32 \t[%r7], %f1;"


def test_counts_in_text_with_a_loop_over_k():
    step = loop(3, lines(2), lines(16 * 4, MINIMUM))  # 4 steps of 32 at a time, 67 instructions
    text = program(
        lines(10),
        loop(1, lines(3), lines(2, STORE)),  # 2 of 8 values at a time, 6 instructions
        lines(1, "bar.sync \t0;"),
        loop(2, lines(5), step, lines(1, "@%p5 bra $L__BB0_9;"), lines(7), ["$L__BB0_9:"]),
    )
    counts = model.count_in_text(text, "fw_mm_others", 32)
    assert counts.counted == "text"
    assert counts.alpha == 10 + 4 * 6 + 1 + 1  # the last is ret
    assert counts.beta == 5 + 8 * 67 + 1 + 7 + 1


def test_counts_in_text_without_inner_loops():
    text = program(
        lines(10),
        lines(8, STORE),
        loop(2, lines(5), lines(16 * 32, MINIMUM)),
    )
    counts = model.count_in_text(text, "fw_mm_others", 32)
    assert (counts.alpha, counts.beta) == (19, 5 + 512 + 1)
    # twice the values in a strip, half the work-items
    assert model.count_in_text(text, "fw_mm_others", 16, group=32).beta == 518


@pytest.mark.parametrize(
    "text",
    [
        "",
        program(lines(10)),  # no minima, or they are comparisons
        program(lines(16, MINIMUM)),  # no loop
        program(loop(2, lines(16, MINIMUM))),  # one loop: which is it?
        program(loop(1, loop(2, lines(16, MINIMUM)), loop(3, lines(16, MINIMUM)))),
    ],
)
def test_text_of_another_form_is_not_counted(text):
    assert model.count_in_text(text, "fw_mm_others", 32) is None


def gathered(device, **parameters):
    method = pyapsp.method("fw-mm", **parameters)
    graph = generators.random_graph(100, seed=1)
    options = AllPairsOptions(device, dtype=generators.np.dtype("float32"))
    configuration = method.plan(graph, options).state[0]
    values = configuration.parameters
    return model.gather(
        device,
        configuration.program.kernel("fw_mm_others"),
        size=configuration.size,
        tile=values["tile"],
        group=values["group"],
        width=values["width"],
        item_bytes=4,
        guard=False,
    )


def test_inputs_of_a_device(device):
    inputs = gathered(device, tile=16)
    assert inputs.size == 112
    assert inputs.units == device.capabilities.compute_units
    assert inputs.resident >= 1
    assert inputs.rate >= 1e8
    assert inputs.instructions.beta > 16 * 16 * 2
    if device.traits.scalar_groups:
        assert inputs.resident == 1
        assert inputs.instructions == model.count_in_source(
            16, group=inputs.group, width=64 // inputs.group
        )


def test_the_text_of_a_binary_is_counted(device, monkeypatch):
    text = program(loop(2, lines(16 * 32 * 64, MINIMUM)))
    monkeypatch.setattr(model, "_binary_text", lambda *_: text)
    counts = gathered(device, tile=32, width=1, group=1).instructions
    assert counts == Instructions(1, 16 * 32 * 64 + 1, "text")
