"""The exceptions of this package; all of them derive from `PyApspError`."""

from pyapsp.base.errors import *
