# Every sparse method on the graphs of the config.


rule sparse:
    input:
        verified_files("sparse"),
