"""Zarr stores: what is in them, and what is left after an error."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pyapsp.base.errors import PyApspError
from pyapsp.graph.io import stores
from pyapsp.graph.io.stores import written_store

pytestmark = pytest.mark.usefixtures("zarr")


def test_arrays_grow_and_others_are_written_once(tmp_path, monkeypatch, zarr):
    monkeypatch.setattr(stores, "_CHUNK", 24)
    path, labels = tmp_path / "a.zarr", np.array(["x", "łódź"])
    with written_store(path, {"about": 7}, {"rows": ("source", "target")}) as store:
        store.add(rows=np.empty((0, 2)), empty=np.empty(0, np.int32))
        for start in range(0, 6, 2):
            store.add(rows=np.full((2, 2), start), empty=np.empty(0, np.int32))
        store.others = {"labels": labels, "nothing": None}
    found = zarr.open_group(path, mode="r")
    assert set(found.array_keys()) == {"rows", "empty", "labels"}
    assert found.attrs.asdict() == {"about": 7}
    assert found["rows"][:].tolist() == [[each, each] for each in (0, 0, 2, 2, 4, 4)]
    assert found["rows"].chunks == (1, 2)
    assert found["rows"].attrs["_ARRAY_DIMENSIONS"] == ["source", "target"]
    assert found["rows"].fill_value is None  # xarray would take it for a missing value
    assert (found["empty"].shape, found["empty"].dtype) == ((0,), np.int32)
    np.testing.assert_array_equal(found["labels"][:], labels)
    assert (path / ".zmetadata").exists()  # without it xarray warns
    assert [each.name for each in tmp_path.iterdir()] == ["a.zarr"]


def test_an_error_leaves_nothing(tmp_path):
    def fail():
        with written_store(tmp_path / "a.zarr", {}, {}) as store:
            store.add(rows=np.zeros(3))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(tmp_path.iterdir())


def test_no_folder_is_replaced(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "mine").touch()
    with (
        pytest.raises(FileExistsError, match=r"a\.zarr"),
        written_store(tmp_path / "a.zarr", {}, {}),
    ):
        raise AssertionError
    assert [each.name for each in tmp_path.rglob("*")] == ["a.zarr", "mine"]


def test_the_package_that_is_needed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with (
        pytest.raises(PyApspError, match=r"a\.zarr needs zarr 3 or newer: pip install zarr"),
        written_store(tmp_path / "a.zarr", {}, {}),
    ):
        raise AssertionError
