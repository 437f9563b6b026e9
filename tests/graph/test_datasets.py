"""The register of data sets, and fetching from samples, cache, mirrors and the network."""

from __future__ import annotations

import csv
import functools
import gzip
import hashlib
import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse.csgraph

from pyapsp.errors import FormatError, NamesWarning, ParameterError
from pyapsp.graph import (
    Graph,
    datasets,
    generators,
    read,
    reweight,
    write,
)
from pyapsp.graph.convert import from_networkx

ROOT = Path(__file__).parents[2]
MIRRORS = [
    Path(folder)
    for folder in (os.environ.get("PYAPSP_DATA_MIRROR", ""), ROOT.parent / "shared" / "data")
    if folder and Path(folder).is_dir()
]
GENERATED = [name for name in datasets.names() if datasets.get(name).generator]
SAMPLES = [
    name for name in datasets.names() if not datasets.get(name).url and name not in GENERATED
]
REAL = [name for name in datasets.names() if datasets.get(name).url]
# a checkout alone has the samples; the real graphs are checked where a mirror is at hand
AVAILABLE = SAMPLES + GENERATED + (REAL if MIRRORS else [])


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYAPSP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Register a data set `toy` that is mirrored as toy.txt.gz; return its content."""
    content = b"1 2 -3\n2 3 4\n3 1 10\n"
    stored = gzip.compress(content, mtime=0)
    row = datasets.Dataset(
        name="toy",
        url="http://127.0.0.1:9/official-toy.txt.gz",  # nothing listens on port 9
        file="toy.txt.gz",
        sha256=hashlib.sha256(stored).hexdigest(),
        content_sha256=hashlib.sha256(content).hexdigest(),
        format="txt",
        n=3,
        m=3,
        longest=24,
        directed=True,
        weighted=True,
        weights="subtract-from:11",
        licence="none",
        citation="none",
    )
    monkeypatch.setattr(datasets, "_register", lambda: {"toy": row})
    return content


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_register_has_the_promised_graphs_and_columns() -> None:
    assert REAL == [
        "rome99",
        "facebook_combined",
        "wiki-Vote",
        "ca-GrQc",
        "as20000102",
        "soc-sign-bitcoinotc",
    ]
    for name in datasets.names():
        row = datasets.get(name)
        assert row.name == name
        assert row.citation
        assert row.licence
        digits = 0 if name in GENERATED else 64
        assert len(row.sha256) == len(row.content_sha256) == digits
        assert row.url.startswith(("https://", "http://")) == (name in REAL)
        assert row.format in ("gr", "txt", "csv", "mtx", "graph", "npz")
        assert reweight(Graph.from_arcs(1, [], []), row.weights).n == 1
    with open(ROOT / "data" / "datasets.csv", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == datasets.names()


def test_every_sample_is_registered_and_tiny() -> None:
    files = {path.name: path for path in (ROOT / "data" / "samples").iterdir()}
    del files["README.md"]
    assert set(files) == {datasets.get(name).file for name in SAMPLES}
    assert all(path.stat().st_size < 6000 for path in files.values())
    assert all(datasets.get(name).n <= 200 for name in SAMPLES)


@pytest.mark.parametrize("name", AVAILABLE)
def test_the_register_tells_the_truth(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in REAL:
        monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(MIRRORS[0]))
    row = datasets.get(name)
    path = datasets.fetch(name)
    if name not in GENERATED:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row.content_sha256
    raw = datasets.load(name, weights="as-is")
    assert (raw.name, raw.n, raw.m, raw.directed) == (name, row.n, row.m, row.directed)
    assert raw.is_unweighted != row.weighted
    graph = datasets.load(name)
    assert (graph.n, graph.m) == (row.n, row.m)
    assert graph.has_negative == name.startswith("negative")
    if name in REAL:
        stored = (MIRRORS[0] / row.file).read_bytes()
        assert hashlib.sha256(stored).hexdigest() == row.sha256


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("random-60", generators.random_graph(60, seed=1)),
        ("rmat-7", generators.rmat(7, 4, seed=1)),
        ("grid-8x8", generators.grid_2d(8, 8, seed=1)),
        ("small-world-50", generators.small_world(50, max_weight=1, seed=1)),
        ("ring-40", generators.ring(40, 9, seed=1)),
    ],
)
def test_generated_samples_are_what_their_command_makes(name: str, graph: Graph) -> None:
    assert datasets.load(name).content_hash == graph.content_hash


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_graph_is_the_same_in_a_file(name: str, tmp_path: Path) -> None:
    row = datasets.get(name)
    path = datasets.fetch(name, to=tmp_path / row.file)
    graph = datasets.load(name)
    assert read(path) == graph
    assert graph.name == name
    sources = np.arange(16) * (graph.n // 16)
    distances = scipy.sparse.csgraph.dijkstra(graph.to_scipy(), indices=sources)
    assert 0.5 * row.longest < distances[np.isfinite(distances)].max() <= row.longest


def test_typed_samples_are_what_their_names_say() -> None:
    distances = scipy.sparse.csgraph.floyd_warshall(datasets.load("negative-weights").to_scipy())
    assert distances[0].tolist() == [0, 1, 2, -2, 1, 0]
    with pytest.raises(scipy.sparse.csgraph.NegativeCycleError):
        scipy.sparse.csgraph.johnson(datasets.load("negative-cycle").to_scipy())
    parts, _ = scipy.sparse.csgraph.connected_components(datasets.load("disconnected").to_scipy())
    assert parts == 4


def test_unknown_name() -> None:
    with pytest.raises(ParameterError, match="'name' parameter of datasets must be one of rome99"):
        datasets.get("rome")


def test_samples_stay_where_they_are(cache: Path) -> None:
    assert datasets.fetch("ring-40") == ROOT / "data" / "samples" / "ring-40.txt"
    assert not cache.exists()


def test_fetch_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "copy.txt"
    assert datasets.fetch("ring-40", to=target) == target
    assert read(target) == datasets.load("ring-40")
    with pytest.raises(ParameterError, match=r"'to' parameter of fetch .* ends in \.txt"):
        datasets.fetch("ring-40", to=tmp_path / "copy.gr")


@pytest.mark.parametrize("name", ["toy.txt.gz", "official-toy.txt.gz"])
@pytest.mark.parametrize("relative", [False, True])
def test_folder_mirror(
    toy: bytes,
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    relative: bool,
) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    # another compression of the same content is as good
    (mirror / name).write_bytes(gzip.compress(toy, compresslevel=1, mtime=7))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", "mirror" if relative else str(mirror))
    path = datasets.fetch("toy")
    assert path == cache / "datasets" / "toy.txt"
    assert path.read_bytes() == toy
    assert datasets.load("toy").weights.tolist() == [14, 7, 1]
    assert datasets.load("toy", weights="absolute").weights.tolist() == [3, 4, 10]
    # from now on the cache is enough
    (mirror / name).unlink()
    assert datasets.fetch("toy") == path
    assert sorted(cache.rglob("*.txt")) == [path]


def test_a_damaged_cache_is_replaced(
    toy: bytes, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "datasets").mkdir(parents=True)
    (cache / "datasets" / "toy.txt").write_bytes(toy[:-3])
    with pytest.raises(FileNotFoundError, match="not the registered content"):
        datasets.fetch("toy")
    (tmp_path / "toy.txt.gz").write_bytes(gzip.compress(toy))
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path))
    assert datasets.fetch("toy").read_bytes() == toy


@pytest.mark.parametrize("slash", ["", "/"])
def test_http_mirror(
    toy: bytes, served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, slash: str
) -> None:
    folder, address = served
    (folder / "toy.txt.gz").write_bytes(gzip.compress(toy))
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", address + slash)
    assert datasets.fetch("toy").read_bytes() == toy


@pytest.mark.parametrize("http_mirror", [False, True], ids=["folder", "http"])
@pytest.mark.parametrize("fault", ["content", "gzip"])
def test_a_wrong_file_leaves_nothing(
    toy: bytes,
    cache: Path,
    tmp_path: Path,
    served: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
    http_mirror: bool,
    fault: str,
) -> None:
    folder, address = served
    wrong = gzip.compress(toy + b"9 9 9\n") if fault == "content" else gzip.compress(toy)[:-5]
    (folder / "toy.txt.gz").write_bytes(wrong)
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", address if http_mirror else str(folder))
    target = tmp_path / "copy.txt"
    with pytest.raises(FormatError) as caught:
        datasets.fetch("toy", to=target)
    text = str(caught.value)
    assert text.startswith(f"{address if http_mirror else folder}/toy.txt.gz: ")
    if fault == "content":
        row = datasets.get("toy")
        found = [hashlib.sha256(data).hexdigest() for data in (wrong, toy + b"9 9 9\n")]
        for digest in (row.sha256, row.content_sha256, *found):
            assert digest in text
        assert "report both digests" in text
    assert not target.exists()
    assert not list(cache.rglob("*.*"))


def test_when_nothing_works_everything_tried_is_listed(
    toy: bytes, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path / "no-such-folder"))
    with pytest.raises(FileNotFoundError) as caught:
        datasets.fetch("toy")
    text = str(caught.value)
    for place in (
        cache / "datasets" / "toy.txt",
        tmp_path / "no-such-folder" / "toy.txt.gz",
        tmp_path / "no-such-folder" / "official-toy.txt.gz",
        "http://127.0.0.1:9/official-toy.txt.gz",
        "PYAPSP_DATA_MIRROR",
    ):
        assert str(place) in text


def test_an_http_error_is_listed(
    toy: bytes, served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", served[1])
    with pytest.raises(FileNotFoundError, match="404"):
        datasets.fetch("toy")


@pytest.mark.filterwarnings("ignore::pyapsp.errors.NamesWarning")
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_survive_other_formats(name: str, tmp_path: Path) -> None:
    graph = datasets.load(name)
    for suffix in (".npz", ".mtx", ".gr.gz"):
        numbered = graph.labels is None or np.array_equal(graph.labels, np.arange(1, graph.n + 1))
        unnamed = suffix == ".npz" or numbered
        with nullcontext() if unnamed else pytest.warns(NamesWarning, match="are left out"):
            write(graph, tmp_path / f"a{suffix}")
        back = read(tmp_path / f"a{suffix}", directed=graph.directed)
        np.testing.assert_array_equal(back.to_dense(), graph.to_dense())
    assert from_networkx(graph.to_networkx()) == graph
