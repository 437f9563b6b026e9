"""Experiments of papers without a method on a graph: sweeps, batches, bulk execution."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import papers
import pytest
from papers.busato_traversal.partition import stand_ins
from papers.busato_traversal.partition.stand_ins import NAMES
from papers.experiment import InTurns, Request
from papers.ino import experiments as ino
from papers.okuyama.flint import accuracy, models, output
from papers.okuyama.flint import experiments as flint
from papers.reading import Reader
from papers.runner import Runner, require_equal, take_turns
from papers.takafuji.batches import experiments as takafuji_batches
from papers.takafuji.bulk import experiments as takafuji_bulk
from papers.takafuji.bulk.c_program import CProgram
from scipy.sparse import csgraph

from pyapsp.all_pairs.dense.batch import Pipeline
from pyapsp.bulk import Program, Stream
from pyapsp.errors import CapabilityError, PyApspError, VerificationError
from pyapsp.registry.timing import Turn
from pyapsp.simulation.generators import wang_buzsaki
from pyapsp.simulation.layout import SUMS

SIZES = {
    "takafuji-batches": (20, {"counts": [3, 9]}),
    "takafuji-sort": (32, {"counts": [20, 70]}),
    "takafuji-warshall": (5, {"counts": [20, 70]}),
    "takafuji-montgomery": (96, {"counts": [20, 70]}),
    "takafuji-sort-groups": (32, {"groups": [3, 20]}),
    "takafuji-warshall-groups": (5, {"groups": [3, 20]}),
    "takafuji-montgomery-groups": (96, {"groups": [3, 20]}),
    "okuyama-flint": (2, {}),
    "okuyama-flint-networks": (2, {}),
    "okuyama-flint-output": (1, {"steps": [250]}),
    "okuyama-flint-accuracy": (1, {"steps": [40]}),
    "ino-neural": (35, {}),
    "ino-paths": (40, {"tasks": [36]}),
    "ino-histogram": (1, {"pixels": [8]}),
    "ino-filter": (12, {}),
    "busato-traversal-formats": (30, {}),
    "busato-traversal-techniques": (100, {"threads": [1]}),
    "busato-traversal-groups": (50, {"threads": [1, 16]}),
    "busato-traversal-steps": (50, {"threads": [1]}),
    "busato-traversal-rounds": (50, {"threads": [1]}),
    "busato-traversal-grids": (50, {"threads": [1]}),
    "busato-traversal-searches": (100, {"threads": [1]}),
    # in a file of their own
    **{
        f"busato-traversal-bfs-{name}": (150, {})
        for name in ("levels", "features", "rivals", "knobs")
    },
}


def measured(experiment, device, **more):
    n, settings = SIZES[experiment]
    document = papers.measure(
        experiment, n, device=device, repeat=1, settings=more.get("settings", settings)
    )
    assert json.loads(json.dumps(document)) == document
    return document


def labels(document, *names):
    return [tuple(run["label"].get(name) for name in names) for run in document["runs"]]


def test_a_runner_records_the_medians_of_its_turns():
    times = iter([9.0, 1.0, 2.0, 6.0])

    def turn():
        took = next(times)
        return Turn({"kernel": took, "total": 2 * took}, {"last": took})

    def cannot():
        raise PyApspError("no memory")

    runners = [Runner({"name": "a", "m": 3}, turn), Runner({"name": "b", "m": 3}, cannot)]
    told = []
    (record,), left_out = take_turns(runners, 3, told.append)
    assert record == {
        "label": {"name": "a", "m": 3},
        "seconds": {"kernel": 2, "total": 4},
        "times": {"kernel": [1, 2, 6], "total": [2, 4, 12]},
        "last": 6,
        "repeat": 3,
        "verified": True,
    }
    assert left_out == [{"name": "b", "m": 3, "why": "no memory"}]
    assert told[0] == "warm-up: name a, m 3"


def test_the_seconds_of_each_step_are_medians_of_turns():
    steps = iter([[9.0, 9.0], [1.0, 6.0], [5.0, 2.0], [2.0, 1.0]])
    runner = Runner({"name": "a"}, lambda: Turn({"kernel": 1.0}, {"k_seconds": next(steps)}))
    (record,), _ = take_turns([runner], 3, lambda text: None)
    assert record["k_seconds"] == [2, 2]
    # turns with different steps have no medians
    steps = iter([[9.0], [1.0, 6.0], [5.0], [2.0, 1.0]])
    runner = Runner({"name": "a"}, lambda: Turn({"kernel": 1.0}, {"k_seconds": next(steps)}))
    (record,), _ = take_turns([runner], 3, lambda text: None)
    assert record["k_seconds"] == [2, 1]


def test_answers_are_compared():
    right = np.array([1.0, np.inf])
    require_equal(right.copy(), right, "x")
    require_equal(np.array([1.5, 2.0]), np.array([1.0, 2.0]), "x", 0.5)
    for found in ([1.0, 5.0], [1.0, np.nan], [1.0, -np.inf], [1.0]):
        with pytest.raises(VerificationError, match="x: the answer is wrong"):
            require_equal(np.array(found), right, "x", 0.5)


# --- all of them ---------------------------------------------------------------------------------


# Those with tests of their own.
ELSEWHERE = {
    *(f"busato-traversal-{name}" for name in ("configurations", "rivals", "ablations")),
    *(f"busato-paths-{name}" for name in ("searches", "optimisations", "components", "curnet")),
    *(
        f"busato-dynamic-{name}"
        for name in ("formats", "updates", "analytics", "triangles", "trusses")
    ),
    *(f"busato-mining-{name}" for name in ("miners", "parts", "designs", "overlap")),
    *(
        f"busato-profiling-{name}"
        for name in (
            *("primitives", "criteria", "counters", "predictions", "joules"),
            *("reduction", "transpose", "techniques"),
        )
    ),
    *(
        f"busato-matching-{name}"
        for name in ("queries", "levels", "scores", "perturbed", "complexes")
    ),
}


def test_every_experiment_is_tried_here():
    known = {name for name, each in papers.EXPERIMENTS.items() if isinstance(each, InTurns)}
    assert known == SIZES.keys() | ELSEWHERE
    assert papers.EXPERIMENTS["ino-histogram"].least == 1


@pytest.mark.parametrize("method", ["relax", "has"])
def test_a_format_that_a_kernel_reads_wrongly_is_refused(device, monkeypatch, method):
    right = getattr(Reader, method)

    def wrong(*arguments):
        answer, seconds = right(*arguments)
        answer[-1] = not answer[-1]
        return answer, seconds

    monkeypatch.setattr(Reader, method, wrong)
    with pytest.raises(VerificationError):
        measured("busato-traversal-formats", device)


# --- [O], chapter 5 ------------------------------------------------------------------------------


@pytest.mark.slow
def test_lines_of_cells_run_with_each_optimisation(device):
    document = measured("okuyama-flint", device)
    added = ["base", "reorder", "remap", "redundant", "unify", "merge", "sum"]
    assert labels(document, "engine", "with", "program") == [
        ("host", None, None),
        *(("interpreter", name, None) for name in added),
        *(("translator", None, name) for name in ("export", "unify", "base")),
    ]
    assert document["inputs"][0]["functions"] == 64
    runs = document["runs"]
    assert runs[6]["bytecodes"] == [47, 7, 16]
    # eight bytes for each operand, which merging does not change; a sample of all variables
    assert {run["accesses"] for run in runs if "accesses" in run} == {4840}
    assert runs[7]["memory"]["results"] == 8 * (64 + 16)
    assert runs[1]["memory"]["bytecodes"] > runs[7]["memory"]["bytecodes"]


@pytest.mark.nightly
def test_networks_run_with_each_optimisation(device):
    document = measured("okuyama-flint-networks", device)
    found = {each["label"]["model"]: each for each in document["inputs"]}
    sizes = {name: (each["functions"], each["equations"]) for name, each in found.items()}
    wang, ring, line = (2 * 12, 2 * 4), (33 * 18 + 2, 8 * 18), (64, 16)
    joined = (wang[0] + line[0], wang[1] + line[1])
    assert sizes == {"Wang": wang, "LR-Ring": ring, "Wang and line": joined}
    assert len(document["runs"]) == 3 * 11


@pytest.mark.slow
def test_the_network_of_rybak_is_read_from_flints_examples(device, tmp_path, monkeypatch):
    """A small model stands in for it."""
    model = Path(__file__).parents[2] / "simulation" / "models" / "pacemaker.phml"
    with tarfile.open(tmp_path / "models.tar.xz", "w:xz") as archive:
        archive.add(model, "models/pacemaker.phml")
    monkeypatch.setattr(models, "_PUBLISHED", 2)
    monkeypatch.setattr(models, "_RYBAK", "pacemaker.phml")
    monkeypatch.setattr(models, "FILE", "pacemaker.phml")
    request = Request(device)

    def systems():
        return {case.about["label"]["model"]: case.about for case in flint._networks(2, request)}

    monkeypatch.delenv("PYAPSP_DATA_MIRROR", raising=False)
    assert list(systems()) == ["Wang", "LR-Ring", "Wang and line"]
    monkeypatch.setenv("PYAPSP_DATA_MIRROR", str(tmp_path))
    found = systems()
    assert list(found) == ["Wang", "LR-Ring", "Rybak", "Mix", "pacemaker.phml"]
    parts = found["Wang"]["functions"], found["Rybak"]["functions"], 64
    assert found["Mix"]["functions"] == sum(parts)


def test_simulations_are_written_to_a_file(device):
    document = measured("okuyama-flint-output", device)
    assert labels(document, "model", "engine") == [
        ("Luo-Rudy", engine) for engine in ("host", "interpreter", "translator")
    ]
    assert document["inputs"][0]["steps"] == 250
    for run in document["runs"]:
        # samples of the time, 8 states and 31 functions before steps 0, 100 and 200
        assert run["bytes"] == 8 * 3 * (1 + 8 + 31)
        seconds = run["seconds"]
        assert seconds["total"] == pytest.approx(seconds["simulation"] + seconds["file"])
        assert min(seconds["simulation"], seconds["file"]) > 0


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ("values", "translator: the first samples: the answer is wrong"),
        ("last", "translator: the answer is wrong"),
        ("samples", "a file of 640"),
    ],
)
def test_a_wrong_file_is_noticed(spoilt, said, device, monkeypatch):
    right = output.simulate

    def wrong(*arguments, engine, **options):
        frame = right(*arguments, engine=engine, **options)
        if engine == "translator":
            frame["V"] += {"values": 1e-6, "last": frame["time"] // 2, "samples": 0}[spoilt]
            frame = frame[:-1] if spoilt == "samples" else frame
        return frame

    monkeypatch.setattr(output, "simulate", wrong)
    with pytest.raises(VerificationError, match=said):
        measured("okuyama-flint-output", device)


def test_errors_of_sums_and_number_types_are_measured(device):
    document = measured("okuyama-flint-accuracy", device)
    # a single cell has no sum of many terms
    assert labels(document, "engine", "dtype", "sum") == [
        (engine, dtype, "tree")
        for engine in ("interpreter", "translator")
        for dtype in ("float64", "float32")
    ]
    for run in document["runs"]:
        assert run["ends"] == list(range(2, 41, 2))
        assert len(run["errors"]) == 20
        low, high = (0, 1e-12) if run["label"]["dtype"] == "float64" else (1e-9, 1e-5)
        assert low <= run["error"] <= high
        assert max(run["errors"]) >= run["error"]


@pytest.mark.slow
def test_the_order_of_additions_changes_a_network(device, monkeypatch):
    """Of 40 neurons, each with a sum of 39 terms."""
    monkeypatch.setattr(accuracy, "of_size", lambda n: [({"model": "Wang"}, wang_buzsaki(n))])
    document = papers.measure(
        "okuyama-flint-accuracy", 40, device=device, repeat=1, settings={"steps": [1000]}
    )
    errors = {
        tuple(run["label"][name] for name in ("engine", "dtype", "sum")): run["errors"]
        for run in document["runs"]
    }
    assert len(errors) == 2 * 2 * 4
    for dtype in ("float64", "float32"):  # in order, as one core
        assert (
            errors["interpreter", dtype, "ordered"]
            == errors["interpreter", dtype, accuracy.WITHOUT]
        )
    # trees and compensated sums round in other ways
    of = {kind: errors["interpreter", "float64", kind] for kind in SUMS[1:]}
    assert of["tree"] != of["ordered"] != of["compensated"] != of["tree"]


def test_a_program_that_is_wrong_is_no_error_of_rounding(device, monkeypatch):
    right = accuracy.InterpretedEngine.get
    monkeypatch.setattr(accuracy.InterpretedEngine, "get", lambda self: 1.001 * right(self))
    with pytest.raises(VerificationError, match="interpreter, float64, tree: the first sample"):
        measured("okuyama-flint-accuracy", device)


# --- [I] -----------------------------------------------------------------------------------------

FORMS = [("naive", 1), ("interleaved", 32), ("naive", "all"), ("interleaved", "all")]
TASKS = {"ino-neural": 35, "ino-paths": 36, "ino-histogram": 32, "ino-filter": 32}


@pytest.mark.every(4)
@pytest.mark.parametrize("experiment", TASKS)
def test_sweeps_run_as_published_and_with_many_tasks(experiment, device, monkeypatch):
    monkeypatch.setattr(ino, "_SAMPLES", {1: 3, 32: 34})
    document = measured(experiment, device)
    assert document["left_out"] == []
    assert labels(document, "scheme", "at_once") == [*FORMS, ("auto", "all")]
    tasks = TASKS[experiment]
    assert [run["tasks"] for run in document["runs"]] == [3, min(34, tasks), tasks, tasks, tasks]
    one, block, *_, auto = document["runs"]
    # one task is a slice of its own, and 32 are
    assert (one["slices"], block["slices"]) == (3, -(-min(34, tasks) // 32))
    assert one["lanes"] == 1
    assert block["lanes"] > 1
    assert auto["scheme"] in ("naive", "interleaved")
    for run in document["runs"]:
        phases = {"upload", "arrangement", "kernel", "readback", "total"}
        assert run["seconds"].keys() == phases
        assert run["seconds"]["total"] >= run["seconds"]["kernel"] > 0
    (about,) = document["inputs"]
    assert about["tasks"] == tasks


def test_applications_are_as_large_as_in_the_paper(monkeypatch):
    made = {}

    def stop(self, request):
        made[self.output] = self
        raise InterruptedError

    monkeypatch.setattr(ino._Application, "case", stop)
    monkeypatch.setattr(ino, "_PIXELS", 6)
    monkeypatch.setattr(ino, "_PIXELS_CPU", 5)
    traits = SimpleNamespace(scalar_groups=False)
    request = SimpleNamespace(
        chosen=lambda name, default: default, device=SimpleNamespace(traits=traits)
    )
    for experiment, n in (("neural", 32), ("paths", 3000), ("histogram", 2), ("filter", 9)):
        with pytest.raises(InterruptedError):
            next(papers.EXPERIMENTS[f"ino-{experiment}"].cases(n, request))
    assert made["scores"].own["image"].shape == (32, 29, 29)
    assert made["costs"].common["heads"].size == 4 * 3000
    # at most so many sources, and checked are some
    assert (made["costs"].tasks, made["costs"].right.shape) == (2048, (32, 3000))
    monkeypatch.setattr(ino, "_COSTS", 4 * 3000 * 7)
    with pytest.raises(InterruptedError):
        next(papers.EXPERIMENTS["ino-paths"].cases(3000, request))
    assert (made["costs"].tasks, len(made["costs"].right)) == (7, 7)
    assert made["histogram"].own["moving"].shape == (32, 2, 6, 6)
    assert made["histogram"].checked.tolist() == [0, 10, 20, 31]
    assert made["result"].own["image"].shape == (32, 9, 9)
    traits.scalar_groups = True
    with pytest.raises(InterruptedError):
        next(papers.EXPERIMENTS["ino-histogram"].cases(2, request))
    assert made["histogram"].own["moving"].shape == (32, 2, 5, 5)


@pytest.mark.parametrize(
    ("experiment", "output"), [("ino-filter", "result"), ("ino-paths", "costs")]
)
def test_a_wrong_sweep_ends_the_experiment(experiment, output, device, monkeypatch):
    module = {"result": ino.gaussian_filter, "costs": ino.shortest_paths}[output]
    right = module.reference
    monkeypatch.setattr(
        module, "reference", lambda *arguments: {output: right(*arguments)[output] + 1}
    )
    with pytest.raises(VerificationError, match=f"{output}, naive: the answer is wrong"):
        measured(experiment, device)


# --- [T] chapter 3 -------------------------------------------------------------------------------


def test_batches_in_every_form(device):
    document = measured("takafuji-batches", device)
    assert document["left_out"] == []
    forms = {(32, "multiple"), (32, "single"), (4, "multiple"), (4, "single"), (32, "ours")}
    found = labels(document, "m", "bits", "form", "how")
    assert len(found) == 20
    assert set(found) == {
        (m, *form, how) for m in (3, 9) for form in forms for how in ("together", "low latency")
    }
    for run in document["runs"]:
        assert run["seconds"]["total"] >= run["seconds"]["kernel"] > 0
        if run["label"]["how"] == "together":
            assert run["group"] == run["label"]["m"]
    assert [each["label"] for each in document["inputs"]] == [{"m": 3}, {"m": 9}]
    assert {each["ours"] for each in document["inputs"]} == {"fw-onegroup"}


def test_low_latency_is_what_a_pipeline_chooses(device, monkeypatch):
    asked = []

    def pipeline(make, n, options, graphs, **choices):
        asked.append((graphs, choices))
        return Pipeline(make, n, options, graphs, **choices)

    monkeypatch.setattr(takafuji_batches, "Pipeline", pipeline)
    measured("takafuji-batches", device, settings={"counts": [3]})
    assert asked == [(3, {"group": 3, "slots": 1}), (3, {})] * 5


def test_graphs_of_batches_fit_their_types():
    whole = takafuji_batches._Graphs(20, 11, *takafuji_batches._WHOLE)
    assert whole.weights.shape == (11, 20, 20)
    assert whole.weights.max() > 90
    # three are copies
    assert np.array_equal(whole.weights[8:], whole.weights[:3])
    assert not np.array_equal(whole.weights[0], whole.weights[1])
    packed = takafuji_batches._Graphs(20, 5, *takafuji_batches._PACKED)
    assert packed.different == 5
    assert packed.right.max() < 15
    whole.require(whole.right[[*range(8), 0, 1]], "x")
    with pytest.raises(VerificationError, match="x, graph 9"):
        whole.require(whole.right[[*range(8), 0, 2]], "x")
    assert np.isinf(csgraph.floyd_warshall(np.zeros((2, 2)))[0, 1])
    assert takafuji_batches._Graphs(2, 1, 1, 0.0).right[0, 0, 1] == 2**30 - 1


def test_a_wrong_batch_ends_the_experiment(device, monkeypatch):
    monkeypatch.setattr(takafuji_batches, "infinity", lambda dtype: 5)
    monkeypatch.setattr(takafuji_batches, "_WHOLE", (100, 0.01))
    with pytest.raises(VerificationError, match="graph 0: the answer is wrong"):
        measured("takafuji-batches", device)


# --- [T] chapter 4 -------------------------------------------------------------------------------

PROGRAMS = ("takafuji-sort", "takafuji-warshall", "takafuji-montgomery")


@pytest.mark.every(3)
@pytest.mark.parametrize("experiment", PROGRAMS)
def test_programs_run_in_both_arrangements_and_on_one_core(experiment, device):
    document = measured(experiment, device)
    assert document["left_out"] == []
    found = labels(document, "arrangement", "p")
    both = [(arrangement, p) for p in (20, 70) for arrangement in ("column", "row")]
    assert found == [*both, ("none", None)]
    *_, core = document["runs"]
    assert core["p"] == 70
    for run in document["runs"]:
        assert run["seconds"]["kernel"] > 0
    (about,) = document["inputs"]
    assert about["words"] == {"sort": 32, "warshall": 25, "montgomery": 12}[experiment[9:]]
    assert about["accesses"] > 0
    machine, lines = about["machine"], about["lines"]
    assert machine["width"] >= 1
    for arrangement, groups in (("column", 1 / machine["width"]), ("row", 1)):
        a, b = lines[arrangement]["predicted"]
        assert a == pytest.approx((machine["latency"] - 1) * about["accesses"] * machine["unit"])
        share = min(groups, about["words"] / machine["width"])
        assert b == pytest.approx(share * about["accesses"] * machine["unit"])
        times = [run["seconds"]["kernel"] for run in document["runs"][:-1]]
        a, b = lines[arrangement]["measured"]
        assert 0.2 * min(times) < a + 70 * b < 5 * max(times)
        bounds = about["bounds"]
        longer = max(bounds["memory"][arrangement], bounds["computing"])
        assert bounds["seconds"][arrangement] == longer > 0


@pytest.mark.parametrize("experiment", PROGRAMS)
def test_groups_pass_through(experiment, device):
    document = measured(f"{experiment}-groups", device)
    assert labels(document, "b") == [(3,), (20,)]
    assert [run["instances"] for run in document["runs"]] == [96, 640]
    (about,) = document["inputs"]
    assert about["bytes"] == {"sort": 128, "warshall": 100, "montgomery": 36}[experiment[9:]]
    for run in document["runs"]:
        seconds = run["seconds"]
        assert 0 < seconds["latency"] <= seconds["largest_latency"] <= seconds["total"]


def test_without_a_compiler_there_is_no_core_to_compare_with(device, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    document = measured("takafuji-sort", device, settings={"counts": [20]})
    assert len(document["runs"]) == 2
    (left_out,) = document["left_out"]
    assert left_out == {"arrangement": "none", "why": "there is no C compiler 'no-such-compiler'"}
    # one point is no line
    assert document["inputs"][0]["machine"] is document["inputs"][0]["bounds"] is None


def test_what_the_compiler_refuses_is_told(device, monkeypatch):
    monkeypatch.setenv("CC", "false")
    translation = takafuji_bulk._ALGORITHMS["sort"].load(8, device).translation
    with pytest.raises(CapabilityError, match=r"false refused .*bitonic_sort"):
        CProgram(translation, {"N": 8})


def spoiled(call, spoil):
    """A method that gives another answer."""

    def wrapper(self, *arguments):
        answer = call(self, *arguments)
        spoil(answer)
        return answer

    return wrapper


def test_a_wrong_answer_of_any_program_ends_the_experiment(device, monkeypatch):
    def spoil_run(run):
        run.outputs["A"][7, 3] += 1

    def spoil_group(outputs):
        outputs["A"][2, 3] += 1

    def spoil_core(answer):
        answer[1]["A"][69, 3] += 1

    for experiment, place, name, spoil, words in (
        ("takafuji-sort", Program, "run", spoil_run, "column, p = 20: the answer is wrong"),
        ("takafuji-sort", CProgram, "run", spoil_core, "C, p = 70: the answer is wrong"),
        ("takafuji-sort-groups", Stream, "_finish", spoil_group, "the last group, p = 3"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, spoiled(getattr(place, name), spoil))
            with pytest.raises(VerificationError, match=words):
                measured(experiment, device)


def test_what_programs_have_to_find():
    graphs = takafuji_bulk._graphs(6, 4)
    for graph, found in zip(graphs["D"], takafuji_bulk._distances(graphs), strict=True):
        dense = csgraph.csgraph_from_dense(graph, null_value=np.inf)
        assert np.array_equal(found, csgraph.floyd_warshall(dense))
    factors = takafuji_bulk._factors(64, 5)
    for x, y, m, z in zip(*factors.values(), takafuji_bulk._products(factors), strict=True):
        a, b, c, d = (int(low) + (int(high) << 32) for low, high in (x, y, m, z))
        assert max(a, b, d) < c
        assert c % 2 == 1
        assert (d << 64) % c == a * b % c


def test_counts_reach_as_far_as_in_the_thesis():
    gpu = SimpleNamespace(traits=SimpleNamespace(scalar_groups=False))
    sort, montgomery = (takafuji_bulk._ALGORITHMS[name] for name in ("sort", "montgomery"))
    assert sort.counts(32, gpu, 4) == [64 * 4**power for power in range(9)]
    assert sort.counts(32, gpu, 4)[-1] == 4 * 2**20
    assert sort.counts(1024, gpu, 4)[-1] == 128 * 2**10
    assert sort.counts(32768, gpu, 2)[-1] == 4 * 2**10
    assert montgomery.counts(512, gpu, 4)[-1] == 2 * 2**20
    assert montgomery.counts(2**24, gpu, 4) == [64]
    assert sort.counts(2**16, gpu, 2) == [64, 128, 256, 512, 1024, 2048]


# --- [B] -----------------------------------------------------------------------------------------

BUSATO = [name for name in SIZES if name.startswith("busato") and "-bfs-" not in name]


@pytest.mark.every(4)
@pytest.mark.parametrize("experiment", BUSATO)
def test_partitions_of_work_are_timed(experiment, device):
    document = measured(experiment, device)
    assert document["left_out"] == []
    assert document["runs"]
    seen = [tuple(run["label"].items()) for run in document["runs"]]
    assert len(set(seen)) == len(seen)
    for run in document["runs"]:
        assert all(seconds >= 0 for seconds in run["seconds"].values())
    references = {given["reference"]["what"] for given in document["inputs"]}
    assert references <= {"numpy.repeat", "the arcs of the graph"}


def test_the_steps_of_an_expansion_are_timed_apart(device):
    (run,) = measured("busato-traversal-steps", device)["runs"]
    assert run["seconds"].keys() >= {"load", "load and search", "partition", "expansion"}


def test_thresholds_decide_the_search(device):
    document = measured("busato-traversal-searches", device)
    chosen = {
        (run["label"]["input"], run["label"]["search"]): run["search"] for run in document["runs"]
    }
    # the thesis names these inputs for thresholds 8 and 9
    few = {name for (name, kind), taken in chosen.items() if (kind, taken) == STRICT}
    many = {name for (name, kind), taken in chosen.items() if (kind, taken) == LOOSE}
    assert few == {"great-britain_osm"}
    assert few < many
    assert "regular8" in many


STRICT, LOOSE = ("hybrid 5 3", "interpolation"), ("hybrid 8 9", "interpolation")


def test_a_wrong_partition_ends_the_experiment(device, monkeypatch):
    from pyapsp.traversal.partitioning.items import PartitionItems

    run = PartitionItems.run

    def wrong(self, plan):
        answer = run(self, plan)
        answer.owners[-1] += 1
        return answer

    monkeypatch.setattr(PartitionItems, "run", wrong)
    with pytest.raises(VerificationError, match="is of item"):
        measured("busato-traversal-techniques", device)


def test_stand_ins_have_the_statistics_of_the_inputs():
    for name in NAMES:
        shape, given = stand_ins.shape(name), stand_ins.stand_in(name, 10**6)
        assert given.units == min(10**6, shape.entries)
        assert given.mean == pytest.approx(shape.entries / shape.rows, rel=1e-3)
        assert given.largest <= shape.largest
        if name != "circuit5M":  # so few entries cannot deviate so much
            assert given.deviation == pytest.approx(shape.deviation, rel=0.3)
    small = stand_ins.stand_in("kron_g500-logn20", 100)
    assert (small.units, small.n) == (100, 1)
    assert stand_ins.stand_in("web-NotreDame", 10**9).n == 325729
