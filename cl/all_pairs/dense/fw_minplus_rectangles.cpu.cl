/* Min-plus products of rectangles for CPUs, with the micro-kernel of fw-minplus.
 *
 * Purpose   A device that does not hold the matrix gets rectangles of it. They are multiplied by
 *           rows of the pivot block, which stay on the device.
 *
 * Layout    A block is some rows of a row-major matrix, `pitch` values apart; a rectangle of it
 *           begins at row `top` and at a column. A factor of depth x width values is packed in
 *           chunks of BLOCK steps of k, one after the other, each as slabs as in
 *           all_pairs/dense/fw_minplus.cpu.cl:
 *
 *                   right factor             packed
 *                 +---+---+---+---+     | slab 0 | slab 1 | slab 2 | slab 3 |   k < BLOCK
 *           BLOCK | 0 | 1 | 2 | 3 |     | slab 0 | slab 1 | slab 2 | slab 3 |   the next chunk
 *                 +---+---+---+---+
 *           BLOCK | 0 | 1 | 2 | 3 |
 *                 +---+---+---+---+
 *
 * Parameters  those of all_pairs/dense/fw_minplus.cpu.cl
 *
 * Cost      rows * columns * depth updates; a packed value is read once for each ROWS rows, or SPAN
 *           columns, of the rectangle.
 *
 * Source    That of fw_minplus.cpu.cl: K. Goto and R. A. van de Geijn, Anatomy of high-performance
 *           matrix multiplication, ACM TOMS 34(3), 2008, doi:10.1145/1356052.1356053.
 */
#include "all_pairs/dense/fw_minplus.cpu.cl"

/* Chunk get_group_id(1) of a left factor: the columns of the block from `column` on. */
__kernel ALONE void fw_minplus_pack_left(__global const value_t *block, const int pitch,
                                         const int top, const int column, const int depth,
                                         __global value_t *left)
{
    const int rows = (int)get_num_groups(0) * ROWS, row = (int)get_group_id(0) * ROWS;
    const int first = (int)get_group_id(1) * PYAPSP_BLOCK;
    const int steps = min(PYAPSP_BLOCK, depth - first);
    pack_rows(left + (size_t)first * rows + (size_t)row * steps,
              block + (size_t)(top + row) * pitch + column + first, pitch, steps);
}

/* The index of step k of a column in a right factor of depth x width values. */
static inline size_t right_place(const int k, const int depth, const int width, const int column)
{
    const int first = k / PYAPSP_BLOCK * PYAPSP_BLOCK;
    const int steps = min(PYAPSP_BLOCK, depth - first);
    return (size_t)first * width + (size_t)column * steps + (size_t)(k - first) * SPAN;
}

/* Pack the columns of a right factor from `at` on. Its steps k from `first` on are `rows` rows of a
 * block, from the column `start` of the block on. A group for each slab. */
__kernel ALONE void fw_minplus_pack_right(__global const value_t *block, const int pitch,
                                          const int top, const int start, const int rows,
                                          __global value_t *right, const int depth, const int width,
                                          const int first, const int at)
{
    const int column = (int)get_group_id(0) * SPAN;
    for (int k = 0; k < rows; k++) {
        __global value_t *packed = right + right_place(first + k, depth, width, at + column);
        __global const value_t *row = block + (size_t)(top + k) * pitch + start + column;
        for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
            STRIP(__global, packed + s) = STRIP(__global const, row + s);
    }
}

/* The inverse: rows of a block from a right factor. */
__kernel ALONE void fw_minplus_unpack_right(__global value_t *block, const int pitch,
                                            const int top, const int start, const int rows,
                                            __global const value_t *right, const int depth,
                                            const int width, const int first, const int at)
{
    const int column = (int)get_group_id(0) * SPAN;
    for (int k = 0; k < rows; k++) {
        __global const value_t *packed = right + right_place(first + k, depth, width, at + column);
        __global value_t *row = block + (size_t)(top + k) * pitch + start + column;
        for (int s = 0; s < SPAN; s += PYAPSP_WIDTH)
            STRIP(__global, row + s) = STRIP(__global const, packed + s);
    }
}

/* Each group copies a row of `columns` values from one matrix into another. */
__kernel ALONE void fw_minplus_copy(__global const value_t *from, const int from_pitch,
                                    const int from_row, const int from_column, __global value_t *to,
                                    const int to_pitch, const int to_row, const int to_column,
                                    const int columns)
{
    const int row = get_group_id(0);
    for (int j = 0; j < columns; j += PYAPSP_WIDTH)
        STRIP(__global, to + (size_t)(to_row + row) * to_pitch + to_column + j) =
            STRIP(__global const, from + (size_t)(from_row + row) * from_pitch + from_column + j);
}

/* The columns of a rectangle from `start` on <- min(these columns, left (x) right), with the columns
 * of the right factor from `at` on. Each group has GROUP_COLUMNS x GROUP_ROWS values, which stay in
 * the second-level cache while all chunks are processed. */
__kernel ALONE void fw_minplus_rectangle(__global value_t *block, const int pitch, const int top,
                                         const int start, const int rows, const int columns,
                                         const int depth, __global const value_t *left,
                                         __global const value_t *right, const int width,
                                         const int at)
{
    __global value_t *corner = block + (size_t)top * pitch + start;
    const int column = (int)get_group_id(0) * PYAPSP_GROUP_COLUMNS;
    const int row = (int)get_group_id(1) * PYAPSP_GROUP_ROWS;
    const int bottom = min(row + PYAPSP_GROUP_ROWS, rows);
    for (int k = 0; k < depth; k += PYAPSP_BLOCK) {
        const int steps = min(PYAPSP_BLOCK, depth - k);
        __global const value_t *lefts = left + (size_t)k * rows;
        __global const value_t *rights = right + (size_t)k * width + (size_t)at * steps;
        for (int j = column; j < min(column + PYAPSP_GROUP_COLUMNS, columns); j += SPAN)
            for (int i = row; i < bottom; i += ROWS) {
                __global value_t *here = corner + (size_t)i * pitch + j;
                __global const value_t *next =
                    i + ROWS < bottom ? here + (size_t)ROWS * pitch
                                      : corner + (size_t)row * pitch + j + SPAN;
                multiply(here, next, pitch, lefts + (size_t)i * steps, rights + (size_t)j * steps,
                         steps);
            }
    }
}
