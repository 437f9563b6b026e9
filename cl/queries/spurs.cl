/* spurs: shortest paths that leave another path, as Yen's algorithm needs them.
 *
 * Purpose   The k shortest paths without loops. A new path goes along a known one up to a vertex, the
 *           spur, and from there by a shortest path that avoids the vertices before, and does not
 *           begin as a known path does. All spurs of all pairs of vertices are searched together.
 *
 * Layout    a search i has the parts 2 i and 2 i + 1 of `lists`, whose bounds are in `bounds`:
 *
 *             lists   before before before | next next |   before ...
 *                     avoided vertices       first vertices that known paths have
 *
 *           ends    spur and target of each search
 *           rows    place and length of each path in `paths`: 0 if there is none, place -1 if there was
 *                   no room
 *           wanted  for each work-item a bit for each vertex, as in queries/search.h
 *
 * Parameters  those of queries/search.h, with PYAPSP_PREDECESSORS 1 and PYAPSP_BANNED 1
 *
 * Cost      that of queries/search.h for each search.
 *
 * Source    J. Y. Yen, Management Science 17(11), 1971, doi:10.1287/mnsc.17.11.712; E. L. Lawler,
 *           Management Science 18(7), 1972, doi:10.1287/mnsc.18.7.401.
 */
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 1
#endif
#ifndef PYAPSP_BANNED
#define PYAPSP_BANNED 1
#endif

#include "queries/search.h"

__kernel GROUP void find_spurs(ARCS_ARGUMENTS, __global const int *ends, const int searches,
                               __global const int *bounds, __global const int *lists,
                               SEARCH_ARGUMENTS, __global ulong *wanted,
                               volatile __global int *state, __global int *rows,
                               __global int *paths, const int capacity)
{
    const memory_t memory = memory_of(nodes, heaps, marks, get_global_id(0), n);
    wanted += get_global_id(0) * words_of(n);
    EACH_SEARCH(search, searches) {
        const int begin = bounds[2 * search], middle = bounds[2 * search + 1];
        const int target = ends[2 * search + 1];
        for (int i = begin; i < middle; i++)
            memory.nodes[lists[i]].cost = 0;
        wanted[target / 64] = LEFTMOST >> (target % 64);
        search_from(ends[2 * search], first, heads, weights, n, farthest, checks, memory, wanted,
                    1, state, lists + middle, bounds[2 * search + 2] - middle);
        wanted[target / 64] = 0;
        write_path(memory, target, state + USED, rows + 2 * search, paths, capacity);
        for (int i = begin; i < middle; i++)
            memory.nodes[lists[i]].cost = PYAPSP_INFINITY;
        FOR_REACHED(memory, n, v)
            memory.nodes[v].cost = PYAPSP_INFINITY;
        END_REACHED
    }
}
