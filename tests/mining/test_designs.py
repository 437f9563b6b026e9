"""The dumps of the regression tests of Mangrove's authors, where they are at hand."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

from pyapsp.mining import mine, read_trace
from pyapsp.mining.sequential import loop, sequential

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

# ``traces.tar.xz`` is looked for where the datasets are, then beside the checkout.
FOLDERS = [
    folder
    for folder in (
        os.environ.get("PYAPSP_DATA_MIRROR", ""),
        str(Path(__file__).parents[3] / "shared" / "data"),
    )
    if folder and (Path(folder) / "traces.tar.xz").is_file()
]
#: Instants, variables, and invariants of sets I and II, with 0 for unknown values.
DESIGNS = {
    "apb_bool": (9991, 24, 5, 545),
    "apb_numeric": (10001, 16, 93, 527),
    "bool_bool": (10000, 40, 2, 34),
    "fpadd_bool": (18786, 60, 23, 34085),
    "jpeg_dct_bool": (10000, 40, 9, 5511),
    "jpeg_enc_bool": (10000, 44, 9, 4482),
    "jpeg_qnr_bool": (10000, 42, 11, 3188),
    "jpeg_qnr_numeric": (10000, 76, 2594, 99411),
    "jpeg_rle_bool": (10000, 78, 9, 9552),
    "jpeg_rle_numeric": (10000, 77, 264, 20121),
    "uart_bool": (5055, 169, 117, 1974627),
    "uart_numeric": (5085, 30, 454, 7372),
}
OF_BOTH = ({}, {"inference": False})
FORMS = {"I": (*OF_BOTH, {"mapping": "entry"}, {"early_exit": False}), "II": OF_BOTH}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    assert FOLDERS, "set PYAPSP_DATA_MIRROR to the folder of traces.tar.xz"
    unpacked = tmp_path_factory.mktemp("traces")
    with tarfile.open(Path(FOLDERS[0]) / "traces.tar.xz") as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
        tar.extractall(unpacked)
    return unpacked / "traces"


def test_every_design_is_known(folder):
    assert {path.stem for path in folder.glob("*.vcd")} == DESIGNS.keys()


@pytest.mark.parametrize("design", DESIGNS)
def test_kinds_of_computation_find_the_same_invariants(design, folder, device):
    """As in the authors' tests: on the host and on the device, with and without inference."""
    trace = read_trace(folder / f"{design}.vcd", unknown="zero")
    instants, variables, *counts = DESIGNS[design]
    assert trace.n == instants
    assert len(trace.boolean_names) + len(trace.numeric_names) == variables
    for (chosen, forms), count in zip(FORMS.items(), counts, strict=True):
        right = frozenset(sequential(trace, chosen))
        assert len(right) == count
        for form in forms:
            assert frozenset(mine(trace, chosen, device=device, **form)) == right, (chosen, form)


@pytest.mark.parametrize("design", DESIGNS)
def test_numpy_finds_the_same_invariants_of_set_i(design, folder):
    trace = read_trace(folder / f"{design}.vcd", unknown="zero")
    assert len(loop(trace, "I")) == DESIGNS[design][2]
