"""The models of Flint and a part of the SBML Test Suite; ``python tests/simulation/suites.py``.

The archives ``models.tar.xz`` and ``sbml.tar.xz`` are looked for in ``PYAPSP_SIMULATION_DATA``,
then where the datasets are. The first argument is what integrates: ``scipy`` (the default) or an
engine of ``pyapsp.simulate``.
"""

from __future__ import annotations

import csv
import os
import re
import sys
import tarfile
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from system_oracle import Oracle

from pyapsp.errors import ModelError
from pyapsp.simulation.frontend import read_model

FOLDERS = [
    folder
    for folder in (
        os.environ.get("PYAPSP_SIMULATION_DATA", ""),
        os.environ.get("PYAPSP_DATA_MIRROR", ""),
        str(Path(__file__).parents[3] / "shared" / "data"),
    )
    if folder and (Path(folder) / "models.tar.xz").is_file()
]

#: What the front end does not read: tags of the SBML Test Suite.
UNSUPPORTED = {
    "AlgebraicRule",
    "CSymbolDelay",
    "DelayInEventAssignment",
    "DelayInTrigger",
    "EventIsNotPersistent",
    "EventIsPersistent",
    "EventNoDelay",
    "EventPriority",
    "EventT0Firing",
    "EventUsesAssignmentTimeValues",
    "EventUsesTriggerTimeValues",
    "EventWithDelay",
    "FastReaction",
    "MultipleFastReactions",
    "NoMathML",
    "RandomEventExecution",
    "comp:ExternalModelDefinition",
    "fbc:BoundGreaterEqual",
    "fbc:BoundLessEqual",
    "fbc:FluxBound",
    "fbc:FluxObjective",
    "fbc:MaximizeObjective",
    "fbc:MinimizeObjective",
    "fbc:NonStrict",
    "fbc:Objective",
}


@dataclass
class Outcome:
    """What became of a model: ``passed``, ``failed`` or ``refused``, and why."""

    name: str
    kind: str
    why: str = ""
    tags: set[str] = field(default_factory=set)
    error: float = 0.0


def unpacked(archive: str, folder: str) -> Path:
    """Unpack an archive of the first folder that has it, and return where its files are."""
    with tarfile.open(Path(FOLDERS[0]) / f"{archive}.tar.xz") as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4
        tar.extractall(folder)
    return Path(folder) / archive


def solved(system, times, solver):
    """Return values by name at equidistant times, the first of which is the start."""
    if solver == "scipy":
        return Oracle(system).solve(times)
    import pyapsp

    step = times[1] - times[0]
    names = [*system.parameters, *system.constants, *system.functions, *system.initial]
    frame = pyapsp.simulate(
        system,
        duration=step * (len(times) - 1) * (1 + 1e-12),
        step=step,
        method="dopri5",
        tolerances=(1e-12, 1e-9),
        output=names,
        engine=solver,
    )
    return {name: frame[name].to_numpy() for name in ["time", *names]}


def settings_of(folder):
    """Return the settings of a case of the SBML Test Suite."""
    lines = (folder / f"{folder.name}-settings.txt").read_text().splitlines()
    found = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in found}


def tags_of(folder):
    """Return the tags of a case: what constructs it has."""
    text = (folder / f"{folder.name}-model.m").read_text()
    lines = re.findall(r"^(?:componentTags|testTags):(.*(?:\n {10,}.*)*)", text, re.MULTILINE)
    return {tag.strip() for line in lines for tag in line.split(",") if tag.strip()}


def converted(values, model, settings):
    """Change values of species to what the settings ask for: amounts or concentrations."""
    for kind, power in (("amount", 1), ("concentration", -1)):
        for name in filter(None, map(str.strip, settings[kind].split(","))):
            species = model.getSpecies(name)
            if species is not None and species.getHasOnlySubstanceUnits() == (power < 0):
                values[name] = values[name] * values[species.getCompartment()] ** power


def sbml_case(folder: Path, solver: str = "scipy") -> Outcome:
    """Run a case of the SBML Test Suite and compare at its own tolerances."""
    import libsbml

    path, tags = sorted(folder.glob("*-sbml-*.xml"))[-1], tags_of(folder)
    settings = settings_of(folder)
    try:
        system = read_model(path)
    except ModelError as error:
        return Outcome(folder.name, "refused", error.construct, tags)
    with open(folder / f"{folder.name}-results.csv", newline="") as stream:
        names, *rows = csv.reader(stream)
    table = np.array([[float(value) for value in row] for row in rows if row])
    times = table[:, 0]
    before = round((times[0] - system.start) / (times[1] - times[0]))  # the suite's start
    steps = np.arange(-before, len(times)) * (times[1] - times[0]) + times[0]
    values = {name: value[before:] for name, value in solved(system, steps, solver).items()}
    document = libsbml.readSBMLFromFile(str(path))
    converted(values, document.getModel(), settings)
    absolute, relative = float(settings["absolute"]), float(settings["relative"])
    for name, wanted in zip((name.strip() for name in names[1:]), table.T[1:], strict=True):
        if name not in values:
            return Outcome(folder.name, "failed", f"there is no {name}", tags)
        got = values[name]
        far = np.abs(got - wanted) > absolute + relative * np.abs(wanted)
        if (far & (got != wanted) | (np.isnan(got) != np.isnan(wanted))).any():
            return Outcome(folder.name, "failed", f"{name}: {got} instead of {wanted}", tags)
    return Outcome(folder.name, "passed", "", tags)


def flint_model(path: Path, solver: str) -> Outcome:
    """Integrate a model with two methods and compare; the error is relative to the largest value.

    A model that is reset after steps is integrated with the same steps by both.
    """
    try:
        system = read_model(path)
    except ModelError as error:
        return Outcome(path.name, "refused", f"{error.construct}: {error}")
    size = len(system.initial)
    times = np.linspace(0, 0.05 if size > 500 else 2.0, 11)
    if system.resets:
        wanted, got = with_resets(system, solver)
    else:
        oracle = Oracle(system)
        wanted = oracle.solve(times)
        got = (
            oracle.solve(times, "DOP853", 1e-8, 1e-11)
            if solver == "scipy"
            else solved(system, times, solver)
        )
    error = max(
        float(np.max(np.abs(got[name] - wanted[name])) / (np.max(np.abs(wanted[name])) + 1e-6))
        for name in (system.initial or system.functions)
    )
    return Outcome(path.name, "passed" if error < 1e-5 else "failed", f"{size} states", error=error)


def with_resets(system, solver, steps=400, size=0.01):
    """Return what the oracle and the solver give with steps of the classical method."""
    oracle, rows = Oracle(system), []
    y = oracle.y0
    for number in range(steps + 1):
        rows.append(y)
        y = oracle.step(system.start + number * size, y.copy(), size)
    wanted = dict(zip(oracle.names, np.array(rows).T, strict=True))
    if solver == "scipy":
        return wanted, wanted
    import pyapsp

    return wanted, pyapsp.simulate(
        system, duration=steps * size * (1 + 1e-12), step=size, engine=solver
    )


def sbml_suite(folder: Path, solver: str = "scipy", every: int = 1) -> list[Outcome]:
    """Run the cases of the SBML Test Suite, or every so many of them."""
    cases = sorted(case for case in folder.iterdir() if case.is_dir())
    return [sbml_case(case, solver) for case in cases[::every]]


def flint_models(folder: Path, solver: str = "scipy") -> list[Outcome]:
    """Run the models of Flint."""
    kinds = {".phml", ".isml", ".phz", ".xml", ".sbml", ".cellml"}
    paths = sorted(path for path in folder.iterdir() if path.suffix in kinds)
    return [flint_model(path, solver) for path in paths]


def main(solver: str = "scipy") -> None:
    """Print what becomes of each model of Flint, and of the SBML cases by tag and construct."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for outcome in flint_models(unpacked("models", folder), solver):
            why = outcome.why if outcome.kind == "refused" else f"{outcome.error:.1e} {outcome.why}"
            print(f"{outcome.name:58} {outcome.kind:8} {why.split('/')[0]}")
        outcomes = sbml_suite(unpacked("sbml", folder), solver)
    claimed = [outcome for outcome in outcomes if not outcome.tags & UNSUPPORTED]
    kinds = Counter(outcome.kind for outcome in outcomes)
    print(f"\nSBML Test Suite: {dict(kinds)}; of {len(claimed)} with supported tags only,")
    print(f"{sum(outcome.kind == 'passed' for outcome in claimed)} pass")
    for outcome in outcomes:
        if outcome.kind == "failed" or (outcome.kind == "refused" and outcome in claimed):
            print(f"  {outcome.name} {outcome.kind}: {outcome.why[:200]}")
    refused = [outcome for outcome in outcomes if outcome.kind == "refused"]
    constructs = Counter(re.sub(r"'.+'", "'…'", outcome.why) for outcome in refused)
    tags = Counter(tag for outcome in refused for tag in outcome.tags & UNSUPPORTED)
    for title, counts in (("refused by construct", constructs), ("unsupported tags", tags)):
        print(f"{title}:", *(f"  {n:4} {name}" for name, n in counts.most_common()), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
