"""Names of files, and files that are written completely or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyapsp.base.errors import ParameterError
from pyapsp.base.files import atomic_write, check_suffix, unpacked


@pytest.mark.parametrize(
    ("name", "plain"),
    [("a.txt.gz", "a.txt"), ("a.gz", "a"), ("a.b/c.txt", "a.b/c.txt"), ("a.gz/c", "a.gz/c")],
)
def test_the_name_without_gz(name, plain):
    assert unpacked(Path(name)) == Path(plain)


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.NPZ", "a", "a.5"])
def test_suffixes_of_other_formats(name):
    """A suffix that no format has says nothing."""
    if name == "a.csv":
        with pytest.raises(ParameterError, match=r"of save must be a file \.npz"):
            check_suffix(name, "save", ".npz", others="to_csv")
    else:
        check_suffix(name, "save", ".npz", others="to_csv")


def test_after_an_error_a_file_is_as_before(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def fail():
        with atomic_write(path) as file:
            file.write("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with atomic_write(path) as file:
        file.write("after")
    assert path.read_text() == "after"
