"""Every fact about a vendor, a driver or its packages: the only module with vendor names.

The rest of the package sees neutral facts: :class:`Traits` say how kernels are best written for
a device, :class:`Runtime` says where an OpenCL implementation can be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

__all__ = [
    "PACKED16_ANSWER",
    "RUNTIMES",
    "VARIABLES",
    "Runtime",
    "Traits",
    "architecture_of",
    "nearest_processor",
    "packed16_probe",
    "plain_name",
    "told_processor",
    "traits_of",
    "unlisted_scope",
    "vendor_file",
]


@dataclass(frozen=True)
class Runtime:
    """An OpenCL implementation that can be installed without the loader knowing of it.

    Parameters
    ----------
    name : str
        What people call it.
    library : str
        Its library: a file name pattern inside `distribution`, or else the name under which the
        dynamic linker finds it.
    distribution : str or None
        The Python distribution that contains the library, None when it comes with a driver.
    install : str
        How to get it.
    cache : (str, str) or None
        Where it must be able to write before it has devices: the environment variable that says
        so, and else the folder below that for caches.
    """

    name: str
    library: str
    distribution: str | None
    install: str
    cache: tuple[str, str] | None = None


RUNTIMES = (
    Runtime(
        name="PoCL",
        library="libpocl*.so",
        distribution="pocl-binary-distribution",
        install='pip install "pyapsp[cpu]"',
        cache=("POCL_CACHE_DIR", "pocl/kcache"),
    ),
    # Its wheel brings an .icd file with a path inside the packager's own tree: never usable.
    Runtime(
        name="Intel CPU runtime",
        library="libintelocl.so",
        distribution="intel-opencl-rt",
        install='pip install "pyapsp[intel]"',
    ),
    # Containers are often given the library of the driver but not its .icd file.
    Runtime(
        name="NVIDIA driver",
        library="libnvidia-opencl.so.1",
        distribution=None,
        install="the NVIDIA driver of the system",
    ),
)


#: Environment variables by which drivers show devices, or do not.
VARIABLES = ("POCL_CACHE_DIR", "RUSTICL_ENABLE")


@dataclass(frozen=True)
class Traits:
    """How kernels are best written for a device.

    Parameters
    ----------
    float_min, integer_min : {"builtin", "ternary"}
        The form of a minimum that becomes one instruction: ``fmin(a, b)`` or ``min(a, b)``, or
        ``(a < b) ? a : b``.
    max_vector_bytes : int
        Size of the widest vector on which the compiler is sound and fast; 1 means scalars only,
        whatever the size of an element. See :meth:`lanes`.
    scalar_groups : bool
        One work-item per work-group, as on CPU devices where a group is a loop on one core.
    prefetches : bool
        Whether the compiler is made of Clang, and makes an instruction of its builtin for that.
        What OpenCL C has may come to nothing.
    long_vectors : bool
        Whether the compiler is made of Clang, and takes vectors of more than the 16 elements that
        are OpenCL C's.
    """

    float_min: str
    integer_min: str
    max_vector_bytes: int
    scalar_groups: bool
    prefetches: bool = False
    long_vectors: bool = False

    def lanes(self, item_bytes: int, *, long: bool = False) -> int:
        """Elements of `item_bytes` bytes in the widest sound vector: a power of two.

        It is at most 16, or 32 with `long` where there are `long_vectors`: for kernels that need
        no function of vectors.
        """
        lanes, most = 1, 32 if long and self.long_vectors else 16
        while lanes < most and 2 * lanes * item_bytes <= self.max_vector_bytes:
            lanes *= 2
        return lanes


_GPU = Traits("builtin", "builtin", max_vector_bytes=1, scalar_groups=False)
_CPU = Traits("ternary", "ternary", max_vector_bytes=16, scalar_groups=True)

# (word in the platform name, kind) -> traits
_KNOWN = {
    # Calls the library for fmin, min and select, and its compiler (LLVM 14 in 3.0) dies on
    # AVX2 targets of the ternary on vectors beyond 32 bytes: "Do not know how to scalarize
    # this operator's operand".
    ("portable computing language", "cpu"): replace(_CPU, max_vector_bytes=32, prefetches=True),
    # fmin() gives way to a NaN, which costs it half the speed; of integers the ternary of vectors
    # of 64 bytes makes masks of comparisons where min() is an instruction.
    ("intel", "cpu"): replace(_CPU, integer_min="builtin", max_vector_bytes=32, prefetches=True),
    # An interpreter that looks for races: every form works, and every one should be looked at.
    ("oclgrind", "gpu"): replace(_GPU, max_vector_bytes=64),
    # Neighbouring work-items are the vector; pairs of 32-bit values load and store in one go.
    ("nvidia", "gpu"): replace(_GPU, max_vector_bytes=8),
}
# The instruction sets of the first processors that compilers take 64-byte vectors for, and these
# processors.
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
        What its compiler compiles for, if that is known.
    features : frozenset of str
        What `pyapsp.device.processor.features` says of the host's processor.

    Returns
    -------
    Traits
        Measured ones for known implementations, safe ones for the others.
    """
    name = platform_name.lower()
    for (word, known_kind), traits in _KNOWN.items():
        if word in name and kind == known_kind:
            if kind == "cpu" and _has_avx512(processor, features):
                return replace(traits, max_vector_bytes=64, long_vectors=True)
            return traits
    return _CPU if kind == "cpu" else _GPU


def _has_avx512(processor: str, features: frozenset[str]) -> bool:
    """Whether kernels are compiled for it: the compiler's processor says so, if it is known."""
    return bool(_WITH_AVX512.fullmatch(processor)) if processor else features >= _AVX512


# Two pairs of 16-bit values are added and the smaller kept, by instructions that come with PTX 8.0
# for sm_90; older devices do not build this.
_PACKED16 = {
    ("nvidia", "gpu"): """
kernel void packed(global uint *word)
{
    uint sum, less;
    asm("add.s16x2 %0, %1, %2;" : "=r"(sum) : "r"(word[0]), "r"(word[1]));
    asm("min.s16x2 %0, %1, %2;" : "=r"(less) : "r"(sum), "r"(word[2]));
    word[0] = less;
}
""",
}
#: What the kernel of `packed16_probe` makes of the words 0x0001ffff, 0x00010001, 0x0003ffff.
PACKED16_ANSWER = 0x0002FFFF


def packed16_probe(platform_name: str, kind: str) -> str | None:
    """Return a kernel that builds, and finds `PACKED16_ANSWER`, where 16-bit pairs are native.

    Parameters
    ----------
    platform_name, kind
        As in `traits_of`.

    Returns
    -------
    str or None
        Source with a kernel ``packed`` of one word buffer; None where there is no such thing.
    """
    name = platform_name.lower()
    for (word, known_kind), source in _PACKED16.items():
        if word in name and kind == known_kind:
            return source
    return None


# Platforms that have fences of device scope and do not list them.
_UNLISTED_SCOPE = ("nvidia",)


def unlisted_scope(platform_name: str) -> bool:
    """Return whether drivers of a platform are known to have device scope without listing it."""
    return any(word in platform_name.lower() for word in _UNLISTED_SCOPE)


# Words in platform names, which are also what the files for one vendor have before their suffix.
_VENDORS = ("nvidia", "amd", "intel")


def vendor_file(name: str, platform_name: str) -> str:
    """Return the kernel file written for one vendor beside a portable one.

    Parameters
    ----------
    name : str
        The portable file, e.g. ``"profiling/roofs.cl"``.
    platform_name : str
        Name of the device's OpenCL platform.

    Returns
    -------
    str
        E.g. ``"profiling/roofs.nvidia.cl"``, whether it exists or not; `name` itself for vendors
        that have no such files.
    """
    for vendor in _VENDORS:
        if vendor in platform_name.lower():
            return f"{name.removesuffix('.cl')}.{vendor}.cl"
    return name


# What drivers and vendors put around the name of a device.
_DECORATIONS = (
    # PoCL: the driver inside it and, from 4.0 on, the processor it compiles for
    re.compile(r"^(pthread|basic|cpu)-([a-z][a-z0-9-]*-(?=[A-Z]))?"),
    re.compile(r"\((R|TM|C)\)", re.IGNORECASE),
    re.compile(r"\s+@.*$"),  # the clock rate
    re.compile(r"\s+(\d+-Core\s+)?(Processor|CPU)$"),
    re.compile(r":[a-z]+[+-].*$"),  # AMD: features switched on and off
)


def plain_name(name: str) -> str:
    """Return the name of a device as every driver of it would give it, more or less.

    Parameters
    ----------
    name : str
        As its driver gives it.
    """
    for decoration in _DECORATIONS:
        name = decoration.sub(" ", name.strip())
    return " ".join(name.split())


# extension -> form of the name, and the device queries that fill it
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
    """Return what a device has in common with those for which kernels are tuned alike.

    Parameters
    ----------
    name : str
        Its plain name, which is the answer when nothing better is known.
    kind : {"gpu", "cpu", "accelerator"}
        What it is.
    processor : str
        What its compiler compiles for, if that is known.
    extensions : set of str
        Its OpenCL extensions.
    features : frozenset of str
        What `pyapsp.device.processor.features` says of the host's processor.
    ask : callable
        Gives the value of a device query by its name, or None.
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


# What PoCL tells its compiler of a processor that it does not know, which refuses; and what to say
# instead: the newest that it knows (LLVM 14) without an instruction that the processor lacks. The
# first has registers of 64 bytes.
_UNKNOWN = "generic"
_PROCESSORS = {
    "skx": _AVX512 | {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c"},
    "znver3": {"avx2", "fma", "bmi2", "abm", "sse4a", "clwb", "vaes", "vpclmulqdq"},
    "haswell": {"avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "f16c", "rdrand"},
}
# What that driver, of this version, takes Zen 4 for, which has these registers, too. It adds and
# compares half of one at a time, but there are twice as many of them, an operand comes from memory
# spread over one, and minima of 64-bit integers are instructions. Kernels are tuned for it alone:
# where whole registers are added at a time, others are faster.
_TAKEN_FOR = ("znver3", "3.0-rc2")
_ZEN4 = "AuthenticAMD 25"  # and it alone of that family has AVX-512


def told_processor(version: str) -> str:
    """Return the processor that a driver tells its compiler, or nothing.

    Parameters
    ----------
    version : str
        The device's OpenCL version, as its driver words it.
    """
    target = _TARGET.search(version)
    return target[1] if target else ""


def nearest_processor(told: str, driver: str, features: frozenset[str]) -> str:
    """Return what a driver should tell its compiler instead, or nothing.

    Parameters
    ----------
    told : str
        The processor that it tells.
    driver : str
        Its version.
    features : frozenset of str
        What `pyapsp.device.processor.features` says of the host's processor.
    """
    nearest = _nearest(features)
    older = (told, driver) == _TAKEN_FOR and _WITH_AVX512.fullmatch(nearest)
    return nearest if told == _UNKNOWN or older else ""


def _nearest(features: frozenset[str]) -> str:
    """Return the newest known processor without an instruction that is not there, or nothing."""
    return next((name for name, needed in _PROCESSORS.items() if needed <= features), "")
