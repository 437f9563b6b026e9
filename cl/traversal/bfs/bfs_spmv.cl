/* bfs_spmv: breadth-first search as products of a sparse matrix with a vector.
 *
 * Purpose   Levels, where every arc has length 1. With x the vertices of the last level as a vector
 *           of 0 and 1, A^T x over (or, and) has a 1 for each vertex that an arc from them enters.
 *           Those without a level are the next level. A launch is one product, over all rows.
 *
 * Layout    The rows of A^T: tails[first[v] .. first[v + 1]] are the tails of the arcs that enter v.
 *           x is a row of marks; levels, marks and last: see levels.h. LANES work-items share a row
 *           of the matrix, and each stops at its first 1.
 *
 *               A^T    0 1 0 1     x  0      y  1
 *                      1 0 0 0        0         0
 *                      0 1 0 0        1         0
 *                      0 0 1 0        1         1
 *
 * Parameters  those of levels.h, and
 *             PYAPSP_LANES  1   work-items of a row
 *
 * Cost      A launch for each level, which reads up to m entries: O(m D) for D levels. At most
 *           LANES atomic operations for a row that has a 1.
 *
 * Source    Y. Deng, B. D. Wang, S. Mu, taming irregular EDA applications on GPUs, ICCAD 2009, pages
 *           539-546, as in F. Busato's thesis, 2018, section 4.3. That a row stops at its first 1: ours.
 */
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#include "traversal/bfs/levels.h"

__kernel GROUP void bfs_spmv(__global const long *first, __global const int *tails,
                             __global int *levels, __global int *marks, __global int *parents,
                             __global int *last, const int n, const int level)
{
    __local int some;
    const size_t v = get_global_id(0) / PYAPSP_LANES;
    const int lane = get_global_id(0) % PYAPSP_LANES;
    __global const int *x = FOUND_BEFORE(marks, n, level);
    if (get_local_id(0) == 0)
        some = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int found = 0;
    if (v < (size_t)n) {
        const long to = first[v + 1];
        long a = first[v] + lane;
        while (a < to && x[tails[a]] != level - 1)
            a += PYAPSP_LANES;
        if (a < to)
            found = claim(v, tails[a], level, levels, FOUND_NOW(marks, n, level), parents);
    }
    if (found)
        atomic_or(&some, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && some)
        atomic_max(last, level);
}
