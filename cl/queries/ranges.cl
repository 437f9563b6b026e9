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
 *           state, 4 ints: the next source; values in use; whether there was no room; whether a
 *           distance is too large for the type.
 *
 * Parameters  those of queries/search.h
 *
 * Cost      that of queries/search.h for each source, and O(1) for each value of a row.
 *
 * Source    queries/search.h
 */
#include "queries/search.h"

enum { NEXT, USED, FULL, LOST };

/* Clear the memory of all work-items. */
__kernel GROUP void clear_memory(__global node_t *nodes, __global ulong *marks, const long vertices,
                                 const long words)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)vertices; i += step) {
        nodes[i].cost = PYAPSP_INFINITY;
        nodes[i].place = -1;
    }
    for (size_t i = get_global_id(0); i < (size_t)words; i += step)
        marks[i] = 0;
}

/* Return the place of `count` values, or -1 if there is no room. */
static int room_for(volatile __global int *used, const int count, const int capacity)
{
    for (;;) {
        const int before = atomic_or(used, 0);
        if (count > capacity - before)
            return -1;
        if (atomic_cmpxchg(used, before, before + count) == before)
            return before;
    }
}

/* Return whether an arc leads from a reached vertex to one whose distance no value can hold. */
static bool leads_beyond(__global const long *first, __global const int *heads,
                         const memory_t memory, const int n)
{
    for (int word = 0; word < words_of(n); word++)
        for (ulong bits = memory.bits[word]; bits != 0; bits &= ~(LEFTMOST >> clz(bits))) {
            const int u = 64 * word + (int)clz(bits);
            for (long a = first[u]; a < first[u + 1]; a++)
                if (memory.nodes[heads[a]].cost == PYAPSP_INFINITY)
                    return true;
        }
    return false;
}

__kernel GROUP void within(__global const long *first, __global const int *heads,
                           __global const value_t *weights, __global const int *sources,
                           const int count, const int n, const value_t farthest, const int checks,
                           __global node_t *nodes, __global entry_t *heaps, __global ulong *marks,
                           volatile __global int *state, __global int *rows,
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
        int size = offer_path(memory, 0, sources[row], 0, NONE), reached = 0;
        bool beyond = false;
        while (size > 0) {
            const int u = take(memory, size--);
            const value_t cost = memory.nodes[u].cost;
            reached++;
            for (long a = first[u]; a < first[u + 1]; a++) {
                const value_t offer = cost + weights[a];
                if (offer <= farthest)
                    size = offer_path(memory, size, heads[a], offer, u);
                else
                    beyond = true;
            }
        }
        if (checks && beyond && leads_beyond(first, heads, memory, n))
            state[LOST] = 1;
        int place = room_for(state + USED, reached, capacity);
        rows[2 * row] = place;
        rows[2 * row + 1] = reached;
        if (place < 0)
            state[FULL] = 1;
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
