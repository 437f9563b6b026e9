"""Which row of the databases serves which device, type and size."""

from __future__ import annotations

import dataclasses
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import pyapsp
from pyapsp.errors import FormatError
from pyapsp.graph import generators
from pyapsp.paths import AllPairsOptions
from pyapsp.registry.tuning import database
from pyapsp.registry.tuning.database import Row, load, merge
from pyapsp.registry.tuning.lookup import is_tuned, matches, tuned_rate

ROW = Row(
    method="tuned",
    platform="Open Platform",
    kind="gpu",
    architecture="arch 1",
    device="Device A",
    dtype="float32",
    predecessors=False,
    family="uniform",
    n=1024,
    parameters={"tile": 8},
    rate=1e9,
)


class Tuned:
    """What a lookup asks of a method."""

    id = "tuned"
    slowdown = 1.0
    carries_predecessors = True
    parameters: ClassVar = {}


class Recovering(Tuned):
    """Its kernels do not know of predecessors."""

    carries_predecessors = False


METHOD = Tuned()


class Named(NamedTuple):
    platform_name: str = "Open Platform"
    kind: str = "gpu"
    architecture: str = "arch 1"
    plain_name: str = "Device A"


def device(**changed):
    return Named(**changed)


def options(dtype="float32", predecessors=False, **changed):
    return AllPairsOptions(device(**changed), np.dtype(dtype), predecessors)


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Return an empty shipped and an empty user folder."""
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    shipped.mkdir()
    own.mkdir()
    monkeypatch.setattr(database, "shipped_databases", lambda: sorted(shipped.glob("*.json")))
    monkeypatch.setenv("PYAPSP_TUNING", str(own))
    return shipped, own


def ship(folders, *rows, own=False):
    merge(folders[1] / "database.json" if own else folders[0] / "dense.json", rows)


def served(n=1024, **asked):
    return [
        (match.row.parameters["tile"], match.level)
        for match in matches(METHOD, n, options(**asked))
    ]


def row(tile, **changed):
    return dataclasses.replace(ROW, parameters={"tile": tile}, **changed)


def test_nearest_device_first(folders):
    ship(
        folders,
        row(8, device="Device C", architecture="arch 2"),
        row(16),
        row(32, device="Device B"),
        row(8, device="Device D", platform="Other Platform"),
        row(8, device="Device E", kind="cpu"),
        row(8, method="other"),
    )
    assert served() == [(16, "device"), (32, "architecture"), (8, "kind")]
    assert served(plain_name="Device Z") == [
        (16, "architecture"),
        (32, "architecture"),
        (8, "kind"),
    ]
    assert {level for _, level in served(plain_name="Z", architecture="arch 3")} == {"kind"}
    assert served(platform_name="Third Platform") == []


def test_same_dtype_before_one_alike_and_never_another(folders):
    ship(folders, row(8, dtype="int32"), row(16, dtype="uint32", n=999), row(32, dtype="int64"))
    assert served(dtype="int32") == [(8, "device"), (16, "device")]
    assert served(dtype="float32") == []
    assert served(dtype="int64") == [(32, "device")]


def test_a_near_device_counts_more_than_the_dtype(folders):
    ship(folders, row(8, dtype="uint32"), row(16, dtype="int32", device="Device B"))
    assert served(dtype="int32") == [(8, "device"), (16, "architecture")]


def test_nearest_size_in_octaves(folders):
    ship(folders, row(8, n=64), row(16, n=1000), row(32, n=16000))
    nearest = {32: 8, 64: 8, 200: 8, 499: 8, 501: 16, 3000: 16, 7999: 16, 8000: 32, 128000: 32}
    assert {n: served(n)[0] for n in nearest} == {n: (t, "device") for n, t in nearest.items()}


def test_no_size_far_away(folders):
    ship(folders, row(8, n=64), row(16, n=1024))
    assert {n: len(served(n)) for n in (0, 1, 31, 511, 512, 513, 8192, 8193)} == {
        **dict.fromkeys((0, 1, 31, 8193), 0),
        **dict.fromkeys((511, 513, 8192), 1),
        512: 2,
    }


def test_predecessors_are_another_kernel_where_they_are_carried(folders):
    ship(folders, row(8), row(16, predecessors=True))
    assert served(predecessors=True) == [(16, "device")]
    found = matches(Recovering(), 1024, options(predecessors=True))
    assert [match.row.parameters["tile"] for match in found] == [8]


def test_what_is_kept_for_one_question_answers_no_other(folders):
    """Each part of a question changes the answer, in whatever order they come."""
    ship(folders, row(8), row(16, dtype="int32", n=512), row(32, family="mesh", n=512, rate=4e9))
    asked = [(1024, options()), (512, options()), (512, options("int32"))]
    for _ in range(2):
        found = [matches(METHOD, *each) for each in asked]
        tiles = [[match.row.parameters["tile"] for match in some] for some in found]
        assert tiles == [[8, 32], [8, 32], [16]]
        assert matches(METHOD, 512, options(), "mesh")[0].row.parameters == {"tile": 32}
        assert tuned_rate(METHOD, 512, options(), "mesh") == pytest.approx(4e9)
        assert tuned_rate(METHOD, 1024, options()) == pytest.approx(ROW.rate)
        assert matches(METHOD, 1024, options(plain_name="Device B"))[0].level == "architecture"


def test_the_user_comes_first_unless_the_size_is_far(folders):
    ship(folders, row(8, n=1024), row(16, n=4096))
    ship(folders, row(32, n=1000), own=True)
    assert [tile for tile, _ in served(2048)] == [32, 8, 16]
    assert [tile for tile, _ in served(4096)] == [16, 32, 8]
    first = matches(METHOD, 1024, options())[0]
    assert first.own
    assert first.describe()["database"] == "user"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[1]",
        '{"schema": 1}',
        '{"schema": 3, "rows": []}',
        '{"schema": 1, "rows": [1]}',
        '{"schema": 1, "rows": [{"method": "tuned"}]}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_database_is_an_error_only_to_who_writes_it(content, folders, caplog):
    path = folders[1] / "database.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    ship(folders, row(8))
    assert served() == [(8, "device")]
    assert str(path) in caplog.text
    with pytest.raises(FormatError, match=r"database\.json: not a tuning database"):
        load(path)
    with pytest.raises(FormatError):
        merge(path, [ROW])
    before = path.read_bytes()
    assert before == (content if isinstance(content, bytes) else content.encode())


def test_one_bad_row_does_not_take_the_others_away(folders, caplog):
    ship(folders, row(8))
    path = folders[0] / "dense.json"
    content = json.loads(path.read_text())
    changes = {"n": 0}, {"n": True}, {"parameters": {"tile": 8.0}}, {"dtype": None}, {"family": 1}
    for change in changes:
        content["rows"].insert(0, {**content["rows"][-1], **change})
    path.write_text(json.dumps(content))
    assert served() == [(8, "device")]
    assert caplog.text.count("missing or wrong field") == len(changes)


def test_a_new_version_of_a_file_is_seen(folders):
    ship(folders, row(8))
    assert served() == [(8, "device")]
    ship(folders, row(16))
    assert served() == [(16, "device")]


def test_files_are_taken_as_unchanged_for_a_moment(folders, monkeypatch):
    now = 0.0
    monkeypatch.setattr(database.time, "monotonic", lambda: now)
    monkeypatch.setattr(database, "_last", ((), 0.0, ()))
    ship(folders, row(8))
    assert served() == [(8, "device")]
    path = folders[0] / "dense.json"
    path.write_text(path.read_text().replace('"tile": 8', '"tile": 16'))  # by another program
    now = 0.04
    assert served() == [(8, "device")]
    now = 0.06
    assert served() == [(16, "device")]
    ship(folders, row(32))
    assert served() == [(32, "device")]


def test_merging_is_stable_and_replaces(tmp_path):
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    rows = [row(8, n=n, dtype=dtype) for n in (64, 512, 100) for dtype in ("int32", "float32")]
    merge(one, rows)
    merge(other, rows[::-1])
    assert one.read_bytes() == other.read_bytes()
    assert load(one) == tuple(sorted(rows, key=lambda each: each.place))
    lines = one.read_text().splitlines()
    assert len(lines) == len(rows) + 2
    merge(one, [row(32, n=100, dtype="int32", rate=5.0)])
    changed = [a for a, b in zip(one.read_text().splitlines(), lines, strict=True) if a != b]
    assert len(changed) == 1
    assert '"tile": 32' in changed[0]


def test_where_the_user_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PYAPSP_TUNING", str(tmp_path))
    assert database.user_database() == tmp_path / "database.json"
    monkeypatch.delenv("PYAPSP_TUNING")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert database.user_folder() == tmp_path / "data" / "pyapsp" / "tuning"


def test_databases_are_looked_at_once_where_that_is_said(folders):
    asked = METHOD, 1024, options()
    unchanging = database.Unchanging()
    with unchanging:
        assert not served()
        ship(folders, row(8))
        assert not served()
        assert tuned_rate(*asked) is None
    assert served() == [(8, "device")]
    assert tuned_rate(*asked) == pytest.approx(ROW.rate)
    with unchanging:
        assert not served()


def test_shipped_databases_are_sound():
    paths = database.shipped_databases()
    assert paths
    known = {method.id: method for method in pyapsp.methods()}
    for path in paths:
        rows = load(path)
        for each in rows:
            choices = known[each.method].choices
            assert all(value in choices[name] for name, value in each.parameters.items()), each
        copy = [each.place for each in rows]
        assert copy == sorted(copy)


# With a real method on a real device.


@pytest.fixture
def on_device(folders, row_of):
    def put(**changed):
        real = {"method": "fw-blocked", "dtype": "int32", "n": 100, "rate": 1e9}
        ship(folders, row_of(**real | changed))

    return put


TUNED = {"tile": 16, "width": 1, "rows": 2, "group_x": 1, "group_y": 2}


def test_solve_takes_the_row_and_says_so(on_device, device):
    graph = generators.random_graph(90)
    on_device(parameters=TUNED)
    result = pyapsp.solve(graph, "fw-blocked", dtype="int32", device=device)
    assert result.stats["parameters"] == TUNED
    assert result.stats["tuning"]["level"] == "device"
    assert result.stats["tuning"]["n"] == 100
    assert f"tuned for this device: {device.plain_name}, int32, n = 100" in result.explain()
    for asked in ({"dtype": "float32"}, {"dtype": "int32", "predecessors": True}):
        other = pyapsp.solve(graph, "fw-blocked", device=device, **asked)
        assert other.stats["tuning"] is None
        assert "the default of the method, not tuned" in other.explain()


def test_given_parameters_win_over_the_row(on_device, device):
    on_device(parameters=TUNED)
    graph = generators.random_graph(90)
    method = pyapsp.method("fw-blocked", tile=32)
    result = pyapsp.solve(graph, method, dtype="int32", device=device)
    assert result.stats["parameters"] == {**TUNED, "tile": 32}
    assert "tile as asked; tuned for this device" in result.explain()
    # 4 x 8 rows do not divide the tile of the row: it cannot serve, and a candidate does
    method = pyapsp.method("fw-blocked", rows=8, group_y=4)
    result = pyapsp.solve(graph, method, dtype="int32", device=device)
    assert result.stats["parameters"]["rows"] == 8
    assert result.stats["tuning"] is None
    complete = pyapsp.method("fw-blocked", **TUNED)
    result = pyapsp.solve(graph, complete, dtype="int32", device=device)
    assert result.stats["tuning"] is None
    assert "(as asked)" in result.explain()


def test_a_row_that_does_not_fit_the_device_gives_way(on_device, device):
    on_device(parameters=TUNED, device="a smaller sibling")
    on_device(parameters={**TUNED, "tile": 8, "rows": 8, "group_y": 32})
    graph = generators.random_graph(90)
    result = pyapsp.solve(graph, "fw-blocked", dtype="int32", device=device)
    assert result.stats["parameters"] == TUNED
    assert result.stats["tuning"]["level"] == "architecture"
    assert "tuned for this architecture: a smaller sibling" in result.explain()


@pytest.mark.parametrize(
    "stale", [{**TUNED, "gone": 1}, {"tile": 16}, {}, {**TUNED, "tile": 12}, {**TUNED, "tile": "a"}]
)
def test_a_row_for_other_parameters_gives_way(stale, on_device, device, caplog):
    on_device(parameters=stale)
    on_device(parameters=TUNED, n=101)
    with caplog.at_level(logging.INFO):
        result = pyapsp.solve(
            generators.random_graph(90), "fw-blocked", dtype="int32", device=device
        )
    assert result.stats["parameters"] == TUNED
    assert result.stats["tuning"]["n"] == 101
    assert "ignored a tuning row that does not fit" in caplog.text


def test_a_damaged_user_database_does_not_stop_solve(folders, device):
    (folders[1] / "database.json").write_text("{")
    result = pyapsp.solve(generators.random_graph(9), device=device)
    assert result.stats["tuning"] is None


def test_who_writes_at_the_same_time_loses_nothing(tmp_path):
    path = tmp_path / "database.json"
    rows = [dataclasses.replace(ROW, n=n) for n in range(1, 61)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda row: merge(path, [row]), rows))
    assert sorted(row.n for row in load(path)) == list(range(1, 61))


def test_rows_of_the_same_family_come_first(folders):
    ship(folders, row(8), row(16, family="mesh"), row(32, family="mesh", n=4096))
    found = [match.row.parameters["tile"] for match in matches(METHOD, 1024, options(), "mesh")]
    assert found == [16, 8]
    assert served() == [(8, "device"), (16, "device")]
    found = [match.row.parameters["tile"] for match in matches(METHOD, 4096, options(), "mesh")]
    assert found == [32, 16, 8]


def test_rows_of_the_first_schema_are_read(folders):
    content = dataclasses.asdict(ROW)
    content["updates_per_second"] = content.pop("rate")
    del content["family"]
    path = folders[1] / "database.json"
    path.write_text(json.dumps({"schema": 1, "rows": [content]}))
    assert load(path) == (ROW,)
    merge(path, [row(16, n=2048)])
    assert [each.family for each in load(path)] == ["uniform", "uniform"]


def test_a_platform_without_rows_has_the_rates_of_others_but_not_their_parameters(folders):
    new = options(platform_name="Third Platform")
    ship(folders, row(8), row(8, kind="cpu", rate=3e9))
    assert tuned_rate(METHOD, 1024, new) == pytest.approx(1e9)
    assert matches(METHOD, 1024, new) == ()
    # rates of methods can be compared only if they are from similar devices
    ship(folders, row(8, method="other", platform="Third Platform"))
    assert tuned_rate(METHOD, 1024, new) is None


def test_rows_of_other_devices_are_scaled_by_what_both_have(folders):
    """Another device has four times, or for the method three times, the rate of this one."""
    here = options(plain_name="Here", architecture="arch 9")
    ship(
        folders,
        row(8, rate=8e9),
        row(8, rate=9e9, n=64),
        row(8, method="other", rate=4e9),
        row(8, method="third", rate=4e9),
    )
    mine = {"device": "Here", "architecture": "arch 9"}
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(8e9)  # no row of this device yet
    ship(folders, row(16, method="other", rate=1e9, **mine), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(2e9)
    assert tuned_rate(METHOD, 64, here) == pytest.approx(9e9 / 4)
    # what both have of the method itself counts alone
    ship(folders, row(16, n=64, rate=3e9, **mine), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(8e9 / 3)
    assert tuned_rate(METHOD, 64, here) == pytest.approx(3e9)  # a row of its own is not scaled
    # sets are still those of similar devices
    assert next(match.level for match in matches(METHOD, 1024, here)) == "kind"


def test_the_nearest_size_that_both_have_decides(folders):
    here = options(plain_name="Here", architecture="arch 9")
    mine = {"device": "Here", "architecture": "arch 9"}
    ship(folders, row(8, n=64, rate=4e9), row(8, n=512, rate=4e9), row(8, n=8192, rate=4e9))
    ship(folders, row(8, n=64, rate=1e9, **mine), row(8, n=512, rate=2e9, **mine), own=True)
    assert tuned_rate(METHOD, 8192, here) == pytest.approx(2e9)
    # the row of n = 512 serves this size, and that of n = 8192 says how the rate grows
    ship(folders, row(8, n=8192, rate=64e9))
    assert tuned_rate(METHOD, 2048, here) == pytest.approx(8e9)


def test_below_its_sizes_the_rate_falls_as_that_of_other_devices(folders):
    here = options(plain_name="Here", architecture="arch 9")
    mine = {"device": "Here", "architecture": "arch 9"}
    ship(folders, row(8, n=256, rate=1e9), row(8, n=1024, rate=16e9))
    ship(folders, row(8, rate=8e9, **mine), row(8, dtype="int32", rate=99e9, **mine), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(8e9)
    assert tuned_rate(METHOD, 512, here) == pytest.approx(2e9)
    # a row of another family says nothing about this one
    ship(folders, row(8, n=512, rate=7e9, family="mesh"))
    assert tuned_rate(METHOD, 512, here) == pytest.approx(2e9)


def test_several_devices_that_are_as_similar_count_alike(folders):
    """Neither the order of the rows nor one fast device decides; the user's rows do."""
    here = options(plain_name="Here", architecture="arch 9")
    slow = {"device": "Slow", "architecture": "arch 7"}
    ship(folders, row(8, rate=8e9), row(8, rate=2e9, **slow), row(8, n=64, rate=1e9, **slow))
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(4e9)
    assert tuned_rate(METHOD, 64, here) == pytest.approx(1e9)
    mine = {"device": "Here", "architecture": "arch 9", "method": "other"}
    ship(folders, row(8, rate=6e9, method="other"), row(8, rate=24e9, **slow | {"method": "other"}))
    ship(folders, row(8, rate=3e9, **mine), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(1e9)  # 3 of 12
    ship(folders, row(8, rate=5e9, device="Third", architecture="arch 8"), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(5e9 / 4)


def test_rates_of_another_platform_are_scaled_too(folders):
    here = options(platform_name="Third Platform")
    ship(folders, row(8), row(8, method="other", rate=6e9))
    ship(folders, row(8, method="other", platform="Third Platform", rate=3e9), own=True)
    assert tuned_rate(METHOD, 1024, here) == pytest.approx(5e8)
    assert matches(METHOD, 1024, here) == ()


def test_which_devices_have_rows(folders):
    place = ("Open Platform", "gpu", "arch 1")
    assert not is_tuned(*place, {"tuned"})
    ship(folders, row(8), own=True)
    assert is_tuned(*place, {"tuned", "other"})
    assert not is_tuned(*place, {"other"})
    for number in range(3):
        another = [*place]
        another[number] = "another"
        assert not is_tuned(*another, {"tuned"})


def test_a_row_tuned_for_energy_serves_where_there_is_no_other(folders):
    ship(folders, row(8, objective="energy", rate=5e8), own=True)
    assert served() == [(8, "device")]
    assert tuned_rate(METHOD, 1024, options()) == pytest.approx(5e8)
    ship(folders, row(16, rate=1e9), own=True)
    assert served() == [(16, "device"), (8, "device")]
    assert tuned_rate(METHOD, 1024, options()) == pytest.approx(1e9)
    ship(folders, row(32, device="Device B", n=2048))
    assert [tile for tile, _ in served()] == [16, 32, 8]
    assert len(load(folders[1] / "database.json")) == 2


def test_a_row_of_a_quick_tuning_does_not_replace_a_longer_one(tmp_path):
    path = tmp_path / "database.json"
    for rows, expected in (
        ([row(8, quick=True)], 8),
        ([row(16, quick=True)], 16),
        ([row(32)], 32),
        ([row(8, quick=True)], 32),
        ([row(16)], 16),
    ):
        merge(path, rows)
        assert [each.parameters["tile"] for each in load(path)] == [expected]


def test_only_rows_that_differ_say_objective_and_quick(tmp_path):
    path = tmp_path / "database.json"
    rows = [row(8), row(16, objective="edp"), row(32, n=9, quick=True)]
    merge(path, rows)
    assert set(map(repr, load(path))) == set(map(repr, rows))
    text = path.read_text()
    assert (text.count('"objective"'), text.count('"quick"')) == (1, 1)
    for wrong in (
        text.replace('"objective": "edp"', '"objective": "watts"'),
        text.replace('"objective": "edp"', '"objective": null'),
        text.replace('"quick": true', '"quick": 1'),
    ):
        path.write_text(wrong)
        with pytest.raises(FormatError, match="missing or wrong field"):
            load(path)


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ("time", "int32, n = 100)"),
        ("energy", "n = 100, for the least energy)"),
        ("edp", "n = 100, for the least product of energy and time)"),
    ],
)
def test_a_call_says_the_objective_of_its_row(objective, words, on_device, device):
    on_device(parameters=TUNED, objective=objective)
    result = pyapsp.solve(generators.random_graph(90), "fw-blocked", dtype="int32", device=device)
    assert result.stats["tuning"]["objective"] == objective
    assert words in result.explain()
