"""How far a run is: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Progress"]

# Seconds between two pictures of a bar.
_FRAME = 0.1


class Progress:
    """A context manager that shows what `solve` tells of its progress.

    It shows the percentage, the vertex up to which paths may pass, the rate and the time left.
    The rate counts from the first call, so it is right for a run that goes on from a checkpoint.

    Parameters
    ----------
    n : int
        Vertices of the graph; the whole run is n^3 updates.
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
        done, total = (min(max(done, 0), total), total) if total > 0 else (1, 1)
        now, self._fraction = monotonic(), done / total
        if self._first is None:
            self._first = now, self._fraction
        seconds, gained = now - self._first[0], self._fraction - self._first[1]
        parts = [
            f"{1000 * done // total / 10} %",
            f"pivot {self._n * done // total:,} of {self._n:,}",
        ]
        if seconds > 0 and gained > 0:
            left = round((1 - self._fraction) / gained * seconds)
            parts.append(f"{_scaled(self._n**3 * gained / seconds)} updates/s")
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


def _bar(stream: TextIO | None) -> Bar | None:
    """Return a bar, if the stream is a terminal on which a line can be drawn anew."""
    try:
        if stream is None or not stream.isatty():
            return None
    except ValueError:  # closed
        return None
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=stream)
    if not console.is_interactive:
        return None
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


def _scaled(rate: float) -> str:
    """Return a number with three digits and the prefix of its unit, as in 13.9 T."""
    for prefix in ("", "k", "M", "G"):
        if rate < 999.5:
            return f"{rate:.3g} {prefix}"
        rate /= 1000
    return f"{rate:.3g} T"
