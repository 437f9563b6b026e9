/* fw-recursive: recursive blocked Floyd-Warshall, as min-plus products.
 *
 * Purpose   The matrix is halved recursively in both directions, down to t x t tiles, which are
 *           closed as in fw-mm. Everything else is min-plus products of larger and larger blocks,
 *           so that nearly all of the work is a fast matrix product.
 *
 * Layout    distances: size x size values, row-major, size the next multiple of t; vertices past n
 *           are isolated (infinity). scratch: a matrix of the same shape. A step of the recursion on
 *           a block with halves 1 and 2, of which either can be one tile larger:
 *
 *             +-----+-----+    close 11                                               (recursion)
 *             | 11  | 12  |    12' <- 11 * 12         21' <- 21 * 11                  panels
 *             +-----+-----+    22  <- 22 + 21' * 12'                                  add
 *             | 21  | 22  |    close 22                                               (recursion)
 *             +-----+-----+    21  <- 22 * 21'        12  <- 12' * 22                 panels
 *                              11  <- 11 + 12 * 21                                    add
 *
 *           12' and 21' are in scratch: a product that overwrites its own factor would read values
 *           that other work-items are writing. The second product writes its result back to
 *           distances, so that no copy is needed. The recursion on 22 uses scratch, too, at the
 *           place of 22.
 *
 *           Both products of a line are one launch ("merged"), or one each as published. Every
 *           product includes the old value in the minimum. Where the closed factor has a zero
 *           diagonal, this does not change the result.
 *
 *           A group computes 16 x 64 values in registers (all_pairs/dense/register_tiles.h), reading the left
 *           factor in pieces of 16 x t. The last submatrix of a row may reach past the block.
 *
 * Parameters  those of common/types.h, common/semiring.h and all_pairs/dense/register_tiles.h. GROUP * WIDTH
 *           must divide 64.
 *
 * Cost      for N = size/t tiles in a row, 7 N - 6 launches, or 5 N - 4 merged; size^3 updates, about
 *           (5/64 + 2/t) n^3 values of memory traffic; local memory 20 t values.
 *
 * Source    A. Buluc, J. R. Gilbert and C. Budak, Solving path problems on the GPU, Parallel Computing
 *           36(5-6), 2010, doi:10.1016/j.parco.2009.12.002; F. Okuyama's thesis, 2013, section 4.2.2,
 *           figures 4.4 and 4.5.
 */
#include "all_pairs/dense/register_tiles.h"

/* 16 x 64 values of after <- min(before, left x right), from (row, column) on, left of column end.
 * The minimum is over the columns [low, high) of the left matrix, whole tiles. All work-items of
 * the group must call this. */
static inline void product(__local value_t *piece, __global const value_t *left_matrix,
                           __global const value_t *right_matrix,
                           __global const value_t *before_matrix, __global value_t *after_matrix,
                           const int size, const int row, const int first, const int end,
                           const int low, const int high)
{
    __global const value_t *left = left_matrix + (size_t)row * size;
#if STRIPS == 1
    /* past the end of the block a work-item computes on valid columns and stores nothing, so that
     * it reaches every barrier */
    const int mine = first + (int)get_local_id(0) * WIDTH;
    const int column = (mine < end) ? mine : end - WIDTH;
    __global const value_t *before = (mine < end) ? before_matrix + (size_t)row * size + column
                                                  : right_matrix + (size_t)low * size + column;
    EACH_16(SUM_LOAD)
    for (int from = low; from < high; from += TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        copy_left(piece, left + from, size);
        barrier(CLK_LOCAL_MEM_FENCE);
        SUM_TILE(piece, right_matrix + (size_t)from * size + column)
    }
    __global value_t *after = after_matrix + (size_t)row * size + column;
    if (mine < end) {
        EACH_16(SUM_STORE)
    }
#else
    /* a work-item has more strips than fit in registers: between two pieces the sums are in the
     * matrix */
    for (int from = low; from < high; from += TILE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        copy_left(piece, left + from, size);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int strip = 0; strip < STRIPS; strip++) {
            const int column = first + (strip * PYAPSP_GROUP + (int)get_local_id(0)) * WIDTH;
            if (column < end) {
                __global value_t *after = after_matrix + (size_t)row * size + column;
                __global const value_t *before =
                    (from == low) ? before_matrix + (size_t)row * size + column : after;
                EACH_16(SUM_LOAD)
                SUM_TILE(piece, right_matrix + (size_t)from * size + column)
                EACH_16(SUM_STORE)
            }
        }
    }
#endif
}

/* Multiply the blocks beside the closed block [c0, c1) x [c0, c1) by it. Their other side is [o0,
 * o1).
 * Groups below `left_groups` multiply from the left: rows c, columns o; the others from the right:
 * rows o, columns c. The number of the first group is `skip`. closed and after may be the same
 * matrix, where they are different blocks. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
fw_recursive_panels(__global const value_t *closed, __global const value_t *before,
                    __global value_t *after, const int size, const int c0, const int c1,
                    const int o0, const int o1, const int left_groups, const int skip)
{
    __local STRIP_ALIGNED value_t piece[TILE * LEFT_STRIDE];
    const int number = (int)get_group_id(0) + skip;
    const int is_right = number >= left_groups;
    const int place = is_right ? number - left_groups : number;
    const int first = is_right ? c0 : o0;
    const int end = is_right ? c1 : o1;
    const int across = (end - first + SUBMATRIX_COLUMNS - 1) / SUBMATRIX_COLUMNS;
    product(piece, is_right ? before : closed, is_right ? closed : before, before, after, size,
            (is_right ? o0 : c0) + place / across * SUBMATRIX_ROWS,
            first + place % across * SUBMATRIX_COLUMNS, end, c0, c1);
}

/* Update the block [o0, o1) x [o0, o1) of distances with paths through [c0, c1): distances <-
 * min(distances, P(o, c) x P(c, o)). panels may be distances. The number of the first group is
 * `skip`. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
fw_recursive_add(__global const value_t *panels, __global value_t *distances, const int size,
                 const int c0, const int c1, const int o0, const int o1, const int skip)
{
    __local STRIP_ALIGNED value_t piece[TILE * LEFT_STRIDE];
    const int across = (o1 - o0 + SUBMATRIX_COLUMNS - 1) / SUBMATRIX_COLUMNS;
    const int place = (int)get_group_id(0) + skip;
    product(piece, panels, panels, distances, distances, size,
            o0 + place / across * SUBMATRIX_ROWS, o0 + place % across * SUBMATRIX_COLUMNS, o1, c0,
            c1);
}
