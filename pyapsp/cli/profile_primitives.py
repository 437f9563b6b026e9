"""Compare reductions, scans, sorts and others, of PyOpenCL and of pyapsp.

Each has criteria, a quality, and a speedup over NumPy. With --on PROFILE.json from "pyapsp profile
device", the weights of the criteria are fitted for this device. It needs the extra profile of
pyapsp.

For example:
  pyapsp profile primitives --on profile.json
"""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict

from pyapsp.cli.options import add_device, add_json, add_output, add_size
from pyapsp.cli.output import check_outputs, made, print_json, printer, write_json
from pyapsp.cli.profile_kernel import add_tracing, read_profile

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_size(parser, "how many numbers, a power of two (2^20)")
    add_tracing(parser)
    add_device(parser)
    add_output(parser, "PRIMITIVES.json", "write the table to this file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score the implementations of primitives, and fit weights."""
    from pyapsp.base.errors import ParameterError, PyApspError
    from pyapsp.base.extras import extra
    from pyapsp.device import choose

    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    check_outputs(arguments.output)
    with extra("profile", "pyapsp profile primitives"):
        from pyapsp.profiling.primitives import IMPLEMENTATIONS, score
        from pyapsp.profiling.weights import fitted
    device, say, profile = choose(arguments.device), printer(arguments), read_profile(arguments.on)
    rows, failed = [], []
    for each in IMPLEMENTATIONS:
        try:
            row = score(each, device, arguments.n or 2**20, width=arguments.warp, profile=profile)
        except PyApspError as error:
            failed.append({"implementation": each.name, "error": str(error)})
            say(f"{each.primitive:22} {each.name}: {error}")
            continue
        rows.append(row)
        say(
            f"{each.primitive:22} {each.name:30} {row['speedup']:8.2f} x NumPy, quality "
            f"{row['quality']:.2f}"
        )
    weights = None
    try:
        found = fitted(rows)
        weights = asdict(found)
        say(f"weights: {dict(found.weights)}, R2 {found.r2:.2f}")
    except ParameterError as error:
        say(f"no weights: {error}")
    record = {
        "schema": "pyapsp primitives",
        "device": device.describe(),
        "rows": rows,
        "failed": failed,
        "weights": weights,
        "made": made(arguments),
    }
    if arguments.output:
        write_json(arguments.output, record)
        say(f"-> {arguments.output}")
    if arguments.json:
        print_json(record)
    return int(bool(failed))
