"""Experiments of papers that measure energy, and the programs that are tuned for it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import papers
import pyopencl as cl
import pytest
from papers import metered
from papers.__main__ import main
from papers.busato_profiling import criteria, experiments, predictions, programs, suite
from papers.busato_profiling.programs import Numbers, Reduction, Shape, Transpose
from papers.busato_traversal.partition import experiments as partition

from pyapsp.device.kernels import Program
from pyapsp.device.kernels.source import headed
from pyapsp.errors import ParameterError, VerificationError
from pyapsp.profiling import observe, primitives
from pyapsp.profiling import run as runs
from pyapsp.profiling.benchmarks.suite import profile_device
from pyapsp.registry import Check

NAME = "busato-profiling"
# Parts of the suite.
_NEEDED = ("memory", "control")


def measure(device, path, name, n, *more):
    """Return the exit code, and the document."""
    words = ["measure", f"{NAME}-{name}", "--n", n, "--repeat", 1, "--device", device.id]
    code = main([*map(str, [*words, *more, "-o", path])])
    return code, json.loads(path.read_text()) if path.exists() else None


# --- programs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", Reduction.VERSIONS)
def test_sums(name, device):
    version = Reduction.VERSIONS[name]
    for shape in Reduction.shapes(device, name):
        group = shape.items
        for n in (1, 2, group - 1, group, group + 1, group**2 + 3, 5 * group + 2):
            program = Reduction(Numbers(device, Reduction.draw(n)), version, shape)
            program.run(2)
            program.check()
            assert program.seconds() > 0
            program.check()


def test_sums_beyond_32_bits_and_in_many_launches(device):
    numbers = Numbers(device, np.full(5000, 2**31 + 7, np.uint32))
    for version in Reduction.VERSIONS.values():
        program = Reduction(numbers, version, Shape(16))
        program.run()
        program.check()


@pytest.mark.parametrize("name", Transpose.VERSIONS)
def test_transposes(name, device):
    version = Transpose.VERSIONS[name]
    for shape in Transpose.shapes(device, name):
        for n in (1, 15, 16, 17, 33, 70):
            values = Transpose.draw(n)
            program = Transpose(Numbers(device, values), version, shape)
            program.run(2)
            program.check()
            right = values if version.kernel == "transpose_copy" else values.T
            np.testing.assert_array_equal(program.answer(), right)


@pytest.mark.parametrize("program", [Reduction, Transpose])
def test_no_kernel_needs_more_local_memory_than_a_device_must_have(program, device):
    # a compiler refuses the whole file for one kernel, also for one that is not run
    numbers = Numbers(device, program.draw(4))
    what = cl.kernel_work_group_info.LOCAL_MEM_SIZE
    text = (Path(programs.__file__).parent / program.file).read_text("utf-8")
    for name, version in program.VERSIONS.items():
        for shape in program.shapes(device, name):
            source = headed(text, program(numbers, version, shape).defines)
            for kernel in cl.Program(device.queue().context, source).build().all_kernels():
                size = kernel.get_work_group_info(what, device.handle)
                assert size <= 2**15, (name, shape, kernel.function_name)


@pytest.mark.parametrize("name", ["reduction", "transpose"])
@pytest.mark.parametrize("group", [2, 8])
def test_groups_of_the_user_are_tried(name, group, device):
    document = papers.measure(
        f"{NAME}-{name}", 50, device=device, repeat=1, settings={"items": [group]}
    )
    assert {run["label"]["items"] for run in document["runs"]} == {group}
    program = Reduction if name == "reduction" else Transpose
    assert [run["label"]["version"] for run in document["runs"]] == list(program.VERSIONS)
    for wrong in (1, 3):
        with pytest.raises(ParameterError, match=f"a power of two, at least 2. Got {wrong}"):
            papers.measure(f"{NAME}-{name}", 50, device=device, settings={"items": [wrong]})


@pytest.mark.parametrize(("program", "n"), [(Reduction, 100), (Transpose, 20)])
def test_wrong_answers_are_found(program, n, device):
    numbers = Numbers(device, program.draw(n))
    made = program(numbers, program.VERSIONS["orig"], next(program.shapes(device, "orig")))
    made.run()
    made.check()
    wrong = numbers.values.copy()
    wrong.flat[n // 2] += 1
    cl.enqueue_copy(device.queue(), numbers.buffer, wrong)
    made.run()
    with pytest.raises(VerificationError, match="the answer is wrong"):
        made.check()


# --- energy --------------------------------------------------------------------------------------


def test_energy_of_every_version(toy_sensor, device, tmp_path):
    group = 16 if device.traits.scalar_groups else 64
    options = ("--set", f"items={group}", "--energy", "rapl", "--train", 0.1)
    code, document = measure(device, tmp_path / "x.json", "reduction", 3000, *options)
    assert code == 0
    assert [run["label"]["version"] for run in document["runs"]] == list(Reduction.VERSIONS)
    for run in document["runs"]:
        energy = run["energy"]
        assert energy["watts"] == pytest.approx(100, rel=0.05)
        assert energy["joules"] == pytest.approx(energy["watts"] * energy["seconds"])
        assert energy["runs"] * energy["seconds"] > 0.09
    (about,) = document["sensors"]
    assert (about["name"], about["train_seconds"], about["error"]) == ("toy", 0.1, None)


def test_energy_of_the_fastest_group_of_a_technique(toy_sensor, device, tmp_path, monkeypatch):
    some = dict(list(partition.TECHNIQUES.items())[::6])
    assert len(some) >= 3
    monkeypatch.setattr(partition, "TECHNIQUES", some)
    groups = (1, 16) if device.traits.scalar_groups else (64, 128)
    options = ("--set", f"threads={groups[0]},{groups[1]}", "--energy", "rapl", "--train", 0.02)
    code, document = measure(device, tmp_path / "x.json", "techniques", 300, *options)
    assert code == 0
    best = {}
    for run in document["runs"]:
        key = run["label"]["input"], run["label"]["technique"]
        best.setdefault(key, []).append((run["seconds"]["kernel"], run["energy"]["joules"]))
    assert {name for name, _ in best} == set(experiments.INPUTS)
    for pairs in best.values():
        fastest = min(seconds for seconds, _ in pairs)  # several may be as fast
        assert sum(joules is not None for seconds, joules in pairs if seconds == fastest) == 1
        assert [each for seconds, each in pairs if seconds > fastest and each] == []


@pytest.mark.parametrize("options", [(), ("--energy", "none")])
def test_without_a_sensor_energy_is_null(options, device, tmp_path, written):
    code, document = measure(device, tmp_path / "x.json", "transpose", 20, *options)
    assert code == 0
    for run in document["runs"]:
        assert run["energy"] == dict.fromkeys(metered.COLUMNS)
        assert run["seconds"]["kernel"] > 0
    tables = written(NAME, [document])
    assert tables["table-15.8"]["mJ: ours"].isna().all()
    rows, megabytes = tables["table-15.8"], document["inputs"][0]["bytes"] / 1e6
    assert [*rows["GB/s: ours"] * rows["ms: ours"] / megabytes] == pytest.approx([1] * len(rows))
    assert set(tables["claims-15.3.3"]["here: ours"]) <= {"yes", "no", "not decided"}


def test_a_sensor_that_disappears_costs_only_energy(
    toy_sensor, device, tmp_path, capsys, monkeypatch
):
    of = metered.energy_of

    def unplugged_after_one(*arguments):
        found = of(*arguments)
        toy_sensor.most = toy_sensor.reads + 1
        return found

    monkeypatch.setattr(metered, "energy_of", unplugged_after_one)
    options = ("--energy", "rapl", "--train", 0.1)
    code, document = measure(device, tmp_path / "x.json", "transpose", 20, *options)
    assert code == 4
    assert "sensor toy: it cannot be read any more (OSError: unplugged)" in capsys.readouterr().err
    energies = [run["energy"]["joules"] for run in document["runs"]]
    assert energies[0] > 0
    assert set(energies[1:]) == {None}
    assert "unplugged" in document["sensors"][0]["error"]


def test_a_wrong_answer_at_the_end_of_a_train_is_an_error(
    toy_sensor, device, tmp_path, monkeypatch
):
    run = Transpose.run

    def often(self, times=1):
        run(self, times)
        if times > 1:  # only in a train
            cl.enqueue_copy(self._queue, self._out, np.zeros(400, np.uint32))

    monkeypatch.setattr(Transpose, "run", often)
    options = ("--energy", "rapl", "--train", 0.05)
    code, document = measure(device, tmp_path / "x.json", "transpose", 20, *options)
    assert (code, document) == (1, None)


def test_an_experiment_without_energy_refuses_it(device):
    with pytest.raises(ParameterError, match="busato-profiling-criteria must be absent"):
        papers.measure(f"{NAME}-criteria", 64, device=device, energy=lambda device: None)


# --- profiles ------------------------------------------------------------------------------------


def test_passes_over_the_suite(device, monkeypatch, written):
    rows = [
        {"benchmark": "throughput", "parameters": {"operation": "i32.add"}, "rate": 1e9},
        {
            "benchmark": "read bandwidth",
            "parameters": {"bytes": 2**20},
            "rate": 1e10,
            "nanojoules": 0.5,
            "mips_per_watt": 256,
        },
        {"benchmark": "divergence", "parameters": {"paths": 1}, "rate": 2e9},
        {"benchmark": "divergence", "parameters": {"paths": 2}, "rate": 1e9},
    ]

    def profile(device, *, quick, meter, report):
        return {
            "device": {"megahertz": 1000},
            "quick": quick,
            "results": rows,
            "failed": [{"part": "memory", "wrong": False, "error": "no memory"}],
            "sensor": None,
        }

    monkeypatch.setattr(suite, "profile_device", profile)
    document = papers.measure(f"{NAME}-device", 2, device=device)
    assert len(document["runs"]) == 2 * len(rows)
    assert document["left_out"] == [{"part": "memory", "why": "no memory"}] * 2
    tables = written(NAME, [{**document, "date": "2026-01-01"}])
    arithmetic = tables["tables-14.1-14.2-15.3"].set_index("operation")
    units = device.capabilities.compute_units
    assert arithmetic["per cycle and unit: ours"]["int32 simple"] == pytest.approx(1 / units)
    assert arithmetic["per cycle and unit: thesis, GTX 980"]["int32 simple"] == 116.3
    assert arithmetic["nJ: thesis, GTX 660"]["int32 simple"] == 0.1
    memory = tables["tables-14.3-14.4-15.6"].set_index("operation")
    assert memory["per cycle and unit: ours"]["DRAM"] == pytest.approx(10 / 128 / units)
    # of a transaction of 128 bytes
    assert (memory["nJ: ours"]["DRAM"], memory["M/W: ours"]["DRAM"]) == (64, 2)
    curve = tables["figures-14.6-15.6"]
    assert list(curve["time, relative: ours"]) == [1, 2]


def test_a_wrong_benchmark_is_an_error(device, monkeypatch):
    failed = [{"part": "memory", "wrong": True, "error": "place 0 has 1"}]
    about = {"device": {"megahertz": 1}, "quick": True, "results": [], "sensor": None}
    monkeypatch.setattr(suite, "profile_device", lambda *_, **__: {**about, "failed": failed})
    with pytest.raises(VerificationError, match="place 0 has 1"):
        papers.measure(f"{NAME}-device", 1, device=device)


def test_the_measured_time_is_that_of_a_launch_in_a_call(device, monkeypatch, short):
    some = {"all-pairs": ("uniform", 2, ("fw-naive",))}
    monkeypatch.setattr(predictions, "METHODS", some)
    monkeypatch.setattr(observe, "event_times", lambda _: (1000, 8000))
    document = papers.measure(f"{NAME}-predictions", 256, device=device)
    assert [run["seconds"]["kernel"] for run in document["runs"]] == [pytest.approx(7e-6)]


def test_how_many_cores_take_part_is_measured_before_each_kernel(device, monkeypatch, short):
    some = {"all-pairs": ("uniform", 2, ("fw-naive", "fw-mm"))}
    monkeypatch.setattr(predictions, "METHODS", some)
    measured, used, profiled, profile_run = [], [], predictions.profile_device, runs.profile_run

    def profile_device(device, *, quick, parts):
        measured.append(parts)
        if parts != ("cores",):
            return profiled(device, quick=quick, parts=parts)
        return {"results": [{"benchmark": "cores", "parameters": {"operations": 1.0}, "rate": 1.0}]}

    def run_of(call, *, profile, **more):
        used.append([each["benchmark"] for each in profile["results"]].count("cores"))
        return profile_run(call, profile=profile, **more)

    monkeypatch.setattr(predictions, "profile_device", profile_device)
    monkeypatch.setattr(runs, "profile_run", run_of)
    papers.measure(f"{NAME}-predictions", 256, device=device)
    assert measured.count(("cores",)) == 2
    assert len(measured) == 3
    assert used == [1, 1]


def test_of_a_call_with_fewer_launches_the_last_one_is_timed(device, monkeypatch):
    program, queue = (
        Program(device, "__kernel void one(__global int *x) { *x = 1; }"),
        device.queue(),
    )
    out = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
    ends = iter((1000, 2000, 4000))
    monkeypatch.setattr(observe, "event_times", lambda _: (0, next(ends)))

    def call():
        for _ in range(3):
            program.kernel("one")(queue, (1,), (1,), out)

    assert predictions.launch_seconds(call, "one", 5) == pytest.approx(4e-6)


@pytest.fixture
def short(monkeypatch):
    """Make experiments measure only what the model needs of a CPU for the profile of a device."""
    for module in (criteria, predictions):
        monkeypatch.setattr(
            module,
            "profile_device",
            lambda device, *, quick, parts=_NEEDED, **_: profile_device(
                device, quick=quick, parts={*parts} & {*_NEEDED}
            ),
        )


def test_criteria_of_versions(device, monkeypatch, short):
    monkeypatch.setattr(criteria, "PROGRAMS", ("transpose",))
    monkeypatch.setattr(criteria, "TUNED", {"transpose": {"Version1": ("v2.0", Shape(16, 4))}})
    document = papers.measure(f"{NAME}-criteria", 64, device=device)
    (run,) = document["runs"]
    assert run["limits"]["potential"] > 0
    # columns of a tile of 16 words are in few banks
    assert run["criteria"]["local_efficiency"] < 0.5
    assert 0 < run["quality"] < 1


def test_criteria_of_searches(device, monkeypatch, short):
    """The time is that of the whole search; the criteria are those of its longest kernel."""
    some = {"Version1": ("bfs-frontier", {"width": 1}), "Version2": ("bfs-edge", {})}
    if device.traits.scalar_groups:
        some["Version3"] = "bfs-helix", {"sync": "persistent"}
    monkeypatch.setattr(criteria, "PROGRAMS", ("search",))
    monkeypatch.setattr(criteria, "SEARCHES", some)
    document = papers.measure(f"{NAME}-criteria", 128, device=device)
    assert document["left_out"] == []
    first, second = document["runs"]
    for run, version in ((first, "Version1"), (second, "Version2")):
        assert run["label"] == {"program": "search", "version": version}
        assert run["seconds"]["kernel"] > run["first_seconds"] > 0
        assert 0 < run["criteria"]["host_sync"] < 1
    assert first["limits"] != second["limits"]


def test_a_wrong_search_has_no_criteria(device, monkeypatch, short):
    prepared = criteria.prepared

    def wrong(*arguments):
        call, _ = prepared(*arguments)()
        return lambda: (call, lambda answer: Check(False, "no level is right", "none"))

    monkeypatch.setattr(criteria, "prepared", wrong)
    monkeypatch.setattr(criteria, "PROGRAMS", ("search",))
    monkeypatch.setattr(criteria, "SEARCHES", {"Version1": ("bfs-frontier", {})})
    with pytest.raises(VerificationError, match="no level is right"):
        papers.measure(f"{NAME}-criteria", 128, device=device)


def test_no_profile_begins_when_the_limit_is_over(device, monkeypatch, short):
    """What was measured until then is a document."""
    some = {"all-pairs": ("uniform", 2, ("fw-naive", "fw-mm", "johnson"))}
    monkeypatch.setattr(predictions, "METHODS", some)
    seconds = iter((0.0, 0.5, 1.5, 2.0))
    monkeypatch.setattr(criteria, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    document = papers.measure(f"{NAME}-predictions", 256, device=device, limit=1)
    assert [run["label"]["method"] for run in document["runs"]] == ["fw-naive"]
    left_out = [(each["method"], each["why"]) for each in document["left_out"]]
    assert left_out == [("fw-mm", "1 s were over"), ("johnson", "1 s were over")]


def test_predicted_times_of_the_kernels_that_take_longest(device, monkeypatch, short, written):
    some = {"bfs": ("mesh", 1, ("bfs-frontier",)), "all-pairs": ("uniform", 2, ("fw-naive",))}
    monkeypatch.setattr(predictions, "METHODS", some)
    document = papers.measure(f"{NAME}-predictions", 256, device=device)
    assert document["left_out"] == []
    assert [run["kernel"] for run in document["runs"]] == ["bfs_frontier", "fw_naive"]
    dense = document["runs"][1]
    assert dense["launches"] == 128
    document["runs"][0] |= {"predicted": 1e-3, "seconds": {"kernel": 2e-3}}
    document["runs"][1] |= {"predicted": 2e-3, "seconds": {"kernel": 1e-3}}
    tables = written(NAME, [{**document, "date": "2026-01-01"}])
    assert list(tables["predictions"]["predicted / measured"]) == [0.5, 2]
    assert list(tables["predictions"]["predicted ms"]) == [1, 2]
    assert list(tables["predictions"]["measured ms"]) == [2, 1]
    (accuracy,) = tables["predictions-accuracy"].to_dict("records")
    assert accuracy["median error, %"] == 75
    assert accuracy["90th percentile, %"] == 95
    assert accuracy["within a factor of 2"] == 2


def test_a_wrong_answer_has_no_prediction(device, monkeypatch, short):
    monkeypatch.setattr(predictions, "METHODS", {"bfs": ("mesh", 1, ("bfs-frontier",))})
    solve = predictions.solve

    def wrong(request):
        solved = solve(request)
        solved.answer.distances[0, -1] += 1
        return solved

    monkeypatch.setattr(predictions, "solve", wrong)
    with pytest.raises(VerificationError):
        papers.measure(f"{NAME}-predictions", 256, device=device)


def test_scores_of_primitives(device, monkeypatch, written):
    some = [each for each in primitives.IMPLEMENTATIONS if each.primitive == "reduction"]
    some += [each for each in primitives.IMPLEMENTATIONS if each.name == "pyapsp partition-direct"]
    monkeypatch.setattr(primitives, "IMPLEMENTATIONS", some)
    document = papers.measure(f"{NAME}-primitives", 256, device=device)
    tables = written(NAME, [{**document, "date": "2026-01-01"}])
    rows = tables["table-12.3"]
    ours = rows[rows["speedup: ours"].notna()]
    assert list(ours["primitive"]) == [each.primitive for each in some]
    assert tables["section-12.5.1"]["l1_granularity: thesis, MGPU"][0] == 0.44
    cub = rows[(rows["primitive"] == "reduction") & (rows["implementation"] == "CUB")]
    assert float(cub["speedup: thesis, GTX 780"].iloc[0]) == 961
    assert list(tables["table-12.3-weights"]["weight: thesis"]) == [
        *(30, 40, 15, 40, 100, 100, 50, 30, 30, 100, 50)
    ]
