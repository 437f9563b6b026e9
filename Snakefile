include: "workflow/Snakefile"


# The rules of an included file are never the default target, so the root names its own.
rule default:
    default_target: True
    input:
        rules.all.input,
