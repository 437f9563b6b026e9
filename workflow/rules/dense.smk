# Every dense method on the graphs of the config.


rule dense:
    input:
        verified_files("dense"),
