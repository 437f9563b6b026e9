/* ranges: all vertices up to a distance from each source, as sparse rows.
 *
 * Purpose   The rows of a distance matrix without the entries beyond a cutoff. No row of n values is
 *           written: the cost of a source depends on the vertices within the cutoff.
 *
 * Layout    Work-items take the next source until none is left. A row is placed after those that are
 *           complete; the order of the rows is by chance, and `rows` tells place and length of each:
 *
 *             rows         0: 5 3 | 1: 0 5 | 2: -1 . |         -1: no room was left
 *             vertices     1 v v v v | 0 v v | . . .           sorted by number
 *             costs        1 c c c c | 0 c c | . . .
 *             befores      with PYAPSP_PREDECESSORS
 *
 *           `pack_rows` copies them to their final places, in the order of the sources.
 *
 * Parameters  those of queries/search.h
 *
 * Cost      that of queries/search.h for each source, and O(1) for each value of a row.
 *
 * Source    queries/search.h
 */
#include "queries/search.h"

__kernel GROUP void within(ARCS_ARGUMENTS, __global const int *sources, const int count,
                           SEARCH_ARGUMENTS, volatile __global int *state, __global int *rows,
                           __global int *vertices, __global value_t *costs,
#if PYAPSP_PREDECESSORS
                           __global int *befores,
#endif
                           const int capacity)
{
    const memory_t memory = memory_of(nodes, heaps, marks, get_global_id(0), n);
    while (!atomic_or(state + FULL, 0)) {
        const int row = atomic_inc(state + NEXT);
        if (row >= count)
            return;
        const int reached = search_from(sources[row], first, heads, weights, n, farthest, checks,
                                        memory, 0, 0, state);
        int place = room_for(state + USED, reached, capacity);
        rows[2 * row] = place;
        rows[2 * row + 1] = reached;
        if (place < 0)
            atomic_xchg(state + FULL, 1);
        FOR_REACHED(memory, n, v)
            if (place >= 0) {
                vertices[place] = v;
                costs[place] = memory.nodes[v].cost;
#if PYAPSP_PREDECESSORS
                befores[place] = memory.nodes[v].before;
#endif
                place++;
            }
            memory.nodes[v].cost = PYAPSP_INFINITY;
        END_REACHED
    }
}

/* Copy each row to its place in `starts`; a group, or a work-item of its own, copies a row. */
__kernel GROUP void pack_rows(__global const int *rows, __global const int *starts,
                              __global const int *vertices, __global const value_t *costs,
#if PYAPSP_PREDECESSORS
                              __global const int *befores, __global int *packed_befores,
#endif
                              __global int *packed_vertices, __global value_t *packed_costs)
{
    const int row = get_group_id(0), from = rows[2 * row], length = rows[2 * row + 1];
    const int to = starts[row];
    for (int i = get_local_id(0); i < length; i += PYAPSP_GROUP) {
        packed_vertices[to + i] = vertices[from + i];
        packed_costs[to + i] = costs[from + i];
#if PYAPSP_PREDECESSORS
        packed_befores[to + i] = befores[from + i];
#endif
    }
}
