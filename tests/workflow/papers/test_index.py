"""The page of all exhibits: none is left out, and those without a record say what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import papers
import pytest
import tomllib
from papers import EXPERIMENTS, SOURCES, index
from papers.__main__ import main
from papers.busato_paths.searches.stand_ins import FIRST

FOLDER = Path(papers.__file__).parent
METHODS = {"queue": 20, "dijkstra": 3, "sssp-bellman-ford": 6, "workfront sweep": 5}
METHODS |= {"sssp-near-far": 5, "sssp-h-bf": 1}


def on_a_device(records, name, kind, own):
    """Write the record of an experiment, in which H-BF takes `own` ms."""
    document = {
        "experiment": "busato-paths-searches",
        "n": 100,
        "date": "2026-01-02",
        "device": {"name": name, "platform": "P", "driver": "1", "units": 2, "kind": kind},
        "inputs": [
            {
                "label": {"graph": graph},
                "reference": {"what": "SciPy"},
                **dict.fromkeys(("vertices", "arcs", "depth", "average degree"), 1e6),
                **dict.fromkeys(("deviation of degrees", "largest degree"), 9),
            }
            for graph in FIRST
        ],
        "runs": [
            {
                "label": {"graph": graph, "method": method},
                "seconds": {"kernel": (own if method == "sssp-h-bf" else milliseconds) / 1e3},
                "verified": True,
            }
            for graph in FIRST
            for method, milliseconds in METHODS.items()
        ],
        "left_out": [],
    }
    folder = records / name / "papers"
    folder.mkdir(parents=True)
    (folder / "busato-paths-searches-100.json").write_text(json.dumps(document))


def every_exhibit():
    for path in FOLDER.rglob("exhibits.toml"):
        for each in tomllib.loads(path.read_text())["exhibits"]:
            yield path.relative_to(FOLDER).parts[0].replace("_", "-"), each["name"]


def test_no_exhibit_is_left_out(tmp_path):
    every = list(index.entries(tmp_path))
    assert sorted((each.source, each.name) for each in every) == sorted(every_exhibit())
    page = index.markdown(tmp_path)
    for each in every:
        assert each.missing == "a GPU and a CPU"
        assert f"| {each.title} | no record |" in page
        assert f"`{each.command}`" in page
    assert index.counted(every)["without a record"] == len(every) > 100


def test_each_folder_of_published_values_is_repeated():
    folders = {path.relative_to(FOLDER).parts[0] for path in FOLDER.rglob("published.csv")}
    sources = {name.replace("-", "_") for name in SOURCES}
    assert folders == sources


def test_records_are_counted_with_device_verdicts_and_pairs(tmp_path):
    on_a_device(tmp_path, "fast", "gpu", own=1)
    on_a_device(tmp_path, "slow", "cpu", own=5.5)
    every = list(index.entries(tmp_path))
    by_name = {(each.name, each.device): each for each in every if each.device}
    assert {name for name, _ in by_name} == {"table-8.1", "table-8.2", "figure-8.8", "claims-8.2"}
    fast, slow = (by_name["claims-8.2", f"{name}, P"].verdicts for name in ("fast", "slow"))
    # on one, H-BF is the fastest; on the other it is not
    assert "HB1" in fast["yes"]
    assert "HB1" in slow["no"]
    times = by_name["table-8.2", "fast, P"]
    assert times.date == "2026-01-02"
    assert times.command == "python -m papers measure busato-paths-searches -n 100"
    what, theirs, ours, quotient = times.pair
    assert what.endswith((", ms", ", MTEPS"))
    assert 0 < ours / theirs == pytest.approx(quotient)
    assert not any(each.missing for each in by_name.values())
    numbers = index.counted(every)
    assert numbers["with a record"] == numbers["on fast, P"] == numbers["on slow, P"] == 4
    verdicts = ("yes", "no", "not decided")
    counts = [numbers[f"claims judged {each!r}, on all devices"] for each in verdicts]
    assert counts == [len(fast.get(each, [])) + len(slow.get(each, [])) for each in verdicts]
    assert sum(counts) == 10


def test_the_command_writes_the_page(tmp_path, capsys):
    on_a_device(tmp_path / "records", "fast", "gpu", own=1)
    page = tmp_path / "page.md"
    assert main(["index", str(tmp_path / "records"), "-o", str(page)]) == 0
    assert capsys.readouterr().out.strip() == str(page)
    assert page.read_text() == f"# Exhibits\n\n{index.markdown(tmp_path / 'records')}"
    assert "| fast, P | 2026-01-02 |" in page.read_text()


def test_commands_name_experiments(tmp_path):
    for each in index.entries(tmp_path):
        words = each.command.split()
        assert words[:4] == ["python", "-m", "papers", "measure"]
        assert words[4] in EXPERIMENTS
