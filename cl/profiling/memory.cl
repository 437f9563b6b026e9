/* memory: latency, bandwidth, and what they depend on.
 *
 * Purpose   `profiling_chase` follows a chain of places: each load waits for the one before it.
 *           `profiling_read` and `profiling_write` stream through a part of memory again and
 *           again: the size of the part decides which cache answers. `profiling_gather` reads
 *           places that are more or less far apart. `profiling_copy` moves values of 1 to 16
 *           bytes. `profiling_banks` reads local memory with a stride.
 *
 * Layout    next: a cycle of places, one to a cache line: next[p] is the place after p. A launch
 *           goes on where the one before it ended, in `out`: else it would find its places in a
 *           cache.
 *
 *           The streams of `profiling_read` and `profiling_write`: in a step the work-items of a
 *           group read neighbouring strips, in the next step those after them, and so on, round
 *           and round within `mask` + 1 strips. All groups read the same strips; group g begins at
 *           g apart. Each group writes strips of its own.
 *
 *           `profiling_gather`: groups of 2^shift work-items read neighbouring words, and these
 *           groups are `apart` words apart:
 *
 *               shift 2:   0 1 2 3 . . . . 4 5 6 7 . . . .       (apart 8)
 *
 *           out: the last place, or the sum of what was read, of each work-item. Without it the
 *           compiler would remove the loads.
 *
 * Parameters  PYAPSP_VALUE   uint4   what `profiling_read`, `_write` and `_copy` move: uint with 1, 2,
 *                                    4, 8 or 16 elements, ushort or uchar
 *             PYAPSP_PARTS   4       32-bit words of PYAPSP_VALUE
 *             PYAPSP_STEPS   16      loads or stores of a round, a power of two
 *             PYAPSP_SPACE   __global const   the memory of `next`: also __constant
 *             PYAPSP_WORDS   1024    words of local memory, a power of two
 *
 * Cost      PYAPSP_STEPS loads or stores of a work-item in a round.
 *
 * Source    N. Bombieri, F. Busato, F. Fummi, M. Scala, MIPP, SIES 2016,
 *           doi:10.1109/SIES.2016.7509423; L. McVoy, C. Staelin, lmbench, USENIX 1996 (the chain).
 */
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE uint4
#endif
#ifndef PYAPSP_PARTS
#define PYAPSP_PARTS 4
#endif
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 16
#endif
#ifndef PYAPSP_SPACE
#define PYAPSP_SPACE __global const
#endif
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 1024
#endif

typedef PYAPSP_VALUE strip_t;

#if PYAPSP_PARTS == 1
#define SUM(v) (v)
#elif PYAPSP_PARTS == 2
#define SUM(v) ((v).x + (v).y)
#elif PYAPSP_PARTS == 4
#define SUM(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3)
#elif PYAPSP_PARTS == 8
#define SUM_4(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3)
#define SUM(v) (SUM_4((v).lo) + SUM_4((v).hi))
#else
#define SUM_8(v) ((v).s0 + (v).s1 + (v).s2 + (v).s3 + (v).s4 + (v).s5 + (v).s6 + (v).s7)
#define SUM(v) (SUM_8((v).lo) + SUM_8((v).hi))
#endif

__kernel void profiling_chase(PYAPSP_SPACE uint *next, __global uint *out, const int rounds)
{
    uint place = out[get_global_id(0)];
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++)
            place = next[place];
    }
    out[get_global_id(0)] = place;
}

__kernel void profiling_read(__global const strip_t *from, __global uint *out, const uint mask,
                             const uint apart, const int rounds)
{
    const uint width = get_local_size(0);
    uint place = get_group_id(0) * apart + get_local_id(0);
    strip_t sum = (strip_t)(0), other = sum;
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step += 2) {
            sum += from[(place + step * width) & mask];
            other += from[(place + (step + 1) * width) & mask];
        }
        place += PYAPSP_STEPS * width;
    }
    sum += other;
    out[get_global_id(0)] = SUM(sum);
}

/* What is written is the number of the place plus the number of rounds. */
__kernel void profiling_write(__global strip_t *to, const uint mask, const int rounds)
{
    const uint width = get_local_size(0);
    uint place = get_local_id(0);
    to += get_group_id(0) * ((size_t)mask + 1);
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++) {
            const uint at = (place + step * width) & mask;
            to[at] = (strip_t)(at + rounds);
        }
        place += PYAPSP_STEPS * width;
    }
}

__kernel void profiling_gather(__global const uint *from, __global uint *out, const uint mask,
                               const int shift, const uint apart, const int rounds)
{
    const uint item = get_global_id(0), inside = (1u << shift) - 1;
    const uint stride = ((uint)get_global_size(0) >> shift) * apart;
    uint place = (item >> shift) * apart + (item & inside);
    uint sum = 0;
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++) {
            sum += from[place & mask];
            place += stride;
        }
    }
    out[item] = sum;
}

/* Each round copies everything. The loads are volatile, so that none is made of two. */
__kernel void profiling_copy(__global strip_t *to, __global const volatile strip_t *from,
                             const uint each, const uint stride, const int rounds)
{
    const size_t first = (stride == 1) ? get_global_id(0) * (size_t)each : get_global_id(0);
    for (int round = 0; round < rounds; round++)
        for (uint i = 0; i < each; i++)
            to[first + (size_t)i * stride] = from[first + (size_t)i * stride];
}

/* All work-items step to the next word at the same time, so that the number of those which read the
 * same bank stays the same. */
__kernel void profiling_banks(__global uint *out, const uint stride, const int rounds)
{
    __local uint next[PYAPSP_WORDS];
    for (uint i = get_local_id(0); i < PYAPSP_WORDS; i += get_local_size(0))
        next[i] = (i + 1) & (PYAPSP_WORDS - 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint place = (get_local_id(0) * stride) & (PYAPSP_WORDS - 1);
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++)
            place = next[place];
    }
    out[get_global_id(0)] = place;
}
