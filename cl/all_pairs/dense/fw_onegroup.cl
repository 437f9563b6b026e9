/* fw-onegroup for GPUs: a group holds the whole matrix of a graph in its registers.
 *
 * Purpose   One small graph does not use the whole device, and solving many of them one after the
 *           other spends most of the time on launches. Here every group solves its own graph.
 *           Weights are read once and distances are written once. In between, only pivot rows and
 *           columns leave the registers, through local memory.
 *
 * Layout    weights, distances, remarks: see all_pairs/dense/batch.h. A work-item owns every GROUP_Y-th row of
 *           every GROUP_X-th column:
 *
 *                x  0  1  2  3  0  1  2  3        GROUP_X = 4, GROUP_Y = 2, COLUMNS = 2, ROWS = 4:
 *              y +------------------------        work-item (1, 0) owns the values *
 *              0 |  .  *  .  .  .  *  .  .
 *              1 |  .  .  .  .  .  .  .  .        ROWS = COLUMNS * GROUP_X / GROUP_Y, so that the
 *              0 |  .  *  .  .  .  *  .  .        matrix is a square
 *              1 |  .  .  .  .  .  .  .  .
 *              0 |  .  *  .  .  .  *  .  .
 *              ...
 *
 *           Two pivots are treated at a time. The work-items that own their rows and columns copy
 *           them to local memory. Every work-item closes its part of the two rows (paths through
 *           both pivots), then updates its values with the product of the old columns and the
 *           closed rows. The next two pivots use another buffer, so that one barrier for each pair
 *           is enough.
 *
 * Parameters  those of common/types.h and common/semiring.h, for strips of one value, of
 *             all_pairs/dense/batch.h, and
 *             PYAPSP_GROUP_X  16  work-items along a row, GROUP_Y times a power of two
 *             PYAPSP_GROUP_Y  16  work-items along a column, a multiple of 4
 *             PYAPSP_COLUMNS   8  columns of a work-item; a graph has at most GROUP_X * COLUMNS
 *                                 vertices
 *
 * Cost      n^3 updates, 2 n^2 values of memory traffic a graph and half a barrier a vertex; for two
 *           pivots 2 (ROWS + COLUMNS) local loads for 2 ROWS x COLUMNS updates.
 *
 * Source    pyapsp; as fw_minplus_close of all_pairs/dense/fw_minplus.cl, with two pivots.
 */
#ifndef PYAPSP_GROUP_X
#define PYAPSP_GROUP_X 16
#endif
#ifndef PYAPSP_GROUP_Y
#define PYAPSP_GROUP_Y 16
#endif
#ifndef PYAPSP_COLUMNS
#define PYAPSP_COLUMNS 8
#endif

#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/dense/batch.h"

#define GROUP_X PYAPSP_GROUP_X
#define GROUP_Y PYAPSP_GROUP_Y
#define COLUMNS PYAPSP_COLUMNS
#define TURNS (GROUP_X / GROUP_Y)
#define ROWS (COLUMNS * TURNS)
#define SIZE (GROUP_X * COLUMNS)

static inline value_t through(const value_t a, const value_t b, const value_t current)
{
    const value_t candidate = extend(a, b);
    return SHORTER(candidate, current);
}

__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP_X, PYAPSP_GROUP_Y, 1))) void
fw_onegroup(__global const raw_t *weights, __global raw_t *distances, __global int *remarks,
            const int n, const int zeros, const float longest)
{
    __local value_t rows[2][2][SIZE], columns[2][2][SIZE];
    const int x = get_local_id(0), y = get_local_id(1);
    const size_t graph = get_group_id(0), origin = graph * n * n;
    int found = 0;
    value_t tile[ROWS][COLUMNS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const int i = r * GROUP_Y + y, j = c * GROUP_X + x;
            const int inside = i < n && j < n;
            const raw_t weight = weights[origin + (inside ? i * n + j : 0)];
            raw_t distance = !inside || no_arc(weight, zeros) ? FAR : weight;
            found |= remarks_on(weight, zeros, longest);
            if (i == j && !(distance < 0))
                distance = 0;
            tile[r][c] = distance;
        }

    /* Pivots k and k + 1 are in column c of work-items `left` and left + 1, and in row c * TURNS + t of
     * work-items `upper` and upper + 1. */
#pragma unroll
    for (int c = 0; c < COLUMNS; c++)
#pragma unroll
        for (int t = 0; t < TURNS; t++)
            for (int upper = 0; upper < GROUP_Y; upper += 2) {
                const int left = t * GROUP_Y + upper, k = c * GROUP_X + left;
                const int place = upper / 2 % 2;
                if (y / 2 == upper / 2) {
#pragma unroll
                    for (int s = 0; s < COLUMNS; s++)
                        rows[place][y % 2][s * GROUP_X + x] = tile[c * TURNS + t][s];
                }
                if (x / 2 == left / 2) {
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
                        columns[place][x % 2][r * GROUP_Y + y] = tile[r][c];
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                const value_t there = rows[place][0][k + 1], back = rows[place][1][k];
                value_t first[COLUMNS], second[COLUMNS];
#pragma unroll
                for (int s = 0; s < COLUMNS; s++) {
                    first[s] = rows[place][0][s * GROUP_X + x];
                    second[s] = rows[place][1][s * GROUP_X + x];
                    second[s] = through(back, first[s], second[s]);
                    first[s] = through(there, second[s], first[s]);
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const value_t to_first = columns[place][0][r * GROUP_Y + y];
                    const value_t to_second = columns[place][1][r * GROUP_Y + y];
#pragma unroll
                    for (int s = 0; s < COLUMNS; s++) {
                        const value_t shorter = through(to_first, first[s], tile[r][s]);
                        tile[r][s] = through(to_second, second[s], shorter);
                    }
                }
            }

#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const int i = r * GROUP_Y + y, j = c * GROUP_X + x;
            if (i < n && j < n)
                distances[origin + i * n + j] = tile[r][c];
            if (i == j && tile[r][c] < 0)
                found |= CYCLE;
        }
    if (found)
        atomic_or(remarks + graph, found);
}
