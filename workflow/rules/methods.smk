# Run every method of every problem and check its answer; the same for areas that are not problems with methods; time
# all methods alternately with other packages.


rule run_method:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        "<results>/checked/{problem}/{graph}/{method}/{dtype}/{device}.json",
    log:
        "<results>/logs/run_method/{problem}/{graph}/{method}/{dtype}/{device}.log",
    # memory and time of the process; the times in the tables are those in the output file
    benchmark:
        "<results>/benchmarks/run_method/{problem}/{graph}/{method}/{dtype}/{device}.tsv"
    localrule: INSIDE_A_JOB
    conda:
        "../envs/pyapsp.yaml"
    # a CPU device uses every core, so another job at the same time would distort the measured time
    threads: all_cores
    resources:
        mem_mb=run_mem_mb,
        runtime=run_minutes,
        seconds=run_seconds,
        gpu=0,
    params:
        job=job_limits,
        about=about_run,
        method=method_options,
        options=run_options,
    shell:
        "python -m pyapsp.cli.attempt --record {output:q} --log {log:q} --seconds {resources.seconds} {params.job}"
        " --input {input:q} --about {params.about:q} -- python -m pyapsp check {wildcards.problem:q} {input:q}"
        " {params.method:q} --dtype {wildcards.dtype:q} {params.options:q} -o {output:q}"


rule check_area:
    output:
        "<results>/areas/{area}/{device}.json",
    log:
        "<results>/logs/check_area/{area}/{device}.log",
    localrule: INSIDE_A_JOB
    conda:
        "../envs/pyapsp.yaml"
    threads: all_cores
    resources:
        mem_mb=1000,
        runtime=area_minutes,
        seconds=area_seconds,
        gpu=0,
    params:
        job=job_limits,
        about=about_area,
        options=device_option,
    shell:
        "python -m pyapsp.cli.attempt --record {output:q} --log {log:q} --seconds {resources.seconds} {params.job}"
        " --about {params.about:q} -- python -m pyapsp check {wildcards.area:q} {params.options:q} -o {output:q}"


rule time_methods:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        "<results>/timed/{problem}/{graph}/{device}.json",
    log:
        "<results>/logs/time_methods/{problem}/{graph}/{device}.log",
    localrule: INSIDE_A_JOB
    conda:
        "../envs/pyapsp.yaml"
    threads: all_cores
    resources:
        mem_mb=run_mem_mb,
        runtime=bench_minutes,
        seconds=bench_seconds,
        gpu=0,
    params:
        job=job_limits,
        about=about_bench,
        methods=bench_methods,
        dtypes=bench_types,
        peers=bench_peers,
        repeat=config["repeat"],
        options=run_options,
    shell:
        "python -m pyapsp.cli.attempt --record {output:q} --log {log:q} --seconds {resources.seconds} {params.job}"
        " --input {input:q} --about {params.about:q} -- python -m pyapsp bench {input:q} --problem {wildcards.problem:q}"
        " --repeat {params.repeat} --method {params.methods:q} --dtype {params.dtypes:q}"
        " --peers {params.peers:q} {params.options:q} -o {output:q}"


# Fails if a run was wrong or failed, after the report is written. It then removes the records of these runs, so that
# the next start tries them again.
rule judge_runs:
    input:
        records=judged_records,
        graphs=judged_graphs,
        report=report_of,
    output:
        "<results>/verdicts/{target}.txt",
    log:
        "<results>/logs/judge_runs/{target}.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    script:
        script_file("judge.py")


# A target for each problem, named after it: snakemake all-pairs, snakemake bfs, ...
for problem in PROBLEMS:

    rule:
        name:
            problem
        input:
            f"<results>/verdicts/{problem}.txt",
