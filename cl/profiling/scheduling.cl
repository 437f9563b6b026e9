/* scheduling: divergent paths, barriers and atomic operations.
 *
 * Purpose   `profiling_paths`: the work-items of a group take 1 to 32 different paths of the same
 *           length. `profiling_barriers`: each work-item passes its value to its neighbour, over
 *           two barriers, and can keep vectors across these. `profiling_counters`: work-items add to
 *           one counter or to their own, in global or in local memory. `profiling_shared`: units add
 *           to one word in turns, or to their own. `profiling_lines`: units add to many words of their
 *           own, in lines that all units use, or in their own lines. `profiling_chained`: a work-item
 *           does atomic operations, each of which waits for the one before.
 *
 * Layout    out: a value for each work-item.
 *           counters: one word, or one for each work-item.
 *           lines: PYAPSP_LINES times PYAPSP_APART words, for all work-items or for each.
 *
 * Parameters  PYAPSP_STEPS  32      atomic operations of a round
 *             PYAPSP_LOCAL  0       1: the counters are in local memory
 *             PYAPSP_WORDS  1024    words of local memory: at least the size of a group
 *             PYAPSP_KEPT   0       vectors of 64 bytes across the barriers: 0 or 8
 *             PYAPSP_LINES  128     lines of `profiling_lines`, fewer than the first cache has
 *             PYAPSP_APART  32      words from one line to the next one: at least the work-items
 *
 * Cost      a round: a path of 32 steps of two operations; 2 barriers; PYAPSP_STEPS atomic operations;
 *           PYAPSP_LINES atomic operations.
 *
 * Source    N. Bombieri, F. Busato, F. Fummi, M. Scala, MIPP, SIES 2016,
 *           doi:10.1109/SIES.2016.7509423.
 */
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 32
#endif
#ifndef PYAPSP_LOCAL
#define PYAPSP_LOCAL 0
#endif
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 1024
#endif
#ifndef PYAPSP_KEPT
#define PYAPSP_KEPT 0
#endif
#ifndef PYAPSP_LINES
#define PYAPSP_LINES 128
#endif
#ifndef PYAPSP_APART
#define PYAPSP_APART 32
#endif

/* A step of path k is an exclusive or, or an or, and a product. Each path has them in an order of its
 * own: compilers join only the last few steps of two paths, where these are equal. */
#define MIXED(k) ((k + 1u) * 0x9E3779B1u)
#define ONE(k, step) value = (((MIXED(k) >> (step)) & 1) ? (value ^ c) : (value | c)) * b;
#define FOUR(k, step) ONE(k, step) ONE(k, step + 1) ONE(k, step + 2) ONE(k, step + 3)
#define SIXTEEN(k, step) FOUR(k, step) FOUR(k, step + 4) FOUR(k, step + 8) FOUR(k, step + 12)
#define PATH(k)                                                                                    \
    case k:                                                                                        \
        SIXTEEN(k, 0)                                                                              \
        SIXTEEN(k, 16)                                                                             \
        break;
#define PATHS_4(k) PATH(k) PATH(k + 1) PATH(k + 2) PATH(k + 3)
#define PATHS_16(k) PATHS_4(k) PATHS_4(k + 4) PATHS_4(k + 8) PATHS_4(k + 12)

__kernel void profiling_paths(__global uint *out, const uint paths, const uint b, const uint c,
                              const int rounds)
{
    const uint path = get_local_id(0) & (paths - 1);
    uint value = get_global_id(0);
    for (int round = 0; round < rounds; round++) {
        switch (path) {
            PATHS_16(0)
            PATHS_16(16)
        }
    }
    out[get_global_id(0)] = value;
}

/* The vectors are separate variables: not every compiler keeps a private array in registers. */
#if PYAPSP_KEPT
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define EACH(DO)
#endif
#define KEPT_START(q) uint16 kept##q = (uint16)(item);
#define KEPT_STEP(q) kept##q = (kept##q ^ value) + q;
#define KEPT_SUM(q) value += kept##q.s##q;

__kernel void profiling_barriers(__global uint *out, const int rounds)
{
    __local uint passed[PYAPSP_WORDS];
    const uint item = get_local_id(0), size = get_local_size(0);
    const uint neighbour = (item + 1 < size) ? item + 1 : 0;
    uint value = item;
    EACH(KEPT_START)
    for (int round = 0; round < rounds; round++) {
        passed[item] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
        value = passed[neighbour] + 1;
        EACH(KEPT_STEP)
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    EACH(KEPT_SUM)
    out[get_global_id(0)] = value;
}

/* One work-item on each unit; `apart` is 0 for one counter. Between two additions are 3 PYAPSP_STEPS
 * operations, on which the place of the next one depends (`zero` is 0): units take turns. */
__kernel void profiling_shared(__global uint *counters, __global uint *out, const uint apart,
                               const uint zero, const int rounds)
{
    __global uint *counter = counters + get_global_id(0) * apart;
    uint value = get_global_id(0) + 1;
    for (int round = 0; round < rounds; round++) {
        value += atomic_inc(counter + (value & zero));
        for (int step = 0; step < PYAPSP_STEPS; step++) {
            value ^= value << 13;
            value ^= value >> 17;
            value ^= value << 5;
        }
    }
    out[get_global_id(0)] = value;
}

/* One work-item on each unit, each at another of the lines; `apart` is 0 if all use the same ones. No
 * operation waits for another, so that a core can get several lines of others at a time. */
__kernel void profiling_lines(__global uint *lines, __global uint *out, const uint apart,
                              const int rounds)
{
    const uint item = get_global_id(0);
    __global uint *mine = lines + item * (apart * PYAPSP_LINES * PYAPSP_APART + 1);
    const uint start = item * (PYAPSP_LINES / get_global_size(0));
    uint seen = 0;
    for (int round = 0; round < rounds; round++)
        for (uint line = 0; line < PYAPSP_LINES; line++)
            seen += atomic_inc(mine + (start + line) % PYAPSP_LINES * PYAPSP_APART);
    out[item] = seen;
}

/* One work-item. Each word of `next` is the place of the next operation, which changes nothing (`zero`
 * is 0). A launch goes on where the one before it ended, in `out`. */
__kernel void profiling_chained(__global uint *next, __global uint *out, const uint zero,
                                const int rounds)
{
    uint place = out[0];
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++)
            place = atomic_or(next + place, zero);
    }
    out[0] = place;
}

/* `apart` is 0 for one counter, and 1 for one of each work-item. The old values are used, so that the
 * compiler cannot add up the additions of several work-items. */
__kernel void profiling_counters(__global uint *counters, __global uint *out, const uint apart,
                                 const int rounds)
{
    uint seen = 0;
#if PYAPSP_LOCAL
    __local uint own[PYAPSP_WORDS];
    for (uint i = get_local_id(0); i < PYAPSP_WORDS; i += get_local_size(0))
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    __local uint *counter = own + get_local_id(0) * apart;
#else
    __global uint *counter = counters + get_global_id(0) * apart;
#endif
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++)
            seen += atomic_inc(counter);
    }
    out[get_global_id(0)] = seen;
#if PYAPSP_LOCAL
    barrier(CLK_LOCAL_MEM_FENCE);
    counters[get_global_id(0)] = own[get_local_id(0) * apart];
#endif
}
