/* transpose: from arrays one after the other to their elements side by side, and back.
 *
 * Purpose   Arrays of p instances come from the host one after the other; a program for bulk
 *           execution that is arranged column-wise has element i of all of them side by side.
 *
 * Layout    source is rows x columns words, target columns x rows. A tile is read along the rows
 *           and written along the columns:
 *
 *               source         tile                target
 *             . . . . . .                          . . . .
 *             . a b c . .     a b c |    <- read   . a d .
 *             . d e f . .     d e f |              . b e .
 *             . . . . . .     one word wider       . c f .
 *                             than it needs        . . . .
 *                             to be
 *
 *           transpose_tiles has a group of GROUP work-items for each tile, in local memory;
 *           transpose_blocks one work-item for each tile, which stays in its registers and caches.
 *
 * Parameters  PYAPSP_BYTES  size of a word: 1, 2, 4 or 8
 *             PYAPSP_TILE   rows and columns of a tile
 *             PYAPSP_GROUP  work-items of a group of transpose_tiles, a multiple of PYAPSP_TILE
 *
 * Cost      every word is read once and written once.
 *
 * Source    the data arrangement with a padded tile of F. Ino et al., A parallel scheme for
 *           accelerating parameter sweep applications on a GPU, 2013, section 4.1.
 */
#ifndef PYAPSP_BYTES
#define PYAPSP_BYTES 4
#endif
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 32
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 256
#endif

#if PYAPSP_BYTES == 1
typedef uchar word_t;
#elif PYAPSP_BYTES == 2
typedef ushort word_t;
#elif PYAPSP_BYTES == 4
typedef uint word_t;
#else
typedef ulong word_t;
#endif

#define TILE PYAPSP_TILE
#define STEP (PYAPSP_GROUP / TILE)

__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))
void transpose_tiles(__global const word_t *restrict source, __global word_t *restrict target,
                     const int rows, const int columns)
{
    __local word_t tile[TILE][TILE + 1];
    const int across = (columns + TILE - 1) / TILE;
    const int top = (int)get_group_id(0) / across * TILE;
    const int left = (int)get_group_id(0) % across * TILE;
    const int x = get_local_id(0) % TILE, y = get_local_id(0) / TILE;
    for (int i = y; i < TILE; i += STEP)
        if (top + i < rows && left + x < columns)
            tile[i][x] = source[(size_t)(top + i) * columns + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = y; i < TILE; i += STEP)
        if (left + i < columns && top + x < rows)
            target[(size_t)(left + i) * rows + top + x] = tile[x][i];
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose_blocks(__global const word_t *restrict source, __global word_t *restrict target,
                      const int rows, const int columns)
{
    const int across = (columns + TILE - 1) / TILE;
    const int top = (int)get_group_id(0) / across * TILE;
    const int left = (int)get_group_id(0) % across * TILE;
    const int bottom = min(top + TILE, rows), right = min(left + TILE, columns);
    for (int j = left; j < right; j++)
        for (int i = top; i < bottom; i++)
            target[(size_t)j * rows + i] = source[(size_t)i * columns + j];
}
