"""`patch`: calls of SciPy's shortest paths run on a device, also those of other packages.

The functions of `pyapsp.csgraph` take the place of SciPy's wherever a loaded module has one as a
global name. A call that is not faster on a device, or whose answer could differ from SciPy's, goes
to SciPy. Arguments alone decide this, never the clock, so that a call always gives the same bits.

SciPy's functions call one another as before. Calls of pyapsp itself go to SciPy: otherwise it would
verify its answers by themselves.
"""

from __future__ import annotations

import functools
import inspect
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TypeAlias, TypeGuard

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse, sparray, spmatrix
from scipy.sparse import csgraph as scipy_csgraph

from pyapsp.base.errors import DeviceError, FallbackWarning, PrecisionError
from pyapsp.csgraph import paths
from pyapsp.device import choose

__all__ = ["Patch", "patch", "unpatch"]

_log = logging.getLogger(__name__)

# The functions of which a device can be faster, and the method that each is.
_METHODS = {
    "bellman_ford": "BF",
    "dijkstra": "D",
    "floyd_warshall": "FW",
    "johnson": "J",
    "shortest_path": "auto",
}
# Updates of Floyd-Warshall from which a device is faster; for one source; and the updates that take
# as long as one arc of a search. Measured on a CPU of two cores.
_WORK, _WORK_OF_ONE, _OF_AN_ARC = 2**21, 2**23, 8
# SciPy takes weights of dense arrays for no arcs up to here.
_TINY = 1e-8

_Plain: TypeAlias = "np.ndarray | csr_array | csc_array"


class Patch:
    """What `patch` returns: as a context manager, it ends the patch with its block."""

    def __enter__(self) -> Patch:
        with _lock:
            _lasting.discard(self)
            _blocks.append(self)
            _update()
        return self

    def __exit__(self, *error: object) -> None:
        with _lock:
            _blocks.remove(self)
            _update()


def patch() -> Patch:
    """Let calls of SciPy's shortest paths run here, also those of other packages.

    It replaces ``bellman_ford``, ``dijkstra``, ``floyd_warshall``, ``johnson`` and
    ``shortest_path`` in `scipy.sparse.csgraph`, and wherever a loaded module has imported them,
    under any name. Functions that are held elsewhere, for instance in a list, stay SciPy's.

    A call goes to SciPy if its graph is small, if it has ``min_only``, or if its arguments are
    among those for which `pyapsp.csgraph` answers differently (``docs/differences.md``). The same
    arguments always go the same way. Of several shortest paths another one may be returned. If the
    device cannot run a call, SciPy does, with a `FallbackWarning`. The logger
    ``pyapsp.csgraph.patching`` says at level INFO who runs each call, and why.

    Returns
    -------
    Patch
        The patch lasts until `unpatch`. As a context manager, it lasts until the end of its block.
        Blocks may be nested. A patch is for all threads, so that it ends with the last block.

    Raises
    ------
    NoDeviceError
        If there is no OpenCL device.

    Examples
    --------
    >>> import pyapsp
    >>> from scipy.sparse.csgraph import dijkstra
    >>> with pyapsp.patch():
    ...     dijkstra([[0, 7, 1], [4, 0, 0], [0, 2, 0]], indices=0)
    array([0., 3., 1.])
    """
    choose(None)
    made = Patch()
    with _lock:
        _lasting.add(made)
        _update()
    return made


def unpatch() -> None:
    """End what calls of `patch` began; open blocks of ``with`` last until their end.

    Examples
    --------
    >>> import pyapsp
    >>> from scipy.sparse import csgraph
    >>> before = csgraph.dijkstra
    >>> _ = pyapsp.patch()
    >>> csgraph.dijkstra is before
    False
    >>> pyapsp.unpatch()
    >>> csgraph.dijkstra is before
    True
    """
    with _lock:
        _lasting.clear()
        _update()


_lock = threading.RLock()
_lasting: set[Patch] = set()
_blocks: list[Patch] = []
_patched = False


def _update() -> None:
    """Exchange the functions if the first patch has begun or the last one has ended."""
    global _patched
    wanted = bool(_lasting or _blocks)
    if wanted == _patched:
        return
    pairs = ((_SCIPYS[name], _OURS[name]) for name in _METHODS)
    _exchange(dict(pairs if wanted else ((ours, theirs) for theirs, ours in pairs)))
    _patched = wanted


def _exchange(functions: Mapping[object, object]) -> None:
    """Replace these functions in the global names of all modules except those that define them."""
    new = {id(each): other for each, other in functions.items()}
    homes = {each.__module__ for each in _SCIPYS.values()}
    for module in list(sys.modules.values()):
        if not issubclass(type(module), ModuleType):
            continue
        # a module that is loaded when it is first used stays as it is
        names: dict[str, object] = object.__getattribute__(module, "__dict__")
        if names.get("__name__") in homes:
            continue
        for name, value in list(names.items()):
            if id(value) in new:
                names[name] = new[id(value)]


def _dispatched(name: str) -> Callable[..., object]:
    """Return the function that takes the place of SciPy's."""
    theirs = _SCIPYS[name]
    signature = inspect.signature(getattr(paths, name))

    @functools.wraps(theirs)
    def function(*args: object, **kwargs: object) -> object:
        if not _patched or _called_by_us():
            return theirs(*args, **kwargs)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return theirs(*args, **kwargs)  # which says what is wrong
        bound.apply_defaults()
        call = bound.arguments
        reason = _unfit(call, str(call.get("method", _METHODS[name])))
        if reason is not None:
            _log.info("%s: SciPy, because %s", name, reason)
            return theirs(*args, **kwargs)
        flags = {each: bool(call[each]) for each in _FLAGS if each in call}
        _log.info("%s: %s", name, choose(None))
        try:
            answer: object = getattr(paths, name)(**call | flags)
            return answer
        except (DeviceError, PrecisionError) as error:
            if flags.get("overwrite"):
                raise
            text = f"SciPy runs {name}, because pyapsp cannot: {error}"
        warnings.warn(text, FallbackWarning, stacklevel=2)
        return theirs(*args, **kwargs)

    # where SciPy has the public name, so that a pickle refers to it
    function.__module__ = scipy_csgraph.__name__
    return function


def _called_by_us() -> bool:
    """Return whether the caller of the caller is a module of this package."""
    name = str(sys._getframe(2).f_globals.get("__name__", ""))
    return name.partition(".")[0] == __name__.partition(".")[0]


def _unfit(call: Mapping[str, object], method: str) -> str | None:
    """Return why SciPy should run a call, or None if a device should."""
    matrix, indices = call["csgraph"], call.get("indices")
    if call.get("min_only"):
        return "one search from all vertices is faster there"
    if method not in _METHODS.values() or (method == "FW" and indices is not None):
        return "of its method"
    if not all(isinstance(call[each], bool | int | np.bool_) for each in _FLAGS if each in call):
        return "of its flags"
    limit = call.get("limit", np.inf)
    if not (isinstance(limit, int | float | np.integer | np.floating) and limit >= 0):
        return "of its limit"
    if not _is_plain(matrix):
        return "the weights are in no array, CSR array or CSC array of numbers"
    n, rows = matrix.shape[0], _rows(indices, matrix.shape[0])
    if rows is None:
        return "of its indices"
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    arcs = int(np.count_nonzero(values))
    work = rows * (n + arcs) * _OF_AN_ARC
    if method in ("FW", "auto") and indices is None:
        work = n**3 if method == "FW" else min(n**3, work)
    if work < (_WORK if rows > 1 else _WORK_OF_ONE):
        return f"{rows} rows of {n} vertices with {arcs} arcs are few"
    return _unfit_weights(matrix, values, method, bool(call["unweighted"]))


def _is_plain(matrix: object) -> TypeGuard[_Plain]:
    """Return whether a matrix is one that SciPy and pyapsp read in the same way."""
    if isinstance(matrix, sparray | spmatrix):
        known, kind, shape = matrix.format in ("csr", "csc"), matrix.dtype.kind, matrix.shape
    elif isinstance(matrix, np.ndarray):
        known, kind, shape = type(matrix) is np.ndarray, matrix.dtype.kind, matrix.shape
    else:
        return False
    return known and kind in "biuf" and len(shape) == 2 and shape[0] == shape[1]


def _rows(indices: object, n: int) -> int | None:
    """Return the number of rows of these indices, or None if they are no vertices."""
    if indices is None:
        return n
    if not isinstance(indices, int | np.integer | list | tuple | range | np.ndarray):
        return None
    if np.ma.isMaskedArray(indices) or isinstance(indices, bool):
        return None
    try:
        given = np.asarray(indices)
    except ValueError:  # lists of different lengths
        return None
    if given.size == 0 or given.dtype.kind not in "iu":
        return None
    return given.size if given.min() >= -n and given.max() < n else None


def _unfit_weights(matrix: _Plain, values: np.ndarray, method: str, unweighted: bool) -> str | None:
    """Return why SciPy may answer another way for these weights, or None."""
    least = np.fmin.reduce(values, axis=None)
    if issparse(matrix):
        if not np.isfinite(values).all():
            return "a weight is NaN or infinite"
    elif values.dtype.kind == "f":
        sizes = np.abs(values)
        if least == -np.inf or np.any((sizes <= _TINY) & (sizes > 0)):
            return f"a weight is -inf, or so small that it is no arc ({_TINY})"
    if least < 0 and (method == "D" or unweighted or matrix.diagonal().min() < 0):
        return "a weight is negative"
    return None


_FLAGS = ("directed", "return_predecessors", "unweighted", "overwrite", "min_only")
_SCIPYS: dict[str, Callable[..., object]] = {
    name: getattr(scipy_csgraph, name) for name in _METHODS
}
_OURS = {name: _dispatched(name) for name in _METHODS}
