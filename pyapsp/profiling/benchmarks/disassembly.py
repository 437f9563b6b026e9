"""The loops and the registers of a compiled kernel, where the driver gives its code.

The binary of a program is one of two things: an archive that contains the library which the driver
has compiled for a processor (``objdump`` disassembles it), or PTX text, which ``ptxas`` assembles
and ``nvdisasm`` disassembles. Without these two, the instructions of the PTX are counted, and the
registers are not known.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import pyopencl as cl

from pyapsp.device.kernels import Program

__all__ = ["Loop", "Registers", "loops_in", "loops_of", "loops_of_kernel", "registers_of"]

_ELF = b"\x7fELF"
_MACHINES = {62: "x86"}  # of the header of an ELF file
_TARGET = re.compile(rb"^\s*\.target\s+(sm_\w+)", re.MULTILINE)
# Lines of code: address or nothing, mnemonic, operands; and lines with the label of the next one.
_LINES = {
    "x86": re.compile(r"\s*(?P<at>[0-9a-f]+):\t(?P<name>\S+)\s*(?P<operands>.*)"),
    "sass": re.compile(
        r"\s+/\*(?P<at>[0-9a-f]+)\*/\s+(@!?U?P\w+\s+)?"
        r"(?P<name>[A-Z][\w.]*)\s*(?P<operands>.*?)\s*;"
    ),
    "ptx": re.compile(r"\s*(@!?%p\d+\s+)?(?P<name>[a-z][\w.]*)\s+(?P<operands>[^:]*);"),
}
_LABEL = re.compile(r"\s*(?P<label>[.$\w]+):\s*(//.*)?$")
# The line where a function begins.
_FUNCTIONS = {
    "x86": re.compile(r"[0-9a-f]+ <(?P<name>.+)>:$"),
    "sass": re.compile(r"\.text\.(?P<name>\S+):$"),
    "ptx": re.compile(r"(\.visible )?\.(entry|func) (?P<name>\w+)"),
}
# The vector registers: a letter -> bytes.
_VECTORS = re.compile(r"%(?P<width>[xyz])mm")
_VECTOR_BYTES = {"x": 16, "y": 32, "z": 64}
_JUMPS = {"x86": re.compile("j"), "sass": re.compile("BRA"), "ptx": re.compile("bra")}
_JUMPS_TO = {
    "x86": re.compile(r"([0-9a-f]+)"),
    "sass": re.compile(r".*?`?\(?(\.L[\w$.]+|0x[0-9a-f]+)"),
    "ptx": re.compile(r"([$\w]+)"),
}


# What ptxas prints of a kernel.
_USED = re.compile(
    r"entry function '(?P<name>\w+)'.*?(?P<spilled>\d+) bytes spill stores"
    r".*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True)
class Registers:
    """The registers of a compiled kernel."""

    count: int  # of a work-item
    spilled: int  # bytes that it stores to memory, because registers are missing


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop."""

    instruction_set: str  # "x86", "sass" or "ptx"
    mnemonics: tuple[str, ...]  # in their order, without operands
    # Of the widest vector register that is used; 0 if there is none.
    vector_bytes: int = 0
    function: str = ""  # the compiled function, for instance the name of the kernel

    def count(self, pattern: str) -> int:
        """Return the number of instructions whose whole mnemonic matches a pattern."""
        return sum(re.fullmatch(pattern, name) is not None for name in self.mnemonics)

    def mix(self) -> dict[str, int]:
        """Return mnemonic, without what follows a dot, -> number of instructions; most first."""
        return dict(Counter(name.partition(".")[0] for name in self.mnemonics).most_common())


def loops_of(program: Program) -> list[Loop]:
    """Return the innermost loops of a program that has run.

    Parameters
    ----------
    program : Program
        Some drivers compile it when it runs for the first time.

    Returns
    -------
    list of Loop
        Empty if the driver gives no code that can be read, or a tool is missing.
    """
    return [
        loop
        for instruction_set, text in _listings(program.binary())
        for loop in loops_in(text, instruction_set)
    ]


def loops_of_kernel(kernel: cl.Kernel) -> list[Loop]:
    """Return the innermost loops of a kernel that has run, largest first; equal ones once.

    Empty as for `loops_of`.
    """
    names = str(_program_of(kernel).get_info(cl.program_info.KERNEL_NAMES)).split(";")
    loops = [
        loop
        for binary in _binaries(kernel)
        for instruction_set, text in _listings(binary)
        for loop in loops_in(text, instruction_set)
        # a compiler makes several functions of a kernel, whose names contain its name
        if max((name for name in names if name in loop.function), key=len, default="")
        == kernel.function_name
    ]
    once = {loop.mnemonics: loop for loop in loops}.values()
    return sorted(once, key=lambda loop: -len(loop.mnemonics))


def registers_of(kernel: cl.Kernel) -> Registers | None:
    """Return the registers of a kernel; None if the driver does not give its code as PTX."""
    for binary in _binaries(kernel):
        if ptx := _ptx_of(binary):
            for found in _USED.finditer(_assembled(*ptx)[1]):
                if found["name"] == kernel.function_name:
                    return Registers(int(found["registers"]), int(found["spilled"]))
    return None


def _program_of(kernel: cl.Kernel) -> cl.Program:
    return cast("cl.Program", kernel.get_info(cl.kernel_info.PROGRAM))


def _binaries(kernel: cl.Kernel) -> list[bytes]:
    return cast("list[bytes]", _program_of(kernel).get_info(cl.program_info.BINARIES))


def loops_in(text: str, instruction_set: str) -> list[Loop]:
    """Return the innermost loops of a listing: from the target of a jump back to the jump.

    Parameters
    ----------
    text : str
        What the disassembler wrote.
    instruction_set : {"x86", "sass", "ptx"}
    """
    names: list[str] = []
    widths: list[int] = []
    places: dict[str, int] = {}  # address or label -> number of the instruction
    loops: list[Loop] = []
    last_start, function = -1, ""
    for line in text.splitlines():
        if begin := _FUNCTIONS[instruction_set].match(line):
            function = begin["name"]
        if label := _LABEL.match(line):
            places[label["label"]] = len(names)
        elif code := _LINES[instruction_set].match(line):
            if "at" in code.groupdict():
                places[_address(code["at"])] = len(names)
            names.append(code["name"])
            vectors = _VECTORS.finditer(code["operands"])
            widths.append(max((_VECTOR_BYTES[each["width"]] for each in vectors), default=0))
            if _JUMPS[instruction_set].match(code["name"]) is None:
                continue
            target = _JUMPS_TO[instruction_set].match(code["operands"])
            start = None if target is None else places.get(_address(target[1]))
            # a loop that contains another one is not innermost
            if start is not None and start > last_start:
                last_start = start
                wide = max(widths[start:])
                loops.append(Loop(instruction_set, tuple(names[start:]), wide, function))
    return loops


def _address(text: str) -> str:
    """Return an address without leading zeros, or a label."""
    if re.fullmatch(r"(0x)?[0-9a-f]+", text):
        return f"{int(text, 16):x}"
    return text


def _ptx_of(binary: bytes) -> tuple[str, str] | None:
    """Return the PTX in the binary of a program, and its target."""
    target = _TARGET.search(binary)
    if target is None:
        return None
    return binary.rstrip(b"\0").decode("utf-8", "replace"), target[1].decode()


def _listings(binary: bytes) -> Iterator[tuple[str, str]]:
    """Yield instruction set and disassembly of each piece of code in the binary of a program."""
    if ptx := _ptx_of(binary):
        assembled, _ = _assembled(*ptx)
        yield ("sass", assembled) if assembled else ("ptx", ptx[0])
    for start in re.finditer(re.escape(_ELF), binary):
        piece = binary[start.start() :]
        machine = _MACHINES.get(int.from_bytes(piece[18:20], "little"))
        if machine is not None and (text := _disassembled(piece)):
            yield machine, text


def _disassembled(library: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.so"
        file.write_bytes(library)
        return _output("objdump", "-d", "--no-show-raw-insn", str(file))[0]


@lru_cache(maxsize=4)
def _assembled(text: str, target: str) -> tuple[str, str]:
    """Assemble PTX; return its disassembly, and what ptxas prints. Empty without the tools."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text, encoding="utf-8")
        _, printed = _output("ptxas", "-v", f"-arch={target}", str(source), "-o", str(binary))
        listing = _output("nvdisasm", "-c", str(binary))[0] if binary.exists() else ""
        return listing, printed


def _output(tool: str, *arguments: str) -> tuple[str, str]:
    """Return the output and the messages of a tool; nothing if it is not there, or fails."""
    path = shutil.which(tool)
    if path is None:
        return "", ""
    done = subprocess.run([path, *arguments], capture_output=True, text=True, errors="replace")
    return (done.stdout, done.stderr) if done.returncode == 0 else ("", "")
