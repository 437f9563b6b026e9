"""The exceptions of this package; all of them derive from `PyApspError`."""

from typing import TYPE_CHECKING

from pyapsp.base import errors as _errors
from pyapsp.base.errors import __all__ as __all__

if TYPE_CHECKING:
    from pyapsp.base.errors import *


def __getattr__(name: str) -> object:
    return getattr(_errors, name)  # one of them is imported at its first use


def __dir__() -> list[str]:
    return sorted(__all__)
