"""Inputs that differ in nothing but their size, by their names and their numbers of arcs."""

from __future__ import annotations

import re

import pandas as pd

__all__ = ["kinds"]


def kinds(runs: pd.DataFrame) -> list[list[tuple[str, int]]]:
    """Return the inputs, as (name, n), in groups that differ in nothing but their size.

    The names of a group differ in the number that says their size, which is n, the power of 2 that
    n is, or a product as in ``70x70``, and in numbers above it. And arcs per vertex, or the share
    of all possible arcs, change by less than a half from one to the next.
    """
    found: dict[str, list[list[tuple[str, int, float]]]] = {}
    inputs = runs[["input", "n", "m"]].drop_duplicates(["input", "n"]).sort_values(["n", "m"])
    for name, n, m in inputs.itertuples(index=False):
        arcs = 1.0 if pd.isna(m) else float(m)
        groups = found.setdefault(_kind(name, n), [])
        for group in groups:
            _, size, before = group[-1]
            ratios = (arcs * size / (before * n), arcs * size**2 / (before * n**2))
            if size < n and any(1 / 1.5 < ratio < 1.5 for ratio in ratios):
                group.append((name, n, arcs))
                break
        else:
            groups.append([(name, n, arcs)])
    return [[(name, n) for name, n, _ in group] for groups in found.values() for group in groups]


def _kind(name: str, n: int) -> str:
    """Return a name without its size, and without numbers above it, such as that of arcs."""

    def sides(found: re.Match[str]) -> str:
        return "{n}" if int(found[1]) * int(found[2]) == n else found[0]

    def size(found: re.Match[str]) -> str:
        number = int(found[0])
        if number == n or (number < 63 and 2**number == n):
            return "{n}"
        return "{m}" if number > n else found[0]

    kind = re.sub(r"\d+", size, re.sub(r"(\d+)x(\d+)", sides, name))
    return kind if "{n}" in kind else name
