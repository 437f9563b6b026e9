"""Quotients in exhibits are those of the values beside them, or of what the records have."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from statistics import mean

import pytest
from papers import SOURCES
from papers.busato_dynamic.claims import POWERS
from papers.busato_dynamic.inputs import GRAPHS
from papers.busato_paths.components.claims import DEVSHATWAR_SET, PARAMETERS
from papers.busato_traversal.helix.claims import DIMENSIONS
from papers.index import recorded
from papers.published import Published

RECORDS = Path(__file__).resolve().parents[3] / "data" / "records"
IGRAPH = "speedup of * over igraph: ours = {0}igraph, ms: ours / {0}*, ms: ours"
TECHNIQUES_OF_16 = "busato-profiling-techniques"
ONE_CORE = "one core over row-wise: ours = one core, ms: ours / row-wise, ms: ours"
# Exhibit -> columns: that of the quotient, and those of the numerator and the denominator. In a
# column `*` is any text, the same in all three.
BESIDE = {
    "takafuji": {
        "table-3.3": ["32 bits over 4 bits: * = 32 bits: * / 4 bits: *"],
        "figure-4.10": [ONE_CORE],
        "figure-4.11": [ONE_CORE],
        "figure-4.12": [ONE_CORE],
    },
    "busato-traversal": {
        "table-3.1": ["bytes an arc: ours = bytes: ours / arcs"],
        "table-6.2": [
            "bfs-4k over *: ours = *, ms: ours / bfs-4k, ms: ours",
            "bfs-4k over *: GTX 780 = *, ms: GTX 780 / bfs-4k, ms: GTX 780",
        ],
        # of rates
        "figure-7.7": ["bfs-helix over *: ours = bfs-helix: ours / *: ours"],
        "figure-5.11": ["search, %: ours = search, ms: ours / expansion, ms: ours"],
    },
    "busato-paths": {
        "table-8.3": [
            "gain (*): ours = without (*), ms: ours / with (*), ms: ours",
            "speedup over queue without (*): ours = queue, ms: ours / without (*), ms: ours",
            "speedup over queue with (*): ours = queue, ms: ours / with (*), ms: ours",
            "gain: published = without, ms: GTX 780 / with, ms: GTX 780",
        ],
        "figure-21.3": [IGRAPH.format("")],
        "figure-21.4": [IGRAPH.format("")],
        "figure-21.5": [
            IGRAPH.format(""),
            f"make the graph, {IGRAPH.format('make the graph, ')}",
        ],
    },
    "busato-dynamic": {
        "table-18.2": ["mean: ours = entries: ours / rows: ours"],
        "figure-18.5": [
            f"cuSTINGER over {POWERS}: ours = cuSTINGER, over CSR: ours / {POWERS}, over CSR: ours"
        ],
        "figure-18.6": [
            "Hornet over CSR: ours = Hornet, ms: ours / CSR, ms: ours",
            f"* over {POWERS}: ours = *, ms: ours / {POWERS}, ms: ours",
        ],
        # of rates
        "figures-18.9-18.10": [
            "*, CSR over Hornet: ours = "
            "* on Hornet, million edges/s: ours / * on CSR, million edges/s: ours"
        ],
        "section-18.4.4": [
            "*, again over update: ours = *, count again, ms: ours / *, update, ms: ours"
        ],
        "table-19.2": [
            "Iterative over Delta, CSR: ours = Iterative on CSR, ms: ours / Delta on CSR, ms: ours",
            "Iterative over Delta, Hornet: ours = "
            "Iterative on a Hornet, ms: ours / Delta on a Hornet, ms: ours",
            "SciPy over peeling: ours = SciPy, ms: ours / peeling, ms: ours",
        ],
    },
    "busato-mining": {
        "table-20.3": [
            "NumPy over mangrove, whole calls: ours = "
            "NumPy, ms: ours / mangrove, whole call, ms: ours",
            "parallel over mangrove: ours = parallel, kernel ms: ours / mangrove, kernel ms: ours",
            "sequential over mangrove: ours = sequential, ms: ours / mangrove, kernel ms: ours",
        ],
    },
    "busato-profiling": {"joules": ["for time / measured = time, mJ / measured mJ"]},
    "busato-matching": {
        "figures-10.3-10.16": [
            "reference over device: ours = reference, ms: ours / a query, ms: ours"
        ],
    },
}


def labelled(row, *names):
    return {name: row[name] for name in names}


def about(measured, experiment, n, **label):
    """The facts about the input with this label."""
    [found] = [
        each for each in measured.inputs(experiment, n) if label.items() <= each["label"].items()
    ]
    return found


def over(one, other, *, factor=1.0):
    """A quotient; None if a number is missing."""
    return None if one is None or not other else factor * one / other


# --- quotients of what records have: (the records, the row, texts for `*`) -> value ---------------


def kernels_of_sweeps(experiment):
    def expected(measured, row):
        n = next(iter(row.values()))
        one, many = (
            measured.run(experiment, n, scheme=scheme, at_once=tasks) or {}
            for scheme, tasks in (("naive", 1), ("interleaved", 32))
        )
        if not one or not many:
            return None
        return one["seconds"]["kernel"] * many["tasks"] / many["seconds"]["kernel"] / one["tasks"]

    return expected


def over_the_fastest(measured, row):
    runs = measured.runs("busato-traversal-techniques", row["n"], input=row["input"])
    return row["ms: ours"] / 1e3 / min(run["seconds"]["kernel"] for run in runs)


def words_of_a_search(measured, row):
    run = measured.run("busato-traversal-bfs-features", row["n"], search=row["search"])
    return run and run["bytes"] / 4


def over_sequential(measured, row):
    alone = measured.phases("busato-traversal-bfs-features", row["n"], features="bfs-sequential")
    return 1e3 * alone["kernel"] / row["ms: ours"]


def over_the_best_configuration(measured, row, graph, n, _):
    where = {"experiment": "busato-traversal-configurations", "n": int(n), "graph": graph}
    own = measured.phases(**where, **labelled(row, *DIMENSIONS)).get("kernel")
    return over(own, min(run["seconds"]["kernel"] for run in measured.runs(**where)))


def without_over_with(measured, row, graph, n):
    if row["technique"].startswith("bits set"):
        return ...  # it is no quotient
    where = {"n": int(n), "graph": graph, "technique": row["technique"]}
    times = (
        measured.phases("busato-traversal-ablations", **where, form=form).get("kernel")
        for form in ("without", "with")
    )
    return over(*times)


def rate_of_arcs(experiment):
    def expected(measured, row, method):
        arcs = about(measured, experiment, row["n"], graph=row["graph"])["arcs"]
        return over(arcs / 1e3, row[f"{method}, ms: ours"])

    return expected


def over_a_search(measured, row, method):
    queue, own = (
        measured.phases("busato-paths-searches", row["n"], graph=row["graph"], method=each).get(
            "kernel"
        )
        for each in ("queue", method)
    )
    return over(queue, own)


def over_a_published_search(measured, row, method):
    queue, own = (
        Published("busato_paths/searches").value(
            exhibit="table 8.2", quantity="time", graph=row["graph"], method=each
        )
        for each in ("queue", method)
    )
    return over(queue, own)


def published_speedup(measured, row, form):
    where = labelled(row, "graph", "optimisation")
    return Published("busato_paths/searches").value(
        exhibit="table 8.3", quantity=f"speedup {form}", **where
    )


def orders_above_dijkstra(measured, row):
    given = about(measured, "busato-paths-optimisations", row["n"], graph="msdoor")
    return math.log10(row["relaxations: ours"] / given["arcs of reached vertices"])


def over_components_in_steps(measured, row, method):
    where = {"experiment": "busato-paths-components", "n": row["n"], "graph": row["graph"]}
    steps = {
        tuple(run["label"][each] for each in PARAMETERS): run["seconds"]["kernel"]
        for run in measured.runs(**where, method="scc-multi-step")
    }
    alone = measured.phases(**where, method="tarjan").get("kernel")
    times = {"tarjan": alone, "devshatwar": steps.get(DEVSHATWAR_SET)}
    return over(times[method], min(steps.values()))


def csr(graph):
    return 4 * (graph["n"] + 1 + graph["m"])


def memory_over_csr(measured, row):
    n = row["entries at most"]
    quotients = [
        run["bytes"] / csr(about(measured, "busato-dynamic-formats", n, **graph))
        for run in measured.runs("busato-dynamic-formats", n, format=row["format"])
        for graph in [labelled(run["label"], "graph")]
    ]
    return mean(quotients) if quotients else None


def of_a_format(quotient):
    def expected(measured, row, form):
        n, graph = row["entries at most"], labelled(row, "graph")
        run = measured.run("busato-dynamic-formats", n, **graph, format=form)
        return run and quotient(run, about(measured, "busato-dynamic-formats", n, **graph))

    return expected


def part_of_blocks(measured, row):
    given = about(
        measured, "busato-dynamic-formats", row["entries at most"], **labelled(row, "graph")
    )
    return 100 * given["used"]


def published_mean(measured, row):
    return GRAPHS[row["graph"]].entries / GRAPHS[row["graph"]].rows


def updates_of_batches(phase):
    def expected(measured, row):
        run = measured.run("busato-dynamic-updates", row["entries at most"], **of_a_batch(row))
        return run["edges"] / run["seconds"][phase] / 1e6

    return expected


def of_a_batch(row):
    return labelled(row, "graph", "blocks", "batch", "duplicates", "distribution")


def system_over_its_blocks(measured, row):
    system, _, of = row["blocks"].partition("'s ")
    if not of:
        return None
    label = of_a_batch(row)
    times = (
        measured.phases(
            "busato-dynamic-updates", row["entries at most"], **{**label, "blocks": blocks}
        ).get("insert")
        for blocks in (system, row["blocks"])
    )
    return over(*times)


def seconds_on_rows(measured, row, what, form):
    return measured.phases(
        "busato-dynamic-analytics",
        row["entries at most"],
        **labelled(row, "graph"),
        what=what,
        format=form,
    ).get("wall")


def edges_on_rows(what, work):
    def expected(measured, row, form):
        n = row["entries at most"]
        given = about(measured, "busato-dynamic-analytics", n, **labelled(row, "graph"))
        return over(given[work] / 1e6, seconds_on_rows(measured, row, what, form))

    return expected


def products_over_hornet(measured, row, form):
    return over(*(seconds_on_rows(measured, row, "SpMV", each) for each in (form, "Hornet")))


def edges_of_triangles(measured, row, phase):
    [run] = [
        run
        for _, run in measured.each_run(
            "busato-dynamic-triangles", **labelled(row, "graph", "batch"), way="update"
        )
    ]
    return run["edges"] / run["seconds"][phase] / 1e6


def sequential_over_mangrove(measured, row):
    runs = [
        run
        for miner in ("sequential", "mangrove")
        for _, run in measured.each_run(
            "busato-mining-designs", **labelled(row, "design", "set"), miner=miner
        )
    ]
    return over(*(run["seconds"]["wall"] for run in runs))


def part_of_matches(fact):
    def expected(measured, row):
        label = labelled(row, "labels", "nodes", "search", "matches")
        run = measured.run("busato-matching-queries", row["vertices"], method="device", **label)
        return over(run[fact], 1, factor=100)

    return expected


def increase_of_the_cost(measured, row):
    label = labelled(row, "labels", "nodes", "search")
    part, exact = (
        measured.run("busato-matching-perturbed", row["vertices"], **label, part=part)["cost"]
        for part in (row["perturbed, %"] / 100, 0.0)
    )
    return over(part - exact, exact, factor=100)


def energy_of_a_unit(measured, row):
    given = about(measured, TECHNIQUES_OF_16, row["n"], input=row["input"])
    return over(row["mJ: ours"], given["units"], factor=1e6)


def error_of_a_technique(measured, row):
    label = {**labelled(row, "input", "technique"), "group": row["best group: ours"]}
    runs = measured.runs(TECHNIQUES_OF_16, row["n"], **label)
    run = min(runs, key=lambda each: each["seconds"]["kernel"])
    return over(run["energy"]["error"], 1, factor=100)


def error_of_a_group(measured, row):
    label = {"version": row["version"], "shape": row["group"]}
    run = measured.run("busato-profiling-transpose", row["n"], **label)
    return over(run["energy"]["error"], 1, factor=100)


# Exhibit -> column -> function.
OF_RECORDS = {
    "ino": {
        figure: {"speedup of their kernels: ours": kernels_of_sweeps(f"ino-{name}")}
        for figure, name in (
            ("figure-7a", "neural"),
            ("figure-9", "paths"),
            ("figure-10", "histogram"),
            ("figure-11", "filter"),
        )
    },
    "busato-traversal": {
        "figures-5.6-5.9": {"over the fastest: ours": over_the_fastest},
        "figure-6.13": {"memory, words of 4 bytes: ours": words_of_a_search},
        "figure-6.14": {"speedup over sequential: ours": over_sequential},
        "figure-7.6": {"*, n * (*)": over_the_best_configuration},
        "section-7.3": {"*, n *": without_over_with},
    },
    "busato-paths": {
        "table-8.2": {"*, MTEPS: ours": rate_of_arcs("busato-paths-searches")},
        "figure-8.8": {"*: ours": over_a_search, "*: published": over_a_published_search},
        "table-8.3": {"speedup over queue *: published": published_speedup},
        "figure-8.9": {"orders of magnitude above Dijkstra: ours": orders_above_dijkstra},
        "table-9.2": {"*, MTEPS: ours": rate_of_arcs("busato-paths-components")},
        "table-9.3": {"speedup over *: ours": over_components_in_steps},
    },
    "busato-dynamic": {
        "table-17.1": {"memory over CSR, mean: ours": memory_over_csr},
        "table-18.2": {"mean: thesis": published_mean},
        "figure-18.5": {
            "*, over CSR: ours": of_a_format(lambda run, graph: run["bytes"] / csr(graph)),
            "*, utilisation, %: ours": of_a_format(
                lambda run, graph: 100 * 4 * graph["m"] / run["blocks"]
            ),
            "utilisation of blocks, %: ours": part_of_blocks,
        },
        "figures-18.7-18.8": {
            "inserted, million/s: ours": updates_of_batches("insert"),
            "deleted, million/s: ours": updates_of_batches("delete"),
            "insertion, system over its blocks: ours": system_over_its_blocks,
        },
        "figures-18.9-18.10": {
            "BFS on *, million edges/s: ours": edges_on_rows("BFS", "traversed"),
            "SpMV on *, million edges/s: ours": edges_on_rows("SpMV", "m"),
            "SpMV, * over Hornet: ours": products_over_hornet,
        },
        "section-18.4.4": {"*, million edges/s: ours": edges_of_triangles},
    },
    "busato-mining": {
        "designs": {"sequential over mangrove, whole calls: ours": sequential_over_mangrove},
    },
    "busato-matching": {
        "figures-10.3-10.16": {
            "distinct, %: ours": part_of_matches("distinct"),
            "distinct of those with a cost, %: ours": part_of_matches("distinct_with_cost"),
            "distinct by their vertices, %: ours": part_of_matches("distinct_sets"),
        },
        "figures-10.10-10.11": {"increase, %: ours": increase_of_the_cost},
    },
    "busato-profiling": {
        "table-15.8-groups": {"error, %: ours": error_of_a_group},
        "figures-16.1-16.5": {
            "nJ/unit: ours": energy_of_a_unit,
            "error, %: ours": error_of_a_technique,
        },
    },
}


def values(source, name, pattern):
    """Yield the records, the row, the texts for `*` and the value of each cell of such columns."""
    texts = re.compile("(.*)".join(map(re.escape, pattern.split("*"))))
    [table] = [each for each in SOURCES[source].tables if each.name == name]
    for measured in recorded(source, RECORDS):
        if measured.sizes(table.experiment):
            for row in table.make(measured).table.to_dict("records"):
                known = {key: each if each == each else None for key, each in row.items()}
                for column, value in known.items():
                    if found := texts.fullmatch(column):
                        yield measured, known, found.groups(), value


def cells(exhibits):
    return [
        (source, name, *each) if isinstance(each, tuple) else (source, name, each)
        for source, of in exhibits.items()
        for name, columns in of.items()
        for each in (columns.items() if isinstance(columns, dict) else columns)
    ]


def check(pairs):
    """Look whether values are the expected ones; some must be other ones than 0 and 1."""
    known = 0
    for value, expected in pairs:
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-9))
        known += value is not None and min(abs(value), abs(value - 1)) > 0.01
    assert known


@pytest.mark.parametrize(("source", "name", "columns"), cells(BESIDE))
def test_quotients_are_those_of_the_values_beside_them(source, name, columns):
    quotient, _, operands = columns.partition(" = ")
    factor = 100 if "%" in quotient else 1
    pairs = []
    for _, row, texts, value in values(source, name, quotient):
        one, other = (
            row.get(each.replace("*", *texts[:1] or "*")) for each in operands.split(" / ")
        )
        pairs.append((value, over(one, other, factor=factor)))
    check(pairs)


@pytest.mark.parametrize(("source", "name", "column", "expected"), cells(OF_RECORDS))
def test_quotients_are_those_of_the_records(source, name, column, expected):
    pairs = [
        (value, expected(measured, row, *texts))
        for measured, row, texts, value in values(source, name, column)
    ]
    check([pair for pair in pairs if pair[1] is not ...])


def test_energy_is_saved_by_a_slower_group(written):
    record = min(RECORDS.glob("nvidia*/papers/busato-profiling-transpose-*.json"))
    document = json.loads(record.read_text())
    document["runs"] += [
        {
            **run,
            "label": {**run["label"], "shape": "slow"},
            "seconds": {"kernel": 2 * run["seconds"]["kernel"]},
            "energy": {**run["energy"], "joules": run["energy"]["joules"] / 4},
        }
        for run in document["runs"]
    ]
    rows = written("busato-profiling", [document])["table-15.8"]
    assert (rows["group of least energy: ours"] == "slow").all()
    assert [*rows["its mJ: ours"]] == pytest.approx([*rows["mJ: ours"] / 4])
    assert [*rows["energy saved, %: ours"]] == pytest.approx([75] * len(rows))
