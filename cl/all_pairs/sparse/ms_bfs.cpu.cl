/* ms_bfs for CPUs and many sources: a core searches a block of sources alone, and writes its rows.
 *
 * Purpose   ms_bfs.cl shares a level among all cores, in a few launches. In a small graph a launch
 *           takes longer than the work of a core in it. If there are enough sources for all cores,
 *           these need not share a level. Here one launch does everything: a core that is ready
 *           takes the next block of sources, searches it, and writes its rows while its bits are in
 *           the cache. Only one core writes to them, so that no operation on bits is atomic. Some
 *           cores search while others write, so that they use the memory in turns. A core that
 *           finds no block any more writes parts of the rows of others: with 16 cores there is
 *           often a block for each, and cores begin and end at different times.
 *
 * Layout    Rows of WORDS words for each vertex and core, as in ms_bfs.cl, in one array after the
 *           other: seen, frontier, next, and the planes of digits. At the start of a level all of
 *           `next` is 0, and so are the rows of the frontier that are not in its list. So no level
 *           clears a whole array.
 *           After the bits of all cores, three lists for each: the vertices of the frontier, those of
 *           the next one, and those that may be incomplete, the only ones that a pull looks at.
 *
 * Parameters  those of ms_bfs_rows.cl, for values, and
 *             PYAPSP_BITS        1  words in a vector: 1, 2, 4, 8 or 16; a divisor of WORDS
 *             PYAPSP_HELPS       0  1: cores write rows of others, for which they need a fence
 *
 * Cost      That of ms_bfs.cl, one launch. Memory for each core and source: 3 + (digits of n) bits
 *           for each vertex, but planes are touched only up to the digits of the longest distance.
 *
 * Source    As ms_bfs.cl and ms_bfs_rows.cl. Blocks for cores: ours.
 */
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 16
#endif
#ifndef PYAPSP_BITS
#define PYAPSP_BITS 1
#endif
#define WORDS PYAPSP_WORDS

#ifndef PYAPSP_HELPS
#define PYAPSP_HELPS 0
#endif

#include "all_pairs/sparse/ms_bfs_rows.h"
#include "common/counters.h"

/* The hint says that the code has vectors already. Without it one compiler puts work-items into the
 * lanes of vectors, though a group has only one, and is busy with that for a minute. */
#define ALONE __attribute__((reqd_work_group_size(1, 1, 1), vec_type_hint(uint16)))
#define VECTORS (WORDS / PYAPSP_BITS)
#if PYAPSP_BITS == 1
typedef uint bits_t;
#define SOME(bits) ((bits) != 0)
#else
typedef PYAPSP_JOIN(uint, PYAPSP_BITS) bits_t;
#define SOME(bits) (PYAPSP_JOIN(ANY_, PYAPSP_BITS)(bits) != 0)
#endif
#define NONE ((bits_t)(0))

/* The row of a vertex, and each vector of a row. */
#define ROW(array, v) ((array) + (size_t)(v) * VECTORS)
#define VECTOR(k) _Pragma("unroll") for (int k = 0; k < VECTORS; k++)

/* What all blocks have in common: the next block, and the largest number of levels. Then for the
 * block of each core, in a line of the caches: the parts of its rows that nobody has taken, the
 * first source, and the number of levels. */
#define BEGUN 0
#define LEVELS 1
#define BLOCK(state, core) ((state) + 16 * (1 + (core)))
#define LEFT 0
#define FIRST 1
#define DEPTH 2
#define STRIPS_OF(n) (((n) + STRIPS * V - 1) / (STRIPS * V))

/* The arrays of a core. */
typedef struct {
    __global bits_t *seen, *frontier, *next, *planes;
    __global int *list, *following, *open;
    int listed, opened; /* entries of `list` and `open` */
    long arcs, entered; /* arcs that leave the frontier; that enter the vertices of `open` */
    bits_t alive[VECTORS]; /* sources that found a vertex in the level before */
} search_t;

/* Level 0. Places without a source have all bits, so that no row is searched for these. */
static inline void start(search_t *our, const int n, __global const int *sources, const int count,
                         __global const long *leaving, __global const long *entering)
{
    uint none[WORDS] __attribute__((aligned(64)));
    for (int w = 0; w < WORDS; w++) {
        const int some = count - 32 * w;
        none[w] = some >= 32 ? 0 : some <= 0 ? 0xffffffffu : 0xffffffffu << some;
    }
    for (int v = 0; v < n; v++) {
        VECTOR(k) {
            ROW(our->seen, v)[k] = ((const bits_t *)none)[k];
            ROW(our->frontier, v)[k] = NONE;
            ROW(our->next, v)[k] = NONE;
        }
        our->open[v] = v;
    }
    our->opened = n;
    our->listed = our->arcs = 0;
    our->entered = entering[n];
    VECTOR(k) {
        our->alive[k] = ~((const bits_t *)none)[k];
    }
    for (int s = 0; s < count; s++) {
        const int v = sources[s];
        int first = 1;
        VECTOR(k)
            first &= !SOME(ROW(our->frontier, v)[k]);
        if (first) {
            our->list[our->listed++] = v;
            our->arcs += leaving[v + 1] - leaving[v];
        }
        ((__global uint *)ROW(our->frontier, v))[s / 32] |= 1u << s % 32;
        ((__global uint *)ROW(our->seen, v))[s / 32] |= 1u << s % 32;
    }
}

/* Gather the frontier along the arcs that enter incomplete vertices; return the entries of the next
 * list. A vertex is complete when it has the bits of all sources that are alive, and it remains so,
 * because a source that found nothing in a level never does again. */
static inline int pull(search_t *our, __global const long *entering, __global const int *tails)
{
    int found_rows = 0, open = 0;
    our->entered = 0;
    for (int e = 0; e < our->opened; e++) {
        const int v = our->open[e];
        bits_t wanted[VECTORS], found[VECTORS], left = NONE;
        VECTOR(k) {
            wanted[k] = ~ROW(our->seen, v)[k] & our->alive[k];
            found[k] = NONE;
            left |= wanted[k];
        }
        if (!SOME(left))
            continue;
        long a = entering[v];
        const long to = entering[v + 1];
        for (; a + 4 <= to && SOME(left); a += 4) {
            left = NONE;
            VECTOR(k) {
                found[k] |= ROW(our->frontier, tails[a])[k] | ROW(our->frontier, tails[a + 1])[k] |
                            ROW(our->frontier, tails[a + 2])[k] |
                            ROW(our->frontier, tails[a + 3])[k];
                left |= wanted[k] & ~found[k];
            }
        }
        if (SOME(left)) {
            for (; a < to; a++)
                VECTOR(k)
                    found[k] |= ROW(our->frontier, tails[a])[k];
            left = NONE;
            VECTOR(k)
                left |= wanted[k] & ~found[k];
        }
        bits_t fresh = NONE;
        VECTOR(k) {
            found[k] &= wanted[k];
            fresh |= found[k];
        }
        if (SOME(left)) {
            our->open[open++] = v;
            our->entered += to - entering[v];
        }
        if (!SOME(fresh))
            continue;
        VECTOR(k)
            ROW(our->next, v)[k] = found[k];
        our->following[found_rows++] = v;
    }
    our->opened = open;
    return found_rows;
}

/* Scatter the rows of the list along the arcs that leave; return the entries of the next list. */
static inline int push(search_t *our, __global const long *leaving, __global const int *heads)
{
    int found_rows = 0;
    for (int e = 0; e < our->listed; e++) {
        const int u = our->list[e];
        bits_t sent[VECTORS];
        VECTOR(k)
            sent[k] = ROW(our->frontier, u)[k];
        for (long a = leaving[u]; a < leaving[u + 1]; a++) {
            const int v = heads[a];
            bits_t fresh = NONE, old = NONE;
            VECTOR(k)
                fresh |= sent[k] & ~ROW(our->seen, v)[k];
            if (!SOME(fresh))
                continue;
            VECTOR(k) {
                old |= ROW(our->next, v)[k];
                ROW(our->next, v)[k] |= sent[k] & ~ROW(our->seen, v)[k];
            }
            if (!SOME(old))
                our->following[found_rows++] = v;
        }
    }
    return found_rows;
}

/* The next rows are seen, and become the frontier; the rows of the old one become 0. */
static inline void settle(search_t *our, const int rows, const int level, const size_t plane,
                          __global const long *leaving)
{
    VECTOR(k)
        our->alive[k] = NONE;
    our->arcs = 0;
    for (int e = 0; e < rows; e++) {
        const int v = our->following[e];
        VECTOR(k) {
            const bits_t fresh = ROW(our->next, v)[k];
            ROW(our->seen, v)[k] |= fresh;
            our->alive[k] |= fresh;
            for (int digit = 0; level >> digit; digit++)
                if (level >> digit & 1)
                    ROW(our->planes + digit * plane, v)[k] |= fresh;
        }
        our->arcs += leaving[v + 1] - leaving[v];
    }
    for (int e = 0; e < our->listed; e++)
        VECTOR(k)
            ROW(our->frontier, our->list[e])[k] = NONE;
    __global bits_t *rest = our->frontier;
    our->frontier = our->next;
    our->next = rest;
    __global int *list = our->list;
    our->list = our->following;
    our->following = list;
    our->listed = rows;
}

/* Search a block, at most `longest` levels; return the number of levels that found something. A
 * frontier is pushed if it has fewer arcs than a pull would read, divided by `few`. */
static inline int search(search_t *our, const int n, const size_t plane,
                         __global const long *leaving, __global const int *heads,
                         __global const long *entering, __global const int *tails, const long few,
                         const int longest)
{
    for (int level = 1; level <= longest; level++) {
        if ((level & (level - 1)) == 0) {
            __global bits_t *digits = our->planes + (31 - clz(level)) * plane;
            for (size_t i = 0; i < plane; i++)
                digits[i] = NONE;
        }
        const int rows = our->arcs * few < our->entered ? push(our, leaving, heads)
                                                        : pull(our, entering, tails);
        if (rows == 0)
            return level - 1;
        settle(our, rows, level, plane, leaving);
    }
    return longest;
}

/* Write a part of a block, the sources `first` to `last` - 1: the rows of a strip of vertices, or in
 * parts from STRIPS_OF(n) on their predecessors. */
static inline void write_part(const int part, __global const uint *seen,
                              __global const uint *planes, __global const long *entering,
                              __global const int *tails, __global value_t *rows,
                              __global int *before, const int n, const int first, const int last,
                              const int levels)
{
    const int digits = 32 - clz(levels), fields = (32 - clz(levels + 1) + 3) / 4;
    const int from = part % STRIPS_OF(n) * STRIPS * V;
    const ulong plane = (ulong)n * WORDS;
    if (part < STRIPS_OF(n)) {
        for (int s = first; s < last; s += 32)
            write_rows(seen, planes, rows, n, from, (s - first) / 32, digits, plane, s, last,
                       fields, MOST_FIELDS);
        return;
    }
    for (int v = from; v < min(from + STRIPS * V, n); v++)
        for (int s = first; s < last; s += 32)
            write_before(entering, tails, seen, planes, before, n, v, (s - first) / 32, digits,
                         plane, s, last);
}

/* Take parts of a block that was searched, whose arrays begin at `bits`, and write them, until none
 * of the `parts` is left; return whether there was one. */
static inline int write_parts(counters_t block, __global const bits_t *bits, const int parts,
                              __global const long *entering, __global const int *tails,
                              __global value_t *rows, __global int *before, const int n,
                              const int count, const int size)
{
    const size_t plane = (size_t)n * VECTORS;
    int written = 0;
    while (look(&block[LEFT]) > 0) {
        const int left = atomic_dec(&block[LEFT]);
        if (left <= 0)
            break;
        DEVICE_FENCE();
        const int first = look(&block[FIRST]);
        write_part(parts - left, (__global const uint *)bits,
                   (__global const uint *)(bits + 3 * plane), entering, tails, rows, before, n,
                   first, min(first + size, count), look(&block[DEPTH]));
        written = 1;
    }
    return written;
}

/* A group for each core. There are `count` sources in blocks of `size`, a multiple of 32; `digits`
 * planes for each core. */
__kernel ALONE void ms_bfs_blocks(__global const long *leaving, __global const int *heads,
                                  __global const long *entering, __global const int *tails,
                                  __global bits_t *bits, __global int *state,
                                  __global const int *sources, __global value_t *rows,
                                  __global int *before, const int n, const int count,
                                  const int size, const int digits, const long few,
                                  const int longest)
{
    const int core = get_group_id(0), cores = get_num_groups(0);
    const int parts = before ? 2 * STRIPS_OF(n) : STRIPS_OF(n);
    const size_t plane = (size_t)n * VECTORS, all = (3 + digits) * plane;
    __global bits_t *own = bits + core * all;
    __global int *ours = (__global int *)(bits + cores * all) + (size_t)core * 3 * n;
    counters_t block = BLOCK(state, core);
    for (int first = atomic_inc(&state[BEGUN]) * size; first < count;
         first = atomic_inc(&state[BEGUN]) * size) {
        const int last = min(first + size, count);
        search_t our;
        our.seen = own;
        our.frontier = own + plane;
        our.next = own + 2 * plane;
        our.planes = own + 3 * plane;
        our.list = ours;
        our.following = ours + n;
        our.open = ours + 2 * n;
        start(&our, n, sources + first, last - first, leaving, entering);
        const int levels = search(&our, n, plane, leaving, heads, entering, tails, few, longest);
        atomic_max(&state[LEVELS], levels);
        put(&block[FIRST], first);
        put(&block[DEPTH], levels);
        DEVICE_FENCE();
        put(&block[LEFT], parts);
        write_parts(block, own, parts, entering, tails, rows, before, n, count, size);
    }
    /* All blocks are begun, so that no core overwrites bits that others read. A core does not wait
     * for parts: it would take the time of the cores that search, if there are fewer than groups. */
    for (int helped = PYAPSP_HELPS; helped;) {
        helped = 0;
        for (int turn = 1; turn < cores; turn++) {
            const int other = (core + turn) % cores;
            helped |= write_parts(BLOCK(state, other), bits + other * all, parts, entering, tails,
                                  rows, before, n, count, size);
        }
    }
}
