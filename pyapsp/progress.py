"""How far a run is: on a terminal drawn anew, elsewhere a line every few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.status import Status as Line

__all__ = ["Progress", "Status", "of_sources"]

# Seconds between two pictures of a bar.
_FRAME = 0.1


class Progress:
    """A context manager that shows what `solve` tells of its progress.

    It shows the percentage, the vertex up to which paths may pass, or the sources that are done
    where a method searches from them, the rate and the time left. The rate counts from the first
    call, so it is right for a run that goes on from a checkpoint.

    Parameters
    ----------
    n : int
        Vertices of the graph; all pairs are n^3 updates.
    stream : text file, optional
        Where to write; None is standard error. Once it cannot be written to, the run goes on
        in silence.
    interval : float
        Seconds between two lines, where there is no terminal; the last state is always written.

    Examples
    --------
    >>> with Progress(graph.n) as progress:  # doctest: +SKIP
    ...     result = pyapsp.solve(graph, progress=progress)
    """

    def __init__(self, n: int, *, stream: TextIO | None = None, interval: float = 5.0) -> None:
        self._n = n
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._interval = interval
        self._bar: Bar | None = None
        self._first: tuple[float, float] | None = None
        self._next = float("-inf")
        self._fraction = 0.0
        self._text = self._shown = ""

    def __enter__(self) -> Progress:
        self._bar = _bar(self._stream)
        if self._bar is not None:
            self._interval = _FRAME
        return self

    def __call__(self, done: int, total: int) -> None:
        """Take note that `done` of `total` steps are done, and show it when it is time."""
        done, total = _within(done, total)
        pivot = self._n * done // total
        self._note(done, total, f"pivot {pivot:,} of {self._n:,}", self._n**3, "updates")

    def sources(self, done: int, total: int) -> None:
        """Take note that `done` of `total` sources are done, and show it when it is time."""
        told = f"source {min(max(done, 0), total):,} of {total:,}"
        self._note(*_within(done, total), told, total, "sources")

    def _note(self, done: int, total: int, told: str, whole: int, unit: str) -> None:
        """Take note of a state in words, and of how many units the whole run has."""
        now, self._fraction = monotonic(), done / total
        if self._first is None:
            self._first = now, self._fraction
        seconds, gained = now - self._first[0], self._fraction - self._first[1]
        parts = [f"{1000 * done // total / 10} %", told]
        if seconds > 0 and gained > 0:
            left = round((1 - self._fraction) / gained * seconds)
            parts.append(f"{_scaled(whole * gained / seconds)}{unit}/s")
            parts.append(f"ETA {left // 3600}:{left // 60 % 60:02}:{left % 60:02}")
        self._text = "  ".join(parts)
        if now >= self._next or done == total:
            self._next = now + self._interval
            self._show()

    def __exit__(self, *error: object) -> None:
        self._show(last=True)

    def _show(self, *, last: bool = False) -> None:
        """Show the newest state, once."""
        if self._stream is None or not self._text:
            return
        new, self._shown = self._text != self._shown, self._text
        try:
            if self._bar is not None:
                task = self._bar.task_ids[0]
                self._bar.update(task, completed=self._fraction, text=self._text)
                self._bar.start()
                self._bar.refresh()
                if last:
                    self._bar.stop()
            elif new:
                print(self._text, file=self._stream, flush=True)
        except (OSError, ValueError):  # the disk is full, the reader is gone, the file is closed
            self._stream = None


def of_sources(
    progress: Callable[[int, int], None] | None,
) -> Callable[[int, int], None] | None:
    """Return what to tell of sources that are done: a `Progress` says that they are sources."""
    return progress.sources if isinstance(progress, Progress) else progress


class Status:
    """A context manager that shows texts of what a long command is at.

    Parameters
    ----------
    stream : text file, optional
        Where to write; None is standard error. Once it cannot be written to, the run goes on
        in silence.
    interval : float
        Seconds between two lines, where there is no terminal.
    """

    def __init__(self, *, stream: TextIO | None = None, interval: float = 5.0) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._interval = interval
        self._line: Line | None = None
        self._next = float("-inf")

    def __enter__(self) -> Status:
        console = _console(self._stream)
        if console is not None:
            self._line = console.status("")
            self._line.start()
        return self

    def __call__(self, text: str) -> None:
        """Show a text, when it is time."""
        if self._line is not None:
            from rich.text import Text

            self._line.update(Text(text))
            return
        now = monotonic()
        if self._stream is None or now < self._next:
            return
        self._next = now + self._interval
        try:
            print(text, file=self._stream, flush=True)
        except (OSError, ValueError):
            self._stream = None

    def __exit__(self, *error: object) -> None:
        if self._line is not None:
            self._line.stop()


def _console(stream: TextIO | None) -> Console | None:
    """Return a console, if the stream is a terminal on which a line can be drawn anew."""
    try:
        if stream is None or not stream.isatty():
            return None
    except ValueError:  # closed
        return None
    from rich.console import Console

    console = Console(file=stream)
    return console if console.is_interactive else None


def _bar(stream: TextIO | None) -> Bar | None:
    """Return a bar, if the stream is such a terminal."""
    console = _console(stream)
    if console is None:
        return None
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=None),  # what the text leaves
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        expand=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("", total=1, text="")
    return bar


def _within(done: int, total: int) -> tuple[int, int]:
    """Return how much of how much is done, of nothing all."""
    return (min(max(done, 0), total), total) if total > 0 else (1, 1)


def _scaled(rate: float) -> str:
    """Return a number with three digits and the prefix of its unit, as in ``13.9 T``."""
    for prefix in ("", "k ", "M ", "G "):
        if rate < 999.5:
            return f"{rate:.3g} {prefix}"
        rate /= 1000
    return f"{rate:.3g} T "
