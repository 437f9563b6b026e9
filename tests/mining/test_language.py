"""The language of templates: what formulas mean, what is refused, and the statements made."""

from __future__ import annotations

import numpy as np
import pytest

from pyapsp.errors import ParameterError
from pyapsp.mining import TemplateSet
from pyapsp.mining.evaluate import evaluate, truth_table
from pyapsp.mining.language import parse
from pyapsp.mining.templates import SETS

A, B, C = (np.array([bool(s >> place & 1) for s in range(8)]) for place in range(3))


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a = b & c", A == (B & C)),
        ("a == b | c & a", A == (B | (C & A))),
        ("!a & b | c", (~A & B) | C),
        ("not a = b and c", (A != B) & C),
        ("a ^ b & c", A ^ (B & C)),
        ("a -> b -> c", ~A | ~B | C),
        ("a or b and c -> false", ~(A | (B & C))),
        ("~(a != b) | c", (A == B) | C),
        ("a = true and (b | c) = b", A & ((B | C) == B)),
    ],
)
def test_boolean_formulas_bind_as_documented(text, meaning):
    root = parse(text, "boolean").root
    assert np.array_equal(np.broadcast_to(evaluate(root, [A, B, C]), 8), meaning)
    assert truth_table(root, 3) == sum(1 << s for s in range(8) if meaning[s])


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x < y + 2 * z", lambda x, y, z: x < y + 2 * z),
        ("x - y - z = -x ** 2", lambda x, y, z: x - y - z == -(x**2)),
        ("x >= y or x = z", lambda x, y, z: (x >= y) | (x == z)),
        (
            "x = min(y, abs(z)) and not y < z",
            lambda x, y, z: (x == np.minimum(y, abs(z))) & (y >= z),
        ),
        ("(x < y) & (y < z) or x != x", lambda x, y, z: (x < y) & (y < z)),
        ("x / y <= floor(1.5e0 * z)", lambda x, y, z: x / y <= np.floor(1.5 * z)),
    ],
)
def test_numeric_formulas_bind_as_documented(text, meaning):
    values = np.random.default_rng(0).integers(1, 5, (3, 500)).astype(np.float32)
    assert np.array_equal(evaluate(parse(text, "numeric").root, values), meaning(*values))


def test_nothing_holds_for_what_is_no_number():
    one, others = np.ones(3, np.float32), np.array([-1, np.nan, -np.inf], np.float32)
    for text in ("a < sqrt(b)", "a != log(b)", "a = min(a, b)", "a = max(b, log(b))"):
        assert not evaluate(parse(text, "numeric").root, [one, others]).any(), text
    assert evaluate(parse("a != b", "numeric").root, [one, others]).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("a = b &", "boolean", "column 8: an operand is expected, not 'the end'"),
        ("a < b", "boolean", "column 6: a number is expected"),
        ("a + b", "numeric", "is a number, and not a statement"),
        ("a < b < c", "numeric", "column 7: comparisons are not chained"),
        ("a = 7", "boolean", "column 5: a Boolean template has no numbers"),
        ("sqrt(a, b) < 1", "numeric", r"column 7: '\)' is expected, not ','"),
        ("a < $b", "numeric", r"column 5: '\$' is no sign"),
        ("a b", "boolean", "column 3: 'b' is not expected"),
        ("a & b & c & d", "boolean", "one to three variables, not 4"),
        ("1 < 2", "numeric", "not 0"),
        ("a < 1e99", "numeric", "too large"),
        ("(" * 50 + "a" + ")" * 50, "boolean", "nested too deeply"),
        ("!" * 50 + "a", "boolean", "nested too deeply"),
        ("a" + " & a" * 5000, "boolean", "too long"),
        ("", "boolean", "column 1: an operand"),
        (7, "boolean", "must be a text"),
        ("a", "text", "one of boolean, numeric"),
    ],
)
def test_what_is_no_template_is_refused_with_its_place(text, kind, said):
    with pytest.raises(ParameterError, match=said):
        parse(text, kind)


def test_a_set_must_be_a_sequence_of_templates():
    for given in ({}, {"boolean": "a"}, {"numeric": [None]}):
        with pytest.raises(ParameterError):
            TemplateSet(**given)


def test_orders_that_say_the_same_are_one_statement():
    counts = {
        name: {(each.kind, each.arity): len(each.statements) for each in chosen.batches()}
        for name, chosen in SETS.items()
    }
    assert counts["I"] == {("numeric", 2): 6, ("boolean", 1): 2}
    assert counts["II"] == {
        **{("numeric", 1): 4, ("numeric", 2): 11, ("numeric", 3): 18},
        **{("boolean", 1): 2, ("boolean", 2): 2, ("boolean", 3): 7},
    }
    (batch,) = TemplateSet(numeric=["x <= y"]).batches()
    assert [each.about(["p.q", "r[3]"]) for each in batch.statements] == [
        "p.q <= r[3]",
        "r[3] <= p.q",
    ]


def test_more_statements_than_bits_of_a_word_are_several_batches():
    many = TemplateSet(numeric=[f"a < {bound}" for bound in range(70)])
    assert [len(each.statements) for each in many.batches()] == [32, 32, 6]
