"""CellML: connections, conversions of units and of the time; what is refused."""

import numpy as np
import pytest
from system_oracle import Oracle

from pyapsp.errors import ModelError
from pyapsp.simulation.frontend import read_model

TIMES = np.linspace(0.0, 2.0, 5)
MATH = 'xmlns="http://www.w3.org/1998/Math/MathML"'
UNITS = (
    '<units name="mV"><unit units="volt" prefix="milli"/></units>'
    '<units name="ms"><unit units="second" prefix="-3"/></units>'
    '<units name="per_ms"><unit units="ms" exponent="-1"/></units>'
    '<units name="minute"><unit units="second" multiplier="60"/></units>'
)


def document(*components, connections="", units=UNITS, version="1.0"):
    return (
        f'<model xmlns="http://www.cellml.org/cellml/{version}#" name="m">{units}'
        f"{''.join(components)}{connections}</model>"
    )


def component(name, variables, *equations, more=""):
    """Return a component; variables are (name, units, initial value or interface)."""
    texts = []
    for variable, unit, given in variables:
        kind = "public_interface" if given in ("in", "out") else "initial_value"
        more_text = f' {kind}="{given}"' if given else ""
        texts.append(f'<variable name="{variable}" units="{unit}"{more_text}/>')
    math = f"<math {MATH}>{''.join(equations)}</math>" if equations else ""
    return f'<component name="{name}">{"".join(texts)}{math}{more}</component>'


def connect(one, other, *pairs):
    mapped = "".join(f'<map_variables variable_1="{a}" variable_2="{b}"/>' for a, b in pairs)
    ends = f'component_1="{one}" component_2="{other}"'
    return f"<connection><map_components {ends}/>{mapped}</connection>"


def equation(left, right):
    return f"<apply><eq/>{left}{right}</apply>"


def ci(name):
    return f"<ci>{name}</ci>"


def rate(name, time="t"):
    return f"<apply><diff/><bvar>{ci(time)}</bvar>{ci(name)}</apply>"


def minus(name):
    return f"<apply><minus/>{ci(name)}</apply>"


def read(tmp_path, text):
    path = tmp_path / "m.cellml"
    path.write_text(text)
    return read_model(path)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_connected_variables_are_converted(version, tmp_path):
    # The time is in minutes where it is defined, and in seconds in `cell`; V is in mV there.
    text = document(
        component("environment", [("t", "minute", "out")]),
        component("cell", [("t", "second", "in"), ("V", "mV", "500"), ("I", "volt", "in")],
                  equation(rate("V"), ci("I"))),
        component("other", [("v", "volt", "in"), ("t", "ms", "in"), ("w", "volt", ""),
                            ("I", "mV", "")],
                  equation(ci("w"), f"<apply><times/>{ci('v')}{ci('t')}</apply>"),
                  equation(ci("I"), "<cn>30000</cn>")),
        connections=connect("environment", "cell", ("t", "t"))
        + connect("environment", "other", ("t", "t"))
        + connect("cell", "other", ("V", "v"), ("I", "I")),
        version=version,
    )  # fmt: skip
    system = read(tmp_path, text)
    assert (system.time_unit, system.units["cell.V"]) == ("minute", "mV")
    assert set(system.initial) == {"cell.V"}
    assert (set(system.constants), set(system.functions)) == ({"other.I"}, {"other.w"})
    values = Oracle(system).solve(TIMES)
    # dV/dt is 30 (volt as `cell` has it) mV a second, 1,800 mV a minute
    np.testing.assert_allclose(values["cell.V"], 500 + 1800 * TIMES, 1e-9)
    np.testing.assert_allclose(values["other.w"], values["cell.V"] / 1000 * TIMES * 60000, 1e-9)


def test_initial_values_may_be_names_and_come_from_elsewhere(tmp_path):
    text = document(
        component("a", [("t", "second", ""), ("x", "volt", "start"), ("start", "volt", "2")],
                  equation(rate("x"), minus("x"))),
        component("b", [("k", "mV", "7000"), ("l", "volt", "")], equation(ci("l"), ci("k"))),
        component("c", [("k", "volt", "in")]),
        connections=connect("b", "c", ("k", "k")),
    )  # fmt: skip
    system = read(tmp_path, text)
    assert dict(system.parameters) == {"a.start": 2.0, "b.k": 7000.0}
    values = Oracle(system, **{"a.start": 3.0}).solve(TIMES)
    np.testing.assert_allclose(values["a.x"], 3 * np.exp(-TIMES), 1e-7)


def test_operators_have_the_defaults_of_mathml(tmp_path):
    variables = [(name, "dimensionless", "") for name in "abc"] + [("x", "dimensionless", "100")]
    text = document(
        component(
            "c",
            variables,
            equation(ci("a"), f"<apply><root/>{ci('x')}</apply>"),
            equation(ci("b"), f"<apply><log/>{ci('x')}</apply>"),
            equation(ci("c"), f"<apply><lt/><cn>1</cn>{ci('x')}<cn>9</cn></apply>"),
        )
    )
    start = Oracle(read(tmp_path, text)).start
    np.testing.assert_allclose([start[f"c.{name}"] for name in "abc"], [10, 2, 0])


def test_degrees_celsius_beside_kelvin(tmp_path):
    """Values are shifted, rates and units for each degree are not."""
    units = UNITS + (
        '<units name="degree"><unit units="celsius"/></units>'
        '<units name="per_degree"><unit units="celsius" exponent="-1"/></units>'
        '<units name="per_kelvin"><unit units="kelvin" exponent="-1"/></units>'
    )
    text = document(
        component("a", [("t", "second", ""), ("T", "celsius", "20"), ("k", "per_degree", "2")],
                  equation(rate("T"), "<cn>10</cn>")),
        component("b", [("T", "kelvin", "in"), ("k", "per_kelvin", "in"), ("x", "kelvin", ""),
                        ("y", "kelvin", "300"), ("z", "dimensionless", "")],
                  equation(ci("x"), f"<apply><plus/>{ci('T')}<cn>1</cn></apply>"),
                  equation(ci("z"), f"<apply><times/>{ci('k')}{ci('T')}</apply>")),
        component("c", [("x", "degree", "in"), ("y", "degree", "in"), ("s", "degree", "start"),
                        ("start", "degree", "5"), ("t", "second", "in"), ("w", "celsius", "")],
                  equation(rate("s"), ci("x")),
                  equation(ci("w"), ci("y"))),
        component("d", [("w", "kelvin", "in"), ("v", "kelvin", "")], equation(ci("v"), ci("w"))),
        connections=connect("a", "b", ("T", "T"), ("k", "k"))
        + connect("b", "c", ("x", "x"), ("y", "y"))
        + connect("a", "c", ("t", "t"))
        + connect("c", "d", ("w", "w")),
        units=units,
    )  # fmt: skip
    system = read(tmp_path, text)
    assert system.units["a.T"] == "celsius"
    values = Oracle(system).solve(TIMES)
    celsius = 20 + 10 * TIMES
    np.testing.assert_allclose(values["a.T"], celsius, 1e-9)
    np.testing.assert_allclose(values["b.x"], celsius + 274.15, 1e-9)
    np.testing.assert_allclose(values["b.z"], 2 * (celsius + 273.15), 1e-9)
    np.testing.assert_allclose(values["c.s"], 5 + 21 * TIMES + 5 * TIMES**2, 1e-7)
    constants = Oracle(system).start
    assert constants["c.w"] == pytest.approx(26.85)
    assert constants["d.v"] == pytest.approx(300)


def test_a_value_at_the_start_may_be_in_other_degrees(tmp_path):
    text = document(
        component("a", [("t", "second", "out"), ("T", "celsius", "out")],
                  equation(rate("T"), "<cn>1</cn>")),
        component("b", [("T", "kelvin", "300")]),
        connections=connect("a", "b", ("T", "T")),
    )  # fmt: skip
    assert Oracle(read(tmp_path, text)).start["a.T"] == pytest.approx(26.85)


TIME = ("t", "second", "")
REFUSED = {
    "import: is not supported": document("<import/>"),
    "reaction: is not supported": document(component("c", [TIME], more="<reaction/>")),
    "variable 'c.x': is defined twice": document(
        component("c", [TIME, ("x", "volt", "1")], equation(ci("x"), "<cn>1</cn>"))
    ),
    "'c.y': is used but not defined": document(
        component("c", [TIME, ("x", "volt", "1"), ("y", "volt", "")], equation(rate("x"), ci("y")))
    ),
    "variable 'c.x': has no initial value": document(
        component("c", [TIME, ("x", "volt", "")], equation(rate("x"), "<cn>1</cn>"))
    ).replace("'c.x'", "c.x"),
    "variable 'c.y': is not defined": document(
        component("c", [TIME, ("x", "volt", "1")], equation(rate("x"), ci("y")))
    ),
    "has other units than": document(
        component("c", [("x", "volt", "1")]),
        component("d", [("x", "second", "in"), ("y", "second", "")], equation(ci("y"), ci("x"))),
        connections=connect("c", "d", ("x", "x")),
    ),
    "units 'none': are not defined": document(
        component("c", [("x", "none", "1"), ("y", "volt", "")], equation(ci("y"), ci("x")))
    ),
    "units 'u': are defined by themselves": document(
        component("c", [("x", "u", "1"), ("y", "volt", "")], equation(ci("y"), ci("x"))),
        units='<units name="u"><unit units="u" exponent="2"/></units>',
    ),
    "are not a positive number of base units": document(
        component("c", [("x", "u", "1"), ("y", "volt", "")], equation(ci("y"), ci("x"))),
        units='<units name="u"><unit units="volt" multiplier="0"/></units>',
    ),
    "'1_0' is not a number of type real": document(
        component("c", [("x", "volt", "")], equation(ci("x"), "<cn>1_0</cn>"))
    ),
    "the left side must be a name": document(
        component("c", [("x", "volt", "1")], equation("<cn>0</cn>", ci("x")))
    ),
    "there is more than one time": document(
        component("c", [TIME, ("s", "second", ""), ("x", "volt", "1"), ("y", "volt", "1")],
                  equation(rate("x"), "<cn>1</cn>"), equation(rate("y", "s"), "<cn>1</cn>"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_supported_is_refused_by_name(message, tmp_path):
    with pytest.raises(ModelError, match=message):
        read(tmp_path, REFUSED[message])
