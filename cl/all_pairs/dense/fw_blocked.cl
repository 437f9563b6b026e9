/* fw-blocked: iterative blocked Floyd-Warshall with tiles in local memory.
 *
 * Purpose   The n x n matrix is cut into t x t tiles, and t intermediate vertices are treated at
 *           once while the tiles that are needed are in local memory, so that each value is read
 *           from global memory about 2n/t times instead of 2n times.
 *
 * Layout    distances: size x size values, row-major, size the next multiple of t; vertices past n
 *           are isolated (infinity). predecessors (with PYAPSP_PREDECESSORS): ints of that shape.
 *
 *                    K
 *              . . | c | . .       round K, three launches:
 *              . . | c | . .         fw_blocked_pivot       the tile P = (K, K) alone
 *            --+---+---+---+--       fw_blocked_panels      its row tiles r and column tiles c,
 *          K r r | P | r r                                  2 (size/t - 1) groups
 *            --+---+---+---+--       fw_blocked_remainder   all others, D(I,J) <-
 *              . . | c | . .                                min(D(I,J), D(I,K) (x) D(K,J)),
 *              . . | c | . .                                (size/t - 1)^2 groups
 *
 *           A group owns one tile. Its PYAPSP_GROUP_X x PYAPSP_GROUP_Y work-items own blocks of
 *           PYAPSP_ROWS rows by one strip of PYAPSP_WIDTH columns, several in turn when there are
 *           fewer work-items than blocks:
 *
 *               t columns = blocks x GROUP_X x WIDTH
 *             +----+----+----+----+
 *             |0,0 |1,0 |0,0 |1,0 |  ROWS rows
 *             +----+----+----+----+
 *             |0,1 |1,1 |0,1 |1,1 |      (GROUP_X = 2, GROUP_Y = 2)
 *             +----+----+----+----+
 *
 *           With t = 16 or 32, WIDTH = ROWS = 1 and t x t work-items it is the published form, one
 *           work-item per element. On a CPU one work-item per group, which keeps ROWS strips in
 *           registers through the t steps of k, is several times faster.
 *
 *           In the first two launches step k reads row k and column k of the tile while other
 *           work-items update it. Both are first copied to other local arrays, between two
 *           barriers, so that no work-item reads a value while another writes it. This also holds
 *           when a negative cycle makes row or column k change.
 *
 * Parameters  those of common/types.h and common/semiring.h, and
 *             PYAPSP_TILE          32  t, a multiple of WIDTH * GROUP_X and of ROWS * GROUP_Y
 *             PYAPSP_ROWS           1  rows in a register block: 1, 2, 4 or 8
 *             PYAPSP_GROUP_X       32  work-items of a group along a row
 *             PYAPSP_GROUP_Y        8  work-items of a group along a column
 *             PYAPSP_PREDECESSORS   0  1: keep the last vertex before j on the path from i
 *
 * Cost      3 size/t launches, size^3 updates, about (4 n^3/t - 2 n^2) values of memory traffic;
 *           local memory 2 t^2 + 2 t values, with predecessors 2 t^2 + t ints more.
 *
 * Source    G. J. Katz and J. T. Kider, All-pairs shortest-paths for large graphs on the GPU,
 *           Graphics Hardware 2008; F. Okuyama's thesis, 2013, section 4.2.1, figures 4.2 and 4.3.
 */
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 32
#endif
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif

#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/dense/each_row.h"
#include "all_pairs/group_shape.h"

#if PYAPSP_PREDECESSORS
#define PREDECESSORS_ARGUMENT , __global int *predecessors
#else
#define PREDECESSORS_ARGUMENT
#endif

#define TILE PYAPSP_TILE
#define AREA (PYAPSP_TILE * PYAPSP_TILE)

/* The strips (x, y) of a tile that belong to this work-item. */
#define EACH_STRIP(x, y)                                                                           \
    for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)                                   \
        for (int x = get_local_id(0) * PYAPSP_WIDTH; x < TILE; x += PYAPSP_GROUP_X * PYAPSP_WIDTH)

static inline size_t tile_at(const int size, const int row, const int column)
{
    return (size_t)row * TILE * size + (size_t)column * TILE;
}

/* Two functions that copy tile (row, column) of the matrix into local memory, and back: for values of a
 * type, and the macro of its strips. */
#define TILE_COPIES(fetch, put, type, STRIP_AT)                                                    \
    static inline void fetch(__local type *tile, __global const type *matrix, const int size,      \
                             const int row, const int column)                                      \
    {                                                                                              \
        __global const type *origin = matrix + tile_at(size, row, column);                         \
        EACH_STRIP(x, y)                                                                           \
            STRIP_AT(__local, tile + y * TILE + x) =                                               \
                STRIP_AT(__global const, origin + (size_t)y * size + x);                           \
    }                                                                                              \
    static inline void put(__global type *matrix, __local const type *tile, const int size,        \
                           const int row, const int column)                                        \
    {                                                                                              \
        __global type *origin = matrix + tile_at(size, row, column);                               \
        EACH_STRIP(x, y)                                                                           \
            STRIP_AT(__global, origin + (size_t)y * size + x) =                                    \
                STRIP_AT(__local const, tile + y * TILE + x);                                      \
    }

TILE_COPIES(fetch, put, value_t, STRIP)
#if PYAPSP_PREDECESSORS
TILE_COPIES(fetch_index, put_index, int, INDEX_STRIP)
#define PUT_VIA(row, column) put_index(predecessors, via, size, row, column)
#else
#define PUT_VIA(row, column)
#endif

/* The t steps of the pivot on one tile: tile[y, x] <- min(tile[y, x], left[y, k] + right[k, x]).
 * left, right or both may be the tile itself. The last three arguments are used only with
 * predecessors. */
static inline void close_tile(__local value_t *tile, __local const value_t *left,
                              __local const value_t *right, __local value_t *column,
                              __local value_t *row, __local int *via,
                              __local const int *right_via, __local int *row_via)
{
    const int item = get_local_id(1) * PYAPSP_GROUP_X + get_local_id(0);
    for (int k = 0; k < TILE; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int a = item; a < TILE; a += PYAPSP_GROUP_X * PYAPSP_GROUP_Y) {
            column[a] = left[a * TILE + k];
            row[a] = right[k * TILE + a];
#if PYAPSP_PREDECESSORS
            row_via[a] = right_via[k * TILE + a];
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH_STRIP(x, y) {
            const strip_t candidate = extend(column[y], STRIP(__local const, row + x));
            const strip_t current = STRIP(__local const, tile + y * TILE + x);
#if PYAPSP_PREDECESSORS
            const index_strip_t old = INDEX_STRIP(__local const, via + y * TILE + x);
            INDEX_STRIP(__local, via + y * TILE + x) =
                INDEX_MASK(candidate < current) ? INDEX_STRIP(__local const, row_via + x) : old;
            STRIP(__local, tile + y * TILE + x) = (candidate < current) ? candidate : current;
#else
            STRIP(__local, tile + y * TILE + x) = SHORTER(candidate, current);
#endif
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* First launch of round K, one group: Floyd-Warshall inside the pivot tile. */
__kernel GROUP void fw_blocked_pivot(__global value_t *distances PREDECESSORS_ARGUMENT,
                                     const int size, const int K)
{
    __local STRIP_ALIGNED value_t tile[AREA], column[TILE], row[TILE];
    fetch(tile, distances, size, K, K);
#if PYAPSP_PREDECESSORS
    __local STRIP_ALIGNED int via[AREA], row_via[TILE];
    fetch_index(via, predecessors, size, K, K);
#else
    __local int *via = 0, *row_via = 0;
#endif
    close_tile(tile, tile, tile, column, row, via, via, row_via);
    put(distances, tile, size, K, K);
    PUT_VIA(K, K);
}

/* Second launch, 2 (size/t - 1) groups: get_group_id(1) is 0 for the row tiles (left factor: the
 * pivot) and 1 for the column tiles (right factor: the pivot). */
__kernel GROUP void fw_blocked_panels(__global value_t *distances PREDECESSORS_ARGUMENT,
                                      const int size, const int K)
{
    __local STRIP_ALIGNED value_t tile[AREA], pivot[AREA], column[TILE], row[TILE];
    const int other = (int)get_group_id(0) + ((int)get_group_id(0) >= K);
    const int is_column = get_group_id(1);
    const int I = is_column ? other : K;
    const int J = is_column ? K : other;
    fetch(pivot, distances, size, K, K);
    fetch(tile, distances, size, I, J);
#if PYAPSP_PREDECESSORS
    __local STRIP_ALIGNED int via[AREA], pivot_via[AREA], row_via[TILE];
    fetch_index(pivot_via, predecessors, size, K, K);
    fetch_index(via, predecessors, size, I, J);
#else
    __local int *via = 0, *pivot_via = 0, *row_via = 0;
#endif
    close_tile(tile, is_column ? tile : pivot, is_column ? pivot : tile, column, row, via,
               is_column ? pivot_via : via, row_via);
    put(distances, tile, size, I, J);
    PUT_VIA(I, J);
}

/* Third launch, (size/t - 1)^2 groups: the min-plus product of a column tile and a row tile,
 * added to the tile in their row and column. The factors do not change, so the steps of k need no
 * barrier. */
__kernel GROUP void fw_blocked_remainder(__global value_t *distances PREDECESSORS_ARGUMENT,
                                         const int size, const int K)
{
    __local STRIP_ALIGNED value_t left[AREA], right[AREA];
    const int I = (int)get_group_id(1) + ((int)get_group_id(1) >= K);
    const int J = (int)get_group_id(0) + ((int)get_group_id(0) >= K);
    fetch(left, distances, size, I, K);
    fetch(right, distances, size, K, J);
#if PYAPSP_PREDECESSORS
    __local STRIP_ALIGNED int right_via[AREA];
    fetch_index(right_via, predecessors, size, K, J);
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    const size_t origin = tile_at(size, I, J);
    for (int y = get_local_id(1) * PYAPSP_ROWS; y < TILE; y += PYAPSP_GROUP_Y * PYAPSP_ROWS)
        for (int x = get_local_id(0) * PYAPSP_WIDTH; x < TILE; x += PYAPSP_GROUP_X * PYAPSP_WIDTH) {
            __global value_t *block = distances + origin + (size_t)y * size + x;
#define LOAD_ROW(r) strip_t current##r = STRIP(__global, block + (size_t)r * size);
            EACH_ROW(LOAD_ROW)
#if PYAPSP_PREDECESSORS
            __global int *via = predecessors + origin + (size_t)y * size + x;
#define LOAD_VIA(r) index_strip_t via##r = INDEX_STRIP(__global, via + (size_t)r * size);
            EACH_ROW(LOAD_VIA)
#endif
            for (int k = 0; k < TILE; k++) {
                const strip_t step = STRIP(__local const, right + k * TILE + x);
#if PYAPSP_PREDECESSORS
                const index_strip_t last = INDEX_STRIP(__local const, right_via + k * TILE + x);
#define UPDATE_ROW(r)                                                                              \
                {                                                                                  \
                    const strip_t candidate = extend(left[(y + r) * TILE + k], step);              \
                    via##r = INDEX_MASK(candidate < current##r) ? last : via##r;                   \
                    current##r = (candidate < current##r) ? candidate : current##r;                \
                }
#else
#define UPDATE_ROW(r)                                                                              \
                {                                                                                  \
                    const strip_t candidate = extend(left[(y + r) * TILE + k], step);              \
                    current##r = SHORTER(candidate, current##r);                                   \
                }
#endif
                EACH_ROW(UPDATE_ROW)
            }
#define STORE_ROW(r) STRIP(__global, block + (size_t)r * size) = current##r;
            EACH_ROW(STORE_ROW)
#if PYAPSP_PREDECESSORS
#define STORE_VIA(r) INDEX_STRIP(__global, via + (size_t)r * size) = via##r;
            EACH_ROW(STORE_VIA)
#endif
        }
}
