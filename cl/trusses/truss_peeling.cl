/* truss_peeling: the trussness of every edge, by removing edges of least support round by round.
 *
 * Purpose   The support of an edge is the number of triangles that it is in. Level L removes the
 *           edges of support L, and those whose support falls to L because of it, in rounds. They
 *           are in the (L + 2)-truss, and in no higher one. For one truss, a single level removes
 *           all edges of support k - 3 or less. Only the triangles of removed edges are visited;
 *           but if most edges are removed, peel_count counts the triangles of the others again.
 *
 *           A round has two launches, because no work-item may read a mark while another writes it:
 *           peel_settle marks the edges of the round, and peel_round decreases the supports of the
 *           remaining edges of their triangles. If several edges of a triangle are in the round,
 *           the one with the smallest number counts the triangle. The host enqueues several rounds,
 *           which may be empty, before it reads how many edges were removed.
 *
 * Layout    The rows have both arcs of each edge, with its number. The edge e = u-v in round 7, its
 *           neighbours w, and the marks of the other two edges (u-w, v-w):
 *
 *             w           3          5        8        9
 *             marks       -   -      4   -    7   -    7   7       -: ALIVE
 *             less by 1   u-w v-w    none     v-w      none        gone before; v-w if e < u-w
 *
 *           sizes[i] is the number of edges of the i-th of the enqueued rounds. Of two lists, one
 *           has the edges of a round, and the other gets those of the next one.
 *
 * Parameters  PYAPSP_GROUP  64  work-items of a group
 *             PYAPSP_WIDTH   8  lanes for an edge, which divides PYAPSP_GROUP
 *
 * Cost      For each edge once, the shorter of its two rows, with a search in the longer one that
 *           goes on from the last place: O(log of the distance). peel_least and peel_collect read
 *           all edges once for each level that has edges.
 *
 * Source    H. Kabir, K. Madduri, shared-memory graph truss decomposition, 2017,
 *           https://arxiv.org/abs/1707.02000. Rounds without a host, shorter rows and searches from
 *           the last place: ours.
 */
#include "trusses/lists.h"
#include "trusses/sought.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 8
#endif

#define ALIVE INT_MAX

/* The least support of the edges that are left, into *least, which is INT_MAX before. */
__kernel GROUP void peel_least(__global const int *supports, __global const int *marks,
                               __global int *least, const int edges)
{
    __local int lowest;
    if (get_local_id(0) == 0)
        lowest = INT_MAX;
    LOCAL_SYNC();
    int own = INT_MAX;
    for (int e = get_global_id(0); e < edges; e += get_global_size(0))
        if (marks[e] == ALIVE)
            own = min(own, supports[e]);
    if (own < INT_MAX)
        atomic_min(&lowest, own);
    LOCAL_SYNC();
    if (get_local_id(0) == 0 && lowest < INT_MAX)
        atomic_min(least, lowest);
}

/* The edges that are left and have at most this support. */
__kernel GROUP void peel_collect(__global const int *supports, __global const int *marks,
                                 __global int *list, volatile __global int *sizes,
                                 const int level, const int edges)
{
    __local int slots[2];
    for (int low = get_group_id(0) * PYAPSP_GROUP; low < edges; low += get_global_size(0)) {
        const int e = low + get_local_id(0);
        const int is_weak = e < edges && marks[e] == ALIVE && supports[e] <= level;
        const int place = place_in_list(is_weak, &sizes[0], slots);
        if (is_weak)
            list[place] = e;
    }
}

/* Mark the edges of a round, and write their trussness. */
__kernel GROUP void peel_settle(__global const int *list, __global const int *sizes, const int turn,
                                __global int *marks, __global int *trussness, const int round,
                                const int value)
{
    for (int i = get_global_id(0); i < sizes[turn]; i += get_global_size(0)) {
        marks[list[i]] = round;
        trussness[list[i]] = value;
    }
}

/* Count the triangles of the edges that are left, in rows that have no others; the supports are 0
 * before. tails and ends are the two vertices of edges. */
__kernel GROUP void peel_count(__global const int *first, __global const int *heads,
                               __global const int *tails, __global const int *ends,
                               __global const int *marks, volatile __global int *supports,
                               const int edges)
{
    const int lane = get_local_id(0) % PYAPSP_WIDTH, warps = get_global_size(0) / PYAPSP_WIDTH;
    for (int e = get_global_id(0) / PYAPSP_WIDTH; e < edges; e += warps) {
        if (marks[e] != ALIVE)
            continue;
        const int u = tails[e], v = ends[e];
        const int2 rows = shorter_first(first, u, v);
        const int x = rows.x, y = rows.y, last = first[x + 1], end = first[y + 1];
        int at = first[y], own = 0;
        for (int place = first[x] + lane; place < last && at < end; place += PYAPSP_WIDTH) {
            const int w = heads[place];
            at = sought(heads, at, end, w);
            own += at < end && heads[at] == w;
        }
        if (own > 0)
            atomic_add(&supports[e], own);
    }
}

/* One triangle less for an edge; if its support falls to the level, it is of the next round. */
static inline void lessen(volatile __global int *supports, const int edge, const int level,
                          __global int *next, volatile __global int *size)
{
    if (atomic_dec(&supports[edge]) == level + 1)
        next[atomic_inc(size)] = edge;
}

/* Take away the triangles of the edges of a round. tails and ends are the two vertices of edges. */
__kernel GROUP void peel_round(__global const int *first, __global const int *heads,
                               __global const int *ids, __global const int *tails,
                               __global const int *ends, __global const int *marks,
                               volatile __global int *supports, __global const int *list,
                               __global int *next, volatile __global int *sizes, const int turn,
                               const int round, const int level)
{
    const int lane = get_local_id(0) % PYAPSP_WIDTH, all = sizes[turn];
    const int warps = get_global_size(0) / PYAPSP_WIDTH;
    for (int i = get_global_id(0) / PYAPSP_WIDTH; i < all; i += warps) {
        const int e = list[i], u = tails[e], v = ends[e];
        const int2 rows = shorter_first(first, u, v);
        const int x = rows.x, y = rows.y, last = first[x + 1], end = first[y + 1];
        int at = first[y];
        for (int place = first[x] + lane; place < last; place += PYAPSP_WIDTH) {
            const int f = ids[place];
            if (f < 0 || f == e || marks[f] < round)
                continue;
            const int w = heads[place];
            at = sought(heads, at, end, w);
            if (at == end)
                break;
            if (heads[at] != w)
                continue;
            const int g = ids[at];
            if (marks[g] < round)
                continue;
            const int with_f = marks[f] == round, with_g = marks[g] == round;
            if (!with_f && (!with_g || e < g))
                lessen(supports, f, level, next, &sizes[turn + 1]);
            if (!with_g && (!with_f || e < f))
                lessen(supports, g, level, next, &sizes[turn + 1]);
        }
    }
}
