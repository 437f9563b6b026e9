"""The energy of a launch, from samples of a sensor."""

from __future__ import annotations

import time

import pytest

from pyapsp.device.energy import EnergyMeter, mean_power
from pyapsp.device.sensors import NoSensor, Sample, Sensor
from pyapsp.errors import SensorError


def samples(seconds, watts, *, step=0.1, interval=0.02, shown=None, counter=True):
    """What a sensor shows whose counter changes every `step` seconds."""
    result = []
    for number in range(round(seconds / interval)):
        now = number * interval
        joules = watts * (now // step) * step if counter else None
        result.append(Sample(now, joules, shown))
    return result


def test_the_steps_of_the_counter_do_not_change_the_power():
    watts, error = mean_power(samples(1.07, 300))
    assert watts == pytest.approx(300, rel=0.03)
    assert 0 < error < 0.06
    watts, error = mean_power(samples(5.03, 300))
    assert watts == pytest.approx(300, rel=0.01)
    assert error < 0.01


def test_the_error_is_the_difference_between_counter_and_readings():
    watts, error = mean_power(samples(5, 300, shown=270))
    assert watts == pytest.approx(300, rel=0.01)
    assert error == pytest.approx(0.1, abs=0.01)


def test_without_a_counter_the_readings_count():
    some = [Sample(0, None, 100), Sample(1, None, 100), Sample(3, None, 300)]
    watts, error = mean_power(some)
    assert watts == pytest.approx((100 + 2 * 200) / 3)
    assert error is None


def test_too_few_samples_give_nothing():
    assert mean_power([]) == mean_power(samples(0.1, 300)) == (None, None)
    assert mean_power([Sample(0, 1.0, None)]) == (None, None)
    assert mean_power([Sample(0, None, 5.0)]) == (None, None)


class Toy(Sensor):
    """A device that draws 50 W, and 200 W while it is busy."""

    name = "toy"

    def __init__(self):
        self.busy, self.reads, self.most = False, 0, 10**9
        self._last, self._joules = time.perf_counter(), 0.0

    def joules(self):
        self.reads += 1
        if self.reads > self.most:
            raise OSError("unplugged")
        now = time.perf_counter()
        self._joules += (now - self._last) * self.watts()
        self._last = now
        return self._joules

    def watts(self):
        return 200.0 if self.busy else 50.0

    def launch(self):
        self.joules()
        self.busy = True
        time.sleep(0.01)


def test_a_launch_has_its_share_of_the_train():
    sensor = Toy()
    meter = EnergyMeter(sensor, 0.3)
    assert meter.idle_watts == pytest.approx(50, rel=0.05)
    energy = meter.measure(sensor.launch)
    assert 1 <= energy.launches <= 30
    assert energy.seconds >= 0.01
    assert energy.watts == pytest.approx(200, rel=0.05)
    assert energy.peak_watts == 200
    assert energy.joules == pytest.approx(energy.watts * energy.seconds)
    assert energy.idle_joules == pytest.approx(meter.idle_watts * energy.seconds)
    assert energy.samples >= 3


def test_without_a_sensor_nothing_is_run():
    launched = []
    energy = EnergyMeter(NoSensor()).measure(lambda: launched.append(1))
    assert energy.joules is energy.watts is energy.idle_joules is energy.error is None
    assert launched == []


def test_a_sensor_that_disappears_in_a_train_is_named():
    sensor = Toy()
    meter = EnergyMeter(sensor, 0.2)
    sensor.most = sensor.reads + 5
    with pytest.raises(SensorError, match=r"sensor toy: .*any more \(OSError: unplugged\)"):
        meter.measure(lambda: time.sleep(0.01))


def test_short_runs_follow_each_other():
    sensor, counts = Toy(), []
    meter = EnergyMeter(sensor, 0.3)

    def run(times):
        counts.append(times)
        time.sleep(0.001 * times)

    energy = meter.measure_runs(run)
    together = counts[-1]
    assert counts[:2] == [1, 1]
    assert together > 1
    # the first launch of so many is before the train
    assert energy.launches == sum(counts[3:])
    assert energy.seconds * energy.launches == pytest.approx(0.3, rel=0.3)
    assert energy.joules == pytest.approx(energy.watts * energy.seconds)


def test_long_runs_do_not_follow_each_other_and_none_is_run_without_a_sensor():
    counts = []
    EnergyMeter(Toy(), 0.1).measure_runs(lambda times: (counts.append(times), time.sleep(0.05)))
    assert set(counts) == {1}
    counts.clear()
    energy = EnergyMeter(NoSensor(), 0.1).measure_runs(counts.append)
    assert (energy.joules, counts) == (None, [])
