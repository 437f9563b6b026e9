/* ms_bfs: breadth-first search from many sources at once, one bit for each.
 *
 * Purpose   In a small-world graph all searches reach the same vertices within a few levels. A
 *           vertex has a row of bits, one for each source of a block. A level computes the bitwise
 *           or of the rows of the neighbours, so that 32 searches cross an arc in one operation.
 *           There are two directions. In pull, every vertex that is not complete gathers from its
 *           neighbours, and stops when it is complete. In push, the few vertices of a small
 *           frontier scatter. The host chooses the direction for each level. During the search
 *           distances are not stored as numbers: each binary digit is a bit in a plane, written
 *           once, when the bit of the pair is found.
 *
 * Layout    Rows of WORDS words for each (block, v); block g has the sources 32 WORDS g and on.
 *
 *                          32 sources | 32 sources | ...            planes of digits: for level 5
 *               vertex 0   ........1. | .......... |  seen            plane 0  |= new
 *               vertex 1   .1......1. | ....1..... |  frontier        plane 2  |= new
 *               vertex 2   .......... | .......... |  next
 *
 *           A row is LANES work-items wide, each with STRIPS vectors of WIDTH words. Neighbouring
 *           work-items take neighbouring words, then neighbouring rows (SCATTERED), or each takes a
 *           range of rows. The arcs that enter a vertex are cut into pieces of limited length, so
 *           that other rows need not wait for a long one: piece c goes from pieces[c] to pieces[c +
 *           1] and belongs to vertex owners[c].
 *
 * Parameters  PYAPSP_LANES      32  work-items for a row
 *             PYAPSP_STRIPS      1  vectors for a work-item
 *             PYAPSP_WIDTH       1  words in a vector: 1, 2, 4, 8 or 16
 *             PYAPSP_ROWS        8  rows of a group
 *             PYAPSP_SCATTERED   1  1: neighbouring work-items take neighbouring rows
 *
 * Cost      Pull: at most m WORDS words read for each level and block; push: the arcs of the
 *           frontier. Device memory 3 + (digits of the longest distance) bits for each pair.
 *
 * Source    M. Then et al., the more the merrier: efficient multi-source graph traversal, PVLDB
 *           8(4), 2014, doi:10.14778/2735496.2735507 (bits for sources); S. Beamer, K. Asanovic, D.
 *           Patterson, direction-optimizing breadth-first search, SC 2012, doi:10.1109/SC.2012.50.
 *           Distances in bit planes: ours.
 */
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 32
#endif
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 1
#endif
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1
#endif
#ifndef PYAPSP_ROWS
#define PYAPSP_ROWS 8
#endif
#ifndef PYAPSP_SCATTERED
#define PYAPSP_SCATTERED 1
#endif

#define PYAPSP_VALUE uint
#define PYAPSP_INTEGER 1
#include "common/peek.h"
#include "common/types.h"

#define SPAN (PYAPSP_STRIPS * PYAPSP_WIDTH)
#define WORDS (PYAPSP_LANES * SPAN)
#define GROUP __attribute__((reqd_work_group_size(PYAPSP_LANES, PYAPSP_ROWS, 1)))

typedef strip_t bits_t;
#define ALIGNED __attribute__((aligned(4 * PYAPSP_WIDTH)))

/* What a level reports to the host and to the next level. ENTRIES: vertices in the next frontier,
 * if there is a list. WIDEST: the largest degree among them. ARCS and PAIRS, 64-bit numbers in two
 * halves: their arcs and the pairs found. ALIVE: a bit for each source that found a vertex. There
 * are three such states: `before` of the level before, `state` of this one, and `spare`, which a
 * level clears for the next one. */
#define ENTRIES 0
#define WIDEST 1
#define ARCS 2
#define PAIRS 4
#define ALIVE 16

/* Add to a 64-bit number in two halves. */
static inline void add_long(__global uint *number, const ulong value)
{
    const uint low = (uint)value;
    const uint before = atomic_add(number, low);
    const uint high = (uint)(value >> 32) + (before + low < before);
    if (high)
        atomic_add(number + 1, high);
}

/* The number of bits that are set. In vectors it is computed by sums of larger and larger parts of
 * a word, because compilers split popcount() of a vector into single words. */
static inline uint ones(const bits_t bits)
{
#if PYAPSP_WIDTH == 1
    return popcount(bits);
#else
    uint each[PYAPSP_WIDTH] ALIGNED, count = 0;
    bits_t parts = bits - (bits >> 1 & 0x55555555u);
    parts = (parts & 0x33333333u) + (parts >> 2 & 0x33333333u);
    parts = (parts + (parts >> 4)) & 0x0f0f0f0fu;
    *(bits_t *)each = parts * 0x01010101u >> 24;
    for (int i = 0; i < PYAPSP_WIDTH; i++)
        count += each[i];
    return count;
#endif
}

/* The row of the frontier for vertex u of this block. */
#define ROW(u) (frontier + (block + (u)) * (PYAPSP_LANES * PYAPSP_STRIPS) + lane)

/* For each vector of the work-item's row. Unrolled, so that arrays indexed by k are in
 * registers. */
#define EACH(k) _Pragma("unroll") for (int k = 0; k < PYAPSP_STRIPS; k++)

/* The rows of a work-item, of count in all. */
#if PYAPSP_SCATTERED
#define FOR_ROWS(row, count)                                                                       \
    for (size_t row = get_global_id(1); row < (count); row += get_global_size(1))
#else
#define FOR_ROWS(row, count)                                                                       \
    const size_t share = ((count) + get_global_size(1) - 1) / get_global_size(1);                  \
    for (size_t row = get_global_id(1) * share;                                                    \
         row < min((size_t)(count), (get_global_id(1) + 1) * share); row++)
#endif

/* Set a range of words to 0. */
static inline void zero(__global uint *words, const size_t from, const size_t to)
{
    for (size_t i = from; i < to; i++)
        words[i] = 0;
}

/* One work-item for each (strip of words of the rows, block). Clear the bits of all sources, and
 * set those without a source, so that no row is searched for these. Clear frontiers, marks, the
 * first `digits` planes, and two states of `numbers` numbers. All cores do this, because the pages
 * of new memory take one core as long as the search. */
__kernel void ms_bfs_clear(__global uint *seen, __global uint *frontier, __global uint *next,
                           __global uint *planes, __global int *marks, __global uint *state,
                           __global uint *spare, const int n, const int count, const int strip,
                           const int digits, const ulong plane, const int numbers)
{
    const size_t size = (size_t)n * WORDS, first = get_global_id(0) * (size_t)strip;
    const size_t block = get_global_id(1);
    if (first == 0 && block == 0) {
        zero(state, 0, numbers);
        zero(spare, 0, numbers);
    }
    if (first >= size)
        return;
    const size_t from = block * size + first, to = block * size + min(first + strip, size);
    for (size_t i = from; i < to; i++) {
        const int sources = count - (int)(block * WORDS + i % WORDS) * 32;
        const uint none = 0xffffffffu;
        seen[i] = sources >= 32 ? 0 : sources <= 0 ? none : none << sources;
        if (i % WORDS == 0)
            marks[i / WORDS] = 0;
    }
    zero(frontier, from, to);
    zero(next, from, to);
    for (int digit = 0; digit < digits; digit++)
        zero(planes, digit * plane + from, digit * plane + to);
}

/* One work-item for each source; level 0. */
__kernel void ms_bfs_start(__global const int *sources, __global uint *seen,
                           __global uint *frontier, __global int *marks, __global uint *list,
                           __global uint *state, __global const long *leaving, const int n,
                           const int count)
{
    const int s = get_global_id(0);
    if (s >= count)
        return;
    const uint row = (uint)(s / (32 * WORDS)) * n + sources[s];
    const size_t word = (size_t)row * WORDS + s / 32 % WORDS;
    const uint bit = 1u << s % 32;
    atomic_or(&seen[word], bit);
    atomic_or(&frontier[word], bit);
    atomic_or(&state[ALIVE + s / 32], bit);
    if (atomic_max(&marks[row], 1) >= 1)
        return;
    const long degree = leaving[sources[s] + 1] - leaving[sources[s]];
    list[atomic_inc(&state[ENTRIES])] = row;
    atomic_max(&state[WIDEST], (uint)degree);
    add_long(&state[ARCS], (ulong)degree);
}

/* What a work-item reports of a level: the pairs found and their sources; the arcs of the rows that
 * found something, and the largest degree of one. It is reported once, at the end, because counters
 * that all work-items share are slow. */
#define TELL_NOTHING                                                                               \
    ulong pairs = 0, arcs = 0;                                                                     \
    uint widest = 0;                                                                               \
    bits_t living[PYAPSP_STRIPS];                                                                  \
    EACH(k)                                                                                        \
        living[k] = (bits_t)(0);

/* Store the new bits of a vector of a row, and the digits of their level. */
static inline void keep(__global bits_t *seen, __global uint *planes, const size_t place,
                        const bits_t fresh, const int level, const ulong plane)
{
    seen[place] |= fresh;
    for (int digit = 0; level >> digit; digit++)
        if (level >> digit & 1)
            ((__global bits_t *)(planes + digit * plane))[place] |= fresh;
}

/* Add to a 64-bit number in two halves, in local memory. */
static inline void gather(__local uint *number, const ulong value)
{
    const uint low = (uint)value, before = atomic_add(number, low);
    const uint high = (uint)(value >> 32) + (before + low < before);
    if (high)
        atomic_add(number + 1, high);
}

/* Set bits of a word of the state. Most are set already, and only changes are slow. */
static inline void alive(__global uint *word, const uint bits)
{
#if __OPENCL_C_VERSION__ >= 200
    if (bits & ~(uint)PEEK_INT(word))
#else
    if (bits)
#endif
        atomic_or(word, bits);
}

/* Clear the state of the next level. */
#define CLEAR(spare, numbers)                                                                      \
    if (get_group_id(1) == 0 && get_group_id(2) == 0)                                              \
        for (int i = get_local_id(1) * PYAPSP_LANES + get_local_id(0); i < (numbers);              \
             i += PYAPSP_LANES * PYAPSP_ROWS)                                                      \
            (spare)[i] = 0;

/* Report for the sources of a block. All work-items of a group must call this. */
static inline void tell(__global uint *state, const uint block, const int lane,
                        const bits_t *living, const ulong pairs, const ulong arcs,
                        const uint widest, __local uint *sum)
{
    EACH(k) {
        if (!ANY(living[k]))
            continue;
        uint each[PYAPSP_WIDTH] ALIGNED;
        *(bits_t *)each = living[k];
        for (int i = 0; i < PYAPSP_WIDTH; i++)
            alive(&state[ALIVE + block * WORDS + (lane + k) * PYAPSP_WIDTH + i], each[i]);
    }
    const int leader = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (leader)
        sum[0] = sum[1] = sum[2] = sum[3] = sum[4] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (pairs)
        gather(&sum[0], pairs);
    if (arcs) {
        gather(&sum[2], arcs);
        atomic_max(&sum[4], widest);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (leader && (sum[0] || sum[1]))
        add_long(&state[PAIRS], ((ulong)sum[1] << 32) | sum[0]);
    if (leader && (sum[2] || sum[3])) {
        add_long(&state[ARCS], ((ulong)sum[3] << 32) | sum[2]);
        atomic_max(&state[WIDEST], sum[4]);
    }
}

/* Count the arcs of a row that found something, once, and do more for the first that does. */
#define COUNT(row, v, more)                                                                        \
    if (atomic_max(&marks[row], level + 1) <= level) {                                             \
        const long degree = leaving[(v) + 1] - leaving[v];                                         \
        arcs += degree;                                                                            \
        widest = max(widest, (uint)degree);                                                        \
        more;                                                                                      \
    }

/* Gather the frontier along the entering arcs; the third index is the block. next becomes the next
 * frontier: all its rows are written, except those with several pieces, which ms_bfs_join writes. A
 * row is complete when it has the bits of all sources that found a vertex in the level before. */
__kernel GROUP void ms_bfs_pull(__global const long *pieces, __global const int *owners,
                                __global const int *tails, __global bits_t *seen,
                                __global const bits_t *frontier, __global bits_t *next,
                                __global uint *planes, __global const uint *before,
                                __global int *marks, __global uint *state,
                                __global const long *leaving, const int n, const int count,
                                const int level, const ulong plane, __global uint *spare,
                                const int numbers)
{
    __local uint sum[5];
    CLEAR(spare, numbers)
    const size_t block = (size_t)get_global_id(2) * n;
    const int lane = get_local_id(0) * PYAPSP_STRIPS;
    __global const bits_t *alive = (__global const bits_t *)(before + ALIVE) +
                                   get_global_id(2) * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
    TELL_NOTHING
    FOR_ROWS(piece, (size_t)count) {
        const int v = owners[piece];
        const size_t own = (block + v) * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
        const int alone = (piece == 0 || owners[piece - 1] != v) &&
                          (piece + 1 == (size_t)count || owners[piece + 1] != v);
        bits_t wanted[PYAPSP_STRIPS], found[PYAPSP_STRIPS];
        bits_t all = (bits_t)(0);
        EACH(k) {
            wanted[k] = ~seen[own + k] & alive[k];
            found[k] = (bits_t)(0);
            all |= wanted[k];
        }
        int open = ANY(all);
        long a = pieces[piece];
        const long to = pieces[piece + 1];
        for (; open && a + 4 <= to; a += 4) {
            bits_t left = (bits_t)(0);
            EACH(k) {
                found[k] |= ROW(tails[a])[k] | ROW(tails[a + 1])[k] | ROW(tails[a + 2])[k] |
                            ROW(tails[a + 3])[k];
                left |= wanted[k] & ~found[k];
            }
            open = ANY(left);
        }
        for (; open && a < to; a++)
            EACH(k)
                found[k] |= ROW(tails[a])[k];
        int some = 0;
        EACH(k) {
            const bits_t fresh = found[k] & wanted[k];
            if (alone)
                next[own + k] = fresh;
            if (!ANY(fresh))
                continue;
            if (alone) {
                some = 1;
                keep(seen, planes, own + k, fresh, level, plane);
                pairs += ones(fresh);
                living[k] |= fresh;
                continue;
            }
            uint each[PYAPSP_WIDTH] ALIGNED;
            *(bits_t *)each = fresh;
            for (int i = 0; i < PYAPSP_WIDTH; i++)
                atomic_or((__global uint *)(next + own + k) + i, each[i]);
        }
        if (some)
            COUNT(block + v, v, )
    }
    tell(state, get_global_id(2), lane, living, pairs, arcs, widest, sum);
}

/* After ms_bfs_pull: the rows of the vertices whose arcs are in several pieces. In the old frontier,
 * which is the next one of the level after this, they are cleared, because pieces add bits. */
__kernel GROUP void ms_bfs_join(__global const int *vertices, __global bits_t *seen,
                                __global const bits_t *next, __global bits_t *frontier,
                                __global uint *planes,
                                __global int *marks, __global uint *state,
                                __global const long *leaving, const int n, const int count,
                                const int level, const ulong plane)
{
    __local uint sum[5];
    const int lane = get_local_id(0) * PYAPSP_STRIPS;
    TELL_NOTHING
    FOR_ROWS(entry, (size_t)count) {
        const int v = vertices[entry];
        const size_t row = (size_t)get_global_id(2) * n + v;
        const size_t own = row * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
        int some = 0;
        EACH(k) {
            const bits_t fresh = next[own + k];
            frontier[own + k] = (bits_t)(0);
            if (!ANY(fresh))
                continue;
            some = 1;
            keep(seen, planes, own + k, fresh, level, plane);
            pairs += ones(fresh);
            living[k] |= fresh;
        }
        if (some)
            COUNT(row, v, )
    }
    tell(state, get_global_id(2), lane, living, pairs, arcs, widest, sum);
}

/* List the rows that a pull found at a level, and clear all rows of the next frontier: a work-item
 * for each (strip of vertices, block). */
__kernel void ms_bfs_list(__global const int *marks, __global bits_t *next, __global uint *list,
                          __global uint *state, const int n, const int level, const int strip)
{
    const int from = get_global_id(0) * strip, to = min(from + strip, n);
    const uint first = (uint)get_global_id(1) * n;
    uint found = 0;
    for (int v = from; v < to; v++) {
        const size_t row = first + v;
        for (int k = 0; k < PYAPSP_LANES * PYAPSP_STRIPS; k++)
            next[row * (PYAPSP_LANES * PYAPSP_STRIPS) + k] = (bits_t)(0);
        found += marks[row] == level + 1;
    }
    if (found == 0)
        return;
    uint place = atomic_add(&state[ENTRIES], found);
    for (int v = from; v < to; v++)
        if (marks[first + v] == level + 1)
            list[place++] = first + v;
}

/* Scatter the rows of the list along the arcs that leave, and clear them. */
__kernel GROUP void ms_bfs_push(__global const long *leaving, __global const int *heads,
                                __global const bits_t *seen, __global bits_t *frontier,
                                __global uint *next, __global int *marks,
                                __global const uint *list, __global uint *list_next,
                                __global const uint *before, __global uint *state, const int n,
                                const int level, __global uint *spare, const int numbers)
{
    __local uint sum[5];
    CLEAR(spare, numbers)
    const int lane = get_local_id(0) * PYAPSP_STRIPS;
    const size_t count = before[ENTRIES];
    TELL_NOTHING
    FOR_ROWS(entry, count) {
        const uint row = list[entry], block = row / n * n;
        const int u = row - block;
        const size_t own = (size_t)row * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
        bits_t told[PYAPSP_STRIPS];
        int some = 0;
        EACH(k) {
            told[k] = frontier[own + k];
            frontier[own + k] = (bits_t)(0);
            some |= ANY(told[k]);
        }
        for (long a = leaving[u]; some && a < leaving[u + 1]; a++) {
            const int v = heads[a];
            const size_t other = (size_t)(block + v) * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
            int found = 0;
            EACH(k) {
                const bits_t fresh = told[k] & ~seen[other + k];
                if (!ANY(fresh))
                    continue;
                found = 1;
                uint each[PYAPSP_WIDTH] ALIGNED;
                *(bits_t *)each = fresh;
                for (int i = 0; i < PYAPSP_WIDTH; i++)
                    if (each[i])
                        atomic_or(&next[(other + k) * PYAPSP_WIDTH + i], each[i]);
            }
            if (found)
                COUNT(block + v, v, list_next[atomic_inc(&state[ENTRIES])] = block + v)
        }
    }
    tell(state, 0, lane, living, pairs, arcs, widest, sum);
}

/* After ms_bfs_push: the found bits become the frontier, in the rows of the list. */
__kernel GROUP void ms_bfs_settle(__global const uint *list, __global bits_t *seen,
                                  __global bits_t *frontier, __global bits_t *next,
                                  __global uint *planes, __global uint *state, const int n,
                                  const int level, const ulong plane)
{
    __local uint sum[5];
    const int lane = get_local_id(0) * PYAPSP_STRIPS;
    const size_t count = state[ENTRIES];
    TELL_NOTHING
    FOR_ROWS(entry, count) {
        const uint row = list[entry];
        const size_t own = (size_t)row * (PYAPSP_LANES * PYAPSP_STRIPS) + lane;
        EACH(k) {
            const bits_t fresh = next[own + k];
            if (!ANY(fresh))
                continue;
            frontier[own + k] = fresh;
            next[own + k] = (bits_t)(0);
            keep(seen, planes, own + k, fresh, level, plane);
            pairs += ones(fresh);
            uint each[PYAPSP_WIDTH] ALIGNED;
            *(bits_t *)each = fresh;
            for (int i = 0; i < PYAPSP_WIDTH; i++)
                alive(&state[ALIVE + row / n * WORDS + (lane + k) * PYAPSP_WIDTH + i], each[i]);
        }
    }
    tell(state, 0, lane, living, pairs, arcs, widest, sum);
}
