/* The memory of a container: slots, regions, arenas, and lists of rows by class.
 *
 * A vertex has a degree and the place of its block, a slot number. Slots come in regions of
 * 2^PYAPSP_BITS, and the entry of a region tells all about the blocks in it:
 *
 *     regions[place >> PYAPSP_BITS]   x  class c of its blocks, of ROOM(c) slots, + 256 arena
 *                                     y  the first slot of the arena
 *                                     z  the first word of the Vec-Tree
 *
 * The sizes of blocks are powers of two, and 3/2 of them if the host wants those too:
 *
 *     class     0  1  2  3  4  5  6  7  ...
 *     slots     1  2  3  4  6  8 12 16
 *
 * A column of the edges (heads, weights, ...) has one buffer for each arena. Kernels get them as
 * ARENAS(type, name) and find the row of a vertex by ROW(name, region, place). Arenas that do not
 * exist have any buffer. ARENA_FIELDS and ARENA_NAMES are for a struct of them.
 *
 * A list of rows is sorted by class, so that work is divided without a search: rows of class c are
 * ROOM(c) units of work each, at least half of which are edges if the blocks are not too large, so
 * that a division finds the row of a unit. Groups take *tiles* of TILE units of one class:
 *
 *     class     0                1                    3
 *     rows      a b c d          e f                  g
 *     units     a b c d          e e f f              g g g g
 *     tiles     [0            ]  [1            ]      [2            ]
 *
 *     macro             default  meaning
 *     PYAPSP_GROUP      64       work-items of a group
 *     PYAPSP_WARP       1        width of logical warps
 *     PYAPSP_BITS       16       log2 of the slots of a region
 *     PYAPSP_ARENAS     4        arenas that kernels know: 1, which has slot 0, 4 or 16
 *     PYAPSP_TILE       1024     units of a tile
 *     PYAPSP_AHEAD      0        with groups of 1: how far ahead items are prefetched; 0 without
 *                                Clang's builtin for it
 */
#ifndef DYNAMIC_BLOCKS_H
#define DYNAMIC_BLOCKS_H
#ifndef PYAPSP_WARP
#define PYAPSP_WARP 1
#endif
#ifndef PYAPSP_BITS
#define PYAPSP_BITS 16
#endif
#ifndef PYAPSP_ARENAS
#define PYAPSP_ARENAS 4
#endif
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 1024
#endif
#include "common/group.h"
#include "common/logical_warp.h"

#define NOWHERE 0xffffffffu
/* Classes 0 to 61, and that of vertices without a block. */
#define CLASSES 63
#define NO_BLOCK 62
/* The number of slots of a block of class c, and the class of a region. */
#define ROOM(c) ((c) == 0 ? 1u : (uint)(3 - ((c) & 1)) << ((c) - 1) / 2)
#define CLASS_OF(region) ((region).x & 255)

#if PYAPSP_ARENAS == 1
#define ARENAS(type, name) __global type *name##0
#define ARENA_FIELDS(type, name) __global type *name##0;
#define ARENA_NAMES(name) name##0
#define PICK(name, a) name##0
#elif PYAPSP_ARENAS == 4
#define ARENAS(type, name)                                                                         \
    __global type *name##0, __global type *name##1, __global type *name##2, __global type *name##3
#define ARENA_FIELDS(type, name) __global type *name##0, *name##1, *name##2, *name##3;
#define ARENA_NAMES(name) name##0, name##1, name##2, name##3
#define PICK(name, a) ((a) < 2 ? (a) == 0 ? name##0 : name##1 : (a) == 2 ? name##2 : name##3)
#else
#define ARENAS(type, name)                                                                         \
    __global type *name##0, __global type *name##1, __global type *name##2,                       \
        __global type *name##3, __global type *name##4, __global type *name##5,                   \
        __global type *name##6, __global type *name##7, __global type *name##8,                   \
        __global type *name##9, __global type *name##10, __global type *name##11,                 \
        __global type *name##12, __global type *name##13, __global type *name##14,                \
        __global type *name##15
#define ARENA_FIELDS(type, name)                                                                   \
    __global type *name##0, *name##1, *name##2, *name##3, *name##4, *name##5, *name##6, *name##7,  \
        *name##8, *name##9, *name##10, *name##11, *name##12, *name##13, *name##14, *name##15;
#define ARENA_NAMES(name)                                                                          \
    name##0, name##1, name##2, name##3, name##4, name##5, name##6, name##7, name##8, name##9,      \
        name##10, name##11, name##12, name##13, name##14, name##15
#define PICK4(a, w, x, y, z) ((a) % 4 < 2 ? (a) % 4 == 0 ? w : x : (a) % 4 == 2 ? y : z)
#define PICK(name, a)                                                                              \
    ((a) < 8 ? (a) < 4 ? PICK4(a, name##0, name##1, name##2, name##3)                              \
                       : PICK4(a, name##4, name##5, name##6, name##7)                              \
             : (a) < 12 ? PICK4(a, name##8, name##9, name##10, name##11)                           \
                        : PICK4(a, name##12, name##13, name##14, name##15))
#endif
#define REGION(place) regions[(place) >> PYAPSP_BITS]
#if PYAPSP_ARENAS == 1
#define ROW(name, region, place) (name##0 + (place))
#else
#define ROW(name, region, place) (PICK(name, (region).x >> 8) + ((place) - (region).y))
#endif

/* Run over 0 .. count - 1 in pieces of a group: the same number of turns for all its work-items.
 * `i` may be count or more in the last turn. */
#if PYAPSP_GROUP == 1
/* neighbouring items: work-items do not write to the same lines of a cache */
#define PART(g, count) (uint)((ulong)(count) * (g) / get_num_groups(0))
#define FOR_ALL(i, count)                                                                          \
    for (uint i = PART(get_group_id(0), count), i##_end = PART(get_group_id(0) + 1, count);        \
         i < i##_end; i++)
#else
#define FOR_ALL(i, count)                                                                          \
    for (uint i##_ = get_group_id(0) * PYAPSP_GROUP, i = i##_ + GROUP_PLACE; i##_ < (uint)(count); \
         i##_ += get_num_groups(0) * PYAPSP_GROUP, i = i##_ + GROUP_PLACE)
#endif

/* The least class with this many slots, at least one. With `steps` 1, only powers of two. */
static inline int class_for(const uint size, const int steps)
{
    if (size == 1 || size > 1u << 31)
        return size == 1 ? 0 : NO_BLOCK;
    const int log = 32 - (int)clz(size - 1);
    return 2 * log - (steps > 1 && log > 1 && size <= 3u << (log - 2) ? 2 : 1);
}

/* A list of rows in a kernel: where the classes begin in the list, and in the tiles. */
typedef struct {
    uint rows[CLASSES + 1];
    uint tiles[CLASSES + 1];
} list_t;

/* Set a list from the number of rows of each class. */
static inline void set_list(__local list_t *list, __global const int *counts)
{
    for (int c = GROUP_PLACE; c < CLASSES; c += PYAPSP_GROUP)
        list->rows[c] = counts[c];
    group_sync();
    if (GROUP_PLACE == 0) {
        uint rows = 0, tiles = 0;
        for (int c = 0; c <= CLASSES; c++) {
            const uint own = c < CLASSES ? list->rows[c] : 0;
            list->rows[c] = rows;
            list->tiles[c] = tiles;
            rows += own;
            if (c < NO_BLOCK)
                tiles += ((ulong)own * ROOM(c) + PYAPSP_TILE - 1) / PYAPSP_TILE;
        }
    }
    group_sync();
}

static inline int class_of_tile(__local const list_t *list, const uint tile)
{
    int c = 0;
    for (int step = 32; step > 0; step /= 2)
        c += c + step < CLASSES && list->tiles[c + step] <= tile ? step : 0;
    return c;
}

/* A run: edges of one row that a work-item takes at once. */
typedef struct {
    uint r, from, to; /* the row in the list; the first edge, and behind the last */
    uint4 row;
    int c;        /* its class */
    ulong u, end; /* the next unit, and the end of the tile */
} run_t;

static inline run_t run_of_tile(const uint tile, __local const list_t *list)
{
    run_t run;
    const int c = run.c = class_of_tile(list, tile);
    const ulong first = (ulong)(tile - list->tiles[c]) * PYAPSP_TILE;
    run.end = min(first + PYAPSP_TILE, (ulong)(list->rows[c + 1] - list->rows[c]) * ROOM(c));
    run.u = first + GROUP_PLACE;
    return run;
}

/* Whether the next unit is an edge. A group of one work-item takes the rest of the row in this tile
 * at once, and goes on behind it. */
static inline int take_run(run_t *run, __local const list_t *list, __global const uint4 *rows)
{
    /* there are less than 2^32 slots; the size is a power of two, or three times one */
    const int c = run->c;
    const uint u = (uint)run->u, nth = c == 0 ? u : u >> (c - 1) / 2;
    const uint at = c == 0 ? u : c & 1 ? nth / 2 : nth / 3;
    run->r = list->rows[c] + at;
    run->row = rows[run->r];
    run->from = u - at * ROOM(c);
#if PYAPSP_GROUP == 1
    run->to = min(run->row.z, run->from + (uint)(run->end - run->u));
    run->u += ROOM(c) - 1 - run->from;
#else
    run->to = min(run->row.z, run->from + 1);
#endif
    return run->from < run->to;
}

/* Run over all edges of the rows of a list, in runs. */
#define FOR_RUNS(run, list, rows)                                                                  \
    for (uint run##_tile = get_group_id(0); run##_tile < (list)->tiles[CLASSES];                   \
         run##_tile += get_num_groups(0))                                                          \
        for (run_t run = run_of_tile(run##_tile, list); run.u < run.end; run.u += PYAPSP_GROUP)    \
            if (take_run(&run, list, rows))

#if PYAPSP_AHEAD > 0
/* The row that a group of one work-item reads soon: rows of a class may be far apart. */
static inline uint4 row_soon(const run_t *run, __local const list_t *list,
                             __global const uint4 *rows)
{
    return rows[min(run->r + PYAPSP_AHEAD / 2, list->rows[NO_BLOCK] - 1)];
}

#define PREFETCH_ROW_OF(row, name) PREFETCH(ROW(name, REGION((row).x), (row).x))
#endif

/* The place of a work-item with a flag among all of a class. Work-items of a group follow each
 * other, and groups come in any order, so that vertices that are near each other stay near. Called
 * by all work-items of a group.
 *   A group of one work-item counts its own first: class_begin, class_rank in a run over its items,
 * then class_first for the places before those of this group, which are to be added in a second
 * run. `sums` has 2 CLASSES ints of local memory. */
#if PYAPSP_GROUP == 1
static inline void class_begin(__local int *sums)
{
    for (int c = 0; c < CLASSES; c++)
        sums[c] = 0;
}

static inline int class_rank(const int flag, const int c, volatile __global int *counts,
                             __local int *sums)
{
    return flag ? sums[c]++ : 0;
}

static inline void class_first(volatile __global int *counts, __local int *sums)
{
    for (int c = 0; c < CLASSES; c++)
        sums[c] = sums[c] ? atomic_add(&counts[c], sums[c]) : 0;
}
#else
static inline int class_rank(const int flag, const int c, volatile __global int *counts,
                             __local int *sums)
{
    int rank = 0;
    for (int k = GROUP_PLACE; k < CLASSES; k += PYAPSP_GROUP)
        sums[k] = 0;
    group_sync();
    if (flag)
        rank = atomic_inc(&sums[c]);
    group_sync();
    for (int k = GROUP_PLACE; k < CLASSES; k += PYAPSP_GROUP)
        sums[CLASSES + k] = sums[k] ? atomic_add(&counts[k], sums[k]) : 0;
    group_sync();
    if (flag)
        rank += sums[CLASSES + c];
    group_sync();
    return rank;
}
#endif

#endif /* DYNAMIC_BLOCKS_H */
