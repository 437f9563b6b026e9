"""``pyapsp completion``: the scripts, and what bash makes of one."""

from __future__ import annotations

import subprocess

import pytest

import pyapsp
from pyapsp.cli import main
from pyapsp.graph import datasets

# Complete the last word of a line, as bash does, and print what there is, one a line.
COMPLETE = """
source pyapsp.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
function=$(complete -p pyapsp | sed -E 's/.*-F ([^ ]+).*/\\1/')
$function pyapsp "${COMP_WORDS[$COMP_CWORD]}" "${COMP_WORDS[$((COMP_CWORD - 1))]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script(capsys, shell):
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def complete(tmp_path, capsys):
    """Make what completes a line of words in a folder with two files and a folder."""
    (tmp_path / "pyapsp.bash").write_text(script(capsys, "bash"))
    (tmp_path / "graph.gr").touch()
    (tmp_path / "records").mkdir()

    def of(*words):
        command = ["bash", "--norc", "-c", COMPLETE, "bash", "pyapsp", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert done.stderr == ""
        return set(done.stdout.split())

    return of


def test_bash_completes(complete):
    methods = {method.id for method in pyapsp.methods()}
    devices = {device.id for device in pyapsp.devices()}
    assert complete("") > {"solve", "measure", "completion"}
    assert complete("so") == {"solve"}
    assert complete("solve", "--me") == {"--method", "--memory-limit"}
    assert complete("solve", "graph.gr", "--method", "") == {"auto", *methods}
    assert complete("bench", "dense", "--method", "fw-naive", "fw-p") == {
        method for method in methods if method.startswith("fw-p")
    }
    assert complete("bench", "dense", "--method", "") == {"auto", "all", "shortlist", *methods}
    assert complete("tune", "fw-bl") == {"fw-blocked"}
    assert complete("tune", "--q") == {"--quick"}
    assert complete("solve", "graph.gr", "--dtype", "int") == {"int16", "int32", "int64"}
    assert complete("verify", "--device", "") == {"gpu", "cpu", *devices}
    assert complete("solve", "g") == {"graph.gr"}
    assert complete("solve", "graph.gr", "-o", "g") == {"graph.gr"}
    assert complete("report", "graph.gr", "-o", "") == {"records"}
    assert complete("measure", "graph.gr", "diameter", "ra") == {"radius"}
    assert complete("fetch", "ring") == {name for name in datasets.names() if "ring" in name}


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", "#compdef pyapsp"), ("fish", "complete -c pyapsp")]
)
def test_other_shells_get_their_scripts(shell, words, capsys):
    text = script(capsys, shell)
    assert words in text
    for method in pyapsp.methods():
        assert method.id in text
    if shell == "zsh":  # which would take the colon for an end
        for device in pyapsp.devices():
            assert device.id.replace(":", r"\:") in text


def test_without_a_device(capsys, monkeypatch):
    monkeypatch.setattr(pyapsp, "devices", list)
    assert "'gpu' 'cpu'" in script(capsys, "bash") or "gpu cpu)" in script(capsys, "bash")


def test_an_unknown_shell():
    with pytest.raises(SystemExit) as caught:
        main(["completion", "cmd"])
    assert caught.value.code == 2
