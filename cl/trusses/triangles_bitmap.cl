/* triangles_bitmap: triangles by a bit map that marks the neighbours of one vertex at a time.
 *
 * Purpose   The same triangles in the same order as triangles_hash.cl, for CPUs: a work-item has a
 *           large cache, and local memory is no faster. For each vertex x, a map marks the heads of
 *           its oriented arcs. Neighbours of x with fewer oriented arcs look up their heads in the
 *           map. Then the marks are cleared.
 *
 * Layout    A worker is a group. Each has its own map; x with the heads 3, 9 and 12:
 *
 *             COUNT 0, 1  bits      0001 0000 0100 1000
 *             COUNT 2     ints      place of each head in the row of x, from 1; else 0
 *
 *           and its own hits, if it is one work-item, so that few operations are atomic:
 *
 *             COUNT 1     hits      triangles at each vertex, added to `found` at the end
 *             COUNT 2     hits      triangles with the head at each place of the row of x
 *
 *           Workers take PYAPSP_BATCH vertices at a time until none are left.
 *
 * Parameters  PYAPSP_GROUP   64  work-items of a group; on CPUs 1
 *             PYAPSP_BATCH   64  vertices that a group takes at a time
 *             PYAPSP_COUNT    0  0: the number of triangles, 1: those of each vertex, 2: those of
 *                                each edge
 *             PYAPSP_OWN      0  1: with COUNT 2 and groups of 1, each worker counts in memory of
 *                                its own, behind its hits
 *
 * Cost      For each edge the shorter of two rows, with one read of the map for each entry, and two
 *           reads of `up` for each arc. A map has n / 8 bytes, or 4 n with COUNT 2. COUNT 2 has an
 *           atomic operation for each triangle, or with OWN at most one for each edge and worker.
 *
 * Source    M. Bisson, M. Fatica, high performance exact triangle counting on GPUs, TPDS 28, 2017,
 *           doi:10.1109/TPDS.2017.2735405. The map of the longer row, and the counts of vertices
 *           and edges: ours.
 */
#include "common/group.h"
#ifndef PYAPSP_BATCH
#define PYAPSP_BATCH 64
#endif
#ifndef PYAPSP_COUNT
#define PYAPSP_COUNT 0
#endif
#ifndef PYAPSP_OWN
#define PYAPSP_OWN 0
#endif

#if PYAPSP_GROUP == 1
#define ADD(place, value) (*(place) += (value))
#define SET(place, bit) (*(place) |= (bit))
#else
#define ADD(place, value) atomic_add(place, value)
#define SET(place, bit) atomic_or(place, bit)
#endif
#if PYAPSP_OWN
#define ADD_TO_EDGE(e, value) (counts[e] += (value))
#else
#define ADD_TO_EDGE(e, value) atomic_add(&found[e], value)
#endif

/* first and heads are all rows, up and up_heads the oriented ones, ids the edges of the arcs of
 * `heads`. maps has `size` ints for each group, all 0; all_hits has `places` ints for each, which
 * are 0 with COUNT 1 or OWN. *next is 0. `found` is a sum for each work-item (COUNT 0), or a count
 * for each vertex or edge. n is below 2^30. */
__kernel GROUP void bitmap_count(__global const int *first, __global const int *heads,
                                 __global const int *up, __global const int *up_heads,
                                 __global const int *ids, __global int *maps,
                                 __global int *all_hits, __global int *next,
#if PYAPSP_COUNT == 0
                                 __global ulong *found,
#else
                                 __global int *found,
#endif
                                 const int n, const int size, const int places)
{
    __local int taken;
    const int item = get_local_id(0);
    __global int *map = maps + (size_t)size * get_group_id(0);
#if PYAPSP_COUNT == 0
    ulong sum = 0;
#elif PYAPSP_COUNT == 1 && PYAPSP_GROUP > 1
    __global int *hits = found;
#else
    __global int *hits = all_hits + (size_t)places * get_group_id(0);
#endif
#if PYAPSP_OWN
    const int edges = up[n];
    __global int *counts = hits + places - edges;
    const int miss = places - edges - 1;
#endif
    for (;;) {
        if (item == 0)
            taken = atomic_add(next, PYAPSP_BATCH);
        SYNC();
        const int low = taken;
        SYNC();
        if (low >= n)
            break;
        for (int x = low; x < min(low + PYAPSP_BATCH, n); x++) {
            const int row = up[x], length = up[x + 1] - row;
            if (length < 2)
                continue;
            for (int p = item; p < length; p += PYAPSP_GROUP) {
                const int head = up_heads[row + p];
#if PYAPSP_COUNT == 2
                map[head] = p + 1;
                hits[p] = 0;
#else
                SET(&map[head >> 5], BIT(head));
#endif
            }
            SYNC();
#if PYAPSP_COUNT == 1
            int own = 0;
#endif
            const int arcs = first[x + 1];
            for (int arc = first[x] + item; arc < arcs; arc += PYAPSP_GROUP) {
                const int y = heads[arc], begin = up[y], end = up[y + 1];
                if (end - begin > length || (end - begin == length && y >= x))
                    continue;
                int of_y = 0;
                for (int place = begin; place < end; place++) {
                    const int w = up_heads[place];
#if PYAPSP_COUNT == 2
                    const int at = map[w];
#if PYAPSP_OWN
                    /* nobody can predict a hit, so there is no branch; misses add 0 */
                    const int is = at > 0;
                    hits[is ? at - 1 : miss] += is;
                    counts[place] += is;
                    of_y += is;
#else
                    if (at > 0) {
                        ADD(&hits[at - 1], 1);
                        ADD_TO_EDGE(place, 1);
                        of_y++;
                    }
#endif
#else
                    const int hit = (uint)map[w >> 5] >> (w & 31) & 1;
                    of_y += hit;
#if PYAPSP_COUNT == 1 && PYAPSP_GROUP == 1
                    hits[w] += hit;
#elif PYAPSP_COUNT == 1
                    if (hit)
                        atomic_inc(&hits[w]);
#endif
#endif
                }
#if PYAPSP_COUNT == 0
                sum += of_y;
#elif PYAPSP_COUNT == 1
                if (of_y > 0)
                    ADD(&hits[y], of_y);
                own += of_y;
#else
                if (of_y > 0)
                    ADD_TO_EDGE(ids[arc], of_y);
#endif
            }
#if PYAPSP_COUNT == 1
            if (own > 0)
                ADD(&hits[x], own);
#endif
            SYNC();
            for (int p = item; p < length; p += PYAPSP_GROUP) {
                const int head = up_heads[row + p];
#if PYAPSP_COUNT == 2
                map[head] = 0;
                if (hits[p] > 0)
                    ADD_TO_EDGE(row + p, hits[p]);
#else
                /* rows are sorted: the first head of a word clears it, and no other */
                if (p == 0 || up_heads[row + p - 1] >> 5 != head >> 5)
                    map[head >> 5] = 0;
#endif
            }
            SYNC();
        }
    }
#if PYAPSP_COUNT == 0
    found[get_global_id(0)] = sum;
#elif PYAPSP_COUNT == 1 && PYAPSP_GROUP == 1
    for (int v = 0; v < n; v++)
        if (hits[v] > 0)
            atomic_add(&found[v], hits[v]);
#elif PYAPSP_OWN
    for (int e = 0; e < edges; e++)
        if (counts[e] > 0)
            atomic_add(&found[e], counts[e]);
#endif
}
