"""Generated models: sizes of the published ones, and numbers of an implementation by hand."""

import numpy as np
import pytest
from system_oracle import Oracle

from pyapsp.errors import ParameterError
from pyapsp.simulation.expressions import Apply, Name, Number
from pyapsp.simulation.formulas import formula
from pyapsp.simulation.generators import (
    join,
    luo_rudy,
    luo_rudy_line,
    luo_rudy_ring,
    wang_buzsaki,
)


def test_formulas():
    assert formula("-2") == Number(-2.0)
    assert formula("a + b + c*2*d") == Apply(
        "plus", (Name("a"), Name("b"), Apply("times", (Name("c"), Number(2.0), Name("d"))))
    )
    assert formula("root(2, x) if x > 0 and not y <= 1 else -x**2") == Apply(
        "piecewise",
        (
            Apply("root", (Number(2.0), Name("x"))),
            Apply(
                "and",
                (
                    Apply("gt", (Name("x"), Number(0.0))),
                    Apply("not", (Apply("leq", (Name("y"), Number(1.0))),)),
                ),
            ),
            Apply("minus", (Apply("power", (Name("x"), Number(2.0))),)),
        ),
    )


@pytest.mark.parametrize("text", ["", "a +", "f(x)", "exp(x, y)", "x[1]", "'a'", "a < b < c"])
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(ParameterError, match="must be a formula"):
        formula(text)


def gate(v):
    """Return what dm/dt = alpha (1 - m) - beta m needs for the six gates of Luo and Rudy."""
    e = np.exp
    return {
        "m": (0.32 * (v + 47.13) / (1 - e(-0.1 * (v + 47.13))), 0.08 * e(-v / 11)),
        "h": (0, 1 / (0.13 * (1 + e((v + 10.66) / -11.1))))
        if v >= -40
        else (0.135 * e((80 + v) / -6.8), 3.56 * e(0.079 * v) + 3.1e5 * e(0.35 * v)),
        "j": (0, 0.3 * e(-2.535e-7 * v) / (1 + e(-0.1 * (v + 32))))
        if v >= -40
        else (
            (-1.2714e5 * e(0.2444 * v) - 3.474e-5 * e(-0.04391 * v))
            * ((v + 37.78) / (1 + e(0.311 * (v + 79.23)))),
            0.1212 * e(-0.01052 * v) / (1 + e(-0.1378 * (v + 40.14))),
        ),
        "d": (
            0.095 * e(-0.01 * (v - 5)) / (1 + e(-0.072 * (v - 5))),
            0.07 * e(-0.017 * (v + 44)) / (1 + e(0.05 * (v + 44))),
        ),
        "f": (
            0.012 * e(-0.008 * (v + 28)) / (1 + e(0.15 * (v + 28))),
            0.0065 * e(-0.02 * (v + 30)) / (1 + e(-0.2 * (v + 30))),
        ),
        "X": (
            0.0005 * e(0.083 * (v + 50)) / (1 + e(0.057 * (v + 50))),
            0.0013 * e(-0.06 * (v + 20)) / (1 + e(-0.04 * (v + 20))),
        ),
    }


def luo_rudy_by_hand(y, stimulus):
    v, ca, e = y["V"], y["Ca"], np.exp
    rates = {name: a * (1 - y[name]) - b * y[name] for name, (a, b) in gate(v).items()}
    e_k1 = 26.7138 * np.log(5.4 / 145)
    a = 1.02 / (1 + e(0.2385 * (v - e_k1 - 59.215)))
    b = 0.49124 * e(0.08032 * (v - e_k1 + 5.476)) + e(0.06175 * (v - e_k1 - 594.31))
    b /= 1 + e(-0.5143 * (v - e_k1 + 4.753))
    x_i = 1 if v <= -100 else 2.837 * (e(0.04 * (v + 77)) - 1) / (v + 77) / e(0.04 * (v + 35))
    e_k = 26.7138 * np.log((5.4 + 0.01833 * 140) / (145 + 0.01833 * 18))
    i_si = 0.09 * y["d"] * y["f"] * (v - 7.7 + 13.0287 * np.log(ca))
    current = 23 * y["m"] ** 3 * y["h"] * y["j"] * (v - 26.7138 * np.log(140 / 18)) + i_si
    current += 0.282 * y["X"] * x_i * (v - e_k) + 0.6047 * a / (a + b) * (v - e_k1)
    current += 0.0183 / (1 + e((7.488 - v) / 5.98)) * (v - e_k1) + 0.03921 * (v + 59.87)
    return {**rates, "V": -(stimulus + current), "Ca": -1e-4 * i_si + 0.07 * (1e-4 - ca)}


def test_a_cell_has_the_published_currents_and_fires():
    system = luo_rudy()
    assert (len(system.functions), len(system.initial)) == (31, 8)
    oracle, draw = Oracle(system), np.random.default_rng(3)
    for time, stimulus in ((0.0, 0.0), (20.0, -10.0), (24.9, -10.0), (25.0, 0.0)):
        for v in (-105.0, -84.0, -40.0, *draw.uniform(-95, 50, 5)):
            y = dict(zip("mhjdfX", draw.uniform(0, 1, 6), strict=True))
            y |= {"V": v, "Ca": 10 ** draw.uniform(-4, -2)}
            wanted = luo_rudy_by_hand(y, stimulus)
            got = oracle.rhs(time, np.array([y[name] for name in oracle.names]))
            np.testing.assert_allclose(got, [wanted[name] for name in oracle.names], 1e-9, 1e-12)
    potential = oracle.solve(np.linspace(0, 500, 101), rtol=1e-6, atol=1e-8)["V"]
    assert potential[:5].max() < -84  # at rest before the pulse
    assert potential.max() > 20
    assert -85 < potential[-1] < -80


def test_limits_where_quotients_are_undefined():
    oracle = Oracle(luo_rudy())
    for v in (-47.13, -77.0):
        near = [oracle.rhs(0.0, np.r_[v + shift, oracle.y0[1:]]) for shift in (-1e-6, 0.0, 1e-6)]
        np.testing.assert_allclose(near[1], (near[0] + near[2]) / 2, 1e-6, 1e-9)


@pytest.mark.parametrize("cells", [2, 5])
def test_a_line_has_its_counts_and_conserves_current(cells):
    system = luo_rudy_line(cells)
    assert (len(system.functions), len(system.initial)) == (33 * cells - 2, 8 * cells)
    coupled, free = Oracle(system), Oracle(system, G_gap=0.0)
    y = np.tile(free.y0[:8], cells)
    y[::8] += 7.0 * np.arange(cells) ** 2
    change = coupled.rhs(0.0, y)[::8] - free.rhs(0.0, y)[::8]
    wanted = [0.29 * (np.diff(y[::8], append=y[-8])[i] - np.diff(y[::8], prepend=y[0])[i])
              for i in range(cells)]  # fmt: skip
    np.testing.assert_allclose(change, wanted, 1e-9, 1e-9)
    pulsed = coupled.rhs(21.0, y)[::8] - coupled.rhs(0.0, y)[::8]
    np.testing.assert_allclose(pulsed, [40.0] + [0.0] * (cells - 1), atol=1e-9)


def test_a_ring_couples_its_ends_and_has_two_pulses():
    system = luo_rudy_ring(20)
    assert (len(system.functions), len(system.initial)) == (33 * 20 + 2, 160)
    oracle = Oracle(system)
    y = np.tile(oracle.y0[:8], 20)
    rest = oracle.rhs(0.0, y)[::8]
    for time, cell, current in ((20.5, 0, 80), (548.5, 17, 160)):
        change = oracle.rhs(time, y)[::8] - rest
        np.testing.assert_allclose(change, np.eye(20)[cell] * current, atol=1e-9)
    y[0] += 10
    change = oracle.rhs(0.0, y)[::8] - rest
    np.testing.assert_allclose(change[[1, 19]], 1.1, 1e-9)


def test_neurons_inhibit_each_other():
    system = wang_buzsaki(8)
    assert (len(system.functions), len(system.initial)) == (96, 32)
    assert len(system.functions["neuron[3].I_syn"].operands[1].operands[0].operands) == 7
    spikes = []
    for oracle in (Oracle(system), Oracle(system, G_syn=0.0)):
        values = oracle.solve(np.linspace(0, 100, 201), rtol=1e-6, atol=1e-8)
        above = np.array([values[f"neuron[{i}].V"] > 0 for i in range(1, 9)])
        spikes.append((np.diff(above.astype(int)) == 1).sum())
    assert 8 <= spikes[0] < 0.8 * spikes[1]


def test_systems_are_joined_side_by_side():
    one, two = luo_rudy(), wang_buzsaki(2)
    both = join(a=one, b=two)
    oracle = Oracle(both)
    alone = [Oracle(system).rhs(21.0, Oracle(system).y0) for system in (one, two)]
    np.testing.assert_array_equal(oracle.rhs(21.0, oracle.y0), np.concatenate(alone))
    assert both.time_unit == "ms"
    assert both.units["a.V"] == "mV"


@pytest.mark.parametrize(
    "call",
    [lambda: luo_rudy_line(1), lambda: luo_rudy_ring(17), lambda: wang_buzsaki(1), join],
)
def test_sizes_that_make_no_model_are_refused(call):
    with pytest.raises(ParameterError):
        call()
