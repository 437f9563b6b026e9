"""Sensors of power: how much energy a device has used, or how much power it draws now.

======== =============================================== ===============================
name     of                                              needs
======== =============================================== ===============================
nvml     GPUs: counter of energy, and power              the module ``pynvml``
rapl     processors: counter of energy                   Linux, and the right to read it
amdsmi   GPUs: counter of energy, and power              the module ``amdsmi``
none     nothing
======== =============================================== ===============================
"""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import ClassVar, NamedTuple

from pyapsp.base.errors import ParameterError, SensorError
from pyapsp.device.model import Device
from pyapsp.device.quirks import SENSOR_LIBRARIES

__all__ = ["SENSORS", "NoSensor", "RaplSensor", "Sample", "Sensor", "open_sensor"]

_POWERCAP = Path("/sys/class/powercap")


class Sample(NamedTuple):
    """What a sensor shows at a time."""

    seconds: float  # by `time.perf_counter`
    # The counter of energy; None if the sensor has none.
    joules: float | None
    # The power; None if the sensor does not show it.
    watts: float | None


class Sensor(ABC):
    """A sensor of power.

    Attributes
    ----------
    name : str
        One of `SENSORS`.
    """

    name: str

    def sample(self) -> Sample:
        """Read the sensor.

        Raises
        ------
        SensorError
            If it cannot be read.
        """
        try:
            joules, watts = self.joules(), self.watts()
        except SensorError:
            raise
        except Exception as error:  # each vendor's package has errors of its own
            why = f"{type(error).__name__}: {error}"
            raise SensorError(self.name, f"it cannot be read any more ({why})") from error
        return Sample(time.perf_counter(), joules, watts)

    @abstractmethod
    def joules(self) -> float | None:
        """Return the energy since some time in the past."""

    @abstractmethod
    def watts(self) -> float | None:
        """Return the power."""

    def close(self) -> None:  # noqa: B027  # most sensors hold nothing
        """End the use of the sensor."""


class NoSensor(Sensor):
    """The sensor of a device without one: it shows nothing."""

    name = "none"

    def joules(self) -> None:
        """Return None."""

    def watts(self) -> None:
        """Return None."""


class RaplSensor(Sensor):
    """The energy of the processors of the host, from the counters of Linux.

    The counters go back to zero at their largest value, after some minutes: the sensor must be read
    more often.

    Parameters
    ----------
    root : path-like
        The folder of the counters.

    Raises
    ------
    SensorError
        If it has none, or they may not be read.
    """

    name = "rapl"

    def __init__(self, root: Path = _POWERCAP) -> None:
        # zones have names such as NAME-rapl:0; those with two numbers are parts of them
        zones = [each for each in root.glob("*-rapl:*") if each.name.count(":") == 1]
        self._zones = [zone for zone in sorted(zones) if self._name_of(zone).startswith("package")]
        if not self._zones:
            raise SensorError(self.name, f"{root} has no counters of processors")
        try:
            self._ranges = [_number(zone / "max_energy_range_uj") for zone in self._zones]
            self._last = [_number(zone / "energy_uj") for zone in self._zones]
        except OSError as error:
            raise SensorError(self.name, str(error)) from error
        self._microjoules = 0

    @staticmethod
    def _name_of(zone: Path) -> str:
        with suppress(OSError):
            return (zone / "name").read_text().strip()
        return ""

    def joules(self) -> float:
        """Return the energy of all processors since the sensor was opened."""
        for place, zone in enumerate(self._zones):
            now = _number(zone / "energy_uj")
            used = now - self._last[place]
            # the counter has gone past its largest value
            self._microjoules += used if used >= 0 else used + self._ranges[place] + 1
            self._last[place] = now
        return self._microjoules / 1e6

    def watts(self) -> None:
        """Return None: there is only a counter."""


def _number(path: Path) -> int:
    return int(path.read_text())


class _LibrarySensor(Sensor):
    """The energy and the power of a GPU, from the library of its driver."""

    #: The name of the library's exception.
    error: ClassVar[str]

    def __init__(self, device: Device) -> None:
        self._library = _imported(self.name)
        self._error: type[Exception] = getattr(self._library, self.error)
        try:
            self._handle = self._open(device)
            self.joules()
        except self._error as error:
            raise SensorError(self.name, str(error)) from error

    @abstractmethod
    def _open(self, device: Device) -> object:
        """Start the library, and return its handle of the device."""


class _NvmlSensor(_LibrarySensor):
    name, error = "nvml", "NVMLError"

    def _open(self, device: Device) -> object:
        self._library.nvmlInit()
        return self._found(device)

    def _found(self, device: Device) -> object:
        """Return the library's handle of the device."""
        if device.pci_address is not None:
            with suppress(self._error):
                return self._library.nvmlDeviceGetHandleByPciBusId(device.pci_address)
        if (count := self._library.nvmlDeviceGetCount()) != 1:
            raise SensorError(self.name, f"which of {count} GPUs is {device}, is not known")
        return self._library.nvmlDeviceGetHandleByIndex(0)

    def joules(self) -> float:
        millijoules: int = self._library.nvmlDeviceGetTotalEnergyConsumption(self._handle)
        return millijoules / 1e3

    def watts(self) -> float:
        # the power at this moment; nvmlDeviceGetPowerUsage is a mean over a second on some devices
        with suppress(self._error, AttributeError):
            field = self._library.NVML_FI_DEV_POWER_INSTANT
            (value,) = self._library.nvmlDeviceGetFieldValues(self._handle, [field])
            if value.nvmlReturn == self._library.NVML_SUCCESS and value.value.uiVal:
                now: int = value.value.uiVal
                return now / 1e3
        milliwatts: int = self._library.nvmlDeviceGetPowerUsage(self._handle)
        return milliwatts / 1e3

    def close(self) -> None:
        with suppress(self._error):
            self._library.nvmlShutdown()


class _AmdSmiSensor(_LibrarySensor):
    name, error = "amdsmi", "AmdSmiException"

    def _open(self, device: Device) -> object:
        self._library.amdsmi_init()
        handles: Sequence[object] = self._library.amdsmi_get_processor_handles()
        if len(handles) != 1:
            raise SensorError(
                self.name, f"it has {len(handles)} GPUs, and which is {device} is not known"
            )
        return handles[0]

    def joules(self) -> float:
        count = self._library.amdsmi_get_energy_count(self._handle)
        steps = count.get("energy_accumulator", count.get("power"))
        return float(steps) * float(count["counter_resolution"]) / 1e6

    def watts(self) -> float | None:
        power = self._library.amdsmi_get_power_info(self._handle)
        for name in ("current_socket_power", "average_socket_power"):
            if isinstance(power.get(name), int | float):
                return float(power[name])
        return None

    def close(self) -> None:
        with suppress(self._error):
            self._library.amdsmi_shut_down()


def _imported(sensor: str) -> ModuleType:
    module, package = SENSOR_LIBRARIES[sensor]
    try:
        return importlib.import_module(module)
    except (ImportError, OSError, KeyError) as error:  # it may look for a library and variables
        raise SensorError(sensor, f"pip install {package} ({error})") from error


#: The names of the sensors.
SENSORS = ("nvml", "rapl", "amdsmi", "none")
_OPENED: dict[str, Callable[[Device], Sensor]] = {
    "nvml": _NvmlSensor,
    "rapl": lambda device: RaplSensor(),
    "amdsmi": _AmdSmiSensor,
    "none": lambda device: NoSensor(),
}
_OF_KIND = {"cpu": ("rapl",), "gpu": ("nvml", "amdsmi")}


def open_sensor(device: Device, name: str = "auto") -> Sensor:
    """Open a sensor of a device.

    Parameters
    ----------
    device : Device
    name : str
        One of `SENSORS`, or "auto": the first one that can be read, and else none.

    Returns
    -------
    Sensor

    Raises
    ------
    SensorError
        If the sensor that was named cannot be read.
    ParameterError
        If there is no sensor of this name.
    """
    if name != "auto":
        if name not in _OPENED:
            rule = f"auto or one of {', '.join(SENSORS)}"
            raise ParameterError.of("sensor", "open_sensor", rule, name, SENSORS)
        return _OPENED[name](device)
    for each in _OF_KIND.get(device.kind, ()):
        with suppress(SensorError):
            return _OPENED[each](device)
    return NoSensor()
