"""All-pairs shortest paths: from a graph to all distances, some rows of them, or sums of rows.

A call goes one way: `request` checks the arguments, `choice` takes method and type, an area
computes, `solver` settles the answer as it was asked for.
"""
