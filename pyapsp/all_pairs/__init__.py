"""All-pairs shortest paths: all distances of a graph, selected rows, or sums over rows.

The steps of a call: `request` checks the arguments, `choice` selects method and type, an area
(`pyapsp.all_pairs.dense`, `pyapsp.all_pairs.sparse`) computes, `settle` converts the answer to the
type, rows and cutoff of the call, and `solver` makes the result.
"""
