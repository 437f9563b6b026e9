# Datasets: read from the official address, a mirror, the package or a file of the user, and converted to one format. In
# place of a graph that cannot be read there is a record that says why, and its runs are failed rows of the table.


rule fetch_dataset:
    input:
        own_files,
    output:
        "<results>/datasets/{graph}.{format}",
    log:
        "<results>/logs/fetch_dataset/{graph}.{format}.log",
    localrule: True
    conda:
        "../envs/pyapsp.yaml"
    params:
        measured=measured_option,
        register=register_option,
    shell:
        "python -m pyapsp.cli.attempt --record {output:q} --log {log:q} {params.measured:q}"
        " --about input={wildcards.graph:q} -- python -m pyapsp fetch {wildcards.graph:q} {params.register:q} -o {output:q}"


rule normalise_graph:
    input:
        dataset_file,
    output:
        "<results>/graphs/{graph}.npz",
    log:
        "<results>/logs/normalise_graph/{graph}.log",
    localrule: INSIDE_A_JOB
    conda:
        "../envs/pyapsp.yaml"
    params:
        weights=dataset_weights,
        undirected=undirected_option,
    shell:
        "python -m pyapsp.cli.attempt --record {output:q} --log {log:q} --input {input:q}"
        " --about input={wildcards.graph:q}"
        " -- python -m pyapsp convert {input:q} {output:q} --weights {params.weights} {params.undirected}"
