"""``pyapsp workflow``."""

from __future__ import annotations

from pyapsp.cli import main


def test_it_writes_the_workflow_and_never_over_files(tmp_path, capsys):
    folder = tmp_path / "my study"
    assert main(["workflow", "init", str(folder)]) == 0
    assert str(folder / "config" / "config.yaml") in capsys.readouterr().out
    for name in ("workflow/Snakefile", "workflow/profiles/slurm/config.yaml", "config/README.md"):
        assert (folder / name).is_file()
    assert not list(folder.rglob("papers*"))
    assert main(["workflow", "init", str(folder)]) == 2
    assert "without config/, which would be overwritten" in capsys.readouterr().err


def test_other_files_in_the_folder_stay(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graph.csv").write_text("0,1\n")
    assert main(["workflow", "init", "."]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"config", "graph.csv", "workflow"}
