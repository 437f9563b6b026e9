/* Piles: vertices whose distance was lowered, near and far, and the rounds of the near ones.
 *
 * Purpose   Vertices whose distance was lowered wait in lists until they update their neighbours:
 *           near, if the distance is at most a threshold, else far. In a round all near vertices
 *           offer their neighbours the path through themselves, in launches over the whole device.
 *           When the near list is empty, a file that includes this one raises the threshold and
 *           takes near vertices from the far list. Weights must not be negative.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, with weights.
 *             words  n      the distances, see words.h
 *             told   n      distances of the near vertices at the start of a round, in their order
 *             lists  4 x n  ints: two near lists and two far lists, used alternately
 *             marks  n      ints, which lists a vertex is in: bits NEAR and FAR
 *             sizes  4      ints, how long the lists are
 *
 *             round:   settle   near[now] -> told           relax   told -> words, near[1 - now], far
 *             least    far[day] -> minima, for the host to find the smallest of
 *
 *           A vertex is at most once in a near and once in a far list. LANES work-items share the
 *           arcs of a near vertex. Without 64-bit atomics a wide word is lowered in two launches.
 *
 * Parameters  those of all_pairs/sparse/words.h, common/types.h with PYAPSP_WIDTH 1 and common/semiring.h, and
 *             PYAPSP_GROUP  64  work-items of a group, a power of two
 *             PYAPSP_LANES   1  work-items of a near vertex
 *
 * Cost      A vertex offers a distance once each time that it is lowered below the current
 *           threshold. Each time an arc costs one atomic minimum.
 *
 * Source    A. Davidson, S. Baxter, M. Garland, J. D. Owens, work-efficient parallel GPU methods for
 *           single-source shortest paths, IPDPS 2014, doi:10.1109/IPDPS.2014.45. There duplicates
 *           are removed in a separate pass, and arcs are distributed by merge paths.
 */
#ifndef SSSP_PILES_H
#define SSSP_PILES_H
#include "common/group_size.h"
#include "all_pairs/sparse/words.h"
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#define NEAR 1
#define FAR 2

/* The index of list 0 or 1 of either kind, and that of its size. */
#define NEAR_LIST(turn) (turn)
#define FAR_LIST(turn) (2 + (turn))
#define LIST(lists, n, list) ((lists) + (size_t)(list) * (n))

__kernel GROUP void piles_start(__global word_t *words, __global int *lists,
                                   __global int *marks, __global int *sizes, const int source,
                                   const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    words[v] = v == (size_t)source ? WORD_OF((value_t)0) : WORD_OF((value_t)PYAPSP_INFINITY);
    marks[v] = v == (size_t)source ? NEAR : 0;
    if (v != (size_t)source)
        return;
    LIST(lists, n, NEAR_LIST(0))[0] = source;
    sizes[NEAR_LIST(0)] = 1;
    sizes[NEAR_LIST(1)] = sizes[FAR_LIST(0)] = sizes[FAR_LIST(1)] = 0;
}

/* A work-item for each near vertex. After this it may be put into a near list again. */
__kernel GROUP void piles_settle(__global const word_t *words, __global value_t *told,
                                    __global const int *lists, __global int *marks,
                                    __global int *sizes, const int n, const int now,
                                    const int count)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)count)
        return;
    const int u = LIST(lists, n, NEAR_LIST(now))[i];
    told[i] = VALUE_IN(words[u]);
    marks[u] &= ~NEAR;
    if (i == 0)
        sizes[NEAR_LIST(1 - now)] = 0;
}

/* LANES work-items for each near vertex. */
__kernel GROUP void piles_relax(__global const long *first, __global const int *heads,
                                   __global const value_t *weights, __global word_t *words,
                                   __global const value_t *told, __global int *lists,
                                   __global int *marks, __global int *sizes, const int n,
                                   const int now, const int day, const int count,
                                   const value_t limit, const int pass)
{
    const size_t i = get_global_id(0) / PYAPSP_LANES;
    const int lane = get_global_id(0) % PYAPSP_LANES;
    if (i >= (size_t)count)
        return;
    const int u = LIST(lists, n, NEAR_LIST(now))[i];
    const value_t distance = told[i];
    for (long a = first[u] + lane; a < first[u + 1]; a += PYAPSP_LANES) {
        const int v = heads[a];
        const value_t offer = extend(distance, weights[a]);
        if (!lower(&words[v], offer, pass))
            continue;
        const int mark = offer <= limit ? NEAR : FAR;
        const int list = mark == NEAR ? NEAR_LIST(1 - now) : FAR_LIST(day);
        if (!(atomic_or(&marks[v], mark) & mark))
            LIST(lists, n, list)[atomic_inc(&sizes[list])] = v;
    }
}

/* The smallest distance above the threshold in the far list, one for each group. */
__kernel GROUP void piles_least(__global const word_t *words, __global const int *lists,
                                   __global int *sizes, __global value_t *minima, const int n,
                                   const int day, const int count, const value_t limit)
{
    __local value_t near[PYAPSP_GROUP];
    const int item = get_local_id(0);
    value_t least = PYAPSP_INFINITY;
    for (size_t i = get_global_id(0); i < (size_t)count; i += get_global_size(0)) {
        const value_t own = VALUE_IN(words[LIST(lists, n, FAR_LIST(day))[i]]);
        if (own > limit && own < least)
            least = own;
    }
    near[item] = least;
    for (int half_of = PYAPSP_GROUP / 2; half_of > 0; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_of && near[item + half_of] < near[item])
            near[item] = near[item + half_of];
    }
    if (item == 0)
        minima[get_group_id(0)] = near[0];
    if (get_global_id(0) == 0)
        sizes[FAR_LIST(1 - day)] = 0;
}
#endif
