/* Procedure T(P, Q, R): P <- min(P, Q (x) R) for t x t tiles, by one group.
 *
 * With I and J the place of P and K the round, Q is always the tile (I, K) and R the tile (K, J):
 *
 *     pivot   (K, K)    P = Q = R, Floyd-Warshall inside the tile: t steps, each of which needs the
 *                       one before
 *     row     (K, J)    R = P, and Q is the closed pivot
 *     column  (I, K)    Q = P, and R is the closed pivot
 *     other   (I, J)    three different tiles
 *
 * Once the pivot is closed (it holds the shortest paths among its vertices, 0 on the diagonal), row
 * and column tiles are one product of it and their old values, like the other tiles: no step has to
 * wait for the one before.
 *
 * Q and R are in local memory, P in registers. A group has GROUP_X x GROUP_Y work-items. Each owns
 * strips of WIDTH words in ROWS rows that are GROUP_Y apart, and several such blocks in turn when
 * there are fewer work-items than blocks:
 *
 *          t / FIELDS words
 *        +----+----+
 *        |0,0 |1,0 |
 *        |0,1 |1,1 |     GROUP_X = 2, GROUP_Y = 2, ROWS = 2: work-item (0, 0) keeps two
 *        |0,0 |1,0 |     strips in registers
 *        |0,1 |1,1 |
 *        +----+----+
 *
 *     macro              default  meaning
 *     PYAPSP_TILE        32       t, a multiple of FIELDS * WIDTH * GROUP_X and of ROWS * GROUP_Y
 *     PYAPSP_ROWS        1        rows of a register block: 1, 2, 4, 8 or 16
 *     PYAPSP_GROUP_X     32       work-items of a group along a row
 *     PYAPSP_GROUP_Y     8        work-items of a group along a column
 *     PYAPSP_CONTIGUOUS  0        1: the words of a tile follow each other in global memory, tile
 *                                 after tile; 0: the words of a row of the matrix do
 */
#ifndef DENSE_TILE_UPDATE_H
#define DENSE_TILE_UPDATE_H
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 32
#endif
#ifndef PYAPSP_CONTIGUOUS
#define PYAPSP_CONTIGUOUS 0
#endif

#include "all_pairs/dense/each_row.h"
#include "all_pairs/dense/words.h"
#include "all_pairs/group_shape.h"

#define TILE PYAPSP_TILE
#define COLUMNS (PYAPSP_TILE / FIELDS)
#define AREA (TILE * COLUMNS)
#define GROUP_ITEMS (PYAPSP_GROUP_X * PYAPSP_GROUP_Y)

/* The strips (x, y) of a tile that belong to this work-item, x counting words. */
#define EACH_STRIP(x, y)                                                                           \
    for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)                                   \
        for (int x = get_local_id(0) * PYAPSP_WIDTH; x < COLUMNS;                                  \
             x += PYAPSP_GROUP_X * PYAPSP_WIDTH)

static inline int group_item(void)
{
    return (int)(get_local_id(1) * PYAPSP_GROUP_X + get_local_id(0));
}

/* Where the tile (row, column) of a matrix of `blocks` x `blocks` tiles begins, and how many words
 * are between the starts of two of its rows. */
static inline size_t tile_at(const int blocks, const int row, const int column)
{
#if PYAPSP_CONTIGUOUS
    return ((size_t)row * blocks + column) * AREA;
#else
    return (size_t)row * blocks * AREA + (size_t)column * COLUMNS;
#endif
}

/* Words of one matrix: those of many graphs follow each other. */
static inline size_t matrix_words(const int blocks)
{
    return (size_t)blocks * blocks * AREA;
}

static inline size_t row_pitch(const int blocks)
{
#if PYAPSP_CONTIGUOUS
    return COLUMNS;
#else
    return (size_t)blocks * COLUMNS;
#endif
}

/* The tile (row, column) into local memory. */
static inline void fetch(__local value_t *tile, __global const value_t *matrix, const int blocks,
                         const int row, const int column)
{
    __global const value_t *origin = matrix + tile_at(blocks, row, column);
    const size_t pitch = row_pitch(blocks);
    EACH_STRIP(x, y)
        STRIP(__local, tile + y * COLUMNS + x) = STRIP(__global const, origin + y * pitch + x);
}

static inline void put(__global value_t *matrix, __local const value_t *tile, const int blocks,
                       const int row, const int column)
{
    __global value_t *origin = matrix + tile_at(blocks, row, column);
    const size_t pitch = row_pitch(blocks);
    EACH_STRIP(x, y)
        STRIP(__global, origin + y * pitch + x) = STRIP(__local const, tile + y * COLUMNS + x);
}

/* The first `steps` steps of Floyd-Warshall inside a tile: TILE of them, or none. Other work-items
 * update row k and column k during step k, so both are copied to other local arrays first. */
static inline void close_tile(__local value_t *tile, __local value_t *column, __local value_t *row,
                              const int steps)
{
    for (int k = 0; k < steps; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int a = group_item(); a < TILE; a += GROUP_ITEMS)
            column[a] = factor(tile[a * COLUMNS + k / FIELDS], k % FIELDS);
        for (int a = group_item(); a < COLUMNS; a += GROUP_ITEMS)
            row[a] = tile[k * COLUMNS + a];
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH_STRIP(x, y) {
            const strip_t candidate = extend(column[y], STRIP(__local const, row + x));
            const strip_t current = STRIP(__local const, tile + y * COLUMNS + x);
            STRIP(__local, tile + y * COLUMNS + x) = SHORTER(candidate, current);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* P <- min(P, left (x) right) for the tile (I, J) of the matrix. */
static inline void multiply(__global value_t *matrix, __local const value_t *left,
                            __local const value_t *right, const int blocks, const int I,
                            const int J)
{
    __global value_t *origin = matrix + tile_at(blocks, I, J);
    const size_t pitch = row_pitch(blocks);
    for (int y0 = 0; y0 < TILE; y0 += PYAPSP_ROWS * PYAPSP_GROUP_Y)
        for (int x = get_local_id(0) * PYAPSP_WIDTH; x < COLUMNS;
             x += PYAPSP_GROUP_X * PYAPSP_WIDTH) {
            const int y = y0 + get_local_id(1);
            __global value_t *block = origin + y * pitch + x;
#define LOAD_ROW(r) strip_t current##r = STRIP(__global, block + r * PYAPSP_GROUP_Y * pitch);
            EACH_ROW(LOAD_ROW)
            for (int w = 0; w < COLUMNS; w++) {
#define LOAD_LEFT(r) const value_t left##r = left[(y + r * PYAPSP_GROUP_Y) * COLUMNS + w];
                EACH_ROW(LOAD_LEFT)
#pragma unroll
                for (int f = 0; f < FIELDS; f++) {
                    const strip_t step =
                        STRIP(__local const, right + (w * FIELDS + f) * COLUMNS + x);
#define UPDATE_ROW(r)                                                                              \
                    {                                                                              \
                        const strip_t candidate = extend(factor(left##r, f), step);                \
                        current##r = SHORTER(candidate, current##r);                               \
                    }
                    EACH_ROW(UPDATE_ROW)
                }
            }
#define STORE_ROW(r) STRIP(__global, block + r * PYAPSP_GROUP_Y * pitch) = current##r;
            EACH_ROW(STORE_ROW)
        }
}

#if PYAPSP_CONTIGUOUS
/* From a matrix in rows to one in tiles, and back. A work-item per strip: blocks * COLUMNS / WIDTH
 * x blocks * TILE x graphs of them. */
#define IN_ROWS(blocks)                                                                            \
    (get_global_id(2) * matrix_words(blocks) + get_global_id(1) * (size_t)blocks * COLUMNS +       \
     get_global_id(0) * PYAPSP_WIDTH)
#define IN_TILES(blocks)                                                                           \
    (get_global_id(2) * matrix_words(blocks) +                                                     \
     tile_at(blocks, get_global_id(1) / TILE, get_global_id(0) * PYAPSP_WIDTH / COLUMNS) +         \
     get_global_id(1) % TILE * COLUMNS + get_global_id(0) * PYAPSP_WIDTH % COLUMNS)

__kernel void rows_to_tiles(__global value_t *tiles, __global const value_t *rows, const int blocks)
{
    STRIP(__global, tiles + IN_TILES(blocks)) = STRIP(__global const, rows + IN_ROWS(blocks));
}

__kernel void tiles_to_rows(__global value_t *rows, __global const value_t *tiles, const int blocks)
{
    STRIP(__global, rows + IN_ROWS(blocks)) = STRIP(__global const, tiles + IN_TILES(blocks));
}
#endif

#endif /* DENSE_TILE_UPDATE_H */
