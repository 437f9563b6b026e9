/* truss_serial: the trussness of every edge of a small graph, by one work-item.
 *
 * Purpose   A small graph has less work than the launches of truss_peeling cost. One work-item does
 *           all of it in one launch, in five steps (k is 3 if all trusses are wanted):
 *
 *           prune   vertices with fewer than k - 1 neighbours are in no k-truss: they are removed
 *                   until none is left
 *           orient  the arcs among the vertices that are left, from lower to higher degrees, are
 *                   written; the number of an edge is the place of its arc
 *           count   a vertex marks its row; its neighbours look up their rows in the marks
 *           weed    edges in fewer than k - 2 triangles are removed. If none of them was in a
 *                   triangle, the others are the k-truss. If they are many, the triangles of the
 *                   others are counted again; otherwise the edges are peeled
 *           peel    level L removes the edges of support L, and those whose support falls to L
 *                   because of it, through a queue. They are in the (L + 2)-truss, and in no higher
 *                   one. For one truss, a single level removes all edges of support k - 3 or less.
 *
 *           A support is the number of triangles of which no edge has been removed. It is GONE after
 *           the removal of the edge. The search for the triangles of an edge ends when all are found.
 *
 * Layout    Only the peel needs rows with both arcs of an edge. Before it, the value of an arc is the
 *           number of its edge plus 1, or 0 if the edge has been removed. One of the two arcs is
 *           known. The other one is found in its row behind the last one that was found there,
 *           because edges and rows are in the order of their ends:
 *
 *             row of 0    1 2      edges 0-1, 0-2, 1-2 have the numbers 0, 1, 2
 *             row of 1    0 2      values 1 3: 0-1 wrote the first one, and then 1-2 the second one
 *             row of 2    0 1             2 3: 0-2 wrote the first one, and then 1-2 the second one
 *
 *           values     at the end m + n + 1 ints: the trussness of each arc, 0 for self-loops; for
 *                      one truss: k for its arcs, else 0, and where the rows of its arcs begin.
 *                      Behind them 3 n + 1 + 2 (m + 1) + 6 (m / 2 + 1) ints, in the order in which
 *                      truss_serial takes them; m / 2 is at least the number of edges
 *
 * Parameters  PYAPSP_AGAIN    triangles are counted again if more than one edge in so many is removed
 *                             that was in a triangle
 *
 * Cost      O(m) to prune, to orient and to write values. Each count: for each oriented arc, the row
 *           of its head. Peel: for each edge once, the shorter of its two rows, with a search in the
 *           longer one that goes on from the last place. All edges that are left are read once or
 *           twice for each level.
 *
 * Source    J. Wang, J. Cheng, Truss decomposition in massive networks, PVLDB 5(9), 2012,
 *           doi:10.14778/2311906.2311909; pruning by cores, counting again, and searches that end
 *           early: ours.
 */
#include "trusses/sought.h"

#ifndef PYAPSP_AGAIN
#define PYAPSP_AGAIN 8
#endif

#define GONE -1

/* Write the degrees among the vertices that are left, and 0 for the others. */
static void prune(__global const long *first, __global const int *heads, const int n,
                  const int least, __global int *degree, __global int *stack)
{
    int size = 0;
    for (int v = 0; v < n; v++) {
        degree[v] = (int)(first[v + 1] - first[v]);
        if (degree[v] < least) {
            degree[v] = 0;
            stack[size++] = v;
        }
    }
    while (size > 0) {
        const int v = stack[--size];
        for (long a = first[v]; a < first[v + 1]; a++) {
            const int w = heads[a];
            if (degree[w] > 0 && --degree[w] < least) {
                degree[w] = 0;
                stack[size++] = w;
            }
        }
    }
}

/* Write the oriented rows, with the tail of each arc and its place among all arcs; return their
 * number. */
static int orient(__global const long *first, __global const int *heads, const int n,
                  __global const int *degree, __global int *up, __global int *near,
                  __global int *tails, __global int *places)
{
    int size = 0;
    for (int u = 0; u < n; u++) {
        const int own = degree[u], end = own > 0 ? (int)first[u + 1] : 0;
        up[u] = size;
        /* an arc that is not kept is overwritten by the next one */
        for (int a = (int)first[u]; a < end; a++) {
            const int v = heads[a], other = degree[v];
            near[size] = v;
            tails[size] = u;
            places[size] = a;
            size += (other > own) | ((other == own) & (v > u));
        }
    }
    up[n] = size;
    return size;
}

/* Count the triangles of each edge; the marks and the supports are 0 before. A neighbour without a
 * mark counts for the edge -1: to add 0, or to add there, takes less time than to jump over it. */
static void count(__global const int *up, __global const int *near, const int n,
                  __global int *marks, __global int *supports)
{
    for (int u = 0; u < n; u++) {
        const int begin = up[u], end = up[u + 1];
        if (end - begin < 2)
            continue;
        for (int a = begin; a < end; a++)
            marks[near[a]] = a + 1;
        for (int a = begin; a < end; a++) {
            const int last = up[near[a] + 1];
            int own = 0;
            for (int b = up[near[a]]; b < last; b++) {
                const int mark = marks[near[b]], is_marked = mark > 0;
                own += is_marked;
                supports[b] += is_marked;
                supports[mark - 1]++;
            }
            supports[a] += own;
        }
        for (int a = begin; a < end; a++)
            marks[near[a]] = 0;
    }
}

/* Keep the edges with at least this support, in the same order; return their number. */
static int keep(const int least, const int size, __global int *near, __global int *tails,
                __global int *places, __global int *supports)
{
    int kept = 0;
    for (int e = 0; e < size; e++) {
        const int support = supports[e];
        near[kept] = near[e];
        tails[kept] = tails[e];
        places[kept] = places[e];
        supports[kept] = support;
        kept += support >= least;
    }
    return kept;
}

/* Write where the rows begin, from the tails of the arcs. */
static void begin_rows(__global const int *tails, const int size, const int n, __global int *up)
{
    for (int v = 0; v <= n; v++)
        up[v] = 0;
    for (int a = 0; a < size; a++)
        up[tails[a] + 1]++;
    for (int v = 0; v < n; v++)
        up[v + 1] += up[v];
}

/* Write where the rows of the truss begin: both arcs of each edge that is not GONE. */
static void begin_both(__global const int *near, __global const int *tails,
                       __global const int *supports, const int size, const int n,
                       __global int *first)
{
    for (int v = 0; v <= n; v++)
        first[v] = 0;
    for (int e = 0; e < size; e++) {
        const int is_left = supports[e] != GONE;
        first[tails[e] + 1] += is_left;
        first[near[e] + 1] += is_left;
    }
    for (int v = 0; v < n; v++)
        first[v + 1] += first[v];
}

/* Remove an edge u-v: its triangles are none of other edges any more. Edges whose support falls to
 * the level are appended to the queue; return its size. */
static inline int remove_edge(__global const int *first, __global const int *heads,
                              __global const int *ids, const int e, const int u, const int v,
                              const int level, __global int *supports, __global int *queue,
                              int size)
{
    int triangles = supports[e];
    supports[e] = GONE;
    const int2 rows = shorter_first(first, u, v);
    const int x = rows.x, y = rows.y, last = first[x + 1], end = first[y + 1];
    int b = first[y];
    /* while a triangle is missing, neither row has come to its end */
    for (int a = first[x]; a < last && triangles > 0; a++) {
        const int f = ids[a], w = heads[a];
        if (supports[f] == GONE)
            continue;
        b = sought(heads, b, end, w);
        if (heads[b] != w || supports[ids[b]] == GONE)
            continue;
        const int g = ids[b];
        if (supports[f]-- == level + 1)
            queue[size++] = f;
        if (supports[g]-- == level + 1)
            queue[size++] = g;
        triangles--;
    }
    return size;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void truss_serial(__global const long *first, __global const int *heads, const int n, const int m,
                  const int k, __global int *values)
{
    const int most = m / 2 + 1, least = (k > 0 ? k : 3) - 2;
    __global int *starts = values + m, *degree = starts + n + 1, *marks = degree + n, *up = marks + n;
    __global int *row_near = up + n + 1, *ids = row_near + m + 1;
    __global int *near = ids + m + 1, *tails = near + most, *places = tails + most;
    __global int *left = places + most, *queue = left + most, *supports = queue + most;

    prune(first, heads, n, least + 1, degree, marks);
    int size = orient(first, heads, n, degree, up, near, tails, places);
    for (int v = 0; v < n; v++)
        marks[v] = 0;

    int hurt; /* weak edges in triangles: their removal takes triangles from other edges */
    for (;;) {
        for (int e = -1; e < size; e++)
            supports[e] = 0;
        count(up, near, n, marks, supports);
        int weak = 0, zero = 0;
        for (int e = 0; e < size; e++) {
            weak += supports[e] < least;
            zero += supports[e] == 0;
        }
        hurt = max(weak - zero, 0);
        if (hurt > 0 && hurt <= size / PYAPSP_AGAIN)
            break;
        if (weak > 0)
            size = keep(least, size, near, tails, places, supports);
        if (hurt == 0)
            break;
        begin_rows(tails, size, n, up);
    }

    const int is_peeled = k == 0 || hurt > 0;
    __global int *next = degree;
    for (int v = 0; v < n; v++)
        next[v] = (int)first[v];
    for (int a = 0; a < m; a++)
        values[a] = 0;
    for (int e = 0; e < size; e++) {
        const int u = tails[e], v = near[e], value = is_peeled ? e + 1 : k;
        int back = next[v];
        while (heads[back] != u)
            back++;
        next[v] = back + 1;
        values[places[e]] = values[back] = value;
    }
    if (!is_peeled) {
        begin_both(near, tails, supports, size, n, starts);
        return;
    }

    __global int *row = up;
    int arcs = 0;
    for (int u = 0; u < n; u++) {
        row[u] = arcs;
        for (int a = (int)first[u]; a < (int)first[u + 1]; a++) {
            row_near[arcs] = heads[a];
            ids[arcs] = values[a] - 1;
            arcs += values[a] > 0;
        }
    }
    row[n] = arcs;

    __global int *trussness = places;
    int level = k > 0 ? k - 3 : 0, remaining = size;
    for (int e = 0; e < size; e++)
        left[e] = e;
    while (remaining > 0) {
        int kept = 0, weak = 0, lowest = INT_MAX;
        for (int i = 0; i < remaining; i++) {
            const int e = left[i], support = supports[e];
            if (support == GONE)
                continue;
            if (support <= level) {
                queue[weak++] = e;
            } else {
                left[kept++] = e;
                lowest = min(lowest, support);
            }
        }
        remaining = kept;
        for (int i = 0; i < weak; i++) {
            const int e = queue[i];
            trussness[e] = level + 2;
            weak = remove_edge(row, row_near, ids, e, tails[e], near[e], level, supports, queue,
                               weak);
        }
        if (k > 0)
            break;
        /* if no edge was removed, `lowest` is still the least support */
        level = weak > 0 ? level + 1 : lowest;
    }

    if (k > 0) {
        for (int a = 0; a < m; a++)
            if (values[a] > 0)
                values[a] = supports[values[a] - 1] == GONE ? 0 : k;
        begin_both(near, tails, supports, size, n, starts);
    } else {
        for (int u = 0; u < n; u++)
            for (int a = (int)first[u]; a < (int)first[u + 1]; a++)
                values[a] = values[a] > 0 ? trussness[values[a] - 1] : heads[a] == u ? 0 : 2;
    }
}
