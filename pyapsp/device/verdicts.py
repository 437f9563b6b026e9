"""Results of tests of a driver, cached in files.

A driver may support more than it reports, or compute wrong results. Each test is run once per
driver, and its result, the verdict, is cached in a small file for other processes. If the cache
folder is not writable, each process runs the test again.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from pyapsp.base.files import atomic_write

__all__ = ["failures", "folder", "remember", "root", "verdict"]

# The items of a device's identity on which a verdict depends.
_IDENTITY = ("platform", "name", "kind", "version", "driver", "processor")

_lock = threading.Lock()
_known: dict[tuple[Path, str], str | None] = {}
# one for each file: threads that ask for the same verdict wait for the first of them
_trials: dict[Path, threading.Lock] = defaultdict(threading.Lock)


@cache
def root() -> Path:
    """Return the folder, in the user's cache, that has a subfolder for each driver."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("pyapsp"), "verdicts")


def folder(identity: Mapping[str, str]) -> Path:
    """Return the folder with the verdicts on a driver.

    Parameters
    ----------
    identity : mapping
        A `Device.identity`. Each version of a driver has its own folder.
    """
    return _folder(root(), *(identity[name] for name in _IDENTITY))


def verdict(
    identity: Mapping[str, str], subject: str, code: str, trial: Callable[[], str | None]
) -> str | None:
    """Return the verdict on a subject on a driver, from the cache or from a trial now.

    Parameters
    ----------
    identity : mapping
        As `Device.identity`.
    subject : str
        Name of what is tried, e.g. a method; also the name of the file.
    code : str
        The code that is run. A cached verdict on other code is ignored.
    trial : callable
        Returns the fault, or None. An exception from it is raised here and nothing is cached.

    Returns
    -------
    str or None
        The fault; None if there is none.
    """
    path = _file(folder(identity), subject)
    with _lock:
        if (path, code) in _known:
            return _known[path, code]
        own = _trials[path]
    with own:
        if (path, code) in _known:
            return _known[path, code]
        kept = _read(path)
        if kept is not None and kept.get("code") == code:
            _known[path, code] = kept.get("fault")
        else:
            remember(identity, subject, code, trial())
        return _known[path, code]


def remember(identity: Mapping[str, str], subject: str, code: str, fault: str | None) -> None:
    """Cache a verdict in this process, and in a file if the cache folder is writable."""
    path = _file(folder(identity), subject)
    _known[path, code] = fault
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            json.dump({"subject": subject, "code": code, "fault": fault}, file)


def failures(identity: Mapping[str, str]) -> dict[str, str]:
    """Return the subjects with a fault in the cache of a driver, and their faults."""
    kept = (_read(path) for path in sorted(folder(identity).glob("*.json")))
    return {str(each["subject"]): str(each["fault"]) for each in kept if each and each["fault"]}


@cache
def _folder(parent: Path, *identity: str) -> Path:
    """Return the folder of a driver; its name has readable names, and a hash of the identity."""
    known = dict(zip(_IDENTITY, identity, strict=True))
    name = f"{known['name']} {known['driver']}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:80]
    return parent / f"{slug}-{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]}"


@cache
def _file(parent: Path, subject: str) -> Path:
    return parent / f"{re.sub(r'[^A-Za-z0-9]+', '-', subject)}.json"


def _read(path: Path) -> dict[str, str | None] | None:
    """Return the content of a file; None if it is missing or incomplete."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # RecursionError: nested too deeply
        return None
    if not isinstance(kept, dict) or not {"subject", "code", "fault"} <= kept.keys():
        return None
    texts = isinstance(kept["subject"], str) and isinstance(kept["fault"], str | None)
    return kept if texts else None
