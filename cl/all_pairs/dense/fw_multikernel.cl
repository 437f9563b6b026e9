/* fw-multikernel: blocked Floyd-Warshall in three kernels per round, P in registers.
 *
 * Purpose   The baseline that fw_singlekernel.cl is compared with. Both call the same functions for
 *           a tile, so that they differ only in how tiles are ordered.
 *
 * Layout    matrix: n x n words, n the next multiple of t; vertices past the last are isolated. The
 *           matrices of several graphs follow each other, and get_group_id(2) is the graph. In
 *           round K of n/t:
 *
 *                  K
 *            . . | B | . .       fw_multikernel_a   the pivot tile A = (K, K), one group
 *            . . | B | . .       fw_multikernel_b   row and column tiles B, 2 (n/t - 1) groups
 *          --+---+---+---+--     fw_multikernel_c   the others, (n/t - 1)^2 groups
 *          K B B | A | B B
 *          --+---+---+---+--     Inside a group: all_pairs/dense/tile_update.h.
 *            . . | B | . .
 *
 * Parameters  those of common/types.h, common/semiring.h, all_pairs/dense/words.h and all_pairs/dense/tile_update.h.
 *
 * Cost      3 n/t launches, n^3 updates, about 4 n^3/t values of memory traffic; local memory 2 t^2
 *           values, and 2 t in kernel A.
 *
 * Source    D. Takafuji's thesis, 2020, sections 3.2.1-3.2.2 and 3.3 (chapter 3 as an article:
 *           doi:10.1002/cpe.5963), after G. J. Katz and J. T. Kider, All-pairs shortest-paths for
 *           large graphs on the GPU, Graphics Hardware 2008. There the row and column tiles take t
 *           steps; here they are products with the closed pivot.
 */
#include "all_pairs/dense/tile_update.h"

__kernel GROUP void fw_multikernel_a(__global value_t *matrix, const int blocks, const int K)
{
    __local STRIP_ALIGNED value_t tile[AREA], column[TILE], row[COLUMNS];
    matrix += get_group_id(2) * matrix_words(blocks);
    fetch(tile, matrix, blocks, K, K);
    close_tile(tile, column, row, TILE);
    put(matrix, tile, blocks, K, K);
}

/* get_group_id(1) is 0 for the row tiles and 1 for the column tiles. */
__kernel GROUP void fw_multikernel_b(__global value_t *matrix, const int blocks, const int K)
{
    __local STRIP_ALIGNED value_t left[AREA], right[AREA];
    const int other = (int)get_group_id(0) + ((int)get_group_id(0) >= K);
    const int I = get_group_id(1) ? other : K;
    const int J = get_group_id(1) ? K : other;
    matrix += get_group_id(2) * matrix_words(blocks);
    fetch(left, matrix, blocks, I, K);
    fetch(right, matrix, blocks, K, J);
    barrier(CLK_LOCAL_MEM_FENCE);
    multiply(matrix, left, right, blocks, I, J);
}

__kernel GROUP void fw_multikernel_c(__global value_t *matrix, const int blocks, const int K)
{
    __local STRIP_ALIGNED value_t left[AREA], right[AREA];
    const int I = (int)get_group_id(1) + ((int)get_group_id(1) >= K);
    const int J = (int)get_group_id(0) + ((int)get_group_id(0) >= K);
    matrix += get_group_id(2) * matrix_words(blocks);
    fetch(left, matrix, blocks, I, K);
    fetch(right, matrix, blocks, K, J);
    barrier(CLK_LOCAL_MEM_FENCE);
    multiply(matrix, left, right, blocks, I, J);
}
