"""What was found out by running something on a driver, kept in the cache folder.

A driver may say less than it can, or compute something wrong. What was tried once on a driver is
kept in a small file for each subject, so that other processes need not try it again. Where files
cannot be written, each process tries for itself.
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

from pyapsp.files import atomic_write

__all__ = ["failures", "folder", "remember", "root", "verdict"]

# What of a device's identity a verdict depends on.
_IDENTITY = ("platform", "name", "kind", "version", "driver", "processor")

_lock = threading.Lock()
_known: dict[tuple[Path, str], str | None] = {}
# one for each file: threads that ask for the same verdict wait for the first of them
_trials: dict[Path, threading.Lock] = defaultdict(threading.Lock)


def root() -> Path:
    """Return the folder in the user's cache that has one for each driver."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("pyapsp"), "verdicts")


def folder(identity: Mapping[str, str]) -> Path:
    """Return the folder with the verdicts on a driver.

    Parameters
    ----------
    identity : mapping
        What `Device.identity` has. A new version of the driver has a folder of its own.
    """
    return root() / _own(*(identity[name] for name in _IDENTITY))


def verdict(
    identity: Mapping[str, str], subject: str, code: str, trial: Callable[[], str | None]
) -> str | None:
    """Return what is wrong with something on a driver, from the cache or by trying it now.

    Parameters
    ----------
    identity : mapping
        As `Device.identity`.
    subject : str
        What is tried; it names the file.
    code : str
        What is run. A verdict on other code does not count.
    trial : callable
        Returns what is wrong, or None. What it raises is raised here, and not kept.

    Returns
    -------
    str or None
        None: it was right.
    """
    path = _file(identity, subject)
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
    """Keep a verdict: in this process, and for others where the cache folder can be written."""
    path = _file(identity, subject)
    _known[path, code] = fault
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            json.dump({"subject": subject, "code": code, "fault": fault}, file)


def failures(identity: Mapping[str, str]) -> dict[str, str]:
    """Return the subjects that are kept as wrong on a driver, and what is wrong with each."""
    kept = (_read(path) for path in sorted(folder(identity).glob("*.json")))
    return {str(each["subject"]): str(each["fault"]) for each in kept if each and each["fault"]}


@cache
def _own(*identity: str) -> str:
    """Return the name of the folder of a driver: what people call it, and a hash of all."""
    known = dict(zip(_IDENTITY, identity, strict=True))
    name = f"{known['name']} {known['driver']}"
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")[:80]
    return f"{slug}-{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12]}"


def _file(identity: Mapping[str, str], subject: str) -> Path:
    return folder(identity) / f"{re.sub(r'[^A-Za-z0-9]+', '-', subject)}.json"


def _read(path: Path) -> dict[str, str | None] | None:
    """Return what a file says; None where there is none, or no whole one."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):  # RecursionError: nested too deeply
        return None
    if not isinstance(kept, dict) or not {"subject", "code", "fault"} <= kept.keys():
        return None
    texts = isinstance(kept["subject"], str) and isinstance(kept["fault"], str | None)
    return kept if texts else None
