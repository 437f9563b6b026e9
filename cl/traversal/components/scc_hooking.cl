/* scc_hooking: connected components by trees whose roots are hooked to smaller vertices.
 *
 * Purpose   Each vertex points to a smaller one of its component, or to itself: it is the root of a
 *           tree. An arc between two trees hooks the larger root to the smaller one. In the end
 *           every tree is a component, and its root is its smallest vertex. The directions of arcs
 *           do not matter.
 *             In most graphs the first arc of each vertex (or the first three, if there are many
 *           arcs) joins most vertices to one tree. A sample of vertices finds this largest tree. If
 *           the graph is symmetric, the arcs of its vertices need not be read, because an arc to
 *           another tree has its reverse there. For the same reason a vertex of another tree stops
 *           at its first neighbour in the largest tree. One launch reads all other arcs.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v.
 *           Three arrays of parents. A launch that shortens trees reads one and writes another, or
 *           both others. A launch that joins trees reads `now`, where each vertex points to its
 *           root, and changes a copy, `next`, of which it uses only the words of these roots:
 *
 *             now     0 0 1 3 3 . .     arc 4 - 2: the root of 4 is 3, that of 2 is 1 and then 0
 *             now     0 0 0 3 3 . .     shortened
 *             next    0 0 0 0 3 . .     3 is hooked to 0
 *             now     0 0 0 0 0 . .     shortened
 *
 *           While trees are joined, the entry of a root in `next` is the root itself or a smaller
 *           root of its tree, even if an outdated word is read: a join never removes a vertex from
 *           a tree. So following the entries ends at a vertex that was a root, and a
 *           compare-and-exchange shows whether it still is one.
 *           giant: the root that most vertices of the sample have, or -1.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_OFFSET  long  type of first: int or long
 *
 * Cost      A few steps for each vertex; then, in a symmetric graph, the arcs outside the largest
 *           tree, otherwise all arcs. The host reads nothing in between. A launch shortens a tree
 *           to an eighth of its depth. On a grid the first tree is as deep as a row and a column
 *           are long, and neighbouring work-items follow neighbouring paths.
 *
 * Source    Y. Shiloach, U. Vishkin, J. Algorithms 3, 1982, doi:10.1016/0196-6774(82)90008-6
 *           (hooking and shortening); J. Jaiganesh, M. Burtscher, HPDC 2018,
 *           doi:10.1145/3208040.3208041 (beginning with the first neighbour, hooks by
 *           compare-and-exchange, paths halved on the way); M. Sutton, T. Ben-Nun, A. Barak, IPDPS
 *           2018, doi:10.1109/IPDPS.2018.00012 (some arcs first, and the vote).
 */
#include "common/arc_types.h"
#include "common/group.h"
#include "common/peek.h"

/* Steps towards the root that a vertex goes in a launch. */
#define STEPS 8
#define VOTERS 256
/* A vertex with more arcs than this for each of its work-items is left to the whole group. */
#define SHARE 32

/* Each vertex points to the end of its first arc, if that is smaller. */
__kernel GROUP void hook_begin(__global const offset_t *first, __global const int *heads,
                               __global int *next, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const offset_t from = first[v];
        next[v] = from < first[v + 1] ? min((int)v, heads[from]) : (int)v;
    }
}

/* Let the vertices point further towards their roots. */
__kernel GROUP void hook_shorten(__global const int *now, __global int *next, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        int p = now[v];
        for (int step = 0; step < STEPS; step++) {
            const int q = now[p];
            if (q == p)
                break;
            p = q;
        }
        next[v] = p;
    }
}

/* Let the vertices point to their roots, in two arrays. */
__kernel GROUP void hook_to_roots(__global const int *before, __global int *now,
                                  __global int *next, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        int p = before[v];
        for (int q = before[p]; q != p; q = before[q])
            p = q;
        now[v] = next[v] = p;
    }
}

/* Hook the trees of each vertex and of the end of its arc `number`, unless one of them gets another
 * parent. */
__kernel GROUP void hook_some(__global const offset_t *first, __global const int *heads,
                              __global const int *now, __global int *next, const int n,
                              const int number)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        if (first[v] + number >= first[v + 1])
            continue;
        const int a = now[v], b = now[heads[first[v] + number]];
        if (a != b)
            atomic_min(&next[max(a, b)], min(a, b));
    }
}

/* Find the root that most of some vertices have: one group. */
__kernel GROUP void hook_vote(__global const int *now, __global int *giant, const int n)
{
    __local int roots[VOTERS], votes[VOTERS];
    const int item = get_local_id(0);
    for (int i = item; i < VOTERS; i += PYAPSP_GROUP)
        roots[i] = now[(uint)((ulong)n * (uint)(i * 2654435769u) >> 32)];
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

/* Return the root of a root of `now`, and let those on the way point two steps further. */
static inline int root_of(__global int *next, int v)
{
    int p = PEEK_INT(&next[v]);
    while (p != v) {
        const int q = PEEK_INT(&next[p]);
        if (q != p)
            POKE_INT(&next[v], q);
        v = p;
        p = q;
    }
    return v;
}

/* Join the trees of two roots of `now`. */
static inline void join(__global int *next, int a, int b)
{
    a = root_of(next, a);
    b = root_of(next, b);
    while (a != b) {
        const int larger = max(a, b), smaller = min(a, b);
        const int found = atomic_cmpxchg(&next[larger], larger, smaller);
        if (found == larger)
            return;
        a = root_of(next, found);
        b = root_of(next, smaller);
    }
}

/* Join a vertex along every `by`-th of its arcs, until one leads to the largest tree. */
static inline void join_all(__global const offset_t *first, __global const int *heads,
                            __global const int *now, __global int *next, const int giant,
                            const int v, const int lane, const int by)
{
    const offset_t end = first[v + 1];
    const int own = now[v];
    int last = own;
    for (offset_t a = first[v] + lane; a < end && last != giant; a += by) {
        const int other = now[heads[a]];
        if (other != own && other != last)
            join(next, own, other);
        last = other;
    }
}

/* Join along all arcs but those of vertices in the largest tree, if there is one. `lanes`
 * work-items share the arcs of a vertex, and the whole group those of one with many. */
__kernel GROUP void hook_all(__global const offset_t *first, __global const int *heads,
                             __global const int *now, __global int *next,
                             __global const int *largest, const int n, const int lanes)
{
    const int giant = *largest, lane = get_global_id(0) % lanes;
#if PYAPSP_GROUP > 1
    __local int count, large[PYAPSP_GROUP];
    if (get_local_id(0) == 0)
        count = 0;
    LOCAL_SYNC();
#endif
    for (size_t v = get_global_id(0) / lanes; v < (size_t)n; v += get_global_size(0) / lanes) {
        if (now[v] == giant)
            continue;
#if PYAPSP_GROUP > 1
        if (first[v + 1] - first[v] > SHARE * lanes) {
            const int place = lane == 0 ? atomic_inc(&count) : PYAPSP_GROUP;
            if (place < PYAPSP_GROUP)
                large[place] = v;
            else if (lane == 0)
                join_all(first, heads, now, next, giant, v, 0, 1);
            continue;
        }
#endif
        join_all(first, heads, now, next, giant, v, lane, lanes);
    }
#if PYAPSP_GROUP > 1
    LOCAL_SYNC();
    const int listed = min(count, PYAPSP_GROUP), item = get_local_id(0);
    for (int i = 0; i < listed; i++)
        join_all(first, heads, now, next, giant, large[i], item, PYAPSP_GROUP);
#endif
}
