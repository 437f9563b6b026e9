/* near_far on CPUs: one work-item solves a block of sources, with their costs in vectors.
 *
 * Purpose   Shortest paths from a block of sources that are near each other. A vertex updates its
 *           neighbours for all sources of the block: an arc is read once and extends as many paths
 *           as a strip has values. Vertices whose cost was lowered wait in two lists: near, if the
 *           smallest of the new costs is at most a threshold, else far. Near ones are taken first,
 *           first in, first out. When there are none, the threshold is set to delta above the
 *           smallest waiting cost. So most costs are final when they are used. With delta 0 the
 *           order is that of Dijkstra's algorithm, with an infinite delta that of Bellman-Ford.
 *
 * Layout    costs[block][v][source], the sources of a block side by side in STRIPS vectors:
 *
 *                        sources of the block
 *             vertex 0 | w w w w | w w w w |     one arc u -> v: v's row = min(v's row, u's row + w)
 *             vertex 1 | w w w w | w w w w |
 *
 *           scratch, 6 ints for each vertex and block, n rounded up to even:
 *             keys   n values  the smallest waiting cost, infinity for none; room for 2 n ints
 *             near   n ints    a ring of vertices
 *             far    n ints    a list of vertices
 *             marks  n ints    which of the two a vertex is in: bits NEAR and FAR
 *
 * Parameters  those of common/types.h and common/semiring.h, and
 *             PYAPSP_STRIPS  2  vectors that hold the costs of a vertex; sources = STRIPS x WIDTH
 *             PYAPSP_CUTOFF  0  1: costs above `farthest` are never stored, so that the search ends there
 *
 * Cost      At least m STRIPS vector sums for each block, times how often a vertex updates its
 *           neighbours: 2 to 4 times if the sources are neighbours, up to the number of sources if
 *           each reaches the vertex at another time.
 *
 * Source    A. Davidson, S. Baxter, M. Garland, J. D. Owens, work-efficient parallel GPU methods for
 *           single-source shortest paths, IPDPS 2014, doi:10.1109/IPDPS.2014.45 (near and far
 *           lists), after U. Meyer and P. Sanders, delta-stepping, J. Algorithms 49(1), 2003,
 *           doi:10.1016/S0196-6774(03)00076-2. Sources as vector lanes: ours.
 */
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 2
#endif
#ifndef PYAPSP_CUTOFF
#define PYAPSP_CUTOFF 0
#endif

#include "common/types.h"
#include "common/semiring.h"

#define N (PYAPSP_STRIPS * PYAPSP_WIDTH)
#define NEAR 1
#define FAR 2

/* The smallest value of a strip. */
#define HALF(width) PYAPSP_JOIN(PYAPSP_VALUE, width)
static inline value_t smallest(const strip_t strip)
{
#if PYAPSP_WIDTH == 16
    const HALF(8) eight = SHORTER(strip.lo, strip.hi);
#elif PYAPSP_WIDTH == 8
    const HALF(8) eight = strip;
#endif
#if PYAPSP_WIDTH >= 8
    const HALF(4) four = SHORTER(eight.lo, eight.hi);
#elif PYAPSP_WIDTH == 4
    const HALF(4) four = strip;
#endif
#if PYAPSP_WIDTH >= 4
    const HALF(2) two = SHORTER(four.lo, four.hi);
#elif PYAPSP_WIDTH == 2
    const HALF(2) two = strip;
#endif
#if PYAPSP_WIDTH >= 2
    return two.x < two.y ? two.x : two.y;
#else
    return strip;
#endif
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
near_far(__global const long *first, __global const int *heads, __global const value_t *weights,
         __global const int *sources, __global value_t *costs, __global int *scratch, const int n,
         const value_t delta, const value_t farthest)
{
    const size_t block = get_group_id(0);
    const strip_t infinite = (strip_t)(PYAPSP_INFINITY);
    sources += block * N;
    __global strip_t *rows = (__global strip_t *)(costs + block * N * n);
    __global int *lists = scratch + block * 6 * ((n + 1) & ~1);
    __global value_t *keys = (__global value_t *)lists;
    __global int *near = lists + 2 * n;
    __global int *far = near + n;
    __global int *marks = far + n;

    for (size_t i = 0; i < (size_t)n * PYAPSP_STRIPS; i++)
        rows[i] = infinite;
    for (int v = 0; v < n; v++) {
        marks[v] = 0;
        keys[v] = PYAPSP_INFINITY;
    }
    int head = 0, waiting = 0, distant = 0;
    for (int s = 0; s < N; s++) {
        const int source = sources[s];
        if (source < 0)
            continue;
        costs[(block * n + source) * N + s] = 0;
        if (!marks[source]) {
            marks[source] = NEAR;
            near[waiting++] = source;
        }
    }
    int tail = waiting == n ? 0 : waiting;
    value_t threshold = delta;
    for (;;) {
        while (waiting > 0) {
            const int u = near[head];
            head = head + 1 == n ? 0 : head + 1;
            waiting--;
            marks[u] &= ~NEAR;
            keys[u] = PYAPSP_INFINITY;
            strip_t told[PYAPSP_STRIPS];
            for (int k = 0; k < PYAPSP_STRIPS; k++)
                told[k] = rows[(size_t)u * PYAPSP_STRIPS + k];
            for (long a = first[u]; a < first[u + 1]; a++) {
                const int v = heads[a];
                const strip_t weight = (strip_t)(weights[a]);
                strip_t lowered = infinite;
                int news = 0;
                for (int k = 0; k < PYAPSP_STRIPS; k++) {
                    __global strip_t *row = rows + (size_t)v * PYAPSP_STRIPS + k;
                    const strip_t old = *row;
                    strip_t offer = told[k] + weight;
#if PYAPSP_CUTOFF
                    offer = offer > (strip_t)(farthest) ? infinite : offer;
#endif
                    lowered = (offer < old && offer < lowered) ? offer : lowered;
                    news |= ANY(offer < old);
                    *row = SHORTER(offer, old);
                }
                if (!news)
                    continue;
                const value_t key = smallest(lowered);
                keys[v] = key < keys[v] ? key : keys[v];
                if (key > threshold) {
                    if (!(marks[v] & FAR))
                        far[distant++] = v;
                    marks[v] |= FAR;
                } else if (!(marks[v] & NEAR)) {
                    marks[v] |= NEAR;
                    near[tail] = v;
                    tail = tail + 1 == n ? 0 : tail + 1;
                    waiting++;
                }
            }
        }
        /* a far vertex that has updated its neighbours since has key infinity, and is removed */
        value_t lowest = PYAPSP_INFINITY;
        for (int i = 0; i < distant; i++)
            lowest = keys[far[i]] < lowest ? keys[far[i]] : lowest;
        if (!(lowest < PYAPSP_INFINITY))
            return;
        threshold = lowest + delta;
        int kept = 0;
        for (int i = 0; i < distant; i++) {
            const int v = far[i];
            const value_t key = keys[v];
            if (key > threshold && key < PYAPSP_INFINITY) {
                far[kept++] = v;
                continue;
            }
            marks[v] &= ~FAR;
            if (key < PYAPSP_INFINITY && !(marks[v] & NEAR)) {
                marks[v] |= NEAR;
                near[tail] = v;
                tail = tail + 1 == n ? 0 : tail + 1;
                waiting++;
            }
        }
        distant = kept;
    }
}
