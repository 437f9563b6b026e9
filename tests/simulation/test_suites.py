"""All models of Flint and a part of the SBML Test Suite, where they are at hand."""

import re

import pytest
import suites

from pyapsp.simulation.frontend import read_model
from pyapsp.simulation.schedule import compile_model
from pyapsp.simulation.values import at_start

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(7200),
]

# What the models of Flint have that is refused: beginnings of the constructs.
REFUSED = {
    "BIOMD0000000152.xml": "event 'cAMP_pulse'",
    "FSK_2008_Epi_Ventricular_Myocyte_Vesnarinon.phml": "max-delay of quantity 'ICa_total_old'",
    "bogus-td.phml": "time-discretization",
    "damped-system.phml": "quantity 'v' of module 'Damped system'",
    "delayed_exp.isml": "max-delay of quantity 'a'",
    "double_pendulum.isml": "quantity 'Hqq' of module 'Dynamic_Equation'",
    "empty.phml": "model",
    "fsk.phml": "max-delay of quantity 'ICa_total_old'",
    "lemming.phml": "max-delay of quantity 'x'",
    "mackay_glass_1977_287_9_c.phml": "max-delay of quantity 'P'",
    "sde0.phml": "definition 'Wiener-process'",
    "self-circular-unit.phml": "unit 'bogus'",
    "timeseries.phz": "file 'timeseries1.isd'",
    "x-mathml-ci.xml": "element 'math'",
    "x-missing-edge.phml": "port '1' of module 'Y'",
    "x-missing-name.phml": "name 'y' of module 'M'",
    "x-static-only.phml": "model",
}
SOLVERS = ["scipy", "interpreter"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    assert suites.FOLDERS, "set PYAPSP_SIMULATION_DATA to the folder of models.tar.xz"
    return tmp_path_factory.mktemp("suites")


@pytest.mark.parametrize("solver", SOLVERS)
def test_models_of_flint_agree_or_are_refused(solver, folder):
    outcomes = suites.flint_models(suites.unpacked("models", folder), solver)
    refused = {outcome.name: outcome.why for outcome in outcomes if outcome.kind == "refused"}
    assert set(refused) == set(REFUSED)
    for name, construct in REFUSED.items():
        assert re.match(re.escape(construct), refused[name]), name
    assert [outcome for outcome in outcomes if outcome.kind == "failed"] == []
    assert len(outcomes) == 49


@pytest.mark.parametrize("solver", SOLVERS)
def test_cases_of_sbml_pass_or_are_refused(solver, folder):
    outcomes = suites.sbml_suite(suites.unpacked("sbml", folder), solver)
    assert len(outcomes) == 607
    assert [outcome for outcome in outcomes if outcome.kind == "failed"] == []
    claimed = [outcome for outcome in outcomes if not outcome.tags & suites.UNSUPPORTED]
    assert len(claimed) >= 360
    assert sum(outcome.kind == "passed" for outcome in claimed) >= 0.97 * len(claimed)


def test_the_single_cell_of_flint_has_the_published_phases(folder):
    """F. Okuyama's thesis, 2013, table 5.6: 22 -> 3 -> 8 bytecodes; 5.7: five phases unmerged."""
    system = read_model(suites.unpacked("models", folder) / "luo_rudy_1991.isml")
    constants = {name: float(value) for name, value in at_start(system)[0].items()}
    counts = {
        merge: [len(phase) for phase in compile_model(system, constants, merge=merge).phases]
        for merge in (True, False)
    }
    assert counts == {True: [22, 3, 8], False: [22, 6, 2, 1, 8]}
