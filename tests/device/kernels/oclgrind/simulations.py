"""Simulations by each engine on a device, with each kind of sum: against one core."""

import numpy as np
import pandas as pd

import pyapsp
from pyapsp.simulation import schedule
from pyapsp.simulation.generators import luo_rudy_line
from pyapsp.simulation.layout import SUMS, Optimisations
from pyapsp.simulation.translated import TranslatedEngine

schedule.SUMMED = 2
line = luo_rudy_line(3)
options = {"duration": 0.03, "step": 0.01, "method": "euler"}
right = pyapsp.simulate(line, engine="host", **options)
for kind in SUMS:
    for engine in ("interpreter", "translator"):
        found = pyapsp.simulate(line, engine=engine, optimise=Optimisations(sum=kind), **options)
        assert np.allclose(found, right, rtol=1e-9)
usual = TranslatedEngine._form
for form in ("launches", "alone"):  # there are no groups that wait for each other
    TranslatedEngine._form = lambda self, form=form: form
    found = pyapsp.simulate(line, optimise=Optimisations(sum=""), **options)
    assert np.allclose(found, right, rtol=1e-9)
TranslatedEngine._form = usual
found = pyapsp.simulate(line, duration=0.02, step=0.01, method="dopri5")
assert np.isfinite(found).all().all()
sets = pd.DataFrame({"G_Na": [20.0, 23.0]})
found = pyapsp.simulate(line, parameters=sets, **options)
assert np.allclose(found[list(right)].iloc[-len(right) :], right, rtol=1e-9)
