/* truss_serial: the trussness of every edge of a small graph, by one work-item.
 *
 * Purpose   A small graph has less work than the launches of truss_peeling cost. One work-item does
 *           all of it in one launch, in four steps:
 *
 *           prune   vertices with fewer than k - 1 neighbours are in no k-truss: they are removed
 *                   until none is left (k is 3 if all trusses are wanted)
 *           number  edges (u, v), u < v, get numbers in the order of u and v; the arcs among the
 *                   vertices that are left are written, and once more from lower to higher degrees
 *           count   a vertex marks its oriented row; its neighbours look up their rows in the marks
 *           peel    level L removes the edges of support L, and those whose support falls to L
 *                   because of it, through a queue. They are in the (L + 2)-truss, and in no higher
 *                   one. For one truss, a single level removes all edges of support k - 3 or less.
 *
 *           A support is the number of triangles of which no edge has been removed. It is GONE after
 *           the removal of the edge. The search for the triangles of an edge ends when all are found.
 *
 * Layout    Both arcs of an edge have its number. When the row of u is written, the next number of
 *           each v < u is that of the edge (v, u), because the rows of heads are sorted:
 *
 *             row of 0    1 2      numbers 0 1
 *             row of 1    0 2 3            0 2 3      next[0] was 0
 *             row of 2    0 1              1 2        next[0] was 1, next[1] was 2
 *
 *           The places of the arcs of an edge are forth[e] and back[e]; the head of one arc is the
 *           tail of the other.
 *
 *           values     trussness of each arc, 0 for self-loops; for one truss: k for its arcs, else 0
 *           memory     5 n + 2 + 2 (m + 1) + 2 (m / 2 + 1) + 5 (m / 2) + 1 ints, in the order in
 *                      which truss_serial takes them; m / 2 is at least the number of edges
 *
 * Parameters  none
 *
 * Cost      O(m) to prune and number. For each oriented arc, the oriented row of its head. For each
 *           edge once, the shorter of its two rows, with a search in the longer one that goes on from
 *           the last place. All edges that are left are read once or twice for each level.
 *
 * Source    J. Wang, J. Cheng, Truss decomposition in massive networks, PVLDB 5(9), 2012,
 *           doi:10.14778/2311906.2311909; pruning by cores, and searches that end early: ours.
 */
#include "trusses/sought.h"

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

/* Count the triangles of each edge; the marks and the supports are 0 before. A neighbour without a
 * mark counts for the edge -1: to add 0, or to add there, takes less time than to jump over it. */
static void count(__global const int *first, __global const int *heads, __global const int *ids,
                  const int n, __global int *marks, __global int *supports)
{
    for (int u = 0; u < n; u++) {
        const int begin = first[u], end = first[u + 1];
        if (end - begin < 2)
            continue;
        for (int a = begin; a < end; a++)
            marks[heads[a]] = ids[a] + 1;
        for (int a = begin; a < end; a++) {
            const int last = first[heads[a] + 1];
            int own = 0;
            for (int b = first[heads[a]]; b < last; b++) {
                const int mark = marks[heads[b]], is_marked = mark > 0;
                own += is_marked;
                supports[ids[b]] += is_marked;
                supports[mark - 1]++;
            }
            supports[ids[a]] += own;
        }
        for (int a = begin; a < end; a++)
            marks[heads[a]] = 0;
    }
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
    const int rising = first[u + 1] - first[u] <= first[v + 1] - first[v];
    const int x = rising ? u : v, y = rising ? v : u, last = first[x + 1], end = first[y + 1];
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
                  const int k, __global int *memory, __global int *values)
{
    const int most = m / 2;
    __global int *degree = memory, *next = degree + n, *marks = next + n;
    __global int *row = marks + n, *up = row + n + 1;
    __global int *near = up + n + 1, *ids = near + m + 1;
    __global int *up_near = ids + m + 1, *up_ids = up_near + most + 1;
    __global int *forth = up_ids + most + 1, *back = forth + most, *supports = back + most + 1;
    __global int *left = supports + most, *queue = left + most;

    prune(first, heads, n, (k > 0 ? k : 3) - 1, degree, marks);

    const int lost = k > 0 ? 0 : 2;
    int edges = 0, size = 0, arcs = 0, up_arcs = 0;
    for (int u = 0; u < n; u++) {
        const int own = degree[u], end = (int)first[u + 1];
        int a = (int)first[u];
        row[u] = arcs;
        up[u] = up_arcs;
        marks[u] = 0;
        /* an arc that is not kept is overwritten by the next one */
        for (; a < end && heads[a] < u; a++) {
            const int v = heads[a], id = next[v]++, other = own > 0 ? degree[v] : 0;
            values[a] = lost;
            back[id] = a;
            near[arcs] = up_near[up_arcs] = v;
            ids[arcs] = up_ids[up_arcs] = id;
            arcs += other > 0;
            up_arcs += other > own;
        }
        if (a < end && heads[a] == u)
            values[a++] = 0;
        next[u] = edges;
        for (; a < end; a++, edges++) {
            const int v = heads[a], other = own > 0 ? degree[v] : 0;
            values[a] = lost;
            forth[edges] = a;
            near[arcs] = up_near[up_arcs] = v;
            ids[arcs] = up_ids[up_arcs] = left[size] = edges;
            supports[edges] = 0;
            arcs += other > 0;
            up_arcs += other > 0 && other >= own;
            size += other > 0;
        }
    }
    row[n] = arcs;
    up[n] = up_arcs;

    supports[-1] = 0;
    count(up, up_near, up_ids, n, marks, supports);

    int level = k > 0 ? k - 3 : 0;
    while (size > 0) {
        int kept = 0, weak = 0, lowest = INT_MAX;
        for (int i = 0; i < size; i++) {
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
        size = kept;
        for (int i = 0; i < weak; i++) {
            const int e = queue[i], u = heads[back[e]], v = heads[forth[e]];
            if (k == 0)
                values[forth[e]] = values[back[e]] = level + 2;
            weak = remove_edge(row, near, ids, e, u, v, level, supports, queue, weak);
        }
        if (k > 0)
            break;
        /* if no edge was removed, `lowest` is still the least support */
        level = weak > 0 ? level + 1 : lowest;
    }
    for (int i = 0; k > 0 && i < size; i++)
        if (supports[left[i]] != GONE)
            values[forth[left[i]]] = values[back[left[i]]] = k;
}
