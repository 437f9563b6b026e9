"""[B], chapters 17 to 19: formats of graphs that change, updates, analytics, and trusses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph, csr_array

from papers.busato_dynamic.dcsr import Dcsr
from papers.busato_dynamic.inputs import GRAPHS, power_graph, public_graphs, stand_in
from papers.busato_dynamic.lists import Aim, Custinger
from papers.busato_dynamic.rivals import Rival
from papers.busato_dynamic.triangles import changing
from papers.experiment import Case, InTurns, Request, Settings
from papers.metered import Metered, Repeated
from papers.runner import Label, Runner, require_equal
from papers.values import Parameters
from pyapsp.base.json import Record
from pyapsp.device import Device
from pyapsp.dynamic import Hornet, analytics
from pyapsp.dynamic.formats import FORMATS
from pyapsp.dynamic.hornet import DUPLICATES
from pyapsp.errors import VerificationError
from pyapsp.graph import Graph
from pyapsp.registry import method, problem
from pyapsp.registry.timing import Turn
from pyapsp.trusses.products import adjacency, trussness_by_products

__all__ = [
    *("BLOCKS", "DISTRIBUTIONS", "EXPERIMENTS", "HORNETS", "PACKED", "RIVALS", "SEGMENTS"),
    *("TRUSSES", "UPDATED", "UPDATERS"),
]

#: Other systems by the names of the thesis.
RIVALS: dict[str, type[Rival]] = {"cuSTINGER": Custinger, "AIM": Aim, "DCSR": Dcsr}
#: Containers of the tables of memory -> their options; the thesis has powers of two.
HORNETS: dict[str, dict[str, Any]] = {
    "Hornet": {},
    "Hornet, powers of two, 2^16": {"block_steps": 1, "block_array": 2**16},
    "Hornet, powers of two, 2^19": {"block_steps": 1, "block_array": 2**19},
    "Hornet, powers of two, 2^22": {"block_steps": 1, "block_array": 2**22},
}
#: Options of the rates of updates. The thesis gives the least block and the block arrays that
#: equal those of cuSTINGER and AIM.
BLOCKS: dict[str, dict[str, Any]] = {
    "Hornet": {},
    "cuSTINGER's blocks": {"block_steps": 1, "least_block": 8, "block_array": 2**21},
    "AIM's blocks": {"block_steps": 1, "least_block": 256, "block_array": 2**22},
}
#: Systems of figures 18.7 and 18.8 -> the Hornet beside them, of `BLOCKS`.
UPDATERS = {"cuSTINGER": "cuSTINGER's blocks", "AIM": "AIM's blocks"}
#: How the ends of a batch are drawn; the thesis does not say it.
DISTRIBUTIONS = ("uniform", "by degree")
#: DCSR as a graph makes it, and after so many batches as it takes before it packs its rows.
PACKED, SEGMENTS = "DCSR", "DCSR, 4 batches"
#: Graphs of figures 18.7 and 18.8; the thesis has four, of which it names cage15.
UPDATED = ("dblp-2010", "in-2004", "soc-LiveJournal1", "cage15")
#: Methods for trusses -> name and container.
TRUSSES: dict[str, tuple[str, Parameters]] = {
    "Delta on a Hornet": ("truss-delta", {"container": "hornet"}),
    "Delta on CSR": ("truss-delta", {"container": "csr"}),
    "Iterative on a Hornet": ("truss-iterative", {"container": "hornet"}),
    "Iterative on CSR": ("truss-iterative", {"container": "csr"}),
    "peeling": ("truss-peeling", {}),
}
# Edges of the batches of table 17.1, as a part of all.
_PART = 100
# Edges up to which SciPy finds trusses in seconds.
_PRODUCTS = 100_000
_Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


def _tails(graph: Graph) -> NDArray[np.int64]:
    return np.repeat(np.arange(graph.n), np.diff(graph.indptr))


def _fresh(graph: Graph, count: int, seed: int, distribution: str = DISTRIBUTIONS[0]) -> _Ends:
    """Return the ends of random edges that are different and not in the graph.

    With "by degree", ends are those of random edges of the graph.
    """
    random = np.random.default_rng(seed)
    tails = _tails(graph)
    known, fresh = tails << 32 | graph.indices, np.zeros(0, np.int64)
    while fresh.size < count:
        if distribution == "uniform":
            ends = random.integers(0, graph.n, (2, 2 * count + 8))
        else:
            of = random.integers(0, graph.m, (2, 2 * count + 8))
            ends = np.stack([tails[of[0]], graph.indices[of[1]]])
        fresh = np.unique(np.concatenate([fresh, ends[0] << 32 | ends[1]]))
        fresh = fresh[~np.isin(fresh, known)]
    fresh = random.permutation(fresh)[:count]
    return fresh >> 32, fresh & (2**32 - 1)


def _bytes(container: Any) -> int:
    memory = container.memory
    return int(memory if isinstance(memory, int) else memory.total)


def _formats(n: int, request: Request) -> Iterator[Case]:
    """Yield each graph of table 18.2: initialisation, one batch in and out, memory."""
    makers: dict[str, Callable[[Graph], Any]] = {
        name: partial(cls, device=request.device) for name, cls in (FORMATS | RIVALS).items()
    }
    for name, options in HORNETS.items():
        makers[name] = partial(Hornet.from_graph, device=request.device, **options)
    for name in GRAPHS:
        graph = stand_in(name, n)
        ends = _fresh(graph, max(graph.m // _PART, 1), 2)
        degrees = np.diff(graph.indptr)
        runners = []
        for form, make in makers.items():
            label: Label = {"graph": name, "format": form}
            runners.append(Runner(label, partial(_turn, make, graph, ends)))
        about: Record = {
            "label": {"graph": name},
            "n": graph.n,
            "m": graph.m,
            "deviation": float(degrees.std()),
            "longest": int(degrees.max()),
            "used": _used(degrees),
            "reference": {"what": "the graph"},
        }
        yield Case(about, runners)


def _used(degrees: np.ndarray) -> float:
    """Return the part of the slots of blocks that have edges, in blocks of powers of two."""
    rows = degrees[degrees > 0].astype(np.int64)
    return float(rows.sum() / (1 << np.ceil(np.log2(rows)).astype(np.int64)).sum())


def _turn(make: Callable[[Graph], Any], graph: Graph, ends: _Ends) -> Turn:
    """Make a container, insert a batch, and delete it if the format can."""
    started = time.perf_counter()
    container = make(graph)
    seconds = {"init": time.perf_counter() - started}
    memory = _bytes(container)
    used = container.memory.block_arrays if isinstance(container, Hornet) else None
    right = graph.to_scipy()
    kind = getattr(container, "duplicates", DUPLICATES)[-1]
    phases = {"insert": partial(container.insert_edges, *ends, duplicates=kind)}
    if hasattr(container, "delete_edges"):
        phases["delete"] = partial(container.delete_edges, *ends)
    else:
        right = right + csr_array((np.ones(ends[0].size, right.dtype), ends), shape=right.shape)
        right.sort_indices()
    for phase, act in phases.items():
        started = time.perf_counter()
        count = act()
        _ = container.degree()[:1]  # waits
        seconds[phase] = time.perf_counter() - started
        if count != ends[0].size:
            raise VerificationError(f"{phase}: another number of edges")
    rows = container.to_csr()
    require_equal(rows.indptr, right.indptr, "the container")
    require_equal(rows.indices, right.indices, "the container")
    seconds["wall"] = sum(seconds.values())
    facts = {"bytes": memory, "blocks": used, "rebuilt": getattr(container, "rebuilt", 0)}
    return Turn(seconds, facts)


def _updates(n: int, request: Request) -> Iterator[Case]:
    """Yield batches of growing size into four graphs, with and without a look for duplicates."""
    makers = _updaters(request.device)
    for name in UPDATED:
        graph = stand_in(name, n)
        sizes = [10**power for power in range(8) if 10**power <= max(graph.m // 4, 1)]
        known = {size: _known(graph, size) for size in sizes}
        runners = []
        for distribution in DISTRIBUTIONS:
            batches = [_fresh(graph, size, size, distribution) for size in sizes]
            for blocks, make in makers.items():
                # without a look for duplicates, a Hornet of any blocks, and no other system
                plain = distribution == "uniform" and blocks in BLOCKS
                for kind in ("ignore", "keep")[: 1 + plain]:
                    for ends in batches:
                        label: Label = {"graph": name, "blocks": blocks, "batch": ends[0].size}
                        label |= {"duplicates": kind, "distribution": distribution}
                        turn = partial(_batch, make, graph, known[ends[0].size], ends, kind)
                        runners.append(Runner(label, turn))
        about: Record = {"label": {"graph": name}, "n": graph.n, "m": graph.m}
        yield Case({**about, "reference": {"what": "the edges of the graph"}}, runners)


def _updaters(device: Device) -> dict[str, Callable[[Graph], Any]]:
    """Return Hornets by their blocks, and other systems by their names."""
    hornets = {
        blocks: partial(Hornet.from_graph, device=device, **options)
        for blocks, options in BLOCKS.items()
    }
    return hornets | {name: partial(RIVALS[name], device=device) for name in UPDATERS}


def _known(graph: Graph, count: int) -> _Ends:
    """Return the ends of random edges of a graph."""
    of = np.random.default_rng(count).choice(graph.m, count, replace=False)
    return _tails(graph)[of], graph.indices[of].astype(np.int64)


def _batch(
    make: Callable[[Graph], Any], graph: Graph, known: _Ends, ends: _Ends, kind: str
) -> Turn:
    """Insert a batch into a new container, and delete it; the host waits for the degrees.

    Before, it gets as many edges that are there: then it has memory for batches, and no row has
    grown.
    """
    container, size, seconds = make(graph), ends[0].size, {}
    right = container.insert_edges(*known, duplicates="ignore") == 0
    started = time.perf_counter()
    added = container.insert_edges(*ends, duplicates=kind)
    _ = container.degree([0])
    seconds["insert"] = time.perf_counter() - started
    right &= container.m == graph.m + size and bool(container.has_edges(*ends).all())
    started = time.perf_counter()
    gone = container.delete_edges(*ends)
    _ = container.degree([0])
    seconds["delete"] = time.perf_counter() - started
    if not right or not added == gone == size or container.has_edges(*ends).any():
        raise VerificationError(f"{size} edges: {added} inserted, {gone} deleted")
    require_equal(container.degree(), np.diff(graph.indptr), "the degrees after all")
    if not container.has_edges(*known).all():
        raise VerificationError(f"{size} edges: others are gone, too")
    return Turn({**seconds, "wall": sum(seconds.values())}, {"edges": size})


def _analytics(n: int, request: Request) -> Iterator[Case]:
    """Yield searches and products on each graph, with one kernel text for both formats."""
    for name in GRAPHS:
        graph = stand_in(name, n)
        matrix, hub = graph.to_scipy().astype(float), int(np.argmax(np.diff(graph.indptr)))
        vector = np.random.default_rng(4).random(graph.n).astype(np.float32)
        product = matrix @ vector
        containers = {
            "CSR": analytics.CsrRows(graph, device=request.device),
            "Hornet": Hornet.from_graph(graph, device=request.device),
        }
        dynamic = {PACKED: Dcsr(graph, device=request.device)}
        dynamic[SEGMENTS] = _in_batches(graph, request.device)
        depths = csgraph.dijkstra(matrix, unweighted=True, indices=hub)
        levels = np.where(np.isfinite(depths), depths, -1).astype(np.int32)
        rights = {"BFS": (levels, 0.0), "SpMV": (product, 1e-4 * float(product.max()))}
        runners = []
        for form, rows in containers.items():
            calls = {
                "BFS": partial(analytics.bfs, rows, hub),
                "SpMV": partial(analytics.spmv, rows, vector),
            }
            for what, call in calls.items():
                label: Label = {"graph": name, "what": what, "format": form}
                runners.append(Runner(label, partial(_timed, call, *rights[what])))
        for form, segments in dynamic.items():
            label = {"graph": name, "what": "SpMV", "format": form}
            call = partial(segments.product, vector)
            runners.append(Runner(label, partial(_timed, call, *rights["SpMV"])))
        traversed = int(np.diff(graph.indptr)[levels >= 0].sum())
        about: Record = {
            "label": {"graph": name},
            "n": graph.n,
            "m": graph.m,
            "traversed": traversed,
        }
        yield Case({**about, "reference": {"what": "SciPy"}}, runners)


def _in_batches(graph: Graph, device: Device) -> Dcsr:
    """Return a DCSR of which the last edges, at random, came in batches as those of table 17.1."""
    tails, part = _tails(graph), max(graph.m // _PART, 1)
    batches = np.random.default_rng(5).permutation(graph.m)[: 4 * part].reshape(4, -1)
    stays = np.ones(graph.m, bool)
    stays[batches.ravel()] = False
    first = np.searchsorted(tails[stays], np.arange(graph.n + 1))
    heads = np.ascontiguousarray(graph.indices[stays])
    ones = np.ones(heads.size, np.int64)
    container = Dcsr(Graph.from_checked_rows(first, heads, ones, copy=False), device=device)
    for batch in batches:
        container.insert_edges(tails[batch], graph.indices[batch])
    return container


def _timed(call: Callable[[], np.ndarray], right: np.ndarray, tolerance: float) -> Turn:
    started = time.perf_counter()
    answer = call()
    seconds = time.perf_counter() - started
    require_equal(answer, right, "the answer", tolerance)
    return Turn({"wall": seconds}, {})


def _trusses(n: int, request: Request) -> Iterator[Case]:
    """Yield graphs of up to n edges: all trusses, and of power graphs also k = 3 and 4.

    Power graphs have scale 10 and more; the first one is smaller if it would have more edges.
    Graphs of table 19.2 that the mirror has must have the published largest truss.
    """
    truss, last = problem("truss"), (n // 16).bit_length() - 1
    graphs = {f"scale {scale}": power_graph(scale) for scale in range(min(10, last), last + 1)}
    known_largest: dict[str, int] = {}
    for name, graph, largest in public_graphs(n):
        graphs[name], known_largest[name] = graph, largest
    for name, graph in graphs.items():
        for k in (None,) if name in known_largest else (None, 3, 4):
            label = {"graph": name, "k": "all" if k is None else k}
            known: list[NDArray[np.int32]] = []
            runners = []
            if graph.m <= _PRODUCTS:
                runners.append(
                    Runner(
                        {**label, "method": "SciPy"},
                        partial(_products, graph, k, known, known_largest.get(name)),
                    )
                )
            for what, (chosen, options) in TRUSSES.items():
                call = truss.ask(graph, method(chosen, **options), device=request.device, k=k)
                runners.append(
                    Repeated(
                        {**label, "method": what},
                        partial(_decomposed, call, known, known_largest.get(name)),
                        partial(_Whole, call, known),
                    )
                )
            about: Record = {"label": label, "n": graph.n, "m": graph.m // 2}
            reference = "SciPy" if graph.m <= _PRODUCTS else "the other methods"
            yield Case({**about, "reference": {"what": reference}}, runners)


class _Whole:
    """Whole runs of a decomposition, whose energy is measured."""

    def __init__(self, request: Any, known: list[NDArray[np.int32]]) -> None:
        self._request, self._known = request, known
        self._values = known[0]

    def run(self, times: int = 1) -> None:
        """Plan once, and run so many times."""
        method, options = self._request.method, self._request.options
        plan = method.plan(self._request.input, options)
        for _ in range(times):
            self._values = method.run(plan).values

    def check(self) -> None:
        """Compare the last values with those of the turns."""
        require_equal(self._values, self._known[0], "the trusses")


def _of_all(finished: Sequence[Repeated]) -> Iterable[Repeated]:
    return (each for each in finished if each.label["k"] == "all")


def _products(
    graph: Graph, k: int | None, known: list[NDArray[np.int32]], largest: int | None
) -> Turn:
    started = time.perf_counter()
    values = trussness_by_products(graph, adjacency(graph), k)
    return _compared(values, {"wall": time.perf_counter() - started}, {}, known, largest)


def _decomposed(request: Any, known: list[NDArray[np.int32]], largest: int | None) -> Turn:
    started = time.perf_counter()
    answer = request.method.run(request.method.plan(request.input, request.options))
    seconds = {"kernel": answer.stats["kernel_seconds"], "wall": time.perf_counter() - started}
    return _compared(answer.values, seconds, answer.stats["more"], known, largest)


def _compared(
    values: NDArray[np.int32],
    seconds: dict[str, float],
    facts: Record,
    known: list[NDArray[np.int32]],
    largest: int | None,
) -> Turn:
    """Return a turn whose values are those of the first one, up to a published largest k."""
    if not known:
        known.append(values)
    require_equal(values, known[0], "the trusses")
    k_max = int(values.max(initial=0))
    if largest is not None and k_max != largest:
        raise VerificationError(f"the largest truss has k = {k_max}, and {largest} is published")
    return Turn(seconds, {**facts, "k_max": k_max})


def _memory(n: int, settings: Settings) -> float:
    return 2e9 + 200.0 * n


_experiment = partial(InTurns, methods=(), sizes=(1_000_000,), memory=_memory, least=64)
EXPERIMENTS = {
    "busato-dynamic-formats": _experiment(
        exhibits="tables 17.1 and 18.2, figures 18.5 and 18.6", sizes=(200_000,), make=_formats
    ),
    "busato-dynamic-updates": _experiment(exhibits="figures 18.7 and 18.8", make=_updates),
    "busato-dynamic-analytics": _experiment(exhibits="figures 18.9 and 18.10", make=_analytics),
    "busato-dynamic-triangles": _experiment(
        exhibits="section 18.4.4", sizes=(200_000,), make=changing
    ),
    "busato-dynamic-trusses": Metered(
        exhibits="tables 19.2 and 19.3, figure 19.1",
        methods=("truss-delta", "truss-iterative", "truss-peeling"),
        sizes=(200_000,),
        memory=_memory,
        least=64,
        make=_trusses,
        chosen=_of_all,
    ),
}
