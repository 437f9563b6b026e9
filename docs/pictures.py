"""The pictures of the algorithms, as SVG in the text colour of the page.

Lines and letters have the colour of the text, and areas are translucent, so that a picture can be
read on a light page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

__all__ = ["PICTURES", "svg"]

_BLUE, _ORANGE, _GREEN, _GREY = "#3b82f6", "#f97316", "#16a34a", "#808890"
_HEADS = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>'
)


def _box(x: float, y: float, width: float, height: float, fill: str = "", ink: float = 0.4) -> str:
    inside = f'fill="{fill}" fill-opacity="{ink}"' if fill else 'fill="none"'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {inside} '
        'stroke="currentColor" stroke-opacity="0.6" stroke-width="0.8"/>'
    )


def _text(x: float, y: float, words: str, *, at: str = "middle", size: float = 12) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" font-size="{size:g}" '
        f'fill="currentColor">{escape(words)}</text>'
    )


def _lines(x: float, y: float, *rows: str, size: float = 12) -> str:
    return "".join(
        _text(x, y + 1.4 * size * row, words, at="start", size=size)
        for row, words in enumerate(rows)
    )


def _arrow(*points: tuple[float, float], both: bool = False) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    start = ' marker-start="url(#head)"' if both else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="1.2"{start} '
        'marker-end="url(#head)"/>'
    )


def _cells(
    x: float, y: float, side: float, rows: Iterable[Iterable[tuple[str, str]]], ink: float = 0.4
) -> str:
    """Draw a table of square cells, each a fill and a word."""
    drawn = []
    for i, row in enumerate(rows):
        for j, (fill, words) in enumerate(row):
            left, top = x + j * side, y + i * side
            drawn.append(_box(left, top, side, side, fill, ink))
            if words:
                drawn.append(_text(left + side / 2, top + side / 2 + 4, words, size=11))
    return "".join(drawn)


def _blocked() -> tuple[int, int, str]:
    """Draw the three phases of a round, and what a tile of the last one reads."""
    tiles, side, pivot = 6, 28, 2
    gap = tiles * side + 50
    phases = ("1. pivot", "2. its row and column", "3. all others")
    drawn = []
    for phase, title in enumerate(phases):
        x = 10 + phase * gap

        def tile(i: int, j: int, phase: int = phase) -> tuple[str, str]:
            on = (i == pivot) + (j == pivot)  # 2 for the pivot, 1 for its row and column
            if on == 2 - phase:
                return (_ORANGE, _BLUE, _GREEN)[phase], ""
            return (_GREY if on > 2 - phase else ""), ""

        grid = ((tile(i, j) for j in range(tiles)) for i in range(tiles))
        drawn += [_text(x + tiles * side / 2, 20, title), _cells(x, 30, side, grid)]
    left, top = 10 + 2 * gap, 30
    k, other = pivot * side + side / 2, 4 * side + side / 2
    drawn += [
        _arrow((left + k + 12, top + other), (left + other - 11, top + other)),
        _arrow((left + other, top + k + 8), (left + other, top + other - 8)),
        _text(left + k, top + other + 4, "I,K", size=10),
        _text(left + other, top + k + 4, "K,J", size=10),
        _text(left + other, top + other + 4, "I,J", size=10),
        _lines(
            10,
            tiles * side + 55,
            "Round K, for K = 0, 1, ... Coloured tiles are written; grey ones are done and read.",
            "Phase 3 is a min-plus product, D(I,J) = min(D(I,J), D(I,K) + D(K,J)): nearly all the "
            "work.",
        ),
    ]
    return 3 * gap - 20, tiles * side + 90, "".join(drawn)


def _outofcore() -> tuple[int, int, str]:
    """Draw a pass: the closed pivot rows stay on the device, all other rows are streamed."""
    rows = [(22, _GREY, ""), (22, _ORANGE, "b rows of pivots"), (88, "", ""), (22, _BLUE, "rows")]
    drawn, y = [_text(120, 18, "host memory, or a mapped file: n x n")], 30.0
    for height, fill, words in rows:
        drawn.append(_box(10, y, 220, height, fill))
        drawn.append(_text(120, y + height / 2 + 4, words, size=11))
        y += height
    drawn.append(_box(41, 30, 31, 154, _ORANGE, 0.15))
    drawn += [
        _text(520, 18, "device"),
        _box(390, 30, 260, 154, _GREY, 0.1),
        _box(410, 52, 220, 22, _ORANGE),
        _text(520, 67, "right factor, for the whole pass", size=11),
        _box(410, 106, 220, 22, _BLUE),
        _text(520, 121, "slot 1: computed", size=11),
        _box(410, 140, 220, 22, _BLUE, 0.15),
        _text(520, 155, "slot 2: transfers", size=11),
        _arrow((232, 63), (406, 63)),
        _text(315, 56, "once a pass", size=11),
        _arrow((232, 173), (406, 151), both=True),
        _text(315, 146, "each row once a pass,", size=11),
        _text(315, 190, "while another is computed", size=11),
        _lines(
            10,
            212,
            "The left factor of a row is its own b pivot columns (pale), so every value gets b "
            "updates for one transfer each way.",
        ),
    ]
    return 660, 225, "".join(drawn)


def _near_far() -> tuple[int, int, str]:
    """Draw vertices in two lists by their smallest waiting cost; rows of costs side by side."""
    sources, side = 6, 26
    x0, width, threshold = 10, 300, 160
    drawn = [_text(x0, 18, "waiting vertices, by smallest cost", at="start")]
    drawn += [
        _box(x0, 34, threshold - x0, 44, _ORANGE),
        _box(threshold, 34, x0 + width - threshold, 44, _BLUE, 0.25),
        _text((x0 + threshold) / 2, 96, "near: next"),
        _text((threshold + x0 + width) / 2, 96, "far: later"),
        _arrow((threshold, 28), (threshold + 46, 28)),
        _text(threshold + 52, 32, "rises by delta when near is empty", at="start", size=11),
    ]
    for place, name in ((30, "u"), (70, "a"), (120, "b"), (190, "c"), (250, "d"), (290, "e")):
        drawn.append(
            f'<circle cx="{place}" cy="56" r="10" fill="none" stroke="currentColor"/>'
            + _text(place, 60, name, size=11)
        )
    left, right = 430, 430 + sources * side + 10
    before, after = ("6", "5", "9", "8", "∞", "9"), ("5", "5", "6", "8", "∞", "8")
    table = (
        (34, "u", [(_ORANGE, cost) for cost in ("2", "4", "3", "7", "∞", "5")]),
        (90, "v", [("", cost) for cost in before]),
        (134, "v", [(_BLUE if a != b else "", a) for a, b in zip(after, before, strict=True)]),
    )
    drawn.append(_text(left + sources * side / 2, 18, "costs, N sources side by side"))
    for y, name, cells in table:
        drawn += [_text(left - 14, y + 17, name), _cells(left, y, side, [cells])]
    for source in range(sources):
        x = left + source * side + side / 2
        drawn.append(_arrow((x, 62), (x, 87)))
    drawn += [
        _text(right, 79, "+ 3, the arc u → v", at="start", size=11),
        _text(right, 129, "min", at="start", size=11),
        _lines(
            10,
            184,
            "A near vertex u offers each neighbour v the path through itself, for all sources of "
            "the block at once: the arc is read once.",
            "Where that lowers a cost, v waits in one of the lists. On a CPU the sources are "
            "vector lanes, on a GPU neighbouring work-items.",
        ),
    ]
    return 760, 210, "".join(drawn)


def _ms_bfs() -> tuple[int, int, str]:
    """Draw a level: or the neighbours, keep what is new, write the digits of the level."""
    side = 20

    def row(x: float, y: float, bits: str, fill: str, name: str) -> str:
        cells = [[(fill if bit == "1" else "", bit if bit == "1" else "") for bit in bits]]
        return _text(x - 8, y + 14, name, at="end", size=11) + _cells(x, y, side, cells)

    x, after = 96, 440
    drawn = [
        _text(x + 4 * side, 18, "frontier: a bit for each source"),
        row(x, 30, "01000010", _BLUE, "neighbour a"),
        row(x, 56, "00001010", _BLUE, "neighbour b"),
        row(x, 82, "10000010", _BLUE, "neighbour c"),
        _arrow((x + 8 * side + 8, 40), (x + 8 * side + 60, 62)),
        _arrow((x + 8 * side + 8, 66), (x + 8 * side + 60, 66)),
        _arrow((x + 8 * side + 8, 92), (x + 8 * side + 60, 70)),
        _text(x + 8 * side + 76, 70, "or"),
        _text(after + 4 * side, 18, "vertex v, level 5"),
        row(after, 30, "11001010", _GREY, "reached"),
        row(after, 56, "01100010", _GREY, "seen before"),
        row(after, 82, "10001000", _ORANGE, "new"),
        _text(after + 4 * side, 128, "its distance, digit by digit: 5 = 101"),
        row(after, 138, "10001000", _GREEN, "plane 0 (1)"),
        row(after, 164, "00000000", _GREEN, "plane 1 (2)"),
        row(after, 190, "10001000", _GREEN, "plane 2 (4)"),
        _lines(
            10,
            150,
            "32 searches cross an arc in one operation.",
            "New bits go into the frontier of the next",
            "level, and into the planes of the digits",
            "of this one. Numbers are made of the",
            "planes once, at the end.",
        ),
    ]
    return 620, 226, "".join(drawn)


def _arrangements(
    x: float, names: tuple[str, str], each: tuple[str, str], words: tuple[str, str]
) -> str:
    """Draw the same three arrays of four entries in a row each, and side by side."""
    tint, side, drawn = (_BLUE, _ORANGE, _GREEN), 30, ""
    for half, (title, what, comment) in enumerate(zip(names, each, words, strict=True)):
        y = 30 + half * 96
        order = [(t, j) for t in range(3) for j in range(4)]
        if half:
            order.sort(key=lambda place: place[1])
        cells = [[(tint[t], f"{'abc'[t]}{j}") for t, j in order]]
        taken = [k for k, (_, j) in enumerate(order) if j == 1]
        drawn += _text(x, y - 12, title, at="start") + _cells(x, y, side, cells)
        drawn += _text(x + 12 * side + 16, y + 12, what, at="start", size=11)
        drawn += _text(x + 12 * side + 16, y + 28, comment, at="start", size=11)
        for t, k in enumerate(taken):
            place = x + k * side + side / 2
            drawn += _arrow((place, y + 50), (place, y + 33)) + _text(place, y + 61, "abc"[t])
    return drawn


def _bulk() -> tuple[int, int, str]:
    """Draw where entry 1 is when all instances read it."""
    drawn = _arrangements(
        10,
        ("row-wise: the array of an instance in a piece", "column-wise: entry i of all instances"),
        ("AT(1) is 4 p + 1", "AT(1) is 1 · 3 + p"),
        ("for CPUs: each core has its lines", "for GPUs: one access for all"),
    )
    words = "Three instances a, b, c of a program; letters below: where each reads its A[1]."
    return 600, 212, drawn + _lines(10, 206, words)


def _sweep() -> tuple[int, int, str]:
    """Draw which work-items are neighbours in either scheme."""
    side, drawn = 30, ""
    tint = (_BLUE, _ORANGE, _GREEN)
    for half, title in enumerate(("naive", "interleaved, V = 3")):
        x = 10 + half * 420
        drawn += _text(x, 18, title, at="start")
        order = [(t, j) for t in range(3) for j in range(4)]
        if half:
            order.sort(key=lambda place: place[1])
        items = [[(tint[t], "abc"[t]) for t, _ in order]]
        data = [[(tint[t], f"{'abc'[t]}{j}") for t, j in order]]
        drawn += _cells(x, 50, side, items) + _cells(x, 126, side, data)
        drawn += _text(x, 44, "work-items: threads 0 to 3 of tasks a, b, c", at="start", size=11)
        drawn += _text(x, 172, "IN(x, 0) to IN(x, 3) of each task", at="start", size=11)
        for k, (_, j) in enumerate(order):
            # every thread reads the last entry that its task has
            goes = order.index((order[k][0], 3))
            if j in (0, 3):
                start, end = x + k * side + side / 2, x + goes * side + side / 2
                drawn += _arrow((start, 82), (end, 123))
    words = (
        "When every thread reads the same entry of its task (arrows: threads 0 and 3 read entry "
        "3), the naive scheme",
        "reads entries far apart, and the interleaved one reads V neighbours. If thread "
        "j reads entry j, both read in order.",
    )
    return 800, 225, drawn + _lines(10, 196, *words)


#: name -> the function that draws it, which returns width, height and content
PICTURES: dict[str, Callable[[], tuple[int, int, str]]] = {
    "blocked": _blocked,
    "outofcore": _outofcore,
    "near-far": _near_far,
    "ms-bfs": _ms_bfs,
    "bulk": _bulk,
    "sweep": _sweep,
}


def svg(name: str, described: str) -> str:
    """Return a picture as an SVG element.

    Parameters
    ----------
    name : str
        In `PICTURES`.
    described : str
        What it shows, for those who do not see it.
    """
    width, height, content = PICTURES[name]()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(described)}" style="width: 100%; max-width: {width}px; '
        f'font-family: sans-serif">{_HEADS}{content}</svg>'
    )
