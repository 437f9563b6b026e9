"""Loops in listings, and the instructions in them."""

from __future__ import annotations

import pytest

from pyapsp.device.kernels import Program
from pyapsp.profiling.benchmarks import disassembly
from pyapsp.profiling.benchmarks.disassembly import (
    Registers,
    loops_in,
    loops_of_kernel,
    registers_of,
)

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
.text.kernel:
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
.visible .entry kernel(
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
    assert loop.function == "kernel"
    assert next(iter(loop.mix().items())) == (pattern.split("\\.")[0].rstrip(".*"), 2)


def test_code_without_a_jump_back_has_no_loop():
    assert (
        loops_in(X86.replace("1003 <", "1016 <").replace("je     1000", "je     1020"), "x86") == []
    )


def test_loops_of_a_kernel_are_those_of_its_functions(device, monkeypatch):
    """A compiler may make several functions of a kernel; equal loops of them count once."""
    body = "__global float *x) { x[0] = 1; }"
    program = Program(device, f"__kernel void add({body}\n__kernel void a_add({body}")
    two = X86.replace("vaddps", "vmulps").replace("dec    %ecx", "dec    %ecx\n    100c:\tnop")
    listing = "".join(
        text.replace("<kernel>:", f"<{name}>:")
        for name, text in (("k_add_fast", X86), ("k_add", X86), ("k_a_add_fast", two))
    )
    monkeypatch.setattr(disassembly, "_listings", lambda binary: [("x86", listing)])
    (loop,) = loops_of_kernel(program.kernel("add"))
    assert loop.mix() == {"vaddps": 2, "dec": 1, "jne": 1}
    (loop,) = loops_of_kernel(program.kernel("a_add"))
    assert loop.mix() == {"vmulps": 2, "dec": 1, "nop": 1, "jne": 1}


PRINTED = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'add' for 'sm_90'
ptxas info    : Function properties for add
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers
ptxas info    : Compiling entry function 'a_add' for 'sm_90'
ptxas info    : Function properties for a_add
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, 400 bytes smem
"""


@pytest.mark.parametrize(("name", "registers"), [("add", (10, 12)), ("a_add", (168, 0))])
def test_registers_are_those_that_ptxas_counts(device, monkeypatch, name, registers):
    body = "__global float *x) { x[0] = 1; }"
    program = Program(device, f"__kernel void {name}({body}")
    kernel = program.kernel(name)
    assert registers_of(kernel) is None or device.kind == "gpu"
    monkeypatch.setattr(disassembly, "_binaries", lambda kernel: [PTX.encode()])
    monkeypatch.setattr(disassembly, "_assembled", lambda text, target: ("", PRINTED))
    assert registers_of(kernel) == Registers(*registers)
    monkeypatch.setattr(disassembly, "_assembled", lambda text, target: ("", ""))
    assert registers_of(kernel) is None
