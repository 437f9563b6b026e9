"""PHML: modules, ports, templates, cases, series and SBML, against what they stand for."""

import struct
import zipfile

import numpy as np
import pytest
from system_oracle import Oracle

from pyapsp.errors import ModelError
from pyapsp.simulation.frontend import read_model

TIMES = np.linspace(0.0, 2.0, 9)
SPACES = (
    'xmlns:is="http://www.physiome.jp/ns/insilicoml" xmlns:m="http://www.w3.org/1998/Math/MathML"'
)
HEADER = (
    "<is:header><is:model-name>model</is:model-name><is:numerical-configuration>"
    '<is:time-discretization unit-id="1"><is:step>0.1</is:step></is:time-discretization>'
    "</is:numerical-configuration></is:header>"
)
UNITS = (
    '<is:unit-set><is:unit unit-id="0"><is:name>volt</is:name></is:unit>'
    '<is:unit unit-id="1"><is:name>second</is:name></is:unit></is:unit-set>'
)


def document(*modules, edges="", more="", header=HEADER, units=UNITS):
    return (
        f"<is:insilico-model {SPACES}>{header}{units}"
        f"<is:module-set>{''.join(modules)}</is:module-set>"
        f"<is:edge-set>{edges}</is:edge-set>{more}</is:insilico-model>"
    )


def module(name, *quantities, ports="", inside="", more=""):
    capsule = f'<is:capsulated-by module-id="{inside}"/>' if inside else ""
    return (
        f'<is:module module-id="{name}-id" type="functional-unit"><is:property>'
        f"<is:name>{name}</is:name><is:capsulation>{capsule}</is:capsulation></is:property>"
        f"<is:port-set>{ports}</is:port-set>"
        f"<is:physical-quantity-set>{''.join(quantities)}</is:physical-quantity-set>{more}"
        "</is:module>"
    )


def port(number, gives=""):
    reference = f' ref-physical-quantity-id="{gives}"' if gives else ""
    return f'<is:port port-id="{number}"{reference}/>'


def edge(tail, head, kind="functional"):
    ends = zip(("tail", "head"), (tail, head), strict=True)
    inner = "".join(f'<is:{end} module-id="{m}" port-id="{p}"/>' for end, (m, p) in ends)
    return f'<is:edge type="{kind}">{inner}</is:edge>'


def ci(text):
    """Return a name, a number, or MathML as it is."""
    if text.startswith("<"):
        return text
    return f"<m:ci>{text}</m:ci>" if text[0].isalpha() else f"<m:cn>{text}</m:cn>"


def call(operator, *operands):
    return f"<m:apply><m:{operator}/>{''.join(map(ci, operands))}</m:apply>"


def math(left, right):
    return f"<m:math>{call('eq', left, right)}</m:math>"


def rate(name):
    return call("diff", "<m:bvar><m:ci>time</m:ci></m:bvar>", name)


def defined(left, right, kind="ae"):
    return f'<is:definition type="{kind}" format="mathml">{math(left, right)}</is:definition>'


def cases(*given):
    """Return a conditional definition from (left, right, condition) triples."""
    parts = "".join(
        "<is:case>"
        + (f"<is:condition><m:math>{condition}</m:math></is:condition>" if condition else "")
        + f"{defined(left, right)}</is:case>"
        for left, right, condition in given
    )
    return f'<is:definition type="conditional"><is:case-set>{parts}</is:case-set></is:definition>'


def quantity(number, name, kind, definition, start="", extra="", dimension="scalar"):
    initial = f"<is:initial-value>{defined(name, start)}</is:initial-value>" if start else ""
    return (
        f'<is:physical-quantity physical-quantity-id="{number}" type="{kind}">'
        f'<is:name>{name}</is:name><is:dimension type="{dimension}"/>'
        f'<is:value-type-set><is:value-type unit-id="0"/></is:value-type-set>{initial}'
        f"<is:implementation>{definition}{extra}</is:implementation></is:physical-quantity>"
    )


def state(number, name, right, start="1", extra=""):
    return quantity(number, name, "state", defined(rate(name), right, "ode"), start, extra)


def variable(number, name, right):
    return quantity(number, name, "variable-parameter", defined(name, right))


def static(number, name, right):
    return quantity(number, name, "static-parameter", defined(name, right))


def from_port(number, name, port_id, reduction=""):
    extra = (
        '<is:extra-implementation type="multiple-input-assignment">'
        f'<is:definition type="reduction" sub-type="{reduction}"/></is:extra-implementation>'
    )
    reference = f'<is:reference port-id="{port_id}"/>'
    definition = f'<is:definition type="assign" sub-type="port">{reference}</is:definition>'
    return quantity(
        number, name, "variable-parameter", definition, extra=extra if reduction else ""
    )


def after(definition, order="after"):
    return (
        f'<is:extra-implementation type="instantaneous" order="{order}">{definition}'
        "</is:extra-implementation>"
    )


def read(tmp_path, text, name="model.phml"):
    path = tmp_path / name
    path.write_text(text)
    return read_model(path)


def test_one_module_has_short_names_units_and_roles(tmp_path):
    system = read(
        tmp_path,
        document(
            module(
                "M",
                state(1, "x", call("times", call("minus", "k"), "x"), start="2"),
                static(2, "k", "0.5"),
                static(3, "double", call("times", "2", "k")),
                variable(4, "y", call("plus", "x", "time")),
                variable(5, "constant", "7"),
            )
        ),
    )
    assert (system.name, system.time_unit) == ("model", "second")
    assert (dict(system.parameters), set(system.constants)) == ({"k": 0.5}, {"double"})
    assert set(system.functions) == {"y", "constant"}
    assert system.units["x"] == "volt"
    values = Oracle(system).solve(TIMES)
    np.testing.assert_allclose(values["y"], 2 * np.exp(-0.5 * TIMES) + TIMES, 1e-7)


def test_values_go_along_edges_through_capsules(tmp_path):
    # x in A -> port of its capsule -> port of the capsule of B -> v in B, which is x
    text = document(
        module("A", state(1, "x", call("minus", "x")), ports=port(1, 1), inside="CA-id"),
        module("CA", ports=port(1)),
        module("B", from_port(1, "v", 1), variable(2, "w", call("times", "v", "3")),
               ports=port(1), inside="CB-id"),
        module("CB", ports=port(1)),
        edges=edge(("A-id", 1), ("CA-id", 1), "forwarding")
        + edge(("CA-id", 1), ("CB-id", 1))
        + edge(("CB-id", 1), ("B-id", 1), "forwarding")
        + edge(("B-id", 0), ("A-id", 0), "structural"),
    )  # fmt: skip
    system = read(tmp_path, text)
    assert set(system.functions) == {"B.w"}  # B.v has the name of what it is
    np.testing.assert_allclose(Oracle(system).solve(TIMES)["B.w"], 3 * np.exp(-TIMES), 1e-7)


REDUCTIONS = {"sum": 6.0, "mean": 2.0, "max": 3.0, "min": 1.0, "degree": 3.0}


def test_templates_are_copied_with_what_instances_change(tmp_path):
    def instance(number):
        start = f"<is:initial-value>{defined('x', str(number))}</is:initial-value>"
        return (
            f'<is:instance module-id="i{number}"><is:instance-of template-id="t"/>'
            f'<is:target-module-set><is:target-module module-id="A-id" alias-module-id="a{number}">'
            "<is:target-physical-quantity-set>"
            f'<is:target-physical-quantity physical-quantity-id="1">{start}'
            "</is:target-physical-quantity></is:target-physical-quantity-set></is:target-module>"
            "</is:target-module-set></is:instance>"
        )

    inner = "".join(
        from_port(number, kind, 1, kind) for number, kind in enumerate(REDUCTIONS, start=1)
    )
    text = document(
        module("A", state(1, "x", call("minus", "x")), ports=port(1, 1), inside="C-id"),
        module("C", ports=port(1)),
        module("B", inner, from_port(9, "second", 2), ports=port(1) + port(2)),
        edges=edge(("A-id", 1), ("C-id", 1), "forwarding")
        + edge(("C-id", 1), ("B-id", 1))
        + edge(("i2", 1), ("B-id", 2)),
        more='<is:template-set><is:template template-id="t" ref-module-id="C-id"/>'
        "</is:template-set>"
        f"<is:instance-set>{''.join(map(instance, (1, 2, 3)))}</is:instance-set>",
    )
    system = read(tmp_path, text)
    assert set(system.initial) == {"C[1].A.x", "C[2].A.x", "C[3].A.x"}
    values = Oracle(system).solve(TIMES)
    for kind, start in REDUCTIONS.items():
        shape = 1 if kind == "degree" else np.exp(-TIMES)
        np.testing.assert_allclose(values[f"B.{kind}"], start * shape, 1e-7, err_msg=kind)


def test_cases_become_a_piecewise_and_resets_follow_steps(tmp_path):
    fires = call("geq", "v", "1")
    text = document(
        module(
            "N",
            state(1, "v", "0.25", "0", after(cases(("v", "0", fires)))),
            state(2, "count", "0", "0", after(cases(("count", call("plus", "count", "1"), fires)))),
            quantity(3, "sign", "variable-parameter",
                     cases(("sign", "-1", call("lt", "v", "0.5")), ("sign", "1", ""))),
        )
    )  # fmt: skip
    system = read(tmp_path, text)
    oracle = Oracle(system)
    y, rows = oracle.y0, []
    for step in range(9):
        rows.append([*y, oracle.values(0.5 * step, list(y))["sign"]])
        y = oracle.step(0.5 * step, y, 0.5)
    v, count, sign = np.array(rows).T
    np.testing.assert_allclose(v, [0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0])
    np.testing.assert_allclose(count, [0] * 8 + [1])
    np.testing.assert_allclose(sign, np.where(v < 0.5, -1, 1))


def isd(names, table):
    texts = b"".join(struct.pack("<I", len(name)) + name.encode() for name in names)
    head = struct.pack("<4s4x20s4I", b"ISDF", b"2020-01-01T00:00:00Z", len(names), 3, len(texts), 5)
    return head + b"abc" + texts + b"\1\0\0\0s" + np.asarray(table, "<f8").tobytes()


SERIES = '<is:timeseries-set><is:timeseries timeseries-id="1" format="isd" {}/></is:timeseries-set>'


def series_model(reference):
    definition = (
        '<is:definition type="assign" sub-type="timeseries">'
        '<is:reference timeseries-id="1" element-id="a"/></is:definition>'
    )
    return document(
        module(
            "M",
            quantity(1, "a", "timeseries", definition),
            variable(2, "b", call("times", "2", "a")),
            more=SERIES.format(reference),
        )
    )


def test_time_series_are_interpolated_in_files_and_archives(tmp_path):
    times, values = [0.5, 1.0, 1.5, 1.75], [3.0, 5.0, 1.0, 1.0]
    data = isd(["time", "a"], np.stack([times, values], 1)[[2, 0, 1, 3]])
    (tmp_path / "s.isd").write_bytes(data)
    wanted = 2 * np.interp(TIMES, times, values)
    system = read(tmp_path, series_model('iref="s.isd"'))
    np.testing.assert_allclose(Oracle(system).solve(TIMES)["b"], wanted)
    with zipfile.ZipFile(tmp_path / "m.phz", "w") as archive:
        archive.writestr("model.phml", series_model('zref="in/1.isd"'))
        archive.writestr("in/1.isd", data)
    np.testing.assert_allclose(Oracle(read_model(tmp_path / "m.phz")).solve(TIMES)["b"], wanted)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"ISDX", "is not in the ISD format"),
        (isd(["time", "a"], [[0, 1]])[:-4], "rows of 2 numbers"),
        (isd(["time", "a"], [[0, 1], [0, 2]]), "a time occurs twice"),
        (isd(["time", "a"], [[0, np.nan]]), "a number is not finite"),
        (isd(["time", "time"], [[0, 1]]), "names of the columns"),
        (isd(["time", "b"], [[0, 1]]), "has no column 'a'"),
    ],
)
def test_malformed_series_are_refused(data, message, tmp_path):
    (tmp_path / "s.isd").write_bytes(data)
    with pytest.raises(ModelError, match=message):
        read(tmp_path, series_model('iref="s.isd"'))


@pytest.mark.parametrize("name", ["/etc/hostname", "../s.isd", "http://x/s.isd", "none.isd"])
def test_only_files_below_the_model_are_read(name, tmp_path):
    with pytest.raises(ModelError, match=r"folder of the model|No such file"):
        read(tmp_path, series_model(f'iref="{name}"'))


SBML = (
    '<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2"><model>'
    '<listOfParameters><parameter id="k" value="2" constant="true"/>'
    '<parameter id="u" value="1" constant="false"/><parameter id="w" constant="false"/>'
    "</listOfParameters><listOfRules>"
    '<rateRule variable="u"><math xmlns="http://www.w3.org/1998/Math/MathML"><cn>0</cn></math>'
    '</rateRule><assignmentRule variable="w"><math xmlns="http://www.w3.org/1998/Math/MathML">'
    "<apply><times/><ci>k</ci><ci>u</ci></apply></math></assignmentRule></listOfRules></model></sbml>"
)


def bridge(direction, symbol):
    return (
        f'<is:bridge type="sbml" direction="{direction}"><is:connector>{symbol}</is:connector>'
        "</is:bridge>"
    )


@pytest.mark.parametrize("external", [False, True])
def test_sbml_in_a_module_gives_and_takes_values(external, tmp_path):
    (tmp_path / "s.xml").write_text(SBML)
    assign = '<is:definition type="assign" sub-type="bridge"/>'
    text = document(
        module(
            "M",
            quantity(1, "x", "state", defined(rate("x"), "3", "ode"), "1", bridge("set", "u")),
            quantity(2, "w", "variable-parameter", assign, "", bridge("get", "w")),
            variable(3, "y", call("plus", "w", "1")),
            more='<is:import type="external" format="sbml" iref="s.xml"/>'
            if external
            else f'<is:import type="internal" format="sbml">{SBML}</is:import>',
        )
    )
    system = read(tmp_path, text)
    assert set(system.initial) == {"x"}
    assert system.parameters == {"M.sbml.k": 2.0}
    np.testing.assert_allclose(Oracle(system).solve(TIMES)["y"], 2 * (1 + 3 * TIMES) + 1, 1e-7)


X = state(1, "x", "1")
NO_STEP = HEADER.replace("0.1", "")
REFUSED = {
    "model: nothing in it changes": document(module("M", static(1, "a", "1"))),
    "time-discretization: the step ''": document(module("M", X), header=NO_STEP),
    "unit 'volt': is defined by itself": document(
        units=UNITS.replace("volt</is:name>", 'volt</is:name><is:element unit-id="0"/>')
    ),
    "name 'y' of module 'M': is used but not": document(module("M", state(1, "x", "y"))),
    "quantity 'x' of module 'M': is defined twice": document(module("M", X, X)),
    "quantity 'x' of module 'M': a vector": document(
        module("M", quantity(1, "x", "state", defined(rate("x"), "1"), "1", dimension="vector"))
    ),
    "state 'x': has no initial value": document(module("M", state(1, "x", "1", ""))),
    "state 'x' of module 'M': has no differential": document(
        module("M", quantity(1, "x", "state", defined("x", "1")))
    ),
    "csymbol 'Delay'": document(
        module("M", state(1, "x", "<m:apply><m:csymbol>Delay</m:csymbol></m:apply>"))
    ),
    "max-delay of quantity 'x'": document(module("M", X)).replace(
        "</is:name><is:dim", "</is:name><is:max-delay>1</is:max-delay><is:dim"
    ),
    "definition 'Wiener-process'": document(
        module(
            "M",
            quantity(
                1, "x", "state", '<is:definition type="predefined" sub-type="Wiener-process"/>'
            ),
        )
    ),
    "event of module 'M'": document(
        module("M", X, more="<is:event-set><is:event/></is:event-set>")
    ),
    "extra-implementation before": document(
        module("M", state(1, "x", "1", "1", after(defined("x", "0"), "before")))
    ),
    "port '1' of module 'M': no edge leads to 'x'": document(
        module("M", from_port(1, "x", 1, "sum"), ports=port(1))
    ),
    "2 edges lead to 'x'": document(
        module("A", state(1, "a", "1"), state(2, "b", "1"), ports=port(1, 1) + port(2, 2)),
        module("M", from_port(1, "x", 1), ports=port(1)),
        edges=edge(("A-id", 1), ("M-id", 1)) + edge(("A-id", 2), ("M-id", 1)),
    ),
    "edge to 'B-id': nothing has that id": document(
        module("M", X), edges=edge(("M-id", 1), ("B-id", 1))
    ),
    "module-id 'M-id': is used twice": document(module("M", X), module("M", X)),
    "depends on itself: a -> b -> a|depends on itself: b -> a -> b": document(
        module("M", X, variable(2, "a", "b"), variable(3, "b", "a"))
    ),
    "derivative by 's'": document(
        module("M", X).replace("<m:ci>time</m:ci></m:bvar>", "<m:ci>s</m:ci></m:bvar>")
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_supported_is_refused_by_name(message, tmp_path):
    with pytest.raises(ModelError, match=message):
        read(tmp_path, REFUSED[message])


def test_a_circle_of_ports_is_refused(tmp_path):
    text = document(
        module(
            "A", from_port(1, "a", 1), X.replace('id="1"', 'id="2"'), ports=port(1) + port(2, 1)
        ),
        module("B", from_port(1, "b", 1), ports=port(1) + port(2, 1)),
        edges=edge(("A-id", 2), ("B-id", 1)) + edge(("B-id", 2), ("A-id", 1)),
    )
    with pytest.raises(ModelError, match=r"depends on itself|not defined"):
        read(tmp_path, text)
