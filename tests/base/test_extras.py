"""Modules of extras that are missing."""

from __future__ import annotations

import importlib

import pytest

from pyapsp.base.extras import extra
from pyapsp.errors import PyApspError


def test_the_extra_of_a_missing_module_is_named():
    told = r"^a file needs no_such_module; install the extra 'some' of pyapsp$"
    with pytest.raises(PyApspError, match=told), extra("some", "a file"):
        importlib.import_module("no_such_module")


def test_other_errors_stay():
    with pytest.raises(ImportError, match="no_such_name"), extra("some", "a file"):
        from json import no_such_name  # noqa: F401
