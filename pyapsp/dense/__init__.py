"""Dense all-pairs shortest paths: the distance matrix lives on the device.

Each published algorithm is one module and one kernel file of the same name.
"""

from pyapsp.dense.fw_blocked import FwBlocked
from pyapsp.dense.fw_naive import FwNaive

__all__ = ["FwBlocked", "FwNaive"]
