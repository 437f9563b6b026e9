/* The edges that have too few triangles for a truss.
 *
 * marks[e] is ALIVE, or the step in which the edge e was removed. Each edge that is left and has less
 * than `least` triangles gets the mark `step` and the trussness `value`, and is put on the list;
 * *count, 0 before, is their number.
 */
#ifndef TRUSSES_WEAK_H
#define TRUSSES_WEAK_H
#include "traversal/partitioning/owners.h"
#define ALIVE INT_MAX

__kernel GROUP void weak_edges(INPUT supports, __global int *marks, OUTPUT values, OUTPUT list,
                               volatile __global int *count, const int edges, const int least,
                               const int step, const int value)
{
    for (size_t e = PLACE_OF_ALL; e < (size_t)edges; e += get_global_size(0))
        if (marks[e] == ALIVE && supports[e] < least) {
            marks[e] = step;
            values[e] = value;
            list[atomic_inc(count)] = e;
        }
}

#endif /* TRUSSES_WEAK_H */
