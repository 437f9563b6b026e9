/* scc_forward_backward: strongly connected components by forward-backward search with trimming.
 *
 * Purpose   From a pivot p, the vertices that a forward search and a backward search both reach are
 *           the component of p. Every other component is completely in one of three parts: reached
 *           forward only, backward only, or not at all. A round finds a component in each remaining
 *           part, and divides the rest of the part into three. Before a round, trimming removes
 *           vertices that no arc enters, or no arc leaves, within their part: each is a component
 *           of one vertex.
 *
 * Layout    words: an int for each vertex, the number of its part while it is active; afterwards
 *           -1 - r, where r is the vertex that stands for its component. An arc counts while the
 *           words of its ends are equal. Parts of a pivot p have the numbers 3 p (not reached),
 *           3 p + 1 (forward only) and 3 p + 2 (backward only); the first part of all is 3 n. A
 *           vertex is a pivot at most once, so no number is used twice.
 *
 *               round 1                 round 2                          words
 *               3n: pivot p    ->       p's component                    -1 - p
 *                                       3p: pivot q          ->          ...
 *                                       3p + 1: pivot r      ->
 *                                       3p + 2: pivot s      ->
 *
 *           pivots: an int for each part number, 3 n + 1, all -1 at the beginning.
 *           stamps: two buffers of (forward, backward) for each vertex, -1 if a search has not
 *           reached it. Level numbers continue through all rounds. Vertices found on an even level
 *           are in the first buffer, those on an odd level in the second: a launch reads the
 *           previous level from one buffer and writes the next level to the other.
 *
 *           The arcs that leave v: heads[first[v] .. first[v + 1]]; those that enter it:
 *           tails[before[v] .. before[v + 1]].
 *
 *           state: what the host reads: the last turn of trimming that removed a vertex, the
 *           number of active vertices, the last level that has vertices.
 *
 * Parameters  PYAPSP_GROUP  64   work-items of a group
 *             PYAPSP_WIDTH   1   work-items that share the arcs of a vertex in a search: divides it
 *
 * Cost      A turn of trimming: n steps, and the arcs of each vertex up to the first that counts. A
 *           round: each arc at most twice, and n steps for each level of the deeper search. For c
 *           components there are c rounds in the worst case, and about log c in the best.
 *
 * Source    L. Fleischer, B. Hendrickson, A. Pinar, on identifying strongly connected components in
 *           parallel, IPDPS workshops 2000, doi:10.1007/3-540-45591-4_68 (forward-backward);
 *           W. McLendon III et al., finding strongly connected components in distributed graphs,
 *           JPDC 65, 2005, doi:10.1016/j.jpdc.2005.03.007 (trimming); J. Barnat et al., IPDPS 2011,
 *           doi:10.1109/IPDPS.2011.45 (all parts at once). Both searches in one launch, and levels
 *           in two buffers: ours.
 */
#include "common/group_size.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1
#endif

#define NONE (-1)

/* Places in state. */
#define TRIMMED 0
#define ACTIVE 1
#define REACHED 2

/* Whether an arc of v counts, other than one from v to itself. */
static inline int has_arc(__global const long *first, __global const int *ends,
                          __global const int *words, const int v, const int part)
{
    const long to = first[v + 1];
    for (long a = first[v]; a < to; a++) {
        const int w = ends[a];
        if (w != v && words[w] == part)
            return 1;
    }
    return 0;
}

/* One turn of trimming: a work-item for each vertex. The result depends only on the words before
 * the launch. */
__kernel GROUP void scc_trim(__global const long *first, __global const int *heads,
                             __global const long *before, __global const int *tails,
                             __global const int *words, __global int *trimmed,
                             __global int *state, const int n, const int turn)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    int word = words[v];
    if (word >= 0 && !(has_arc(first, heads, words, v, word) &&
                       has_arc(before, tails, words, v, word))) {
        word = -1 - v;
        atomic_max(&state[TRIMMED], turn);
    }
    trimmed[v] = word;
}

/* A pseudo-random order of vertices. The factor is odd, so that no two vertices have the same
 * place. */
#define PLACE(v) ((uint)(v) * 2654435769u)

/* Whether v makes a better pivot than u: a vertex with many arcs in and out is likely in a large
 * component. Ties are broken in the pseudo-random order: in the order of vertices, the pivot of a
 * chain would be at its end. */
static inline int better(__global const long *first, __global const long *before, const int v,
                         const int u)
{
    const ulong of_v = (ulong)(first[v + 1] - first[v]) * (ulong)(before[v + 1] - before[v]);
    const ulong of_u = (ulong)(first[u + 1] - first[u]) * (ulong)(before[u + 1] - before[u]);
    return of_v > of_u || (of_v == of_u && PLACE(v) > PLACE(u));
}

/* Propose v as the pivot of a part. */
static inline void propose(__global const long *first, __global const long *before,
                           __global int *pivot, const int v)
{
    int held = NONE;
    while (held == NONE || better(first, before, v, held)) {
        const int found = atomic_cmpxchg(pivot, held, v);
        if (found == held)
            return;
        held = found;
    }
}

/* Choose the best vertex of each part as its pivot. Each work-item reads many vertices, and
 * proposes the best one of each run of vertices in the same part. So there are few atomic
 * operations on the same pivot. */
__kernel GROUP void scc_elect(__global const long *first, __global const long *before,
                              __global const int *words, __global int *pivots,
                              __global int *state, const int n)
{
    int part = NONE, best = NONE, active = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const int word = words[v];
        if (word < 0)
            continue;
        active++;
        if (word != part) {
            if (part != NONE)
                propose(first, before, &pivots[part], best);
            part = word;
            best = v;
        } else if (better(first, before, v, best)) {
            best = v;
        }
    }
    if (part != NONE) {
        propose(first, before, &pivots[part], best);
        atomic_add(&state[ACTIVE], active);
    }
}

/* Begin the searches of a round at its pivots, on a level: a work-item for each vertex. */
__kernel GROUP void scc_begin(__global const int *words, __global const int *pivots,
                              __global int2 *now, __global int2 *next, const int n, const int level)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    const int part = words[v];
    now[v] = part >= 0 && pivots[part] == v ? level : NONE;
    next[v] = NONE;
}

/* Stamp the ends of some arcs of a vertex, in one direction (0 forward, 1 backward). Return whether
 * one was stamped. */
static inline int stamp(const long from, const long to, __global const int *ends,
                        __global const int *words, __global const int *now, __global int *next,
                        const int part, const int level, const int direction)
{
    int found = 0;
    for (long a = from; a < to; a += PYAPSP_WIDTH) {
        const int w = ends[a];
        const size_t place = 2 * (size_t)w + direction;
        if (words[w] == part && now[place] == NONE)
            found |= atomic_cmpxchg(&next[place], NONE, level) == NONE;
    }
    return found;
}

/* Search from the vertices of a level to the next level, in both directions. WIDTH work-items share
 * the arcs of a vertex. */
__kernel GROUP void scc_reach(__global const long *first, __global const int *heads,
                              __global const long *before, __global const int *tails,
                              __global const int *words, __global const int *now,
                              __global int *next, __global int *state, const int n, const int level)
{
    const int v = get_global_id(0) / PYAPSP_WIDTH;
    const int lane = get_global_id(0) % PYAPSP_WIDTH;
    if (v >= n)
        return;
    int found = 0;
    if (now[2 * (size_t)v] == level)
        found |= stamp(first[v] + lane, first[v + 1], heads, words, now, next, words[v], level + 1, 0);
    if (now[2 * (size_t)v + 1] == level)
        found |=
            stamp(before[v] + lane, before[v + 1], tails, words, now, next, words[v], level + 1, 1);
    if (found)
        atomic_max(&state[REACHED], level + 1);
}

/* Remove the components of the pivots, and divide each part: a work-item for each vertex. */
__kernel GROUP void scc_divide(__global int *words, __global const int *pivots,
                               __global const int2 *even, __global const int2 *odd,
                               __global int *state, const int n)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    if (v == 0)
        state[ACTIVE] = 0;
    const int part = words[v];
    if (part < 0)
        return;
    const int pivot = pivots[part];
    const int2 reached = max(even[v], odd[v]) != NONE;
    if (reached.x && reached.y)
        words[v] = -1 - pivot;
    else
        words[v] = 3 * pivot + (reached.x ? 1 : reached.y ? 2 : 0);
}
