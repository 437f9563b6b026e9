"""Batches with the methods whose kernel launches compute many graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl

from pyapsp.all_pairs.dense.batch.form import Buffers, Form, raw_defines
from pyapsp.all_pairs.dense.floyd_warshall import FloydWarshall, Run
from pyapsp.all_pairs.dense.fw_packed import FwPacked
from pyapsp.device.kernels import build
from pyapsp.graph import Graph
from pyapsp.numbers.arithmetic import arithmetic_defines
from pyapsp.paths import AllPairsOptions

__all__ = ["Rounds"]

# Work-items that bring a row of a matrix on a GPU.
_ITEMS = 64
# The third dimension of a launch is below 2^16 on every device, and a graph takes up to two of it.
_MOST = (2**16 - 1) // 2
_TASKS = 2**31 - 2**20  # that a counter holds


class Rounds(Form):
    """Bulk computation: each kernel launch of a method computes all graphs.

    Source: D. Takafuji's thesis, 2020, section 3.3: a third dimension of the launches of
    ``fw-multikernel``, and tasks of all graphs in turn in the one launch of ``fw-singlekernel``.

    Parameters
    ----------
    method : FloydWarshall
        One that is `batched`.
    n, options, negative
        As for `Form`.
    """

    def __init__(
        self, method: FloydWarshall, n: int, options: AllPairsOptions, *, negative: bool
    ) -> None:
        super().__init__(n, options)
        # a method uses only the size of a graph, and whether weights are negative
        some = Graph.from_arcs(n, [0], [min(1, n - 1)], [-1 if negative else 1])
        chosen, _ = method.choose_parameters(some, options, rows=False)
        configuration = method.configure(some, options, chosen)
        layout = configuration.layout
        self._method, self._configuration = method, configuration
        self._items = 1 if options.device.traits.scalar_groups else _ITEMS
        self._words = configuration.size if layout is None else layout.columns
        self._word = (options.dtype if layout is None else layout.dtype).itemsize
        self._program = build(options.device, "all_pairs/dense/batch.cl", self._defines(options))
        self.parameters, self.hash = chosen, configuration.program.hash
        if isinstance(method, FwPacked):
            self.limit = min(self.limit, method.top)
        tiles = (configuration.size // int(chosen["tile"])) ** 2
        self.most = min(_MOST, _TASKS // tiles)

    def _defines(self, options: AllPairsOptions) -> dict[str, str | int]:
        words = arithmetic_defines(options.device, options.dtype)
        if isinstance(self._method, FwPacked):
            # words of fields are of a type of their own
            del words["PYAPSP_VALUE"], words["PYAPSP_INFINITY"]
            words["PYAPSP_FIELD_BITS"] = self._method.bits
            words["PYAPSP_FORM"] = int(self._configuration.parameters["form"])
        return {**words, **raw_defines(options), "PYAPSP_ITEMS": self._items}

    def scratch(self, graphs: int) -> tuple[int, ...]:
        """Return the bytes of the matrices and of the method's scratch buffers, for all graphs."""
        matrix = self._word * self._words * self._configuration.size
        return tuple(graphs * each for each in (matrix, *self._configuration.scratch))

    def enqueue(
        self, queue: cl.CommandQueue, buffers: Buffers, graphs: int, *, zero_is_arc: bool
    ) -> list[cl.Event]:
        """Enqueue the conversion to the layout of the method, all rounds, and the reverse."""
        configuration = replace(self._configuration, graphs=graphs)
        matrices, size = buffers.scratch[0], configuration.size
        place, group = (np.int32(self.n), np.int32(size)), (self._items, 1, 1)
        if configuration.zeros:
            for buffer, count in zip(buffers.scratch[1:], self.scratch(graphs)[1:], strict=True):
                cl.enqueue_fill_buffer(queue, buffer, np.zeros(1, np.int32), 0, count)
        events = [
            self._program.kernel("batch_arrange")(
                queue,
                (self._items, size, graphs),
                group,
                buffers.weights,
                matrices,
                buffers.remarks,
                *place,
                np.int32(zero_is_arc),
                self.longest(),
            )
        ]
        for some in self._method.enqueue_rounds(Run(configuration, queue, buffers.scratch)):
            events += some
        restore = self._program.kernel("batch_restore")
        go = (self._items, self.n, graphs)
        events.append(
            restore(queue, go, group, matrices, buffers.distances, buffers.remarks, *place)
        )
        return events

    def finish(self, queue: cl.CommandQueue, buffers: Buffers) -> None:
        """Call the method's check of its scratch buffers."""
        self._method.finish(Run(self._configuration, queue, buffers.scratch))
