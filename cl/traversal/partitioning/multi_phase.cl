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
 *             staged       a b c d e f g h | i j k l m n o p     STAGING 1: by the warp alone
 *             written      a b c d  then  e f g h                by work-items 0 1 2 3
 *
 *           STAGING 0: the group stages and writes together, with its barriers. Groups take chunks in
 *           turn if there are fewer groups than chunks.
 *
 *           multi_phase_mark is one launch, without a search in a chunk. Items and units are on one
 *           line, each item before its units, so item i is at the place offsets[i] + i. Groups have
 *           equal runs of places: neither many units nor many empty items fall to one group.
 *
 *             item    0       1 2   3     4              runs of 5 places: items 0, 1, units 0-2 |
 *             unit      0 1 2     3   4 5   6 7 8        items 2, 3, units 3-5 | item 4, units 6-8
 *
 *           A group searches where its run begins, and takes the units of the run in chunks. Each
 *           item that is not empty marks its first unit by a bit, and notes there which item it is.
 *           The owner of a unit is noted at the last mark at or before it in its word of 32 bits,
 *           or, if there is none, at the head of the word:
 *
 *             unit    0 1 2 3 4 5 6 7 | 8 9 ...          words of 8 bits here
 *             owner   0 0 0 2 3 3 4 4 | 4 5
 *             marks   1 0 0 1 1 0 1 0 | 0 1
 *             notes   0     2 3   4   |   5              head of the second word: 4
 *
 *           A work-item finds four neighbouring units from one word, and writes them at once. No
 *           slice has to fit, and nothing is staged. The next chunk begins with the item of the last
 *           unit of this one.
 *
 *           The partition searches by a kind of search, see chunks.h, or chooses one of them from
 *           the deviation of the sizes (HYBRID): multi_phase_statistics gives the sums of squares of
 *           parts of the items, and each group of the partition adds them up. So the host waits for
 *           no launch.
 *
 * Parameters  those of chunks.h, and
 *             PYAPSP_ROUNDS  3   searches of a work-item in a chunk
 *             PYAPSP_STAGING 1   see above
 *             PYAPSP_UNROLL  1   1: loops over EACH and ROUNDS are unrolled
 *             PYAPSP_VECTOR  1   1: four owners at a time go to local memory, if 4 divides EACH
 *             PYAPSP_FIND    1   0: without multi_phase_mark, whose local memory is for a whole chunk
 *             PYAPSP_STEPS   3   1: only slices are loaded; 2: and owners searched; 3: and written.
 *                                1 and 2 are for measurements; they write one sum a work-item
 *
 * Cost      C log N + W + W / EACH log L work for W units, N items, C chunks and slices of L; C + 1
 *           ints of global and CAPACITY of local memory, EACH ROUNDS registers. With marks
 *           W + N work and R log N for R runs, and 35/32 CHUNK ints of local memory. A GPU that
 *           writes 10^12 owners a second and runs 3 10^13 instructions a second can spend 30
 *           instructions on a unit. A search and the writes take 20 to 25, marks 7. For 2^26 items
 *           of 0 to 16 units an H100 takes 0.97 ms with marks; a copy of as many bytes takes 0.83 ms.
 *
 * Source    F. Busato, N. Bombieri, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166. Marks: ours.
 */
#include "traversal/partitioning/chunks.h"
#ifndef PYAPSP_ROUNDS
#define PYAPSP_ROUNDS 3
#endif
#ifndef PYAPSP_STAGING
#define PYAPSP_STAGING 1
#endif
#ifndef PYAPSP_UNROLL
#define PYAPSP_UNROLL 1
#endif
#ifndef PYAPSP_VECTOR
#define PYAPSP_VECTOR 1
#endif
#ifndef PYAPSP_FIND
#define PYAPSP_FIND 1
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
#if PYAPSP_STAGING
#define TEAM PYAPSP_WARP
#define TEAM_FIRST WARP_FIRST
#define team_sync warp_sync
#else
#define TEAM PYAPSP_GROUP
#define TEAM_FIRST 0
#define team_sync group_sync
#endif

/* The sum of a value of each work-item, in the first of them. */
static inline ulong sum_of_group(const ulong value, __local ulong *sums)
{
    const int place = GROUP_PLACE;
    sums[place] = value;
    group_sync();
    for (int d = 1; d < PYAPSP_GROUP; d *= 2) {
        if (place % (2 * d) == 0 && place + d < PYAPSP_GROUP)
            sums[place] += sums[place + d];
        group_sync();
    }
    return sums[0];
}

/* For each group the sum of the squares of the sizes of its items. */
__kernel GROUP void multi_phase_statistics(INPUT offsets, __global ulong *squares, const int items)
{
    __local ulong sums[PYAPSP_GROUP];
    ulong sum = 0;
#if PYAPSP_GROUP == 1 /* neighbouring items, which share lines of a cache */
    const size_t each = (items - 1) / get_num_groups(0) + 1, first = get_group_id(0) * each;
    const size_t end = MIN(first + each, (size_t)items), step = 1;
#else
    const size_t first = PLACE_OF_ALL, end = items, step = get_global_size(0);
#endif
    for (size_t i = first; i < end; i += step) {
        const ulong size = offsets[i + 1] - offsets[i];
        sum += size * size;
    }
    sum = sum_of_group(sum, sums);
    if (GROUP_PLACE == 0)
        squares[get_group_id(0)] = sum;
}

#define HYBRID 3

/* A work-item for each chunk, and one for the end. With the kind HYBRID the search is by
 * interpolation if the `parts_of_sum` squares are at most `regular`. counters[0] is set to 0 for the
 * expansion, counters[1] to the kind of search. */
__kernel GROUP void multi_phase_partition(INPUT offsets, __global const ulong *squares,
                                          OUTPUT parts, __global int *counters, const int items,
                                          const int units, const int chunks, const int kind,
                                          const int parts_of_sum, const ulong regular)
{
    __local ulong sums[PYAPSP_GROUP];
    const size_t c = PLACE_OF_ALL;
    ulong sum = 0;
    for (int i = GROUP_PLACE; kind == HYBRID && i < parts_of_sum; i += PYAPSP_GROUP)
        sum += squares[i];
    sum = sum_of_group(sum, sums);
    const int chosen = kind != HYBRID ? kind : sum <= regular ? INTERPOLATION : OPTIMISED;
    if (c == 0) {
        counters[0] = 0;
        counters[1] = chosen;
    }
    if (c <= (size_t)chunks)
        find_part(offsets, parts, c, CHUNK, items, units, chosen);
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

#if PYAPSP_FIND
#define MARK_WORDS ((CHUNK + 31) / 32)
/* Offsets that a work-item reads before it uses them, and items that a group reads in a turn. */
#define AT_ONCE 4
#define TURN (AT_ONCE * PYAPSP_GROUP)
/* A chunk begins at a multiple of this number of units: four owners are written at once. */
#define ALIGNED (PYAPSP_VECTOR && CHUNK % 4 == 0 ? 4 : 1)

/* The last item at or before a place of the line, `items` for the places at its end. */
static inline int item_of_place(__global const int *offsets, const int items, const uint place)
{
    int low = 0, high = items;
    while (low < high) {
        const int middle = high - (high - low) / 2;
        if ((uint)offsets[middle] + middle <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* As multi_phase_partition and multi_phase_expand, by marks: a group for each run of places. */
__kernel GROUP void multi_phase_mark(INPUT offsets, OUTPUT owners, const int items,
                                     const int units, const uint run)
{
    __local uint marks[2 * MARK_WORDS];
    __local int heads[MARK_WORDS], notes[CHUNK];
    /* The item with the last unit of a chunk, by turn % 3: the next turn writes where all have read
     * two turns ago. */
    __local int reached[3];
    /* Of the place where this run begins, and of that of the next run: the item at or before it,
     * and the first unit after it. */
    __local int item_at[2];
    __local uint unit_at[2];
    const int place = GROUP_PLACE;
    for (int w = place; w < 2 * MARK_WORDS; w += PYAPSP_GROUP)
        marks[w] = 0;
    for (int b = place; b < 2; b += PYAPSP_GROUP) {
        const ulong begin = ((ulong)get_group_id(0) + b) * run;
        const uint at = (uint)min(begin, (ulong)units + (uint)items);
        const int i = item_of_place(offsets, items, at);
        item_at[b] = i;
        unit_at[b] = at - i;
    }
    if (place == 0)
        reached[0] = -1;
    group_sync();
    int item = item_at[0];
    const uint last = unit_at[1];
    if (unit_at[0] >= last)
        return;
    /* Units before the run that are in its first chunk; they are not written. */
    int lead = unit_at[0] % ALIGNED;
    uint first = unit_at[0] - lead;
    if (place == 0)
        heads[0] = item;
    for (int c = 0, turn = 0; first < last; c++, first += CHUNK, lead = 0) {
        const int size = min((uint)CHUNK, last - first);
        __local uint *set = marks + c % 2 * MARK_WORDS, *other = marks + (c + 1) % 2 * MARK_WORDS;
        for (int found = -1; found < 0; turn++) {
            int begin[AT_ONCE], end[AT_ONCE];
            UNROLL
            for (int k = 0; k < AT_ONCE; k++) {
                const int i = min(item + place + k * PYAPSP_GROUP, items - 1);
                begin[k] = offsets[i] - (int)first;
                end[k] = offsets[i + 1] - (int)first;
            }
            UNROLL
            for (int k = 0; k < AT_ONCE; k++) {
                const int i = item + place + k * PYAPSP_GROUP;
                const int p = max(begin[k], 0), to = min(end[k], size);
                if (i >= items || p >= to)
                    continue;
                notes[p] = i;
                atomic_or(&set[p / 32], 1u << p % 32);
                for (int w = p / 32 + 1; 32 * w < to; w++)
                    heads[w] = i;
                if (to == size)
                    reached[turn % 3] = i;
            }
            if (place == 0)
                reached[(turn + 1) % 3] = -1;
            group_sync();
            found = reached[turn % 3];
            item = found < 0 ? item + TURN : found;
        }
        for (int w = place; w < MARK_WORDS; w += PYAPSP_GROUP)
            other[w] = 0;
        for (int p = 4 * place; p < size; p += 4 * PYAPSP_GROUP) {
            const uint word = set[p / 32], before = word & ((2u << p % 32) - 1);
            int4 four;
            four.x = before ? notes[p / 32 * 32 + 31 - clz(before)] : heads[p / 32];
            four.y = word >> p % 32 & 2 ? notes[p + 1] : four.x;
            four.z = word >> p % 32 & 4 ? notes[p + 2] : four.y;
            four.w = word >> p % 32 & 8 ? notes[p + 3] : four.z;
            __global int *to = owners + first + p;
            if (ALIGNED == 4 && p >= lead && p + 3 < size) {
                *(__global int4 *)to = four;
                continue;
            }
            if (p >= lead)
                to[0] = four.x;
            if (p + 1 >= lead && p + 1 < size)
                to[1] = four.y;
            if (p + 2 >= lead && p + 2 < size)
                to[2] = four.z;
            if (p + 3 >= lead && p + 3 < size)
                to[3] = four.w;
        }
        group_sync();
    }
}
#endif
