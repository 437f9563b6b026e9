"""The fastest parameters of methods on a device: measured once, then read from a database.

``space`` has the legal parameter sets. ``tuner`` verifies and times them. ``journal`` stores each
measurement, so that a killed tuner can continue. ``rows`` makes rows, ``database`` reads and
writes them. ``lookup`` finds the row for a call.
"""

from pyapsp.registry.tuning.database import Row, user_folder
from pyapsp.registry.tuning.lookup import Match, tuned, tuned_rate
from pyapsp.registry.tuning.space import Space

__all__ = ["Match", "Row", "Space", "tuned", "tuned_rate", "user_folder"]
