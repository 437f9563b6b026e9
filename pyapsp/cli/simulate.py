"""Integrate a model of ordinary differential equations, and print or save its course.

The model is a file in SBML, PHML, ISML or CellML. Values are printed as CSV; -o writes them to
OUT.csv, OUT.parquet or OUT.h5. With --parameters, the model is integrated for each line of a CSV
file, whose columns are parameters and initial values; --reduce then keeps one value of each run.

For example:
  pyapsp simulate cell.phml --duration 400 --step 0.01 --every 100 --quantity V
  pyapsp simulate model.xml --duration 10 --step 0.1 --integrator dopri5 -o run.csv
  pyapsp simulate cell.phml --duration 400 --step 0.01 --set G_Na=20 --snapshot run.npz -o run.csv
  pyapsp simulate cell.phml --duration 400 --step 0.01 --parameters sets.csv --reduce top=max:V
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import TYPE_CHECKING

from pyapsp.base.spelling import is_plain
from pyapsp.cli.options import (
    add_choice,
    add_device,
    add_flag,
    add_output,
    add_progress,
    wants_progress,
)
from pyapsp.cli.output import check_outputs, check_suffix, is_special

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("model", metavar="MODEL.xml", help="SBML, PHML, ISML or CellML")
    add_output(parser, "OUT.csv", "file to write: .csv, .parquet or .h5")
    parser.add_argument(
        "--duration", type=float, metavar="LENGTH", required=True, help="in the model's unit"
    )
    parser.add_argument(
        "--step", type=float, metavar="LENGTH", required=True, help="length of a step"
    )
    parser.add_argument(
        "--every", type=int, metavar="N", default=1, help="steps from one output to the next"
    )
    add_choice(
        parser,
        "--integrator",
        ("rk4", "euler", "dopri5"),
        "rk4: Runge-Kutta of order 4 (default); euler; dopri5: Dormand-Prince, with steps of "
        "variable length",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="TOLERANCE",
        help="absolute and relative tolerance of dopri5 (default: 1e-6)",
    )
    parser.add_argument(
        "--quantity",
        metavar="NAME",
        action="append",
        help="a quantity to return; may be repeated (default: all states)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_value,
        metavar="NAME=VALUE",
        help="a parameter or an initial value; may be repeated",
    )
    parser.add_argument(
        "--parameters", metavar="SETS.csv", help="a set of parameters in each line, with a header"
    )
    parser.add_argument(
        "--reduce",
        action="append",
        default=[],
        type=_reduction,
        metavar="NAME=KIND:QUANTITY",
        help="keep one value of each run: last, min or max of a quantity; crossing:QUANTITY:VALUE "
        "is the time at which it rises above VALUE; may be repeated; needs --parameters",
    )
    add_choice(
        parser,
        "--engine",
        ("translator", "interpreter", "host"),
        "translator (default): a program is compiled for the model; interpreter: the device "
        "interprets bytecode; host: one core",
    )
    add_flag(parser, "--single", "compute in float32 instead of float64")
    parser.add_argument(
        "--snapshot",
        metavar="FILE.npz",
        help="write a checkpoint to this file from time to time; continue from it if it exists",
    )
    add_device(parser)
    add_progress(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate, and write the frame."""
    import pyapsp
    from pyapsp.base.progress import Progress

    check_outputs(arguments.output, inputs=[arguments.model, arguments.parameters or ""])
    check_suffix(arguments, ".csv", ".parquet", ".h5")
    parameters: dict[str, float] | pd.DataFrame = dict(arguments.set)
    if arguments.parameters is not None:
        parameters = _sets(arguments.parameters, dict(arguments.set))
    shown = Progress(1) if wants_progress(arguments) else nullcontext()
    with shown as progress:
        frame = pyapsp.simulate(
            arguments.model,
            duration=arguments.duration,
            step=arguments.step,
            method=arguments.integrator,
            output=arguments.quantity,
            every=arguments.every,
            parameters=parameters,
            engine=arguments.engine,
            dtype="float32" if arguments.single else "float64",
            tolerances=None if arguments.tolerance is None else (arguments.tolerance,) * 2,
            device=arguments.device,
            progress=None if progress is None else progress.steps,
            checkpoint=arguments.snapshot,
            reduce=dict(arguments.reduce) or None,
        )
    _write(frame, arguments.output)
    return 0


def _value(text: str) -> tuple[str, float]:
    name, mark, value = text.partition("=")
    try:
        if name and mark and is_plain(value):
            return name, float(value)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE with a number")


def _reduction(text: str) -> tuple[str, tuple[str, str] | tuple[str, str, float]]:
    name, _, rest = text.partition("=")
    kind, mark, quantity = rest.partition(":")
    if not (name and mark and quantity):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=KIND:QUANTITY")
    if kind != "crossing":
        return name, (kind, quantity)
    quantity, _, value = quantity.rpartition(":")
    return name, (kind, quantity, _value(f"value={value}")[1])


def _sets(path: str, parameters: dict[str, float]) -> pd.DataFrame:
    """Return the sets of parameters in a file, and the same values beside each."""
    from pyapsp.base.errors import FormatError
    from pyapsp.base.extras import extra

    with extra("simulation", "--parameters"):
        import pandas
    try:
        frame = pandas.read_csv(path).astype("float64")
    except ValueError as error:
        raise FormatError(path, None, f"no numbers under a header: {error}") from None
    assert isinstance(frame, pandas.DataFrame)
    return frame.assign(**parameters)


def _write(frame: pd.DataFrame, path: str | None) -> None:
    """Write a frame in the format of the suffix."""
    import sys

    from pyapsp.base.errors import PyApspError
    from pyapsp.base.files import atomic_write, replacing

    if path is None:
        frame.to_csv(sys.stdout, index=False)
    elif path.endswith((".parquet", ".h5")) and not is_special(path):
        try:
            with replacing(path) as temporary:
                if path.endswith(".h5"):
                    frame.to_hdf(temporary, key="simulation", index=False)
                else:
                    frame.to_parquet(temporary, index=False)
        except ImportError as error:
            raise PyApspError(f"{path} needs a package: {error}") from None
    else:
        with atomic_write(path) as file:
            frame.to_csv(file, index=False)
