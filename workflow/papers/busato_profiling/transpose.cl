/* transpose: the transpose of a square matrix of words, in the steps of a tuning.
 *
 * Purpose   The versions of table 15.8, and of sections 12.5.2 and 13.5.
 *
 *             transpose_direct  orig  a group reads a part of a row and writes a part of a column:
 *                                     each word that it writes is in another cache line (Y 1)
 *                               v1.0  a group has some rows, so that the words of a cache line are
 *                                     written together
 *             transpose_tiled   v2.0  a tile is turned in local memory: global memory is read and
 *                                     written along rows, but the words of a column of the tile are
 *                                     in one bank (PAD 0)
 *                               v2.1  rows of the tile have one more word (PAD 1)
 *             transpose_copy          no transpose: a copy, which no transpose can be faster than
 *
 * Layout    a tile of T x T words; a group of X x Y work-items turns it in T / Y steps
 *
 *             in    row y:    x ----------->           out   row x:    y ----------->
 *             tile[y * (T + PAD) + x]          ->            tile[x * (T + PAD) + y]
 *
 * Parameters  PYAPSP_X    16   work-items of a group along a row; in transpose_tiled it is T
 *             PYAPSP_Y    16   rows of work-items of a group; it divides T
 *             PYAPSP_PAD   0   words between the rows of a tile
 *             PYAPSP_TILED 1   0: without transpose_tiled, for groups of long rows, whose tile
 *                              would be larger than local memory
 *
 * Cost      Each word is read and written once.
 *
 * Source    F. Busato, thesis, Verona 2018, section 15.3.3,
 *           https://iris.univr.it/handle/11562/979445; after G. Ruetsch and P. Micikevicius,
 *           Optimizing matrix transpose in CUDA, 2009.
 */
#ifndef PYAPSP_X
#define PYAPSP_X 16
#endif
#ifndef PYAPSP_Y
#define PYAPSP_Y 16
#endif
#ifndef PYAPSP_PAD
#define PYAPSP_PAD 0
#endif
#ifndef PYAPSP_TILED
#define PYAPSP_TILED 1
#endif
#define ROW (PYAPSP_X + PYAPSP_PAD)

__kernel __attribute__((reqd_work_group_size(PYAPSP_X, PYAPSP_Y, 1))) void
transpose_direct(__global const uint *in, __global uint *out, const int n)
{
    const size_t x = get_global_id(0), y = get_global_id(1), side = (size_t)n;
    if (x < side && y < side)
        out[x * side + y] = in[y * side + x];
}

#if PYAPSP_TILED
__kernel __attribute__((reqd_work_group_size(PYAPSP_X, PYAPSP_Y, 1))) void
transpose_tiled(__global const uint *in, __global uint *out, const int n)
{
    __local uint tile[PYAPSP_X * ROW];
    const int x = (int)get_local_id(0), y = (int)get_local_id(1);
    const size_t left = get_group_id(0) * PYAPSP_X, top = get_group_id(1) * PYAPSP_X;
    const size_t side = (size_t)n;
    for (int row = y; row < PYAPSP_X; row += PYAPSP_Y)
        if (left + x < side && top + row < side)
            tile[row * ROW + x] = in[(top + row) * side + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = y; row < PYAPSP_X; row += PYAPSP_Y)
        if (top + x < side && left + row < side)
            out[(left + row) * side + top + x] = tile[x * ROW + row];
}
#endif

__kernel __attribute__((reqd_work_group_size(PYAPSP_X, PYAPSP_Y, 1))) void
transpose_copy(__global const uint *in, __global uint *out, const int n)
{
    const size_t x = get_global_id(0), y = get_global_id(1), side = (size_t)n;
    if (x < side && y < side)
        out[y * side + x] = in[y * side + x];
}
