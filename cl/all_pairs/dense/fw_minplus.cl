/* fw-minplus for GPUs: blocked Floyd-Warshall as one min-plus product on register tiles.
 *
 * Purpose   Nearly all of the work of blocked Floyd-Warshall is D <- min(D, left (x) right). Here
 *           the panels are products, too, with the closed pivot as one factor, so that one tuned
 *           kernel does nearly all of the work.
 *
 * Layout    distances: size x size values, row-major; vertices past n are isolated. Both factors of
 *           a product are stored with k as the slowest index, so the left factor is transposed.
 *           Then neighbouring work-items read neighbouring values of both factors:
 *
 *                       k0       k0 + depth
 *               . . . | c c c c | . .            old    depth x size  c and the pivot, transposed
 *               ------+---------+----
 *            k0 r r r |  pivot  | r r            left   depth x size  (c (x) pivot), transposed
 *               ------+---------+----
 *               . . . | c c c c | . .            right  depth x size  pivot (x) r
 *
 *           Round k0 on the rows and columns [low, high) of the matrix, four launches:
 *               fw_minplus_close      the pivot block, when it is one tile: Floyd-Warshall
 *               fw_minplus_pack       old
 *               fw_minplus_panels     left and right
 *               fw_minplus_remainder  D <- min(D, left (x) right) everywhere. The closed pivot has a
 *                                     zero diagonal, so this also writes the panels into D.
 *           A pivot block of several tiles is closed by the same launches with low = k0, high = k0
 *           + depth and the tiles as pivots. The matrices of several graphs follow each other, and
 *           so do their factors. The third dimension of these launches is the graph; in
 *           fw_minplus_panels it is the graph and one of its two panels.
 *
 *           The last three kernels are for rectangles of a matrix that does not fit in device
 *           memory; see there.
 *
 *           A group of GROUP_X x GROUP_Y work-items owns a tile of the product; a work-item owns
 *           ROWS x WORDS words of it in registers, in runs of VECTOR. Both factors pass through
 *           local memory in slices of SLICE steps, with two buffers: the next slice is loaded from
 *           global memory while the current one is used.
 *
 *               GROUP_X * WORDS words
 *             +--------+--------+----      work-item 0 owns the words 0, that is WORDS / VECTOR runs
 *             |0 1 2 3 |0 1 2 3 |          in ROWS / VECTOR runs of rows
 *             +--------+--------+----
 *
 *           A word is one value, or with PYAPSP_PACKED two 16-bit values of neighbouring columns.
 *
 *           Two steps of k are done at once. A work-item with many words takes them in blocks of
 *           VECTOR x VECTOR: the sums of both steps, then the minima. So neighbouring sums have an
 *           operand in common, which is read once from the registers, and an instruction for the
 *           minimum of three can be used. On an H200, 128 words were 6 % faster so than with one
 *           step after the other, and 64 words were 5 % slower.
 *
 * Parameters  those of common/types.h and common/semiring.h, for strips of one value, and
 *             PYAPSP_ROWS       8  rows in a register block, a multiple of VECTOR
 *             PYAPSP_WORDS      8  words in a row of it, a multiple of VECTOR
 *             PYAPSP_GROUP_X   16  work-items along a row
 *             PYAPSP_GROUP_Y    8  work-items along a column
 *             PYAPSP_SLICE      8  steps of k in local memory, even; both slices must be whole vectors
 *                                  for every work-item
 *             PYAPSP_VECTOR     4  words in one load: 1, 2 or 4
 *             PYAPSP_TILE     128  rows and columns of a pivot tile
 *             PYAPSP_PACKED     0  1: two 16-bit values in a word
 *
 * Cost      n^3 updates and 2 n^3 / depth more for the panels of D; n^2 values read and written
 *           per round. A step is (ROWS + WORDS) / VECTOR local loads for ROWS x WORDS additions and
 *           minima.
 *
 * Source    Panels as products with the closed pivot as in K. Matsumoto, N. Nakasato and S. Sedukhin,
 *           Blocked united algorithm for the all-pairs shortest paths problem on hybrid CPU-GPU
 *           systems, 2012, doi:10.1587/transinf.E95.D.2759; register tiles as in V. Volkov and J.
 *           W. Demmel, Benchmarking GPUs to tune dense linear algebra, SC 2008,
 *           doi:10.1109/SC.2008.5214359.
 */
#ifndef PYAPSP_ROWS
#define PYAPSP_ROWS 8
#endif
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 8
#endif
#ifndef PYAPSP_GROUP_X
#define PYAPSP_GROUP_X 16
#endif
#ifndef PYAPSP_GROUP_Y
#define PYAPSP_GROUP_Y 8
#endif
#ifndef PYAPSP_SLICE
#define PYAPSP_SLICE 8
#endif
#ifndef PYAPSP_VECTOR
#define PYAPSP_VECTOR 4
#endif
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 128
#endif
#ifndef PYAPSP_PACKED
#define PYAPSP_PACKED 0
#endif
#ifndef PYAPSP_GUARD
#define PYAPSP_GUARD 0
#endif
/* Where blocks of words are faster. Guarded sums were not tried in blocks. */
#define MANY_WORDS (PYAPSP_ROWS * PYAPSP_WORDS >= 128 && !PYAPSP_GUARD)

#include "common/types.h"
#include "common/semiring.h"

#define ROWS PYAPSP_ROWS
#define WORDS PYAPSP_WORDS
#define GROUP_X PYAPSP_GROUP_X
#define GROUP_Y PYAPSP_GROUP_Y
#define SLICE PYAPSP_SLICE
#define VECTOR PYAPSP_VECTOR
#define ITEMS (GROUP_X * GROUP_Y)
#define TILE_ROWS (GROUP_Y * ROWS)
#define TILE_WORDS (GROUP_X * WORDS)

/* Words, and vectors of words. */
#if PYAPSP_PACKED
#define WORD uint
#define PER_WORD 2
#else
#define WORD PYAPSP_VALUE
#define PER_WORD 1
#endif
#if PYAPSP_VECTOR == 1
typedef WORD words_t;
typedef value_t values_t;
#else
typedef PYAPSP_JOIN(WORD, PYAPSP_VECTOR) words_t;
typedef PYAPSP_JOIN(PYAPSP_VALUE, PYAPSP_VECTOR) values_t;
#endif
typedef WORD word_t;
#define VECTOR_AT(space, type, address) (*(space type *)(address))

/* The sum of two words, and the minimum of such a sum and a word. */
#ifndef PYAPSP_SUM
#if PYAPSP_PACKED
typedef PYAPSP_JOIN(PYAPSP_VALUE, 2) pair_t;
#define AS_PAIR(word) PYAPSP_JOIN(PYAPSP_JOIN(as_, PYAPSP_VALUE), 2)(word)
static inline pair_t extend_pair(const pair_t a, const pair_t b)
{
    const pair_t sum = a + b;
#if PYAPSP_GUARD
    const pair_t infinite = (pair_t)(PYAPSP_INFINITY);
    return ((a == infinite) | (b == infinite)) ? infinite : max(sum, -infinite);
#else
    return sum;
#endif
}
#define PYAPSP_SUM(sum, a, b) sum = as_uint(extend_pair(AS_PAIR(a), AS_PAIR(b)))
#define PYAPSP_SHORTEN(word, sum) word = as_uint(min(AS_PAIR(sum), AS_PAIR(word)))
#else
#define PYAPSP_SUM(sum, a, b) sum = extend(a, b)
#define PYAPSP_SHORTEN(word, sum) word = SHORTER(sum, word)
#endif
#endif
#ifndef PYAPSP_UPDATE
#define PYAPSP_UPDATE(word, a, b)                                                                  \
    {                                                                                              \
        word_t candidate;                                                                          \
        PYAPSP_SUM(candidate, a, b);                                                               \
        PYAPSP_SHORTEN(word, candidate);                                                           \
    }
#endif
/* Whether word w of row r is updated with one step after the other. */
#ifndef PYAPSP_IN_TURNS
#define PYAPSP_IN_TURNS(r, w) (!MANY_WORDS)
#endif
#define BLOCK (MANY_WORDS ? VECTOR : 1)

/* A word with the value in both halves: the left factor is the same for every column. */
#if PYAPSP_PACKED
#define INFINITE_WORD SPREAD((value_t)(PYAPSP_INFINITY))
#define SPREAD(value) ((uint)as_ushort(value) * 0x10001u)
#else
#define INFINITE_WORD PYAPSP_INFINITY
#define SPREAD(value) (value)
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP_X, PYAPSP_GROUP_Y, 1)))
#define LEFT_LOADS (SLICE * TILE_ROWS / VECTOR / ITEMS)
#define RIGHT_LOADS (SLICE * TILE_WORDS / VECTOR / ITEMS)

/* The tile <- min(before, left (x) right), or left (x) right alone if `fresh`, which is a constant.
 * All pointers point to the tile. A row of the left factor has the values of one step of k for the
 * rows of the tile. Pitches are in values (left) and in words. */
static inline void multiply(__global const value_t *left, const int left_pitch,
                            __global const word_t *right, const int right_pitch,
                            __global const word_t *before, const int before_pitch,
                            __global word_t *after, const int after_pitch, const int depth,
                            const int fresh, __local word_t *lefts, __local word_t *rights)
{
    const int x = get_local_id(0), y = get_local_id(1);
    const int item = y * GROUP_X + x;
    word_t sum[ROWS][WORDS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int w = 0; w < WORDS; w += VECTOR) {
            const int row = r / VECTOR * VECTOR * GROUP_Y + y * VECTOR + r % VECTOR;
            const words_t run = VECTOR_AT(__global const, words_t,
                                          before + (size_t)row * before_pitch + w * GROUP_X + x * VECTOR);
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                sum[r][w + v] = fresh ? INFINITE_WORD : ((const word_t *)&run)[v];
        }

    values_t left_run[LEFT_LOADS];
    words_t right_run[RIGHT_LOADS];
#define FETCH(k)                                                                                   \
    _Pragma("unroll") for (int l = 0; l < LEFT_LOADS; l++) {                                       \
        const int at = (l * ITEMS + item) * VECTOR;                                                \
        left_run[l] = VECTOR_AT(__global const, values_t,                                          \
                                left + (size_t)((k) + at / TILE_ROWS) * left_pitch + at % TILE_ROWS); \
    }                                                                                              \
    _Pragma("unroll") for (int l = 0; l < RIGHT_LOADS; l++) {                                      \
        const int at = (l * ITEMS + item) * VECTOR;                                                \
        right_run[l] =                                                                             \
            VECTOR_AT(__global const, words_t,                                                     \
                      right + (size_t)((k) + at / TILE_WORDS) * right_pitch + at % TILE_WORDS);    \
    }
#define PUT(buffer)                                                                                \
    _Pragma("unroll") for (int l = 0; l < LEFT_LOADS; l++) {                                       \
        words_t spread;                                                                            \
        _Pragma("unroll") for (int v = 0; v < VECTOR; v++)((word_t *)&spread)[v] =                 \
            SPREAD(((const value_t *)&left_run[l])[v]);                                            \
        VECTOR_AT(__local, words_t,                                                                \
                  lefts + (buffer) * SLICE * TILE_ROWS + (l * ITEMS + item) * VECTOR) = spread;    \
    }                                                                                              \
    _Pragma("unroll") for (int l = 0; l < RIGHT_LOADS; l++)                                        \
        VECTOR_AT(__local, words_t,                                                                \
                  rights + (buffer) * SLICE * TILE_WORDS + (l * ITEMS + item) * VECTOR) = right_run[l];

    FETCH(0)
    PUT(0)
    int buffer = 0;
    for (int k = 0; k < depth; k += SLICE) {
        barrier(CLK_LOCAL_MEM_FENCE);
        /* after the last slice it is read again, so that all work-items do the same steps */
        const int next = min(k + SLICE, depth - SLICE);
        FETCH(next)
        __local const word_t *left_at = lefts + buffer * SLICE * TILE_ROWS + y * VECTOR;
        __local const word_t *right_at = rights + buffer * SLICE * TILE_WORDS + x * VECTOR;
#pragma unroll
        for (int step = 0; step < SLICE; step += 2) {
            word_t a[2][ROWS], b[2][WORDS];
#pragma unroll
            for (int two = 0; two < 2; two++) {
#pragma unroll
                for (int r = 0; r < ROWS; r += VECTOR) {
                    const words_t run = VECTOR_AT(__local const, words_t,
                                                  left_at + (step + two) * TILE_ROWS + r * GROUP_Y);
#pragma unroll
                    for (int v = 0; v < VECTOR; v++)
                        a[two][r + v] = ((const word_t *)&run)[v];
                }
#pragma unroll
                for (int w = 0; w < WORDS; w += VECTOR) {
                    const words_t run = VECTOR_AT(__local const, words_t,
                                                  right_at + (step + two) * TILE_WORDS + w * GROUP_X);
#pragma unroll
                    for (int v = 0; v < VECTOR; v++)
                        b[two][w + v] = ((const word_t *)&run)[v];
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; r += BLOCK)
#pragma unroll
                for (int w = 0; w < WORDS; w += BLOCK) {
                    word_t sums[2][BLOCK][BLOCK];
#pragma unroll
                    for (int s = 0; s < 2 * BLOCK * BLOCK; s++) {
                        const int two = s / (BLOCK * BLOCK), i = s / BLOCK % BLOCK, j = s % BLOCK;
                        if (!PYAPSP_IN_TURNS(r + i, w + j))
                            PYAPSP_SUM(sums[two][i][j], a[two][r + i], b[two][w + j]);
                    }
#pragma unroll
                    for (int s = 0; s < 2 * BLOCK * BLOCK; s++) {
                        const int two = s % 2, i = s / 2 / BLOCK, j = s / 2 % BLOCK;
                        if (PYAPSP_IN_TURNS(r + i, w + j)) {
                            PYAPSP_UPDATE(sum[r + i][w + j], a[two][r + i], b[two][w + j]);
                        } else
                            PYAPSP_SHORTEN(sum[r + i][w + j], sums[two][i][j]);
                    }
                }
        }
        buffer ^= 1;
        PUT(buffer)
    }

#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int w = 0; w < WORDS; w += VECTOR) {
            const int row = r / VECTOR * VECTOR * GROUP_Y + y * VECTOR + r % VECTOR;
            words_t run;
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                ((word_t *)&run)[v] = sum[r][w + v];
            VECTOR_AT(__global, words_t,
                      after + (size_t)row * after_pitch + w * GROUP_X + x * VECTOR) = run;
        }
}

/* Floyd-Warshall inside the TILE x TILE block at (k0, k0), one group of 16 x 16 work-items, each with
 * every 16th row and column of it in registers. In step k the work-items that own row k and column
 * k copy them to local memory. The next step uses another buffer, so that one barrier a step is
 * enough. */
#define SIDE (PYAPSP_TILE / 16)
#if PYAPSP_PACKED && !PYAPSP_GUARD
/* 16-bit sums fit in an int, which needs no conversion back to 16 bits after each operation */
typedef int wide_t;
#define EXTEND_WIDE(a, b) ((a) + (b))
#define SHORTER_WIDE(candidate, current) min(candidate, current)
#else
typedef value_t wide_t;
#define EXTEND_WIDE(a, b) extend(a, b)
#define SHORTER_WIDE(candidate, current) SHORTER(candidate, current)
#endif
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
fw_minplus_close(__global value_t *distances, const int size, const int k0)
{
    __local wide_t row[2][PYAPSP_TILE], column[2][PYAPSP_TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    distances += get_group_id(2) * (size_t)size * size;
    __global value_t *corner = distances + (size_t)(k0 + y) * size + k0 + x;
    wide_t tile[SIDE][SIDE];
#pragma unroll
    for (int r = 0; r < SIDE; r++)
#pragma unroll
        for (int s = 0; s < SIDE; s++)
            tile[r][s] = corner[(size_t)r * 16 * size + s * 16];
#pragma unroll
    for (int pivot = 0; pivot < SIDE; pivot++)
        for (int owner = 0; owner < 16; owner++) {
            const int place = owner % 2;
            if (y == owner) {
#pragma unroll
                for (int s = 0; s < SIDE; s++)
                    row[place][x + 16 * s] = tile[pivot][s];
            }
            if (x == owner) {
#pragma unroll
                for (int r = 0; r < SIDE; r++)
                    column[place][y + 16 * r] = tile[r][pivot];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            wide_t right[SIDE];
#pragma unroll
            for (int s = 0; s < SIDE; s++)
                right[s] = row[place][x + 16 * s];
#pragma unroll
            for (int r = 0; r < SIDE; r++) {
                const wide_t left = column[place][y + 16 * r];
#pragma unroll
                for (int s = 0; s < SIDE; s++) {
                    const wide_t candidate = EXTEND_WIDE(left, right[s]);
                    tile[r][s] = SHORTER_WIDE(candidate, tile[r][s]);
                }
            }
        }
#pragma unroll
    for (int r = 0; r < SIDE; r++)
#pragma unroll
        for (int s = 0; s < SIDE; s++)
            corner[(size_t)r * 16 * size + s * 16] = tile[r][s];
}

/* old[k][i] <- D[i][k0 + k] for the rows [low, low + 32 * groups): tiles of 32 x 32 go through
 * local memory, so that both matrices are accessed along their rows. */
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void
fw_minplus_pack(__global const value_t *distances, const int size, const int k0, const int low,
                __global value_t *old)
{
    __local value_t tile[32][33];
    const int x = get_local_id(0), y = get_local_id(1);
    const int k = get_group_id(0) * 32, row = low + get_group_id(1) * 32;
    distances += get_group_id(2) * (size_t)size * size;
    old += get_group_id(2) * get_global_size(0) * size;
    for (int r = y; r < 32; r += 4)
        tile[r][x] = distances[(size_t)(row + r) * size + k0 + k + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = y; r < 32; r += 4)
        old[(size_t)(k + r) * size + row + x] = tile[x][r];
}

/* right <- pivot (x) rows of D, and left <- (columns of D (x) pivot) transposed, which is the
 * transposed pivot (x) old. Groups: (tile of columns, tile of k, 2 * graph + (0: right, 1:
 * left)). */
__kernel GROUP void fw_minplus_panels(__global const value_t *distances, const int size,
                                      const int k0, const int depth, const int low,
                                      __global const value_t *old, __global value_t *left,
                                      __global value_t *right)
{
    __local word_t lefts[2 * SLICE * TILE_ROWS] __attribute__((aligned(32)));
    __local word_t rights[2 * SLICE * TILE_WORDS] __attribute__((aligned(32)));
    const int column = low + (int)get_group_id(0) * TILE_WORDS * PER_WORD;
    const int k = get_group_id(1) * TILE_ROWS;
    const int is_left = get_group_id(2) % 2;
    const size_t graph = get_group_id(2) / 2, factor = graph * depth * size;
    distances += graph * size * size;
    old += factor;
    left += factor;
    right += factor;
    __global const value_t *rows = distances + (size_t)k0 * size;
    __global const value_t *pivot = is_left ? rows + k0 + k : old + k0 + k;
    __global const value_t *panel = (is_left ? old : rows) + column;
    const size_t at = (size_t)k * size;
    multiply(pivot, size, (__global const word_t *)panel, size / PER_WORD,
             (__global const word_t *)(panel + at), size / PER_WORD,
             (__global word_t *)((is_left ? left : right) + at + column), size / PER_WORD, depth, 0,
             lefts, rights);
}

/* D <- min(D, left (x) right) on the tiles from (row, column) on. `gap` rows from row_gap on and
 * `gap` columns from column_gap on are skipped. */
__kernel GROUP void fw_minplus_remainder(__global value_t *distances, const int size,
                                         const int depth, const int row, const int row_gap,
                                         const int column, const int column_gap, const int gap,
                                         __global const value_t *left,
                                         __global const value_t *right)
{
    __local word_t lefts[2 * SLICE * TILE_ROWS] __attribute__((aligned(32)));
    __local word_t rights[2 * SLICE * TILE_WORDS] __attribute__((aligned(32)));
    const int j = column + (int)get_group_id(0) * TILE_WORDS * PER_WORD;
    const int i = row + (int)get_group_id(1) * TILE_ROWS;
    const int at_column = j < column_gap ? j : j + gap;
    const int at_row = i < row_gap ? i : i + gap;
    const size_t graph = get_group_id(2), factor = graph * depth * size;
    distances += graph * size * size;
    left += factor;
    right += factor;
    __global word_t *tile = (__global word_t *)(distances + (size_t)at_row * size + at_column);
    multiply(left + at_row, size, (__global const word_t *)(right + at_column), size / PER_WORD,
             tile, size / PER_WORD, tile, size / PER_WORD, depth, 0, lefts, rights);
}

/* The same in two launches, for devices on which D does not fit. First the product of the tiles of
 * [low, high)^2 from (low, low) on. */
__kernel GROUP void fw_minplus_multiply(__global value_t *product, const int size, const int depth,
                                        const int low, __global const value_t *left,
                                        __global const value_t *right)
{
    __local word_t lefts[2 * SLICE * TILE_ROWS] __attribute__((aligned(32)));
    __local word_t rights[2 * SLICE * TILE_WORDS] __attribute__((aligned(32)));
    const int column = low + (int)get_group_id(0) * TILE_WORDS * PER_WORD;
    const int row = low + (int)get_group_id(1) * TILE_ROWS;
    __global word_t *tile = (__global word_t *)(product + (size_t)row * size + column);
    multiply(left + row, size, (__global const word_t *)(right + column), size / PER_WORD, tile,
             size / PER_WORD, tile, size / PER_WORD, depth, 1, lefts, rights);
}

/* Then D <- min(D, product), one value for each work-item. */
__kernel void fw_minplus_add(__global value_t *distances, const int size, const int low,
                             __global const value_t *product)
{
    const size_t at = (size_t)(low + get_global_id(1)) * size + low + get_global_id(0);
    const value_t candidate = product[at];
    const value_t current = distances[at];
    distances[at] = SHORTER(candidate, current);
}

/* Rectangles: rows of a block from `top` on. left[k][i] <- block[top + i][column + k], in tiles of
 * 32 x 32 through local memory. */
__kernel __attribute__((reqd_work_group_size(32, 4, 1))) void
fw_minplus_pack_left(__global const value_t *block, const int pitch, const int top,
                     const int column, __global value_t *left, const int rows)
{
    __local value_t tile[32][33];
    const int x = get_local_id(0), y = get_local_id(1);
    const int k = get_group_id(0) * 32, row = get_group_id(1) * 32;
    for (int r = y; r < 32; r += 4)
        tile[r][x] = block[(size_t)(top + row + r) * pitch + column + k + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = y; r < 32; r += 4)
        left[(size_t)(k + r) * rows + row + x] = tile[x][r];
}

/* Copy a rectangle from one matrix into another, one work-item for each value. The drivers' own
 * copies of rectangles are many times slower. */
__kernel void fw_minplus_copy(__global const value_t *from, const int from_pitch,
                              const int from_row, const int from_column, __global value_t *to,
                              const int to_pitch, const int to_row, const int to_column)
{
    const int column = get_global_id(0), row = get_global_id(1);
    to[(size_t)(to_row + row) * to_pitch + to_column + column] =
        from[(size_t)(from_row + row) * from_pitch + from_column + column];
}

/* The columns of a rectangle from `first` on <- min(these columns, left (x) right), with the columns
 * of the right factor from `at` on; the factors are `rows` and `width` values wide. */
__kernel GROUP void fw_minplus_rectangle(__global value_t *block, const int pitch, const int top,
                                         const int first, const int depth, const int rows,
                                         __global const value_t *left,
                                         __global const value_t *right, const int width,
                                         const int at)
{
    __local word_t lefts[2 * SLICE * TILE_ROWS] __attribute__((aligned(32)));
    __local word_t rights[2 * SLICE * TILE_WORDS] __attribute__((aligned(32)));
    const int column = (int)get_group_id(0) * TILE_WORDS * PER_WORD;
    const int row = (int)get_group_id(1) * TILE_ROWS;
    __global word_t *tile = (__global word_t *)(block + (size_t)(top + row) * pitch + first + column);
    multiply(left + row, rows, (__global const word_t *)(right + at + column), width / PER_WORD,
             tile, pitch / PER_WORD, tile, pitch / PER_WORD, depth, 0, lefts, rights);
}
