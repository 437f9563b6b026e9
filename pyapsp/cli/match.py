"""Find a query network in a target network, approximately.

The files are networks whose vertices have labels. A file has these lines: '#' and a name; the
number of vertices; a label for each vertex; the number of edges; two vertex numbers, from 0, for
each edge. Several queries are searched together. For each query, the command prints the cheapest
matches. The cost is the fraction of the nodes and edges of the query that do not match.

OUT.csv has a line for each node of the distinct matches. A picture shows the first query beside its
cheapest match.

For example:
  pyapsp match target.gfu query.gfu
  pyapsp match target.gfu query.gfu --matches 500 --seed 7 -o matches.csv --picture match.svg
  pyapsp match target.gfu query.gfu --similarity similar.txt --threshold 0.05 --strict
  pyapsp match target.gfu a.gfu b.gfu c.gfu --published --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pyapsp.cli.options import (
    add_device,
    add_flag,
    add_json,
    add_memory_limit,
    add_name_of_method,
    add_output,
)
from pyapsp.cli.output import check_outputs, check_suffix, commit, print_json

if TYPE_CHECKING:
    from pyapsp.base.json import Record
    from pyapsp.matching import Matches

__all__ = ["configure", "run"]

# The cheapest matches that are printed.
_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("target", metavar="TARGET.gfu", help="the network to search in")
    parser.add_argument(
        "queries", metavar="QUERY.gfu", nargs="+", help="a network to find, of at most 512 nodes"
    )
    add_output(parser, "OUT.csv", "the matches, a line for each node")
    parser.add_argument(
        "--picture", metavar="OUT.svg", help="the first query beside its cheapest match; or OUT.png"
    )
    parser.add_argument(
        "--matches",
        type=int,
        default=100,
        metavar="K",
        help="the number of matches for each query, 100 by default",
    )
    parser.add_argument(
        "--similarity",
        metavar="MATRIX.txt",
        nargs="+",
        help="a matrix for each query, with a line for each query node, and in it a number from 0 "
        "to 1 for each target vertex; without it, vertices with the same label are similar",
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        help="keep the largest similarities of each query node only: this fraction, e.g. 0.05",
    )
    parser.add_argument(
        "--levels", type=int, metavar="N", help="depth of the compared surroundings, 2 by default"
    )
    parser.add_argument(
        "--scores",
        nargs="+",
        choices=("label", "degree", "bfs"),
        help="the terms of the score of a pair; all by default",
    )
    add_flag(parser, "--strict", "leave nodes unmatched that have no similar candidate")
    add_flag(
        parser,
        "--published",
        "the algorithm as published: focus 1, 0 rounds, unguided draws in random order, "
        "matches that may be equal",
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="rounds that repair mismatches, 100 by default"
    )
    parser.add_argument(
        "--focus",
        type=float,
        metavar="P",
        help="exponent of the weights of random draws, 64 by default",
    )
    add_flag(parser, "--repeats", "allow equal matches; by default they are drawn again")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed, 0 by default")
    add_name_of_method(
        parser,
        "'device', or 'reference' (sequential, with Numba); the matches are the same",
        default="device",
    )
    add_device(parser)
    add_memory_limit(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Find the queries, save the matches, and say which are the cheapest."""
    from pyapsp import matching

    read = [arguments.target, *arguments.queries, *(arguments.similarity or ())]
    check_outputs(arguments.output, arguments.picture, inputs=read)
    check_suffix(arguments, ".csv")
    target = matching.read_network(arguments.target)
    queries = [matching.read_network(path) for path in arguments.queries]
    similarity = None
    if arguments.similarity is not None:
        similarity = [matching.read_similarity(path) for path in arguments.similarity]
    named = ("levels", "scores", "rounds", "focus")
    options = {name: getattr(arguments, name) for name in named}
    options["distinct"] = False if arguments.repeats else None
    answers = matching.match_many(
        queries,
        target,
        arguments.matches,
        similarity=similarity,
        threshold=arguments.threshold,
        method=arguments.method,
        device=arguments.device,
        memory_limit=arguments.memory_limit,
        strict=arguments.strict,
        published=arguments.published,
        seed=arguments.seed,
        **{name: value for name, value in options.items() if value is not None},
    )
    if arguments.output is not None:
        _write(arguments.output, arguments.queries, answers)
    if arguments.picture is not None:
        from pyapsp.matching.picture import save

        save(answers[0], arguments.picture)
    facts = [_facts(path, each) for path, each in zip(arguments.queries, answers, strict=True)]
    stats = answers[0].stats
    if arguments.json:
        print_json({**stats, "commit": commit(), "target": target.name, "queries": facts})
        return 0
    print(f"{target.name}: {target.n:,} vertices, {target.m:,} edges")
    for each, matches in zip(facts, answers, strict=True):
        print(
            f"{each['file']}: {each['nodes']} nodes, {each['edges']} edges; {each['matches']} "
            f"matches, {each['distinct']} distinct, mean cost {each['mean_cost']:.4f}"
        )
        print(matches.summary(_SHOWN).to_string(index=False))
    print(f"{stats['seconds']:.3f} s" + (f" -> {arguments.output}" if arguments.output else ""))
    return 0


def _facts(path: str, matches: Matches) -> Record:
    return {
        "file": path,
        "nodes": matches.query.n,
        "edges": matches.query.m,
        "matches": len(matches),
        "distinct": int(matches.order.size),
        "best_cost": float(matches.costs.min()),
        "mean_cost": float(matches.costs.mean()),
        "best": {str(node): str(vertex) for node, vertex in matches.best.items()},
    }


def _write(path: str, names: list[str], answers: list[Matches]) -> None:
    """Write the distinct matches of all queries as CSV."""
    frames = [each.to_frame() for each in answers]  # says what to install if there is no pandas
    import pandas

    from pyapsp.base.files import atomic_write

    for name, frame in zip(names, frames, strict=True):
        frame.insert(0, "query", name)
    with atomic_write(path) as file:
        pandas.concat(frames).to_csv(file, index=False, lineterminator="\n")
