"""The columns of edges: heads, weights and properties, and their layout in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from pyapsp.base.errors import GraphError, ParameterError
from pyapsp.graph import validation

__all__ = ["ITEMS", "LAYOUTS", "Column", "columns_of", "named", "packed", "unpacked"]

#: Types of OpenCL C by the bytes of an item: those that one access loads.
ITEMS = {1: "uchar", 2: "ushort", 4: "uint", 8: "uint2", 16: "uint4", 32: "uint8", 64: "uint16"}
#: Layouts of properties: an array of records, an array for each property, or what fits.
LAYOUTS = ("adaptive", "records", "arrays")

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Column:
    """An array with one item for each edge."""

    dtype: np.dtype  # of a value, or a structured type of several values
    names: tuple[str, ...]  # the names of the values

    @property
    def type(self) -> str:
        """The type of an item in kernels."""
        return ITEMS[self.dtype.itemsize]


def columns_of(
    owner: str, weight: DTypeLike | None, properties: Mapping[str, DTypeLike], layout: str
) -> list[Column]:
    """Return the columns of weights and properties.

    Parameters
    ----------
    owner : str
        For messages.
    weight : dtype-like or None
        None: edges have no weights.
    properties : mapping of str to dtype-like
    layout : {"adaptive", "records", "arrays"}
        "adaptive" makes one record of all properties if one access can load it: if it has 4, 8, 16,
        32 or 64 bytes.

    Raises
    ------
    ParameterError
        A type has no values of 1, 2, 4 or 8 bytes, a name is not allowed, or records would not fit.
    """
    layout = validation.choice("layout", owner, layout, LAYOUTS)
    types = {name: number_type(owner, name, dtype) for name, dtype in properties.items()}
    for name in types:
        if not isinstance(name, str) or name in ("", "head", "weight"):
            rule = "named by strings other than '', 'head' and 'weight'"
            raise ParameterError.of("properties", owner, rule, name)
    columns = []
    if weight is not None:
        columns.append(Column(number_type(owner, "weight", weight), ("weight",)))
    record = np.dtype(list(types.items())) if types else np.dtype([])
    fits = record.itemsize in ITEMS and record.itemsize >= 4
    if layout == "records" and types and not fits:
        rule = "'arrays' or 'adaptive' for a record that has not 4, 8, 16, 32 or 64 bytes"
        raise ParameterError.of("layout", owner, rule, layout)
    if types and fits and layout != "arrays":
        return [*columns, Column(record, tuple(types))]
    return columns + [Column(dtype, (name,)) for name, dtype in types.items()]


def named(parameter: str, owner: str, values: Mapping[str, _Value] | None) -> dict[str, _Value]:
    """Return an argument that must be a mapping of names, or None for none."""
    if values is not None and not isinstance(values, Mapping):
        raise ParameterError.of(parameter, owner, "a mapping of names", values)
    return dict(values or {})


def number_type(owner: str, name: str, dtype: DTypeLike) -> np.dtype:
    """Return a type of numbers in the byte order of this machine, as kernels have them."""
    try:
        kind: np.dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if kind.kind not in "biuf" or kind.itemsize > 8:
        rule = "a type of booleans, integers or floats of at most 8 bytes"
        raise ParameterError.of(name, owner, rule, dtype)
    return kind.newbyteorder("=")


def values_of(owner: str, name: str, dtype: np.dtype, values: ArrayLike) -> np.ndarray:
    """Return values in the type of their column, which must hold each of them.

    Floats are rounded to a float type, but not to zero; integers must be exact in every type.
    """
    array = validation.real(values, f"the values of {name!r}")
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        cast = array.astype(dtype)
    lost = validation.lost(array, cast) | ((cast == 0) & (array != 0))
    if lost.any():
        first = array[lost][0].item()
        raise ParameterError.of(name, owner, f"values that {dtype} can hold", first)
    return cast


def packed(
    owner: str, columns: list[Column], by_name: Mapping[str, ArrayLike | None], count: int
) -> list[np.ndarray]:
    """Return the items of each column for `count` edges.

    One value for all edges is not repeated in memory: its array has the stride 0.

    Parameters
    ----------
    by_name : mapping of str to array_like or None
        The values of each name: as many as edges, or one for all. Without them a weight is 1, and a
        property is 0.

    Raises
    ------
    ParameterError
        A name is unknown, its type cannot hold a value, or a weight is NaN or -inf.
    GraphError
        There are not as many values as edges.
    """
    known = [name for column in columns for name in column.names]
    for name in by_name:
        if name not in known and by_name[name] is not None:
            others = f", only {', '.join(known)}" if known else ""
            raise ParameterError(
                f"{owner} got values of {name!r}, which the edges of this container do not "
                f"have{others}: name it when the container is made"
            )
    arrays = []
    for column in columns:
        items = np.empty(count, column.dtype)
        for name in column.names:
            values = by_name.get(name)
            dtype = column.dtype if column.dtype.names is None else column.dtype[name]
            if values is None:
                values = 1 if name == "weight" else 0
            cast = values_of(owner, name, dtype, values)
            if cast.shape not in ((), (count,)):
                raise GraphError(f"{count} edges and {name!r} of shape {cast.shape}")
            if name == "weight":
                _check_weights(owner, cast)
            if column.dtype.names is None:
                items = np.broadcast_to(cast, (count,))
            else:
                items[name] = cast
        arrays.append(items)
    return arrays


def _check_weights(owner: str, weights: np.ndarray) -> None:
    """Refuse what is no weight of a graph."""
    if weights.dtype.kind != "f":
        return
    bad = np.isnan(weights) | np.isneginf(weights)
    if bad.any():
        rule = "neither NaN nor -inf"
        raise ParameterError.of("weights", owner, rule, weights[bad].flat[0].item())


def unpacked(columns: list[Column], items: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values of each name."""
    values = {}
    for column, array in zip(columns, items, strict=True):
        for name in column.names:
            values[name] = array if column.dtype.names is None else array[name].copy()
    return values
