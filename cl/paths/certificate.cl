/* certificate: checks the distances and the predecessors of a graph.
 *
 * Purpose   That distances are right can be checked much faster than they can be computed. For
 *           every row i:
 *             1. d(i, i) = 0;
 *             2. no arc gives a shorter path: d(i, j) <= d(i, k) + w(k, j) for every arc (k, j);
 *             3. every finite d(i, j) is the length of a walk from i over tight arcs (those with
 *                equality in 2).
 *           1 and 2 mean that no distance is too long, 3 that none is too short.
 *
 * Layout    rows: count x n values, row r being the distances from vertex sources[r].
 *           The arcs that *enter* j: entering[entry[j] .. entry[j + 1]] with their weights.
 *
 *           certificate_relax    one work-item per (r, j): checks 1 and 2, and whether some tight
 *                                arc enters j. Where all weights are positive that is 3 already:
 *                                backwards along tight arcs distances decrease strictly, so the
 *                                walk ends at i.
 *           certificate_attain   one work-item per (r, j), launched until nothing changes: marks j
 *                                when a tight arc from a marked vertex enters it. Needed with
 *                                weights <= 0, where tight arcs can form a cycle.
 *           certificate_walk     one work-item per (r, j): walks the predecessors from j to i over
 *                                existing, tight arcs, in at most n steps.
 *
 *           Groups have any width; work-items with j >= n do nothing.
 *
 *           A fault of kind c in row r is reported as the smallest j in fault[c * count + r].
 *           A comparison of a with b has the tolerance relative * (|a| + |b|) + absolute for
 *           rounding; both are 0 if sums are exact.
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1, and
 *             PYAPSP_SLACK  PYAPSP_VALUE  the type of the tolerance: wider than half, in which |a|
 *                                         + |b| may be infinite
 *
 * Cost      n m + n^2 steps per launch over all rows; certificate_walk n^2 times the hops.
 *
 * Source    The optimality conditions of shortest paths in textbooks, e.g. Ahuja, Magnanti and
 *           Orlin, Network Flows, 1993, section 5.2.
 */
#include "common/types.h"

#ifndef PYAPSP_SLACK
#define PYAPSP_SLACK PYAPSP_VALUE
#endif
typedef PYAPSP_SLACK slack_t;

#define FAULT_DIAGONAL 0
#define FAULT_SHORTCUT 1
#define FAULT_UNATTAINED 2
#define FAULT_PREDECESSOR 3
#define NO_PREDECESSOR (-9999)

#define REPORT(kind, r, j) atomic_min(&fault[(kind) * count + (r)], (int)(j))

static inline slack_t magnitude(const value_t x)
{
    return x < 0 ? -x : x;
}

/* Whether a is below b by more than rounding; b may be infinite. */
static inline int below(const value_t a, const value_t b, const slack_t relative,
                        const slack_t absolute)
{
#if PYAPSP_INTEGER
    return a < b;
#else
    return isinf(b) ? a < b : a < b - (relative * (magnitude(a) + magnitude(b)) + absolute);
#endif
}

/* Whether the arc from a vertex at finite distance before gives the distance after. */
static inline int tight(const value_t before, const value_t weight, const value_t after,
                        const slack_t relative, const slack_t absolute)
{
    const value_t sum = before + weight;
    return !below(sum, after, relative, absolute) && !below(after, sum, relative, absolute);
}

/* The column j and the row r of a work-item. */
#define PLACE                                                                                      \
    const int j = get_global_id(0), r = get_global_id(1);                                          \
    if (j >= n)                                                                                    \
    return

__kernel void certificate_relax(__global const value_t *rows, __global const int *sources,
                                __global const long *entry,
                                __global const int *entering, __global const value_t *weights,
                                __global int *fault, const int n, const int count,
                                const slack_t relative, const slack_t absolute)
{
    PLACE;
    __global const value_t *row = rows + (size_t)r * n;
    const value_t here = row[j];
    int attained = (here == PYAPSP_INFINITY);
    /* values that are no distance: NaN, -infinity, an integer above infinity */
    if (!(here <= PYAPSP_INFINITY && here + PYAPSP_INFINITY > 0))
        REPORT(FAULT_UNATTAINED, r, j);
    for (long a = entry[j]; a < entry[j + 1]; a++) {
        const value_t before = row[entering[a]];
        if (before == PYAPSP_INFINITY)
            continue;
        if (below(before + weights[a], here, relative, absolute))
            REPORT(FAULT_SHORTCUT, r, j);
        attained |= tight(before, weights[a], here, relative, absolute);
    }
    if (j == sources[r]) {
        if (here != 0)
            REPORT(FAULT_DIAGONAL, r, j);
    } else if (!attained)
        REPORT(FAULT_UNATTAINED, r, j);
}

/* marked[r, j]: 0 or 1. Another work-item of the launch may set a mark while it is read here. Then
 * the mark is seen in this launch or in the next one, which *changed requests. */
__kernel void certificate_attain(__global const value_t *rows, __global const long *entry,
                                 __global const int *entering, __global const value_t *weights,
                                 __global int *marked, __global int *changed, const int n,
                                 const slack_t relative, const slack_t absolute)
{
    PLACE;
    __global const value_t *row = rows + (size_t)r * n;
    __global int *marks = marked + (size_t)r * n;
    if (row[j] == PYAPSP_INFINITY || atomic_or(&marks[j], 0))
        return;
    for (long a = entry[j]; a < entry[j + 1]; a++) {
        const int k = entering[a];
        /* a marked vertex is at a finite distance */
        if (atomic_or(&marks[k], 0) && tight(row[k], weights[a], row[j], relative, absolute)) {
            atomic_or(&marks[j], 1);
            atomic_or(changed, 1);
            return;
        }
    }
}

__kernel void certificate_unmarked(__global const value_t *rows, __global const int *marked,
                                   __global int *fault, const int n, const int count)
{
    PLACE;
    const size_t rj = (size_t)r * n + j;
    if (rows[rj] != PYAPSP_INFINITY && !marked[rj])
        REPORT(FAULT_UNATTAINED, r, j);
}

__kernel void certificate_walk(__global const value_t *rows, __global const int *sources,
                               __global const int *predecessors,
                               __global const long *entry, __global const int *entering,
                               __global const value_t *weights, __global int *fault, const int n,
                               const int count, const slack_t relative, const slack_t absolute)
{
    PLACE;
    __global const value_t *row = rows + (size_t)r * n;
    __global const int *before = predecessors + (size_t)r * n;
    const int source = sources[r];
    int sound = 1;
    if (j == source || row[j] == PYAPSP_INFINITY) {
        sound = (before[j] == NO_PREDECESSOR);
    } else {
        /* the last arc exists and is tight: binary search among the arcs that enter j */
        const int last = before[j];
        long low = entry[j], high = entry[j + 1];
        while (low < high) {
            const long middle = (low + high) / 2;
            if (entering[middle] < last)
                low = middle + 1;
            else
                high = middle;
        }
        sound = last >= 0 && last < n && low < entry[j + 1] && entering[low] == last
                && row[last] != PYAPSP_INFINITY
                && tight(row[last], weights[low], row[j], relative, absolute);
        /* and the predecessors lead to the source */
        int vertex = j;
        for (int step = 0; step < n && vertex != source && vertex >= 0 && vertex < n; step++)
            vertex = before[vertex];
        sound = sound && vertex == source;
    }
    if (!sound)
        REPORT(FAULT_PREDECESSOR, r, j);
}
