"""Traces of hardware designs: the value change dumps of the regression tests of Mangrove's authors.

They are in ``traces.tar.xz``, in the folder that ``PYAPSP_DATA_MIRROR`` names. If it is not there,
a planted trace stands in for them.
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyapsp.mining import Trace, read_trace
from pyapsp.mining.planted import planted

__all__ = ["traces"]

_ARCHIVE = "traces.tar.xz"
# The number of the planted trace.
_STAND_IN = 2


def traces(n: int) -> Iterator[tuple[str, Trace]]:
    """Yield each design with its first n instants, or fewer if there are no more.

    The authors' tests convert the dumps, with 0 for unknown values, before they mine them.
    """
    archive = Path(os.environ.get("PYAPSP_DATA_MIRROR", ""), _ARCHIVE)
    if not archive.is_file():
        yield f"stand-in: planted trace {_STAND_IN}", planted(_STAND_IN, n)
        return
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as packed:
            packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
            packed.extractall(folder)
        for path in sorted(Path(folder).rglob("*.vcd")):
            yield path.stem, read_trace(path, unknown="zero").part(0, n)
