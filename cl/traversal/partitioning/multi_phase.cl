/* partition_multi_phase: chunks for groups, several searches a work-item, writes in order.
 *
 * Purpose   As the two-phase partition, with chunks of GROUP EACH ROUNDS units. A work-item finds
 *           the owners of EACH neighbouring units by one search, ROUNDS times, and keeps them in
 *           registers. Then the buffer of the slice is free, and the owners of each round are put
 *           there, so that neighbouring work-items write neighbouring units.
 *
 * Layout    See chunks.h. A round of a chunk, with EACH = 2 and warps of 4:
 *
 *             work-item    0   1   2   3   | 4   5   6   7
 *             registers    a b c d e f g h | i j k l m n o p
 *             staged       a b c d e f g h | i j k l m n o p     SLOTS 1: by the warp alone
 *             written      a b c d  then  e f g h                by work-items 0 1 2 3
 *
 *           SLOTS 0: the group stages and writes together, with its barriers. Groups take chunks in
 *           turn if there are fewer groups than chunks.
 *
 *           The partition searches by a kind of search, see chunks.h. For a choice between them the
 *           host needs the deviation of the sizes: multi_phase_statistics.
 *
 * Parameters  those of chunks.h, and
 *             PYAPSP_ROUNDS  3   searches of a work-item in a chunk
 *             PYAPSP_SLOTS   1   see above
 *             PYAPSP_UNROLL  1   1: loops over EACH and ROUNDS are unrolled
 *             PYAPSP_VECTOR  1   1: four owners at a time go to local memory, if 4 divides EACH
 *             PYAPSP_STEPS   3   1: only slices are loaded; 2: and owners searched; 3: and written.
 *                                1 and 2 are for measurements; they write one sum a work-item
 *
 * Cost      C log N + W + W / EACH log L work for W units, N items, C chunks and slices of L; C + 1
 *           ints of global and CAPACITY of local memory, EACH ROUNDS registers.
 *
 * Source    F. Busato, N. Bombieri, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166.
 */
#include "traversal/partitioning/chunks.h"
#ifndef PYAPSP_ROUNDS
#define PYAPSP_ROUNDS 3
#endif
#ifndef PYAPSP_SLOTS
#define PYAPSP_SLOTS 1
#endif
#ifndef PYAPSP_UNROLL
#define PYAPSP_UNROLL 1
#endif
#ifndef PYAPSP_VECTOR
#define PYAPSP_VECTOR 1
#endif
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 3
#endif

#if PYAPSP_UNROLL
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif
/* Units of a round and of a chunk. */
#define ROUND (PYAPSP_GROUP * PYAPSP_EACH)
#define CHUNK (ROUND * PYAPSP_ROUNDS)
/* The buffer: a slice, later the owners of a round. A slice of items that are not empty has no more
 * offsets than its chunk has units, and one. */
#define LARGEST_SLICE 4096
#define CAPACITY (MAX(ROUND, MIN(CHUNK, LARGEST_SLICE)) + 2)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Who stages and writes together: the first place, the number, and the barrier. */
#if PYAPSP_SLOTS
#define TEAM PYAPSP_WARP
#define TEAM_FIRST WARP_FIRST
#define team_sync warp_sync
#else
#define TEAM PYAPSP_GROUP
#define TEAM_FIRST 0
#define team_sync group_sync
#endif

/* For each group the sum of the squares of the sizes of its items. */
__kernel GROUP void multi_phase_statistics(INPUT offsets, __global ulong *squares, const int items)
{
    __local ulong sums[PYAPSP_GROUP];
    const int place = GROUP_PLACE;
    ulong sum = 0;
    for (size_t i = PLACE_OF_ALL; i < (size_t)items; i += get_global_size(0)) {
        const ulong size = offsets[i + 1] - offsets[i];
        sum += size * size;
    }
    sums[place] = sum;
    group_sync();
    for (int d = 1; d < PYAPSP_GROUP; d *= 2) {
        if (place % (2 * d) == 0 && place + d < PYAPSP_GROUP)
            sums[place] += sums[place + d];
        group_sync();
    }
    if (place == 0)
        squares[get_group_id(0)] = sums[0];
}

/* A work-item for each chunk, and one for the end. */
__kernel GROUP void multi_phase_partition(INPUT offsets, OUTPUT parts, const int items,
                                          const int units, const int chunks, const int kind)
{
    const size_t c = PLACE_OF_ALL;
    if (c <= (size_t)chunks)
        find_part(offsets, parts, c, CHUNK, items, units, kind);
}

/* Any number of groups. *fallbacks counts slices that do not fit. */
__kernel GROUP void multi_phase_expand(INPUT offsets, INPUT parts, OUTPUT owners,
                                       __global int *fallbacks, const int units, const int chunks)
{
    __local int buffer[CAPACITY] __attribute__((aligned(16)));
    const int place = GROUP_PLACE;
    for (int c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        const int low = parts[c], length = SLICE_LENGTH(low, parts[c + 1]);
        const uint first = (uint)c * CHUNK;
        if (length > CAPACITY) {
            if (place == 0)
                atomic_inc(fallbacks);
            const int end = min((uint)CHUNK, (uint)units - first);
            for (int p = place; p < end; p += PYAPSP_GROUP)
                owners[first + p] = low + predecessor_global(offsets + low, length, first + p);
            continue;
        }
        load_slice(offsets + low, length, buffer);
        group_sync();
#if PYAPSP_STEPS == 1
        if (place < length && get_global_id(0) < (size_t)units)
            owners[get_global_id(0)] = buffer[place];
#else
        /* in registers only if all indices are known to the compiler */
        int found[PYAPSP_EACH * PYAPSP_ROUNDS];
        UNROLL
        for (int q = 0; q < PYAPSP_ROUNDS; q++) {
            const uint unit = first + q * ROUND + place * PYAPSP_EACH;
            int i = predecessor_local(buffer, length, min(unit, (uint)units - 1));
            UNROLL
            for (int k = 0; k < PYAPSP_EACH; k++) {
                i = walk(buffer, i, min(unit + k, (uint)units - 1));
                found[q * PYAPSP_EACH + k] = low + i;
            }
        }
        group_sync();
#if PYAPSP_STEPS == 2
        int sum = 0;
        for (int k = 0; k < PYAPSP_EACH * PYAPSP_ROUNDS; k++)
            sum += found[k];
        if (get_global_id(0) < (size_t)units)
            owners[get_global_id(0)] = sum;
#elif PYAPSP_GROUP == 1
        /* the units of a work-item are neighbours already */
        for (int k = 0; k < CHUNK; k++)
            if (first + k < (uint)units)
                owners[first + k] = found[k];
#else
        UNROLL
        for (int q = 0; q < PYAPSP_ROUNDS; q++) {
#if PYAPSP_VECTOR && PYAPSP_EACH % 4 == 0
            UNROLL
            for (int k = 0; k < PYAPSP_EACH; k += 4) {
                const int at = q * PYAPSP_EACH + k;
                vstore4((int4)(found[at], found[at + 1], found[at + 2], found[at + 3]), 0,
                        buffer + place * PYAPSP_EACH + k);
            }
#else
            UNROLL
            for (int k = 0; k < PYAPSP_EACH; k++)
                buffer[place * PYAPSP_EACH + k] = found[q * PYAPSP_EACH + k];
#endif
            team_sync();
            UNROLL
            for (int k = 0; k < PYAPSP_EACH; k++) {
                const int p = TEAM_FIRST * PYAPSP_EACH + k * TEAM + (place - TEAM_FIRST);
                const uint unit = first + q * ROUND + p;
                if (unit < (uint)units)
                    owners[unit] = buffer[p];
            }
            team_sync();
        }
#endif
#endif
        group_sync();
    }
}
