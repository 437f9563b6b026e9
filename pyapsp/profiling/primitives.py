"""Score implementations of parallel primitives: PyOpenCL's, and those of pyapsp.

These are primitives of table 12.2 of F. Busato's thesis that OpenCL has: reduction, prefix scans,
sort, compaction, partition, unique and load-balancing search. Input is on the device before. The
speedup is that of the kernels over NumPy on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import cast

import mako  # noqa: F401  PyOpenCL writes the kernels of its primitives with it
import numpy as np
import pyopencl as cl
import pyopencl.algorithm as algorithm
import pyopencl.array as cla
from numpy.typing import NDArray
from pyopencl.bitonic_sort import BitonicSort
from pyopencl.reduction import ReductionKernel
from pyopencl.scan import GenericScanKernel, InclusiveScanKernel

from pyapsp.base.errors import ParameterError, VerificationError
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.device.kernels.scan import Scan
from pyapsp.profiling.run import profile_run
from pyapsp.profiling.traces.analysis import mean
from pyapsp.profiling.traces.criteria import Criteria, quality
from pyapsp.traversal.partitioning.partition import partition

__all__ = ["IMPLEMENTATIONS", "Implementation", "score"]

_Ints = NDArray[np.int32]
_SEED = 1
_INT = np.dtype(np.int32)
_REPEAT = 3
_LARGEST = 100  # numbers are below this: sums of 2^24 of them are int32
_HALF = _LARGEST // 2


@dataclass(frozen=True)
class Implementation:
    """An implementation of a primitive."""

    primitive: str
    name: str
    reference: Callable[[_Ints], _Ints]  # the answer for some numbers, with NumPy
    # Builds kernels and copies the numbers; returns what computes the answer, and what reads it.
    prepare: Callable[[Device, _Ints], tuple[Callable[[], object], Callable[[object], _Ints]]]


def score(
    implementation: Implementation,
    device: Device,
    n: int,
    *,
    width: int | None = None,
    profile: Mapping[str, object] | None = None,
) -> Record:
    """Check, time and profile an implementation.

    Parameters
    ----------
    implementation : Implementation
    device : Device
    n : int
        How many numbers: a power of two, at most 2^24.
    width, profile
        As for `profile_run`.

    Returns
    -------
    dict
        ``primitive``, ``implementation``, ``n``, ``seconds`` of all kernels, ``speedup``,
        ``criteria`` (the mean over kernels by time), ``quality``, ``errors`` (kernels without
        traces).

    Raises
    ------
    VerificationError
        If the answer is not that of NumPy.
    """
    if n & (n - 1) or not 0 < n <= 2**24:
        raise ParameterError.of("n", "score", "a power of two, at most 2^24", n)
    numbers = np.random.default_rng(_SEED).integers(0, _LARGEST, n).astype(np.int32)
    compute, read = implementation.prepare(device, numbers)
    expected = implementation.reference(numbers)
    if not np.array_equal(read(compute()), expected):
        raise VerificationError(f"{implementation.name}: wrong {implementation.primitive}")
    record, _ = profile_run(compute, width=width, profile=profile)
    rows = cast("list[dict[str, object]]", record["kernels"])
    values = []
    for row in rows:
        if (trace := row["trace"]) is not None:
            found = cast("dict[str, dict[str, float | None]]", trace)["criteria"]
            values.append((Criteria(**found), cast(float, row["seconds"])))
    whole = Criteria(
        **{
            **mean(values).known(),
            "host_sync": cast(float, record["host_sync"]),
            "transfer": cast(float, record["transfer"]),
        }
    )
    seconds = sum(cast(float, row["seconds"]) for row in rows)
    return {
        "primitive": implementation.primitive,
        "implementation": implementation.name,
        "n": n,
        "seconds": seconds,
        "speedup": _seconds(implementation.reference, numbers) / seconds,
        "criteria": {each.name: getattr(whole, each.name) for each in fields(whole)},
        "quality": quality(whole),
        "errors": [f"{row['kernel']}: {row['error']}" for row in rows if row["error"] is not None],
    }


def _seconds(reference: Callable[[_Ints], _Ints], numbers: _Ints) -> float:
    times = []
    for _ in range(_REPEAT):
        begun = time.perf_counter()
        reference(numbers)
        times.append(time.perf_counter() - begun)
    return min(times)


_Prepared = tuple[Callable[[], object], Callable[[object], _Ints]]


def _got(array: object) -> _Ints:
    found: _Ints = cast(cla.Array, array).get().reshape(-1)
    return found


def _first(answer: object) -> _Ints:
    """Return an array that an algorithm gives with the number of its elements and an event."""
    array, count, *_ = cast("tuple[cla.Array, cla.Array]", answer)
    return _got(array)[: int(count.get())]


def _both(answer: object) -> _Ints:
    true, false, count, *_ = cast("tuple[cla.Array, cla.Array, cla.Array]", answer)
    many = int(count.get())
    return np.concatenate([_got(true)[:many], _got(false)[: true.size - many]])


def _array(device: Device, numbers: _Ints) -> cla.Array:
    return cla.to_device(device.queue(), numbers)


def _reduce(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    given = "x[i]", "__global const int *x"
    kernel = ReductionKernel(device.context, _INT, "0", "a+b", *given)
    return lambda: kernel(x, return_event=False), _got


def _scan(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    kernel, out = InclusiveScanKernel(device.context, _INT, "a+b", neutral="0"), cla.empty_like(x)

    def run() -> object:
        kernel(x, out)
        return out

    return run, _got


def _own_scan(each: int) -> Callable[[Device, _Ints], _Prepared]:
    def prepare(device: Device, numbers: _Ints) -> _Prepared:
        queue = device.queue()
        group = 1 if device.traits.scalar_groups else 128
        scan = Scan(device, group, each if group > 1 else 4096, min(group, 32))
        x = device.buffer(numbers.nbytes)
        cl.enqueue_copy(queue, x, numbers)

        def read(sums: object) -> _Ints:
            out = np.empty(len(numbers) + 1, np.int32)
            cl.enqueue_copy(queue, out, cast(cl.Buffer, sums))
            return out[1:]

        def run() -> object:
            sums = scan(queue, x, len(numbers))
            queue.finish()
            return sums

        return run, read

    return prepare


def _segments(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    out = cla.empty_like(x)
    kernel = GenericScanKernel(
        device.context,
        _INT,
        "__global const int *x, __global int *out",
        "x[i]",
        "across_seg_boundary ? b : (a + b)",
        "0",
        "out[i] = item",
        is_segment_start_expr=f"x[i] > {_HALF}",
    )

    def run() -> object:
        kernel(x, out)
        return out

    return run, _got


def _radix(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    sort = algorithm.RadixSort(
        device.context, "__global int *x", key_expr="x[i]", sort_arg_names=["x"]
    )
    return lambda: sort(x, key_bits=7)[0][0], _got


def _bitonic(device: Device, numbers: _Ints) -> _Prepared:
    queue = device.queue()
    x = cla.to_device(queue, numbers)
    sort = BitonicSort(queue.context)  # type: ignore[no-untyped-call]

    def run() -> object:
        copy = x.copy()
        sort(copy)
        return copy

    return run, _got


def _copy_if(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    return lambda: algorithm.copy_if(x, f"ary[i] > {_HALF}"), _first


def _partition(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, numbers)
    return lambda: algorithm.partition(x, f"ary[i] > {_HALF}"), _both


def _unique(device: Device, numbers: _Ints) -> _Prepared:
    x = _array(device, np.sort(numbers))
    return lambda: algorithm.unique(x), _first


def _owners(method: str) -> Callable[[Device, _Ints], _Prepared]:
    def prepare(device: Device, numbers: _Ints) -> _Prepared:
        offsets = _offsets(numbers)
        return (
            lambda: partition(offsets, method=method, device=device),
            lambda answer: np.asarray(answer, np.int32),
        )

    return prepare


def _offsets(numbers: _Ints) -> NDArray[np.int64]:
    """Return offsets of items whose units are about as many as the numbers."""
    sizes = numbers[: len(numbers) // _HALF]
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _by_segments(numbers: _Ints) -> _Ints:
    sums = np.cumsum(numbers)
    starts = np.flatnonzero(numbers > _HALF)
    before = np.zeros(len(numbers), sums.dtype)
    before[starts] = sums[starts] - numbers[starts]
    return (sums - np.maximum.accumulate(before)).astype(np.int32)


def _all() -> Iterator[Implementation]:
    def total(x: _Ints) -> _Ints:
        return np.array([x.sum()], np.int32)

    def sums(x: _Ints) -> _Ints:
        return np.cumsum(x).astype(np.int32)

    def split(x: _Ints) -> _Ints:
        return np.concatenate([x[x > _HALF], x[x <= _HALF]])

    def owners(x: _Ints) -> _Ints:
        sizes = np.diff(_offsets(x))
        return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)

    yield Implementation("reduction", "PyOpenCL ReductionKernel", total, _reduce)
    yield Implementation("prefix scan", "PyOpenCL InclusiveScanKernel", sums, _scan)
    for each in (2, 8):
        yield Implementation("prefix scan", f"pyapsp Scan, {each} each", sums, _own_scan(each))
    yield Implementation(
        "segmented prefix scan", "PyOpenCL GenericScanKernel", _by_segments, _segments
    )
    yield Implementation("sort", "PyOpenCL RadixSort", np.sort, _radix)
    yield Implementation("sort", "PyOpenCL BitonicSort", np.sort, _bitonic)
    yield Implementation("compaction", "PyOpenCL copy_if", lambda x: x[x > _HALF], _copy_if)
    yield Implementation("partition", "PyOpenCL partition", split, _partition)
    yield Implementation("unique", "PyOpenCL unique", np.unique, _unique)
    for method in ("direct", "block", "two-phase", "multi-phase"):
        name = f"partition-{method}"
        yield Implementation("load-balancing search", f"pyapsp {name}", owners, _owners(name))


#: All implementations.
IMPLEMENTATIONS = tuple(_all())
