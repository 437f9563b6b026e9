/* betweenness: how many shortest paths lead over each vertex, or over each arc.
 *
 * Purpose   For each source, a search counts the shortest paths to each vertex (sigma). Then the
 *           vertices pass back, the farthest first, how much of the paths to them and beyond leads
 *           over those before them:
 *
 *             share(v) = (1 + delta(v)) / sigma(v)
 *             delta(u) = sigma(u) * (sum of share(v) over arcs u -> v of shortest paths)
 *
 * Layout    Source i is searched by work-item i modulo their number, which adds in the order of the
 *           sources: the bits do not depend on the launches. For each work-item:
 *
 *             costs   n values: levels as int, or distances; -1 or infinity where not reached
 *             order   n ints: the reached vertices in the order of their distance
 *             counts  n doubles: sigma
 *             shares  n doubles
 *             heap    2 n entries, with PYAPSP_WEIGHTED
 *             sums    n doubles, or with PYAPSP_ARCS a double for each arc
 *
 *           state: bit 0: there are more paths than a double can count; bit 1: a vertex is reached only
 *           by weights that are lost in a sum
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and PYAPSP_VALUE double, and
 *             PYAPSP_WEIGHTED  0  1: arcs have weights above zero; 0: each has length 1
 *             PYAPSP_ARCS      0  1: sums for the arcs; 0: for the vertices
 *
 * Cost      O(n + m) for each source, with weights O(n log n + m).
 *
 * Source    U. Brandes, J. Mathematical Sociology 25(2), 2001, doi:10.1080/0022250X.2001.9990249;
 *           common/heap.h.
 */
#ifndef PYAPSP_WEIGHTED
#define PYAPSP_WEIGHTED 0
#endif
#ifndef PYAPSP_ARCS
#define PYAPSP_ARCS 0
#endif

#include "common/types.h"
#include "common/group_size.h"
#include "common/heap.h"

#pragma OPENCL FP_CONTRACT OFF

#include "all_pairs/summaries/add_sums.h"

#if PYAPSP_WEIGHTED
typedef value_t cost_t;
#define UNREACHED PYAPSP_INFINITY
#define IS_TIGHT(cost, a, v) (costs[v] == (cost) + weights[a] && costs[v] > (cost))
#else
typedef int cost_t;
#define UNREACHED -1
#define IS_TIGHT(cost, a, v) (costs[v] == (cost) + 1)
#endif

__kernel GROUP void clear_sums(__global cost_t *costs, __global double *sums, const long places,
                               const long sums_size)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)places; i += step)
        costs[i] = UNREACHED;
    for (size_t i = get_global_id(0); i < (size_t)sums_size; i += step)
        sums[i] = 0;
}

#if PYAPSP_WEIGHTED
/* List the reached vertices in the order of their distance, and count the paths to them; return their
 * number. When a vertex is taken from the heap, all paths to it are counted. */
static int searched(const int source, __global const long *first, __global const int *heads,
                    __global const value_t *weights, __global cost_t *costs, __global int *order,
                    __global double *counts, __global entry_t *heap, const int n)
{
    int size = 1, found = 0;
    costs[source] = 0;
    counts[source] = 1;
    heap[0] = (entry_t){0, source};
    while (size > 0) {
        const entry_t nearest = heap[0];
        if (--size > 0)
            sink(heap, size, 0, heap[size]);
        const int u = nearest.vertex;
        if (nearest.cost > costs[u])
            continue;
        order[found++] = u;
        const double count = counts[u];
        for (long a = first[u]; a < first[u + 1]; a++) {
            const int v = heads[a];
            const value_t cost = nearest.cost + weights[a], known = costs[v];
            if (cost > known)
                continue;
            /* no path leads over a weight that is lost in the sum */
            const double more = cost > nearest.cost ? count : 0;
            if (cost == known) {
                counts[v] += more;
                continue;
            }
            costs[v] = cost;
            counts[v] = more;
            if (size == 2 * n) {
                int kept = 0;
                for (int i = 0; i < size; i++)
                    if (heap[i].cost == costs[heap[i].vertex])
                        heap[kept++] = heap[i];
                size = ordered(heap, kept);
            }
            rise(heap, size++, (entry_t){cost, v});
        }
    }
    return found;
}
#endif

__kernel GROUP void
betweenness(__global const long *first, __global const int *heads,
#if PYAPSP_WEIGHTED
            __global const value_t *weights, __global entry_t *heap,
#endif
            __global const int *sources, const int begin, const int end, const int n, const long m,
            __global cost_t *costs, __global int *order, __global double *counts,
            __global double *shares, __global double *sums, volatile __global int *state,
            const int endpoints)
{
    const size_t slot = get_global_id(0);
    costs += slot * n;
    order += slot * n;
    counts += slot * n;
    shares += slot * n;
#if PYAPSP_WEIGHTED
    heap += slot * 2 * n;
#endif
    sums += slot * (PYAPSP_ARCS ? (size_t)m : (size_t)n);
    for (int i = begin + (int)slot; i < end; i += get_global_size(0)) {
        const int source = sources[i];
#if PYAPSP_WEIGHTED
        const int found = searched(source, first, heads, weights, costs, order, counts, heap, n);
#else
        int found = 1;
        costs[source] = 0;
        counts[source] = 1;
        order[0] = source;
        for (int place = 0; place < found; place++) {
            const int u = order[place], next = costs[u] + 1;
            const double count = counts[u];
            for (long a = first[u]; a < first[u + 1]; a++) {
                const int v = heads[a], level = costs[v];
                if (level == UNREACHED) {
                    costs[v] = next;
                    counts[v] = count;
                    order[found++] = v;
                } else if (level == next) {
                    counts[v] += count;
                }
            }
        }
#endif
        for (int place = found - 1; place >= 0; place--) {
            const int u = order[place];
            const cost_t cost = costs[u];
            const double count = counts[u];
            double share = 0;
            for (long a = first[u]; a < first[u + 1]; a++) {
                /* without a branch, which would often be predicted wrongly */
                const int v = heads[a];
                const double far = shares[v], more = IS_TIGHT(cost, a, v) ? far : 0;
                share += more;
#if PYAPSP_ARCS
                sums[a] += count * more;
#endif
            }
            const double delta = count * share;
            if (isinf(count) || count == 0)
                atomic_or(state, isinf(count) ? 1 : 2);
            shares[u] = (1 + delta) / count;
#if !PYAPSP_ARCS
            if (place > 0)
                sums[u] += delta + endpoints;
            else if (endpoints)
                sums[u] += found - 1;
#endif
        }
        for (int place = 0; place < found; place++)
            costs[order[place]] = UNREACHED;
    }
}
