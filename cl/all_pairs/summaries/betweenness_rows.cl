/* betweenness_rows: how many shortest paths lead over each vertex, or over each arc, by distances.
 *
 * Purpose   The sums of betweenness.cl for sources whose rows of distances are known. A work-group
 *           takes a source. An arc u -> v is tight if it ends a shortest path: cost(v) = cost(u) + w.
 *           A vertex is ready in the round after the last tail of its tight arcs; the vertices of a
 *           round count their paths in parallel. The rounds in reverse order pass the shares back:
 *
 *             share(v) = (1 + delta(v)) / sigma(v)
 *             delta(u) = sigma(u) * (sum of share(v) over tight arcs u -> v)
 *
 *           A vertex adds the values of its neighbours in the order of its row, whatever the order in
 *           which vertices become ready.
 *
 * Layout    Source i belongs to group i modulo their number, which adds in the order of the sources.
 *           costs   a row of n values for each source of a launch
 *           Each group has
 *
 *             counts  n doubles: sigma
 *             shares  n doubles
 *             waits   n ints: tight arcs into a vertex whose tails are not ready
 *             order   n ints: the reached vertices in the order of their rounds
 *             ends    n ints: the number of vertices up to a round
 *             sums    n doubles, or with PYAPSP_ARCS a double for each arc
 *
 *           state: bit 0: there are more paths than a double can count; bit 1: a vertex is reached only
 *           by weights that are lost in a sum
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and PYAPSP_VALUE double, and
 *             PYAPSP_GROUP  128  work-items of a group
 *             PYAPSP_ARCS   0    1: sums for the arcs; 0: for the vertices
 *
 * Cost      O(n + m) for each source, in as many rounds as a shortest path has arcs.
 *
 * Source    U. Brandes, J. Mathematical Sociology 25(2), 2001, doi:10.1080/0022250X.2001.9990249;
 *           order by counters: A. B. Kahn, CACM 5(11), 1962, doi:10.1145/368996.369025.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 128
#endif
#ifndef PYAPSP_ARCS
#define PYAPSP_ARCS 0
#endif

#include "common/types.h"
#include "common/group_size.h"

#pragma OPENCL FP_CONTRACT OFF

#include "all_pairs/summaries/add_sums.h"

#define IS_TIGHT(from, weight, to) ((to) == (from) + (weight) && (to) > (from))
#define SYNCHRONIZE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

__kernel GROUP void clear_sums(__global double *sums, const long size)
{
    for (size_t i = get_global_id(0); i < (size_t)size; i += get_global_size(0))
        sums[i] = 0;
}

__kernel GROUP void
betweenness(__global const long *first, __global const int *heads,
            __global const value_t *weights, __global const long *first_in,
            __global const int *tails, __global const value_t *weights_in,
            __global const int *sources, const int begin, const int end, const int n,
            const long m, __global const value_t *costs, __global double *counts,
            __global double *shares, __global int *waits, __global int *order, __global int *ends,
            __global double *sums, volatile __global int *state, const int endpoints)
{
    __local int found;
    const size_t group = get_group_id(0);
    const int item = get_local_id(0);
    counts += group * n;
    shares += group * n;
    waits += group * n;
    order += group * n;
    ends += group * n;
    sums += group * (PYAPSP_ARCS ? (size_t)m : (size_t)n);
    for (int i = begin + (int)group; i < end; i += get_num_groups(0)) {
        __global const value_t *row = costs + (size_t)i * n;
        const int source = sources[i];
        for (int v = item; v < n; v += PYAPSP_GROUP) {
            const value_t cost = row[v];
            int wait = 0;
            if (cost < PYAPSP_INFINITY)
                for (long a = first_in[v]; a < first_in[v + 1]; a++)
                    wait += IS_TIGHT(row[tails[a]], weights_in[a], cost);
            waits[v] = wait;
            if (wait == 0 && cost < PYAPSP_INFINITY && v != source)
                atomic_or(state, 2);
        }
        if (item == 0) {
            order[0] = source;
            found = 1;
        }
        SYNCHRONIZE;
        int rounds = 0, from = 0, to = 1;
        while (from < to) {
            if (item == 0)
                ends[rounds] = to;
            for (int place = from + item; place < to; place += PYAPSP_GROUP) {
                const int u = order[place];
                const value_t cost = row[u];
                double count = u == source;
                for (long a = first_in[u]; a < first_in[u + 1]; a++)
                    if (IS_TIGHT(row[tails[a]], weights_in[a], cost))
                        count += counts[tails[a]];
                counts[u] = count;
                if (isinf(count))
                    atomic_or(state, 1);
                for (long a = first[u]; a < first[u + 1]; a++)
                    if (IS_TIGHT(cost, weights[a], row[heads[a]]) &&
                        atomic_dec(&waits[heads[a]]) == 1)
                        order[atomic_inc(&found)] = heads[a];
            }
            SYNCHRONIZE;
            from = to;
            to = found;
            rounds++;
            SYNCHRONIZE;
        }
        for (int round = rounds - 1; round >= 0; round--) {
            const int last = ends[round];
            for (int place = (round > 0 ? ends[round - 1] : 0) + item; place < last;
                 place += PYAPSP_GROUP) {
                const int u = order[place];
                const value_t cost = row[u];
                const double count = counts[u];
                double share = 0;
                for (long a = first[u]; a < first[u + 1]; a++)
                    if (IS_TIGHT(cost, weights[a], row[heads[a]])) {
                        const double far = shares[heads[a]];
                        share += far;
#if PYAPSP_ARCS
                        sums[a] += count * far;
#endif
                    }
                const double delta = count * share;
                shares[u] = (1 + delta) / count;
#if !PYAPSP_ARCS
                if (u != source)
                    sums[u] += delta + endpoints;
                else if (endpoints)
                    sums[u] += to - 1;
#endif
            }
            SYNCHRONIZE;
        }
    }
}
