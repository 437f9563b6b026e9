"""The arguments that the functions of all problems have: their checks, and the request of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from pyapsp.device import DeviceLike, choose
from pyapsp.graph.validation import flag
from pyapsp.registry.algorithm import Method
from pyapsp.registry.descriptor import Request
from pyapsp.registry.index import method_of, problem
from pyapsp.registry.limits import check_limits

if TYPE_CHECKING:
    import numpy as np

    from pyapsp.base.json import Json
    from pyapsp.registry.steps import Options

__all__ = ["Limits", "request"]


class Limits(TypedDict, total=False):
    """The arguments that the functions of all problems have, beside the device."""

    memory_limit: int | None
    progress: Callable[[int, int], None] | None
    fallback: bool


def request(
    name: str,
    data: object,
    options: Callable[..., Options],
    dtype: np.dtype,
    method: str | Method,
    *,
    owner: str | None = None,
    device: DeviceLike = None,
    memory_limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    fallback: bool = True,
    arguments: Mapping[str, Json] | None = None,
    reasons: Sequence[str] = (),
) -> Request:
    """Check the arguments that all problems have, and return the request.

    Parameters
    ----------
    name : str
        The id of the problem.
    data : object
        The checked input.
    options : callable
        The class of the options, or a partial of it with the checked arguments that only this
        problem has. It is called as ``options(device, dtype, memory_limit=..., progress=...)``.
    dtype : numpy.dtype
        The checked type of the answer.
    method : str or Method
        ``"auto"``, the id of a method of the problem, or a method.
    owner : str, optional
        Name of the function, for messages; by default `name`.
    device : device-like
        As for `pyapsp.device.choose`. If the input may be on a device, it is the result of
        `pyapsp.graph.device_graph.device_for`.
    memory_limit : int, optional
        Bytes of device memory.
    progress : callable, optional
        Called as ``progress(done, total)``.
    fallback : bool
        See `Request`.
    arguments : mapping, optional
        Arguments for the record of the run, in addition to method and dtype.
    reasons : sequence of str
        The decisions so far, for ``explain``.

    Raises
    ------
    ParameterError
        If the method, the limit or the function has a value that is not allowed.
    NoDeviceError
        If there is no such device.
    """
    owner = owner or name
    limit = check_limits(memory_limit, progress, owner)
    chosen = method_of(name, method, owner)
    checked = options(choose(device), dtype, memory_limit=limit, progress=progress)
    return Request(
        problem(name),
        data,
        chosen,
        checked,
        dict(arguments or {}),
        tuple(reasons),
        flag("fallback", owner, fallback),
    )
