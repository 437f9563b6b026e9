# All pairs of each graph, solved by several processes of MPI.


rule solve_on_ranks:
    input:
        "<results>/graphs/{graph}.npz",
    output:
        rows="<results>/ranks/{graph}.npy",
        record="<results>/ranks/{graph}.json",
    log:
        "<results>/logs/solve_on_ranks/{graph}.log",
    conda:
        "../envs/pyapsp.yaml"
    threads: 1
    resources:
        mem_mb=ranks_mem_mb,
        runtime=ranks_minutes,
        gpu=0,
        # the launcher, and the number of processes; a profile has those of its cluster
        mpi="mpiexec",
        tasks=2,
    shell:
        "{resources.mpi} -n {resources.tasks} python -m pyapsp solve {input:q} -o {output.rows:q}"
        " --record {output.record:q} > {log:q} 2>&1"


rule ranks:
    input:
        expand("<results>/ranks/{graph}.npy", graph=graphs("all-pairs")),
