"""Read, solve, verify and report hostile files; list what else happened.

Run by `test_hostile` in a process of its own, because an audit hook stays. First everything is done
with sound files, so that what is imported and built is; then with hostile ones, under the hook.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import numpy as np

import pyapsp
from pyapsp.bench.report import write_report
from pyapsp.bulk import translate
from pyapsp.cli import main
from pyapsp.errors import PyApspError
from pyapsp.graph import Graph, write
from pyapsp.paths.result import Result

SHELL = "$(touch PWNED); `touch PWNED` | touch PWNED && touch PWNED"
CODE = "__import__('os').system('touch PWNED')"
HTML = "<script>alert('PWNED')</script><img src=http://127.0.0.1:9/PWNED onerror=alert(1)>"
ROOT = str(Path(pyapsp.__file__).resolve().parents[1])
FORBIDDEN = (
    *("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn"),
    *("pty.", "pickle.", "urllib.", "http.", "ftplib.", "webbrowser.", "os.symlink", "os.link"),
)
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate")
PICKLE = b"cos\nsystem\n(S'touch PWNED'\ntR."  # what np.load would run, if it were allowed


class Payload:
    """An object whose pickle runs a command."""

    def __reduce__(self):
        return os.system, ("touch PWNED",)


def files(folder: Path) -> list[Path]:
    """Write the hostile files."""
    texts = {
        "a.mtx": f"%%MatrixMarket matrix coordinate real general\n% {SHELL} {CODE}\n2 2 1\n1 2 1\n",
        "b.mtx": f"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 {CODE}\n",
        "a.gr": f"c {CODE}\np sp 2 1\na 1 2 1\n",
        "b.gr": "c http://127.0.0.1:9/x\np sp http://127.0.0.1:9/x 1\n",
        "a.csv": f'"{SHELL}","{HTML}",1\n"{HTML}","{CODE}",2\n',
        "b.csv": "=cmd|'/C calc'!A0,@SUM(1),3\nfile:///etc/passwd,=cmd|'/C calc'!A0,1\n",
        "a.txt": "../../etc/passwd /etc/passwd 1\n/etc/passwd %s%s%s%n 2\n",
        "a.graph": f"% {CODE}\n2 1\n2\n1\n",
        "$(touch PWNED);touch PWNED.gr": "p sp 2 1\na 1 2 1\n",
        "<script>alert('PWNED')<.gr": "p sp 2 1\na 1 2 1\n",
        "{{ 7*7 }}{% print(1) %}.gr": "p sp 2 1\na 1 2 1\n",
    }
    for name, content in texts.items():
        (folder / name).write_text(content)
    (folder / "b.mtx.gz").write_bytes(gzip.compress(texts["b.mtx"].encode()))
    graph = {"indptr": [0, 1, 1], "indices": [1], "weights": [5], "directed": True}
    np.savez(folder / "a.npz", **graph, labels=np.array([Payload(), Payload()], object))
    np.savez(folder / "b.npz", **(graph | {"weights": np.array([Payload()], object)}))
    np.savez(folder / "c.npz", format=np.array([Payload()], object), data=[1])
    np.savez(folder / "d.npz", about=np.array([Payload()], object), distances=[[0.0]])
    np.savez(folder / "e.npz", **graph, labels=[HTML, CODE], name=f"../../{HTML}")
    with zipfile.ZipFile(folder / "f.npz", "w") as archive:
        for name in ("indptr", "indices", "weights", "directed"):
            array = io.BytesIO()
            np.save(array, graph[name])
            archive.writestr(f"{name}.npy", array.getvalue())
        archive.writestr("../../escaped.npy", array.getvalue())
        archive.writestr("labels", PICKLE)
    return sorted(each for each in folder.iterdir() if each.is_file())


def use(path: Path, to: Path) -> None:
    """Use a file in every way that pyapsp can."""
    try:
        graph = pyapsp.read(path)
    except PyApspError:
        graph = Graph.from_arcs(2, [0], [1], [1.0])
    result = pyapsp.solve(graph, "fw-naive", predecessors=True)
    pyapsp.verify.certificate(graph, result)
    pyapsp.verify.against_scipy(graph, result)
    for step in (
        lambda: Result.load(path),
        lambda: write(graph, to / "out.csv"),
        lambda: result.save(to / "out.npz"),
        lambda: Result.load(to / "out.npz"),
    ):
        with suppress(PyApspError):
            step()
    out = ["-o", str(to / "result.npz"), "--record", str(to / "record.json")]
    solved = str(to / "result.npz")
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main(["solve", str(path), "--method", "fw-naive", *out])
        main(["verify", str(path), solved, "-o", str(to / "verified.json")])
        main(["path", solved, "1", "2"])
        main(["convert", str(path), str(to / "converted.npz")])
    record = json.loads((to / "record.json").read_text())
    record["input"]["name"] = f"{path.name} {HTML}"
    record["device"]["name"] = HTML
    record["method"] = f"../../{SHELL}"
    (to / "record.json").write_text(json.dumps(record))
    if not path.stem.isalnum() or path.name == "a.gr":  # figures take their time
        write_report([to / "record.json"], to / "report")


def programs(folder: Path) -> None:
    """Translate C programs that call the system."""
    for number, body in enumerate(
        ['system("touch PWNED");', "x[0] = system(0);", 'asm("int3");', "abort();", "exit(1);"]
    ):
        path = folder / f"{number}.c"
        path.write_text(f"int x[2];\nvoid f(void) {{ {body} x[1] = 1; }}\n#pragma kernel\nf();\n")
        try:
            translate(path)
        except PyApspError:
            continue
        raise AssertionError(f"{body} was translated")


def run(folder: Path) -> list[str]:
    """Return what happened that should not."""
    to, sound, bad = folder / "out", folder / "sound", folder / "bad"
    for each in (to, sound, bad):
        each.mkdir()
    os.chdir(to)
    write(Graph.from_arcs(2, [0], [1], [1.0]), sound / "a.gr")
    write(Graph.from_arcs(2, [0], [1], [1]), sound / "b.gr")
    labelled = Graph.from_arcs(2, [0, 1], [1, 0], [1, 2], labels=["a", "b"])
    write(labelled, sound / "c.csv")
    write(labelled, sound / "d.npz")
    for each in sorted(sound.iterdir()):
        use(each, to)
    hostile = files(bad)
    programs(bad)
    watch = Watch(folder)
    sys.addaudithook(watch)
    for each in hostile:
        use(each, to)
        watch.seen += [f"{each.name}: {name} shows a name as markup" for name in unescaped(to)]
    programs(bad)
    seen = list(watch.seen)
    # and does the watch see anything?
    open("/etc/passwd").close()
    os.system("true")
    pickle.loads(pickle.dumps(os.getcwd))
    if len(watch.seen) < len(seen) + 3:
        seen.append(f"the watch is blind: {watch.seen}")
    watch.on = False
    seen += [f"{each} was made" for each in folder.parent.rglob("*PWNED") if each.parent != bad]
    seen += [f"{each} was made" for each in folder.parent.rglob("escaped*")]
    return seen


class Watch:
    """Records events that must not happen when a file is read."""

    def __init__(self, folder: Path) -> None:
        self.on, self.seen = True, []
        self._ours = (str(folder), "/proc/", "/sys/", "/dev/null")
        self._readable = (sys.prefix, sys.base_prefix, ROOT)

    def __call__(self, event: str, arguments: tuple) -> None:
        if not self.on:
            return
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            name = os.path.abspath(os.fsdecode(path))
            written = (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not name.startswith(self._ours if written else self._ours + self._readable):
                self.seen.append(f"open {name} {mode}")
        elif event == "exec":
            code = arguments[0]
            if "PWNED" in repr((code.co_names, code.co_consts)):
                self.seen.append(f"exec {code}")
        elif event in CHANGES:
            if not os.path.abspath(os.fsdecode(arguments[0])).startswith(self._ours):
                self.seen.append(f"{event} {arguments}")
        elif event == "subprocess.Popen" and arguments[1][:4] == ["git", "-C", ROOT, "describe"]:
            return  # which commit this is, for the record of a run from a checkout
        elif event.startswith(FORBIDDEN):
            self.seen.append(f"{event} {arguments}"[:200])


def unescaped(to: Path) -> list[str]:
    """Return the pages and figures in which a name could run."""
    shown = [*(to / "report").rglob("*.html"), *(to / "report").rglob("*.svg")]
    marks = ("<script>alert", "<img src=http")
    return [each.name for each in shown if any(mark in each.read_text() for mark in marks)]


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]))))
