"""Files that are no models, and files that try to do harm."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from system_oracle import Oracle

from pyapsp.errors import ModelError
from pyapsp.simulation.frontend import read_model

NEST = "<a>" * 3000 + "</a>" * 3000
BOMB = '<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><sbml>&d;</sbml>'
OUTSIDE = '<!DOCTYPE a SYSTEM "file:///etc/hostname"><sbml/>'
BAD = {
    "XML: no element found": "",
    "XML: unclosed token": "<sbml",
    "XML: undefined entity|XML: ": "<sbml>&b;</sbml>",
    "DOCTYPE: a document type": BOMB,
    r"m\.xml:2: DOCTYPE": "\n" + OUTSIDE,
    "more than 400 elements inside each other": NEST,
    "element 'html': is the root of no known format": "<html/>",
    "is not in the archive": "PK",
    "XML: unknown encoding": '<?xml version="1.0" encoding="none"?><sbml/>',
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_no_model_is_refused(message, tmp_path):
    path = tmp_path / "m.xml"
    if BAD[message] == "PK":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other.phml", "<a/>")
    else:
        path.write_text(BAD[message])
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert caught.value.path == str(path)
    assert caught.value.construct


def test_a_broken_archive_is_refused(tmp_path):
    path = tmp_path / "m.phz"
    path.write_bytes(b"PK\3\4 and so on")
    with pytest.raises(ModelError, match="archive"):
        read_model(path)


CELLS = {f"cell[{number}].{name}" for number in (1, 2) for name in ("gate.w", "membrane.v")}
MODELS = Path(__file__).parents[1] / "models"


@pytest.mark.parametrize(
    ("name", "states", "functions"),
    [
        ("decay.sbml", {"A", "B"}, {"decay"}),
        ("pacemaker.phml", CELLS, {"pulse.I"}),
        ("membrane.cellml", {"membrane.V"}, {"leak.i"}),
    ],
)
def test_the_content_says_which_format_it_is(name, states, functions, tmp_path):
    path = tmp_path / "model"
    path.write_bytes((MODELS / name).read_bytes())
    system = read_model(path)
    assert (set(system.initial), set(system.functions)) == (states, functions)
    oracle = Oracle(system)
    assert np.isfinite(oracle.rhs(0.0, oracle.y0)).all()
