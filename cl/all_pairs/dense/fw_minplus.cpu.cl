/* fw-minplus for CPUs: blocked Floyd-Warshall as one min-plus product on packed panels.
 *
 * Purpose   A core adds and compares at full speed only if its operands come from the first-level
 *           cache, in the order in which they are used. So all the work is done by one micro-kernel
 *           with ROWS x (STRIPS x WIDTH) accumulators in registers. The panels that it reads are
 *           packed in its order once per round.
 *
 * Layout    distances: size x size values in rows of `columns` values; vertices past n are isolated.
 *           If a row is a multiple of 2 KiB, the values of a column share few sets of the caches.
 *           Then `columns` is one cache line more than `size`.
 *           Slab r of left factors is ROWS rows of the matrix, slab s of right factors is
 *           SPAN = STRIPS * WIDTH columns; both are stored with k as the slowest index:
 *
 *                       k0       k0 + depth          left[r]  = | ROWS values, k = k0     |
 *               . . . | c c c c | . .                           | ROWS values, k = k0 + 1 |  ...
 *               ------+---------+----
 *            k0 r r r |  pivot  | r r                right[s] = | SPAN values, k = k0     |
 *               r r r |         | r r                           | SPAN values, k = k0 + 1 |  ...
 *               ------+---------+----
 *               . . . | c c c c | . .                depth steps each
 *
 *           Round k0, three launches once the pivot block is closed:
 *               fw_minplus_pack       the closed pivot as left and as right slabs
 *               fw_minplus_panels     r <- pivot (x) r and c <- c (x) pivot; both are packed, too
 *               fw_minplus_remainder  all others: D <- min(D, c (x) r), from the packed panels
 *           A pivot block is closed by rounds over its tiles; a small matrix is one pivot block.
 *           These launches are short, so few of them are made:
 *               fw_minplus_rows       closes a tile; r <- tile (x) r, stored packed only
 *               fw_minplus_pass       all rows: D <- min(D, old c (x) r); if there are enough rows,
 *                                     one group at the same time does for the next tile what
 *                                     fw_minplus_rows did for the first
 *           A matrix of one tile has one launch, fw_minplus_close.
 *
 *           One work-item per group, no barriers. Panels are computed in place, in the matrix or
 *           packed, which is safe because one group writes all of its slab.
 *
 * Parameters  those of common/types.h and common/semiring.h, and
 *             PYAPSP_ROWS        4  rows of the register block: 1, 2, 4, 6, 8 or 12
 *             PYAPSP_STRIPS      2  vectors in a row of it: 1, 2, 3 or 4
 *             PYAPSP_UNROLL      4  steps of k written out: 1, 2 or 4; a divisor of every depth
 *             PYAPSP_STEP        4  pivots of a round inside a tile: a multiple of ROWS and of UNROLL
 *             PYAPSP_BLOCK     256  the largest depth
 *             PYAPSP_GROUP_ROWS  96  rows of the matrix in a part of the remainder, a multiple of
 *                                    ROWS: GROUP_ROWS x depth left values should fit in the
 *                                    second-level cache
 *             PYAPSP_GROUP_COLUMNS 64  columns, a multiple of SPAN
 *             PYAPSP_PREFETCH    0  1 where the compiler has Clang's builtin for prefetching; some
 *                                    compilers ignore prefetch() of OpenCL C
 *
 *           While a register block is computed, the next one, or the first of the next panel, is
 *           prefetched. Its rows are far apart in memory, so that the hardware does not prefetch
 *           them.
 *
 * Cost      n^3 updates, 2 n values packed for each step of k, and the tiles closed, by every core
 *           or by one. A step of the micro-kernel is ROWS + STRIPS loads for ROWS x STRIPS vector
 *           additions and minima.
 *
 * Source    Blocked Floyd-Warshall as in Katz and Kider, Graphics Hardware 2008, with panels as
 *           products with the closed pivot as in K. Matsumoto, N. Nakasato and S. Sedukhin, Blocked
 *           united algorithm for the all-pairs shortest paths problem on hybrid CPU-GPU systems,
 *           2012, doi:10.1587/transinf.E95.D.2759; register and cache blocking as in K. Goto and R.
 *           A. van de Geijn, Anatomy of high-performance matrix multiplication, ACM TOMS 34(3),
 *           2008, doi:10.1145/1356052.1356053. Closed rows times old columns as in Buluc, Gilbert
 *           and Budak, Solving path problems on the GPU, Parallel Computing 36, 2010,
 *           doi:10.1016/j.parco.2009.12.002.
 */
#ifndef PYAPSP_ROWS
#define PYAPSP_ROWS 4
#endif
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 2
#endif
#ifndef PYAPSP_UNROLL
#define PYAPSP_UNROLL 4
#endif
#ifndef PYAPSP_STEP
#define PYAPSP_STEP 4
#endif
#ifndef PYAPSP_BLOCK
#define PYAPSP_BLOCK 256
#endif
#ifndef PYAPSP_GROUP_ROWS
#define PYAPSP_GROUP_ROWS 96
#endif
#ifndef PYAPSP_GROUP_COLUMNS
#define PYAPSP_GROUP_COLUMNS 64
#endif
#ifndef PYAPSP_PREFETCH
#define PYAPSP_PREFETCH 0
#endif

#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/dense/each_row.h"

#define ROWS PYAPSP_ROWS
#define SPAN (PYAPSP_STRIPS * PYAPSP_WIDTH)
#define ALONE __attribute__((reqd_work_group_size(1, 1, 1)))

/* Statements for each strip of a row of the register block. The accumulators are separate
 * variables, sum_<row>_<strip>, for the reason in each_row.h. */
#if PYAPSP_STRIPS == 1
#define EACH_STRIP(DO, r) DO(r, 0)
#elif PYAPSP_STRIPS == 2
#define EACH_STRIP(DO, r) DO(r, 0) DO(r, 1)
#elif PYAPSP_STRIPS == 3
#define EACH_STRIP(DO, r) DO(r, 0) DO(r, 1) DO(r, 2)
#elif PYAPSP_STRIPS == 4
#define EACH_STRIP(DO, r) DO(r, 0) DO(r, 1) DO(r, 2) DO(r, 3)
#else
#error "PYAPSP_STRIPS must be 1, 2, 3 or 4"
#endif

/* The micro-kernel: ROWS x SPAN values at `block`, rows `columns` apart, <- min(these values, left
 * (x) right). It is a macro because `right` may be in local or in global memory. After it the
 * values are in the matrix and still in sum_<row>_<strip>. */
#define LOAD_ONE(r, s)                                                                             \
    strip_t sum_##r##_##s =                                                                        \
        STRIP(__global const, block + (size_t)(r) * columns + (s) * PYAPSP_WIDTH);
#define LOAD_ROW(r) EACH_STRIP(LOAD_ONE, r)
#define STORE_ONE(r, s)                                                                            \
    STRIP(__global, block + (size_t)(r) * columns + (s) * PYAPSP_WIDTH) = sum_##r##_##s;
#define STORE_ROW(r) EACH_STRIP(STORE_ONE, r)
/* The block after (i, j): a group goes down the rows [top, bottom), then to the next columns. */
#define NEXT(i, bottom, top, j)                                                                    \
    (distances + (size_t)((i) + ROWS < (bottom) ? (i) + ROWS : (top)) * columns +                  \
     ((i) + ROWS < (bottom) ? (j) : (j) + SPAN))
#if PYAPSP_PREFETCH
#define FETCH_ONE(r, s)                                                                            \
    __builtin_prefetch(                                                                            \
        (__global const void *)(next + (size_t)(r) * columns + (s) * PYAPSP_WIDTH), 1, 3);
#else
#define FETCH_ONE(r, s)
#endif
#define FETCH_ROW(r) EACH_STRIP(FETCH_ONE, r)
#define RIGHT_ONE(r, s)                                                                            \
    const strip_t right_##s = STRIP(RIGHT_SPACE const, right_at + (s) * PYAPSP_WIDTH);
#define UPDATE_ONE(r, s)                                                                           \
    {                                                                                              \
        const strip_t candidate = extend(first, right_##s);                                        \
        sum_##r##_##s = SHORTER(candidate, sum_##r##_##s);                                         \
    }
#define UPDATE_ROW(r)                                                                              \
    {                                                                                              \
        const value_t first = LEFT_AT(r);                                                          \
        EACH_STRIP(UPDATE_ONE, r)                                                                  \
    }
#define STEP                                                                                       \
    {                                                                                              \
        EACH_STRIP(RIGHT_ONE, 0)                                                                   \
        EACH_ROW(UPDATE_ROW)                                                                       \
        left_at += LEFT_STEP;                                                                      \
        right_at += SPAN;                                                                          \
    }
#if PYAPSP_UNROLL == 1
#define STEPS STEP
#elif PYAPSP_UNROLL == 2
#define STEPS STEP STEP
#elif PYAPSP_UNROLL == 4
#define STEPS STEP STEP STEP STEP
#else
#error "PYAPSP_UNROLL must be 1, 2 or 4"
#endif

/* Three functions, because the right slab may be in local memory, and the left factor may be in
 * rows, `pitch` values apart. */
#define RIGHT_SPACE __global
#define LEFT_AT(r) left_at[r]
#define LEFT_STEP ROWS
static inline void multiply(__global value_t *block, __global const value_t *next,
                            const int columns, __global const value_t *left_at,
                            __global const value_t *right_at, const int depth)
{
    EACH_ROW(LOAD_ROW)
    EACH_ROW(FETCH_ROW)
    for (int k = 0; k < depth; k += PYAPSP_UNROLL) {
        STEPS
    }
    EACH_ROW(STORE_ROW)
}

#undef LEFT_AT
#undef LEFT_STEP
#define LEFT_AT(r) left_at[(size_t)(r) * pitch]
#define LEFT_STEP 1
static inline void multiply_column(__global value_t *block, __global const value_t *next,
                                   const int columns, __global const value_t *left_at,
                                   const int pitch, __global const value_t *right_at,
                                   const int depth)
{
    EACH_ROW(LOAD_ROW)
    EACH_ROW(FETCH_ROW)
    for (int k = 0; k < depth; k += PYAPSP_UNROLL) {
        STEPS
    }
    EACH_ROW(STORE_ROW)
}
#undef RIGHT_SPACE
#undef LEFT_AT
#undef LEFT_STEP
#define RIGHT_SPACE __local
#define LEFT_AT(r) left_at[r]
#define LEFT_STEP ROWS
#define PACK_ONE(r, s) STRIP(__global, packed + (r) * SPAN + (s) * PYAPSP_WIDTH) = sum_##r##_##s;
#define PACK_ROW(r) EACH_STRIP(PACK_ONE, r)
static inline void multiply_row(__global value_t *block, const int columns,
                                __global const value_t *left_at, __local const value_t *right_at,
                                const int depth, __global value_t *packed)
{
    __global const value_t *next = block + SPAN; /* of the next group */
    (void)next; /* the last strips of some forms fetch nothing */
    EACH_ROW(LOAD_ROW)
    EACH_ROW(FETCH_ROW)
    for (int k = 0; k < depth; k += PYAPSP_UNROLL) {
        STEPS
    }
    EACH_ROW(STORE_ROW)
    EACH_ROW(PACK_ROW)
}
#undef RIGHT_SPACE

/* A left slab from ROWS rows of `depth` values. With the rows written out, compilers make faster
 * code. */
#define PACK_STEP(r) slab[k * ROWS + r] = rows[(size_t)(r) * pitch + k];
static inline void pack_rows(__global value_t *slab, __global const value_t *rows, const int pitch,
                             const int depth)
{
    for (int k = 0; k < depth; k++) {
        EACH_ROW(PACK_STEP)
    }
}

/* Floyd-Warshall with `depth` pivots from k0 on, for the rows of these pivots. */
static inline void close_rows(__global value_t *matrix, const int size, const int k0,
                              const int depth)
{
    for (int k = k0; k < k0 + depth; k++) {
        __global const value_t *right = matrix + (size_t)k * size;
        for (int i = k0; i < k0 + depth; i++) {
            __global value_t *row = matrix + (size_t)i * size;
            const value_t first = row[k];
            for (int j = 0; j < size; j += PYAPSP_WIDTH) {
                const strip_t candidate = extend(first, STRIP(__global const, right + j));
                const strip_t current = STRIP(__global const, row + j);
                STRIP(__global, row + j) = SHORTER(candidate, current);
            }
        }
    }
}

/* The rows [low, high) <- min(these rows, their values in the pivot columns (x) the closed pivot
 * rows). The columns need not be closed: the closed rows have the shortest paths from a pivot
 * through all pivots, so a path through several pivots is an arc to the first one and a closed
 * row. */
static inline void pass_pivots(__global value_t *matrix, const int size, const int k0,
                               const int depth, const int low, const int high,
                               __global value_t *slab)
{
    for (int j = 0; j < size; j += SPAN) {
        for (int k = 0; k < depth; k++)
            for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
                STRIP(__global, slab + k * SPAN + s) =
                    STRIP(__global const, matrix + (size_t)(k0 + k) * size + j + s);
        for (int i = low; i < high; i += ROWS) {
            if (i >= k0 && i < k0 + depth)
                continue;
            __global value_t *rows = matrix + (size_t)i * size;
            multiply_column(rows + j, rows + (size_t)ROWS * size + j, size, rows + k0, size, slab,
                            depth);
        }
    }
}

/* Closes a matrix of one tile. One group; `slab` has the size of STEP rows of a slab. */
__kernel ALONE void fw_minplus_close(__global value_t *distances, const int size,
                                     __global value_t *slab)
{
    for (int k = 0; k < size; k += PYAPSP_STEP) {
        close_rows(distances, size, k, PYAPSP_STEP);
        pass_pivots(distances, size, k, PYAPSP_STEP, 0, size, slab);
    }
}

/* Rounds inside a pivot block, the rows and columns [low, high). First the rows of the pivot tile
 * are closed and packed as right slabs, the tile itself among them. `tile` has the size of the tile
 * and of STEP rows of a slab. Every `step`-th slab from `part` on is computed. */
static inline void close_tile(__global const value_t *distances, const int columns, const int k0,
                              const int depth, const int low, const int high,
                              __global value_t *tile, const int part, const int step,
                              __global value_t *right)
{
    __global value_t *slab = tile + (size_t)depth * depth;
    __global const value_t *rows = distances + (size_t)k0 * columns;
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < depth; j += PYAPSP_WIDTH)
            STRIP(__global, tile + (size_t)k * depth + j) =
                STRIP(__global const, rows + (size_t)k * columns + k0 + j);
    for (int k = 0; k < depth; k += PYAPSP_STEP) {
        close_rows(tile, depth, k, PYAPSP_STEP);
        pass_pivots(tile, depth, k, PYAPSP_STEP, 0, depth, slab);
    }
    for (int column = low + part * SPAN; column < high; column += step * SPAN) {
        __global value_t *packed = right + (size_t)(column - low) * depth;
        for (int k = 0; k < depth; k++)
            for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
                STRIP(__global, packed + k * SPAN + s) =
                    STRIP(__global const, rows + (size_t)k * columns + column + s);
        /* A value that is read may be new already. Then it has a path through the closed pivot,
         * so the minimum is the same. */
        for (int i = 0; i < depth; i += ROWS)
            multiply_column(packed + i * SPAN, packed + (i + ROWS) * SPAN, SPAN,
                            tile + (size_t)i * depth, depth, packed, depth);
    }
}

/* Then the rows [first, last). Those of the pivot tile are copied from the packed slabs; the others
 * are updated with the product of their old pivot columns and these slabs. */
static inline void pass_tile(__global value_t *distances, const int columns, const int k0,
                             const int depth, const int low, const int high, const int first,
                             const int last, __global value_t *left, __global const value_t *right)
{
    for (int i = first; i < last; i += ROWS)
        pack_rows(left + (size_t)i * depth, distances + (size_t)i * columns + k0, columns, depth);
    for (int j = low; j < high; j += SPAN) {
        __global const value_t *slab = right + (size_t)(j - low) * depth;
        for (int i = first; i < last; i += ROWS) {
            __global value_t *block = distances + (size_t)i * columns + j;
            if (i < k0 || i >= k0 + depth) {
                multiply(block, NEXT(i, last, first, j), columns, left + (size_t)i * depth, slab,
                         depth);
                continue;
            }
            for (int r = 0; r < ROWS; r++)
                for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
                    STRIP(__global, block + (size_t)r * columns + s) =
                        STRIP(__global const, slab + (i - k0 + r) * SPAN + s);
        }
    }
}

/* Every group closes the tile itself, in its own part of `tiles`, instead of waiting for another
 * group. Then the slabs are shared among the groups. */
__kernel ALONE void fw_minplus_rows(__global const value_t *distances, const int columns,
                                    const int k0, const int depth, const int low, const int high,
                                    __global value_t *tiles, __global value_t *right)
{
    const int part = (int)get_group_id(0);
    close_tile(distances, columns, k0, depth, low, high,
               tiles + part * (size_t)(depth * depth + PYAPSP_STEP * SPAN), part,
               (int)get_num_groups(0), right);
}

/* The next tile has `ahead` rows after this one; 0 if there is none. One group updates these rows
 * and closes the next tile, while the others update the other rows, `stripe` of them each. That
 * group has the middle number, because runtimes give the first half of the groups to the first
 * thread. */
__kernel ALONE void fw_minplus_pass(__global value_t *distances, const int columns, const int k0,
                                    const int depth, const int low, const int high,
                                    const int stripe, __global value_t *left,
                                    __global const value_t *right, const int ahead,
                                    __global value_t *tiles, __global value_t *next_right)
{
    const int next = k0 + depth;
    const int closing = ahead ? ((int)get_num_groups(0) + 1) / 2 : (int)get_num_groups(0);
    int group = (int)get_group_id(0);
    if (group == closing) {
        pass_tile(distances, columns, k0, depth, low, high, next, next + ahead, left, right);
        close_tile(distances, columns, next, ahead, low, high, tiles, 0, 1, next_right);
        return;
    }
    group -= group > closing;
    /* rows are counted without those of the next tile */
    const int first = low + group * stripe, last = min(first + stripe, high - ahead);
    pass_tile(distances, columns, k0, depth, low, high, first, min(last, next), left, right);
    pass_tile(distances, columns, k0, depth, low, high, max(first, next) + ahead, last + ahead,
              left, right);
}

/* The closed pivot as left slabs and as right slabs. depth / ROWS + depth / SPAN groups. The
 * numbers of parts that the next launches have begun become 0. */
__kernel ALONE void fw_minplus_pack(__global const value_t *distances, const int columns,
                                    const int k0, const int depth, __global value_t *pivot_left,
                                    __global value_t *pivot_right, __global int *begun)
{
    const int slabs = depth / ROWS;
    const int group = get_group_id(0);
    if (group == 0)
        begun[0] = begun[1] = begun[2] = 0;
    __global const value_t *corner = distances + (size_t)k0 * columns + k0;
    if (group < slabs) {
        const size_t row = (size_t)group * ROWS;
        pack_rows(pivot_left + row * depth, corner + row * columns, columns, depth);
    } else {
        const int column = (group - slabs) * SPAN;
        __global value_t *slab = pivot_right + (size_t)column * depth;
        for (int k = 0; k < depth; k++)
            for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
                STRIP(__global, slab + k * SPAN + s) =
                    STRIP(__global const, corner + (size_t)k * columns + column + s);
    }
}

/* The next two launches have a group for each core, and many parts. A group that is ready takes
 * several neighbouring parts, because neighbours have cache lines in common: a quarter of its share
 * of the parts that no group has begun. With a group for each part, the runtime would share them
 * out. PoCL gives a core its whole share at once, so that a slow core would be late. */
static inline int take(__global int *begun, const int count, int *part, int *end)
{
    const int some = max((count - atomic_or(begun, 0)) / (4 * (int)get_num_groups(0)), 1);
    *part = atomic_add(begun, some);
    *end = min(*part + some, count);
    return *part < count;
}
#define FOR_PARTS(part, begun, count)                                                              \
    for (int part = 0, end = 0; part < end || take(begun, count, &part, &end); part++)

/* A right slab of the panels of the pivot, in the matrix and packed. */
static inline void right_panel(__global value_t *distances, const int columns, const int k0,
                               const int depth, const int column,
                               __global const value_t *pivot_left, __local value_t *old,
                               __global value_t *packed)
{
    __global value_t *panel = distances + (size_t)k0 * columns + column;
    for (int k = 0; k < depth; k++)
        for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
            STRIP(__local, old + k * SPAN + s) =
                STRIP(__global const, panel + (size_t)k * columns + s);
    for (int i = 0; i < depth; i += ROWS)
        multiply_row(panel + (size_t)i * columns, columns, pivot_left + (size_t)i * depth, old,
                     depth, packed + i * SPAN);
}

/* A left slab of them. */
static inline void left_panel(__global value_t *distances, const int columns, const int k0,
                              const int depth, const int row,
                              __global const value_t *pivot_right, __global value_t *packed)
{
    __global value_t *panel = distances + (size_t)row * columns + k0;
    /* A value that is read may be new already. Then it has a path through the closed pivot,
     * so the minimum is the same. */
    for (int j = 0; j < depth; j += SPAN)
        multiply_column(panel + j, panel + (size_t)ROWS * columns + j, columns, panel, columns,
                        pivot_right + (size_t)j * depth, depth);
    pack_rows(packed, panel, columns, depth);
}

/* The panels of the pivot. A part is a right slab of the columns or a left slab of the rows. Right
 * slabs come first, because they are several times as much work. */
__kernel ALONE void fw_minplus_panels(__global value_t *distances, const int columns, const int k0,
                                      const int depth, const int size,
                                      __global const value_t *pivot_left,
                                      __global const value_t *pivot_right, __global value_t *left,
                                      __global value_t *right, __global int *begun)
{
    __local STRIP_ALIGNED value_t old[PYAPSP_BLOCK * SPAN];
    const int slabs = size / SPAN;
    FOR_PARTS(part, begun, slabs + size / ROWS)
    {
        const int at = part < slabs ? part * SPAN : (part - slabs) * ROWS;
        if (at >= k0 && at < k0 + depth)
            continue;
        if (part < slabs)
            right_panel(distances, columns, k0, depth, at, pivot_left, old,
                        right + (size_t)at * depth);
        else
            left_panel(distances, columns, k0, depth, at, pivot_right, left + (size_t)at * depth);
    }
}

/* A part of the remainder: GROUP_COLUMNS x GROUP_ROWS values. A right slab stays in the first-level
 * cache while it is combined with each left slab. It is not inlined, because one compiler makes
 * slower code of the micro-kernel inside the loop over parts. */
static __attribute__((noinline)) void remainder_part(__global value_t *distances,
                                                     const int columns, const int k0,
                                                     const int depth, const int size,
                                                     const int column, const int row,
                                                     __global const value_t *left,
                                                     __global const value_t *right)
{
    const int bottom = min(row + PYAPSP_GROUP_ROWS, size);
    for (int j = column; j < min(column + PYAPSP_GROUP_COLUMNS, size); j += SPAN) {
        if (j >= k0 && j < k0 + depth)
            continue;
        for (int i = row; i < bottom; i += ROWS) {
            if (i >= k0 && i < k0 + depth)
                continue;
            multiply(distances + (size_t)i * columns + j, NEXT(i, bottom, row, j), columns,
                     left + (size_t)i * depth, right + (size_t)j * depth, depth);
        }
    }
}

/* All values outside the panels, in rows of parts `first` to `last` - 1. Launches count in turns
 * in one of two numbers, and set that of the next launch to 0. */
__kernel ALONE void fw_minplus_remainder(__global value_t *distances, const int columns,
                                         const int k0, const int depth, const int size,
                                         const int first, const int last, const int turn,
                                         __global const value_t *left,
                                         __global const value_t *right, __global int *begun)
{
    const int across = (size + PYAPSP_GROUP_COLUMNS - 1) / PYAPSP_GROUP_COLUMNS;
    if (get_group_id(0) == 0)
        begun[2 - turn] = 0;
    FOR_PARTS(part, begun + 1 + turn, across * (last - first))
        remainder_part(distances, columns, k0, depth, size, part % across * PYAPSP_GROUP_COLUMNS,
                       (first + part / across) * PYAPSP_GROUP_ROWS, left, right);
}
