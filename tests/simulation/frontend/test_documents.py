"""Files that are no models, and files that try to do harm."""

import zipfile

import numpy as np
import pytest

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


MODEL = (
    '<sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2"><model>'
    '<listOfParameters><parameter id="p" value="1" constant="false"/></listOfParameters>'
    '<listOfRules><rateRule variable="p"><math xmlns="http://www.w3.org/1998/Math/MathML">'
    "<apply><plus/><ci>p</ci><cn>1</cn></apply></math></rateRule></listOfRules></model></sbml>"
)


def test_spoilt_files_end_in_models_or_typed_errors(tmp_path):
    draw, path = np.random.default_rng(5), tmp_path / "m.xml"
    refused = 0
    for _ in range(150):
        text = bytearray(MODEL.encode())
        for place in draw.integers(0, len(text), draw.integers(1, 4)):
            text[place] = draw.choice(bytearray(b'<>/"= px1&\xff'))
        path.write_bytes(text)
        try:
            read_model(path)
        except ModelError:
            refused += 1
    assert refused > 50
