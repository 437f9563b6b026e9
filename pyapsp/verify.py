"""Checks of an answer: `certificate`, `against_scipy`, and `oracle` for many answers."""

from pyapsp.paths.certificate import *
from pyapsp.paths.certificate import __all__ as __all__
