"""fw-packed4, fw-packed8, fw-packed16: several small distances in one word or vector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.floyd_warshall import Configuration, Prepared, Run
from pyapsp.all_pairs.dense.fw_multikernel import TileRounds, TileShape, integers
from pyapsp.all_pairs.dense.fw_singlekernel import SoftSync
from pyapsp.all_pairs.dense.matrix import Layout
from pyapsp.base.errors import CapabilityError, PrecisionError
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.numbers.bounds import distance_bound
from pyapsp.numbers.precision import infinity
from pyapsp.paths import AllPairsOptions, Rows, Weights
from pyapsp.registry import Parameters, Plan, register

__all__ = ["FwPacked4", "FwPacked8", "FwPacked16", "lost", "pack", "unpack"]

# Number of values that the host packs at once.
_BLOCK = 2**22


class FwPacked(TileRounds):
    """Blocked Floyd-Warshall on unsigned fields of b bits; sums stop at infinity, 2^b - 1.

    Weights must be non-negative whole numbers. Finite distances must be below 2^b - 1. If the
    weights do not prove that, the answer is checked, and a distance that is too large is a
    `PrecisionError`.

    Source: D. Takafuji's thesis, 2020, section 3.2.4; on CPU devices section 3.6. On CPUs a group
    has one work-item, whose rows and strips correspond to the threads and vectors of the thesis.

    Parameters
    ----------
    single : int, optional
        0: the launches of `FwMultikernel`; 1: the one launch of `FwSinglekernel`.
    form : int, optional
        0: 32/b fields in a 32-bit word, added and compared with masks. 1: one field in a byte or
        a 16-bit number, strips of them added and compared by vector instructions (b = 8 and 16).
    tile, width, rows, group_x, group_y, contiguous : int, optional
        As for `FwMultikernel`; the width counts words.
    order, groups : int, optional
        As for `FwSinglekernel`; 0 and 1 without it.
    """

    bits: ClassVar[int]
    wider: ClassVar[str]
    choices: ClassVar = {
        "single": (0, 1),
        "form": (0, 1),
        **TileShape.choices,
        **SoftSync.choices,
    }
    source = (
        "Takafuji 2020, sections 3.2.4 and 3.6, tables 3.2 and 3.10; "
        "chapter 3 as an article: doi:10.1002/cpe.5963"
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        largest = 2**cls.bits - 2
        cls.requires = Weights(non_negative=True, integer=True, largest_distance=largest)

    @property
    def top(self) -> int:
        """The value of a field that means infinity."""
        return (1 << self.bits) - 1

    def _shape(self, options: AllPairsOptions, form: int) -> TileShape:
        word_bytes, fields = (self.bits // 8, 1) if form else (4, 32 // self.bits)
        return TileShape(options.device, word_bytes, fields)

    def candidates(self, options: AllPairsOptions) -> Iterator[Mapping[str, int | str]]:
        """Yield parameter sets from the fastest to the smallest."""
        chosen = integers(self.parameters)
        single = chosen.get("single", 0)
        vectors = options.device.traits.scalar_groups and 1 in self.choices["form"]
        form = chosen.get("form", int(vectors))
        sync = SoftSync(options.device).candidate() if single else {"order": 0, "groups": 1}
        for candidate in self._shape(options, form).candidates((128, 64, 32, 16, 8, 256)):
            yield {"single": single, "form": form, **candidate, **sync}

    def fits(self, parameters: Parameters, options: AllPairsOptions) -> bool:
        """Return whether the parameters are legal together and within the device's limits."""
        chosen = integers(parameters)
        idle = chosen["order"] == 0 and chosen["groups"] == 1
        shape = self._shape(options, chosen["form"])
        synchronised = chosen["single"] == 0 or SoftSync(options.device).fits(chosen)
        return shape.fits(chosen) and synchronised and (chosen["single"] == 1 or idle)

    def rule(self, options: AllPairsOptions) -> str:
        """Return the condition of `fits` as text."""
        shape = self._shape(options, integers(self.parameters).get("form", 0))
        return f"{shape.rule()}; order and groups need single=1, {SoftSync.RULE}"

    def plan(
        self, graph: Graph, options: AllPairsOptions
    ) -> Plan[Graph, AllPairsOptions, Prepared]:
        """Raise an error for weights that a field cannot hold; the plan has the type of a field."""
        if graph.max_magnitude >= self.top:
            raise PrecisionError(
                f"{self.id} holds distances below {self.top}, and there is a weight of "
                f"{graph.max_magnitude:g}: use {self.wider}"
            )
        return replace(super().plan(graph, options), packed=f"uint{self.bits}")

    def configure(
        self, graph: Graph, options: AllPairsOptions, parameters: Parameters
    ) -> Configuration:
        """Build the kernels."""
        capabilities, chosen = options.device.capabilities, integers(parameters)
        single = chosen["single"]
        if single and not capabilities.device_scope_fence:
            raise CapabilityError(
                f"{self.id} with single=1 needs device_scope_fence: "
                f"{options.device.without('device_scope_fence')}"
            )
        shape, sync = self._shape(options, chosen["form"]), SoftSync(options.device)
        # the kernels do not use the type of the answer, but the device must support it
        arithmetic_defines(options.device, options.dtype)
        defines = shape.defines(chosen)
        defines |= {
            "PYAPSP_FIELD_BITS": self.bits,
            "PYAPSP_FORM": chosen["form"],
            "PYAPSP_SINGLE": single,
            "PYAPSP_WIDTH": chosen["width"],
            "PYAPSP_MIN_BUILTIN": int(options.device.traits.integer_min == "builtin"),
        }
        if single:
            defines |= sync.defines(chosen)
        standard = capabilities.c_standard if single else None
        program = build(options.device, "all_pairs/dense/fw_packed.cl", defines, standard=standard)
        tile = chosen["tile"]
        blocks = -(-graph.n // tile)
        scratch = shape.scratch(chosen, blocks)
        scratch += (sync.scratch(blocks),) if single else ()
        word = _word(self.bits, chosen["form"])
        padding = int(np.iinfo(word).max)
        return Configuration(
            parameters,
            program,
            blocks * tile,
            rounds=1 if single else blocks,
            scratch=scratch,
            layout=Layout(word, blocks * tile // shape.fields, padding),
        )

    def fields(self, parameters: Mapping[str, int]) -> int:
        """Return the values in a word."""
        return 1 if parameters["form"] else 32 // self.bits

    def enqueue_tiles(
        self, run: Run, parameters: Mapping[str, int], matrix: cl.Buffer, number: int
    ) -> list[cl.Event]:
        """Enqueue the kernels of a round, or the single kernel."""
        if parameters["single"]:
            return SoftSync(run.configuration.program.device).launch(run, parameters, matrix)
        return super().enqueue_tiles(run, parameters, matrix, number)

    def finish(self, run: Run) -> None:
        """Raise an error if the groups of the single launch stalled."""
        if run.configuration.parameters["single"]:
            SoftSync(run.configuration.program.device).check(run, self.id)

    def encode(self, distances: np.ndarray) -> np.ndarray:
        """Return the distances as fields."""
        return pack(distances, self.bits)

    def decode(self, words: np.ndarray, distances: np.ndarray) -> None:
        """Copy the fields into `distances`; a value too large for the dtype becomes infinity."""
        unpack(words, self.bits, distances)

    def check_range(self, plan: Plan[Graph, AllPairsOptions, Prepared], answer: Rows) -> None:
        """Check the distances.

        Raises
        ------
        PrecisionError
            If a distance is too large.
        """
        limit = _limit(self.bits, plan.options.dtype)
        if distance_bound(plan.input) >= limit and lost(plan.input, answer.distances):
            if limit < self.top:
                raise PrecisionError(
                    f"a distance is too large for {plan.options.dtype}: use a wider dtype"
                )
            raise PrecisionError(
                f"a distance is too large for {self.id}, which holds those below {limit}: "
                f"use {self.wider}"
            )


def _word(bits: int, form: int) -> np.dtype:
    return np.dtype(f"<u{bits // 8}" if form else "<u4")


def _limit(bits: int, dtype: np.dtype) -> int:
    """Return the smallest whole number that is too large for the fields or for the dtype."""
    own = int(np.finfo(dtype).max) + 1 if dtype.kind == "f" else int(infinity(dtype))
    return min((1 << bits) - 1, own)


def pack(distances: np.ndarray, bits: int) -> np.ndarray:
    """Return distances as fields of `bits` bits, the first in the lowest bits of a 32-bit word.

    Parameters
    ----------
    distances : (n, n) ndarray
        Whole numbers below 2**bits - 1, or infinity.
    bits : {4, 8, 16}

    Returns
    -------
    (n, m) ndarray of uint32
        Rows are padded with infinity.
    """
    n, fields = distances.shape[1], 32 // bits
    top = 2**bits - 1
    narrow = np.dtype("<u2" if bits == 16 else "u1")
    words = np.empty((len(distances), -(-n // fields)), "<u4")
    each = min(max(_BLOCK // max(n, 1), 1), len(distances))
    values = np.full((each, words.shape[1] * fields), top, narrow)
    for start in range(0, len(distances), max(each, 1)):
        block = distances[start : start + each]
        far = block == infinity(distances.dtype)
        part = values[: len(block), :n]
        # replace infinity, because infinite floats cannot be converted
        part[...] = np.where(far, 0, block)
        part[far] = top
        rows = values[: len(block)]
        if bits == 4:
            rows = rows[:, 0::2] | rows[:, 1::2] << 4
        words[start : start + len(block)] = rows.view("<u4")
    return words


def unpack(words: np.ndarray, bits: int, distances: np.ndarray) -> None:
    """Copy packed fields into `distances`, in place.

    Parameters
    ----------
    words : (n, m) ndarray
        As `pack` returns them.
    bits : {4, 8, 16}
    distances : (n, n) ndarray
        The result; infinity for infinite fields, and for values that are too large for this type.
    """
    n, limit = distances.shape[1], _limit(bits, distances.dtype)
    each = max(_BLOCK // max(n, 1), 1)
    for start in range(0, len(distances), each):
        block = words[start : start + each]
        if bits == 4:
            pairs = block.view("u1")
            fields = np.empty((len(block), 2 * pairs.shape[1]), "u1")
            fields[:, 0::2] = pairs & 15
            fields[:, 1::2] = pairs >> 4
        else:
            fields = block.view("<u2" if bits == 16 else "u1")
        fields = fields[:, :n]
        far = fields >= limit
        part = distances[start : start + each]
        part[...] = np.where(far, 0, fields)
        part[far] = infinity(distances.dtype)


def lost(graph: Graph, distances: np.ndarray) -> bool:
    """Return whether in some row an arc leads from a finite distance to an infinite one.

    If a distance was too large, this is so at the first such vertex on its path.
    """
    reached = distances < infinity(distances.dtype)
    if reached.all():
        return False
    tails, heads, _ = graph.arcs()
    for bits in {row.tobytes() for row in np.packbits(reached, axis=1)}:
        row = np.unpackbits(np.frombuffer(bits, np.uint8), count=graph.n).view(bool)
        if np.any(row[tails] & ~row[heads]):
            return True
    return False


@register
class FwPacked4(FwPacked):
    """Eight 4-bit distances in a word: see `FwPacked`."""

    id = "fw-packed4"
    summary = "blocked Floyd-Warshall, eight 4-bit distances in a word"
    bits, wider = 4, "fw-packed8"
    choices: ClassVar = {**FwPacked.choices, "form": (0,)}


@register
class FwPacked8(FwPacked):
    """Four 8-bit distances in a word, or vectors of them: see `FwPacked`."""

    id = "fw-packed8"
    summary = "blocked Floyd-Warshall, four 8-bit distances in a word, or vectors of them"
    bits, wider = 8, "fw-packed16"


@register
class FwPacked16(FwPacked):
    """Two 16-bit distances in a word, or vectors of them: see `FwPacked`."""

    id = "fw-packed16"
    summary = "blocked Floyd-Warshall, two 16-bit distances in a word, or vectors of them"
    bits, wider = 16, "a method with 32-bit distances, e.g. fw-minplus with dtype='int32'"
