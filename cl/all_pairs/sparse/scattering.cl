/* scattering: shortest paths from a block of sources, by scattering changed costs.
 *
 * Purpose   The Bellman-Ford iteration, for N sources at once. In each round every vertex whose
 *           cost has changed offers its neighbours the path through itself (scatter). Then every
 *           vertex takes the smallest offer, and is marked if that lowered its cost (check). When a
 *           round marks no vertex, the costs are the distances.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, with weights.
 *           modified, costs and updates have N entries for each vertex, those of the N sources side
 *           by side, so that neighbouring work-items read neighbouring entries:
 *
 *                          sources s              work-group: B vertices x N sources
 *                        0 1 2 ... N-1
 *             vertex 0 | c c c c c c |  \         a work-item (v, s) owns one entry of each array;
 *             vertex 1 | c c c c c c |   > B = 2  the N work-items of a vertex need the same arcs
 *             vertex 2 | c c c c c c |
 *
 *           updates are words, see words.h. With PYAPSP_SHARED the group copies the arcs of its
 *           vertices into local memory, N arcs of each vertex at a time; vertices that are modified
 *           for no source are left out. All work-items take part in all rounds of copying, because
 *           of the barriers.
 *
 *           N = 1 and SHARED = 0 is the method of Harish and Narayanan, one source after the other.
 *
 * Parameters  those of all_pairs/sparse/words.h, common/types.h with PYAPSP_WIDTH 1 and common/semiring.h, and
 *             PYAPSP_SOURCES  32  N
 *             PYAPSP_VERTICES  4  B
 *             PYAPSP_SHARED    1  1: arcs through local memory
 *
 * Cost      Two launches for each round. One round more than the largest number of arcs on a
 *           shortest path from any of the N sources. Device memory (3 N + 1) n + 2 m words; local
 *           memory 2 B N words. At most m N atomic minima a round.
 *
 * Source    P. Harish and P. J. Narayanan, large graph algorithms on the GPU, in LNCS 4873, HiPC
 *           2007, doi:10.1007/978-3-540-77220-0_21, as in F. Okuyama's thesis, 2013, section 3.3.2,
 *           figures 3.3 to 3.5; N sources and local memory: section 3.4, figures 3.6 to 3.9. There
 *           N is 32, the lock-step width, so that the copy needs no barrier, and the listing copies
 *           the first N arcs of a vertex only.
 */
#ifndef PYAPSP_SOURCES
#define PYAPSP_SOURCES 32
#endif
#ifndef PYAPSP_VERTICES
#define PYAPSP_VERTICES 4
#endif
#ifndef PYAPSP_SHARED
#define PYAPSP_SHARED 1
#endif

#include "all_pairs/sparse/words.h"

#define N PYAPSP_SOURCES
#define B PYAPSP_VERTICES
#define GROUP __attribute__((reqd_work_group_size(PYAPSP_SOURCES, PYAPSP_VERTICES, 1)))
/* All groups are in the first dimension: drivers limit the others. */
#define VERTEX (get_group_id(0) * B + get_local_id(1))

/* sources[s] is -1 where the block has fewer than N. */
__kernel GROUP void scattering_start(__global const int *sources, __global int *modified,
                               __global value_t *costs, __global word_t *updates, const int n)
{
    const int s = get_local_id(0);
    const int v = VERTEX;
    if (v >= n)
        return;
    const size_t own = (size_t)v * N + s;
    const int is_source = sources[s] == v;
    const value_t cost = is_source ? (value_t)0 : (value_t)PYAPSP_INFINITY;
    modified[own] = is_source;
    costs[own] = cost;
    updates[own] = WORD_OF(cost);
}

/* Also clears the flag that scattering_check sets. */
__kernel GROUP void scattering_scatter(__global const long *first, __global const int *heads,
                                 __global const value_t *weights, __global int *modified,
                                 __global const value_t *costs, __global word_t *updates,
                                 __global int *changed, const int n, const int pass)
{
    const int s = get_local_id(0);
    const int b = get_local_id(1);
    const int v = VERTEX;
    const size_t own = (size_t)v * N + s;
    const int active = v < n && modified[own];
    const value_t cost = active ? costs[own] : (value_t)0;
    if (active && pass == PASSES - 1)
        modified[own] = 0;
    if (v == 0 && s == 0)
        *changed = 0;
#if PYAPSP_SHARED
    __local long from[B], to[B];
    __local int heads_near[B][N];
    __local value_t weights_near[B][N];
    __local int wanted[B];
    __local int longest;
    if (s == 0) {
        from[b] = first[min(v, n)];
        to[b] = first[min(v + 1, n)];
        wanted[b] = 0;
        if (b == 0)
            longest = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (active) {
        atomic_or(&wanted[b], 1);
        atomic_max(&longest, (int)(to[b] - from[b]));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int rounds = (longest + N - 1) / N;
    for (int round = 0; round < rounds; round++) {
        const long start = from[b] + (long)round * N;
        const int count = (int)min((long)N, to[b] - start);
        if (wanted[b] && s < count) {
            heads_near[b][s] = heads[start + s];
            weights_near[b][s] = weights[start + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (active)
            for (int i = 0; i < count; i++)
                lower(&updates[(size_t)heads_near[b][i] * N + s], extend(cost, weights_near[b][i]),
                      pass);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    if (active)
        for (long a = first[v]; a < first[v + 1]; a++)
            lower(&updates[(size_t)heads[a] * N + s], extend(cost, weights[a]), pass);
#endif
}

/* *changed: whether a cost was lowered; gathered in local memory first, one atomic for each group. */
__kernel GROUP void scattering_check(__global int *modified, __global value_t *costs,
                               __global const word_t *updates, __global int *changed, const int n)
{
    __local int lowered;
    const int v = VERTEX;
    const size_t own = (size_t)v * N + get_local_id(0);
    const int leader = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (leader)
        lowered = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v < n) {
        const value_t offer = VALUE_IN(updates[own]);
        if (offer < costs[own]) {
            costs[own] = offer;
            modified[own] = 1;
            atomic_or(&lowered, 1);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (leader && lowered)
        atomic_or(changed, 1);
}
