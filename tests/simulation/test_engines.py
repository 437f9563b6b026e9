"""The engines against each other, SciPy and NumPy, with every switch."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from functools import reduce
from itertools import combinations, product
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

import pyapsp
from pyapsp.device import Device
from pyapsp.errors import (
    CapabilityError,
    CheckpointError,
    DeviceMemoryError,
    ModelError,
    ParameterError,
    PrecisionError,
)
from pyapsp.simulation import interpreter, schedule, together, translated
from pyapsp.simulation.expressions import ARITIES, Apply, Name, Number
from pyapsp.simulation.layout import SUMS, Optimisations, arrange
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.system import System
from pyapsp.simulation.together import GroupSize
from pyapsp.simulation.translated import TranslatedEngine
from pyapsp.simulation.values import at_start, evaluated


def do(operator, *operands):
    """Apply an operator to names, numbers and expressions."""
    kinds = {str: Name, int: lambda value: Number(float(value)), float: Number}
    return Apply(operator, tuple(kinds.get(type(x), lambda each: each)(x) for x in operands))


@pytest.fixture(params=["ranges alone", "items launches", "ranges crew", "items crew"])
def form(request, monkeypatch):
    """The forms of kernels: for groups that are single work-items, and for others.

    A launch takes a phase, or many steps, by one group or by groups that wait for each other.
    """
    traits = Device.traits.fget
    kind, launches = request.param.split()

    def changed(self):
        return dataclasses.replace(traits(self), scalar_groups=kind == "ranges")

    monkeypatch.setattr(Device, "traits", property(changed))
    monkeypatch.setattr(
        TranslatedEngine,
        "_form",
        lambda self: "launches" if self.tableau.error is not None else launches,
    )
    monkeypatch.setattr(interpreter, "form_of", lambda device: launches)
    return request.param


# Where the kernels of many steps make no difference.
two_forms = pytest.mark.parametrize("form", ["ranges alone", "items launches"], indirect=True)


def cells(n=9, jump=True):
    """Coupled cells of FitzHugh and Nagumo, with a sum over all of them and a pulse.

    The pulse ends by a jump, or fades away.
    """
    initial, derivatives, functions = {}, {}, {}
    for i in range(n):
        v, w, s, pulse, drive = f"v{i}", f"w{i}", f"s{i}", f"pulse{i}", f"drive{i}"
        initial |= {v: Number(-1.2 + 0.01 * i), w: Number(-0.6)}
        functions[s] = do("divide", 1, do("plus", 1, do("exp", do("minus", v))))
        fading = do("times", 0.5 + 0.1 * i, do("exp", do("minus", "time")))
        ended = do("piecewise", 0.5 + 0.1 * i, do("lt", "time", 0.7), 0)
        functions[pulse] = ended if jump else fading
        coupling = do("minus", do("divide", "total", n), s)
        functions[drive] = do("plus", pulse, do("times", "g", coupling))
        cubic = do("minus", v, do("divide", do("power", v, 3), 3))
        derivatives[v] = do("plus", do("minus", cubic, w), drive)
        derivatives[w] = do("times", 0.08, do("minus", do("plus", v, 0.7), do("times", 0.8, w)))
    functions["total"] = do("plus", *(f"s{i}" for i in range(n)))
    return System("cells", {"g": 2.0}, {}, initial, derivatives, functions)


OUTPUT = ["v0", "w3", "drive8", "total"]


def run(system, **options):
    return pyapsp.simulate(system, **{"duration": 2.0, "step": 0.05, "every": 8, **options})


@pytest.fixture(scope="module")
def oracle():
    return run(cells(), output=OUTPUT, engine="host")


def right_hand_side(system):
    constants, initial = at_start(system)
    names = list(initial)

    def slope(t, y):
        known = {**constants, **dict(zip(names, y, strict=True)), "time": t}

        def value(name):
            if name not in known:
                known[name] = evaluated(system.functions[name], value)
            return known[name]

        return [evaluated(system.derivatives[name], value) for name in names]

    return slope, [float(initial[name]) for name in names], names


@pytest.mark.every(2)
@pytest.mark.parametrize(("engine", "method"), [("host", "rk4"), ("translator", "dopri5")])
def test_against_scipy(engine, method):
    system = cells(3)
    slope, start, names = right_hand_side(system)
    found = pyapsp.simulate(
        system,
        duration=0.5,  # before the end of the pulse, where the slope jumps
        step=0.005,
        every=20,
        method=method,
        engine=engine,
        tolerances=(1e-10, 1e-10) if method == "dopri5" else None,
    )
    exact = solve_ivp(slope, (0, 0.5), start, t_eval=found["time"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[names].to_numpy().T, exact.y, rtol=1e-8, atol=1e-9)


# -- optimisations -------------------------------------------------------------------------------

FORMS = tuple(f"{kind} {launches}" for launches in together.FORMS for kind in ("ranges", "items"))
SWITCHES = [field.name for field in dataclasses.fields(Optimisations) if field.name != "sum"]


def pairwise():
    """Return settings in which every two switches have all combinations of values."""
    domains = {**dict.fromkeys(SWITCHES, (True, False)), "sum": SUMS}
    domains |= {"engine": ("interpreter", "translator"), "form": FORMS}
    rows = [dict(zip(domains, each, strict=True)) for each in product(*domains.values())]

    def pairs(row):
        return set(combinations(row.items(), 2))

    missing, chosen = set().union(*map(pairs, rows)), []
    while missing:
        best = max(rows, key=lambda row: len(pairs(row) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return [
        pytest.param(each, each.pop("form"), id="-".join(map(str, each.values())))
        for each in chosen
    ]


@pytest.mark.every(12)
@pytest.mark.parametrize(("setting", "form"), pairwise(), indirect=["form"])
def test_switches_do_not_change_the_numbers(setting, form, oracle, monkeypatch):
    setting = dict(setting)
    engine = setting.pop("engine")
    monkeypatch.setattr(schedule, "SUMMED", 8)
    found = run(cells(), output=OUTPUT, engine=engine, optimise=Optimisations(**setting))
    pd.testing.assert_frame_equal(found, oracle, rtol=1e-13, atol=0)


def test_merging_shifts_functions():
    """Figure 5.3: d follows a, the only function that it reads in the phase before."""
    functions = {
        "b": do("times", "x", 2),
        "c": do("times", "y", 2),
        "a": do("plus", "x", "b", "c"),
        "d": do("plus", "y", "a"),
    }
    slopes = {"x": Name("d"), "y": Name("b")}
    system = System("figure", {}, {}, {"x": Number(1), "y": Number(2)}, slopes, functions)
    plain, merged = (compile_model(system, {}, merge=merge) for merge in (False, True))
    assert [len(phase) for phase in plain.phases] == [2, 1, 1, 2]
    assert [len(phase) for phase in merged.phases] == [2, 1, 2]
    assert [len(thread) for thread in merged.phases[1]] == [2]
    layout = arrange(merged, Optimisations(), 4)
    assert [len(phase.order) for phase in layout.phases] == [4, 4, 4]


def test_a_chain_is_cut_after_three_functions():
    functions = {"f0": Name("x")} | {f"f{i}": do("times", f"f{i - 1}", 2) for i in range(1, 7)}
    system = System("chain", {}, {}, {"x": Number(1)}, {"x": Name("f6")}, functions)
    found = compile_model(system, {}, merge=True)
    assert [[len(thread) for thread in phase] for phase in found.phases] == [[3], [3], [1], [1]]


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", SUMS)
def test_sums(kind, form):
    """Only a sum with its rounding errors is right, where large terms cancel."""
    terms = [1e16, 1.0, -1e16] * 16
    in_order = reduce(add, terms)  # from Python 3.12 on, the sum of floats is compensated
    states = {f"x{i}": Number(each) for i, each in enumerate(terms)}
    slopes = {name: Number(0) for name in states}
    functions = {"total": do("plus", *states), "twice": do("times", 2, "total")}
    system = System("sum", {}, {}, states, slopes, functions)
    for engine in ("interpreter", "translator"):
        found = run(
            system, output=["total", "twice"], engine=engine, optimise=Optimisations(sum=kind)
        )
        expected = {"compensated": 16.0, "": in_order, "ordered": in_order}.get(kind)
        if expected is not None:
            assert found["total"].iloc[-1] == expected
            assert found["twice"].iloc[0] == 2 * expected


# -- expressions ---------------------------------------------------------------------------------

DOMAINS = {
    "arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9), "arctanh": (-0.9, 0.9), "arccosh": (1.1, 3),
    "arcsec": (1.1, 3), "arccsc": (1.1, 3), "arccoth": (1.1, 3), "arcsech": (0.1, 0.9),
    "ln": (0.1, 3), "power": (0.1, 3), "root": (0.5, 3), "log": (1.5, 3), "factorial": (0, 4),
}  # fmt: skip


@pytest.mark.every(2)
@two_forms
def test_every_operator(form):
    """For several cells, so that operands differ, and some are computed in vectors."""
    rng = np.random.default_rng(5)
    states, functions = {}, {}
    for operator, (least, most) in ARITIES.items():
        counts = {least, least + 1 if most is None else most, 3 if most is None else least}
        for count in counts - ({2} if operator == "piecewise" else set()):
            for cell in range(5):
                operands = []
                for number in range(count):
                    name = f"{operator}_{count}_{cell}_{number}"
                    states[name] = Number(rng.uniform(*DOMAINS.get(operator, (-2, 2))))
                    odd = operator == "piecewise" and number % 2
                    operands.append(do("gt", name, 0.3) if odd else name)
                functions[f"{operator}_{count}_{cell}"] = do(operator, *operands)
    for power in (2, 3, 4, 5):
        functions[f"power{power}"] = do("power", "ln_1_0_0", power)
        functions[f"root{power}"] = do("root", power, "ln_1_1_0")
    functions["log10"] = do("log", 10, "ln_1_2_0")
    functions["boolean"] = do("plus", do("gt", "ln_1_0_0", 1), do("not", "ln_1_0_0"), 1)
    deep = Name("ln_1_0_0")
    for number in range(200):
        deep = do("minus", do("times", deep, 0.9), number)
    functions["deep"] = deep
    system = System("all", {}, {}, states, {name: Number(0) for name in states}, functions)
    values = {name: each.value for name, each in states.items()}
    expected = {name: evaluated(each, values.__getitem__) for name, each in functions.items()}
    for engine in ("host", "interpreter", "translator"):
        found = run(system, output=list(functions), engine=engine, duration=0.05, every=1)
        for name, value in expected.items():
            got = found[name].iloc[0]
            assert got == pytest.approx(value, rel=2e-13, abs=1e-15, nan_ok=True), (engine, name)


def test_powers_beside_powers_of_zero():
    """The lanes of a vector do not change each other; with vectors of 8, one runtime fails."""
    values = np.resize([1e-5, 3.6e-16, 0, 75.6, 0, 0.6, 1e-10, 1e-7, 0, 2.5], 40)
    states = {f"x{i}": Number(each) for i, each in enumerate(values)}
    powers = {f"p{i}": do("power", name, -0.2) for i, name in enumerate(states)}
    slopes = {name: Number(0) for name in states}
    system = System("powers", {}, {}, states, slopes, powers)
    found = run(system, output=list(powers), duration=0.05, every=1)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(found[list(powers)].iloc[0], values**-0.2, rtol=1e-13)
        sets = pd.DataFrame({"x0": values})
        found = run(system, output=["p0"], duration=0.01, parameters=sets)
        np.testing.assert_allclose(found["p0"], values**-0.2, rtol=1e-13)


@two_forms
def test_branches_evaluate_one_value(form):
    """A value that is not taken may be no number."""
    root = do("piecewise", do("root", 2, "x"), do("gt", "x", 0), do("minus", "x"))
    nested = do("piecewise", do("piecewise", 1, do("lt", "x", 0.5), 2), do("gt", "x", 0), 3)
    initial = {"x": Number(-1), "y": Number(0)}
    slopes = {"x": Number(1), "y": do("plus", root, nested)}
    system = System("branch", {}, {}, initial, slopes, {"n": nested})
    found = [run(system, engine=engine) for engine in ("host", "interpreter", "translator")]
    for other in found[1:]:
        pd.testing.assert_frame_equal(other, found[0], rtol=1e-14)
    assert found[0]["y"].iloc[-1] == pytest.approx(3 + 0.5 + 0.5 + 1 + 2 / 3, abs=0.05)


@pytest.mark.every(3)
def test_resets_follow_a_step(form):
    """A neuron that integrates and fires: a reset uses the values at the end of the step."""
    fired = do("geq", "v", "limit")
    system = System(
        "neuron",
        {"limit": 1.0},
        {},
        {"v": Number(0), "spikes": Number(0), "idle": Number(2)},
        {"v": Name("drive"), "spikes": Number(0), "idle": Name("v")},
        {"drive": do("minus", 3, "v")},
        resets={
            "v": do("piecewise", do("minus", "drive", 2), fired, "v"),
            "spikes": do("piecewise", do("plus", "spikes", 1), fired, "spikes"),
        },
    )
    v, spikes, expected = 0.0, 0, []
    for _ in range(41):
        expected.append((v, spikes))
        v += 0.05 * (3 - v)
        if v >= 1:
            v, spikes = (3 - v) - 2, spikes + 1
    for engine in ("host", "interpreter", "translator"):
        found = run(system, method="euler", every=1, engine=engine)
        np.testing.assert_allclose(found[["v", "spikes"]], expected, rtol=1e-12)
    with pytest.raises(ParameterError, match="'euler' or 'rk4'"):
        run(system, method="dopri5")


# -- runs ----------------------------------------------------------------------------------------


class StopError(Exception):
    pass


@pytest.mark.every(2)
@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_an_interrupted_run_continues_with_the_same_numbers(tmp_path, method):
    path, seen = tmp_path / "run.npz", []
    options = {"output": OUTPUT, "method": method, "every": 4, "readback": 8}

    def stop(done, total):
        seen.append((done, total))
        if done >= 16:
            raise StopError

    whole = run(cells(), **options)
    with pytest.raises(StopError):
        run(cells(), checkpoint=path, progress=stop, **options)
    if method == "rk4":
        assert seen == [(8, 40), (16, 40)]
    with pytest.raises(CheckpointError, match="another simulation"):
        run(cells(), checkpoint=path, parameters={"g": 1.0}, **options)
    rest = run(
        cells(), checkpoint=path, progress=lambda done, total: seen.append((done, total)), **options
    )
    assert seen[-1] == (40, 40)
    pd.testing.assert_frame_equal(rest, whole, check_exact=True)
    assert not path.exists()
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="damaged"):
        run(cells(), checkpoint=path, **options)


@pytest.mark.slow
def test_a_killed_run_continues_with_the_same_numbers(tmp_path):
    """SIGKILL while it reports progress."""
    script = f"""
import os, signal, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(pyapsp.__file__).parents[1])]}
from test_engines import cells, run
run(cells(), every=4, readback=8, checkpoint="run.npz",
    progress=lambda done, total: done >= 24 and os.kill(os.getpid(), signal.SIGKILL))
"""
    died = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, timeout=300, check=False)
    assert died.returncode == -signal.SIGKILL
    options, seen = {"every": 4, "readback": 8}, []
    rest = run(
        cells(),
        checkpoint=tmp_path / "run.npz",
        progress=lambda done, total: seen.append(done),
        **options,
    )
    assert seen == [32, 40]
    pd.testing.assert_frame_equal(rest, run(cells(), **options), check_exact=True)
    assert list(tmp_path.iterdir()) == []


def test_frames_have_what_was_asked_for():
    found = run(cells(2), output=["total", "g", "v1"], every=3, parameters={"g": 0.5, "v1": 1.25})
    assert list(found.columns) == ["time", "total", "g", "v1"]
    np.testing.assert_allclose(found["time"], np.arange(14) * 0.15)
    assert found["v1"].iloc[0] == 1.25
    assert (found["g"] == 0.5).all()
    assert list(run(cells(2)).columns) == ["time", "v0", "w0", "v1", "w1"]
    single = run(cells(2), dtype="float32", engine="interpreter", output=["v1"])
    assert single["v1"].dtype == np.float32
    double = run(cells(2), output=["v1"])
    np.testing.assert_allclose(single["v1"], double["v1"], rtol=1e-5)


@pytest.mark.every(2)
def test_every_third_step_of_several_launches(form):
    """A launch need not begin with a step that is stored."""
    options = {"duration": 10.0, "every": 3, "output": OUTPUT}
    right = run(cells(), engine="host", **options)
    assert len(right) == 67
    for engine in ("interpreter", "translator"):
        found = run(cells(), engine=engine, **options)
        pd.testing.assert_frame_equal(found, right, rtol=1e-9)


def test_a_device_without_double_is_refused(monkeypatch, device):
    lacking = dataclasses.replace(device.capabilities, fp64=False)
    monkeypatch.setattr(Device, "capabilities", lacking)
    with pytest.raises(CapabilityError, match="float64"):
        run(cells(2))


def test_the_work_group_grows_until_it_is_slower():
    for seconds, expected in (({32: 3, 64: 2, 96: 2.5}, 64), ({32: 1, 64: 2}, 32)):
        group = GroupSize(32, 256)
        while not group.settled:
            group.add(seconds[group.size])
        assert group.size == expected
    group = GroupSize(32, 64)
    for _ in range(200):
        group.add(1 / group.size)
    assert (group.settled, group.size) == (True, 64)


@pytest.mark.parametrize("engine", ["translator", "interpreter"])
def test_a_crew_that_stalls_goes_on_by_launches(engine, monkeypatch, caplog):
    """The first group never comes to the barrier."""
    withheld = {"PYAPSP_CREW": 1, "PYAPSP_PATIENCE": 100, "PYAPSP_WITHHOLD": 1}
    for module in (interpreter, translated):
        usual = module.together_defines
        monkeypatch.setattr(
            module,
            "together_defines",
            lambda form, usual=usual: withheld if form == "crew" else usual(form),
        )
    right = run(cells(), output=OUTPUT, engine="host")
    monkeypatch.setattr(interpreter, "form_of", lambda device: "crew")
    monkeypatch.setattr(TranslatedEngine, "_form", lambda self: "crew")
    with caplog.at_level("WARNING"):
        found = run(cells(), output=OUTPUT, engine=engine)
    assert [record.message.split(" on ")[0] for record in caplog.records] == [
        "a launch of several steps stalled"
    ]
    pd.testing.assert_frame_equal(found, right, rtol=1e-13, atol=0)


@two_forms
def test_functions_of_the_time_alone(form):
    system = System("m", {"a": 2.0}, {}, {}, {}, {"ramp": do("times", "a", "time")})
    for engine in ("host", "interpreter", "translator"):
        found = run(system, output=["ramp"], engine=engine, method="dopri5", every=10)
        np.testing.assert_allclose(found["ramp"], [0, 1, 2, 3, 4])
    found = run(system, output=["ramp"], every=20, parameters=pd.DataFrame({"a": [1.0, 3.0]}))
    np.testing.assert_allclose(found["ramp"], [0, 1, 2, 0, 3, 6])


# -- many sets -----------------------------------------------------------------------------------

SETS = pd.DataFrame(
    {"g": [0.5, 2.0, 3.0, 1.0, 0.0], "v1": [-1.0, -1.1, -1.2, -1.3, 1.0]}, list("abcde")
)
BELOW = {"top": ("max", "v1"), "low": ("min", "total"), "end": ("last", "v2")}


def singles(*, jump=True, **options):
    system = cells(3, jump)
    return [run(system, parameters=values, **options) for values in SETS.to_dict("records")]


@pytest.mark.every(4)
@two_forms
@pytest.mark.parametrize("method", ["rk4", "euler", "dopri5"])
@pytest.mark.parametrize("jump", [True, False])
def test_each_set_is_a_run_of_its_own(jump, form, method):
    options = {"output": ["v1", "total", "g"], "method": method}
    if method == "dopri5":
        options["tolerances"] = 1e-8, 1e-7
    found = run(cells(3, jump), parameters=SETS, **options)
    assert list(found.index) == list(np.repeat(SETS.index, 6))
    expected = pd.concat(singles(jump=jump, **options))
    # where there is a jump, roundings decide on the steps that are tried
    tolerance = 1e-7 if jump and method == "dopri5" else 1e-13
    for name in ("time", "v1", "total", "g"):
        np.testing.assert_allclose(found[name], expected[name], rtol=tolerance)


@pytest.mark.every(2)
@two_forms
def test_reductions_on_the_device(form):
    rises = {"up": ("crossing", "v1", -0.95), "never": ("crossing", "v1", 9.0)}
    found = run(cells(3), parameters=SETS, every=2, reduce=BELOW | rises)
    assert list(found.columns) == ["g", "v1", *BELOW, *rises]
    for row, one in zip(
        found.itertuples(), singles(every=2, output=["v1", "v2", "total"]), strict=True
    ):
        assert row.top == pytest.approx(one["v1"].max(), rel=1e-13)
        assert row.low == pytest.approx(one["total"].min(), rel=1e-13)
        assert row.end == pytest.approx(one["v2"].iloc[-1], rel=1e-13)
        v, t = one["v1"].to_numpy(), one["time"].to_numpy()
        after = np.flatnonzero((v[:-1] < -0.95) & (v[1:] >= -0.95))
        assert np.isnan(row.never)
        assert len(after) or np.isnan(row.up)
        for i in after[:1]:
            assert row.up == pytest.approx(np.interp(-0.95, v[i : i + 2], t[i : i + 2]), rel=1e-12)
    assert found["up"].notna().any()
    assert found["up"].isna().any()


@pytest.mark.parametrize(
    "options",
    [
        {"reduce": {"a": ("mean", "v0")}},
        {"reduce": {"a": ("crossing", "v0")}},
        {"reduce": {"a": ("max", "nothing")}},
        {"engine": "host"},
        {"parameters": None, "reduce": BELOW},
        {"parameters": SETS[:0]},
        {"parameters": SETS.astype(complex)},
        {"parameters": SETS.astype(str)},
        {"parameters": SETS.assign(**{SETS.columns[0]: pd.Timestamp(0)})},
        {"parameters": SETS.assign(**{SETS.columns[0]: np.nan})},
        {"parameters": SETS.iloc[:, [0, 0]]},
        {"reduce": {SETS.columns[0]: ("max", "v0")}},
        {"reduce": {5: ("max", "v0")}},
        {"reduce": {"a": ("crossing", "v0", "high")}},
        {"reduce": {"a": ("crossing", "v0", np.nan)}},
    ],
)
def test_wrong_arguments_of_many_sets_are_refused(options):
    with pytest.raises(ParameterError):
        run(cells(3), **{"parameters": SETS, **options})


# -- errors --------------------------------------------------------------------------------------

X = {"x": Number(1)}
FAULTY = {
    "name 'z' is unknown": System("m", {}, {}, X, {"x": Name("z")}, {}),
    "also a parameter": System("m", {"x": 1.0}, {}, X, {"x": Number(0)}, {}),
    "no derivative": System("m", {}, {}, X, {}, {}),
    "no state": System("m", {}, {}, X, {"x": Number(0), "y": Number(0)}, {}),
    "a -> b -> a": System(
        "m", {}, {}, X, {"x": Name("a")}, {"a": Name("b"), "b": do("plus", "a", "x")}
    ),
    "c -> c": System("m", {}, {"c": do("plus", "c", 1)}, X, {"x": Name("c")}, {}),
    "'divide' has 3 operands": System("m", {}, {}, X, {"x": do("divide", 1, 2, 3)}, {}),
    "'wavelet' is unknown": System("m", {}, {}, X, {"x": do("wavelet", 1)}, {}),
    "no value for otherwise": System("m", {}, {}, X, {"x": do("piecewise", 1, 2)}, {}),
}


@pytest.mark.parametrize("message", FAULTY)
def test_systems_without_a_meaning_are_refused(message):
    with pytest.raises(ModelError, match=message):
        run(FAULTY[message])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": -1.0}, "'duration'"),
        ({"step": float("nan")}, "'step'"),
        ({"every": 0}, "'every'"),
        ({"method": "rk5"}, "'method'"),
        ({"engine": "gpu"}, "'engine'"),
        ({"dtype": "float16"}, "'dtype'"),
        ({"output": ["v01"]}, "Did you mean 'v1'"),
        ({"parameters": {"h": 1.0}}, "'parameters'"),
        ({"tolerances": (0, 1), "method": "dopri5"}, "'tolerances' .* two positive"),
        ({"tolerances": 1e-6, "method": "dopri5"}, "'tolerances' .* two positive"),
        ({"duration": "1"}, "'duration'"),
        ({"duration": True}, "'duration'"),
        ({"step": True}, "'step'"),
        ({"tolerances": (1e-6, True), "method": "dopri5"}, "'tolerances' .* two positive"),
        ({"duration": 1e18, "step": 1e-18}, "2\\^53 steps"),
        ({"every": "a"}, "'every'"),
        ({"output": 5}, "'output'"),
        ({"output": [1]}, "'output'"),
        ({"parameters": {"g": "1"}}, "real numbers"),
        ({"parameters": {"g": 1j}}, "real numbers"),
        ({"parameters": {"g": [1, 2]}}, "one number"),
        ({"parameters": {"g": np.nan}}, "finite"),
        ({"parameters": [1]}, "'parameters'"),
        ({"parameters": {1: 1}}, "'parameters'"),
        ({"optimise": True}, "'optimise'"),
        ({"progress": 5}, "'progress'"),
        ({"duration": 10**400}, "'duration'"),
        ({"step": 10**400}, "'step'"),
        ({"parameters": 5}, "'parameters'"),
        ({"checkpoint": 5}, "'checkpoint'"),
        ({"checkpoint": b"c"}, "'checkpoint'"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        run(cells(2), **options)


def test_states_that_are_not_finite_are_an_error():
    blow_up = System("m", {}, {}, X, {"x": do("power", "x", 2)}, {})
    sets = pd.DataFrame({"x": [-1.0, 1.0]}, list("ab"))
    with pytest.raises(PrecisionError, match="set 'b' vanish"):
        run(blow_up, method="dopri5", parameters=sets)
    with pytest.raises(PrecisionError, match="'x' is not finite"):
        run(blow_up, duration=100.0, method="euler", step=1.0)
    with pytest.raises(PrecisionError, match="vanish at time 1"):
        run(blow_up, method="dopri5", engine="host")


def test_outputs_that_the_host_cannot_hold_are_refused_before_the_run():
    for options in ({}, {"parameters": pd.DataFrame({"v0": [0.0, 1.0]})}):
        with pytest.raises(DeviceMemoryError, match="return every k-th step, with every=k"):
            run(cells(2), duration=1e12, step=1e-3, **options)
