"""The layers of the package: the one place where they are listed.

``python tests/architecture/layers.py`` prints them into ``pyapsp/README.md``; ``make docs`` does.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["LAYERS", "PAGE", "PUBLIC", "ROOMS", "page"]

# From the bottom up: the name of a layer, and its packages with one line for each. A package
# imports only packages that are listed before it.
LAYERS = (
    ("base", {"base": "errors, files, host memory and its reuse, progress, the version"}),
    (
        "device",
        {"device": "devices, their capabilities, `quirks.py`; `kernels/`: build, launch, scan"},
    ),
    ("graph", {"graph": "`Graph`, checks, converters, files (`io/`), generators, datasets"}),
    ("numbers", {"numbers": "what number types hold, bounds of distances, checks of values"}),
    (
        "registry",
        {"registry": "problems and methods, the run of a request, its record, timing, `tuning/`"},
    ),
    ("paths", {"paths": "what problems with distances share: options, result, rows, certificate"}),
    (
        "engines",
        {
            "dynamic": "graphs that change (Hornet)",
            "sweep": "the body of a task in OpenCL C, run for many parameters",
        },
    ),
    (
        "problems",
        {
            "traversal": "`bfs/`, `sssp/` (searches from sources), `components/`, `partitioning/`",
            "all_pairs": "`solve`: `dense/` (matrix), `sparse/` (searches), batches, `summaries/`",
            "trusses": "triangles and trusses",
            "queries": "few of the distances: within a range, of pairs, to the nearest",
        },
    ),
    ("MPI", {"cluster": "what the argument `comm` does"}),
    (
        "systems",
        {
            "bulk": "C programs for many inputs",
            "simulation": "differential equations from SBML, PHML, ISML, CellML",
            "matching": "approximate subgraph isomorphism",
            "mining": "formulas that are true at every instant of a trace",
            "profiling": "`benchmarks/` of devices, `probes/` in kernels, `traces/`; criteria",
        },
    ),
    (
        "interfaces",
        {
            "csgraph": "SciPy's functions",
            "networkx_backend": "NetworkX's functions",
            "bench": "measurements, peers, `report/`",
            "cli": "the command line: one module a command",
        },
    ),
)
# Subpackages with an order: which others each may import. None imports a module beside them.
ROOMS = {
    "profiling": {"benchmarks": (), "probes": (), "traces": ("benchmarks", "probes")},
}
# Public modules of one line, which no package imports.
PUBLIC = ("errors", "verify")
PAGE = Path(__file__).resolve().parents[2] / "pyapsp" / "README.md"
_BEGIN, _END = "<!-- layers: printed by tests/architecture/layers.py -->\n", "<!-- end -->\n"


def page() -> str:
    """Return the text of the design page, with the table of layers as it is here."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    rows = [
        f"| {name} | `{package}/` | {content} |\n"
        for name, packages in reversed(LAYERS)
        for package, content in reversed(packages.items())
    ]
    table = "".join(["| layer | package | content |\n", "|---|---|---|\n", *rows])
    return f"{before}{_BEGIN}\n{table}\n{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
