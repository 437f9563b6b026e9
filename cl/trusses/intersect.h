/* Intersections of many pairs of rows, with the ways to do one and to divide them all.
 *
 * Purpose   For each of many *items* (arcs, removed edges) two sorted rows are intersected. Two
 *           independent macros choose how one intersection is done, and which work-items do it:
 *
 *             PYAPSP_INTERSECT 0  merge: both rows are read from their beginning, by one work-item
 *                              1  binary search: each entry of the shorter row, in the longer one
 *                              2  intersect path: the merge is a path through a grid of the two
 *                                 rows; equal parts of it are found by binary search
 *             PYAPSP_DIVIDE    0  a work-item for each item
 *                              1  PYAPSP_WIDTH neighbouring work-items for each item
 *                              2  equal numbers of entries for all work-items: each item has as
 *                                 many *units* as PYAPSP_STEP entries fit its work (two phases,
 *                                 traversal/partitioning/chunks.h)
 *
 * Layout    An intersect path of the rows 2 5 7 and 5 6 7: right for an entry of the first row, down
 *           for one of the second. A match is a step down whose entry is that of the last step
 *           right, so it is found once, wherever the path is cut:
 *
 *                2   5   7
 *             5  >---+---+---+      cut after 3 of 6 steps: 2, 5 | 5*, 6, 7, 7*
 *                        |* 5       (* matches)
 *             6          +
 *                        |   6
 *             7          +---+
 *                            |* 7
 *
 * Use       A file defines the type context_t and these functions, and then includes this header:
 *
 *             int4 rows_of(const context_t *c, int item)   where the rows a and b of an item begin
 *                                                          and end: a, end of a, b, end of b
 *             int head_a(const context_t *c, int place)    entries of the rows
 *             int head_b(const context_t *c, int place)
 *             void found(context_t *c, int a, int b)       a match, at these places
 *             void done(context_t *c, int item)            after a part of an item
 *
 *           Its kernels call intersect_items, or units_of and intersect_chunks.
 *
 * Parameters  those of traversal/partitioning/chunks.h, and
 *             PYAPSP_INTERSECT  0
 *             PYAPSP_DIVIDE     0
 *             PYAPSP_WIDTH      1  with PYAPSP_DIVIDE 1
 *             PYAPSP_STEP      16  entries of a unit, with PYAPSP_DIVIDE 2
 *
 * Source    Intersect path: O. Green, P. Yalamanchili, L. M. Munguia, fast triangle counting on the
 *           GPU, IA3 2014, doi:10.1109/IA3.2014.7. Merge and binary search: L. Wang et al., HPGP
 *           2016, doi:10.1145/2915516.2915521. Division: see chunks.h.
 */
#ifndef TRUSSES_INTERSECT_H
#define TRUSSES_INTERSECT_H
#include "traversal/partitioning/chunks.h"
#ifndef PYAPSP_INTERSECT
#define PYAPSP_INTERSECT 0
#endif
#ifndef PYAPSP_DIVIDE
#define PYAPSP_DIVIDE 0
#endif
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1
#endif
#ifndef PYAPSP_STEP
#define PYAPSP_STEP 16
#endif

#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)
#define CAPACITY (CHUNK + 2)

#if PYAPSP_INTERSECT == 1
/* The first place in [low, high) of row a (in_b: of row b) whose entry is at least x. */
static inline int at_least(const context_t *c, int low, int high, const int x, const int in_b)
{
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if ((in_b ? head_b(c, middle) : head_a(c, middle)) < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
#endif

/* One of `parts` equal parts of an intersection. */
static inline void intersect(context_t *c, const int4 rows, const int part, const int parts)
{
#if PYAPSP_INTERSECT != 0
    const int of_a = rows.y - rows.x, of_b = rows.w - rows.z;
#endif
#if PYAPSP_INTERSECT == 0
    if (part > 0)
        return;
    int i = rows.x, j = rows.z;
    while (i < rows.y && j < rows.w) {
        const int left = head_a(c, i), right = head_b(c, j);
        if (left == right)
            found(c, i, j);
        i += left <= right;
        j += right <= left;
    }
#elif PYAPSP_INTERSECT == 1
    if (of_a <= of_b) {
        int j = rows.z;
        for (int i = rows.x + part; i < rows.y && j < rows.w; i += parts) {
            const int x = head_a(c, i);
            j = at_least(c, j, rows.w, x, 1);
            if (j < rows.w && head_b(c, j) == x)
                found(c, i, j);
        }
    } else {
        int i = rows.x;
        for (int j = rows.z + part; j < rows.w && i < rows.y; j += parts) {
            const int x = head_b(c, j);
            i = at_least(c, i, rows.y, x, 0);
            if (i < rows.y && head_a(c, i) == x)
                found(c, i, j);
        }
    }
#else
    const long steps = (long)of_a + of_b;
    const int from = (int)(steps * part / parts), to = (int)(steps * (part + 1) / parts);
    /* after `from` steps the path has taken `low` entries of a: those not above their partner */
    int low = max(from - of_b, 0), high = min(from, of_a);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (head_a(c, rows.x + middle) <= head_b(c, rows.z + from - middle - 1))
            low = middle + 1;
        else
            high = middle;
    }
    int i = rows.x + low, j = rows.z + from - low;
    for (int step = from; step < to; step++) {
        if (j == rows.w || (i < rows.y && head_a(c, i) <= head_b(c, j))) {
            i++;
        } else {
            if (i > rows.x && head_a(c, i - 1) == head_b(c, j))
                found(c, i - 1, j);
            j++;
        }
    }
#endif
}

#if PYAPSP_DIVIDE < 2
/* All items from `start` on; by all work-items of the launch. */
static inline void intersect_items(context_t *c, const int start, const int items)
{
    const int warps = get_global_size(0) / PYAPSP_WIDTH;
    for (int i = get_global_id(0) / PYAPSP_WIDTH; i < items; i += warps) {
        intersect(c, rows_of(c, start + i), get_global_id(0) % PYAPSP_WIDTH, PYAPSP_WIDTH);
        done(c, start + i);
    }
}
#else
/* The number of units of an item: at most 1 + 2 longest / PYAPSP_STEP. */
static inline int units_of(const int4 rows)
{
    const int of_a = rows.y - rows.x, of_b = rows.w - rows.z;
    if (of_a == 0 || of_b == 0)
        return 0;
#if PYAPSP_INTERSECT == 1
    return (min(of_a, of_b) - 1) / PYAPSP_STEP + 1;
#else
    return (int)(((long)of_a + of_b - 1) / PYAPSP_STEP) + 1;
#endif
}

/* All units, by all groups of the launch; offsets are the sums of the units. */
static inline void intersect_chunks(context_t *c, INPUT offsets, INPUT parts, const int start,
                                    const int units, __local int *slice, __local int *owner_of)
{
    const int chunks = (units - 1) / CHUNK + 1;
    for (int chunk = get_group_id(0); chunk < chunks; chunk += get_num_groups(0)) {
        const int begin = chunk * CHUNK, count = min(CHUNK, units - begin);
        stage_owners(offsets, parts, units, chunk, slice, CAPACITY, owner_of);
        for (int p = GROUP_PLACE; p < count; p += PYAPSP_GROUP) {
            const int item = owner_of[p], first = offsets[item];
            intersect(c, rows_of(c, start + item), begin + p - first, offsets[item + 1] - first);
            done(c, start + item);
        }
        group_sync();
    }
}

/* A work-item for each chunk of units, and one for the end. */
__kernel GROUP void intersect_parts(INPUT offsets, OUTPUT parts, const int items, const int units,
                                    const int chunks)
{
    const size_t c = PLACE_OF_ALL;
    if (c <= (size_t)chunks)
        find_part(offsets, parts, c, CHUNK, items, units, OPTIMISED);
}
#endif

#endif /* TRUSSES_INTERSECT_H */
