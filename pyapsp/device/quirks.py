"""Every fact about a vendor, a driver or its packages: the only module with vendor names.

The rest of the package uses facts without vendor names: :class:`Traits` has the forms of code that
are fastest on a device, :class:`Runtime` has the places of an OpenCL implementation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

__all__ = [
    "RUNTIMES",
    "RUNTIME_SETTINGS",
    "SENSOR_LIBRARIES",
    "VARIABLES",
    "VISIBLE",
    "Instructions",
    "Runtime",
    "Traits",
    "architecture_of",
    "instructions_of",
    "maps_late",
    "nearest_processor",
    "pci_address_of",
    "plain_name",
    "told_processor",
    "traits_of",
    "unlisted_scope",
    "usable_local_memory",
    "vendor_file",
]


@dataclass(frozen=True)
class Runtime:
    """An OpenCL implementation that can be installed in a place where the loader does not look."""

    name: str  # its usual name
    platform: str  # a word in the name of its platform, in small letters
    # Its library: a pattern of file names in `distribution`, or without a distribution the name
    # under which the dynamic linker finds it.
    library: str
    # The Python distribution that contains the library; None if it comes with a driver.
    distribution: str | None
    install: str  # how to install it
    # The cache folder that must be writable, or the runtime has no devices: the environment
    # variable that sets it, and its default, a folder in the user's folder for caches.
    cache: tuple[str, str] | None = None
    # How to install the linker that it calls to build a kernel. Without one it ends the process.
    linker: str | None = None


RUNTIMES = (
    Runtime(
        name="PoCL",
        platform="portable computing language",
        library="libpocl*.so",
        distribution="pocl-binary-distribution",
        install='pip install "pyapsp[cpu]"',
        cache=("POCL_CACHE_DIR", "pocl/kcache"),
        linker="a C compiler (Debian: apt-get install gcc libc6-dev)",
    ),
    # The .icd file of its wheel has a path on the packager's machine, so it cannot be used.
    Runtime(
        name="Intel CPU runtime",
        platform="intel",
        library="libintelocl.so",
        distribution="intel-opencl-rt",
        install='pip install "pyapsp[intel]"',
    ),
    # Containers often have the library of the driver but not its .icd file.
    Runtime(
        name="NVIDIA driver",
        platform="nvidia",
        library="libnvidia-opencl.so.1",
        distribution=None,
        install="the NVIDIA driver of the system",
    ),
)


#: Environment variables that select the devices which drivers show.
VARIABLES = ("POCL_CACHE_DIR", "RUSTICL_ENABLE")

#: Environment variables with which the same kernels take other times.
RUNTIME_SETTINGS = (
    "POCL_AFFINITY",
    "POCL_MAX_PTHREAD_COUNT",
    "DPCPP_CPU_CU_AFFINITY",
    "DPCPP_CPU_NUM_CUS",
    "CL_CONFIG_CPU_VECTORIZER_MODE",
)

#: Variables by which a launcher shows each process other devices. With equal values processes see
#: the same ones.
VISIBLE = (
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
)


#: Sensor of power -> the module that reads it, and the package that has the module.
SENSOR_LIBRARIES = {"nvml": ("pynvml", "nvidia-ml-py"), "amdsmi": ("amdsmi", "amdsmi")}


@dataclass(frozen=True)
class Traits:
    """The forms of code that are fastest on a device.

    Parameters
    ----------
    float_min, integer_min : {"builtin", "ternary"}
        The form of a minimum that compiles to one instruction: "builtin" is ``fmin(a, b)`` or
        ``min(a, b)``, "ternary" is ``(a < b) ? a : b``.
    max_vector_bytes : int
        Size of the widest vector for which the compiler is correct and fast; 1 means scalars only,
        for elements of any size. See :meth:`lanes`.
    scalar_groups : bool
        One work-item per work-group, as on CPU devices where a group is a loop on one core.
    prefetches : bool
        Whether the compiler is based on Clang, and compiles Clang's builtin for a prefetch to an
        instruction. It may ignore the ``prefetch`` of OpenCL C.
    long_vectors : bool
        Whether the compiler is based on Clang, and accepts vectors of more than 16 elements, the
        limit of OpenCL C.
    optimises_barriers : bool
        Whether optimised kernels are right that have many barriers in nested loops, groups of
        several work-items, and several groups that run at the same time. Without optimisation,
        kernels are wrong that have the loops of ``tests/device/kernels/test_loops.py``; ours have
        none.
    tile_bytes : int or None
        Bytes of the tile of values that a work-item can have in its registers, beside operands and
        addresses, before the compiler stores registers to memory. None: not limited.
    """

    float_min: str
    integer_min: str
    max_vector_bytes: int
    scalar_groups: bool
    prefetches: bool = False
    long_vectors: bool = False
    optimises_barriers: bool = True
    tile_bytes: int | None = None

    def lanes(self, item_bytes: int, *, long: bool = False) -> int:
        """Return how many elements of `item_bytes` bytes to use in a vector: a power of two.

        It is at most 16; with `long`, and a compiler with `long_vectors`, at most 32. Use `long`
        for kernels that call no vector functions.
        """
        lanes, most = 1, 32 if long and self.long_vectors else 16
        while lanes < most and 2 * lanes * item_bytes <= self.max_vector_bytes:
            lanes *= 2
        return lanes


_GPU = Traits("builtin", "builtin", max_vector_bytes=1, scalar_groups=False)
_CPU = Traits("ternary", "ternary", max_vector_bytes=16, scalar_groups=True)

# (word in the platform name, kind) -> traits
_KNOWN = {
    # fmin, min and select are library calls. The compiler (LLVM 14 in version 3.0) crashes on AVX2
    # targets for a ternary of vectors longer than 32 bytes: "Do not know how to scalarize this
    # operator's operand". Optimised, it moves a barrier in a loop into an `if` before it, whose
    # branch is then that of the last work-item for all of a group. So a breadth-first search with
    # groups of 32 lost vertices, and which ones depended on the order that threads found them in.
    ("portable computing language", "cpu"): replace(
        _CPU, max_vector_bytes=32, prefetches=True, optimises_barriers=False
    ),
    # fmin() must handle NaN, which halves the speed. For integers, the ternary of vectors
    # of 64 bytes makes masks of comparisons where min() is an instruction.
    ("intel", "cpu"): replace(_CPU, integer_min="builtin", max_vector_bytes=32, prefetches=True),
    # Neighbouring work-items are the lanes of its vectors. In a group of one work-item the unused
    # lanes are not masked in loops: they may run an inner loop to the limit of 65,535 steps that
    # ends all loops of the kernel.
    ("rusticl", "cpu"): replace(_CPU, max_vector_bytes=1, scalar_groups=False),
    # An interpreter that detects data races: every form works, and every form should be tested.
    ("oclgrind", "gpu"): replace(_GPU, max_vector_bytes=64),
    # Neighbouring work-items form the vector; a pair of 32-bit values is one load or store.
    ("nvidia", "gpu"): replace(_GPU, max_vector_bytes=8),
    # Counted, not measured: see docs/kernels.md. Some have 256 registers of 32 bits, of which the
    # compiler takes half for the operands of steps that it moves ahead.
    ("amd", "gpu"): replace(_GPU, tile_bytes=256),
    # A thread of 16 work-items has 128 registers of 64 bytes, or 128 registers of 32 bytes.
    ("intel", "gpu"): replace(_GPU, tile_bytes=64),
}
# The first processors for which compilers use 64-byte vectors, and their instruction sets.
_AVX512 = frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"})
_WITH_AVX512 = re.compile(
    r"skx|skylake-avx512|cascadelake|cooperlake|cannonlake|icelake-\w+|tigerlake|rocketlake"
    r"|(sapphire|emerald|granite|diamond)rapids(-d)?|znver[4-9]|x86-64-v4"
)


@cache
def traits_of(platform_name: str, kind: str, processor: str, features: frozenset[str]) -> Traits:
    """Return the traits of a device.

    Parameters
    ----------
    platform_name : str
        Name of its OpenCL platform.
    kind : {"gpu", "cpu", "accelerator"}
        What it is.
    processor : str
        The processor that its compiler compiles for, if known.
    features : frozenset of str
        What `pyapsp.device.processor.features` returns for the host's processor.

    Returns
    -------
    Traits
        Measured values for known implementations, safe values for the others.
    """
    name = platform_name.lower()
    for (word, known_kind), traits in _KNOWN.items():
        if word in name and kind == known_kind:
            if traits.scalar_groups and _has_avx512(processor, features):
                return replace(traits, max_vector_bytes=64, long_vectors=True)
            return traits
    return _CPU if kind == "cpu" else _GPU


def _has_avx512(processor: str, features: frozenset[str]) -> bool:
    """Whether kernels are compiled for AVX-512: by the compiler's processor, if it is known."""
    return bool(_WITH_AVX512.fullmatch(processor)) if processor else features >= _AVX512


@dataclass(frozen=True)
class Instructions:
    """A kernel that builds and gives the right words only where a device has some instructions."""

    #: It has a kernel ``probe``, with a buffer of words as argument. One group runs it, which has a
    #: work-item for each word.
    source: str
    words: tuple[int, ...]
    right: tuple[int, ...]


# Adds and takes the minimum of pairs of 16-bit values, with instructions of PTX 8.0 for sm_90. On
# older devices this kernel does not build.
_PACKED16 = Instructions(
    """
kernel void probe(global uint *word)
{
    uint sum, less;
    asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(word[0]), "r"(word[1]));
    asm("min.s16x2 %0, %1, %2;" : "=r"(less) : "r"(sum), "r"(word[2]));
    barrier(CLK_GLOBAL_MEM_FENCE);
    word[get_global_id(0)] = less;
}
""",
    (0x0001FFFF, 0x00010001, 0x0003FFFF),
    (0x0002FFFF,) * 3,
)
# The sums of two warps, with an instruction of PTX 7.0 for sm_80: they are 32 neighbours each.
_WARPS32 = Instructions(
    """
kernel void probe(global uint *word)
{
    uint sum;
    asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;"
                 : "=r"(sum) : "r"(word[get_global_id(0)]));
    word[get_global_id(0)] = sum;
}
""",
    tuple(range(64)),
    (sum(range(32)),) * 32 + (sum(range(32, 64)),) * 32,
)
# capability, word in the platform name, kind
_INSTRUCTIONS = {
    ("packed16", "nvidia", "gpu"): _PACKED16,
    ("warps32", "nvidia", "gpu"): _WARPS32,
}


def instructions_of(capability: str, platform_name: str, kind: str) -> Instructions | None:
    """Return what shows whether a device has the instructions of a capability.

    Parameters
    ----------
    capability : {"packed16", "warps32"}
        As in `Capabilities`.
    platform_name, kind
        As in `traits_of`.

    Returns
    -------
    Instructions or None
        None for vendors whose instructions are not known.
    """
    name = platform_name.lower()
    for (known, word, known_kind), instructions in _INSTRUCTIONS.items():
        if known == capability and word in name and kind == known_kind:
            return instructions
    return None


# Platforms that have fences of device scope but do not list this scope.
_UNLISTED_SCOPE = ("nvidia",)


def unlisted_scope(platform_name: str) -> bool:
    """Return whether drivers of a platform are known to have device scope without listing it."""
    return any(word in platform_name.lower() for word in _UNLISTED_SCOPE)


# Platforms whose drivers count the local memory of a kernel twice, and refuse more than they list.
_COUNTS_TWICE = ("rusticl",)


def usable_local_memory(platform_name: str, listed: int) -> int:
    """Return the bytes of local memory that a kernel can have, of those that a driver lists."""
    twice = any(word in platform_name.lower() for word in _COUNTS_TWICE)
    return listed // 2 if twice else listed


# Platforms where a map that does not block knows its pointer only when it is executed, so that
# enqueueing the unmap fails, or crashes (seen in 22.3.6).
_MAPS_LATE = ("rusticl",)


def maps_late(platform_name: str) -> bool:
    """Return whether a map must block before its unmap can be enqueued, on a platform."""
    return any(word in platform_name.lower() for word in _MAPS_LATE)


# Words in platform names. Kernel files for one vendor have the same word before their suffix.
_VENDORS = ("nvidia", "amd", "intel")


def vendor_file(name: str, platform_name: str) -> str:
    """Return the kernel file written for one vendor beside a portable one.

    Parameters
    ----------
    name : str
        The portable file, e.g. ``"registry/roofs.cl"``.
    platform_name : str
        Name of the device's OpenCL platform.

    Returns
    -------
    str
        E.g. ``"registry/roofs.nvidia.cl"``, which may not exist; `name` itself for vendors
        without such files.
    """
    for vendor in _VENDORS:
        if vendor in platform_name.lower():
            return f".{vendor}.".join(name.rsplit(".", 1))
    return name


# The parts that drivers and vendors add to the name of a device.
_DECORATIONS = (
    # PoCL: the driver inside it and, from 4.0 on, the processor it compiles for
    re.compile(r"^(pthread|basic|cpu)-([a-z][a-z0-9-]*-(?=[A-Z]))?"),
    re.compile(r"\((R|TM|C)\)", re.IGNORECASE),
    re.compile(r"\s+@.*$"),  # the clock rate
    re.compile(r"\s+(\d+-Core\s+)?(Processor|CPU)$"),
    re.compile(r":[a-z]+[+-].*$"),  # AMD: features switched on and off
)


def plain_name(name: str) -> str:
    """Return the name of a device without the additions of its driver and vendor.

    Parameters
    ----------
    name : str
        The name that its driver reports.
    """
    for decoration in _DECORATIONS:
        name = decoration.sub(" ", name.strip())
    return " ".join(name.split())


# extension -> template of the name, and the device queries whose values fill it
_ARCHITECTURES = {
    "cl_nv_device_attribute_query": (
        "sm_{}{}",
        ("COMPUTE_CAPABILITY_MAJOR_NV", "COMPUTE_CAPABILITY_MINOR_NV"),
    ),
}
# PoCL names the processor that it compiles for at the end of the device version.
_TARGET = re.compile(r"\bHSTR: \S+?-linux-\w+-(\S+)$")


def architecture_of(
    name: str,
    kind: str,
    processor: str,
    extensions: set[str],
    features: frozenset[str],
    ask: Callable[[str], int | None],
) -> str:
    """Return the name of a group of devices that have the same tuning parameters.

    Parameters
    ----------
    name : str
        Its plain name, which is returned if no group is known.
    kind : {"gpu", "cpu", "accelerator"}
        What it is.
    processor : str
        The processor that its compiler compiles for, if known.
    extensions : set of str
        Its OpenCL extensions.
    features : frozenset of str
        What `pyapsp.device.processor.features` returns for the host's processor.
    ask : callable
        Returns the value of a device query by its name, or None.
    """
    for extension, (form, queries) in _ARCHITECTURES.items():
        if extension in extensions:
            values = [ask(query) for query in queries]
            if None not in values:
                return form.format(*values)
    processor = processor or (_nearest(features) if kind == "cpu" else "")
    if _ZEN4 in features and _WITH_AVX512.fullmatch(processor):
        return "znver4"
    return processor or name


# extension -> template of the address on the PCI bus, and the device queries whose values fill it
_ADDRESSES = {
    "cl_nv_device_attribute_query": (
        "{:08x}:{:02x}:{:02x}.0",
        ("PCI_DOMAIN_ID_NV", "PCI_BUS_ID_NV", "PCI_SLOT_ID_NV"),
    ),
}


def pci_address_of(extensions: set[str], ask: Callable[[str], int | None]) -> str | None:
    """Return the address of a device on the PCI bus, if its driver gives it.

    Parameters
    ----------
    extensions, ask
        As in `architecture_of`.

    Returns
    -------
    str or None
        As ``"00000000:17:00.0"``.
    """
    for extension, (form, queries) in _ADDRESSES.items():
        if extension in extensions:
            values = [ask(query) for query in queries]
            if None not in values:
                return form.format(*values)
    return None


# For a processor that it does not know, PoCL passes its compiler a name that the compiler rejects.
# These names replace it: the newest processor of the list that the compiler knows (LLVM 14) and
# whose instructions the host's processor has. The first has registers of 64 bytes.
_UNKNOWN = "generic"
_PROCESSORS = {
    "skx": _AVX512 | {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c"},
    "znver3": {"avx2", "fma", "bmi2", "abm", "sse4a", "clwb", "vaes", "vpclmulqdq"},
    "haswell": {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c", "rdrand"},
}
# The older processor that this version of PoCL takes Zen 4 for. Zen 4 has registers of 64 bytes,
# too. It adds and compares one half at a time, but it has twice as many registers, broadcasts an
# operand from memory, and has instructions for minima of 64-bit integers. Kernels are tuned for it
# separately: on processors that add whole registers at a time, other kernels are faster.
_TAKEN_FOR = ("znver3", "3.0-rc2")
_ZEN4 = "AuthenticAMD 25"  # of that family, only Zen 4 has AVX-512


def told_processor(version: str) -> str:
    """Return the processor that a driver passes to its compiler, or an empty string.

    Parameters
    ----------
    version : str
        The device's OpenCL version, as its driver reports it.
    """
    target = _TARGET.search(version)
    return target[1] if target else ""


def nearest_processor(told: str, driver: str, features: frozenset[str]) -> str:
    """Return the processor that a driver should pass to its compiler, or an empty string.

    Parameters
    ----------
    told : str
        The processor that it passes.
    driver : str
        The version of the driver.
    features : frozenset of str
        What `pyapsp.device.processor.features` returns for the host's processor.
    """
    nearest = _nearest(features)
    older = (told, driver) == _TAKEN_FOR and _WITH_AVX512.fullmatch(nearest)
    return nearest if told == _UNKNOWN or older else ""


def _nearest(features: frozenset[str]) -> str:
    """Return the newest known processor whose instructions are all there, or an empty string."""
    return next((name for name, needed in _PROCESSORS.items() if needed <= features), "")
