from __future__ import annotations

import argparse
import dataclasses
import json

import pytest

import pyapsp.device
from pyapsp.cli import devices as command
from pyapsp.device import devices
from pyapsp.errors import NoDeviceError


def call(*arguments):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(arguments))


def test_json_has_every_capability(device, capsys):
    assert call("--json") == 0
    listed = {each["id"]: each for each in json.loads(capsys.readouterr().out)}
    assert list(listed) == [each.id for each in devices()]
    mine = listed[device.id]
    assert mine["name"] == device.name
    assert mine["platform"] == device.platform_name
    assert mine["kind"] == device.kind
    capabilities = dataclasses.asdict(device.capabilities)
    assert mine["capabilities"] == json.loads(json.dumps(capabilities))


def test_table_has_a_row_per_device(device, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert call() == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[:5] == ["id", "kind", "name", "platform", "driver"]
    assert len(rows) == len(devices())
    row = next(row for row in rows if row.split()[0] == device.id)
    assert device.name in row
    assert device.platform_name in row
    assert row.split()[-2:] == [
        "yes" if device.capabilities.fp64 else "no",
        "yes" if device.capabilities.fp16 else "no",
    ]


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_no_device_is_the_typed_error(monkeypatch, arguments):
    monkeypatch.setattr(pyapsp.device, "devices", list)
    with pytest.raises(NoDeviceError, match="pyapsp doctor"):
        call(*arguments)


def test_first_line_of_the_docstring_is_the_help():
    assert command.__doc__.splitlines()[0].endswith(".")
