/* Random draws that are the same on all devices: integers only, and no order of summation.
 *
 * A draw has a number for each item, a pure function of the seed and of four 32-bit counters:
 *
 *     counter   item | step of the chain | chain | purpose
 *     key       seed, 64 bits
 *     number    the first word of Philox-4x32-10
 *
 * To draw an item with a probability proportional to its weight w, each item gets an exponential
 * number E / w, and the smallest wins. Which item wins does not depend on the order in which the
 * items come, nor on how often one comes, so a draw needs no prefix sum. With logarithms the winner
 * has the largest
 *
 *     power log2(w) - log2(E),   E = -log2(uniform number)
 *
 * and a weight may be raised to a power. Logarithms are in fixed point, 28 bits after the point,
 * interpolated in a table of 1024 steps that the host makes. The logarithm of 0 is so small that
 * an item of weight 0 wins only if all have weight 0.
 *
 *     ONE            the similarity 1
 *     LOG_OF_ZERO    see above
 *     philox         the number of an item
 *     fixed_log2     log2 of an integer from 1 to 2^34
 *     log_or_least   the same, and LOG_OF_ZERO for 0
 *     raced          the key of an item: the largest wins
 *
 * Sources: J. K. Salmon et al., parallel random numbers: as easy as 1, 2, 3, 2011 (Philox);
 * P. S. Efraimidis and P. G. Spirakis, weighted random sampling with a reservoir, 2006 (the race).
 */
#ifndef MATCHING_DRAWS_H
#define MATCHING_DRAWS_H

#define ONE 65536
#define LOG_BITS 28
#define LOG_OF_ZERO (-(1024L << LOG_BITS))

/* What a number is for. */
#define SEED_ROW 0
#define SEED_TARGET 1
#define QUERY_NODE 2
#define TARGET_NODE 3
#define MISMATCH 4
#define EXTENT 5
#define NEAR 6
#define FAR 7

static inline uint philox(const uint item, const uint step, const uint chain, const uint purpose,
                          const ulong seed)
{
    uint a = item, b = step, c = chain, d = purpose;
    uint k = (uint)seed, l = (uint)(seed >> 32);
    for (int turn = 0; turn < 10; turn++) {
        const uint high = mul_hi(0xD2511F53u, a), low = 0xD2511F53u * a;
        a = mul_hi(0xCD9E8D57u, c) ^ b ^ k;
        b = 0xCD9E8D57u * c;
        c = high ^ d ^ l;
        d = low;
        k += 0x9E3779B9u;
        l += 0xBB67AE85u;
    }
    return a;
}

static inline long fixed_log2(const ulong x, __global const uint *table)
{
    const int shift = (int)clz(x);
    const uint part = (uint)((x << shift) >> 31); /* the bits after the first */
    const uint at = part >> 22, rest = part & 0x3FFFFFu;
    const ulong rise = (ulong)(table[at + 1] - table[at]) * rest >> 22;
    return ((long)(63 - shift) << LOG_BITS) + table[at] + (long)rise;
}

static inline long log_or_least(const ulong x, __global const uint *table)
{
    return x == 0 ? LOG_OF_ZERO : fixed_log2(x, table);
}

/* `weight` is the logarithm of the weight, `power` is in 1/256. */
static inline long raced(const long weight, const long power, const uint number,
                         __global const uint *table)
{
    const long waiting = (33L << LOG_BITS) - fixed_log2(2ul * number + 1, table);
    return power * weight - (fixed_log2((ulong)waiting, table) << 8);
}

#endif /* MATCHING_DRAWS_H */
