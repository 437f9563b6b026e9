/* source_blocks: rows, predecessors and sums after a search from a block of sources.
 *
 * Purpose   The sparse methods hold the costs of a block of N sources side by side for each vertex.
 *           The answer has them in rows, so they are transposed. Predecessors are found from the
 *           costs: the predecessor of v is the tail u of a tight arc, one with c(v) = c(u) +
 *           w(u,v). Such arcs with c(u) < c(v) cannot form a cycle (block_fall). Arcs of weight
 *           zero, and arcs so light that adding them has no effect because of rounding, have c(u) =
 *           c(v) and might form one. So vertices without a predecessor take a tail that has one,
 *           level by level (block_level, block_settle). Every reached vertex gets a predecessor,
 *           because a path of tight arcs leads to it.
 *
 *           If rows are not asked for, only sums over them are computed: how many vertices a source
 *           reaches, and their distances.
 *
 * Layout    costs: entry [block][v][s] for vertex v and source s, N = width entries for a vertex.
 *           settled, before: ints of the same layout. The block is the third index of a work-item.
 *           The arcs that enter v: tails[first[v] .. first[v + 1]] with their weights.
 *
 *                 [v][s]           rows          a tile of 32 x 32 goes through local memory, so
 *                 s s s s         v v v v v      that both sides are read and written in rows
 *               v . a . .       s . . . .
 *               v . b . .  ->   s a b c .
 *               v . c . .       s . . . .
 *
 * Parameters  those of common/types.h, with PYAPSP_WIDTH a divisor of the sources of a block, and of
 *             common/semiring.h, and
 *             PYAPSP_GROUP_X 32  work-items of a group that transposes, along the rows
 *             PYAPSP_GROUP_Y  8  and across them
 *             PYAPSP_ANSWER   PYAPSP_VALUE           type of the answer, which holds the distances
 *
 * Cost      n N values read and written for the rows; for the predecessors at most m N sums, and as
 *           many again for each level of arcs with c(u) = c(v).
 *
 * Source    F. Okuyama's thesis, 2013, section 3.4.3, finds the predecessors after the costs have
 *           converged, on the reversed graph. It takes any tight arc, because its weights are
 *           positive.
 */
#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/group_shape.h"

#ifndef PYAPSP_ANSWER
#define PYAPSP_ANSWER PYAPSP_VALUE
#endif

#define NO_PREDECESSOR (-9999)
#define TILE 32

/* The index of the first entry of the block. */
#define BLOCK(n, width) ((size_t)get_global_id(2) * (n) * (width))

typedef PYAPSP_ANSWER answer_t;

#define SAME(value) (value)
#define ANSWER(value) ((value) == PYAPSP_INFINITY ? infinity : (answer_t)(value))

/* Groups of tiles (v, s); only the first `count` rows are written. For a group of one work-item the
 * tile is in the cache instead. Infinity of the answer is an argument: a constant in memory may be
 * loaded under a mask, and if its page has not been read yet, a load whose mask is empty takes an
 * AVX-512 processor 60 ns. */
#define ROWS(width, count) min(width, (count) - (int)get_global_id(2) * (width))
#if PYAPSP_GROUP_X * PYAPSP_GROUP_Y == 1
#define TRANSPOSE(name, from, to, CONVERT)                                                         \
    __kernel GROUP void name(__global const from *block, __global to *rows, const int n,           \
                             const int width, const int count, const to infinity)                  \
    {                                                                                              \
        const int v = get_group_id(0) * TILE, s = get_group_id(1) * TILE;                          \
        block += BLOCK(n, width) + (size_t)v * width;                                              \
        rows += BLOCK(n, width) + v;                                                               \
        for (int y = s; y < min(s + TILE, ROWS(width, count)); y++)                                \
            for (int x = 0; x < min(TILE, n - v); x++)                                             \
                rows[(size_t)y * n + x] = CONVERT(block[x * width + y]);                           \
    }
#else
#define TRANSPOSE(name, from, to, CONVERT)                                                         \
    __kernel GROUP void name(__global const from *block, __global to *rows, const int n,           \
                             const int width, const int count, const to infinity)                  \
    {                                                                                              \
        __local from tile[TILE][TILE + 1];                                                         \
        const int v = get_group_id(0) * TILE, s = get_group_id(1) * TILE;                          \
        block += BLOCK(n, width);                                                                  \
        rows += BLOCK(n, width);                                                                   \
        for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)                               \
            for (int x = get_local_id(0); x < TILE; x += PYAPSP_GROUP_X)                           \
                if (v + y < n && s + x < width)                                                    \
                    tile[y][x] = block[(size_t)(v + y) * width + s + x];                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                              \
        for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)                               \
            for (int x = get_local_id(0); x < TILE; x += PYAPSP_GROUP_X)                           \
                if (v + x < n && s + y < ROWS(width, count))                                       \
                    rows[(size_t)(s + y) * n + v + x] = CONVERT(tile[x][y]);                       \
    }
#endif

TRANSPOSE(block_rows, value_t, value_t, SAME)
TRANSPOSE(block_rows_of_answer, value_t, answer_t, ANSWER)
TRANSPOSE(block_rows_of_predecessors, int, int, SAME)

/* Bits of *state after a launch: whether some vertices wait for a predecessor, and whether some got
 * one. */
#define WAITING 1
#define ADVANCED 2

/* Whether all sources of a strip have found a predecessor is tested once in LOOK arcs: on CPUs the
 * test takes longer than an arc. */
#define LOOK (PYAPSP_WIDTH == 1 ? 1 : 8)

/* One work-item for each (v and strip of sources, block): both are in the first index, because the
 * second is limited to few values on some devices. If `levels` is 0, every arc increases the cost,
 * so that no vertex is left waiting. */
__kernel void block_fall(__global const long *first, __global const int *tails,
                         __global const value_t *weights, __global const int *sources,
                         __global const value_t *costs, __global int *before,
                         __global int *settled, __global int *state, const int n, const int width,
                         const int levels)
{
    const int strips = width / PYAPSP_WIDTH;
    const int v = get_global_id(0) / strips;
    const int s = get_global_id(0) % strips * PYAPSP_WIDTH;
    if (v >= n)
        return;
    costs += BLOCK(n, width) + s;
    const size_t own = (size_t)v * width, place = BLOCK(n, width) + own + s;
    const strip_t cost = STRIP(__global const, costs + own);
    const index_strip_t source =
        INDEX_STRIP(__global const, sources + get_global_id(2) * width + s);
    index_strip_t needs = INDEX_MASK(cost != (strip_t)(PYAPSP_INFINITY)) & (source != v);
    index_strip_t found = NO_PREDECESSOR;
    for (long a = first[v]; a < first[v + 1] && (a % LOOK || ANY(needs)); a++) {
        const int tail = tails[a];
        const strip_t less = STRIP(__global const, costs + (size_t)tail * width);
        const strip_t sum = extend(weights[a], less);
        const index_strip_t tight = needs & INDEX_MASK((less < cost) & (sum == cost));
        found = tight ? tail : found;
        needs = needs & ~tight;
    }
    INDEX_STRIP(__global, before + place) = found;
    if (!levels)
        return;
    INDEX_STRIP(__global, settled + place) = needs == 0;
    if (ANY(needs))
        atomic_or(state, WAITING);
}

/* One work-item for each (v and s, block), as in the kernel below. It reads which vertices were
 * settled before this launch, and settles none itself. */
__kernel void block_level(__global const long *first, __global const int *tails,
                          __global const value_t *weights, __global const value_t *costs,
                          __global int *before, __global const int *settled, const int n,
                          const int width)
{
    const int v = get_global_id(0) / width;
    const int s = get_global_id(0) % width;
    if (v >= n)
        return;
    const size_t block = BLOCK(n, width), own = block + (size_t)v * width + s;
    if (settled[own])
        return;
    const value_t cost = costs[own];
    for (long a = first[v]; a < first[v + 1]; a++) {
        const size_t other = block + (size_t)tails[a] * width + s;
        if (settled[other] && costs[other] == cost && (value_t)(cost + weights[a]) == cost) {
            before[own] = tails[a];
            return;
        }
    }
}

__kernel void block_settle(__global const int *before, __global int *settled, __global int *state,
                           const int n, const int width)
{
    const int v = get_global_id(0) / width;
    const int s = get_global_id(0) % width;
    if (v >= n)
        return;
    const size_t own = BLOCK(n, width) + (size_t)v * width + s;
    if (settled[own])
        return;
    settled[own] = before[own] != NO_PREDECESSOR;
    atomic_or(state, settled[own] ? ADVANCED : WAITING);
}

/* Sums of distances: exact for integers, in double for floats where the device has it. */
#if PYAPSP_INTEGER
typedef long total_t;
#elif PYAPSP_HAS_FP64
typedef double total_t;
#else
typedef float total_t;
#endif

/* For each source, over a range of the vertices: the largest distance, the sum of them, and how many
 * there are. A work-item for each (s, range, block); entry [block][range][s] of the results. */
__kernel void block_totals(__global const value_t *costs, __global value_t *largest,
                           __global total_t *totals, __global int *reached, const int n,
                           const int width)
{
    const int s = get_global_id(0);
    if (s >= width)
        return;
    const int range = get_global_id(1), ranges = get_global_size(1);
    const int share = (n + ranges - 1) / ranges, to = min(n, (range + 1) * share);
    costs += BLOCK(n, width) + s;
    value_t most = 0;
    total_t total = 0;
    int count = 0;
    for (int v = range * share; v < to; v++) {
        const value_t cost = costs[(size_t)v * width];
        if (cost == PYAPSP_INFINITY)
            continue;
        most = cost > most ? cost : most;
        total += cost;
        count++;
    }
    const size_t place = (get_global_id(2) * (size_t)ranges + range) * width + s;
    largest[place] = most;
    totals[place] = total;
    reached[place] = count;
}

/* The number of costs in each bin: bin i has those with floor(cost / step) = i. A work-item for
 * each (some entries, block), from a first block on; a work-group counts the first bins in near[],
 * in local memory. The counts are zero before the launch. The host ensures that no bin gets
 * 2^32. */
#define NEAR_BINS 2048
/* floats are divided in double, where the rounding is the same as on the host */
#if PYAPSP_INTEGER
#define BIN(cost, step) ((cost) / (step))
#else
#define BIN(cost, step) floor((total_t)(cost) / (total_t)(step))
#endif
__kernel void block_histogram(__global const value_t *costs, __global uint *counts, const int n,
                              const int width, const int bins, const value_t step,
                              const int block)
{
    __local uint near[NEAR_BINS];
    for (int bin = get_local_id(0); bin < NEAR_BINS; bin += get_local_size(0))
        near[bin] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    costs += (block + get_global_id(1)) * (size_t)n * width;
    for (size_t i = get_global_id(0); i < (size_t)n * width; i += get_global_size(0)) {
        const value_t cost = costs[i];
        if (cost == PYAPSP_INFINITY)
            continue;
        const int bin = min((int)BIN(cost, step), bins - 1);
        if (bin < NEAR_BINS)
            atomic_inc(&near[bin]);
        else
            atomic_inc(&counts[bin]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int bin = get_local_id(0); bin < min(bins, NEAR_BINS); bin += get_local_size(0))
        if (near[bin])
            atomic_add(&counts[bin], near[bin]);
}
