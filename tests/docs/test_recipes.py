"""The page of recipes: its code runs, and page, table and figures are of one state."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import time

import pytest
import recipes


def installed():
    return [each for each in recipes.RECIPES if importlib.util.find_spec(each.module)]


def spoilt(recipe, answer, arguments):
    """Return a wrong answer."""
    if recipe.name == "pairs":
        graph, origins, destinations = arguments
        return recipe.ours(graph, destinations, origins)
    return [2 * each for each in answer] if isinstance(answer, list) else 2 * answer


@pytest.mark.parametrize("recipe", installed(), ids=lambda recipe: recipe.name)
def test_both_answers_are_equal(recipe):
    """Of a small input; where the other package is missing, there is nothing to compare."""
    theirs, ours = recipe.data(True)
    one, other = recipe.theirs(*theirs), recipe.ours(*ours)
    assert recipe.same(one, other)
    assert not recipe.same(one, spoilt(recipe, other, ours))
    if recipe.part is not None:
        part, factor = recipe.part(theirs)
        assert factor > 1
        recipe.theirs(*part)


def test_times_are_of_the_large_input():
    sizes = []

    def data(small):
        sizes.append(small)
        return (small,), (small,)

    def run(small):
        time.sleep(0 if small else 0.3)
        return 1

    recipe = recipes.Recipe("job", "a job", "a tool", "numpy", data, run, run)
    assert max(recipes.seconds(recipe, small=True)) < 0.3
    assert min(recipes.seconds(recipe)) >= 0.3
    assert sizes == [True, True, False]
    with pytest.raises(AssertionError, match="the answers to job differ"):
        recipes.seconds(dataclasses.replace(recipe, ours=lambda _: 2))
    halved = dataclasses.replace(recipe, part=lambda arguments: (arguments, 2.0), ours=lambda _: 1)
    assert recipes.seconds(halved)[0] >= 0.1


def test_the_page_and_the_table_are_of_the_figures():
    figures = json.loads(recipes.FIGURES.read_text())
    assert recipes.PAGE.read_text(encoding="utf-8") == recipes.page(figures)
    text = recipes.README.read_text(encoding="utf-8")
    assert text == recipes.readme(text, figures)
    assert figures["seconds"].keys() == {each.name for each in recipes.RECIPES}
    assert len({recipes.anchor(each) for each in recipes.RECIPES}) == len(recipes.RECIPES)


def test_times_of_two_machines_are_not_mixed(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FIGURES", tmp_path / "recipes.json")
    monkeypatch.setattr(recipes, "seconds", lambda recipe: (2.0, 1.0))
    two = [each.name for each in recipes.RECIPES if each.module in ("scipy", "networkx")][:2]
    recipes.measure(two)
    figures = json.loads(recipes.FIGURES.read_text())
    recipes.measure(two[:1])
    assert json.loads(recipes.FIGURES.read_text()) == figures
    recipes.FIGURES.write_text(json.dumps(figures | {"machine": "another"}))
    with pytest.raises(ValueError, match="measured on another: measure all"):
        recipes.measure(two[:1])
    recipes.measure(two)
    assert json.loads(recipes.FIGURES.read_text()) == figures


def test_times_as_text():
    assert [recipes.shown(each) for each in (0.0123, 1.5, 130, 9000)] == [
        "0.012 s",
        "1.5 s",
        "2.2 min",
        "2.5 h",
    ]
