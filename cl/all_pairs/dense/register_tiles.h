/* Tiles in registers: shared by fw-mm, fw-twolevel and fw-recursive.
 *
 * Purpose   The pivot tile, and its row and column tiles, are closed with every value in a register
 *           of the work-item that updates it. Local memory holds only what all work-items need at
 *           step k: one row and one column. The file also has the min-plus product of 16 rows and a
 *           strip, with 16 results in registers, for the methods that treat the other tiles as a
 *           matrix product.
 *
 * Layout    A t x t tile belongs to a group of t/WIDTH x h work-items. Work-item (x, y) keeps strip
 *           x of the rows y, y + h, y + 2h, ...: t/h strips ("kept"), where h rows are one block
 *           row.
 *
 *               t columns
 *             +-----------+
 *             | kept0     |  h rows, one for each y        step k = turn * h + step:
 *             +-----------+                                  row[]     from row k
 *             | kept1     |  h rows                          column[]  from column k
 *             +-----------+                                  kept <- min(kept, column + row)
 *             | ...       |  t/h block rows
 *             +-----------+
 *
 *           A program cannot index registers by a variable, so row k is always in kept0. After
 *           every h steps the kept strips are rotated by one block row; after t/h rotations they
 *           are in their first order. column[] is in the order of the registers.
 *
 *           Between two barriers row k and column k are copied to local memory; then all work-items
 *           update. So no work-item reads a value while another writes it, also when a negative
 *           cycle makes row and column k change. Column k is copied as the strips that contain it,
 *           because the elements of a vector cannot be indexed by a variable.
 *
 *     macro               default   meaning
 *     PYAPSP_TILE         32        t: 16, 32 or 64
 *     PYAPSP_PIVOT_KEPT   4         t/h of the pivot tile: a power of two, at most t
 *     PYAPSP_PANEL_KEPT   8         t/h of its row and column tiles
 *     PYAPSP_GROUP        64        work-items that share a 16 x 64 submatrix in a product
 *
 * The kept strips are separate variables, made by a macro: not every compiler keeps a private array in
 * registers.
 */
#ifndef DENSE_REGISTER_TILES_H
#define DENSE_REGISTER_TILES_H
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 32
#endif
#ifndef PYAPSP_PIVOT_KEPT
#define PYAPSP_PIVOT_KEPT 4
#endif
#ifndef PYAPSP_PANEL_KEPT
#define PYAPSP_PANEL_KEPT 8
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif

#include "common/types.h"
#include "common/semiring.h"

#define TILE PYAPSP_TILE
#define WIDTH PYAPSP_WIDTH

/* Statements for each of 1, 2, 4, ..., 64 numbered variables, with its number and the next one. */
#define EACH_1(DO) DO(0, 1)
#define EACH_2(DO) EACH_1(DO) DO(1, 2)
#define EACH_4(DO) EACH_2(DO) DO(2, 3) DO(3, 4)
#define EACH_8(DO) EACH_4(DO) DO(4, 5) DO(5, 6) DO(6, 7) DO(7, 8)
#define EACH_16(DO) EACH_8(DO)                                                                     \
    DO(8, 9) DO(9, 10) DO(10, 11) DO(11, 12) DO(12, 13) DO(13, 14) DO(14, 15) DO(15, 16)
#define EACH_32(DO) EACH_16(DO)                                                                    \
    DO(16, 17) DO(17, 18) DO(18, 19) DO(19, 20) DO(20, 21) DO(21, 22) DO(22, 23)                   \
    DO(23, 24) DO(24, 25) DO(25, 26) DO(26, 27) DO(27, 28) DO(28, 29) DO(29, 30)                   \
    DO(30, 31) DO(31, 32)
#define EACH_64(DO) EACH_32(DO)                                                                    \
    DO(32, 33) DO(33, 34) DO(34, 35) DO(35, 36) DO(36, 37) DO(37, 38) DO(38, 39)                   \
    DO(39, 40) DO(40, 41) DO(41, 42) DO(42, 43) DO(43, 44) DO(44, 45) DO(45, 46)                   \
    DO(46, 47) DO(47, 48) DO(48, 49) DO(49, 50) DO(50, 51) DO(51, 52) DO(52, 53)                   \
    DO(53, 54) DO(54, 55) DO(55, 56) DO(56, 57) DO(57, 58) DO(58, 59) DO(59, 60)                   \
    DO(60, 61) DO(61, 62) DO(62, 63) DO(63, 64)
#define EACH(count, DO) PYAPSP_JOIN(EACH_, count)(DO)

/* The macros below use these variables of the kernel: rows, the number h; y, the row of the
 * work-item in a block row; mine, where its first strip is in the matrix; size, the values in a row
 * of the matrix. */
#define KEPT_LOAD(q, next)                                                                         \
    strip_t kept##q = STRIP(__global const, mine + (size_t)(q) * rows * size);
#define KEPT_STORE(q, next) STRIP(__global, mine + (size_t)(q) * rows * size) = kept##q;
#define KEPT_TURN(q, next) kept##q = kept##next;

/* Copy the strip that contains column k to local memory; and one step with that copy of column
 * k. */
#define KEPT_COLUMN(q, next) STRIP(__local, column + ((q) * rows + y) * WIDTH) = kept##q;
#define KEPT_STEP(q, next)                                                                         \
    {                                                                                              \
        const strip_t candidate = extend(column[((q) * rows + y) * WIDTH + k % WIDTH], through);   \
        kept##q = SHORTER(candidate, kept##q);                                                     \
    }

/* Tile (K, K) of the matrix, one group: Floyd-Warshall inside it. */
__kernel __attribute__((reqd_work_group_size(TILE / WIDTH, TILE / PYAPSP_PIVOT_KEPT, 1))) void
close_pivot(__global value_t *distances, const int size, const int K)
{
    __local STRIP_ALIGNED value_t row[TILE], column[TILE * WIDTH];
    const int rows = TILE / PYAPSP_PIVOT_KEPT;
    const int x = (int)get_local_id(0) * WIDTH, y = get_local_id(1);
    __global value_t *mine = distances + ((size_t)K * TILE + y) * size + K * TILE + x;
    EACH(PYAPSP_PIVOT_KEPT, KEPT_LOAD)
    for (int turn = 0; turn < PYAPSP_PIVOT_KEPT; turn++) {
        for (int step = 0; step < rows; step++) {
            const int k = turn * rows + step;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (y == step)
                STRIP(__local, row + x) = kept0;
            if (x == k / WIDTH * WIDTH) {
                EACH(PYAPSP_PIVOT_KEPT, KEPT_COLUMN)
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const strip_t through = STRIP(__local const, row + x);
            EACH(PYAPSP_PIVOT_KEPT, KEPT_STEP)
        }
        const strip_t PYAPSP_JOIN(kept, PYAPSP_PIVOT_KEPT) = kept0;
        EACH(PYAPSP_PIVOT_KEPT, KEPT_TURN)
    }
    EACH(PYAPSP_PIVOT_KEPT, KEPT_STORE)
}

/* The row and column tiles of the closed tile (K, K), 2 (size/t - 1) groups: get_group_id(1) is 0 for
 * the row tiles, for which column k comes from the pivot, and 1 for the column tiles, for which row
 * k does. */
__kernel __attribute__((reqd_work_group_size(TILE / WIDTH, TILE / PYAPSP_PANEL_KEPT, 1))) void
close_panels(__global value_t *distances, const int size, const int K)
{
    __local STRIP_ALIGNED value_t row[TILE], column[TILE * WIDTH];
    const int rows = TILE / PYAPSP_PANEL_KEPT;
    const int x = (int)get_local_id(0) * WIDTH, y = get_local_id(1);
    const int items = TILE / WIDTH * rows, item = y * (TILE / WIDTH) + x / WIDTH;
    const int other = (int)get_group_id(0) + ((int)get_group_id(0) >= K);
    const int is_column = get_group_id(1);
    const int I = is_column ? other : K;
    const int J = is_column ? K : other;
    __global const value_t *pivot = distances + (size_t)K * TILE * size + K * TILE;
    __global value_t *mine = distances + ((size_t)I * TILE + y) * size + J * TILE + x;
    EACH(PYAPSP_PANEL_KEPT, KEPT_LOAD)
    for (int turn = 0; turn < PYAPSP_PANEL_KEPT; turn++) {
        for (int step = 0; step < rows; step++) {
            const int k = turn * rows + step;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (is_column) {
                if (y == 0)
                    STRIP(__local, row + x) = STRIP(__global const, pivot + (size_t)k * size + x);
                if (x == k / WIDTH * WIDTH) {
                    EACH(PYAPSP_PANEL_KEPT, KEPT_COLUMN)
                }
            } else if (y == step)
                STRIP(__local, row + x) = kept0;
            /* Not inside the branch: with a loop there, some compilers drop the barriers around
             * it. */
            for (int a = is_column ? TILE : item; a < TILE; a += items) {
                const int from = (a + turn * rows) % TILE;
                STRIP(__local, column + a * WIDTH) =
                    STRIP(__global const, pivot + (size_t)from * size + k / WIDTH * WIDTH);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            const strip_t through = STRIP(__local const, row + x);
            EACH(PYAPSP_PANEL_KEPT, KEPT_STEP)
        }
        const strip_t PYAPSP_JOIN(kept, PYAPSP_PANEL_KEPT) = kept0;
        EACH(PYAPSP_PANEL_KEPT, KEPT_TURN)
    }
    EACH(PYAPSP_PANEL_KEPT, KEPT_STORE)
}

/* Min-plus products in submatrices of 16 rows and 64 columns. The group keeps 16 rows of the left
 * factor in local memory (B' of the thesis), transposed, so that the 16 values that are added to
 * one row of the right factor are side by side:
 *
 *                              right: row k, one strip of it in a register (C')
 *                                    +----------------------------------+
 *                                    +----------------------------------+
 *       left: 16 x t           +-----+----------------------------------+
 *       left[k * 20 + i]       |  k  | 16 results of a work-item, one   |
 *                              |     | below the other, in registers    |
 *                              +-----+----------------------------------+
 *
 * The stride is 20 instead of 16, so that neighbouring k are in different banks when the rows are
 * written, and four values can still be read at once. */
#define SUBMATRIX_ROWS 16
#define SUBMATRIX_COLUMNS 64
#define LEFT_STRIDE 20
#define STRIPS (SUBMATRIX_COLUMNS / (PYAPSP_GROUP * WIDTH))

typedef PYAPSP_JOIN(PYAPSP_VALUE, 4) quad_t;

#if PYAPSP_WIDTH == 1
#define FACTORS(address) const quad_t factor = *(__local const quad_t *)(address);
#define FACTOR(place) factor.s##place
#else
#define FACTORS(address) __local const value_t *factor = (address);
#define FACTOR(place) factor[place]
#endif

#define SUM_LOAD(q, next)                                                                          \
    strip_t sum##q = STRIP(__global const, before + (size_t)(q) * size);
#define SUM_STORE(q, next) STRIP(__global, after + (size_t)(q) * size) = sum##q;
#define SUM_STEP(q, place)                                                                         \
    {                                                                                              \
        const strip_t candidate = extend(FACTOR(place), through);                                  \
        sum##q = SHORTER(candidate, sum##q);                                                       \
    }
#define SUM_STEPS(a, b, c, d, address)                                                             \
    {                                                                                              \
        FACTORS(address)                                                                           \
        SUM_STEP(a, 0) SUM_STEP(b, 1) SUM_STEP(c, 2) SUM_STEP(d, 3)                                \
    }
/* Update all 16 sums with the t columns of left and the t rows of right; right is one strip
 * wide. */
#define SUM_TILE(left, right)                                                                      \
    _Pragma("unroll 8") for (int k = 0; k < TILE; k++)                                             \
    {                                                                                              \
        const strip_t through = STRIP(__global const, (right) + (size_t)k * size);                 \
        SUM_STEPS(0, 1, 2, 3, (left) + k * LEFT_STRIDE)                                            \
        SUM_STEPS(4, 5, 6, 7, (left) + k * LEFT_STRIDE + 4)                                        \
        SUM_STEPS(8, 9, 10, 11, (left) + k * LEFT_STRIDE + 8)                                      \
        SUM_STEPS(12, 13, 14, 15, (left) + k * LEFT_STRIDE + 12)                                   \
    }

/* 16 x t values to local memory, by all work-items of a group. */
static inline void copy_left(__local value_t *left, __global const value_t *from, const int size)
{
    for (uint place = get_local_id(0); place < SUBMATRIX_ROWS * TILE; place += PYAPSP_GROUP)
        left[place % TILE * LEFT_STRIDE + place / TILE] =
            from[(size_t)(place / TILE) * size + place % TILE];
}

#endif /* DENSE_REGISTER_TILES_H */
