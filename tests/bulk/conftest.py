"""The C compiler as the oracle: the same file, run for one instance after the other."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from pathlib import Path

import numpy as np
import pytest

from pyapsp.bulk import translate

_numbers = itertools.count()


class Native:
    """A C program as a shared library."""

    def __init__(self, path: Path, folder: Path, defines: dict[str, object]) -> None:
        self._translation = translate(path, defines=defines)
        library = folder / f"native{next(_numbers)}.so"
        macros = [f"-D{name}={value}" for name, value in defines.items()]
        flags = ["-O0", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-fwrapv", "-Wl,-Bsymbolic"]
        command = ["gcc", *flags, *macros, "-o", str(library), str(path), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        self._library = ctypes.CDLL(str(library))
        self._entry = self._library[self._translation.entry]
        self._entry.restype = None

    def variable(self, array):
        """The memory of a global variable."""
        memory = (ctypes.c_char * array.nbytes).in_dll(self._library, array.name)
        return np.frombuffer(memory, array.dtype).reshape(array.shape)

    def __call__(self, **given):
        """Run the program for each instance; return every variable that it writes to."""
        arrays = self._translation.arrays
        p = len(next(iter(given.values())))
        first = {each.name: self.variable(each).copy() for each in arrays}
        outputs = {each.name: [] for each in arrays if each.stored}
        for j in range(p):
            for each in arrays:
                value = given[each.name][j] if each.name in given else first[each.name]
                self.variable(each)[...] = value
            self._entry()
            for each in arrays:
                if each.stored:
                    outputs[each.name].append(self.variable(each).copy())
        for each in arrays:
            self.variable(each)[...] = first[each.name]
        return {name: np.stack(values) for name, values in outputs.items()}


@pytest.fixture
def native(tmp_path):
    """Compile a C program with gcc."""
    return lambda path, **defines: Native(Path(path), tmp_path, defines)


@pytest.fixture
def written(tmp_path):
    """Write a C program to a file."""

    def write(text: str, name: str = "program.c") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def assert_same(native, device):
    """Compare a program on a device with what the C compiler makes of it, to the bit."""

    def compare(path, inputs, *, rtol=0.0, arrangements=("column", "row"), **defines):
        from pyapsp.bulk import load

        expected = native(path, **defines)(**inputs)
        for arrangement in arrangements:
            program = load(path, defines=defines, device=device, arrangement=arrangement)
            found = program(**inputs)
            assert found.keys() == expected.keys()
            for name, values in expected.items():
                assert found[name].dtype == values.dtype
                np.testing.assert_allclose(found[name], values, rtol=rtol, atol=0)
        return expected

    return compare
