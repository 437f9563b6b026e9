/* The edges that have too few triangles for a truss, and those that are left.
 *
 * marks[e] is ALIVE, or the step in which the edge e was removed. Each edge that is left and has less
 * than `least` triangles gets the mark `step` and the trussness `value`, and is put on the list;
 * *count, 0 before, is their number.
 */
#ifndef TRUSSES_WEAK_H
#define TRUSSES_WEAK_H
#include "traversal/partitioning/owners.h"
#include "trusses/lists.h"
#define ALIVE INT_MAX

__kernel GROUP void weak_edges(INPUT supports, __global int *marks, OUTPUT values, OUTPUT list,
                               volatile __global int *count, const int edges, const int least,
                               const int step, const int value)
{
    __local int slots[2];
    for (int low = get_group_id(0) * PYAPSP_GROUP; low < edges; low += get_global_size(0)) {
        const int e = low + get_local_id(0);
        const int is_weak = e < edges && marks[e] == ALIVE && supports[e] < least;
        const int place = place_in_list(is_weak, count, slots);
        if (is_weak) {
            marks[e] = step;
            values[e] = value;
            list[place] = e;
        }
    }
}

/* The edges that are left, in any order; *count is 0 before. */
__kernel GROUP void edges_left(INPUT marks, OUTPUT list, volatile __global int *count,
                               const int edges)
{
    __local int slots[2];
    for (int low = get_group_id(0) * PYAPSP_GROUP; low < edges; low += get_global_size(0)) {
        const int e = low + get_local_id(0);
        const int is_left = e < edges && marks[e] == ALIVE;
        const int place = place_in_list(is_left, count, slots);
        if (is_left)
            list[place] = e;
    }
}

/* The ends of the edges of a list. */
__kernel GROUP void edges_ends(INPUT list, INPUT tails, INPUT heads, OUTPUT from, OUTPUT to,
                               const int count)
{
    for (int i = PLACE_OF_ALL; i < count; i += get_global_size(0)) {
        from[i] = tails[list[i]];
        to[i] = heads[list[i]];
    }
}

#endif /* TRUSSES_WEAK_H */
