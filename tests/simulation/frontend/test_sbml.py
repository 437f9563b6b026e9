"""SBML: what each construct means, against solutions in closed form; what is refused."""

import numpy as np
import pytest
from system_oracle import Oracle

import pyapsp
from pyapsp.errors import ModelError
from pyapsp.simulation.frontend import read_model

TIMES = np.linspace(0.0, 2.0, 5)
CORE = "http://www.sbml.org/sbml/level3/version2/core"
MATH = "http://www.w3.org/1998/Math/MathML"
HEAD = f'<sbml xmlns="{CORE}" level="3" version="2"><model id="m" timeUnits="second">'


def document(*parts):
    """Return a model from (list, items) pairs; items are XML."""
    lists = "".join(f"<listOf{name}>{items}</listOf{name}>" for name, items in parts)
    return f"{HEAD}{lists}</model></sbml>"


def math(content):
    return f'<math xmlns="{MATH}">{content}</math>'


def call(operator, *operands):
    """Return MathML; operands are names, numbers or MathML."""
    texts = [
        part
        if str(part).startswith("<")
        else f"<ci>{part}</ci>"
        if str(part)[0].isalpha()
        else f"<cn>{part}</cn>"
        for part in operands
    ]
    head = operator if operator.startswith("<") else f"<{operator}/>"
    return f"<apply>{head}{''.join(texts)}</apply>"


def symbol(name, text):
    url = f"http://www.sbml.org/sbml/symbols/{name}"
    return f'<csymbol encoding="text" definitionURL="{url}">{text}</csymbol>'


def compartment(name="c", size="2", **more):
    return item(
        "compartment", id=name, size=size, spatialDimensions="3", **{"constant": "true"} | more
    )


def species(name, **more):
    fixed = dict.fromkeys(("hasOnlySubstanceUnits", "boundaryCondition", "constant"), "false")
    return item("species", id=name, compartment="c", **fixed | more)


def parameter(name, value=None, **more):
    given = {} if value is None else {"value": value}
    return item("parameter", id=name, **given, **{"constant": "true"} | more)


def item(tag, content="", **attributes):
    texts = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{tag}{texts}>{content}</{tag}>"


def reaction(law, reactants="", products="", name="r", local=""):
    sides = [
        f"<listOf{side}>"
        + "".join(
            item("speciesReference", species=one, stoichiometry=count, constant="true", **extra)
            for one, count, extra in (
                (*part.split("*"), {}) if isinstance(part, str) else part for part in given
            )
        )
        + f"</listOf{side}>"
        for side, given in (("Reactants", reactants), ("Products", products))
        if given
    ]
    law = item(
        "kineticLaw",
        math(law) + (f"<listOfLocalParameters>{local}</listOfLocalParameters>" if local else ""),
    )
    return item("reaction", "".join(sides) + law, id=name, reversible="false")


def function(name, arguments, body):
    bound = "".join(f"<bvar><ci>{argument}</ci></bvar>" for argument in arguments)
    return item("functionDefinition", math(f"<lambda>{bound}{body}</lambda>"), id=name)


def rule(kind, variable, content):
    return item(f"{kind}Rule", math(content), variable=variable)


def initially(variable, content):
    return item("initialAssignment", math(content), symbol=variable)


TIME = symbol("time", "t")
EARLY = call("lt", 0, TIME, 1.2)
CELL = ("Compartments", compartment())
DECAY = call("times", "k", "A", "c")


def read(folder, text):
    path = folder / "m.xml"
    path.write_text(text)
    return read_model(path)


# Name: the parts of a model, and what quantities are at time t.
CASES = {
    "concentrations change by flows over volumes": (
        [
            CELL,
            ("Species", species("A", initialAmount="3") + species("B", initialConcentration="1")),
            ("Parameters", parameter("k", "0.5")),
            ("Reactions", reaction(DECAY, ["A*1"], ["B*2"])),
        ],
        {
            "A": lambda t: 1.5 * np.exp(-0.5 * t),
            "B": lambda t: 1 + 3 * (1 - np.exp(-0.5 * t)),
            "r": lambda t: 1.5 * np.exp(-0.5 * t),
        },
    ),
    "amounts change by flows": (
        [
            CELL,
            ("Species", species("A", initialConcentration="3", hasOnlySubstanceUnits="true")),
            ("Parameters", parameter("k", "0.5")),
            ("Reactions", reaction(call("times", "k", "A"), ["A*1"])),
        ],
        {"A": lambda t: 6 * np.exp(-0.5 * t)},
    ),
    "in a growing compartment amounts are the states": (
        [
            ("Compartments", compartment(constant="false")),
            ("Species", species("A", initialAmount="4") + species("B", initialConcentration="1")),
            ("Parameters", parameter("k", "0.5") + parameter("x", constant="false")),
            (
                "Rules",
                rule("rate", "c", "<cn>1</cn>")
                + rule("assignment", "x", call(symbol("rateOf", "rateOf"), "B")),
            ),
            ("Reactions", reaction(DECAY, ["A*1"])),
        ],
        {
            "c": lambda t: 2 + t,
            "A": lambda t: 4 * np.exp(-0.5 * t) / (2 + t),
            "B": lambda t: 2 / (2 + t),
            "x": lambda t: -2 / (2 + t) ** 2,
        },
    ),
    "local parameters, boundaries and constant species": (
        [
            CELL,
            (
                "Species",
                species("A", initialAmount="2", boundaryCondition="true")
                + species("B", initialAmount="0"),
            ),
            ("Parameters", parameter("k", "9")),
            (
                "Reactions",
                reaction(DECAY, ["A*1"], ["B*1"], local=item("localParameter", id="k", value="3")),
            ),
        ],
        {
            "A": lambda t: 1 + 0 * t,
            "B": lambda t: 3 * t,
            "r.k": lambda t: 3 + 0 * t,
            "k": lambda t: 9 + 0 * t,
        },
    ),
    "functions are inlined, arguments shadow names": (
        [
            (
                "FunctionDefinitions",
                function("next", "k", call("plus", "k", 1))
                + function("over", "ab", call("minus", call("<ci>next</ci>", "a"), "b")),
            ),
            ("Parameters", parameter("k", "5") + parameter("x", "0", constant="false")),
            ("Rules", rule("rate", "x", call("<ci>over</ci>", "k", 2))),
        ],
        {"x": lambda t: 4 * t},
    ),
    "what an initial assignment gives stays": (
        [
            (
                "Parameters",
                parameter("a") + parameter("b") + parameter("x", "1", constant="false"),
            ),
            (
                "InitialAssignments",
                initially("a", call("times", "x", 3))
                + initially("b", call("plus", "a", 1))
                + initially("x", "<cn>2</cn>"),
            ),
            ("Rules", rule("rate", "x", "<ci>a</ci>")),
        ],
        {"a": lambda t: 6 + 0 * t, "b": lambda t: 7 + 0 * t, "x": lambda t: 2 + 6 * t},
    ),
    "stoichiometries have names": (
        [
            CELL,
            ("Species", species("A", initialAmount="0", conversionFactor="f")),
            ("Parameters", parameter("f", "10")),
            ("InitialAssignments", initially("n", call("plus", 1, 2))),
            ("Reactions", reaction("<cn>1</cn>", products=[("A", "1", {"id": "n"})])),
        ],
        {"A": lambda t: 15 * t, "n": lambda t: 3 + 0 * t},
    ),
    "the operators of MathML": (
        [
            (
                "Parameters",
                "".join(parameter(name, constant="false") for name in "abdefg"),
            ),
            (
                "Rules",
                rule(
                    "assignment",
                    "a",
                    call("root", "<degree><cn>3</cn></degree>", call("plus", 8, TIME)),
                )
                + rule("assignment", "b", call("log", "<logbase><cn>2</cn></logbase>", 8))
                + rule("assignment", "d", call("log", call("plus", 1, TIME)))
                + rule(
                    "assignment",
                    "e",
                    f"<piecewise><piece><cn>1</cn>{EARLY}</piece></piecewise>",
                )
                + rule("assignment", "f", '<cn type="e-notation">2<sep/>-3</cn>')
                + rule(
                    "assignment",
                    "g",
                    call("minus", call("implies", "<true/>", "<false/>"), call("rem", -7, 2)),
                ),
            ),
        ],
        {
            "a": lambda t: np.cbrt(8 + t),
            "b": lambda t: 3 + 0 * t,
            "d": lambda t: np.log10(1 + t),
            "e": lambda t: np.where((t > 0) & (t < 1.2), 1, np.nan),
            "f": lambda t: 0.002 + 0 * t,
            "g": lambda t: 1 + 0 * t,
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_construct_gives_its_solution(name, tmp_path):
    parts, wanted = CASES[name]
    path = tmp_path / "m.xml"
    path.write_text(document(*parts))
    values = Oracle(read_model(path)).solve(TIMES)
    for quantity, solution in wanted.items():
        np.testing.assert_allclose(values[quantity], solution(TIMES), 1e-7, 1e-9, err_msg=quantity)


def test_quantities_are_sorted_by_what_they_depend_on(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(
        document(
            (
                "Parameters",
                parameter("p", "2", units="second")
                + "".join(parameter(name, constant="false") for name in "qrs"),
            ),
            ("InitialAssignments", initially("s", "<cn>0</cn>")),
            (
                "Rules",
                rule("assignment", "q", call("times", "p", 2))
                + rule("assignment", "r", call("times", "q", "s"))
                + rule("rate", "s", "<ci>q</ci>"),
            ),
        )
    )
    system = read_model(path)
    assert (system.name, system.time_unit, system.units) == ("m", "second", {"p": "second"})
    assert dict(system.parameters) == {"p": 2.0}
    assert (set(system.constants), set(system.functions)) == ({"q"}, {"r"})
    assert set(system.initial) == set(system.derivatives) == {"s"}


def test_a_model_of_constants_alone_is_simulated(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(document(("Parameters", parameter("p", "INF") + parameter("q", "NaN"))))
    frame = pyapsp.simulate(path, duration=1, step=0.5, output=["p", "q"])
    np.testing.assert_array_equal(frame, [[t, np.inf, np.nan] for t in (0.0, 0.5, 1.0)])


def test_submodels_are_merged(tmp_path):
    comp = "http://www.sbml.org/sbml/level3/version1/comp/version1"
    inner = document(
        ("Parameters", parameter("x", "1", constant="false")),
        ("Rules", rule("rate", "x", call("minus", "x"))),
    )
    inner = inner[len(HEAD) : -len("</model></sbml>")]
    path = tmp_path / "m.xml"
    path.write_text(
        f'<sbml xmlns="{CORE}" xmlns:comp="{comp}" level="3" version="2" comp:required="true">'
        '<model id="m"><comp:listOfSubmodels><comp:submodel comp:id="s" comp:modelRef="d"/>'
        "</comp:listOfSubmodels></model><comp:listOfModelDefinitions>"
        f'<comp:modelDefinition id="d">{inner}</comp:modelDefinition>'
        "</comp:listOfModelDefinitions></sbml>"
    )
    values = Oracle(read_model(path)).solve(TIMES)
    np.testing.assert_allclose(values["s__x"], np.exp(-TIMES), 1e-7)
    path.write_text(path.read_text().replace("modelDefinition id", "externalModelDefinition id"))
    with pytest.raises(ModelError):
        read_model(path)


def test_level_2_has_stoichiometry_mathematics_and_default_sizes(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(
        '<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model>'
        '<listOfCompartments><compartment id="c" size="2"/></listOfCompartments>'
        '<listOfSpecies><species id="A" compartment="c" initialAmount="4"/></listOfSpecies>'
        '<listOfReactions><reaction id="r"><listOfReactants><speciesReference species="A">'
        f"<stoichiometryMath>{math(call('plus', 1, 1))}</stoichiometryMath></speciesReference>"
        f"</listOfReactants><kineticLaw>{math('<ci>A</ci>')}</kineticLaw></reaction>"
        "</listOfReactions></model></sbml>"
    )
    values = Oracle(read_model(path)).solve(TIMES)
    np.testing.assert_allclose(values["A"], 2 * np.exp(-TIMES), 1e-7)


def test_level_1_has_denominators_and_compartments_of_size_1(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(
        '<sbml xmlns="http://www.sbml.org/sbml/level1" level="1" version="2"><model>'
        '<listOfCompartments><compartment name="c"/></listOfCompartments>'
        '<listOfSpecies><species name="A" compartment="c" initialAmount="4"/></listOfSpecies>'
        '<listOfReactions><reaction name="r"><listOfReactants>'
        '<speciesReference species="A" stoichiometry="3" denominator="2"/></listOfReactants>'
        '<kineticLaw formula="A"/></reaction></listOfReactions></model></sbml>'
    )
    values = Oracle(read_model(path)).solve(TIMES)
    np.testing.assert_allclose(values["A"], 4 * np.exp(-1.5 * TIMES), 1e-7)


P = ("Parameters", parameter("p", "1", constant="false"))


def event(condition, before="true", **more):
    trigger = item("trigger", math(condition), initialValue=before, persistent="true")
    return ("Events", item("event", trigger, useValuesFromTriggerTime="true", **more))


DOUBLE = call("plus", "x", "x")
REFUSED = {
    r"m\.xml:1: event 'e': can fire": [P, event(call("gt", TIME, 1), id="e")],
    "event 1: can fire": [P, event("<true/>", before="false")],
    "'q': is used but": [P, event(call("gt", "q", 1))],
    "algebraic rule": [P, ("Rules", item("algebraicRule", math("<ci>p</ci>")))],
    "csymbol delay": [
        P,
        ("Rules", rule("assignment", "p", call(symbol("delay", "d"), TIME, 1))),
    ],
    "rate rule 'p': has no math": [P, ("Rules", item("rateRule", variable="p"))],
    "'q': is used but not defined": [P, ("Rules", rule("rate", "p", "<ci>q</ci>"))],
    "'p': depends on itself: p -> p": [P, ("Rules", rule("assignment", "p", call("plus", "p", 1)))],
    "'p': has no value": [
        ("Parameters", parameter("p") + parameter("r", "1", constant="false")),
        ("Rules", rule("rate", "r", "<ci>p</ci>")),
    ],
    "reaction 'r': has no kinetic law": [
        CELL,
        ("Reactions", item("reaction", id="r", reversible="false")),
    ],
    "species 'A': has no value": [CELL, ("Species", species("A"))],
    "parameter 'p': the name is there twice": [("Parameters", parameter("p", "1") * 2)],
    "species 'A' of 'r': is not defined": [CELL, ("Reactions", reaction("<cn>1</cn>", ["A*1"]))],
    "function 'f': calls itself": [
        ("FunctionDefinitions", function("f", "", call("<ci>f</ci>"))),
        P,
        ("Rules", rule("rate", "p", call("<ci>f</ci>"))),
    ],
    "function 'f': takes 1 arguments, not 0": [
        ("FunctionDefinitions", function("f", "x", "<ci>x</ci>")),
        P,
        ("Rules", rule("rate", "p", call("<ci>f</ci>"))),
    ],
    # Thirty functions, each of which adds the one before to itself: 2**30 terms.
    "expression: it has": [
        (
            "FunctionDefinitions",
            "".join(
                function(f"f{n}", "x", call(f"<ci>f{n - 1}</ci>" if n else "abs", DOUBLE))
                for n in range(30)
            ),
        ),
        P,
        ("Rules", rule("rate", "p", call("<ci>f29</ci>", "p"))),
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_supported_is_refused_by_name(message, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(document(*REFUSED[message]))
    with pytest.raises(ModelError, match=message):
        read_model(path)


FALLS = [
    ("Parameters", parameter("x", "4", constant="false") + parameter("p", "1")),
    ("Rules", rule("rate", "x", call("minus", "x"))),
]
NEVER = {
    "true before the start": event("<true/>"),
    "true before the start by a parameter": event(call("gt", "p", 0)),
    "false": event(call("gt", 0, 1), before="false"),
    "no trigger": ("Events", item("event", useValuesFromTriggerTime="true")),
}


@pytest.mark.parametrize("name", NEVER)
def test_an_event_that_cannot_fire_changes_nothing(name, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(document(*FALLS, NEVER[name]))
    system = read_model(path)
    np.testing.assert_allclose(Oracle(system).solve(TIMES)["x"], 4 * np.exp(-TIMES), 1e-7)
    assert system.parameters == {"p": 1.0}
    assert not system.constants


def test_what_keeps_an_event_from_firing_is_no_parameter(tmp_path):
    path = tmp_path / "m.xml"
    half = (
        "InitialAssignments",
        item("initialAssignment", math(call("divide", "p", 2)), symbol="q"),
    )
    more = parameter("q") + parameter("r", "5")
    path.write_text(
        document(
            ("Parameters", parameter("p", "1") + more), half, event(call("gt", "q", 3), "false")
        )
    )
    system = read_model(path)
    assert system.parameters == {"r": 5.0}
    assert set(system.constants) == {"p", "q"}


def test_a_constraint_is_a_function(tmp_path):
    path = tmp_path / "m.xml"
    two = item("constraint", math(call("gt", "x", 2))) + item("constraint", math("<true/>"), id="c")
    path.write_text(document(*FALLS, ("Constraints", two)))
    system = read_model(path)
    values = Oracle(system).solve(TIMES)
    np.testing.assert_array_equal(values["constraint(1)"], values["x"] > 2)
    assert values["constraint(1)"].sum() == 2
    assert "constraint(c)" in system.constants


def test_a_compartment_of_amounts_needs_no_size(tmp_path):
    path = tmp_path / "m.xml"
    amount = species("A", initialAmount="4", hasOnlySubstanceUnits="true")
    path.write_text(
        document(
            ("Compartments", compartment(size="").replace(' size=""', "")),
            ("Species", amount),
            ("Reactions", reaction("<ci>A</ci>", ["A*1"])),
        )
    )
    np.testing.assert_allclose(Oracle(read_model(path)).solve(TIMES)["A"], 4 * np.exp(-TIMES), 1e-7)
    path.write_text(
        path.read_text().replace('OnlySubstanceUnits="true"', 'OnlySubstanceUnits="false"')
    )
    with pytest.raises(ModelError, match="'c': has no value at the start"):
        read_model(path)


@pytest.mark.parametrize("head", ["", '<?xml version="1.0"?>'])
def test_a_document_that_names_no_encoding_is_utf_8(head, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(head + document(P), encoding="utf-8")
    assert read_model(path).parameters == {"p": 1.0}


FBC = "http://www.sbml.org/sbml/level3/version1/fbc/version2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f'<sbml xmlns="{CORE}" xmlns:fbc="{FBC}" fbc:required="false" level="3" version="2">'
            '<model fbc:strict="true"/></sbml>',
            "package 'fbc'",
        ),
        (
            '<sbml xmlns="http://www.sbml.org/sbml/level2/version4" level="2" version="4"><model>'
            f'<listOfReactions><reaction id="r" fast="true"><kineticLaw>{math("<cn>1</cn>")}'
            "</kineticLaw></reaction></listOfReactions></model></sbml>",
            "fast reaction 'r'",
        ),
        (
            document(P, ("Rules", rule("rate", "p", '<cn type="rational">1<sep/>0</cn>'))),
            "a fraction has the denominator 0",
        ),
        # only the csymbol is the time
        (document(P, ("Rules", rule("rate", "p", "<ci>time</ci>"))), "'time' is not defined"),
    ],
    ids=[
        "a package that changes the mathematics",
        "a fast reaction",
        "a fraction by zero",
        "a name that is not the time",
    ],
)
def test_what_cannot_be_simulated_is_refused(text, message, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        read_model(path)


def test_a_quantity_with_the_name_of_the_time(tmp_path):
    """It is not the time, in rules, initial values and functions; arguments and locals stay."""
    text = document(
        ("FunctionDefinitions", function("twice", ["time"], call("times", "time", 2))),
        CELL,
        ("Species", species("A", initialAmount="4") + species("B", initialAmount="4")),
        (
            "Parameters",
            parameter("time", "3")
            + parameter("time_", "5")
            + parameter("x", constant="false")
            + parameter("y", "0", constant="false"),
        ),
        ("InitialAssignments", initially("x", call("plus", "time", 1))),
        (
            "Rules",
            rule("rate", "x", call("plus", "time", TIME))
            + rule("rate", "y", call("plus", call("<ci>twice</ci>", "time"), "time_")),
        ),
        (
            "Reactions",
            reaction(call("times", "time", "A"), ["A*1"], local=item(
                "localParameter", id="time", value="0.5"))
            + reaction(call("times", "time", "k"), ["B*1"], name="s", local=item(
                "localParameter", id="k", value="2")),
        ),
    )  # fmt: skip
    system = read(tmp_path, text)
    known = {"c": 2.0, "time__": 3.0, "time_": 5.0, "r.time": 0.5, "s.k": 2.0}
    assert dict(system.parameters) == known
    values = Oracle(system).solve(TIMES)
    np.testing.assert_allclose(values["x"], 4 + 3 * TIMES + TIMES**2 / 2, 1e-7)
    np.testing.assert_allclose(values["y"], 11 * TIMES, 1e-7)
    np.testing.assert_allclose(values["A"], 2 * np.exp(-0.25 * TIMES), 1e-7)
    np.testing.assert_allclose(values["B"], 2 - 3 * TIMES, 1e-7)


@pytest.mark.parametrize("kind", ["species", "compartment"])
def test_species_and_compartments_with_the_name_of_the_time(kind, tmp_path):
    inside, name = ("c", "time") if kind == "species" else ("time", "A")
    only = species(name, initialAmount="4").replace('compartment="c"', f'compartment="{inside}"')
    text = document(
        ("Compartments", compartment(inside, "2")),
        ("Species", only),
        ("Reactions", reaction(call("times", "time", 0.5), [f"{name}*1"])),
    )
    values = Oracle(read(tmp_path, text)).solve(TIMES)
    if kind == "species":
        np.testing.assert_allclose(values["time_"], 2 * np.exp(-0.25 * TIMES), 1e-7)
    else:
        np.testing.assert_allclose(values["A"], 2 - 0.5 * TIMES, 1e-7)
