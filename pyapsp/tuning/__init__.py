"""Which parameters a method is fastest with on a device: measured once, looked up afterwards.

``space`` says which parameter sets are legal, ``tuner`` verifies and times them, ``journal`` keeps
what was measured when the tuner is killed, ``database`` finds the row for a device.
"""

from pyapsp.tuning.database import Match, Row, tuned, tuned_rate, user_folder
from pyapsp.tuning.space import Space

__all__ = ["Match", "Row", "Space", "tuned", "tuned_rate", "user_folder"]
