"""Display of progress: a bar on a terminal, otherwise a line every few seconds."""

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

# Seconds between two updates of a bar.
_FRAME = 0.1


class Progress:
    """A context manager that shows the progress of `solve`.

    It shows the percentage, the rate and the remaining time. For Floyd-Warshall it also shows the
    last intermediate vertex so far, for searches the number of finished sources. The rate is
    measured from the first call, so that it is right for a run that continues from a checkpoint.

    Parameters
    ----------
    n : int
        Number of vertices of the graph; all pairs are n^3 updates.
    stream : text file, optional
        The stream to write to; None is standard error. If writing fails, the run continues without
        output.
    interval : float
        Seconds between two lines if the stream is no terminal. The last state is always written.

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
        """Record that `done` of `total` steps are done; show it if the interval has passed."""
        done, total = _within(done, total)
        pivot = self._n * done // total
        self._note(done, total, f"pivot {pivot:,} of {self._n:,}", self._n**3, "updates")

    def sources(self, done: int, total: int) -> None:
        """Record that `done` of `total` sources are done; show it if the interval has passed."""
        told = f"source {min(max(done, 0), total):,} of {total:,}"
        self._note(*_within(done, total), told, total, "sources")

    def steps(self, done: int, total: int) -> None:
        """Record that `done` of `total` steps are done; show it if the interval has passed."""
        told = f"step {min(max(done, 0), total):,} of {total:,}"
        self._note(*_within(done, total), told, total, "steps")

    def _note(self, done: int, total: int, told: str, whole: int, unit: str) -> None:
        """Record a state: its text, and the units of work of the whole run."""
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
        """Show the latest state, unless it is shown already."""
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
    """Return the function to call with the number of finished sources."""
    return progress.sources if isinstance(progress, Progress) else progress


class Status:
    """A context manager that shows status messages of a long command.

    Parameters
    ----------
    stream : text file, optional
        The stream to write to; None is standard error. If writing fails, the run continues without
        output.
    interval : float
        Seconds between two lines if the stream is no terminal.
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
        """Show a message if the interval has passed."""
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
    """Return a console if the stream is a terminal on which a line can be redrawn, else None."""
    try:
        if stream is None or not stream.isatty():
            return None
    except ValueError:  # closed
        return None
    from rich.console import Console

    console = Console(file=stream)
    return console if console.is_interactive else None


def _bar(stream: TextIO | None) -> Bar | None:
    """Return a bar if the stream is such a terminal, else None."""
    console = _console(stream)
    if console is None:
        return None
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=None),  # the width beside the text
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
    """Return done and total for the bar; (1, 1) if the total is 0."""
    return (min(max(done, 0), total), total) if total > 0 else (1, 1)


def _scaled(rate: float) -> str:
    """Return a number with three digits and the prefix of its unit, as in ``13.9 T``."""
    for prefix in ("", "k ", "M ", "G "):
        if rate < 999.5:
            return f"{rate:.3g} {prefix}"
        rate /= 1000
    return f"{rate:.3g} T "
