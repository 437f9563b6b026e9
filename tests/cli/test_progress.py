"""What is shown of a run while it goes on: lines, the bar on a terminal, --progress."""

from __future__ import annotations

import io
import os
import re
import select
import subprocess
import sys
import time

import pytest

import pyapsp
from pyapsp.base import progress as module
from pyapsp.base.progress import Progress, Status, of_sources
from pyapsp.cli import main
from pyapsp.graph import generators

N = 98_304


@pytest.fixture
def clock(monkeypatch):
    """Make a clock that goes on when told: ``clock.append(seconds)``."""
    seconds = [1000.0]
    monkeypatch.setattr(module, "monotonic", lambda: seconds[-1])
    return seconds


@pytest.fixture
def terminal(monkeypatch):
    """Yield a terminal of 80 columns, and a function that returns what was written to it."""
    termios, fcntl = pytest.importorskip("termios"), pytest.importorskip("fcntl")
    monkeypatch.setenv("TERM", "xterm")
    for name in ("COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    screen, keyboard = os.openpty()
    fcntl.ioctl(keyboard, termios.TIOCSWINSZ, b"\x18\0\x50\0\0\0\0\0")

    def read():
        text = b""
        while select.select([screen], [], [], 0.1)[0]:
            text += os.read(screen, 2**16)
        return text.decode()

    with open(keyboard, "w", encoding="utf-8") as stream:
        yield stream, read
    os.close(screen)


def shown(calls, clock, **options):
    """Return the lines for calls (seconds since the call before, done, total)."""
    stream = io.StringIO()
    with Progress(N, stream=stream, **options) as progress:
        for seconds, done, total in calls:
            clock.append(clock[-1] + seconds)
            progress(done, total)
    return stream.getvalue().splitlines()


def test_a_line_says_percent_pivot_rate_and_time_left(clock):
    # 42 % of 98304^3 = 9.5e14 updates in 28.7 s
    lines = shown([(0, 0, 100), (28.7, 42, 100)], clock)
    assert lines == [
        "0.0 %  pivot 0 of 98,304",
        "42.0 %  pivot 41,287 of 98,304  13.9 T updates/s  ETA 0:00:40",
    ]


def test_lines_come_at_intervals_and_the_last_always(clock):
    lines = shown([(1, done, 100) for done in range(1, 101)], clock, interval=10)
    assert [float(line.split()[0]) for line in lines] == [*range(1, 100, 10), 100]
    lines = shown([(1, done, 100) for done in range(1, 14)], clock, interval=10)
    assert [float(line.split()[0]) for line in lines] == [1, 11, 13]  # ended before its time


def test_the_end_is_told_at_once_and_once(clock):
    stream = io.StringIO()
    with Progress(N, stream=stream) as progress:
        progress(6, 7)
        progress(7, 7)  # what follows, a download for instance, may take its time
        assert len(stream.getvalue().splitlines()) == 2
        progress(7, 7)
    assert len(stream.getvalue().splitlines()) == 2


def test_the_end_of_a_failed_run_is_told(clock):
    stream = io.StringIO()

    def run():
        with Progress(N, stream=stream) as progress:
            progress(1, 4)
            progress(2, 4)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert stream.getvalue().splitlines()[-1].startswith("50.0 %")


def test_the_rate_of_a_resumed_run_counts_from_its_first_call(clock):
    *_, line = shown([(5, 90, 100), (50, 95, 100)], clock)
    rate = 0.05 * N**3 / 50 / 1e9
    assert f"{rate:.3g} G updates/s  ETA 0:00:50" in line


@pytest.mark.parametrize(
    ("calls", "last"),
    [
        ([(0, 0, 0)], "100.0 %  pivot 98,304 of 98,304"),
        ([(0, 1, 4), (0, 2, 4)], "50.0 %  pivot 49,152 of 98,304"),  # time stands still
        ([(1, 2, 4), (1, 1, 4)], "25.0 %  pivot 24,576 of 98,304"),  # back
        ([(0, 0, 4), (-5, 1, 4)], "25.0 %  pivot 24,576 of 98,304"),  # the clock goes back
        ([(1, 5, 4)], "100.0 %  pivot 98,304 of 98,304"),
        ([(0, 0, 10**9), (10**4, 1, 10**9)], None),  # three hundred thousand years left
    ],
)
def test_odd_calls(calls, last, clock):
    lines = shown(calls, clock)
    assert last is None or lines[-1] == last


def test_no_vertices_and_no_calls(clock):
    assert shown([], clock) == []
    stream = io.StringIO()
    with Progress(0, stream=stream) as progress:
        progress(1, 1)
    assert stream.getvalue() == "100.0 %  pivot 0 of 0\n"


class Full(io.StringIO):
    def write(self, text):
        raise OSError(28, "No space left on device")


def test_a_stream_that_is_closed_or_full_does_not_end_the_run(clock, monkeypatch):
    closed = io.StringIO()
    with Progress(N, stream=closed) as progress:
        progress(1, 3)
        closed.close()
        clock.append(clock[-1] + 60)
        progress(2, 3)
    with Progress(N, stream=closed) as progress:
        progress(1, 3)
    full = Full()
    with Progress(N, stream=full) as progress:
        progress(1, 3)
    assert full.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    with Progress(N) as progress:
        progress(1, 3)


def test_on_a_terminal_it_is_a_bar_in_one_line(clock, terminal):
    stream, read = terminal
    with Progress(N, stream=stream, interval=1e9) as progress:
        progress(0, 100)
        for done in (1, 42):
            clock.append(clock[-1] + 28.7 / 2)
            progress(done, 100)
    written = read()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    pictures = [line.strip() for line in text.replace("\n", "\r").split("\r") if line.strip()]
    assert all(len(line) <= 80 for line in pictures)
    assert pictures[0].endswith("0.0 %  pivot 0 of 98,304")
    assert any("1.0 %  pivot 983 of 98,304" in line for line in pictures)
    bar = "42.0 %  pivot 41,287 of 98,304  13.9 T updates/s  ETA 0:00:40"
    assert pictures[-1].endswith(bar)
    assert "━" in pictures[-1]
    assert "\x1b[2K" in written  # lines are drawn over
    assert written.endswith("\x1b[?25h")  # the cursor is back


def test_a_terminal_that_goes_away_does_not_end_the_run(clock, terminal):
    stream, _ = terminal
    with Progress(N, stream=stream) as progress:
        progress(1, 3)
        stream.close()
        clock.append(clock[-1] + 60)
        progress(2, 3)
    assert stream.closed


def test_a_terminal_that_cannot_go_back_gets_lines(clock, terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream, read = terminal
    with Progress(N, stream=stream) as progress:
        progress(1, 4)
    assert read().split() == ["25.0", "%", "pivot", "24,576", "of", "98,304"]


def test_solve_tells_its_rounds(device):
    stream = io.StringIO()
    graph = generators.random_graph(70, seed=6)
    with Progress(graph.n, stream=stream) as progress:
        pyapsp.solve(graph, "fw-naive", progress=progress, device=device)
    assert stream.getvalue().splitlines()[-1].startswith("100.0 %  pivot 70 of 70  ")


@pytest.mark.parametrize("method", ["apsp-tasks", "near-far", "johnson", "fw-naive"])
def test_solve_tells_its_sources(method, device):
    stream = io.StringIO()
    graph = generators.random_graph(70, seed=6)
    with Progress(graph.n, stream=stream) as progress:
        pyapsp.solve(graph, method, sources=range(50), progress=progress, device=device)
    what = "pivot 70 of 70" if method == "fw-naive" else "source 50 of 50"
    assert stream.getvalue().splitlines()[-1].startswith(f"100.0 %  {what}")


def test_row_blocks_tell_their_sources(device):
    stream = io.StringIO()
    graph = generators.random_graph(70, seed=6)
    with Progress(graph.n, stream=stream, interval=0) as progress:
        asked = {"block": 40, "progress": progress, "device": device}
        assert len(list(pyapsp.row_blocks(graph, "apsp-tasks", **asked))) == 2
    first, last = stream.getvalue().splitlines()
    assert "source 40 of 70" in first
    assert "source 70 of 70" in last


@pytest.fixture
def command(device, tmp_path, monkeypatch):
    monkeypatch.setenv("PYAPSP_DEVICE", device.id)
    path = tmp_path / "g.gr"
    pyapsp.write(generators.random_graph(70, seed=6), path)
    return ["solve", str(path), "-o", str(tmp_path / "out.npz"), "--method", "fw-naive"]


def test_the_command_shows_it_when_asked_or_on_a_terminal(command, capsys, terminal, monkeypatch):
    for option, expected in ((None, ""), ("--no-progress", ""), ("--progress", "100.0 %")):
        assert main(command + [option] * (option is not None)) == 0
        captured = capsys.readouterr()
        assert expected in captured.err
        assert bool(expected) == bool(captured.err)
        assert "%" not in captured.out
    stream, read = terminal
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(command) == 0
    assert "100.0 %" in read()
    assert main([*command, "--no-progress"]) == 0
    assert read() == ""


def test_sources_are_told_as_sources(clock):
    stream = io.StringIO()
    with Progress(N, stream=stream) as progress:
        tell = of_sources(progress)
        for seconds, done in ((0, 0), (8, 1024), (8, 3353)):
            clock.append(clock[-1] + seconds)
            tell(done, 3353)
    assert stream.getvalue().splitlines() == [
        "0.0 %  source 0 of 3,353",
        "30.5 %  source 1,024 of 3,353  128 sources/s  ETA 0:00:18",
        "100.0 %  source 3,353 of 3,353  210 sources/s  ETA 0:00:00",
    ]


@pytest.mark.parametrize(
    ("done", "total", "text"),
    [
        (0, 0, "100.0 %  source 0 of 0"),
        (9, 4, "100.0 %  source 4 of 4"),
        (-1, 4, "0.0 %  source 0"),
    ],
)
def test_odd_numbers_of_sources(done, total, text, clock):
    stream = io.StringIO()
    with Progress(N, stream=stream) as progress:
        progress.sources(done, total)
    assert stream.getvalue().startswith(text)


def test_other_functions_are_told_of_sources_as_they_are():
    def tell(done, total):
        raise AssertionError

    assert of_sources(tell) is tell
    assert of_sources(None) is None


def test_a_status_is_lines_at_intervals(clock):
    stream = io.StringIO()
    with Status(stream=stream, interval=10) as tell:
        for number in range(25):
            tell(f"turn [{number}]")
            clock.append(clock[-1] + 1)
    assert stream.getvalue().splitlines() == ["turn [0]", "turn [10]", "turn [20]"]


def test_a_status_on_a_terminal_is_one_line_drawn_anew(terminal):
    stream, read = terminal
    with Status(stream=stream) as tell:
        tell("first [red]")
        time.sleep(0.3)
        tell("second")
        time.sleep(0.3)
    written = read()
    assert "first [red]" in written  # as it is, not as markup
    assert "second" in written
    assert "\x1b[2K" in written
    assert written.endswith(("\x1b[2K", "\x1b[?25h"))


def test_a_status_that_cannot_be_written_does_not_end_the_run(clock):
    told = []
    with Status(stream=Full()) as tell:
        for text in ("first", "second"):
            tell(text)
            told.append(text)
            clock.append(clock[-1] + 60)
    assert told == ["first", "second"]


def test_it_imports_nothing_heavy():
    code = "import sys, pyapsp.base.progress; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"rich", "numpy", "pyopencl"} & set(done.stdout.split())
