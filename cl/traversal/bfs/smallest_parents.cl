/* smallest_parents: of all parents that a vertex can have, the one with the smallest number.
 *
 * Purpose   A breadth-first search on many work-items gives a vertex the parent that came first, so
 *           that the same search can end with other parents. After the search these kernels replace
 *           each parent by the smallest vertex u of the level before with an arc (u, v). So parents
 *           depend on the graph alone, and are the same with every method.
 *
 * Layout    levels and parents: n ints, as the search left them; vertices that are not reached have
 *           the level INFINITE and no parent. The arcs are there in the layout of the search:
 *
 *           parents_of_rows      first and heads: the arcs that leave the vertices start ..
 *                                start + rows. Row i is heads[first[i * stride]] to
 *                                heads[first[i * stride + 1]], so that a stride of 2 means two
 *                                offsets for each row.
 *           parents_of_arcs      tails and heads, m of each
 *           parents_of_entering  entering and tails: the arcs that enter each vertex, by tail
 *
 *           Parents only fall, by atomics. As an unsigned number, "no parent" is larger than any
 *           vertex.
 *
 * Parameters  PYAPSP_LANES   1     work-items of a vertex, a divisor of the group
 *             PYAPSP_OFFSET  long  type of first and entering: int or long
 *           and those of traversal/bfs/results.h.
 *
 * Cost      One pass over the arcs of the vertices that were reached: a level for each, and an
 *           atomic for each possible parent. With entering arcs: those up to the first parent.
 *
 * Source    Ours.
 */
#include "common/arc_types.h"
#include "traversal/bfs/results.h"
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

/* Make u the parent of v, if it is smaller. */
static inline void lower(volatile __global int *parents, const int v, const int u)
{
    atomic_min((volatile __global uint *)&parents[v], (uint)u);
}

__kernel GROUP void parents_of_rows(__global const offset_t *first, __global const int *heads,
                                    __global const int *levels, volatile __global int *parents,
                                    const int start, const int rows, const int stride)
{
    const size_t row = get_global_id(0) / PYAPSP_LANES;
    if (row >= (size_t)rows)
        return;
    const int u = start + (int)row, level = levels[u];
    if (level >= INFINITE)
        return;
    const offset_t end = first[row * stride + 1];
    offset_t a = first[row * stride] + (offset_t)(get_global_id(0) % PYAPSP_LANES);
    for (; a < end; a += PYAPSP_LANES)
        if (levels[heads[a]] == level + 1)
            lower(parents, heads[a], u);
}

__kernel GROUP void parents_of_arcs(__global const int *tails, __global const int *heads,
                                    __global const int *levels, volatile __global int *parents,
                                    const long m)
{
    const size_t a = get_global_id(0);
    if (a < (size_t)m && levels[tails[a]] < INFINITE && levels[heads[a]] == levels[tails[a]] + 1)
        lower(parents, heads[a], tails[a]);
}

__kernel GROUP void parents_of_entering(__global const offset_t *entering,
                                        __global const int *tails, __global const int *levels,
                                        __global int *parents, const int n)
{
    const size_t v = get_global_id(0);
    const int before = levels[v < (size_t)n ? v : 0] - 1;
    if (v >= (size_t)n || before < 0 || before >= INFINITE - 1)
        return;
    offset_t a = entering[v];
    while (tails[a] < parents[v] && levels[tails[a]] != before)
        a++; /* at the latest it ends at the parent */
    parents[v] = tails[a];
}
