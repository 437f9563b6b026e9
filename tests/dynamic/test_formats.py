"""Formats with the face of a container, against one."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.dynamic import Hornet
from pyapsp.dynamic.formats import FORMATS
from pyapsp.errors import DeviceMemoryError, GraphError, ParameterError
from pyapsp.graph import generators


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_edges_as_in_a_container(name, device):
    random = np.random.default_rng(3)
    graph = generators.random_graph(90, m=700, seed=3)
    held = Hornet.from_graph(graph, weight="int8", block_array=64, device=device)
    form = FORMATS[name](graph, spare=400, device=device)
    kind = form.duplicates[0]
    for count in (30, 200, 900, 5):
        batch = random.integers(0, 90, (2, count))
        assert form.insert_edges(*batch) == held.insert_edges(*batch, duplicates=kind)
        gone = random.integers(0, 90, (2, count // 2))
        assert form.delete_edges(*gone) == held.delete_edges(*gone)
        assert form.m == held.m
        assert (form.degree() == held.degree()).all()
        mine, right = form.to_csr(), held.to_csr()
        assert (mine.indices == right.indices).all()
        assert (mine.indptr == right.indptr).all()
        assert (form.has_edges(*batch) == held.has_edges(*batch)).all()


def test_room_and_what_has_to_be_rebuilt(device):
    graph = generators.random_graph(50, m=300, seed=1)
    forms = {name: cls(graph, spare=100, device=device) for name, cls in FORMATS.items()}
    sizes = {"CSR": 4 * 351, "COO": 8 * 400, "CSR + COO": 4 * 351 + 8 * 100}
    assert {name: form.memory for name, form in forms.items()} == sizes
    for form in forms.values():
        for _ in range(2):
            form.insert_edges(np.zeros(60, int), np.arange(60) % 50, duplicates="keep")
    assert {name: form.rebuilt for name, form in forms.items()} == {
        "CSR": 3, "COO": 2, "CSR + COO": 2
    }  # fmt: skip
    assert forms["COO"].memory == 8 * (420 + 420)
    assert forms["CSR + COO"].memory == 4 * (51 + 420) + 8 * 100


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_refused_changes_nothing(name, device, monkeypatch):
    graph = generators.random_graph(50, m=300, seed=1)
    form = FORMATS[name](graph, spare=0, device=device)
    with pytest.raises(GraphError, match="edge number 1 has 2, 50"):
        form.insert_edges([0, 2], [1, 50])
    with pytest.raises(GraphError, match="do not go with"):
        form.delete_edges([0, 2], [1])
    with pytest.raises(ParameterError, match="duplicates"):
        form.insert_edges([0], [1], duplicates="update")

    def full(size):
        raise DeviceMemoryError(size, 0, "none")

    before, memory = form.to_csr(), form.memory
    with monkeypatch.context() as patch:
        patch.setattr(type(device), "buffer", lambda self, size: full(size))
        with pytest.raises(DeviceMemoryError):
            form.insert_edges([0, 1], [1, 2], duplicates="keep")
    assert (form.to_csr() != before).nnz == 0
    assert form.m == graph.m
    tails, heads = graph.indptr.searchsorted(0, side="right") - 1, graph.indices[0]
    assert form.delete_edges([tails], [heads]) == 1
    assert form.memory <= memory  # with no spare room, as before
