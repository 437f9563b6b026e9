"""Every fact about a vendor, a driver or its packages: the only module with vendor names.

The rest of the package sees neutral facts: :class:`Traits` say how kernels are best written for
a device, :class:`Runtime` says where an OpenCL implementation can be found.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RUNTIMES", "Runtime", "Traits", "traits_of"]


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
    """

    name: str
    library: str
    distribution: str | None
    install: str


RUNTIMES = (
    Runtime(
        name="PoCL",
        library="libpocl*.so",
        distribution="pocl-binary-distribution",
        install='pip install "pyapsp[cpu]"',
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


@dataclass(frozen=True)
class Traits:
    """How kernels are best written for a device.

    Parameters
    ----------
    min_form : {"builtin", "ternary"}
        The form of a minimum that becomes one instruction: ``min(a, b)``/``fmin(a, b)`` or
        ``(a < b) ? a : b``.
    max_vector_bytes : int
        Size of the widest vector on which the compiler is sound and fast; 1 means scalars only,
        whatever the size of an element. See :meth:`lanes`.
    scalar_groups : bool
        One work-item per work-group, as on CPU devices where a group is a loop on one core.
    """

    min_form: str
    max_vector_bytes: int
    scalar_groups: bool

    def lanes(self, item_bytes: int) -> int:
        """Elements of `item_bytes` bytes in the widest sound vector: a power of two, 1 to 16."""
        lanes = 1
        while lanes < 16 and 2 * lanes * item_bytes <= self.max_vector_bytes:
            lanes *= 2
        return lanes


_GPU = Traits(min_form="builtin", max_vector_bytes=1, scalar_groups=False)
_CPU = Traits(min_form="ternary", max_vector_bytes=16, scalar_groups=True)
_CPU_AVX2 = Traits(min_form="ternary", max_vector_bytes=32, scalar_groups=True)

# (word in the platform name, kind) -> traits
_KNOWN = {
    # Calls the library for fmin, min and select, and its compiler (LLVM 14 in 3.0) dies on
    # AVX2 targets of the ternary on vectors beyond 32 bytes: "Do not know how to scalarize
    # this operator's operand".
    ("portable computing language", "cpu"): _CPU_AVX2,
    # Sound up to 64 bytes; not measured beyond 32.
    ("intel", "cpu"): _CPU_AVX2,
    # An interpreter that looks for races: every form works, and every one should be looked at.
    ("oclgrind", "gpu"): Traits(min_form="builtin", max_vector_bytes=64, scalar_groups=False),
    # Neighbouring work-items are the vector; pairs of 32-bit values load and store in one go.
    ("nvidia", "gpu"): Traits(min_form="builtin", max_vector_bytes=8, scalar_groups=False),
}


def traits_of(platform_name: str, kind: str) -> Traits:
    """Return the traits of a device.

    Parameters
    ----------
    platform_name : str
        Name of its OpenCL platform.
    kind : {"gpu", "cpu", "accelerator"}
        What it is.

    Returns
    -------
    Traits
        Measured ones for known implementations, safe ones for the others.
    """
    name = platform_name.lower()
    for (word, known_kind), traits in _KNOWN.items():
        if word in name and kind == known_kind:
            return traits
    return _CPU if kind == "cpu" else _GPU
