#!/bin/sh
# Say whether a job of Slurm is running, success or failed. Snakemake calls it with the id of the job.
# A job that Slurm has forgotten counts as failed: Snakemake runs it again if its files are not there.
case $(squeue --jobs="$1" --states=all --noheader --format=%T 2> /dev/null) in
    COMPLETED) echo success ;;
    PENDING | RUNNING | CONFIGURING | COMPLETING | SUSPENDED | REQUEUED | REQUEUE_HOLD) echo running ;;
    *) echo failed ;;
esac
