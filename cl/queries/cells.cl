/* cells: the k nearest targets of each vertex, by one search from all targets.
 *
 * Purpose   A label of a vertex is a target and its distance. The search starts at all targets, and a
 *           vertex passes on its first k labels, each to a different target. With k = 1 these are the
 *           Voronoi cells of the targets. The graph is reversed, so that distances are those from the
 *           vertices to the targets. A label waits until it is passed on: a vertex with one whose
 *           distance is at most `limit` is in the near list, one with others in the far list. When the
 *           near list is empty, the limit becomes the least distance that waits, plus delta. A label
 *           may be replaced by a nearer one after it was passed on; then that is passed on, too.
 *
 * Layout    labels, k for each vertex, in the order of distance and then of the numbers of targets:
 *
 *             vertex 0   (2, t5) (3, t1) | (3, t7)  -       waits: 0 0 1 0
 *
 *           costs       n k values; infinity where there is no label
 *           targets     n k ints
 *           waits       n k bytes
 *           marks       n bytes: bits NEAR and FAR, the lists in which a vertex is
 *           near        n ints, a ring
 *           far         n ints
 *           state       the first place of the ring; the numbers of near and far vertices; whether a
 *                       distance is too large for the type
 *           limit       a value
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1
 *
 * Cost      One work-item: O(k^2 (n + m)) if labels are passed on about once, as with a delta of a few
 *           mean weights. A launch passes on about `most` labels.
 *
 * Source    near and far lists: A. Davidson, S. Baxter, M. Garland, J. D. Owens, IPDPS 2014,
 *           doi:10.1109/IPDPS.2014.45; Voronoi cells of graphs: M. Erwig, Networks 36(3), 2000,
 *           doi:10.1002/1097-0037(200010)36:3%3C156::AID-NET2%3E3.0.CO;2-L.
 */
#include "common/types.h"
#include "common/group_size.h"

#define NONE -9999
#define NEAR 1
#define FAR 2
#define ONE __attribute__((reqd_work_group_size(1, 1, 1)))

enum { HEAD, NEARS, FARS, LOST };

static inline bool is_nearer(const value_t cost, const int target, const value_t than,
                             const int than_target)
{
    return cost < than || (cost == than && target < than_target);
}

/* The place of the first label of a vertex that waits, or k. */
static inline int first_waiting(__global const uchar *waits, const int k)
{
    int place = 0;
    while (place < k && !waits[place])
        place++;
    return place;
}

/* Put a label among those of a vertex, if it is one of the k nearest; return whether it was put. */
static inline bool put(const value_t cost, const int target, __global value_t *costs,
                       __global int *targets, __global uchar *waits, const int k)
{
    const int last = k - 1;
    if (!is_nearer(cost, target, costs[last], targets[last]) && targets[last] != target)
        return false;
    /* the label of the same target, or else the last one, is replaced */
    int place = 0;
    while (place < last && targets[place] != target && costs[place] != PYAPSP_INFINITY)
        place++;
    if (targets[place] == target && costs[place] <= cost)
        return false;
    while (place > 0 && is_nearer(cost, target, costs[place - 1], targets[place - 1])) {
        costs[place] = costs[place - 1];
        targets[place] = targets[place - 1];
        waits[place] = waits[place - 1];
        place--;
    }
    costs[place] = cost;
    targets[place] = target;
    waits[place] = 1;
    return true;
}

__kernel void clear_labels(__global value_t *costs, __global int *targets, __global uchar *waits,
                           __global uchar *marks, const int n, const int k)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)n * k; i += step) {
        costs[i] = PYAPSP_INFINITY;
        targets[i] = NONE;
        waits[i] = 0;
    }
    for (size_t v = get_global_id(0); v < (size_t)n; v += step)
        marks[v] = 0;
}

__kernel ONE void start_labels(__global const int *starts, const int count,
                               __global value_t *costs, __global int *targets,
                               __global uchar *waits, __global uchar *marks, __global int *near,
                               __global int *state, __global value_t *limit, const int k)
{
    for (int i = 0; i < count; i++) {
        const size_t label = (size_t)starts[i] * k;
        costs[label] = 0;
        targets[label] = starts[i];
        waits[label] = 1;
        near[i] = starts[i];
        marks[starts[i]] = NEAR;
    }
    state[HEAD] = state[FARS] = state[LOST] = 0;
    state[NEARS] = count;
    *limit = 0;
}

/* Pass on labels until none waits, or about `most` were passed on or looked at. */
__kernel ONE void pass_labels(__global const long *first, __global const int *heads,
                              __global const value_t *weights, __global value_t *costs,
                              __global int *targets, __global uchar *waits, __global uchar *marks,
                              __global int *near, __global int *far, __global int *state,
                              __global value_t *limit, const int n, const int k,
                              const value_t delta, const value_t farthest, const int checks,
                              const int most)
{
    int head = state[HEAD], nears = state[NEARS], fars = state[FARS];
    value_t end = *limit;
    for (int passed = 0; nears + fars > 0 && passed < most;) {
        if (nears == 0) {
            value_t least = PYAPSP_INFINITY;
            for (int i = 0; i < fars; i++) {
                const size_t labels = (size_t)far[i] * k;
                const int place = first_waiting(waits + labels, k);
                if (place < k)
                    least = min(least, costs[labels + place]);
            }
            end = least + delta;
            passed += fars;
            int others = 0;
            for (int i = 0; i < fars; i++) {
                const int u = far[i];
                const size_t labels = (size_t)u * k;
                const int place = first_waiting(waits + labels, k);
                if (place < k && costs[labels + place] > end) {
                    far[others++] = u;
                    continue;
                }
                marks[u] = place < k ? NEAR : 0;
                if (place < k)
                    near[(head + nears++) % n] = u;
            }
            fars = others;
            continue;
        }
        const int u = near[head];
        head = head + 1 == n ? 0 : head + 1;
        nears--;
        marks[u] &= ~NEAR;
        const size_t labels = (size_t)u * k;
        for (int place = first_waiting(waits + labels, k); place < k; place++) {
            if (!waits[labels + place])
                continue;
            const value_t cost = costs[labels + place];
            const int target = targets[labels + place];
            if (cost > end) {
                if (!(marks[u] & FAR))
                    far[fars++] = u;
                marks[u] |= FAR;
                break;
            }
            waits[labels + place] = 0;
            passed++;
            for (long a = first[u]; a < first[u + 1]; a++) {
                const int v = heads[a];
                const size_t theirs = (size_t)v * k;
                const value_t sum = cost + weights[a];
                if (sum > farthest) {
                    state[LOST] = checks;
                    continue;
                }
                if (!put(sum, target, costs + theirs, targets + theirs, waits + theirs, k))
                    continue;
                const int list = sum > end ? FAR : NEAR;
                if (marks[v] & list)
                    continue;
                marks[v] |= list;
                if (list == FAR) {
                    far[fars++] = v;
                } else {
                    const int place_in_ring = head + nears++;
                    near[place_in_ring < n ? place_in_ring : place_in_ring - n] = v;
                }
            }
        }
    }
    state[HEAD] = head;
    state[NEARS] = nears;
    state[FARS] = fars;
    *limit = end;
}
