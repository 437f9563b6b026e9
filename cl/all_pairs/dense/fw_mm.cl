/* fw-mm: iterative blocked Floyd-Warshall with the tiles off the pivot as a matrix product.
 *
 * Purpose   Nearly all of the work of blocked Floyd-Warshall is, for each pivot, the min-plus product
 *           of a column of tiles and a row of tiles. Here the product is computed as in the fast
 *           matrix multiplication on GPUs by Volkov and Demmel: each work-item keeps a column of
 *           results in registers, and reads one value from local memory and one from a register per
 *           update.
 *
 * Layout    distances: size x size values, row-major, size the next multiple of t; vertices past n
 *           are isolated (infinity). Round K, three launches: close_pivot and close_panels
 *           (all_pairs/dense/register_tiles.h) in t x t tiles, fw_mm_others in submatrices of 16 x 64:
 *
 *                        K
 *                +-----+---+---------+
 *                |     | c |         |     a group: 16 rows, l submatrices side by side (l = 2
 *                |  +--|---|--+--+   |     below), for which it copies 16 x t values of c to local
 *                |  |  | c |  |  |   |     memory once
 *                |  +--|---|--+--+   |
 *                +-----+---+---------+     rows of pivot-row tiles r have no group; what falls on
 *              K | r r | P | r r r r |     the pivot-column tiles c is computed and not stored
 *                +-----+---+---------+
 *                |     | c |         |
 *                +-----+---+---------+
 *
 *           PYAPSP_GROUP work-items share the 64 columns; each has one strip, or several one after
 *           the other. The published form has 64 work-items and strips of 1; one work-item with
 *           wide strips is for CPUs.
 *
 * Parameters  those of common/types.h, common/semiring.h and all_pairs/dense/register_tiles.h; l is the
 *           argument `submatrices`. GROUP * WIDTH must divide 64.
 *
 * Cost      3 size/t launches, size^3 updates, ((5t/64 + 2) n^3/t + 2n^2 - 2nt) values of memory
 *           traffic; local memory 20 t values (t + t WIDTH in the first two kernels).
 *
 * Source    F. Okuyama's thesis, 2013, sections 4.3.1 and 4.3.2, figures 4.7 to 4.9; V. Volkov and
 *           J. W. Demmel, Benchmarking GPUs to tune dense linear algebra, SC 2008,
 *           doi:10.1109/SC.2008.5214359.
 */
#include "all_pairs/dense/register_tiles.h"

/* ceil(size/64 / l) x (size - t)/16 groups. No value that is read here is written, except by the
 * work-item that reads it. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
fw_mm_others(__global value_t *distances, const int size, const int K, const int submatrices)
{
    __local STRIP_ALIGNED value_t left[TILE * LEFT_STRIDE];
    const int above = (int)get_group_id(1) * SUBMATRIX_ROWS;
    const int row = above + (above >= K * TILE ? TILE : 0);
    __global value_t *rows = distances + (size_t)row * size;
    __global const value_t *right = distances + (size_t)K * TILE * size;
    copy_left(left, rows + K * TILE, size);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 0; s < submatrices; s++) {
        const int from = ((int)get_group_id(0) * submatrices + s) * SUBMATRIX_COLUMNS;
        for (int strip = 0; strip < STRIPS; strip++) {
            const int column = from + (strip * PYAPSP_GROUP + (int)get_local_id(0)) * WIDTH;
            if (column < size) {
                __global const value_t *before = rows + column;
                __global value_t *after = rows + column;
                EACH_16(SUM_LOAD)
                SUM_TILE(left, right + column)
                if (column / TILE != K) {
                    EACH_16(SUM_STORE)
                }
            }
        }
    }
}
