"""Many graphs of one size at once: the forms in which a device solves them, and the pipeline.

``form`` is what the forms share: ``rounds`` runs the methods whose launches take many graphs,
``onegroup`` gives each graph to one work-group; ``choice`` says which. ``pipeline`` brings graphs
to the device and back, through ``slots``; ``jobs`` makes groups of graphs of what callers have.
"""

from pyapsp.dense.batch.choice import ONE_GROUP, automatic, maker
from pyapsp.dense.batch.form import Form, Remark
from pyapsp.dense.batch.pipeline import Done, Job, Pipeline

__all__ = ["ONE_GROUP", "Done", "Form", "Job", "Pipeline", "Remark", "automatic", "maker"]
