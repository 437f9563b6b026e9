"""The module that runs commands is found by its name; fixtures that several modules use."""

import sys
import time
from pathlib import Path

import pytest

from pyapsp.device import sensors
from pyapsp.device.sensors import Sensor
from pyapsp.registry import runs

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def wrong_distances(monkeypatch):
    """Let the distance from 0 to 1 be wrong in every answer."""
    solve = runs.solve

    def wrong(request):
        solved = solve(request)
        solved.answer.distances[0, 1] += 1
        return solved

    monkeypatch.setattr(runs, "solve", wrong)


class Toy(Sensor):
    """A sensor that can be unplugged."""

    name = "toy"
    lost = False

    def joules(self):
        if self.lost:
            raise OSError("unplugged")
        return 100 * time.perf_counter()

    def watts(self):
        return 100.0


@pytest.fixture
def toy_sensor(monkeypatch):
    sensor = Toy()
    monkeypatch.setitem(sensors._OPENED, "rapl", lambda device: sensor)
    return sensor
