/* cells: the k nearest targets of each vertex, by one search from all targets.
 *
 * Purpose   A label of a vertex is a target and its distance. The search of Dijkstra's algorithm
 *           starts at all targets, and a vertex passes on its first k labels, each to a different
 *           target. With k = 1 these are the Voronoi cells of the targets. The graph is reversed, so
 *           that distances are those from the vertices to the targets.
 *
 * Layout    labels, k for each vertex, in the order of distance and then of the numbers of targets:
 *
 *             vertex 0   (2, t5) (3, t1) | (3, t7)  -       final[0] = 2: these are passed on
 *
 *           costs       n k values; infinity where there is no label
 *           targets     n k ints
 *           heap        2 n entries. A vertex has at least one with its first label that is not final;
 *                       when the heap is full, all but one of these and those out of date are removed.
 *           state       the size of the heap; whether a distance is too large for the type
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1
 *
 * Cost      One work-item: O(k (n + m) (k + log n)). A launch passes on at most `most` labels.
 *
 * Source    E. W. Dijkstra, Numerische Mathematik 1, 1959, doi:10.1007/BF01386390; Voronoi cells of
 *           graphs: M. Erwig, Networks 36(3), 2000, doi:10.1002/1097-0037(200010)36:3%3C156::AID-NET2%3E3.0.CO;2-L.
 */
#include "common/types.h"
#include "common/group_size.h"

#define NONE -9999

typedef struct {
    value_t cost;
    int target;
    int vertex;
} entry_t;

#define ENTRY entry_t
#define IS_NEARER(a, b) is_nearer((a).cost, (a).target, b)

enum { SIZE, LOST };

static inline bool is_nearer(const value_t cost, const int target, const entry_t than)
{
    return cost < than.cost || (cost == than.cost && target < than.target);
}

#include "common/heap.h"

/* Whether an entry is that of the first label of its vertex that is not final. */
static inline bool is_current(const entry_t entry, __global const value_t *costs,
                              __global const int *targets, __global const int *final, const int k)
{
    const int place = final[entry.vertex];
    if (place < 0 || place == k)
        return false;
    const size_t label = (size_t)entry.vertex * k + place;
    return costs[label] == entry.cost && targets[label] == entry.target;
}

/* Put an entry into the heap; if there is no room, keep one current entry of each vertex before. A
 * label that was displaced is put a second time when it is the first again. */
static int put(__global entry_t *heap, int size, const entry_t entry,
               __global const value_t *costs, __global const int *targets,
               __global int *final, const int n, const int k)
{
    if (size == 2 * n) {
        int kept = 0;
        for (int i = 0; i < size; i++) {
            const entry_t each = heap[i];
            if (is_current(each, costs, targets, final, k)) {
                heap[kept++] = each;
                final[each.vertex] = ~final[each.vertex]; /* negative: it has an entry */
            }
        }
        for (int i = 0; i < kept; i++)
            final[heap[i].vertex] = ~final[heap[i].vertex];
        size = ordered(heap, kept);
    }
    rise(heap, size, entry);
    return size + 1;
}

__kernel void clear_labels(__global value_t *costs, __global int *targets,
                           __global int *final, const int n, const int k)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)n * k; i += step) {
        costs[i] = PYAPSP_INFINITY;
        targets[i] = NONE;
    }
    for (size_t v = get_global_id(0); v < (size_t)n; v += step)
        final[v] = 0;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
start_labels(__global const int *given, const int count, __global value_t *costs,
             __global int *targets, __global entry_t *heap, __global int *state, const int k)
{
    for (int i = 0; i < count; i++) {
        const size_t label = (size_t)given[i] * k;
        costs[label] = 0;
        targets[label] = given[i];
        heap[i] = (entry_t){0, given[i], given[i]}; /* all costs are equal: sorted as a heap is */
    }
    state[SIZE] = count;
    state[LOST] = 0;
}

/* Pass on labels until none is left, or `most` were taken from the heap. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
pass_labels(__global const long *first, __global const int *heads, __global const value_t *weights,
            __global value_t *costs, __global int *targets,
            __global int *final, __global entry_t *heap, __global int *state, const int n,
            const int k, const value_t farthest, const int checks, const int most)
{
    int size = state[SIZE];
    for (int taken = 0; size > 0 && taken < most; taken++) {
        const entry_t nearest = heap[0];
        const int u = nearest.vertex;
        if (--size > 0)
            sink(heap, size, 0, heap[size]);
        if (!is_current(nearest, costs, targets, final, k))
            continue;
        const int next = ++final[u];
        if (next < k && costs[(size_t)u * k + next] < PYAPSP_INFINITY) {
            const size_t label = (size_t)u * k + next;
            size = put(heap, size, (entry_t){costs[label], targets[label], u}, costs, targets,
                       final, n, k);
        }
        for (long a = first[u]; a < first[u + 1]; a++) {
            const int v = heads[a];
            __global value_t *mine = costs + (size_t)v * k;
            __global int *known = targets + (size_t)v * k;
            const value_t cost = nearest.cost + weights[a];
            if (cost > farthest) {
                state[LOST] = checks;
                continue;
            }
            const entry_t last = {mine[k - 1], known[k - 1], v};
            if (!is_nearer(cost, nearest.target, last) && last.target != nearest.target)
                continue;
            /* the label of the same target, or else the last one, is replaced */
            int place = k - 1;
            for (int i = 0; i < k - 1; i++)
                if (known[i] == nearest.target || mine[i] == PYAPSP_INFINITY) {
                    place = i;
                    break;
                }
            if (mine[place] <= cost && known[place] == nearest.target)
                continue;
            while (place > 0 &&
                   is_nearer(cost, nearest.target,
                             (entry_t){mine[place - 1], known[place - 1], v})) {
                mine[place] = mine[place - 1];
                known[place] = known[place - 1];
                place--;
            }
            mine[place] = cost;
            known[place] = nearest.target;
            if (place == final[v])
                size = put(heap, size, (entry_t){cost, nearest.target, v}, costs, targets, final,
                           n, k);
        }
    }
    state[SIZE] = size;
}
