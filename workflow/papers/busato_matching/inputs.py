"""The networks of chapter 10: the files of its authors, or networks like them.

The authors' files are in ``matching.tar.xz``, in the folder that ``PYAPSP_DATA_MIRROR`` names. If
it is there, a target with as many vertices as one of theirs is theirs, with their queries.
Otherwise it is a random network with a power law of degrees, and labels at random; queries are
parts of it.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pyapsp.graph import generators
from pyapsp.matching import Network, read_network, read_similarity

__all__ = ["complexes", "part", "physical", "queries", "unpacked"]

_ARCHIVE = "matching.tar.xz"
# vertices -> files of the physical networks, and of the functional ones
_PHYSICAL = {5720: "Danio_rerio", 12575: "Homo_sapiens"}
_FUNCTIONAL = {3131: "9606", 3214: "4932", 1572: "10090", 1920: "7227"}
# labels -> file of a physical network with them: at random, and of the gene ontology
_LABELLED = {32: "32/{}.gfu", 43: "{}_43.gfd"}
# Average degrees of the stand-ins, near those of the authors' networks.
_DEGREE, _DEGREE_FUNCTIONAL = 10, 6


@contextmanager
def unpacked(n: int) -> Iterator[Path | None]:
    """Unpack the archive, if it is there and has a network of n vertices."""
    archive = Path(os.environ.get("PYAPSP_DATA_MIRROR", ""), _ARCHIVE)
    if n not in {*_PHYSICAL, *_FUNCTIONAL} or not archive.is_file():
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
            packed.extractall(folder)
        yield Path(folder)


def physical(n: int, labels: int, folder: Path | None) -> tuple[Network, str]:
    """Return a target, and what it is.

    Parameters
    ----------
    n : int
        Number of vertices.
    labels : int
        Number of labels. If the authors have no file with so many, those of its vertices are drawn
        again.
    folder : Path or None
        The unpacked archive.
    """
    if folder is not None and n in _PHYSICAL:
        name = _PHYSICAL[n]
        if (path := _file(n, labels, folder)) is not None:
            return read_network(path), f"{name}, file of the authors"
        network = read_network(next(folder.rglob(_LABELLED[32].format(name))))
        drawn = np.random.default_rng(labels).integers(0, labels, n).astype(str)
        return Network.from_edges(network.edges, drawn, name=name), f"{name}, labels drawn again"
    return _stand_in(n, _DEGREE, labels), "stand-in: power law of degrees"


def _file(n: int, labels: int, folder: Path) -> Path | None:
    """Return the authors' file of a physical network with so many labels."""
    name = _LABELLED.get(labels, "").format(_PHYSICAL[n])
    return next(folder.rglob(name), None) if name else None


def queries(
    target: Network, nodes: int, labels: int, count: int, folder: Path | None
) -> list[Network]:
    """Return exact queries in a physical network: the authors', or parts of the target.

    Parameters
    ----------
    target : Network
    nodes, labels : int
    count : int
        The most queries.
    folder : Path or None
        The unpacked archive.
    """
    if folder is not None and target.n in _PHYSICAL:
        path = _file(target.n, labels, folder)
        name = f"{_PHYSICAL[target.n].lower()}_*_{labels}_{nodes}/*"
        if path is not None and (paths := sorted(folder.rglob(f"{name}{path.suffix}"))):
            return [read_network(each) for each in paths[:count]]
    return [part(target, nodes, seed) for seed in range(count)]


def _stand_in(n: int, degree: int, labels: int) -> Network:
    graph = generators.power_law(n, n * degree // 2, seed=n)
    tails = np.repeat(np.arange(n), np.diff(graph.indptr))
    pairs = np.stack([tails, graph.indices], axis=1)
    drawn = np.random.default_rng(labels).integers(0, labels, n).astype(str)
    return Network.from_edges(pairs, drawn, name=f"stand-in-{n}")


def part(target: Network, nodes: int, seed: int) -> Network:
    """Return a connected part of a target with all edges between its vertices."""
    random = np.random.default_rng(seed)
    neighbours, offsets = target.neighbours, target.offsets
    while True:
        chosen = [int(random.choice(np.flatnonzero(target.degrees > 0)))]
        around = set(neighbours[offsets[chosen[0]] : offsets[chosen[0] + 1]].tolist())
        while around and len(chosen) < nodes:
            vertex = int(random.choice(sorted(around)))
            chosen.append(vertex)
            around |= set(neighbours[offsets[vertex] : offsets[vertex + 1]].tolist())
            around -= set(chosen)
        if len(chosen) == nodes:
            break
    place = np.full(target.n, -1)
    place[chosen] = np.arange(nodes)
    pairs = place[target.edges]
    return Network.from_edges(pairs[(pairs >= 0).all(axis=1)], target.labels[chosen])


def complexes(n: int, folder: Path | None) -> tuple[Network, list[tuple[Network, np.ndarray]], str]:
    """Return a functional network, complexes with their similarities to it, and what they are."""
    if folder is not None and n in _FUNCTIONAL:
        taxon = _FUNCTIONAL[n]
        target = read_network(next(folder.rglob(f"{taxon}_minimum.gfu")))
        pairs = []
        for path in sorted(folder.rglob("*.9606_full.gfu")):
            number = path.name.partition(".")[0]
            query = read_network(path)
            matrix = next(folder.rglob(f"{number}.{taxon}_minimum"))
            named = Network(query.offsets, query.neighbours, query.labels, query.vertices, number)
            pairs.append((named, read_similarity(matrix, (query.n, n))))
        return target, pairs, f"STRING {taxon} and CORUM, files of the authors"
    target = _stand_in(n, _DEGREE_FUNCTIONAL, n)
    random = np.random.default_rng(n)
    pairs = []
    for each, nodes in enumerate((6, 7, 9, 10, 13)):
        query = part(target, min(nodes, n // 4), each)
        equal = query.labels[:, None] == target.labels
        similar = np.maximum(0.05 * random.random((query.n, n)), equal)
        # an edge in three is not in the target
        more = random.integers(0, query.n, (query.m // 3, 2))
        edges = np.concatenate([query.edges, more])
        pairs.append((Network.from_edges(edges, query.labels, name=f"{each}"), similar))
    return target, pairs, "stand-in: power law of degrees, similarities at random"
