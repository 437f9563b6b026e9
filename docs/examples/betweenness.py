"""Betweenness, with NetworkX.

pyapsp is a backend of NetworkX: the same function runs in it if its name is an argument, or in the
setting `nx.config.backend_priority`. The conversion of the graph is in the time: without the
setting, NetworkX would keep the converted graph for the next call.
"""

import networkx as nx


def data(small):
    return (nx.barabasi_albert_graph(100 if small else 2000, 4, seed=1),)


def before(graph):
    return nx.betweenness_centrality(graph)


def after(graph):
    with nx.config(cache_converted_graphs=False):
        return nx.betweenness_centrality(graph, backend="pyapsp")


def same(one, other):
    return list(one) == list(other) and all(abs(one[v] - other[v]) < 1e-12 for v in one)
