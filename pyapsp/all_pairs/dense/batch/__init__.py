"""Batches of graphs of one size: the forms in which a device solves them, and the pipeline.

``form`` has the base class of the forms. ``rounds`` runs methods whose kernel launches compute many
graphs, ``onegroup`` computes each graph in one work-group, ``choice`` selects the form.
``pipeline`` copies graphs to the device and distances back, through ``slots``. ``jobs`` makes
groups of graphs from the argument of the caller.
"""

from pyapsp.all_pairs.dense.batch.choice import ONE_GROUP, automatic, maker
from pyapsp.all_pairs.dense.batch.form import Form, Remark
from pyapsp.all_pairs.dense.batch.pipeline import Done, Job, Pipeline

__all__ = ["ONE_GROUP", "Done", "Form", "Job", "Pipeline", "Remark", "automatic", "maker"]
