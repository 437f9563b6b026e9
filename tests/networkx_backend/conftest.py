from __future__ import annotations

import networkx as nx
import pytest


@pytest.fixture(autouse=True)
def settings():
    """What tests set is as before afterwards; they use cached conversions knowingly."""
    with nx.config(warnings_to_ignore={"cache"}), nx.config.backends.pyapsp(device=None):
        yield nx.config.backends.pyapsp
