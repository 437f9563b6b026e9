"""Rows for a database: what was measured, with the device and the versions of what ran."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from pyapsp.base.version import __version__
from pyapsp.device import Device
from pyapsp.device.kernels import source
from pyapsp.registry.tuning.database import Row

__all__ = ["kernels_hash", "row_of"]


def row_of(method: type[Any], device: Device, **fields: Any) -> Row:
    """Return a row with the facts of a method, a device and this version of the package.

    Parameters
    ----------
    method : class of a Method
    device : Device
    **fields
        The other fields of the row.
    """
    return Row(
        method=method.id,
        platform=device.platform_name,
        kind=device.kind,
        architecture=device.architecture,
        device=device.plain_name,
        driver=device.driver_version,
        pyapsp=__version__,
        kernels=kernels_hash(method.area),
        **fields,
    )


@cache
def kernels_hash(area: str) -> str:
    """Return a hash of all files that kernels of the area may include."""
    digest = hashlib.sha256()
    for folder in ("common", area.partition("/")[0]):
        for path in sorted((source.root() / folder).rglob("*")):
            if path.is_file():
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
