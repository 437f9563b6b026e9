"""Models of any size, from published equations: cardiac cells in lines and rings, neurons.

References
----------
C. Luo, Y. Rudy, "A model of the ventricular cardiac action potential. Depolarization,
repolarization, and their interaction", Circulation Research 68(6), 1991,
doi:10.1161/01.RES.68.6.1501.
X.-J. Wang, G. Buzsáki, "Gamma oscillation by synaptic inhibition in a hippocampal interneuronal
network model", Journal of Neuroscience 16(20), 1996, doi:10.1523/JNEUROSCI.16-20-06402.1996.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping

from pyapsp.base.errors import ParameterError
from pyapsp.graph.validation import integer
from pyapsp.simulation.expressions import Apply, Expression, Name, Number, renamed
from pyapsp.simulation.formulas import formula
from pyapsp.simulation.system import System

__all__ = ["join", "luo_rudy", "luo_rudy_line", "luo_rudy_ring", "wang_buzsaki"]

# Concentrations in mmol/l, conductances in mS/cm², potentials in mV, currents in µA/cm².
_CELL_PARAMETERS = {
    "C": 1.0,
    "RT_F": 26.7138,  # R T / F at 310 K
    "Na_o": 140.0,
    "Na_i": 18.0,
    "K_o": 5.4,
    "K_i": 145.0,
    "PR_NaK": 0.01833,
    "G_Na": 23.0,
    "G_si": 0.09,
    "G_Kp": 0.0183,
    "G_b": 0.03921,
    "E_b": -59.87,
}

# The thirty functions of a cell. Where a quotient is 0/0 its limit is given.
_CELL_FUNCTIONS = {
    "E_Na": "RT_F*ln(Na_o/Na_i)",
    "alpha_m": "0.32*(V + 47.13)/(1 - exp(-0.1*(V + 47.13))) if V != -47.13 else 3.2",
    "beta_m": "0.08*exp(-V/11)",
    "alpha_h": "0 if V >= -40 else 0.135*exp((80 + V)/-6.8)",
    "beta_h": "1/(0.13*(1 + exp((V + 10.66)/-11.1))) if V >= -40"
    " else 3.56*exp(0.079*V) + 3.1e5*exp(0.35*V)",
    "alpha_j": "0 if V >= -40 else (-1.2714e5*exp(0.2444*V) - 3.474e-5*exp(-0.04391*V))"
    "*(V + 37.78)/(1 + exp(0.311*(V + 79.23)))",
    "beta_j": "0.3*exp(-2.535e-7*V)/(1 + exp(-0.1*(V + 32))) if V >= -40"
    " else 0.1212*exp(-0.01052*V)/(1 + exp(-0.1378*(V + 40.14)))",
    "I_Na": "G_Na*m*m*m*h*j*(V - E_Na)",
    "E_si": "7.7 - 13.0287*ln(Ca)",
    "alpha_d": "0.095*exp(-0.01*(V - 5))/(1 + exp(-0.072*(V - 5)))",
    "beta_d": "0.07*exp(-0.017*(V + 44))/(1 + exp(0.05*(V + 44)))",
    "alpha_f": "0.012*exp(-0.008*(V + 28))/(1 + exp(0.15*(V + 28)))",
    "beta_f": "0.0065*exp(-0.02*(V + 30))/(1 + exp(-0.2*(V + 30)))",
    "I_si": "G_si*d*f*(V - E_si)",
    "G_K": "0.282*root(2, K_o/5.4)",
    "E_K": "RT_F*ln((K_o + PR_NaK*Na_o)/(K_i + PR_NaK*Na_i))",
    "alpha_X": "0.0005*exp(0.083*(V + 50))/(1 + exp(0.057*(V + 50)))",
    "beta_X": "0.0013*exp(-0.06*(V + 20))/(1 + exp(-0.04*(V + 20)))",
    "X_i": "1 if V <= -100 else (2.837*(exp(0.04*(V + 77)) - 1)/((V + 77)*exp(0.04*(V + 35)))"
    " if V != -77 else 2.837*0.04*exp(1.68))",
    "I_K": "G_K*X*X_i*(V - E_K)",
    "G_K1": "0.6047*root(2, K_o/5.4)",
    "E_K1": "RT_F*ln(K_o/K_i)",
    "alpha_K1": "1.02/(1 + exp(0.2385*(V - E_K1 - 59.215)))",
    "beta_K1": "(0.49124*exp(0.08032*(V - E_K1 + 5.476)) + exp(0.06175*(V - E_K1 - 594.31)))"
    "/(1 + exp(-0.5143*(V - E_K1 + 4.753)))",
    "K1_infinity": "alpha_K1/(alpha_K1 + beta_K1)",
    "I_K1": "G_K1*K1_infinity*(V - E_K1)",
    "E_Kp": "RT_F*ln(K_o/K_i)",
    "Kp": "1/(1 + exp((7.488 - V)/5.98))",
    "I_Kp": "G_Kp*Kp*(V - E_Kp)",
    "I_b": "G_b*(V - E_b)",
}
_CELL_DERIVATIVES = {
    "V": "-(I_stim + I_Na + I_si + I_K + I_K1 + I_Kp + I_b)/C",
    **{gate: f"alpha_{gate}*(1 - {gate}) - beta_{gate}*{gate}" for gate in "mhjdfX"},
    "Ca": "-1e-4*I_si + 0.07*(1e-4 - Ca)",
}
# At rest each gate is where its rates balance.
_CELL_INITIAL = {
    "V": "-84.5",
    **{gate: f"alpha_{gate}/(alpha_{gate} + beta_{gate})" for gate in "mhjdfX"},
    "Ca": "1.8e-4",
}
_CURRENTS = ("I_Na", "I_si", "I_K", "I_K1", "I_Kp", "I_b")
_CELL_UNITS = {"V": "mV", "Ca": "mmol/l"} | dict.fromkeys(_CURRENTS, "uA/cm2")

_NEURON_PARAMETERS = {
    "C": 1.0,
    "G_Na": 35.0,
    "E_Na": 55.0,
    "G_K": 9.0,
    "E_K": -90.0,
    "G_L": 0.1,
    "E_L": -65.0,
    "phi": 5.0,
    "G_syn": 0.1,
    "E_syn": -75.0,
    "alpha": 12.0,
    "beta": 0.1,
}
_NEURON_FUNCTIONS = {
    "alpha_m": "0.1*(V + 35)/(1 - exp(-0.1*(V + 35))) if V != -35 else 1",
    "beta_m": "4*exp(-(V + 60)/18)",
    "alpha_h": "0.07*exp(-(V + 58)/20)",
    "beta_h": "1/(exp(-0.1*(V + 28)) + 1)",
    "alpha_n": "0.01*(V + 34)/(1 - exp(-0.1*(V + 34))) if V != -34 else 0.1",
    "beta_n": "0.125*exp(-(V + 44)/80)",
    "m_infinity": "alpha_m/(alpha_m + beta_m)",
    "I_Na": "G_Na*m_infinity*m_infinity*m_infinity*h*(V - E_Na)",
    "I_K": "G_K*n*n*n*n*(V - E_K)",
    "I_L": "G_L*(V - E_L)",
    "F": "1/(1 + exp(-V/2))",
}
_NEURON_DERIVATIVES = {
    "V": "(I_app - I_Na - I_K - I_L - I_syn)/C",
    "h": "phi*(alpha_h*(1 - h) - beta_h*h)",
    "n": "phi*(alpha_n*(1 - n) - beta_n*n)",
    "s": "alpha*F*(1 - s) - beta*s",
}


class _Builder:
    """Collects the quantities of cells whose own names begin with ``cell[i].``."""

    def __init__(self) -> None:
        self.parameters: dict[str, float] = {}
        self.initial: dict[str, Expression] = {}
        self.derivatives: dict[str, Expression] = {}
        self.functions: dict[str, Expression] = {}
        self.units: dict[str, str] = {}

    def add(
        self,
        prefix: str,
        own: Mapping[str, str],
        into: dict[str, Expression],
        shared: Mapping[str, str],
    ) -> None:
        """Add formulas; names that are not in ``shared`` are those of the cell."""

        def new(name: str) -> str:
            return shared.get(name) or sys.intern(prefix + name)

        for name, text in own.items():
            into[sys.intern(prefix + name)] = renamed(formula(text), new)

    def system(self, name: str) -> System:
        """Return the system of what was added."""
        return System(
            name=name,
            parameters=self.parameters,
            constants={},
            initial=self.initial,
            derivatives=self.derivatives,
            functions=self.functions,
            time_unit="ms",
            units=self.units,
        )


def luo_rudy() -> System:
    """Return the model of Luo and Rudy of 1991: one ventricular cell that a pulse stimulates.

    It has 31 functions and 8 states. The pulse ``I_stim`` has the parameters ``stim_start``,
    ``stim_duration`` (ms) and ``stim_current`` (µA/cm², negative depolarizes).
    """
    model = _Builder()
    _add_pulse(model, "I_stim", "stim", start=20.0, duration=5.0, current=-10.0)
    model.parameters |= _CELL_PARAMETERS
    _add_cell(model, "", "I_stim", {name: name for name in _CELL_PARAMETERS})
    return model.system("Luo-Rudy")


def luo_rudy_line(cells: int) -> System:
    """Return a line of Luo-Rudy cells, coupled by gap junctions; a pulse stimulates the first.

    Parameters
    ----------
    cells : int
        At least 2. There are 33 · cells - 2 functions and 8 · cells states: each cell has 30
        functions, each of the cells - 1 junctions has two currents, and each cell except the
        last adds its currents. The pulse is one more.
    """
    cells = integer("cells", "luo_rudy_line", cells, 2)
    model = _coupled(0.29)
    _add_pulse(model, "I_stim", "stim", start=20.0, duration=5.0, current=-40.0)
    for i in range(1, cells):
        _add_junction(model, i, i + 1)
    for i in range(1, cells):
        before = Name(f"junction[{i - 1}].I_2") if i > 1 else Name("I_stim")
        _add_sum(model, i, (before, Name(f"junction[{i}].I_1")))
    for i in range(1, cells + 1):
        into = f"cell[{i}].I_sum" if i < cells else f"junction[{i - 1}].I_2"
        _add_cell(model, f"cell[{i}].", into, {name: name for name in _CELL_PARAMETERS})
    return model.system(f"LR-{cells}")


def luo_rudy_ring(cells: int = 80) -> System:
    """Return a ring of Luo-Rudy cells with two pulses, S1 at the first cell and S2 at another.

    S1 starts two waves, which meet and end. S2 comes when the cells before the eighteenth can be
    excited again and those after it cannot: one wave runs back, and with 80 cells it goes round
    the ring again and again. If ``S2_current`` is 0 all cells rest after 600 ms.

    Parameters
    ----------
    cells : int
        At least 18. There are 33 · cells + 2 functions and 8 · cells states.
    """
    cells = integer("cells", "luo_rudy_ring", cells, 18)
    model = _coupled(0.11)  # weak: a wave takes longer to go round than a cell to recover
    _add_pulse(model, "I_S1", "S1", start=20.0, duration=2.0, current=-80.0)
    _add_pulse(model, "I_S2", "S2", start=548.0, duration=2.0, current=-160.0)
    for i in range(1, cells + 1):
        _add_junction(model, i, i % cells + 1)
    pulses = {1: Name("I_S1"), 18: Name("I_S2")}
    for i in range(1, cells + 1):
        before = Name(f"junction[{(i - 2) % cells + 1}].I_2")
        terms = (before, Name(f"junction[{i}].I_1"))
        _add_sum(model, i, (*terms, pulses[i]) if i in pulses else terms)
        _add_cell(
            model, f"cell[{i}].", f"cell[{i}].I_sum", {name: name for name in _CELL_PARAMETERS}
        )
    return model.system(f"LR-Ring-{cells}")


def wang_buzsaki(neurons: int = 100, seed: int = 1) -> System:
    """Return the network of Wang and Buzsáki of 1996: all neurons inhibit all others.

    Parameters
    ----------
    neurons : int
        At least 2. There are 12 functions and 4 states a neuron. The synaptic current of each
        neuron has a sum over all others.
    seed : int
        Of the initial potentials and of the applied currents, which have a mean of 1 µA/cm² and
        a standard deviation of 0.03 µA/cm².
    """
    neurons = integer("neurons", "wang_buzsaki", neurons, 2)
    seed = integer("seed", "wang_buzsaki", seed, 0)
    model, draw = _Builder(), random.Random(seed)
    model.parameters |= _NEURON_PARAMETERS
    shared = {name: name for name in _NEURON_PARAMETERS}
    initial = {
        "h": "alpha_h/(alpha_h + beta_h)",
        "n": "alpha_n/(alpha_n + beta_n)",
        "s": "0",
    }
    for i in range(1, neurons + 1):
        prefix = f"neuron[{i}]."
        model.parameters[f"{prefix}I_app"] = draw.gauss(1.0, 0.03)
        model.initial[f"{prefix}V"] = Number(draw.uniform(-70.0, -50.0))
        model.add(prefix, initial, model.initial, shared)
        model.add(prefix, _NEURON_DERIVATIVES, model.derivatives, shared)
        model.add(prefix, _NEURON_FUNCTIONS, model.functions, shared)
        others = tuple(Name(f"neuron[{k}].s") for k in range(1, neurons + 1) if k != i)
        mean = Apply("divide", (Apply("plus", others), Number(float(neurons - 1))))
        driven = Apply("minus", (Name(f"{prefix}V"), Name("E_syn")))
        model.functions[f"{prefix}I_syn"] = Apply("times", (Name("G_syn"), mean, driven))
        model.units[f"{prefix}V"] = "mV"
    return model.system(f"Wang-Buzsaki-{neurons}")


def join(**systems: System) -> System:
    """Return systems side by side as one; names begin with those of the arguments and a dot.

    Raises
    ------
    ParameterError
        There is no system, or their times differ in start or unit.
    """
    if len({(system.start, system.time_unit) for system in systems.values()}) != 1:
        rule = "systems with the same start and unit of the time"
        raise ParameterError.of("systems", "join", rule, list(systems))
    parts: dict[str, dict[str, Expression]] = {
        part: {
            f"{name}.{key}": renamed(value, _prefixed(name + "."))
            for name, system in systems.items()
            for key, value in getattr(system, part).items()
        }
        for part in ("constants", "initial", "derivatives", "functions", "resets")
    }
    first = next(iter(systems.values()))
    return System(
        name="+".join(systems),
        parameters={
            f"{name}.{key}": value
            for name, system in systems.items()
            for key, value in system.parameters.items()
        },
        **parts,
        start=first.start,
        time_unit=first.time_unit,
        units={
            f"{name}.{key}": unit
            for name, system in systems.items()
            for key, unit in system.units.items()
        },
    )


def _prefixed(prefix: str) -> Callable[[str], str]:
    return lambda name: name if name == "time" else prefix + name


def _coupled(conductance: float) -> _Builder:
    """Return a model with the conductance of junctions, in mS per cm² of membrane."""
    model = _Builder()
    model.parameters |= {**_CELL_PARAMETERS, "G_gap": conductance}
    return model


def _add_pulse(
    model: _Builder, name: str, prefix: str, start: float, duration: float, current: float
) -> None:
    model.parameters |= {
        f"{prefix}_start": start,
        f"{prefix}_duration": duration,
        f"{prefix}_current": current,
    }
    model.functions[name] = formula(
        f"{prefix}_current if time >= {prefix}_start"
        f" and time < {prefix}_start + {prefix}_duration else 0"
    )
    model.units[name] = "uA/cm2"


def _add_cell(model: _Builder, prefix: str, stimulus: str, shared: Mapping[str, str]) -> None:
    shared = {**shared, "I_stim": stimulus}
    model.add(prefix, _CELL_FUNCTIONS, model.functions, shared)
    model.add(prefix, _CELL_DERIVATIVES, model.derivatives, shared)
    model.add(prefix, _CELL_INITIAL, model.initial, shared)
    model.units |= {prefix + name: unit for name, unit in _CELL_UNITS.items()}


def _add_junction(model: _Builder, one: int, other: int) -> None:
    """Add the currents that leave two cells through the junction between them."""
    for name, left, right in (("I_1", one, other), ("I_2", other, one)):
        difference = Apply("minus", (Name(f"cell[{left}].V"), Name(f"cell[{right}].V")))
        model.functions[f"junction[{one}].{name}"] = Apply("times", (Name("G_gap"), difference))


def _add_sum(model: _Builder, cell: int, terms: tuple[Expression, ...]) -> None:
    model.functions[f"cell[{cell}].I_sum"] = Apply("plus", terms)
