"""The programs that [B] tunes for time and power: a reduction and a transpose, in versions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyopencl as cl

from papers.runner import require_equal
from pyapsp.device import Device, device_errors, event_times
from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import headed

__all__ = ["Launch", "Numbers", "Reduction", "Shape", "Transpose", "TunedProgram", "Version"]

_HERE = Path(__file__).parent
_LARGEST = 100
# Work-items of a unit that run at the same time.
_RESIDENT = 2048


@dataclass(frozen=True)
class Version:
    """A version of a program."""

    kernel: str
    # Whether there are as many groups as the device runs at the same time, and not a work-item for
    # each number.
    few: bool = False
    defines: Mapping[str, int] = field(default_factory=dict)  # macros, beside those of the shape


@dataclass(frozen=True)
class Shape:
    """The work-items of a group: `x` along a row, and `y` rows."""

    x: int
    y: int = 1

    @property
    def items(self) -> int:
        """All of them."""
        return self.x * self.y

    def __str__(self) -> str:
        return f"{self.x} x {self.y}" if self.y > 1 else f"{self.x}"


@dataclass(frozen=True)
class Launch:
    """The first launch of a program, for `pyapsp.profiling.kernel.profile_kernel`."""

    items: tuple[int, ...]
    group: tuple[int, ...]
    words: tuple[str, ...]


class Numbers:
    """The input of the versions of a program, on the host and on a device.

    Parameters
    ----------
    device : Device
    values : ndarray of uint32
    """

    def __init__(self, device: Device, values: np.ndarray) -> None:
        self.device, self.values, self.n = device, values, len(values)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        with device_errors(device, values.nbytes):
            self.buffer = cl.Buffer(device.context, flags, hostbuf=values)


class TunedProgram(ABC):
    """The kernels of a version on a device, with their input.

    Parameters
    ----------
    numbers : Numbers
    version : Version
    shape : Shape
    """

    file: ClassVar[str]
    VERSIONS: ClassVar[dict[str, Version]]

    @classmethod
    @abstractmethod
    def shapes(cls, device: Device, name: str, groups: Sequence[int] = ()) -> Iterator[Shape]:
        """Yield the groups that are tried for a version; if sizes are given, powers of two, these.

        The device may not have them.
        """

    @staticmethod
    @abstractmethod
    def draw(n: int) -> np.ndarray:
        """Return an input of size n."""

    def __init__(self, numbers: Numbers, version: Version, shape: Shape) -> None:
        self.version, self.shape, self.device = version, shape, numbers.device
        self.n, self._values, self._in = numbers.n, numbers.values, numbers.buffer
        self._queue, device = self.device.queue(), self.device
        text = (_HERE / self.file).read_text("utf-8")
        #: The macros.
        self.defines = {**self._defines(), **version.defines}
        program = Program(device, headed(text, self.defines))
        self.hash = program.hash
        self._kernel = program.kernel(version.kernel)
        with device_errors(device, 2 * self._values.nbytes):
            self._prepare()

    def _buffer(self, size: int) -> cl.Buffer:
        return cl.Buffer(self._queue.context, cl.mem_flags.READ_WRITE, size)

    @abstractmethod
    def _defines(self) -> dict[str, int]:
        """Return the macros of the shape."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make the buffers that kernels write."""

    @abstractmethod
    def _launch(self) -> list[cl.Event]:
        """Enqueue all launches."""

    @abstractmethod
    def first_launch(self) -> Launch:
        """Return the first launch, with random numbers as input."""

    @staticmethod
    @abstractmethod
    def moved(n: int) -> int:
        """Return the bytes that an input of size n makes a device move at least."""

    @abstractmethod
    def check(self) -> None:
        """Raise a `VerificationError` if the answer of the last run is wrong."""

    def run(self, times: int = 1) -> None:
        """Run the kernels, and wait for the end of the last."""
        with device_errors(self.device, 2 * self._values.nbytes):
            for _ in range(times):
                self._launch()
            self._queue.finish()

    def seconds(self) -> float:
        """Run the kernels once, and return the seconds from the first start to the last end."""
        with device_errors(self.device, 2 * self._values.nbytes):
            events = self._launch()
            self._queue.finish()
            return (event_times(events[-1])[1] - event_times(events[0])[0]) * 1e-9


class Reduction(TunedProgram):
    """The sum of n numbers."""

    file = "reduction.cl"
    #: Name in [B] -> version; ``warps`` is the second version of its section 13.5.
    VERSIONS: ClassVar[dict[str, Version]] = {
        "orig": Version("reduction_modulo"),
        "v1.0": Version("reduction_index"),
        "warps": Version("reduction_warps"),
        "v2.0": Version("reduction_strided", few=True),
        "v2.1": Version("reduction_strided", few=True, defines={"PYAPSP_VECTOR": 4}),
    }

    @classmethod
    def shapes(cls, device: Device, name: str, groups: Sequence[int] = ()) -> Iterator[Shape]:
        """Yield the groups that are tried for a version."""
        usual = (16, 64) if device.traits.scalar_groups else (64, 128, 256, 512, 1024)
        most = device.capabilities.max_work_group_size
        for group in groups or usual:
            if group <= most:
                yield Shape(group)

    def _defines(self) -> dict[str, int]:
        group = self.shape.items
        return {"PYAPSP_GROUP": group, "PYAPSP_WARP": min(group, 32)}

    @staticmethod
    def draw(n: int) -> np.ndarray:
        """Return n random numbers."""
        return np.random.default_rng(157).integers(0, _LARGEST, n, dtype=np.uint32)

    @property
    def _most(self) -> int:
        """The groups of a launch, if there are few."""
        units = self.device.capabilities.compute_units
        return max(units * _RESIDENT // self.shape.items, 1)

    def _groups(self, n: int) -> int:
        """Return the groups of a launch for n numbers."""
        groups = -(-n // self.shape.items)
        return min(groups, self._most) if self.version.few else groups

    def _prepare(self) -> None:
        # launches write to one and to the other in turns
        size = 4 * self._groups(self.n)
        self._sums = [self._buffer(size), self._buffer(size)]

    def _launch(self) -> list[cl.Event]:
        events: list[cl.Event] = []
        source, left = self._in, self.n
        while left > 1 or not events:
            to, groups = self._sums[len(events) % 2], self._groups(left)
            items = (groups * self.shape.items,), (self.shape.items,)
            events.append(self._kernel(self._queue, *items, source, to, np.int64(left)))
            source, left = to, groups
        self._last = source
        return events

    def first_launch(self) -> Launch:
        """Return the launch that reads the numbers."""
        groups, group = self._groups(self.n), self.shape.items
        words = f"random:{self.n}", f"zeros:{groups}", str(self.n)
        return Launch((groups * group,), (group,), words)

    @staticmethod
    def moved(n: int) -> int:
        """Return the bytes of the numbers."""
        return 4 * n

    def check(self) -> None:
        """Compare with NumPy."""
        answer = np.empty(1, np.uint32)
        cl.enqueue_copy(self._queue, answer, self._last)
        right = np.array([self._values.sum(dtype=np.uint64)]).astype(np.uint32)
        require_equal(answer, right, f"reduction, {self.version.kernel}")


class Transpose(TunedProgram):
    """The transpose of an n x n matrix of words."""

    file = "transpose.cl"
    #: Name in [B] -> version; ``copy`` is the bound of all.
    VERSIONS: ClassVar[dict[str, Version]] = {
        "orig": Version("transpose_direct"),
        "v1.0": Version("transpose_direct"),
        "v2.0": Version("transpose_tiled"),
        "v2.1": Version("transpose_tiled", defines={"PYAPSP_PAD": 1}),
        "copy": Version("transpose_copy"),
    }
    _SHAPES: ClassVar[dict[str, tuple[tuple[int, int], ...]]] = {
        "orig": ((64, 1), (128, 1), (256, 1), (512, 1)),
        "v1.0": ((8, 8), (4, 32), (8, 16), (8, 32), (16, 16), (32, 8)),
        "v2.0": ((16, 4), (16, 16), (32, 4), (32, 8), (32, 16)),
        "v2.1": ((16, 4), (16, 16), (32, 4), (32, 8), (32, 16)),
        "copy": ((64, 1), (256, 1), (32, 8)),
    }

    @classmethod
    def shapes(cls, device: Device, name: str, groups: Sequence[int] = ()) -> Iterator[Shape]:
        """Yield the groups that are tried for a version."""
        usual = [Shape(*each) for each in cls._SHAPES[name]]
        others = [each for each in groups if each not in {shape.items for shape in usual}]
        shapes = [shape for shape in usual if not groups or shape.items in groups]
        shapes += [Shape(each) if name in ("orig", "copy") else _square(each) for each in others]
        for shape in shapes:
            if shape.items <= device.capabilities.max_work_group_size:
                yield shape

    def _defines(self) -> dict[str, int]:
        sides = {"PYAPSP_X": self.shape.x, "PYAPSP_Y": self.shape.y}
        return sides | {"PYAPSP_TILED": int(self._tiled)}

    @property
    def _tiled(self) -> bool:
        return self.version.kernel == "transpose_tiled"

    @staticmethod
    def draw(n: int) -> np.ndarray:
        """Return a matrix of random words."""
        return np.random.default_rng(158).integers(0, 2**32, (n, n), dtype=np.uint32)

    def _prepare(self) -> None:
        self._out = self._buffer(self._values.nbytes)

    @property
    def _items(self) -> tuple[int, int]:
        """The work-items of a launch."""
        x, y = self.shape.x, self.shape.y
        rows = x if self._tiled else y
        return -(-self.n // x) * x, -(-self.n // rows) * y

    def _launch(self) -> list[cl.Event]:
        shape = self._items, (self.shape.x, self.shape.y)
        arguments = self._in, self._out, np.int32(self.n)
        return [self._kernel(self._queue, *shape, *arguments)]

    def first_launch(self) -> Launch:
        """Return the launch."""
        words = f"random:{self.n**2}", f"zeros:{self.n**2}", str(self.n)
        return Launch(self._items, (self.shape.x, self.shape.y), words)

    @staticmethod
    def moved(n: int) -> int:
        """Return the bytes of the matrix, read and written."""
        return 8 * n**2

    def check(self) -> None:
        """Compare with NumPy."""
        is_copy = self.version.kernel == "transpose_copy"
        right = self._values if is_copy else self._values.T
        require_equal(self.answer(), right, f"transpose, {self.version.kernel}")

    def answer(self) -> np.ndarray:
        """Return the matrix that the last run wrote."""
        answer = np.empty_like(self._values)
        cl.enqueue_copy(self._queue, answer, self._out)
        return answer


def _square(items: int) -> Shape:
    """Return a group with as many rows as columns, or half as many; items are a power of two."""
    y = 1 << (items.bit_length() - 1) // 2
    return Shape(items // y, y)
