"""The page of runs in a real browser: ``pip install ".[browser]"``, and Chromium from the system.

What drives it is Playwright, which brings no browser of its own here; ``CHROMIUM`` names another
than the ``chromium`` of the path.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
# the label of the page in the report of Snakemake
ANSWERS = "answers: which method, how fast, was it right"
TABLES = ["fastest", "graphs", "devices", "runs-all-pairs", "peers", "left-out", "software"]


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "there is no chromium"
    with sync_playwright() as driver:
        # its sandbox needs rights that root in a container does not have
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, whole):
    """Open a page in some kind of context; in the end nothing may have gone wrong."""
    contexts, requested, visited, wrong = [], [], [], []

    def visit(path=whole / "index.html", **kind):
        context = browser.new_context(offline=True, **kind)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requested.append(request.url))
        page.on("requestfailed", lambda request: wrong.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        visited.append(path.as_uri())
        page.goto(visited[-1])
        return page

    yield visit
    for context in contexts:
        context.close()
    # what Snakemake's own page warns of is not ours
    assert [each for each in wrong if "tailwindcss" not in each] == []
    assert [each for each in requested if not each.startswith("data:")] == visited


def rows_of(page, table):
    """Text and data-value of every cell, row by row, as they are shown."""
    return page.eval_on_selector_all(
        f"#{table} tbody tr",
        "rows => rows.map(row => [...row.cells].map(c => [c.innerText, c.dataset.value ?? null]))",
    )


def headings_of(page, table):
    return page.locator(f"#{table} thead th").all()


def key_of(cell):
    """The order of a cell among others of its column: by number, or by words and numbers in it."""
    text, value = cell
    if value is not None:
        return float(value)
    parts = re.split(r"(\d+)", text.lower())
    return [(part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def test_the_page_renders_from_disk_without_a_network(visit):
    page = visit()
    assert page.title() == "pyapsp: 2 methods on 6 graphs, timed and checked"
    assert page.get_by_role("heading", level=1).is_visible()
    assert [each.get_attribute("id") for each in page.locator("table").all()] == TABLES
    assert page.get_by_text("Wrong: 1.").is_visible()
    assert page.get_by_text("Not verified: 1.").is_visible()


def test_figures_are_there(visit):
    page = visit()
    figures = page.locator("figure svg:visible").all()
    assert len(figures) == 4
    for figure in figures:
        box = figure.bounding_box()
        assert min(box["width"], box["height"]) > 200
        # lines with some length, and words
        lengths = figure.locator("path").evaluate_all("all => all.map(p => p.getTotalLength())")
        assert sum(length > 50 for length in lengths) > 5
        assert figure.get_by_text("fw-blocked").first.is_visible()


@pytest.mark.parametrize("table", TABLES)
def test_every_column_sorts_both_ways(visit, table):
    page = visit()
    before = rows_of(page, table)
    assert before
    for column, heading in enumerate(headings_of(page, table)):
        for direction in ("ascending", "descending"):
            heading.get_by_role("button").click()
            sorted_by = [each.get_attribute("aria-sort") for each in headings_of(page, table)]
            assert sorted_by == [
                direction if each == column else None for each in range(len(sorted_by))
            ]
            rows = rows_of(page, table)
            assert sorted(map(str, rows)) == sorted(map(str, before))
            cells = [row[column] for row in rows]
            there = [cell for cell in cells if cell[1] != "" and cell[0] != ""]
            assert cells[: len(there)] == there  # what is missing comes last, both ways
            keys = [key_of(cell) for cell in there]
            assert keys == sorted(keys, reverse=direction == "descending")


def test_numbers_sort_as_numbers_and_words_with_numbers_in_them(visit):
    page = visit()
    page.locator("#runs-all-pairs th", has_text=re.compile(r"^n$")).get_by_role("button").click()
    sizes = [int(row[1][0]) for row in rows_of(page, "runs-all-pairs")]
    assert sizes == sorted(sizes)
    assert list(map(str, sizes)) != sorted(map(str, sizes))


def test_rows_that_are_equal_keep_their_order(visit):
    page = visit()
    for heading in ("type", "input"):
        page.locator("#runs-all-pairs th", has_text=heading).get_by_role("button").click()
    dtype = [each.inner_text().split()[0] for each in headings_of(page, "runs-all-pairs")].index(
        "type"
    )
    rows = [(row[0][0], row[dtype][0]) for row in rows_of(page, "runs-all-pairs")]
    assert rows == sorted(rows)


def test_the_keyboard_sorts_too(visit):
    page = visit()
    page.locator("#runs-all-pairs th button").nth(1).focus()
    page.keyboard.press("Tab")
    focused = page.locator("#runs-all-pairs th", has_text="method")
    assert focused.get_by_role("button").evaluate("each => each === document.activeElement")
    assert focused.get_by_role("button").evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    for key, direction in (("Enter", "ascending"), ("Space", "descending")):
        page.keyboard.press(key)
        assert focused.get_attribute("aria-sort") == direction
        methods = [row[2][0] for row in rows_of(page, "runs-all-pairs")]
        assert methods == sorted(methods, reverse=direction == "descending")


def test_a_filter_leaves_the_rows_with_all_words(visit):
    page = visit()
    everything = len(rows_of(page, "runs-all-pairs"))
    page.locator("input[data-table=runs-all-pairs]").fill("Rome99  INT32")
    visible = page.locator("#runs-all-pairs tbody tr:visible")
    assert page.locator("output").last.inner_text() == f"2 of {everything}"
    shown = [[cell.inner_text() for cell in row.locator("td").all()] for row in visible.all()]
    assert [(row[0], row[2], "int32" in row) for row in shown] == [
        ("rome99", "fw-blocked", True),
        ("rome99", "fw-naive", True),
    ]
    headings_of(page, "runs-all-pairs")[1].get_by_role("button").click()
    assert visible.count() == 2
    page.locator("input[data-table=runs-all-pairs]").fill("")
    assert visible.count() == everything


def test_the_first_table_is_filtered_too(visit):
    page = visit()
    page.locator("input[data-table=fastest]").fill("rome99 int32")
    assert page.locator("#fastest tbody tr:visible").count() == 1


def test_a_figure_can_be_saved(visit):
    page = visit()
    with page.expect_download() as saved:
        page.locator("#figure-fastest").get_by_role("button").click()
    assert saved.value.suggested_filename == "fastest.svg"
    root = ElementTree.parse(saved.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "fw-blocked" in "".join(root.itertext())


def test_a_table_can_be_saved_as_it_is_shown(visit):
    page = visit()
    page.locator("input[data-table=runs-all-pairs]").fill("a<b")
    page.locator("#runs-all-pairs th", has_text="method").get_by_role("button").click()
    with page.expect_download() as saved:
        page.locator("button[data-table=runs-all-pairs]").click()
    assert saved.value.suggested_filename == "runs-all-pairs.csv"
    head, *rows = csv.reader(Path(saved.value.path()).read_text(encoding="utf-8").splitlines())
    assert head == [each.inner_text() for each in headings_of(page, "runs-all-pairs")]
    visible = page.locator("#runs-all-pairs tbody tr:visible").all()
    assert rows == [[cell.inner_text() for cell in row.locator("td").all()] for row in visible]
    assert [row[0] for row in rows] == ["a<b"] * 4
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


@pytest.mark.parametrize("width", [390, 700, 1600])
def test_what_is_wider_than_its_box_says_so(visit, width):
    page = visit(viewport={"width": width, "height": 700})
    boxes = page.locator(".wide").all()
    for box in boxes:
        wide = box.evaluate("box => box.scrollWidth > box.clientWidth")
        hint = box.locator("xpath=preceding-sibling::*[1]")
        assert hint.is_visible() is wide
    if 640 < width < 960:
        # a figure has its own size there
        figure = page.locator("#figure-fastest svg:visible")
        assert figure.bounding_box()["width"] > width
        scale = figure.evaluate("each => each.getScreenCTM().a")
        assert scale == pytest.approx(4 / 3, rel=0.01)


def test_on_a_phone_a_row_of_the_first_table_is_a_card(visit):
    page = visit(viewport={"width": 390, "height": 800})
    box = page.locator("#fastest").bounding_box()
    assert box["x"] + box["width"] <= 390
    row = page.locator("#fastest tbody tr").first
    before = "each => getComputedStyle(each, '::before').content"
    assert row.locator("td").first.evaluate(before) == '"input"'


def test_on_a_phone_the_first_figure_is_drawn_for_its_width(visit):
    page = visit(viewport={"width": 390, "height": 800})
    figure = page.locator("#figure-fastest svg:visible")
    assert figure.count() == 1
    box = figure.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    heights = figure.locator("text").evaluate_all(
        "all => all.map(text => text.getBoundingClientRect().height)"
    )
    assert min(heights) >= 8
    page.emulate_media(media="print")
    assert page.locator("figure .narrow:visible").count() == 0


@pytest.mark.parametrize("width", [320, 390, 800, 1600])
def test_the_page_is_no_wider_than_the_screen(visit, width):
    page = visit(viewport={"width": width, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # tables and figures that are wider scroll on their own, also by keyboard
    for box in page.locator(".wide").all():
        if box.evaluate("box => box.scrollWidth > box.clientWidth"):
            box.focus()
            page.keyboard.press("ArrowRight")
            page.wait_for_function("box => box.scrollLeft > 0", arg=box.element_handle())


def luminance(colour):
    def linear(value):
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(each) / 255) for each in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_text_can_be_read_in_light_and_in_darkness(visit, scheme, dark):
    page = visit(color_scheme=scheme)

    def style(selector, name):
        return luminance(page.eval_on_selector(selector, f"e => getComputedStyle(e).{name}"))

    paper = style("body", "backgroundColor")
    assert (paper < 0.1) is dark
    marked = "tr.wrong"
    grounds = {"body": paper, "figcaption": paper, "strong:not(.wrong)": paper}
    grounds |= {each: style(each, "backgroundColor") for each in ("strong.wrong", marked)}
    for selector, ground in grounds.items():
        lighter, darker = sorted((style(selector, "color"), ground), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, selector  # WCAG 2, AA


def test_on_paper_there_is_nothing_to_press(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("input[data-table=runs-all-pairs]").is_visible()
    arrow = "each => getComputedStyle(each, '::after').display"
    assert page.eval_on_selector("#runs-all-pairs th button", arrow) == "none"
    paper = page.eval_on_selector("body", "each => getComputedStyle(each).backgroundColor")
    assert luminance(paper) == 1
    assert page.pdf().startswith(b"%PDF")


def test_without_scripts_everything_is_still_there(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("#runs-all-pairs tbody tr").count() > 10
    assert page.locator("figure svg:visible").count() == 4
    assert page.locator("th button").count() == 0
    assert not page.locator("button.save").first.is_visible()
    assert not page.locator("input[data-table=runs-all-pairs]").is_visible()


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """What ``snakemake --report`` makes of a small run of the workflow."""
    checkout = tmp_path_factory.mktemp("reported")
    shutil.copy(ROOT / "Snakefile", checkout)
    for folder in ("config", "workflow", "data"):
        shutil.copytree(ROOT / folder, checkout / folder)
    for what in (["--cores", "1"], ["--report", "report.html"]):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", *what, "--config"),
                *(
                    "datasets=[grid-8x8]",
                    "methods=[fw-naive,fw-minplus]",
                    "dtypes=[int32]",
                    "areas=[]",
                ),
            ],
            cwd=checkout,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return checkout / "report.html"


@pytest.mark.parametrize(
    ("category", "entries"),
    [
        (
            "Figures",
            ["all-pairs-roof", "all-pairs-speed", "all-pairs-speed-up-scipy", "fastest"],
        ),
        ("Runs", [ANSWERS, "table of all-pairs (CSV)"]),
    ],
)
def test_the_report_of_snakemake_lists_everything(visit, reported, category, entries):
    page = visit(reported)
    page.get_by_text(category, exact=True).click()
    page.get_by_role("cell", name=entries[0], exact=True).wait_for()
    cells = [row.locator("td").first.inner_text() for row in page.locator("tbody tr").all()]
    assert cells == entries


def test_our_page_works_inside_the_report_of_snakemake(visit, reported):
    page = visit(reported)
    page.get_by_text("Runs", exact=True).click()
    page.get_by_role("row", name=ANSWERS).get_by_role("link").first.click()
    inside = page.frame_locator("iframe")
    heading = inside.locator("#runs-all-pairs th").first
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert inside.get_by_text("All verified.").is_visible()
