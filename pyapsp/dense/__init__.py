"""Dense all-pairs shortest paths: Floyd-Warshall on the distance matrix.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.dense.fw_blocked import FwBlocked
from pyapsp.dense.fw_minplus import FwMinplus
from pyapsp.dense.fw_mm import FwMm
from pyapsp.dense.fw_multidevice import FwMultidevice
from pyapsp.dense.fw_multikernel import FwMultikernel
from pyapsp.dense.fw_naive import FwNaive
from pyapsp.dense.fw_outofcore import FwOutofcore
from pyapsp.dense.fw_packed import FwPacked4, FwPacked8, FwPacked16
from pyapsp.dense.fw_recursive import FwRecursive
from pyapsp.dense.fw_singlekernel import FwSinglekernel
from pyapsp.dense.fw_twolevel import FwTwolevel

__all__ = [
    "FwBlocked",
    "FwMinplus",
    "FwMm",
    "FwMultidevice",
    "FwMultikernel",
    "FwNaive",
    "FwOutofcore",
    "FwPacked4",
    "FwPacked8",
    "FwPacked16",
    "FwRecursive",
    "FwSinglekernel",
    "FwTwolevel",
]
