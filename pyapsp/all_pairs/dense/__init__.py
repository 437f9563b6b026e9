"""Dense all-pairs shortest paths: Floyd-Warshall on the distance matrix.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.all_pairs.dense.fw_blocked import FwBlocked
from pyapsp.all_pairs.dense.fw_minplus import FwMinplus
from pyapsp.all_pairs.dense.fw_mm import FwMm
from pyapsp.all_pairs.dense.fw_multidevice import FwMultidevice
from pyapsp.all_pairs.dense.fw_multikernel import FwMultikernel
from pyapsp.all_pairs.dense.fw_naive import FwNaive
from pyapsp.all_pairs.dense.fw_outofcore import FwOutofcore
from pyapsp.all_pairs.dense.fw_packed import FwPacked4, FwPacked8, FwPacked16
from pyapsp.all_pairs.dense.fw_recursive import FwRecursive
from pyapsp.all_pairs.dense.fw_singlekernel import FwSinglekernel
from pyapsp.all_pairs.dense.fw_twolevel import FwTwolevel

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
