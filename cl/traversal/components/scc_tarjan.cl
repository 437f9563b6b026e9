/* scc_tarjan: strongly connected components by one depth-first search, by one work-item.
 *
 * Purpose   A search gives each vertex an index when it meets it. `low` of a vertex is the smallest
 *           index that is known to be reached from it, among vertices whose component is not
 *           complete. If `low` of a vertex equals its own index when the search leaves it, the
 *           vertex is the root of a component. The component has the root and all vertices that the
 *           search has left since it met the root and that are not yet in a component.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. words has a uint
 *           for each vertex, so that one read shows the state of the end of an arc:
 *
 *             0               not met
 *             1 .. n          its index
 *             SETTLED + c     in component c; not below any `low`, so a minimum ignores it
 *
 *           path: the vertices that the search is in, with the next arc and `low` of each. left:
 *           the vertices that were left, and are in no component yet. A component of one vertex is
 *           never there. n entries each. In the end left has the number of each component in the
 *           order of the smallest vertices.
 *
 *             path   3 | 8 | 1 | 5 | . .        left   7 | 2 | . .
 *                            ^ from 5 the search goes back to 1, with the smaller low
 *
 * Parameters  PYAPSP_AHEAD  0   arcs of a vertex whose ends are prefetched when the vertex is met;
 *                               0 without Clang's builtin for it
 *
 * Cost      One launch of one work-item: O(n + m), with one access at random for each arc.
 *
 * Source    R. Tarjan, SIAM J. Comput. 1, 1972, doi:10.1137/0201010, with the stacks of D. J.
 *           Pearce, IPL 116, 2016, doi:10.1016/j.ipl.2015.08.010.
 */
#include "common/group.h"

#define SETTLED 0x80000000u

/* A vertex that the search is in. */
typedef struct {
    long next; /* the next arc */
    int vertex;
    uint low;
} place_t;

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
scc_tarjan(__global const long *first, __global const int *heads, __global uint *words,
           __global place_t *path, __global int *left, const int n)
{
    for (int v = 0; v < n; v++)
        words[v] = 0;
    uint met = 0, components = 0;
    int waiting = 0;
    for (int start = 0; start < n; start++) {
        if (words[start] != 0)
            continue;
        int depth = 0, v = start;
        uint low = words[v] = ++met;
        long arc = first[v], end = first[v + 1];
        while (1) {
            int w = v;
            for (; arc < end; arc++) {
                const uint word = words[heads[arc]];
                if (word == 0) {
                    w = heads[arc++];
                    break;
                }
                low = min(low, word);
            }
            if (w != v) {
                const place_t place = {arc, v, low};
                path[depth++] = place;
                v = w;
                low = words[v] = ++met;
                arc = first[v];
                end = first[v + 1];
                for (int ahead = 0; ahead < PYAPSP_AHEAD && arc + ahead < end; ahead++)
                    PREFETCH(&words[heads[arc + ahead]]);
                continue;
            }
            const uint own = words[v];
            if (low == own) {
                const uint settled = SETTLED + components++;
                words[v] = settled;
                while (waiting > 0 && words[left[waiting - 1]] > own &&
                       words[left[waiting - 1]] < SETTLED)
                    words[left[--waiting]] = settled;
            } else {
                left[waiting++] = v;
            }
            if (depth == 0)
                break;
            const place_t place = path[--depth];
            v = place.vertex;
            arc = place.next;
            end = first[v + 1];
            /* the low of a root is larger than that of the vertex before it */
            low = min(low, place.low);
        }
    }
    /* numbers of components, in the order of their smallest vertices */
    for (uint c = 0; c < components; c++)
        left[c] = -1;
    int count = 0;
    for (int v = 0; v < n; v++) {
        const uint component = words[v] - SETTLED;
        if (left[component] < 0)
            left[component] = count++;
        words[v] = left[component];
    }
}
