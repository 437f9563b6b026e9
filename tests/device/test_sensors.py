"""Sensors of power: counters of a recorded tree, and libraries of GPUs in toy form."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from pyapsp.device import sensors
from pyapsp.device.sensors import NoSensor, RaplSensor, open_sensor
from pyapsp.errors import ParameterError, SensorError

RANGE = 262143328850  # of a processor, in microjoules


@pytest.fixture
def tree(tmp_path):
    """The counters of a host with two processors, and a function that sets them."""
    zones = {
        "intel-rapl": "",
        "intel-rapl:0": "package-0",
        "intel-rapl:0:0": "core",
        "intel-rapl:1": "package-1",
        "intel-rapl:2": "psys",
        "dtpm": "",
    }
    for folder, name in zones.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "name").write_text(f"{name}\n")
        (tmp_path / folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
        (tmp_path / folder / "energy_uj").write_text("1000000\n")

    def count(first, second):
        (tmp_path / "intel-rapl:0" / "energy_uj").write_text(f"{first}\n")
        (tmp_path / "intel-rapl:1" / "energy_uj").write_text(f"{second}\n")

    return SimpleNamespace(root=tmp_path, count=count)


def test_rapl_adds_up_the_processors(tree):
    tree.count(1_000_000, 5_000_000)
    sensor = RaplSensor(tree.root)
    assert sensor.joules() == 0
    tree.count(3_500_000, 6_000_000)
    assert sensor.joules() == pytest.approx(3.5)
    assert sensor.sample()[1:] == (3.5, None)


def test_rapl_goes_on_when_a_counter_begins_again(tree):
    tree.count(RANGE - 999_999, 0)
    sensor = RaplSensor(tree.root)
    tree.count(2_000_000, 0)
    assert sensor.joules() == pytest.approx(3)
    tree.count(RANGE, 0)
    sensor.joules()
    tree.count(0, 1)  # one more step is 0
    assert sensor.joules() == pytest.approx((3e6 + RANGE - 2e6 + 1 + 1) / 1e6)


def test_without_counters_rapl_says_where_it_looked(tmp_path):
    with pytest.raises(SensorError, match=f"sensor rapl: {tmp_path} has no counters"):
        RaplSensor(tmp_path)


def test_a_counter_that_disappears_is_an_error_with_the_name_of_the_sensor(tree):
    sensor = RaplSensor(tree.root)
    (tree.root / "intel-rapl:1" / "energy_uj").unlink()
    with pytest.raises(SensorError, match=r"sensor rapl: it cannot be read any more .*energy_uj"):
        sensor.sample()


class LostError(Exception):
    """The error of a toy library."""


def toy_nvml(monkeypatch, **changes):
    library = ModuleType("pynvml")
    field = SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=321_000))
    functions = {
        "NVMLError": LostError,
        "NVML_SUCCESS": 0,
        "NVML_FI_DEV_POWER_INSTANT": 186,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda number: number,
        "nvmlDeviceGetHandleByPciBusId": lambda address: 0,
        "nvmlDeviceGetTotalEnergyConsumption": lambda handle: 2500,
        "nvmlDeviceGetPowerUsage": lambda handle: 300_000,
        "nvmlDeviceGetFieldValues": lambda handle, fields: [field],
    }
    for name, value in {**functions, **changes}.items():
        setattr(library, name, value)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def lost(*arguments):
    raise LostError("GPU is lost")


def test_nvml_reads_the_counter_and_the_power_of_this_moment(device, monkeypatch):
    library = toy_nvml(monkeypatch)
    sensor = open_sensor(device, "nvml")
    assert sensor.sample()[1:] == (2.5, 321.0)
    library.nvmlDeviceGetFieldValues = lost  # an old driver
    assert sensor.sample()[1:] == (2.5, 300.0)
    library.nvmlDeviceGetTotalEnergyConsumption = lost
    with pytest.raises(
        SensorError, match=r"sensor nvml: .*any more \(LostError: GPU is lost\)"
    ) as info:
        sensor.sample()
    assert info.value.name == "nvml"
    sensor.close()


def test_nvml_finds_the_device_by_its_address(device, monkeypatch):
    monkeypatch.setitem(device.__dict__, "pci_address", "00000000:17:00.0")
    toy_nvml(
        monkeypatch,
        nvmlDeviceGetHandleByPciBusId=lambda address: {"00000000:17:00.0": 7}[address],
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: handle * 1000,
    )
    assert open_sensor(device, "nvml").joules() == 7


def test_one_of_several_gpus_is_not_guessed(device, monkeypatch):
    monkeypatch.setitem(device.__dict__, "pci_address", None)
    toy_nvml(monkeypatch, nvmlDeviceGetCount=lambda: 2)
    with pytest.raises(SensorError, match="which of 2 GPUs"):
        open_sensor(device, "nvml")


def test_amdsmi_reads_the_counter_and_the_power(device, monkeypatch):
    library = ModuleType("amdsmi")
    library.AmdSmiException = LostError
    library.amdsmi_init = library.amdsmi_shut_down = lambda: None
    library.amdsmi_get_processor_handles = lambda: ["gpu"]
    library.amdsmi_get_energy_count = lambda handle: {
        "energy_accumulator": 2_000_000,
        "counter_resolution": 15.3,
    }
    library.amdsmi_get_power_info = lambda handle: {
        "current_socket_power": "N/A",
        "average_socket_power": 250,
    }
    monkeypatch.setitem(sys.modules, "amdsmi", library)
    sensor = open_sensor(device, "amdsmi")
    assert sensor.sample()[1:] == (pytest.approx(30.6), 250.0)
    sensor.close()


def test_a_missing_library_names_its_package(device, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(SensorError, match="sensor nvml: pip install nvidia-ml-py"):
        open_sensor(device, "nvml")


def test_auto_takes_the_first_that_can_be_read(device, monkeypatch, tree, tmp_path):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    monkeypatch.setitem(sensors._OPENED, "rapl", lambda device: RaplSensor(tmp_path / "none"))
    assert open_sensor(device).sample()[1:] == (None, None)
    assert isinstance(open_sensor(device), NoSensor)
    monkeypatch.setitem(sensors._OPENED, "rapl", lambda device: RaplSensor(tree.root))
    assert open_sensor(device).name == ("rapl" if device.kind == "cpu" else "none")


def test_an_unknown_sensor_is_refused(device):
    with pytest.raises(ParameterError, match="auto or one of nvml, rapl, amdsmi, none"):
        open_sensor(device, "nvm")
