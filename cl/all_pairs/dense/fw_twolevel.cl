/* fw-twolevel: iterative blocked Floyd-Warshall, tiles blocked a second time in local memory.
 *
 * Purpose   Large tiles read the matrix less often, but two of them may not fit in local memory, or
 *           only few groups fit on the device. Here local memory holds only t' columns of one
 *           factor and t' rows of the other at a time. The tile that is updated stays in registers.
 *
 * Layout    distances: size x size values, row-major, size the next multiple of t; vertices past n
 *           are isolated (infinity). Round K, three launches: close_pivot and close_panels
 *           (all_pairs/dense/register_tiles.h), and fw_twolevel_others for the tiles off the pivot's row and
 *           column. There a group has t/WIDTH x t' work-items:
 *
 *                                     +-----------------+
 *                                     |                 |
 *                  C = tile (K, J)    |=================|  t' rows, in local memory
 *                                     |                 |
 *                                     +-----------------+
 *               +-----+--+--------+   +-----------------+
 *               |     |  |        |   | t' rows: kept0  |
 *               |     |  |        |   +-----------------+
 *               |     |  |        |   |          kept1  |
 *               |     |  |        |   +-----------------+
 *               +-----+--+--------+   | ...             |
 *          B = tile (I, K),           +-----------------+
 *          t' columns, in local       A = tile (I, J), in registers: work-item (x, y) keeps
 *          memory, transposed         strip x of the rows y, y + t', y + 2t', ...
 *
 *           A group treats l tiles of a tile row, one after the other; it reads B again for each.
 *           The published form reads B through the texture cache of its GPU; here it is a plain
 *           read, which newer GPUs cache.
 *
 * Parameters  those of common/types.h, common/semiring.h and all_pairs/dense/register_tiles.h, and
 *             PYAPSP_KEPT  16   t/t': a power of two, at most t. l is the argument `tiles`.
 *
 * Cost      3 size/t launches, size^3 updates, about (4 n^3/t - 2 n^2) values of memory traffic;
 *           local memory 2 t t' values (t + t WIDTH in the first two kernels).
 *
 * Source    F. Okuyama's thesis, 2013, sections 4.3.1 and 4.3.3, figures 4.10 and 4.11.
 */
#ifndef PYAPSP_KEPT
#define PYAPSP_KEPT 16
#endif

#include "all_pairs/dense/register_tiles.h"

#define SUBTILE (TILE / PYAPSP_KEPT)
#define ITEMS (TILE / WIDTH * SUBTILE)

#define KEPT_FACTOR(q, next)                                                                       \
    {                                                                                              \
        const strip_t candidate = extend(left[k * TILE + (q) * SUBTILE + y], through);             \
        kept##q = SHORTER(candidate, kept##q);                                                     \
    }

/* ceil((size/t - 1) / l) x (size/t - 1) groups. No tile that is read here is written, except the
 * local copies. */
__kernel __attribute__((reqd_work_group_size(TILE / WIDTH, SUBTILE, 1))) void
fw_twolevel_others(__global value_t *distances, const int size, const int K, const int tiles)
{
    __local STRIP_ALIGNED value_t left[SUBTILE * TILE], right[SUBTILE * TILE];
    const int rows = SUBTILE;
    const int x = (int)get_local_id(0) * WIDTH, y = get_local_id(1);
    const int item = y * (TILE / WIDTH) + x / WIDTH;
    const int I = (int)get_group_id(1) + ((int)get_group_id(1) >= K);
    const int first = (int)get_group_id(0) * tiles;
    const int last = min(first + tiles, size / TILE - 1);
    __global const value_t *B = distances + (size_t)I * TILE * size + K * TILE;
    for (int number = first; number < last; number++) {
        const int J = number + (number >= K);
        __global const value_t *C = distances + (size_t)K * TILE * size + J * TILE;
        __global value_t *mine = distances + ((size_t)I * TILE + y) * size + J * TILE + x;
        EACH(PYAPSP_KEPT, KEPT_LOAD)
        for (int from = 0; from < TILE; from += SUBTILE) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint place = item; place < TILE * SUBTILE; place += ITEMS)
                left[place % SUBTILE * TILE + place / SUBTILE] =
                    B[(size_t)(place / SUBTILE) * size + from + place % SUBTILE];
            STRIP(__local, right + y * TILE + x) =
                STRIP(__global const, C + (size_t)(from + y) * size + x);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = 0; k < SUBTILE; k++) {
                const strip_t through = STRIP(__local const, right + k * TILE + x);
                EACH(PYAPSP_KEPT, KEPT_FACTOR)
            }
        }
        EACH(PYAPSP_KEPT, KEPT_STORE)
    }
}
