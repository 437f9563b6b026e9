"""Write the report of the records of the rule."""

from pathlib import Path

from pyapsp.bench.report import write_report

job = snakemake  # noqa: F821  # Snakemake defines it
# There are no figures if no run has an answer.
Path(job.output.figures).mkdir(parents=True, exist_ok=True)
written = write_report(job.input, job.params.directory)
Path(job.log[0]).write_text("".join(f"{path}\n" for path in written), encoding="utf-8")
