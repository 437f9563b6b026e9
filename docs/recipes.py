"""The page of recipes: what people compute, with what, and how long it takes.

Each recipe is a pair of functions, one with another package and one with pyapsp. The page shows
their code, and a table of their times, which is in README, too.

    python docs/recipes.py                      # write docs/recipes.md, and the table in README.md
    python docs/recipes.py --measure NAME...    # first measure these recipes, or all

Times are kept in docs/recipes.json. Each is that of a whole call, after one on a smaller input: the
shortest of three, or the only one if that is longer than ten seconds. What takes hours is measured
in part, and the table says "about".
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import math
import os
import re
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csgraph

import pyapsp
from pyapsp.graph import generators

__all__ = ["FIGURES", "RECIPES", "Recipe", "lines_of", "page", "readme", "seconds"]

TOP = Path(__file__).resolve().parents[1]
FIGURES, PAGE, README = TOP / "docs/recipes.json", TOP / "docs/recipes.md", TOP / "README.md"
# Calls of which the shortest counts; none follows one of so many seconds.
_CALLS, _LONG = 3, 10
_BEGIN, _END = "<!-- recipes: written by docs/recipes.py -->\n", "<!-- end of recipes -->\n"


@dataclass(frozen=True)
class Recipe:
    """Something that people compute."""

    # A word for it, and what is computed.
    name: str
    job: str
    # What is used elsewhere: as the table shows it, and the module to import.
    tool: str
    module: str
    # Called with whether the input is small, returns the arguments of both functions.
    data: Callable[[bool], tuple[tuple[Any, ...], tuple[Any, ...]]]
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    # Reduces the arguments of `theirs` to a part of the work, and returns them with the factor of
    # the time.
    part: Callable[[tuple[Any, ...]], tuple[tuple[Any, ...], float]] | None = None
    # Whether two answers are equal.
    same: Callable[[Any, Any], bool] = lambda one, other: np.allclose(one, other)
    note: str = ""  # a sentence for the page


def streets(small: bool) -> pyapsp.Graph:
    """Return a graph like that of streets."""
    side = 20 if small else 256
    return generators.grid_2d(side, side)


def drawn(graph: pyapsp.Graph, count: int, seed: int = 0) -> np.ndarray:
    """Return different vertices."""
    rng = np.random.default_rng(seed)
    return rng.choice(graph.n, min(count, graph.n // 2), replace=False)


# -- facilities and demand points ----------------------------------------------------------------


def facilities_data(small):
    graph = streets(small)
    places = drawn(graph, 50), drawn(graph, 2985, 1)
    return (graph.to_scipy().astype(float), *places), (graph, *places)


def facilities_theirs(matrix, facilities, demand):
    return csgraph.dijkstra(matrix, indices=facilities)[:, demand]


def facilities_ours(graph, facilities, demand):
    return pyapsp.distances(graph, facilities, demand)


# -- the nearest ---------------------------------------------------------------------------------


def nearest_data(small):
    graph = streets(small)
    return (graph.to_scipy().astype(float), drawn(graph, 50)), (graph, drawn(graph, 50))


def nearest_theirs(matrix, facilities):
    rows = csgraph.dijkstra(matrix, indices=facilities)
    return np.sort(np.partition(rows, 3, axis=0)[:3], axis=0).T


def nearest_ours(graph, facilities):
    return pyapsp.nearest(graph, facilities, 3).distances


# -- within a range ------------------------------------------------------------------------------


def within_data(small):
    graph = streets(small)
    places = drawn(graph, 5000)
    return (graph.to_scipy().astype(float), places), (graph, places)


def within_theirs(matrix, places):
    near = []
    for place in places:
        row = csgraph.dijkstra(matrix, indices=place, limit=1000)
        there = np.flatnonzero(np.isfinite(row))
        near.append((there, row[there]))
    return near


def within_ours(graph, places):
    return pyapsp.within(graph, places, 1000).distances


def within_same(near, found):
    there = np.concatenate([one for one, _ in near])
    return np.array_equal(there, found.indices) and np.allclose(
        np.concatenate([row for _, row in near]), found.data
    )


# -- Isomap --------------------------------------------------------------------------------------


def isomap_data(small):
    rng = np.random.default_rng(0)
    angle, height = rng.random((2, 200 if small else 3000))
    roll = np.stack([angle * np.cos(9 * angle), height, angle * np.sin(9 * angle)], axis=1)
    return (roll,), (roll,)


def isomap_theirs(points):
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=8).fit(points).dist_matrix_


def isomap_ours(points):
    from sklearn.manifold import Isomap

    with pyapsp.patch():
        return Isomap(n_neighbors=8).fit(points).dist_matrix_


# -- molecules -----------------------------------------------------------------------------------


def molecules_data(small):
    rng = np.random.default_rng(0)
    sizes = rng.integers(10, 40, 100 if small else 10_000)
    made = []
    for n in sizes:
        matrix = np.zeros((n, n))
        matrix[np.arange(1, n), (rng.random(n - 1) * np.arange(1, n)).astype(int)] = 1
        made.append(matrix + matrix.T)
    return (made,), (made,)


def molecules_theirs(matrices):
    return [csgraph.floyd_warshall(each) for each in matrices]


def molecules_ours(matrices):
    return [each.distances for each in pyapsp.solve_many(matrices)]


def molecules_same(one, other):
    return all(map(np.array_equal, one, other))


def by_node(values, found):
    return np.allclose([values[v] for v in range(len(values))], found)


# -- closeness -----------------------------------------------------------------------------------


def closeness_data(small):
    graph = generators.small_world(100 if small else 5000, 6, max_weight=1, seed=1)
    return (graph.to_networkx(),), (graph,)


def closeness_theirs(graph):
    import networkx

    return networkx.closeness_centrality(graph)


def closeness_igraph_data(small):
    _, (graph,) = closeness_data(small)
    return (graph.to_igraph(),), (graph,)


def closeness_igraph(graph):
    return graph.closeness(mode="in")


def closeness_ours(graph):
    return pyapsp.closeness_centrality(graph, weight=None)


# -- a histogram of hops -------------------------------------------------------------------------


def hops_data(small):
    n = 200 if small else 200_000
    graph = generators.random_graph(n, 8 * n, max_weight=1, seed=1)
    return (graph.to_scipy(), np.arange(n)), (graph,)


def hops_theirs(matrix, sources):
    counts = np.zeros(1, int)
    for some in np.array_split(sources, -(-len(sources) // 100)):
        hops = csgraph.dijkstra(matrix, indices=some, unweighted=True)
        more = np.bincount(hops[np.isfinite(hops)].astype(int))
        counts = np.pad(counts, (0, max(len(more) - len(counts), 0)))
        counts[: len(more)] += more
    return counts


def hops_ours(graph):
    return pyapsp.distance_histogram(graph, weight=None)


def hops_part(arguments):
    matrix, sources = arguments
    return (matrix, sources[:100]), len(sources) / 100


# -- pairs ---------------------------------------------------------------------------------------


def pairs_data(small):
    graph = streets(small)
    ends = drawn(graph, 2000), drawn(graph, 2000, 1)
    return (graph.to_igraph(), *ends), (graph, *ends)


def pairs_theirs(graph, origins, destinations):
    return [
        graph.get_shortest_paths(origin, destination, "weight")[0]
        for origin, destination in zip(origins, destinations, strict=True)
    ]


def pairs_ours(graph, origins, destinations):
    return pyapsp.pairs(graph, origins, destinations, paths=True)


def pairs_same(paths, found):
    # several paths may be shortest
    ends = [(path[0], path[-1]) for path in paths]
    return ends == [(each[0], each[-1]) for each in map(found.path, range(len(paths)))]


# -- betweenness ---------------------------------------------------------------------------------


def betweenness_data(small):
    graph = generators.power_law(100 if small else 5000, max_weight=1, seed=1)
    return (graph.to_networkx(),), (graph,)


def betweenness_theirs(graph):
    import networkx

    return networkx.betweenness_centrality(graph)


def betweenness_igraph_data(small):
    _, (graph,) = betweenness_data(small)
    return (graph.to_igraph(),), (graph,)


def betweenness_igraph(graph):
    pairs = (graph.vcount() - 1) * (graph.vcount() - 2)
    return np.array(graph.betweenness()) / pairs


def betweenness_ours(graph):
    return pyapsp.betweenness_centrality(graph)


RECIPES = (
    Recipe(
        "facilities",
        "50 facilities to 2,985 demand points, 65,536 crossings",
        "SciPy `dijkstra`",
        "scipy",
        facilities_data,
        facilities_theirs,
        facilities_ours,
        note="The answer has a row for each facility and a column for each demand point. Distances "
        "to other crossings are not written: a search ends at its last demand point. The command "
        "`pyapsp distances` writes a CSV file with a row for each pair, by the names of the graph. "
        "In Python, `pandas.DataFrame(answer, facilities, demand).to_csv(name)` does.",
    ),
    Recipe(
        "nearest",
        "the three nearest of 50 facilities, 65,536 crossings",
        "SciPy `dijkstra`",
        "scipy",
        nearest_data,
        nearest_theirs,
        nearest_ours,
        note="`targets` of the answer has the three facilities of each vertex, and `to_frame()` is "
        "a table of them with their names and distances. Distances are from each vertex to its "
        "targets. SciPy's rows are from the facilities, which is the same in these streets.",
    ),
    Recipe(
        "within",
        "all crossings within 1 km of each of 5,000 places",
        "SciPy `dijkstra(limit=)`",
        "scipy",
        within_data,
        within_theirs,
        within_ours,
        same=within_same,
        note="The answer is a sparse array of SciPy. The cutoff is in the unit of the weights, "
        "here metres. `pyapsp.within(graph, cutoff=1000)` searches from all vertices. "
        '`pyapsp.within_blocks(graph, cutoff=1000).save("near.npz")` writes answers that are '
        "larger than memory. SciPy's own function writes 65,536 distances for each place, however "
        "few are near.",
    ),
    Recipe(
        "isomap",
        "Isomap of 3,000 points",
        "scikit-learn `Isomap`",
        "sklearn",
        isomap_data,
        isomap_theirs,
        isomap_ours,
        note="With `pyapsp.patch` the calls of SciPy inside scikit-learn run in pyapsp.",
    ),
    Recipe(
        "molecules",
        "all distances in each of 10,000 molecules",
        "SciPy `floyd_warshall`",
        "scipy",
        molecules_data,
        molecules_theirs,
        molecules_ours,
        same=molecules_same,
        note="A list of graphs gives a list of results, and an array of matrices of one size gives "
        "an array. In a dense matrix 0 means no arc. Graphs that are not matrices yet are fastest "
        "as arrays of their edges: `pyapsp.Graphs.from_edges` ([many at "
        "once](tutorials/many-at-once.md)).",
    ),
    Recipe(
        "closeness",
        "closeness of 5,000 vertices, no weights",
        "NetworkX `closeness_centrality`",
        "networkx",
        closeness_data,
        closeness_theirs,
        closeness_ours,
        same=by_node,
        note="The distances are those to the vertex, as in NetworkX. **Weights are used unless you "
        "say `weight=None`**, if the graph has any; NetworkX has `distance=` for them. The answer "
        "is an array, in the order of the nodes. With the setting "
        "`NETWORKX_BACKEND_PRIORITY=pyapsp` the call of NetworkX itself runs in pyapsp, and "
        "returns its dictionary.",
    ),
    Recipe(
        "closeness-igraph",
        "closeness of 5,000 vertices, no weights",
        "igraph `closeness`",
        "igraph",
        closeness_igraph_data,
        closeness_igraph,
        closeness_ours,
    ),
    Recipe(
        "hops",
        "hop histogram of 200,000 vertices",
        "SciPy `dijkstra`",
        "scipy",
        hops_data,
        hops_theirs,
        hops_ours,
        part=hops_part,
        same=lambda one, other: np.array_equal(one[1:], other[1:]),
        note="Entry d of the answer is the number of ordered pairs of different vertices that are "
        "d hops apart. The time of SciPy is that of 100 sources, times 2,000.",
    ),
    Recipe(
        "pairs",
        "the paths of 2,000 pairs, 65,536 crossings",
        "igraph `get_shortest_paths`",
        "igraph",
        pairs_data,
        pairs_theirs,
        pairs_ours,
        same=pairs_same,
        note="`path(i)` of the answer is route i, and `distances[i]` its length; with "
        "`along=` there is the sum of a second weight along it. If there is no route, "
        "they are an empty list and infinity. `path_columns()` has the crossings of all "
        "routes in one column.",
    ),
    Recipe(
        "betweenness",
        "betweenness of 5,000 vertices, no weights",
        "NetworkX `betweenness_centrality`",
        "networkx",
        betweenness_data,
        betweenness_theirs,
        betweenness_ours,
        same=by_node,
        note='As in NetworkX, **weights are used only if you name them**: `weight="length"`, or '
        "`weight=...` (the `Ellipsis` of Python) for those that `solve` uses. `k=1000` searches "
        "from 1,000 vertices drawn at random, "
        'those that NetworkX draws with the same `seed`; `sources=` names them; `device="gpu"` '
        "chooses a GPU.",
    ),
    Recipe(
        "betweenness-igraph",
        "betweenness of 5,000 vertices, no weights",
        "igraph `betweenness`",
        "igraph",
        betweenness_igraph_data,
        betweenness_igraph,
        betweenness_ours,
    ),
)


def body(function: Callable[..., Any]) -> str:
    """Return the lines of a function, without its first one and the word ``return``."""
    lines = inspect.getsource(function).splitlines()[1:]
    return re.sub("(?m)^( *)return ", r"\1", textwrap.dedent("\n".join(lines))).strip()


def lines_of(function: Callable[..., Any]) -> int:
    """Return the number of lines of code of a function, without imports."""
    lines = map(str.strip, body(function).splitlines())
    return sum(bool(line) and not line.startswith(("#", "import ", "from ")) for line in lines)


def seconds(recipe: Recipe, *, small: bool = False) -> tuple[float, float]:
    """Time both functions, and check that their answers are equal.

    The answers to a part of the work are not compared, those to the small input are.
    """
    times: list[float] = []
    for size in (True,) if small else (True, False):
        theirs, ours = recipe.data(size)
        part, factor = (theirs, 1.0) if size or recipe.part is None else recipe.part(theirs)
        answers = []
        for function, arguments in ((recipe.theirs, part), (recipe.ours, ours)):
            shortest = math.inf
            for _ in range(1 if size else _CALLS):
                started = time.perf_counter()
                answer = function(*arguments)
                shortest = min(shortest, time.perf_counter() - started)
                if shortest > _LONG:
                    break
            answers.append(answer)
            times.append(shortest)
        times[-2] *= factor
        if factor == 1 and not recipe.same(*answers):
            raise AssertionError(f"the answers to {recipe.name} differ")
    return times[-2], times[-1]


def shown(value: float) -> str:
    """Return a time as text."""
    if value >= 3600:
        return f"{value / 3600:.2g} h"
    return f"{value / 60:.2g} min" if value >= 100 else f"{value:.2g} s"


def heading(recipe: Recipe) -> str:
    """Return the heading of a recipe, which differs from all others."""
    return f"{recipe.job[0].upper()}{recipe.job[1:]}, beside {recipe.tool.partition(' `')[0]}"


def anchor(recipe: Recipe) -> str:
    """Return the name of the section, as GitHub and MyST make it from the heading."""
    return re.sub(r"[^\w -]", "", heading(recipe).lower()).replace(" ", "-")


def table(figures: dict[str, Any], page: str = "") -> str:
    """Return the table of times; its jobs are links to sections of `page`, which follow it."""
    rows = [
        "| job | other tool | time | lines | pyapsp | time | lines |",
        "|---|---|---|---|---|---|---|",
    ]
    for recipe in RECIPES:
        theirs, ours = figures["seconds"][recipe.name]
        about = "about " if recipe.part else ""
        call = re.search(r"pyapsp\.(\w+)", body(recipe.ours))
        assert call is not None, recipe.name
        cells = (
            f"[{recipe.job}][{recipe.name}]",
            recipe.tool,
            about + shown(theirs),
            str(lines_of(recipe.theirs)),
            f"`{call[1]}`",
            shown(ours),
            str(lines_of(recipe.ours)),
        )
        rows.append(f"| {' | '.join(cells)} |")
    links = [f"[{recipe.name}]: {page}#{anchor(recipe)}" for recipe in RECIPES]
    return "\n".join([*rows, "", *links]) + "\n"


def page(figures: dict[str, Any]) -> str:
    """Return the text of the page."""
    parts = [
        "# Recipes\n",
        "Common jobs, with another package and with pyapsp. The streets are a generated grid of "
        "256 by 256 crossings with lengths drawn at random, and the other graphs are drawn at "
        "random, too; those of closeness, betweenness and hops have no weights. Each time is that "
        "of the code that is shown, with its inputs ready, after a call on a smaller input, which "
        "compiles kernels. It is the shortest of three; a run of more than "
        f"{_LONG} seconds is made once. The machine: {figures['machine']}. "
        "`python docs/recipes.py --measure` measures them again, and compares the answers.\n",
        "`graph` is a {py:class}`pyapsp.Graph`, or an object that functions take as one: a "
        'matrix of SciPy, a graph of NetworkX, igraph or OSMnx (with `weight="length"`), the name '
        "of a file, or [a data frame of edges](frames.md). Vertices are numbers, or names if the "
        "graph has names. If a result has `to_frame`, that makes a table with the same names; "
        "arrays have the order of the vertices or of the arguments.\n",
        table(figures),
    ]
    for recipe in RECIPES:
        parts += [
            f"## {heading(recipe)}\n",
            f"With {recipe.tool}:\n",
            f"```{{code-block}} python\n{body(recipe.theirs)}\n```\n",
            "With pyapsp:\n",
            f"```{{code-block}} python\n{body(recipe.ours)}\n```\n",
        ]
        parts += [f"{recipe.note}\n"] if recipe.note else []
    return "\n".join(parts)


def readme(text: str, figures: dict[str, Any]) -> str:
    """Return the text of README with the table."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{table(figures, PAGE.relative_to(TOP).as_posix())}\n{_END}{after}"


def machine() -> str:
    """Return the words for the machine: its cores, and the device that is chosen."""
    return f"{os.cpu_count()} cores, {pyapsp.device.choose(None).name}"


def measure(names: Iterable[str]) -> None:
    """Measure some recipes, and keep their times.

    Raises
    ------
    ValueError
        The other recipes were measured on another machine: the page names one.
    """
    names = set(names)
    here = machine()
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if known.get("machine", here) != here and not names >= known["seconds"].keys():
        raise ValueError(f"the other recipes were measured on {known['machine']}: measure all")
    for recipe in RECIPES:
        if recipe.name in names:
            importlib.import_module(recipe.module)
            found = seconds(recipe)
            figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"seconds": {}}
            figures["machine"] = here
            figures["seconds"][recipe.name] = [float(f"{each:.3g}") for each in found]
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
            print(recipe.name, *figures["seconds"][recipe.name], flush=True)


def names_to_measure(names: list[str], about: str | None) -> list[str] | None:
    """Return the names after ``--measure``, all if there is none; None without this option."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--measure", nargs="*", choices=names, metavar="NAME")
    asked: list[str] | None = parser.parse_args().measure
    return names if asked == [] else asked


def main() -> None:
    """Measure if asked to, and write the page and the table."""
    if names := names_to_measure([recipe.name for recipe in RECIPES], __doc__):
        measure(names)
    figures = json.loads(FIGURES.read_text())
    PAGE.write_text(page(figures), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
