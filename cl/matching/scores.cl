/* APPAGATO, phase 1: how well each target vertex suits each query node.
 *
 * Purpose   score(q, t) = S + D + BFS in fixed point, for all queries of a call. S is the
 * similarity. D is 1 if deg(q) <= deg(t). For BFS both graphs are searched from q and from t. A query arc (u,
 * v) at level l, that is u has distance l - 1 from q, is matchable if the search from t has an arc
 * (u', v') at level l with S(u, u') and S(v, v') not 0 and, with `degrees`, deg(u) <= deg(u') and
 * deg(v) <= deg(v'). BFS is the fraction of the arcs that are matchable, where an arc at level l
 * has the weight l.
 *
 * Layout    The query nodes that a target vertex may stand for are a row of bits:
 *
 *     mask[t]      bit q: S(q, t) and the degrees allow (q, t)        `masks`
 *     around[t]    the OR of mask over the neighbours of t            `surroundings`
 *
 *     for level l of t:    M[u] = OR of around[u'] over u' at distance l - 1 with bit u in mask[u']
 *     query arc (u, v) is matchable at level l    <=>    bit v in M[u]
 *
 *     matchable arcs of u = popcount(M[u] & row u of the query's adjacency matrix)
 *     of q = sum over l of l * (sum over the nodes u at distance l - 1 from q)    `scores`
 *
 * So visiting a vertex reads a few words, whatever its degree, and each arc of the target is read
 * only once, by `surroundings`. For up to 2 levels, the vertices to visit are t and its neighbours.
 * For more levels there is a queue, in scratch memory of the group.
 *
 * A query has `words` words of 32 nodes. `info` has a row for each query:
 *
 *     0 nodes | 1 first node of the call | 2 words | 3 first word (of mask and around, times n)
 *     4 first word of its adjacency matrix
 *
 * A query node has a range of target vertices [low, high) with its label: the host numbers target
 * vertices by label. If similarities are given, the range has all vertices.
 *
 * Parameters  are macros:
 *
 *     macro            default  meaning
 *     PYAPSP_GROUP     64       work-items of a group; in `scores` each has rows of M
 *     PYAPSP_NODES     64       largest number of nodes of a query, a multiple of 32
 *     PYAPSP_DEEP      0        1: the searches have more than 2 levels
 *     PYAPSP_GIVEN     0        1: similarities are given
 *
 * Cost      For each query: n |V| for the masks, m words for the surroundings, one word for each
 * bit of the mask of a visited vertex, and n (|V| + |E|) for the sums.
 *
 * Source    V. Bonnici, F. Busato, G. Micale, N. Bombieri, A. Pulvirenti and R. Giugno, APPAGATO:
 * an approximate parallel and stochastic graph querying tool for biological networks, 2016.
 */
#ifndef PYAPSP_NODES
#define PYAPSP_NODES 64
#endif
#ifndef PYAPSP_DEEP
#define PYAPSP_DEEP 0
#endif
#ifndef PYAPSP_GIVEN
#define PYAPSP_GIVEN 0
#endif

#include "common/group.h"
#include "matching/draws.h"

#if PYAPSP_GROUP == 1
/* One work-item has the scratch memory for itself. */
static inline uint marked(__global uint *word, const uint bit)
{
    const uint old = *word;
    *word = old | bit;
    return old;
}
#define UNMARK(word) (*(word) = 0)
#else
#define marked(word, bit) atomic_or(word, bit)
#define UNMARK(word) atomic_and(word, 0u)
#endif

#define WORDS (PYAPSP_NODES / 32)
#define INFO 8
#define MOST_LEVELS 8
/* Bits of `parts`, the terms of the sum. */
#define LABEL 1
#define DEGREE 2
#define SEARCHES 4

/* The similarity of query node `node` of the call and target vertex t. */
static inline uint similar(const int node, const int t, const int n, __global const int *low,
                           __global const int *high, __global const uint *given)
{
#if PYAPSP_GIVEN
    return given[(size_t)node * n + t];
#else
    return t >= low[node] && t < high[node] ? ONE : 0;
#endif
}

__kernel void masks(__global const int *info, __global const int *query_offsets,
                    __global const int *offsets, const int n, const int degrees,
                    __global const int *low, __global const int *high, __global const uint *given, __global uint *mask)
{
    const int t = (int)get_global_id(0), query = (int)get_global_id(1);
    if (t >= n)
        return;
    const int nodes = info[query * INFO], first = info[query * INFO + 1];
    const int words = info[query * INFO + 2];
    __global uint *row = mask + (size_t)info[query * INFO + 3] * n + (size_t)t * words;
    const int degree = offsets[t + 1] - offsets[t];
    for (int w = 0; w < words; w++) {
        uint bits = 0;
        for (int q = 32 * w; q < min(nodes, 32 * w + 32); q++) {
            bool may = similar(first + q, t, n, low, high, given) != 0;
            if (degrees)
                may = may && query_offsets[first + q + 1] - query_offsets[first + q] <= degree;
            bits |= may ? BIT(q) : 0;
        }
        row[w] = bits;
    }
}

__kernel void surroundings(__global const int *info, __global const int *offsets,
                           __global const int *neighbours, const int n,
                           __global const uint *mask, __global uint *around)
{
    const int t = (int)get_global_id(0), query = (int)get_global_id(1);
    if (t >= n)
        return;
    const int words = info[query * INFO + 2];
    const size_t start = (size_t)info[query * INFO + 3] * n;
    for (int w = 0; w < words; w++) {
        uint bits = 0;
        for (int a = offsets[t]; a < offsets[t + 1]; a++)
            bits |= mask[start + (size_t)neighbours[a] * words + w];
        around[start + (size_t)t * words + w] = bits;
    }
}

/* Count the matchable arcs that leave each node, if the vertices of `list` are visited. */
static inline void count(const int nodes, const int words, __global const int *list,
                         const int length, __global const uint *mask, __global const uint *around,
                         __global const uint *rows, __local uint *matrix, __local int *counts)
{
    const int me = (int)get_local_id(0);
#if PYAPSP_GROUP == 1
    for (int i = 0; i < nodes * words; i++)
        matrix[i] = 0;
    for (int i = 0; i < length; i++) {
        const size_t place = (size_t)list[i] * words;
        for (int w = 0; w < words; w++)
            for (uint bits = mask[place + w]; bits != 0; bits &= bits - 1) {
                const int u = 32 * w + 31 - (int)clz(bits & -bits);
                for (int x = 0; x < words; x++)
                    matrix[u * words + x] |= around[place + x];
            }
    }
    for (int u = 0; u < nodes; u++) {
        int sum = 0;
        for (int x = 0; x < words; x++)
            sum += (int)popcount(matrix[u * words + x] & rows[u * words + x]);
        counts[u] = sum;
    }
#else
    for (int u = me; u < nodes; u += PYAPSP_GROUP) {
        uint row[WORDS];
        for (int x = 0; x < words; x++)
            row[x] = 0;
        for (int i = 0; i < length; i++) {
            const size_t place = (size_t)list[i] * words;
            if (mask[place + (u >> 5)] & BIT(u))
                for (int x = 0; x < words; x++)
                    row[x] |= around[place + x];
        }
        int sum = 0;
        for (int x = 0; x < words; x++)
            sum += (int)popcount(row[x] & rows[u * words + x]);
        counts[u] = sum;
    }
#endif
    LOCAL_SYNC();
}

#if PYAPSP_DEEP
/* Fill the queue with the vertices at distance 1, 2, ... from t; those at distance l are from
 * ends[l - 1] to ends[l]. The map is clear before and after. */
static inline void searched(const int t, __global const int *offsets,
                            __global const int *neighbours, __global int *queue,
                            __global uint *map, const int levels, __local int *ends)
{
    const int me = (int)get_local_id(0);
    const int degree = offsets[t + 1] - offsets[t];
    SYNC(); /* the queue of the vertex before has been read */
    for (int i = me; i < degree; i += PYAPSP_GROUP) {
        const int u = neighbours[offsets[t] + i];
        queue[i] = u;
        marked(&map[u >> 5], BIT(u));
    }
    if (me == 0) {
        marked(&map[t >> 5], BIT(t));
        ends[0] = 0;
        ends[1] = ends[2] = degree;
    }
    SYNC();
    for (int level = 2; level < levels; level++) {
        for (int i = ends[level - 2] + me; i < ends[level - 1]; i += PYAPSP_GROUP)
            for (int a = offsets[queue[i]]; a < offsets[queue[i] + 1]; a++) {
                const int v = neighbours[a];
                if (!(marked(&map[v >> 5], BIT(v)) & BIT(v)))
                    queue[LOCAL_ADD(&ends[level], 1)] = v;
            }
        SYNC();
        if (me == 0)
            ends[level + 1] = ends[level];
        LOCAL_SYNC();
    }
    for (int i = me; i < ends[levels - 1]; i += PYAPSP_GROUP)
        UNMARK(&map[queue[i] >> 5]);
    if (me == 0)
        UNMARK(&map[t >> 5]);
    SYNC();
}
#endif

/* One group scores one target vertex for one query; groups take vertices in turns. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
scores(__global const int *info, __global const int *query_offsets, __global const int *offsets,
       __global const int *neighbours, const int n, const int levels, const int parts,
       __global const int *low, __global const int *high, __global const uint *given,
       __global const uint *mask,
       __global const uint *around, __global const uint *adjacency,
       __global const int *source_offsets, __global const int *sources,
       __global const uint *arcs, __global int *queues, __global uint *seen,
       __global uint *score)
{
    __local uint matrix[PYAPSP_GROUP == 1 ? PYAPSP_NODES * WORDS : 1];
    __local int counts[PYAPSP_NODES];
    __local uint found[PYAPSP_NODES];
#if PYAPSP_DEEP
    __local int ends[MOST_LEVELS + 2];
#endif
    const int me = (int)get_local_id(0), query = (int)get_global_id(1);
    const int nodes = info[query * INFO], first = info[query * INFO + 1];
    const int words = info[query * INFO + 2];
    const size_t start = (size_t)info[query * INFO + 3] * n;
    __global const uint *rows = adjacency + info[query * INFO + 4];
    mask += start;
    around += start;
#if PYAPSP_DEEP
    const size_t slot = (size_t)query * get_num_groups(0) + get_group_id(0);
    __global int *queue = queues + slot * n;
    __global uint *map = seen + slot * ((n + 31) / 32);
#endif

    for (int t = (int)get_group_id(0); t < n; t += (int)get_num_groups(0)) {
        const int degree = offsets[t + 1] - offsets[t];
        for (int q = me; q < nodes; q += PYAPSP_GROUP) {
            uint sum = 0; /* level 1: the arcs of q itself, if t may stand for q */
            if (HAS(mask + (size_t)t * words, q))
                for (int x = 0; x < words; x++)
                    sum += popcount(around[(size_t)t * words + x] & rows[q * words + x]);
            found[q] = sum;
        }
#if PYAPSP_DEEP
        searched(t, offsets, neighbours, queue, map, levels, ends);
#endif
        for (int level = 2; level <= levels; level++) {
#if PYAPSP_DEEP
            __global const int *list = queue + ends[level - 2];
            const int length = ends[level - 1] - ends[level - 2];
#else
            __global const int *list = neighbours + offsets[t];
            const int length = degree;
#endif
            count(nodes, words, list, length, mask, around, rows, matrix, counts);
            for (int q = me; q < nodes; q += PYAPSP_GROUP) {
                const int place = (first + q) * levels + level - 1;
                for (int i = source_offsets[place]; i < source_offsets[place + 1]; i++)
                    found[q] += (uint)level * (uint)counts[sources[i]];
            }
            LOCAL_SYNC();
        }
        for (int q = me; q < nodes; q += PYAPSP_GROUP) {
            const int node = first + q;
            uint sum = 0;
            if (parts & LABEL)
                sum += similar(node, t, n, low, high, given);
            if (parts & DEGREE)
                sum += query_offsets[node + 1] - query_offsets[node] <= degree ? ONE : 0;
            if ((parts & SEARCHES) && arcs[node] != 0)
                sum += (uint)((ulong)found[q] * ONE / arcs[node]);
            score[(size_t)node * n + t] = sum;
        }
    }
}
