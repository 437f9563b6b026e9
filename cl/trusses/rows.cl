/* rows: some arcs of a graph as a new graph, and the number of the edge of each arc.
 *
 * Purpose   Every method for triangles and trusses begins with rows that have only some of the arcs
 *           of other rows, in the same order. Two tests are compiled:
 *
 *             PYAPSP_BY 0  orientation: from the end with fewer arcs to the one with more, and from
 *                          the smaller vertex if both have as many. Each edge is left once, and
 *                          self-loops are left out. A vertex keeps at most sqrt(2 m) arcs
 *             PYAPSP_BY 1  arcs whose edge has a given mark: the remaining edges of a graph, or
 *                          the removed ones
 *
 *           The arcs, not the vertices, are divided among groups (two phases), so that a vertex with
 *           most of the arcs costs no more than others. rows_ids gives both arcs of an edge its
 *           number: the place of its one arc in the oriented rows.
 *
 * Layout    The edges 0-1, 0-2, 0-3 and 1-2, with 2 and 2 arcs at the ends of 1-2:
 *
 *             first      0       3     5     7 8      the arcs of v are first[v] .. first[v + 1]
 *             heads      1 2 3   0 2   0 1   0
 *             kept       . . .   x x   x .   x        orientation
 *             new first  0       0     2     3 4
 *             new heads          0 2   0     0
 *             numbers    0 2 3   0 1   2 1   3        edges; -1 for a self-loop
 *
 *           `values` gets a number for each kept arc: its tail with PYAPSP_BY 0, its edge with 1.
 *
 * Parameters  those of traversal/partitioning/chunks.h, and
 *             PYAPSP_BY  0  the test
 *
 * Cost      The heads are read twice and written once, with two reads of `first` or one of `marks`
 *           for each arc. rows_ids: a binary search in an oriented row for each arc.
 *
 * Source    Orientation: T. Schank, D. Wagner, WEA 2005, doi:10.1007/11427186_54. Two phases: see
 *           chunks.h.
 */
#include "traversal/partitioning/chunks.h"
#ifndef PYAPSP_BY
#define PYAPSP_BY 0
#endif

#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)
#define CAPACITY (CHUNK + 2)

/* Whether the edge of two vertices goes from u to v. */
static inline int goes_up(INPUT first, const int u, const int v)
{
    const int at_u = first[u + 1] - first[u], at_v = first[v + 1] - first[v];
    return at_u < at_v || (at_u == at_v && u < v);
}

static inline int is_kept(INPUT first, INPUT ids, INPUT marks, const int mark, const int u,
                          const int v, const int arc)
{
#if PYAPSP_BY == 0
    return goes_up(first, u, v);
#else
    return ids[arc] >= 0 && marks[ids[arc]] == mark;
#endif
}

/* A work-item for each chunk, and one for the end. */
__kernel GROUP void rows_parts(INPUT first, OUTPUT parts, const int n, const int m,
                               const int chunks)
{
    const size_t c = PLACE_OF_ALL;
    if (c <= (size_t)chunks)
        find_part(first, parts, c, CHUNK, n, m, OPTIMISED);
}

/* How many arcs of each chunk are kept; a group for each chunk. ids and marks are read with
 * PYAPSP_BY 1. */
__kernel GROUP void rows_count(INPUT first, INPUT heads, INPUT ids, INPUT marks, const int mark,
                               INPUT parts, OUTPUT totals, const int m)
{
    __local int slice[CAPACITY], owner_of[CHUNK], slots[WARP_SLOTS];
    const int c = get_group_id(0), begin = c * CHUNK, count = min(CHUNK, m - begin);
    stage_owners(first, parts, m, c, slice, CAPACITY, owner_of);
    int own = 0, total;
    for (int p = GROUP_PLACE; p < count; p += PYAPSP_GROUP) {
        const int arc = begin + p;
        own += is_kept(first, ids, marks, mark, owner_of[p], heads[arc], arc);
    }
    group_scan(own, &total, slots);
    if (GROUP_PLACE == 0)
        totals[c] = total;
}

/* The kept arcs; before[c] are kept before chunk c. begins and ends get the places of the first and
 * behind the last kept arc of each vertex that has arcs. */
__kernel GROUP void rows_write(INPUT first, INPUT heads, INPUT ids, INPUT marks, const int mark,
                               INPUT parts, INPUT before, OUTPUT begins, OUTPUT ends,
                               OUTPUT new_heads, OUTPUT values, const int m)
{
    __local int slice[CAPACITY], owner_of[CHUNK], slots[WARP_SLOTS];
    const int c = get_group_id(0), begin = c * CHUNK, count = min(CHUNK, m - begin);
    stage_owners(first, parts, m, c, slice, CAPACITY, owner_of);
    __local int *kept = slice;
    for (int p = GROUP_PLACE; p < count; p += PYAPSP_GROUP) {
        const int arc = begin + p;
        kept[p] = is_kept(first, ids, marks, mark, owner_of[p], heads[arc], arc);
    }
    group_sync();
    const int from = min(GROUP_PLACE * PYAPSP_EACH, count), to = min(from + PYAPSP_EACH, count);
    int own = 0, total;
    for (int p = from; p < to; p++)
        own += kept[p];
    int place = before[c] + group_scan(own, &total, slots);
    for (int p = from; p < to; p++) {
        const int arc = begin + p, u = owner_of[p];
        if (arc == first[u])
            begins[u] = place;
        if (kept[p]) {
            new_heads[place] = heads[arc];
#if PYAPSP_BY == 0
            values[place] = u;
#else
            values[place] = ids[arc];
#endif
            place++;
        }
        if (arc + 1 == first[u + 1])
            ends[u] = place;
    }
}

/* The number of kept arcs of each vertex. */
__kernel GROUP void rows_sizes(INPUT first, INPUT begins, INPUT ends, OUTPUT sizes, const int n)
{
    for (size_t v = PLACE_OF_ALL; v < (size_t)n; v += get_global_size(0))
        sizes[v] = first[v] < first[v + 1] ? ends[v] - begins[v] : 0;
}

/* The number of the edge of each arc; up and up_heads are the oriented rows. */
__kernel GROUP void rows_ids(INPUT first, INPUT heads, INPUT parts, INPUT up, INPUT up_heads,
                             OUTPUT ids, const int m)
{
    __local int slice[CAPACITY], owner_of[CHUNK];
    const int c = get_group_id(0), begin = c * CHUNK, count = min(CHUNK, m - begin);
    stage_owners(first, parts, m, c, slice, CAPACITY, owner_of);
    for (int p = GROUP_PLACE; p < count; p += PYAPSP_GROUP) {
        const int u = owner_of[p], v = heads[begin + p];
        int id = -1;
        if (u != v) {
            const int rises = goes_up(first, u, v), low = rises ? u : v, high = rises ? v : u;
            const int row = up[low];
            id = row + predecessor_global(up_heads + row, up[low + 1] - row, high);
        }
        ids[begin + p] = id;
    }
}

/* The value of the edge of each arc; 0 for self-loops. */
__kernel GROUP void rows_spread(INPUT ids, INPUT of_edges, OUTPUT of_arcs, const int m)
{
    for (size_t arc = PLACE_OF_ALL; arc < (size_t)m; arc += get_global_size(0))
        of_arcs[arc] = ids[arc] < 0 ? 0 : of_edges[ids[arc]];
}
