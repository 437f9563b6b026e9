include: "workflow/Snakefile"


# Snakemake takes no default target from an included file, so it is defined here.
rule default:
    default_target: True
    input:
        rules.all.input,
