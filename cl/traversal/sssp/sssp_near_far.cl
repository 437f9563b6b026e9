/* sssp_near_far: shortest paths from one source, with a near and a far list of vertices.
 *
 * Purpose   Near vertices update their neighbours in rounds, see piles.h. When the near list is
 *           empty, the threshold is set to delta above the smallest waiting distance, and the far
 *           list is split.
 *
 * Layout    That of piles.h:
 *             split    far[day] -> near[now], far[1 - day]
 *
 * Parameters  those of piles.h
 *
 * Cost      A vertex offers a distance little more than once if delta is about the mean weight.
 *           Rounds: about (longest distance / delta) times the number of arcs on a path of length
 *           delta. Each rise of the threshold reads the far list twice.
 *
 * Source    that of piles.h: the near-far pile
 */
#include "traversal/sssp/piles.h"

/* A work-item for each far vertex. One at most at the old threshold has updated its neighbours as a
 * near vertex since it was put here. */
__kernel GROUP void near_far_split(__global const word_t *words, __global int *lists,
                                   __global int *marks, __global int *sizes, const int n,
                                   const int now, const int day, const int count,
                                   const value_t limit, const value_t raised)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)count)
        return;
    const int v = LIST(lists, n, FAR_LIST(day))[i];
    const value_t own = VALUE_IN(words[v]);
    const int list = own <= raised ? NEAR_LIST(now) : FAR_LIST(1 - day);
    marks[v] = own <= limit ? 0 : own <= raised ? NEAR : FAR;
    if (own > limit)
        LIST(lists, n, list)[atomic_inc(&sizes[list])] = v;
}
