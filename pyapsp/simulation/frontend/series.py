"""Time series in ISD files, and the expressions that interpolate them."""

from __future__ import annotations

import struct
from os import PathLike

import numpy as np
import numpy.typing as npt

from pyapsp.base.errors import ModelError
from pyapsp.simulation.expressions import Apply, Expression, Number
from pyapsp.simulation.frontend.trees import TIME

__all__ = ["interpolation", "read_isd"]

# magic, versions and padding; date; columns; bytes of the comment, the names and the units
_HEAD = struct.Struct("<4s4x20s4I")


def read_isd(data: bytes, path: str | PathLike[str]) -> dict[str, npt.NDArray[np.float64]]:
    """Read a time series in the ISD format of PhysioDesigner and Flint.

    After the head come the comment, the names and the units, each text with its length before
    it, and rows of float64, all little-endian.

    Parameters
    ----------
    data : bytes
        The content of the file.
    path : path-like
        Its name, for messages.

    Returns
    -------
    dict of str to ndarray, shape (rows,), float64
        The columns, in the units of the file, which are not read. The first one has the times.

    Raises
    ------
    ModelError
        The file is malformed.
    """
    if len(data) < _HEAD.size or data[:4] != b"ISDF":
        raise ModelError(path, "time series", "is not in the ISD format")
    _, _, columns, comment, described, units = _HEAD.unpack_from(data)
    place = _HEAD.size + comment
    end = place + described
    names: list[str] = []
    while place < end and len(names) < columns and place + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, place)
        names.append(data[place + 4 : place + 4 + length].decode("utf-8", "replace"))
        place += 4 + length
    body = data[end + units :]
    if len(names) != columns or not columns or place != end or len(set(names)) != columns:
        raise ModelError(path, "time series", "the names of the columns are malformed")
    if not body or len(body) % (8 * columns):
        raise ModelError(path, "time series", f"it does not have rows of {columns} numbers")
    table = np.frombuffer(body, dtype="<f8").reshape(-1, columns)
    if not np.isfinite(table).all():
        raise ModelError(path, "time series", "a number is not finite")
    order = np.argsort(table[:, 0], kind="stable")
    table = table[order].astype(np.float64)
    if (np.diff(table[:, 0]) <= 0).any():
        raise ModelError(path, "time series", "a time occurs twice")
    return dict(zip(names, table.T, strict=True))


def interpolation(times: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> Expression:
    """Return a function of the time: linear between points, constant before and after them.

    The conditions form a balanced tree, so log2(n) of them are evaluated.

    Parameters
    ----------
    times : (n,) ndarray
        Increasing, in the unit of the time of the model.
    values : (n,) ndarray
        The values at these times, in any unit.
    """

    def between(first: int, last: int) -> Expression:
        """Return the function for the pieces [first, last); piece i ends at time i."""
        if last - first > 1:
            middle = (first + last) // 2
            before = Apply("lt", (TIME, Number(float(times[middle - 1]))))
            return Apply("piecewise", (between(first, middle), before, between(middle, last)))
        if first in (0, len(times)):
            return Number(float(values[min(first, len(times) - 1)]))
        start, value = float(times[first - 1]), float(values[first - 1])
        slope = (float(values[first]) - value) / (float(times[first]) - start)
        passed = Apply("minus", (TIME, Number(start)))
        return Apply("plus", (Number(value), Apply("times", (Number(slope), passed))))

    return between(0, len(times) + 1)
