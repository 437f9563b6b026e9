/* scc_hooking: connected components by trees whose roots are hooked to smaller vertices.
 *
 * Purpose   Each vertex points to a smaller one of its component, or to itself: it is the root of a
 *           tree. An arc between two trees hooks the larger root to the smaller one. Between rounds
 *           of hooks, trees are shortened until most vertices point to their root. In the end every
 *           tree is a component, and its root is its smallest vertex. The directions of arcs do not
 *           matter.
 *             The first arc of each vertex, and then one more, join most vertices of most graphs.
 *           Then a vote among a few vertices finds the largest tree. If the graph is symmetric, the
 *           arcs of its vertices need not be read: an arc to another tree has its reverse there.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. Two arrays of
 *           pointers: a launch reads one, and writes the other. Hooks write to roots alone, by
 *           atomics, and other vertices write their own pointer.
 *
 *             now    0 0 1 3 3 . .      hook of 4 - 2: the root of 4 is 3, that of 2 is 0
 *             next   0 0 1 0 3 . .      (1 is no root: then the hook waits until the next round)
 *             now    0 0 0 0 0 . .      shortened
 *
 *           state: CHANGED + t % 3   whether round t found an arc between two trees. Round t clears
 *                                    that of the next one. A round after one without does nothing.
 *                  GIANT             the root that most of the voters have, or -1
 *
 *           Few work-items, as on CPUs, hook in one array instead (hook_unite_some, hook_unite_all):
 *           an arc looks for both roots, and hooks the larger one if it still is a root. All loads
 *           and stores are atomic. A vertex may point to any smaller one on the path to its root,
 *           and only roots are hooked, so a store of an outdated pointer loses nothing. Then one
 *           launch for all arcs is enough, and the host reads nothing between launches.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_OFFSET  long  type of first: int or long
 *
 * Cost      A few steps for each vertex; then, in about three rounds, the arcs outside the largest
 *           tree of a symmetric graph, or all arcs of another one. To shorten a tree to an eighth
 *           of its depth takes a launch; on a grid, whose first tree has the depth of a row and a
 *           column, neighbouring work-items take neighbouring paths.
 *             In one array: a few steps for each of these arcs. On two cores and 100,000 vertices,
 *           six launches take half of the time of the rounds, and less on deep graphs.
 *
 * Source    Y. Shiloach, U. Vishkin, J. Algorithms 3, 1982, doi:10.1016/0196-6774(82)90008-6
 *           (hooking and shortening); J. Jaiganesh, M. Burtscher, HPDC 2018,
 *           doi:10.1145/3208040.3208041 (beginning with the first neighbour); M. Sutton, T.
 *           Ben-Nun, A. Barak, IPDPS 2018, doi:10.1109/IPDPS.2018.00012 (some arcs first, and the
 *           vote). Arrays in turn, without races: ours.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif
#ifndef PYAPSP_OFFSET
#define PYAPSP_OFFSET long
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

/* Places in state. */
#define CHANGED 0
#define GIANT 3

/* Steps towards the root that a vertex goes in a launch. */
#define STEPS 8
#define VOTERS 256

/* Vertices that a work-item takes at once in an array that is not used in turn. */
#define BLOCK 1024

#include "common/group.h"
#include "traversal/peek.h"

typedef PYAPSP_OFFSET offset_t;

/* Each vertex points to the end of its first arc, if that is smaller. */
__kernel GROUP void hook_begin(__global const offset_t *first, __global const int *heads,
                               __global int *next, __global int *state, const int n)
{
    if (get_global_id(0) == 0) {
        state[CHANGED] = state[CHANGED + 1] = 0;
        state[CHANGED + 2] = 1;
        state[GIANT] = -1;
    }
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const offset_t from = first[v];
        next[v] = from < first[v + 1] ? min((int)v, heads[from]) : (int)v;
    }
}

/* Whether round `turn` has anything to do; `turn` < 0 is before the rounds. */
static inline int is_awake(__global const int *state, const int turn)
{
    return turn < 0 || state[CHANGED + turn % 3];
}

/* Let the vertices point further towards their roots. It is the second half of round `turn`. */
__kernel GROUP void hook_shorten(__global const int *now, __global int *next,
                                 __global const int *state, const int n, const int turn)
{
    if (!is_awake(state, turn))
        return;
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

/* Hook the larger of two vertices to the smaller one, if it is a root. Return whether they
 * differ. */
static inline int hook(__global const int *now, __global int *next, const int a, const int b)
{
    const int larger = max(a, b);
    if (a != b && now[larger] == larger)
        atomic_min(&next[larger], min(a, b));
    return a != b;
}

/* Bring the pointer of a vertex that is no root up to date. A hook never writes to it. */
static inline void renew(__global const int *now, __global int *next, const int v)
{
    if (now[v] != v)
        next[v] = now[v];
}

/* Hook along the second arc of each vertex. */
__kernel GROUP void hook_some(__global const offset_t *first, __global const int *heads,
                              __global const int *now, __global int *next, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        renew(now, next, v);
        if (first[v] + 1 < first[v + 1])
            hook(now, next, now[v], now[heads[first[v] + 1]]);
    }
}

/* Find the root that most of some vertices have: one group. */
__kernel GROUP void hook_vote(__global const int *now, __global int *state, const int n)
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
    state[GIANT] = roots[chosen];
}

/* Hook along all arcs, other than those of vertices in the largest tree if there is one. It is the
 * first half of round `turn`. `lanes` work-items share the arcs of a vertex. */
__kernel GROUP void hook_all(__global const offset_t *first, __global const int *heads,
                             __global const int *now, __global int *next, __global int *state,
                             const int n, const int lanes, const int turn)
{
    __local int sum;
    const int giant = state[GIANT];
    int found = 0;
    if (get_global_id(0) == 0)
        state[CHANGED + (turn + 1) % 3] = 0;
    if (!is_awake(state, turn + 2))
        return;
    const size_t by = get_global_size(0) / lanes;
    for (size_t v = get_global_id(0) / lanes; v < (size_t)n; v += by) {
        const int own = now[v], lane = get_global_id(0) % lanes;
        if (lane == 0)
            renew(now, next, v);
        if (own == giant)
            continue;
        const offset_t end = first[v + 1];
        for (offset_t a = first[v] + lane; a < end; a += lanes)
            found |= hook(now, next, own, now[heads[a]]);
    }
    if (get_local_id(0) == 0)
        sum = 0;
    LOCAL_SYNC();
    if (found)
        atomic_or(&sum, 1);
    LOCAL_SYNC();
    if (get_local_id(0) == 0 && sum)
        atomic_or(&state[CHANGED + turn % 3], 1);
}

/* The vertices of a work-item, in blocks: two of them rarely write into the same line of a cache.
 */
#define EACH_OF_BLOCKS(v, n)                                                                       \
    for (size_t v##_block = get_global_id(0) * (size_t)BLOCK; v##_block < (size_t)(n);             \
         v##_block += get_global_size(0) * (size_t)BLOCK)                                          \
        for (size_t v = v##_block; v < min(v##_block + BLOCK, (size_t)(n)); v++)

/* The root of a vertex; vertices on the way come to point further. */
static inline int root_of(__global int *next, int v)
{
    int p = PEEK_INT(&next[v]);
    for (int q; (q = PEEK_INT(&next[p])) != p; p = q) {
        POKE_INT(&next[v], q);
        v = p;
    }
    return p;
}

/* Join the trees of two vertices. */
static inline void unite(__global int *next, int a, int b)
{
    a = root_of(next, a);
    b = root_of(next, b);
    while (a != b) {
        const int larger = max(a, b), smaller = min(a, b);
        if (atomic_cmpxchg(&next[larger], larger, smaller) == larger)
            return;
        a = root_of(next, larger);
        b = root_of(next, smaller);
    }
}

/* Join along the second arc of each vertex. */
__kernel GROUP void hook_unite_some(__global const offset_t *first, __global const int *heads,
                                    __global int *next, const int n)
{
    EACH_OF_BLOCKS(v, n)
        if (first[v] + 1 < first[v + 1])
            unite(next, v, heads[first[v] + 1]);
}

/* Join along all arcs, other than those of vertices in the largest tree if there is one. */
__kernel GROUP void hook_unite_all(__global const offset_t *first, __global const int *heads,
                                   __global int *next, __global const int *state, const int n)
{
    const int giant = state[GIANT];
    EACH_OF_BLOCKS(v, n)
    {
        if (PEEK_INT(&next[v]) == giant)
            continue;
        const offset_t end = first[v + 1];
        for (offset_t a = first[v]; a < end; a++)
            unite(next, v, heads[a]);
    }
}

/* Let all vertices point to their roots. */
__kernel GROUP void hook_flatten(__global int *next, const int n)
{
    EACH_OF_BLOCKS(v, n)
    {
        const int root = root_of(next, v);
        POKE_INT(&next[v], root);
    }
}
