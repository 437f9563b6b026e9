/* scc_hooking: connected components by trees whose roots are hooked to smaller vertices.
 *
 * Purpose   Each vertex points to a smaller one of its component, or to itself: it is the root of a
 *           tree. An arc between two trees hooks the larger root to the smaller one. In the end
 *           every tree is a component, and its root is its smallest vertex. The directions of arcs
 *           do not matter.
 *             The first arc of each vertex, and then the second one, join most vertices of most
 *           graphs. Then a vote among a few vertices finds the largest tree. If the graph is
 *           symmetric, the arcs of its vertices need not be read: an arc to another tree has its
 *           reverse there. One launch reads all other arcs.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v.
 *           parents, which all work-items change while others read it:
 *
 *             parents    0 0 1 3 3 . .      arc 4 - 2: the root of 4 is 3, that of 2 is 0
 *                        0 0 1 0 3 . .      3 is hooked to 0
 *                        0 0 0 0 0 . .      shortened
 *
 *           A root is hooked by a compare-and-exchange, so that it gets one parent. A vertex that
 *           is no root has a parent that is one of its ancestors, however old the word is that was
 *           read: a hook never takes a vertex out of a tree. So a walk along parents that are
 *           outdated still ends at a vertex that was the root, and the exchange tells whether it is
 *           one now.
 *           giant: the root that most of the voters have, or -1.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_OFFSET  long  type of first: int or long
 *
 * Cost      A few steps for each vertex, then the arcs outside the largest tree of a symmetric
 *           graph, or all arcs of another one. The host reads nothing in between. To shorten a tree
 *           to an eighth of its depth takes a launch; on a grid, whose first tree has the depth of
 *           a row and a column, neighbouring work-items take neighbouring paths.
 *
 * Source    Y. Shiloach, U. Vishkin, J. Algorithms 3, 1982, doi:10.1016/0196-6774(82)90008-6
 *           (hooking and shortening); J. Jaiganesh, M. Burtscher, HPDC 2018,
 *           doi:10.1145/3208040.3208041 (beginning with the first neighbour, hooks by
 *           compare-and-exchange, paths halved on the way); M. Sutton, T. Ben-Nun, A. Barak, IPDPS
 *           2018, doi:10.1109/IPDPS.2018.00012 (some arcs first, and the vote).
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif
#ifndef PYAPSP_OFFSET
#define PYAPSP_OFFSET long
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

#define VOTERS 256
/* A vertex with more arcs than this for each of its work-items is left to the whole group. */
#define SHARE 32

#include "common/group.h"
#include "traversal/peek.h"

typedef PYAPSP_OFFSET offset_t;

/* Each vertex points to the end of its first arc, if that is smaller. */
__kernel GROUP void hook_begin(__global const offset_t *first, __global const int *heads,
                               __global int *parents, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const offset_t from = first[v];
        parents[v] = from < first[v + 1] ? min((int)v, heads[from]) : (int)v;
    }
}

/* Let the vertices point further towards their roots, by at most `steps` steps. */
__kernel GROUP void hook_shorten(__global int *parents, const int n, const int steps)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const int before = PEEK_INT(&parents[v]);
        int p = before;
        for (int step = 0; step < steps; step++) {
            const int q = PEEK_INT(&parents[p]);
            if (q == p)
                break;
            p = q;
        }
        if (p != before)
            POKE_INT(&parents[v], p);
    }
}

/* Return the root of a vertex, and let the vertices on the way point two steps further. */
static inline int root_of(__global int *parents, int v)
{
    int p = PEEK_INT(&parents[v]);
    while (p != v) {
        const int q = PEEK_INT(&parents[p]);
        if (q != p)
            POKE_INT(&parents[v], q);
        v = p;
        p = q;
    }
    return v;
}

/* Join the trees of two vertices. */
static inline void join(__global int *parents, int a, int b)
{
    a = root_of(parents, a);
    b = root_of(parents, b);
    while (a != b) {
        const int larger = max(a, b), smaller = min(a, b);
        const int now = atomic_cmpxchg(&parents[larger], larger, smaller);
        if (now == larger)
            return;
        a = root_of(parents, now);
        b = root_of(parents, smaller);
    }
}

/* Join along the second arc of each vertex. */
__kernel GROUP void hook_second(__global const offset_t *first, __global const int *heads,
                                __global int *parents, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0))
        if (first[v] + 1 < first[v + 1])
            join(parents, v, heads[first[v] + 1]);
}

/* Find the root that most of some vertices have: one group. */
__kernel GROUP void hook_vote(__global const int *parents, __global int *giant, const int n)
{
    __local int roots[VOTERS], votes[VOTERS];
    const int item = get_local_id(0);
    for (int i = item; i < VOTERS; i += PYAPSP_GROUP)
        roots[i] = parents[(uint)((ulong)n * (uint)(i * 2654435769u) >> 32)];
    LOCAL_SYNC();
    for (int i = item; i < VOTERS; i += PYAPSP_GROUP) {
        votes[i] = 0;
        for (int j = 0; j < VOTERS; j++)
            votes[i] += roots[j] == roots[i];
    }
    LOCAL_SYNC();
    if (item > 0)
        return;
    int chosen = 0;
    for (int i = 1; i < VOTERS; i++)
        if (votes[i] > votes[chosen])
            chosen = i;
    *giant = roots[chosen];
}

/* Join a vertex along every `by`-th of its arcs. */
static inline void join_all(__global const offset_t *first, __global const int *heads,
                            __global int *parents, const int v, const int own, const int by)
{
    const offset_t end = first[v + 1];
    for (offset_t a = first[v] + own; a < end; a += by)
        if (PEEK_INT(&parents[heads[a]]) != PEEK_INT(&parents[v]))
            join(parents, v, heads[a]);
}

/* Join along all arcs but those of vertices in the largest tree, if there is one. `lanes`
 * work-items share the arcs of a vertex. */
__kernel GROUP void hook_all(__global const offset_t *first, __global const int *heads,
                             __global int *parents, __global const int *giant, const int n,
                             const int lanes)
{
#if PYAPSP_GROUP > 1
    __local int count, large[PYAPSP_GROUP];
    if (get_local_id(0) == 0)
        count = 0;
    LOCAL_SYNC();
#endif
    const int lane = get_global_id(0) % lanes;
    for (size_t v = get_global_id(0) / lanes; v < (size_t)n; v += get_global_size(0) / lanes) {
        if (PEEK_INT(&parents[v]) == *giant)
            continue;
#if PYAPSP_GROUP > 1
        if (first[v + 1] - first[v] > SHARE * lanes) {
            int place = PYAPSP_GROUP;
            if (lane == 0)
                place = atomic_inc(&count);
            if (place < PYAPSP_GROUP)
                large[place] = v;
            else if (lane == 0)
                join_all(first, heads, parents, v, 0, 1);
            continue;
        }
#endif
        join_all(first, heads, parents, v, lane, lanes);
    }
#if PYAPSP_GROUP > 1
    LOCAL_SYNC();
    const int listed = min(count, PYAPSP_GROUP);
    for (int i = 0; i < listed; i++)
        join_all(first, heads, parents, large[i], get_local_id(0), PYAPSP_GROUP);
#endif
}
