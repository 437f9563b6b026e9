"""GPUs that need not be here, the compilers for them, and what a compiled kernel takes on each.

Three compilers tell the registers, the spilled bytes, the local memory and the occupancy of each
kernel of a file, without a device:

========  ====================================  ==========================================
vendor    compiler                              figures
========  ====================================  ==========================================
AMD       clang with libclc                     remarks of its pass kernel-resource-usage
NVIDIA    clang with libclc, then ``ptxas -v``  what ptxas prints
Intel     ``ocloc``, the driver's compiler      the section ``.ze_info`` of the binary
========  ====================================  ==========================================

The library of built-in functions is libclc, and not that of a driver. Its functions are longer or
shorter here and there, so a driver's figures can differ a little.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from recorded import FILES, Pretended, Unit

from pyapsp.device.kernels import source
from pyapsp.device.quirks import vendor_file

__all__ = [
    "ALLOWED",
    "DAILY",
    "MISSING",
    "TARGETS",
    "Allowed",
    "Form",
    "Target",
    "Usage",
    "compiled",
    "default_units",
    "over_budget",
]

CLANG = "clang-19"
LIBRARIES = Path("/usr/lib/clc")
#: What to install where a compiler is missing.
MISSING = {
    "AMD": "apt install clang-19 libclc-19",
    "NVIDIA": "apt install clang-19 libclc-19, and ptxas of the CUDA toolkit in PATH",
    "Intel": "docs/extend.md: ocloc of intel-ocloc in PATH",
}
_LANGUAGE = (
    *("-x", "cl", "-fgnu-keywords", "-O3", "-w", "-fno-crash-diagnostics"),
    *("-Xclang", "-cl-ext=+cl_khr_int64_base_atomics,+cl_khr_int64_extended_atomics"),
)
# Functions that libclc lacks, of which clang has builtins.
_BUILTINS = {
    "AMD": (
        "-Datomic_load_explicit=__opencl_atomic_load",
        "-Datomic_store_explicit=__opencl_atomic_store",
        "-Datomic_work_item_fence(flags,order,scope)=__atomic_thread_fence(order)",
    ),
    "NVIDIA": (
        "-Datomic_load_explicit=__opencl_atomic_load",
        "-Datomic_store_explicit=__opencl_atomic_store",
        "-Datomic_work_item_fence(flags,order,scope)=__nvvm_membar_gl()",
        "-Datom_min(p,value)=__scoped_atomic_fetch_min(p,value,0,1)",
        "-Datom_max(p,value)=__scoped_atomic_fetch_max(p,value,0,1)",
    ),
}


@dataclass(frozen=True)
class Usage:
    """What a kernel takes."""

    # Registers of a work-item; on Intel's GPUs of a hardware thread, which has many work-items.
    registers: int
    spilled: int  # bytes for a work-item that are stored to memory because registers are missing
    # Bytes of other private memory of a work-item: arrays whose index is not a constant.
    private: int
    # Scalar registers that are saved in vector registers, which costs instructions and no memory.
    scalars: int
    local: int  # bytes of local memory of a work-group
    occupancy: int  # hardware threads that fit at once, in per cent of the most


@dataclass(frozen=True)
class Target:
    """A GPU to compile for."""

    name: str  # as its compiler names it
    vendor: str  # "AMD", "NVIDIA" or "Intel"
    product: str  # a product that has it
    # The most hardware threads of a scheduler (AMD), of a multiprocessor (NVIDIA), of a vector
    # engine (Intel).
    threads: int
    local: int = 0  # bytes of local memory of a multiprocessor, for the occupancy (NVIDIA)
    # The capabilities that differ from those of other GPUs of the vendor.
    able: Mapping[str, object] = field(default_factory=dict, compare=False)

    def device(self) -> Pretended:
        """Return a device that passes for this GPU."""
        identity = dict.fromkeys(("name", "plain_name", "architecture"), self.name)
        identity |= {"platform_name": _PLATFORMS[self.vendor], "kind": "gpu", "processor": ""}
        return Pretended(identity, _ABLE | _ABLE_OF[self.vendor] | self.able)

    def missing(self) -> str | None:
        """Return what to install if the compiler is missing."""
        if self.vendor == "Intel":
            found = shutil.which("ocloc") is not None
        else:
            found = shutil.which(CLANG) is not None and self._library().is_file()
            found &= self.vendor == "AMD" or shutil.which("ptxas") is not None
        return None if found else f"{self.name} needs a compiler ({MISSING[self.vendor]})"

    def compiler(self) -> str:
        """Return the name and the version of the compiler."""
        if self.vendor == "Intel":
            return f"ocloc {_output('ocloc', '--version').strip()}"
        version = re.search(r"version (\S+)", _output(CLANG, "--version"))
        assert version
        clang = f"clang {version[1].partition('~')[0]}"
        if self.vendor == "AMD":
            return clang
        version = re.search(r"V([\d.]+)", _output("ptxas", "--version"))
        assert version
        return f"{clang}, ptxas {version[1]}"

    def compile(self, unit: Unit) -> dict[str, Usage]:
        """Return what each kernel of a file takes.

        Raises
        ------
        CompileError
            If it does not compile.
        """
        return _COMPILERS[self.vendor](self, unit)

    def _library(self) -> Path:
        names = {"AMD": "amdgcn--amdhsa.bc", "NVIDIA": "nvptx64--nvidiacl.bc"}
        return LIBRARIES / names[self.vendor]


class CompileError(Exception):
    """A compiler refuses a kernel file."""


@dataclass(frozen=True)
class Form:
    """A kernel file with macros, and its kernels or the message of the compiler."""

    unit: Unit
    kernels: Mapping[str, Usage]
    failure: str = ""


_PLATFORMS = {
    "AMD": "AMD Accelerated Parallel Processing",
    "NVIDIA": "NVIDIA CUDA",
    "Intel": "Intel(R) OpenCL Graphics",
}
# What GPUs have in common, and the GPUs of a vendor: as their drivers report it.
_ABLE: Mapping[str, object] = {
    "fp64": True,
    "fp16": True,
    "int64": True,
    "int64_atomics": True,
    "device_scope_fence": True,
    "packed16": False,
    "warps32": False,
    "unified_memory": False,
    "compute_units": 64,
    "c_version": (3, 0),
    "c_standard": "CL3.0",
    "subgroups": False,
    "extensions": (),
    "local_memory": 2**16,
    "max_work_group_size": 1024,
    "max_work_item_sizes": (1024,) * 3,
}
_ABLE_OF: Mapping[str, Mapping[str, object]] = {
    "AMD": {
        "subgroups": True,
        "extensions": ("cl_khr_subgroups",),
        "c_version": (2, 0),
        "c_standard": "CL2.0",
        "max_work_group_size": 256,
        "max_work_item_sizes": (1024,) * 3,
    },
    "NVIDIA": {"fp16": False, "local_memory": 49152, "warps32": True},
    "Intel": {
        "subgroups": True,
        "extensions": ("cl_khr_subgroup_ballot", "cl_khr_subgroup_shuffle", "cl_khr_subgroups"),
    },
}

TARGETS = (
    Target("gfx906", "AMD", "Instinct MI50", 10),
    Target("gfx90a", "AMD", "Instinct MI200", 8),
    Target("gfx942", "AMD", "Instinct MI300", 8),
    Target("gfx1030", "AMD", "Radeon RX 6800", 16),
    Target("gfx1100", "AMD", "Radeon RX 7900", 16),
    Target("gfx1201", "AMD", "Radeon RX 9070", 16),
    Target("sm_80", "NVIDIA", "A100", 64, 164 * 1024),
    Target("sm_89", "NVIDIA", "RTX 4090", 48, 100 * 1024),
    Target("sm_90", "NVIDIA", "H100, H200", 64, 228 * 1024, {"packed16": True}),
    Target("dg2", "Intel", "Arc A770", 8, able={"fp64": False}),
    Target("pvc", "Intel", "Data Center GPU Max", 8),
    Target("bmg", "Intel", "Arc B580", 8),
    Target("lnl-m", "Intel", "Core Ultra 200V", 8),
)

# They use double precision with all macros.
_DOUBLE = {
    "all_pairs/summaries/betweenness.cl",
    "all_pairs/summaries/betweenness_levels.cl",
    "all_pairs/summaries/betweenness_rows.cl",
}
#: Those that every run of the tests compiles for.
DAILY = ("gfx942", "gfx1100")


@dataclass(frozen=True)
class Allowed:
    """A file whose kernels may use private memory on the GPUs of a vendor: bytes a work-item."""

    file: str
    vendor: str
    bytes: int
    reason: str


_STACK = "an array that is indexed at run time: the stack of the interpreter"
_FRAME = "the frame of a function that clang does not inline"
_FEW = "a work-item has 256 to 512 bytes of registers"
ALLOWED = (
    Allowed("simulation/interpreter.cl", "AMD", 72, _STACK),
    Allowed("simulation/interpreter.cl", "NVIDIA", 72, _STACK),
    Allowed("matching/scores.cl", "NVIDIA", 8, _FRAME),
    Allowed("all_pairs/dense/fw_singlekernel.cl", "NVIDIA", 8, _FRAME),
    Allowed(
        "all_pairs/dense/fw_minplus.cl",
        "Intel",
        848,
        f"{_FEW}; with the parameters that the method chooses at most 288 (pvc, 64-bit values)",
    ),
    Allowed("all_pairs/dense/fw_mm.cl", "Intel", 410, f"{_FEW}; most for 64-bit values"),
    Allowed("all_pairs/dense/fw_twolevel.cl", "Intel", 350, f"{_FEW}; 64-bit values"),
    Allowed("all_pairs/dense/fw_recursive.cl", "Intel", 196, f"{_FEW}; 64-bit values"),
    Allowed("all_pairs/dense/fw_onegroup.cl", "Intel", 302, _FEW),
    Allowed("all_pairs/dense/fw_packed.cl", "Intel", 20, _FEW),
    Allowed("all_pairs/dense/fw_blocked.cl", "Intel", 14, _FEW),
)


def over_budget(target: Target, forms: Iterable[Form]) -> list[tuple[str, str, int]]:
    """Return file, kernel and bytes of what uses more private memory than `ALLOWED` says."""
    most = {each.file: each.bytes for each in ALLOWED if each.vendor == target.vendor}
    found = {
        (form.unit.file, kernel, usage.spilled + usage.private)
        for form in forms
        for kernel, usage in form.kernels.items()
    }
    return sorted(each for each in found if each[2] > most.get(each[0], 0))


def default_units(target: Target) -> list[Unit]:
    """Return the kernel files with their default macros.

    Those for CPUs and for other vendors are left out, and without double precision those that use
    it always.
    """
    vendors = {
        vendor_file(".cl", platform).strip(".").partition(".")[0]
        for platform in _PLATFORMS.values()
    }
    others = vendors - {target.vendor.lower()} | {"cpu"}
    names = [name for name in FILES if name.split(".")[-2] not in others]
    if not target.able.get("fp64", True):
        names = [name for name in names if name not in _DOUBLE]
    return [Unit(name) for name in names]


@cache
def compiled(target: Target, units: tuple[Unit, ...]) -> list[Form]:
    """Compile kernel files, each once, on all cores that this process may use."""

    def one(unit: Unit) -> Form:
        try:
            return Form(unit, target.compile(unit))
        except CompileError as error:
            return Form(unit, {}, str(error))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(one, units))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _run(command: Iterable[str], folder: Path) -> str:
    """Return the standard error of a compiler."""
    done = subprocess.run(list(command), capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise CompileError((done.stderr + done.stdout).strip() or "ended without a word")
    return done.stderr


def _clang(target: Target, unit: Unit, *options: str) -> str:
    """Compile with clang, which links the functions of OpenCL C that the kernels call."""
    link = ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(target._library()))
    macros = (f"-D{name}={value}" for name, value in unit.macros)
    standard = f"-cl-std={unit.standard or 'CL1.2'}"
    before = () if unit.before is None else ("-include", unit.before)
    command = (CLANG, *_LANGUAGE, standard, *_BUILTINS[target.vendor], *options, *link, *macros)
    return _run((*command, *before, "-I", str(source.root()), "-S", unit.file), source.root())


# -- AMD -------------------------------------------------------------------------------------------

# As the driver's compiler, which has no calls of functions: all are inlined.
_INLINE = ("-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false")
_REMARK = re.compile(r"remark: +([A-Z][^:\n]*): (\S+) \[-Rpass-analysis")
# A call of a function that is not in the file.
_CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)@(?:gotpcrel32|rel32)@lo")


def _for_amd(target: Target, unit: Unit) -> dict[str, Usage]:
    options = ("--target=amdgcn-amd-amdhsa", f"-mcpu={target.name}", "-nogpulib", *_INLINE)
    with TemporaryDirectory() as folder:
        assembly = Path(folder, "kernels.s")
        analysis = ("-Rpass-analysis=kernel-resource-usage", "-o", str(assembly))
        remarks = _clang(target, unit, *options, *analysis)
        text = assembly.read_text()
    calls = {name for name in _CALL.findall(text) if f"\n{name}:" not in text}
    if calls:
        raise CompileError(f"no such functions: {', '.join(sorted(calls))}")
    kernels = {}
    for name, facts in _by_function(remarks):
        scratch = facts["ScratchSize [bytes/lane]"]
        # some are saved in registers of the other kind
        spilled = min(4 * facts["VGPRs Spill"], scratch)
        kernels[name] = Usage(
            # where there are both kinds, they share one file of registers
            registers=facts["VGPRs"] + facts.get("AGPRs", 0),
            spilled=spilled,
            private=scratch - spilled,
            scalars=facts["SGPRs Spill"],
            local=facts["LDS Size [bytes/block]"],
            occupancy=100 * facts["Occupancy [waves/SIMD]"] // target.threads,
        )
    return kernels


def _by_function(remarks: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield the facts of the remarks about each function."""
    _, *functions = remarks.split("remark: Function Name: ")
    for text in functions:
        facts = {name: int(said) for name, said in _REMARK.findall(text) if said.isdecimal()}
        yield text.split(maxsplit=1)[0], facts


# -- NVIDIA ----------------------------------------------------------------------------------------

_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")
_GROUP = re.compile(r"\.entry (\w+)\((?:[^{]*?)\.reqntid (\d+), (\d+), (\d+)", re.DOTALL)
# Registers of a multiprocessor and how many a warp gets at a time; local memory of a group that the
# driver takes; the size of a group that kernels without a fixed one are launched with.
_REGISTERS, _AT_A_TIME, _RESERVED, _ANY_GROUP = 65536, 256, 1024, 256


def _for_nvidia(target: Target, unit: Unit) -> dict[str, Usage]:
    with TemporaryDirectory() as folder:
        ptx = Path(folder, "kernels.ptx")
        options = ("--target=nvptx64-nvidia-nvcl", f"-march={target.name}", "-o", str(ptx))
        _clang(target, unit, *options)
        text = ptx.read_text()
        command = ("ptxas", "-v", f"-arch={target.name}", str(ptx), "-o", "kernels.cubin")
        said = _run(command, Path(folder))
    groups = {name: int(x) * int(y) * int(z) for name, x, y, z in _GROUP.findall(text)}
    kernels = {}
    for part in said.split("Compiling entry function '")[1:]:
        name = part.partition("'")[0]
        used = _USED.search(part)
        assert used
        local = sum(map(int, _SHARED.findall(part)))
        # of the kernel, and of the functions that it calls
        frames = [(int(frame), int(spilled)) for frame, spilled in _FRAME.findall(part)]
        spilled = sum(stores for _, stores in frames)
        kernels[name] = Usage(
            registers=int(used[1]),
            spilled=spilled,
            private=max(sum(frame for frame, _ in frames) - spilled, 0),
            scalars=0,
            local=local,
            occupancy=_occupancy(target, int(used[1]), local, groups.get(name, _ANY_GROUP)),
        )
    return kernels


def _occupancy(target: Target, registers: int, local: int, group: int) -> int:
    """Return the warps that registers and local memory allow, in per cent of the most."""
    warps = -(-group // 32)
    each = -(-registers * 32 // _AT_A_TIME) * _AT_A_TIME
    groups = min(_REGISTERS // each // warps, target.threads // warps)
    groups = min(groups, target.local // (local + _RESERVED))
    return 100 * groups * warps // target.threads


# -- Intel -----------------------------------------------------------------------------------------

_KERNEL = re.compile(r"^  - name: +(\S+)$", re.MULTILINE)
_FACT = re.compile(r"^ +(\w+): +(\d+)$", re.MULTILINE)
# What holds the constants of a file is listed as a kernel.
_CONSTANTS = "Intel_Symbol_Table_Void_Program"
# Registers of a thread if all threads of a vector engine are to fit.
_OF_A_THREAD = 128


def _for_intel(target: Target, unit: Unit) -> dict[str, Usage]:
    text = source.assemble(unit.file, dict(unit.macros))
    options = f"-cl-std={unit.standard or 'CL1.2'}"
    with TemporaryDirectory() as folder:
        Path(folder, "kernels.cl").write_text(text)
        command = ("ocloc", "compile", "-q", "-file", "kernels.cl", "-device", target.name)
        command += ("-output_no_suffix", "-output", "kernels", "-options", options)
        _run(command, Path(folder))
        binary = next(Path(folder).glob("kernels.bin")).read_bytes()
    about = binary[binary.index(b"\nkernels:\n") :].split(b"\0", 1)[0].decode()
    about = about.partition("\nkernels_misc_info:")[0]
    kernels = {}
    _, *parts = _KERNEL.split(about)
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        if name == _CONSTANTS:
            continue
        facts = {key: int(value) for key, value in _FACT.findall(part)}
        lanes = facts["simd_size"]
        kernels[name] = Usage(
            registers=facts["grf_count"],
            spilled=-(-facts.get("spill_size", 0) // lanes),
            private=-(-facts.get("private_size", 0) // lanes),
            scalars=0,
            local=facts.get("slm_size", 0),
            occupancy=100 * _OF_A_THREAD // max(facts["grf_count"], _OF_A_THREAD),
        )
    return kernels


_COMPILERS = {"AMD": _for_amd, "NVIDIA": _for_nvidia, "Intel": _for_intel}
