"""Run a C program on one core of the host, for comparison with bulk execution."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pyapsp.errors import CapabilityError

if TYPE_CHECKING:
    from pyapsp.bulk import Translation

__all__ = ["CProgram"]

_LOOP = """#include <string.h>
#define main main_of_the_program
#include "{path}"
void many(long p{parameters})
{{
    for (long j = 0; j < p; j++) {{
        {loads}
        {entry}();
        {stores}
    }}
}}
"""
_FLAGS = ("-O2", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-Wl,-Bsymbolic")


class CProgram:
    """A program compiled by the C compiler: ``CC`` of the environment, or ``cc``.

    Parameters
    ----------
    translation : Translation
        The translation of the program.
    defines : mapping of str to int
        The same macros.

    Raises
    ------
    CapabilityError
        There is no C compiler, or it rejects the program.
    """

    def __init__(self, translation: Translation, defines: Mapping[str, int]) -> None:
        compiler = os.environ.get("CC", "cc")
        if shutil.which(compiler) is None:
            raise CapabilityError(f"there is no C compiler {compiler!r}")
        self._arrays = translation.arrays
        copy = "memcpy({}, {}, sizeof {});"
        text = _LOOP.format(
            path=Path(translation.path).resolve(),
            entry=translation.entry,
            parameters="".join(f", char *of_{each.name}" for each in self._arrays),
            loads=" ".join(
                copy.format(f"&{each.name}", f"of_{each.name} + j * sizeof {each.name}", each.name)
                for each in self._arrays
                if each.loaded
            ),
            stores=" ".join(
                copy.format(f"of_{each.name} + j * sizeof {each.name}", f"&{each.name}", each.name)
                for each in self._arrays
                if each.stored
            ),
        )
        macros = [f"-D{name}={value}" for name, value in defines.items()]
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder, "many.c"), Path(folder, "many.so")
            source.write_text(text, encoding="utf-8")
            command = [compiler, *_FLAGS, *macros, "-o", str(library), str(source), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise CapabilityError(f"{compiler} refused {translation.path}: {done.stderr}")
            self._many = ctypes.CDLL(str(library)).many

    def run(self, inputs: Mapping[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
        """Run the program for one instance after the other.

        Parameters
        ----------
        inputs : mapping of str to (p, ...) ndarray

        Returns
        -------
        seconds : float
        outputs : dict of str to (p, ...) ndarray
        """
        p = len(next(iter(inputs.values())))
        arrays = {
            each.name: np.array(inputs[each.name], each.dtype, order="C")
            if each.name in inputs
            else np.zeros((p, *each.shape), each.dtype)
            for each in self._arrays
        }
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays.values()]
        started = time.perf_counter()
        self._many(ctypes.c_long(p), *pointers)
        seconds = time.perf_counter() - started
        return seconds, {each.name: arrays[each.name] for each in self._arrays if each.stored}
