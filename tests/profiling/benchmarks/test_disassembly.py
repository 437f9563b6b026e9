"""Loops in listings, and the instructions in them."""

from __future__ import annotations

import pytest

from pyapsp.profiling.benchmarks.disassembly import loops_in

X86 = """
0000000000001000 <kernel>:
    1000:\tmov    %rdi,%rax
    1003:\tvaddps %ymm0,%ymm1,%ymm2
    1007:\tvaddps %ymm0,%ymm2,%ymm1
    100b:\tdec    %ecx
    100d:\tjne    1003 <kernel+0x3>
    100f:\tcmp    %rsi,%rdi
    1012:\tje     1000 <kernel>
    1014:\tje     1020 <kernel+0x20>
    1016:\tret
"""
SASS = """
.L_x_0:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   FADD R5, R5, UR4 ;
        /*0020*/                   FADD R5, R5, UR4 ;
        /*0030*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0040*/                   ISETP.GE.AND P0, PT, R0, UR5, PT ;
        /*0050*/              @!P0 BRA `(.L_x_1) ;
        /*0060*/                   EXIT ;
"""
PTX = """
.target sm_90, texmode_independent
$L__BB0_1:
\tmov.u32 \t%r1, %ctaid.x;
$L__BB0_2:                              // =>This Inner Loop
\tadd.f32 \t%f2, %f1, %f3;
\tadd.f32 \t%f1, %f2, %f3;
\tsetp.lt.s32 \t%p1, %r1, %r2;
\t@%p1 bra \t$L__BB0_2;
\tret;
"""


@pytest.mark.parametrize(
    ("instruction_set", "text", "pattern", "length", "width"),
    [
        ("x86", X86, "vaddps", 4, 32),
        ("x86", X86.replace("%ymm2", "%zmm2"), "vaddps", 4, 64),
        ("sass", SASS, r"FADD.*", 5, 0),
        ("ptx", PTX, r"add\.f32", 4, 0),
    ],
)
def test_the_loop_is_found_and_its_instructions_counted(
    instruction_set, text, pattern, length, width
):
    (loop,) = loops_in(text, instruction_set)
    assert loop.instruction_set == instruction_set
    assert len(loop.mnemonics) == length
    assert loop.vector_bytes == width
    assert loop.count(pattern) == 2
    assert loop.count("add") == 0  # the whole mnemonic counts


def test_code_without_a_jump_back_has_no_loop():
    assert (
        loops_in(X86.replace("1003 <", "1016 <").replace("je     1000", "je     1020"), "x86") == []
    )
