/* dcsr: compressed sparse rows whose rows are lists of segments (DCSR).
 *
 * Purpose   The rival of figure 18.10. Each batch appends its edges to the end of one array, those of
 *           a row together, and the row gets one more segment. After as many batches as a row has
 *           room for, or when the array is full, all rows are packed again.
 *
 *             dcsr_count     count the edges of each tail, which gives each edge a place
 *             dcsr_append    take a segment for each tail
 *             dcsr_write     write the edges
 *             dcsr_pack      copy rows out of their segments
 *             dcsr_segments  let each row be one segment
 *             dcsr_sum       the product with a vector, of rows of ones
 *
 * Layout    sizes[v]               edges of a row
 *           counts[v]              its segments
 *           segments[s * n + v]    begin and end of segment s of row v
 *
 *             0 -> 1 2, 1 -> 3, and then 0 -> 3       heads      1 2 3 | 3
 *                                                     segments   row 0: (0, 2) (3, 4)   row 1: (2, 3)
 *
 * Parameters  those of dynamic/analytics.cl, whose text comes before this one
 *
 * Cost      A product reads two numbers for each segment, and the heads.
 *
 * Source    J. King, T. Gilray, R. M. Kirby, M. Might, Dynamic sparse-matrix allocation on GPUs, ISC
 *           2016, doi:10.1007/978-3-319-41321-1_4, as F. Busato, thesis, Verona 2018, chapter 17,
 *           describes it.
 */
#define BAD 0
#define TOUCHED 1
#define FOR_ITEMS(i, count) for (int i = get_global_id(0); i < (count); i += get_global_size(0))
#define ROWS_OF_SEGMENTS                                                                           \
    const int n, __global int *sizes, __global int *counts, __global int2 *segments,               \
        __global int *content
#undef ROW_SIZE
#define ROW_SIZE(v) sizes[v]

__kernel void dcsr_count(__global const int *tails, __global const int *heads, const int count,
                         const int n, volatile __global int *fresh, __global int *ranks,
                         volatile __global int *state)
{
    FOR_ITEMS (i, count) {
        const int v = tails[i], head = heads[i];
        if (v >= 0 && v < n && head >= 0 && head < n)
            ranks[i] = atomic_inc(&fresh[v]);
        else
            atomic_min(&state[BAD], i);
    }
}

/* *end is the end of the array, which grows. */
__kernel void dcsr_append(__global const int *tails, const int count, __global const int *ranks,
                          __global const int *fresh, volatile __global int *end, ROWS_OF_SEGMENTS)
{
    FOR_ITEMS (i, count) {
        if (ranks[i] == 0) {
            const int v = tails[i], size = fresh[v], begin = atomic_add(end, size);
            segments[(long)counts[v] * n + v] = (int2)(begin, begin + size);
            counts[v]++;
            sizes[v] += size;
        }
    }
}

/* Write the edges of a batch, and forget their counts. */
__kernel void dcsr_write(__global const int *tails, __global const int *heads, const int count,
                         __global const int *ranks, __global int *fresh, ROWS_OF_SEGMENTS)
{
    FOR_ITEMS (i, count) {
        const int v = tails[i];
        content[segments[(long)(counts[v] - 1) * n + v].x + ranks[i]] = heads[i];
        if (ranks[i] == 0)
            fresh[v] = 0;
    }
}

/* Copy the edges of each row to first[v] and behind it; a warp takes a row. */
__kernel void dcsr_pack(__global const long *first, __global int *heads, ROWS_OF_SEGMENTS)
{
    const int lane = get_global_id(0) % PYAPSP_WARP, warps = get_global_size(0) / PYAPSP_WARP;
    for (int v = get_global_id(0) / PYAPSP_WARP; v < n; v += warps) {
        __global int *to = heads + first[v];
        for (int s = 0; s < counts[v]; s++) {
            const int2 segment = segments[(long)s * n + v];
            for (int k = segment.x + lane; k < segment.y; k += PYAPSP_WARP)
                to[k - segment.x] = content[k];
            to += segment.y - segment.x;
        }
    }
}

__kernel void dcsr_segments(__global const long *first, ROWS_OF_SEGMENTS)
{
    FOR_ITEMS (v, n) {
        segments[v] = (int2)((int)first[v], (int)first[v + 1]);
        counts[v] = 1;
    }
}

__kernel GROUP void dcsr_sum(LISTS, __global const value_t *x, __global value_t *y,
                             ROWS_OF_SEGMENTS)
{
    __local value_t sums[PYAPSP_GROUP];
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        value_t own = 0;
        for (int s = 0; size > 0 && s < counts[v]; s++) {
            const int2 segment = segments[(long)s * n + v];
            for (int k = segment.x + lane; k < segment.y; k += lanes)
                own += x[content[k]];
        }
        const value_t sum = sum_of_lanes(own, lane, lanes, sums);
        if (v >= 0 && lane == 0)
            y[v] = sum;
    }
}
