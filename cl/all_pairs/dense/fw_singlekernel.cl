/* fw-singlekernel: blocked Floyd-Warshall in one launch, with tiles that wait for each other.
 *
 * Purpose   With three launches per round, part of the device is idle at the end of each launch,
 *           and while one group closes the pivot. Here groups start tiles of the next round as soon
 *           as the tiles that they read are ready.
 *
 * Layout    matrix: n x n words, n the next multiple of t; vertices past the last are isolated. The
 *           matrices of several graphs follow each other; their tasks are interleaved.
 *           counters: see all_pairs/dense/soft_sync.h, which also has the order of the tasks and what they
 *           wait for.
 *
 *             round 0        round 1            each tile of round K waits for itself in
 *             A B B B        . b . .            round K - 1, and a tile
 *             B c c c  ---->  b A b b    ...      B  for the pivot A of round K
 *             B c c c        . b . .              c  for the B in its row and in its column
 *             B c c c        . b . .
 *
 *           A group is launched once and takes one task after the other until none is left. All
 *           tasks run the same code (all_pairs/dense/tile_update.h). The number of steps inside the tile is t
 *           for the pivot and 0 for other tiles, so that the whole group reaches every barrier.
 *
 * Parameters  those of common/types.h, common/semiring.h, all_pairs/dense/words.h, all_pairs/dense/tile_update.h and
 *             all_pairs/dense/soft_sync.h.
 *
 * Cost      1 launch; of each graph (n/t)^3 tasks, n^3 updates, about 4 n^3/t values of memory
 *           traffic; up to 12 atomic operations per task that need not wait; local memory
 *           2 t^2 + 2 t values.
 *
 * Source    D. Takafuji's thesis, 2020, section 3.2.3, figures 3.3 and 3.4 (single kernel soft
 *           synchronisation), and section 3.3, figure 3.6 (many graphs); chapter 3 as an article:
 *           doi:10.1002/cpe.5963. Waiting for readers and the watchdog are our additions.
 */
#include "all_pairs/dense/tile_update.h"
#include "all_pairs/dense/soft_sync.h"

__kernel GROUP void fw_singlekernel(__global value_t *matrix, volatile __global int *counters,
                                    const int blocks, const int graphs)
{
    __local STRIP_ALIGNED value_t left[AREA], right[AREA], column[TILE], row[COLUMNS];
    __local int shared[5];
    int stage = 0;
    int4 task = next_task(counters, shared, &stage, blocks, graphs);
    while (task.x >= 0) {
        const int I = task.x, J = task.y, K = task.z;
        const int is_pivot = I == K && J == K;
        __global value_t *graph = matrix + task.w * matrix_words(blocks);
        fetch(left, graph, blocks, I, K);
        fetch(right, graph, blocks, K, J);
        close_tile(left, column, row, is_pivot ? TILE : 0);
        if (is_pivot)
            put(graph, left, blocks, K, K);
        else
            multiply(graph, left, right, blocks, I, J);
        finish_task(counters, task, blocks);
        task = next_task(counters, shared, &stage, blocks, graphs);
    }
}
