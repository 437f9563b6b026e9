/* APPAGATO, phases 2 and 3: seeds, and matches that grow from them.
 *
 * Purpose   Each of the K chains of a query draws a pair (q, t) in proportion to the probabilities
 * of phase 1: every row of their matrix has the sum 1, so q is drawn uniformly, and t in proportion
 * to its score in row q (`seeds`). Then the chain adds pairs until no query node is left
 * (`extend`). If nothing is beside the match, but a component of the query has no matched node, a
 * pair of this component is drawn as a seed is, from the vertices that are not used:
 *
 *     q   a query node beside matched ones, drawn uniformly; with CONNECTED from those with
 *         the largest number of matched neighbours
 *     t   a target vertex beside matched ones, drawn in proportion to
 *
 *             (S(q, t) * CPsim(q, t))^power,   with GUIDED also * score(q, t)
 *
 *     CPsim = the fraction of the matched pairs (p, s) for which q is a neighbour of p if and only
 *             if t is a neighbour of s
 *
 * If all weights are 0, STRICT leaves q unmatched. Otherwise the factors that are 0 for all
 * candidates are ignored. Afterwards there are `rounds` rounds. A round draws a query node with a
 * mismatch, removes the partners of this node and of some nodes around it, and grows the match
 * again. The round is undone if the cost is higher.
 *
 * The host launches both kernels again for chains whose match is that of an earlier chain of the
 * query, with a lower power and fewer rounds.
 *
 * Layout    The chains to run are in a list: work[2 i] = the query, work[2 i + 1] = the chain. A
 * group runs one chain at a time, and takes the next one from a counter. Which group runs a chain
 * does not matter, because random numbers depend on the chain alone: on its number + `stream`,
 * which is another number in each launch.
 *
 *     local    match[q]   the partner of q, FREE or ASIDE; kept[q]: the same before the round;
 *              bad[q]     q has a mismatch
 *     scratch  seen[t]    USED | matched neighbours that q also has | matched neighbours
 *              list       the vertices with seen != 0, in any order: the draw has no order
 *
 * The work-items divide the matched nodes among them. The neighbours of a partner are sorted, and
 * the candidates with the label of q are a range of them, found by bisection. If this range is
 * empty for all partners, all their neighbours are candidates.
 *
 * The arrays of a query, and the ranges of labels, are those of scores.cl.
 *
 * Parameters  are macros:
 *
 *     macro              default  meaning
 *     PYAPSP_GROUP       64       work-items of a group, a power of two
 *     PYAPSP_NODES       64       largest number of nodes of a query, a multiple of 32
 *     PYAPSP_GIVEN       0        1: similarities are given
 *
 * Cost      A chain has |V| steps. A step takes log deg for every matched node, and constant time
 * for every candidate. A round takes the same for the nodes that it frees. A seed costs n random
 * numbers; there is one for each component of the query.
 *
 * Source    V. Bonnici, F. Busato, G. Micale, N. Bombieri, A. Pulvirenti and R. Giugno, APPAGATO:
 * an approximate parallel and stochastic graph querying tool for biological networks, 2016.
 * The powers, the guidance, the rounds and the chains that run again are ours: with power 1 and
 * without the others it is the published algorithm.
 */
#ifndef PYAPSP_NODES
#define PYAPSP_NODES 64
#endif
#ifndef PYAPSP_GIVEN
#define PYAPSP_GIVEN 0
#endif

#include "common/bisect.h"
#include "common/group.h"
#include "matching/draws.h"

#define INFO 8
#define FREE (-1)
#define ASIDE (-2)
#define NONE (-1)
/* Bits of `flags`. */
#define CONNECTED 1
#define GUIDED 2
#define STRICT 4
#define USED 0x80000000u
#define COMMON 0x8000u
#define COUNT 0x7FFFu
/* Similarity 0 counts before the other factors. */
#define DISSIMILAR (4 * LOG_OF_ZERO)

#if PYAPSP_GROUP == 1
/* One work-item has the scratch memory for itself. */
static inline uint seen_add(__global uint *place, const uint value)
{
    const uint old = *place;
    *place = old + value;
    return old;
}
static inline uint seen_clear(__global uint *place)
{
    const uint old = *place;
    *place = old & USED;
    return old;
}
#define SEEN_USE(place) (*(place) |= USED)
#define SEEN_FREE(place) (*(place) &= ~USED)
#else
#define seen_add(place, value) atomic_add(place, value)
#define seen_clear(place) atomic_and(place, USED)
#define SEEN_USE(place) atomic_or(place, USED)
#define SEEN_FREE(place) atomic_and(place, ~USED)
#endif

/* What a chain has: its query, the target, and memory of the group. */
typedef struct {
    int nodes, first, words, n, power, flags;
    uint chain;
    ulong seed;
    __global const int *query_offsets, *query_neighbours, *offsets, *neighbours, *low, *high;
    __global const int *components;
    __global const uint *given, *rows, *score, *table;
    __global uint *seen;
    __global int *list;
    __local int *match, *kept, *marks, *bad, *shared;
    __local long *keys;
    __local int *items;
} chain_t;

/* Return the item with the largest key in the group, NONE if no work-item has one; of equal keys
 * the smallest item. All work-items call it. */
static int winner(const long key, const int item, __local long *keys, __local int *items)
{
#if PYAPSP_GROUP == 1
    return item;
#else
    const int me = (int)get_local_id(0);
    keys[me] = key;
    items[me] = item;
    LOCAL_SYNC();
    for (int width = PYAPSP_GROUP / 2; width > 0; width /= 2) {
        if (me < width) {
            const int other = items[me + width];
            const long theirs = keys[me + width];
            if (other != NONE && (items[me] == NONE || theirs > keys[me] ||
                                  (theirs == keys[me] && other < items[me]))) {
                keys[me] = theirs;
                items[me] = other;
            }
        }
        LOCAL_SYNC();
    }
    const int found = items[0];
    LOCAL_SYNC();
    return found;
#endif
}

#define BETTER(key, item, best, leader)                                                            \
    ((leader) == NONE || (key) > (best) || ((key) == (best) && (item) < (leader)))

static inline long similarity(const chain_t *c, const int q, const int t)
{
#if PYAPSP_GIVEN
    const uint given = c->given[(size_t)(c->first + q) * c->n + t];
    return given != 0 ? fixed_log2(given, c->table) : DISSIMILAR;
#else
    return t >= c->low[c->first + q] && t < c->high[c->first + q] ? 16L << LOG_BITS : DISSIMILAR;
#endif
}

static inline bool beside(const chain_t *c, const int s, const int t)
{
    const int end = c->offsets[s + 1], place = bisect(c->neighbours, c->offsets[s], end, t);
    return place < end && c->neighbours[place] == t;
}

/* Draw a target vertex for query node q, which has `common` of the `matched` nodes beside it. */
static int drawn(const chain_t *c, const int q, const int matched, const int common,
                 const uint step)
{
    const int me = (int)get_local_id(0);
    __local int *length = c->shared;
    int low = c->low[c->first + q], high = c->high[c->first + q];
    for (;;) {
        if (me == 0)
            *length = 0;
        LOCAL_SYNC();
        for (int p = me; p < c->nodes; p += PYAPSP_GROUP) {
            if (c->match[p] < 0)
                continue;
            const uint one = HAS(c->rows + q * c->words, p) ? COMMON + 1 : 1;
            const int end = c->offsets[c->match[p] + 1];
            int a = bisect(c->neighbours, c->offsets[c->match[p]], end, low);
            for (; a < end && c->neighbours[a] < high; a++) {
                const int t = c->neighbours[a];
                if ((seen_add(&c->seen[t], one) & COUNT) == 0)
                    c->list[LOCAL_ADD(length, 1)] = t;
            }
        }
        SYNC();
        long best = 0;
        int leader = NONE;
        for (int i = me; i < *length; i += PYAPSP_GROUP) {
            const int t = c->list[i];
            const uint counts = seen_clear(&c->seen[t]);
            if (counts & USED)
                continue;
            const int both = (int)((counts & ~USED) >> 15), all = (int)(counts & COUNT);
            long weight = similarity(c, q, t) +
                          log_or_least((ulong)(matched - common - all + 2 * both), c->table);
            if (c->flags & GUIDED)
                weight += log_or_least(c->score[(size_t)(c->first + q) * c->n + t], c->table);
            const uint number = philox((uint)t, step, c->chain, TARGET_NODE, c->seed);
            const long key = raced(weight, c->power, number, c->table);
            if (BETTER(key, t, best, leader)) {
                best = key;
                leader = t;
            }
        }
        leader = winner(best, leader, c->keys, c->items);
        SYNC();
        if (c->flags & STRICT)
            return leader == NONE || similarity(c, q, leader) == DISSIMILAR ? ASIDE : leader;
        if (leader != NONE || (low == 0 && high == c->n))
            return leader;
        low = 0;
        high = c->n;
    }
}

/* Match query node q with vertex t, which may be ASIDE: for the first work-item. */
static inline void match(const chain_t *c, const int q, const int t)
{
    c->match[q] = t;
    if (t >= 0)
        SEEN_USE(&c->seen[t]);
}

/* Add pairs that are beside matched ones, until there is no such query node or target vertex. */
static uint spread(const chain_t *c, uint step)
{
    const int me = (int)get_local_id(0);
    for (;;) {
        long best = 0;
        int leader = NONE;
        if (me == 0)
            c->shared[1] = 0;
        LOCAL_SYNC();
        for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
            if (c->match[q] >= 0)
                LOCAL_ADD(&c->shared[1], 1);
            if (c->match[q] != FREE)
                continue;
            int common = 0;
            for (int a = c->query_offsets[c->first + q]; a < c->query_offsets[c->first + q + 1]; a++)
                common += c->match[c->query_neighbours[a]] >= 0;
            if (common == 0)
                continue;
            c->marks[q] = common;
            long key = (long)philox((uint)q, step, c->chain, QUERY_NODE, c->seed);
            if (c->flags & CONNECTED)
                key += (long)common << 32;
            if (BETTER(key, q, best, leader)) {
                best = key;
                leader = q;
            }
        }
        const int q = winner(best, leader, c->keys, c->items);
        if (q == NONE)
            return step;
        const int matched = c->shared[1], common = c->marks[q];
        const int t = drawn(c, q, matched, common, step++);
        if (t == NONE)
            return step;
        if (me == 0)
            match(c, q, t);
        SYNC();
    }
}

/* Draw a node of a component without a match, and a vertex for it, as a seed; return the vertex:
 * NONE if there is none, and ASIDE if STRICT allows none. Without any match, nothing is drawn. */
static int another(const chain_t *c, const uint step, int *node)
{
    const int me = (int)get_local_id(0);
    __local int *matches = c->marks; /* of each component */
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP)
        matches[q] = 0;
    if (me == 0)
        c->shared[1] = 0;
    LOCAL_SYNC();
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP)
        if (c->match[q] >= 0) {
            LOCAL_ADD(&matches[c->components[c->first + q]], 1);
            LOCAL_ADD(&c->shared[1], 1);
        }
    LOCAL_SYNC();
    long best = 0;
    int leader = NONE;
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
        const bool left = c->match[q] == FREE && matches[c->components[c->first + q]] == 0;
        const long key = (long)philox((uint)q, step, c->chain, QUERY_NODE, c->seed);
        if (left && c->shared[1] > 0 && BETTER(key, q, best, leader)) {
            best = key;
            leader = q;
        }
    }
    const int q = winner(best, leader, c->keys, c->items);
    leader = NONE;
    for (int t = me; q != NONE && t < c->n; t += PYAPSP_GROUP) {
        if ((c->seen[t] & USED) || ((c->flags & STRICT) && similarity(c, q, t) == DISSIMILAR))
            continue;
        const uint number = philox((uint)t, step, c->chain, TARGET_NODE, c->seed);
        const ulong score = c->score[(size_t)(c->first + q) * c->n + t];
        const long key = raced(log_or_least(score, c->table), c->power, number, c->table);
        if (BETTER(key, t, best, leader)) {
            best = key;
            leader = t;
        }
    }
    leader = winner(best, leader, c->keys, c->items);
    *node = q;
    return q != NONE && leader == NONE && (c->flags & STRICT) ? ASIDE : leader;
}

/* Add pairs until no query node is left, or no target vertex. */
static uint grow(const chain_t *c, uint step)
{
    const int me = (int)get_local_id(0);
    for (;;) {
        int q;
        step = spread(c, step);
        const int t = another(c, step, &q);
        if (t == NONE)
            return step;
        if (me == 0)
            match(c, q, t);
        SYNC();
        step++;
    }
}

/* Find the nodes with a mismatch, marks[q] = 1, and return the cost in units of 1 / ONE. */
static long mismatched(const chain_t *c)
{
    const int me = (int)get_local_id(0);
    if (me == 0)
        c->shared[0] = c->shared[1] = 0;
    LOCAL_SYNC();
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
        const int t = c->match[q];
        int label = ONE, lost = 0, edges = 0;
        if (t >= 0) {
#if PYAPSP_GIVEN
            label = ONE - (int)c->given[(size_t)(c->first + q) * c->n + t];
#else
            label = t >= c->low[c->first + q] && t < c->high[c->first + q] ? 0 : ONE;
#endif
        }
        for (int a = c->query_offsets[c->first + q]; a < c->query_offsets[c->first + q + 1]; a++) {
            const int p = c->query_neighbours[a], s = c->match[p];
            if (t < 0 || s < 0 || !beside(c, t, s)) {
                lost++;
                edges += p > q;
            }
        }
        c->marks[q] = label != 0 || lost != 0;
        LOCAL_ADD(&c->shared[0], label);
        LOCAL_ADD(&c->shared[1], edges);
    }
    LOCAL_SYNC();
    const long cost = c->shared[0] + (long)c->shared[1] * ONE;
    LOCAL_SYNC();
    return cost;
}

/* Take the partners of a mismatched node and of some around it; return how many nodes keep one. */
static int loosened(const chain_t *c, const uint step)
{
    const int me = (int)get_local_id(0);
    long best = 0;
    int leader = NONE;
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
        const long key = (long)philox((uint)q, step, c->chain, MISMATCH, c->seed);
        if (c->bad[q] && BETTER(key, q, best, leader)) {
            best = key;
            leader = q;
        }
    }
    const int centre = winner(best, leader, c->keys, c->items);
    const uint extent = philox(0, step, c->chain, EXTENT, c->seed);
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP)
        c->marks[q] = HAS(c->rows + centre * c->words, q) &&
                      philox((uint)q, step, c->chain, NEAR, c->seed) < extent;
    if (me == 0)
        c->shared[1] = 0;
    LOCAL_SYNC();
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
        bool loose = q == centre || c->marks[q];
        if (!loose && philox((uint)q, step, c->chain, FAR, c->seed) < extent / 2)
            for (int a = c->query_offsets[c->first + q]; a < c->query_offsets[c->first + q + 1]; a++)
                loose = loose || c->marks[c->query_neighbours[a]];
        const int t = c->match[q];
        c->kept[q] = t;
        if (loose || t == ASIDE)
            c->match[q] = FREE;
        if (loose && t >= 0)
            SEEN_FREE(&c->seen[t]);
        if (!loose && t >= 0)
            LOCAL_ADD(&c->shared[1], 1);
    }
    SYNC();
    const int left = c->shared[1];
    LOCAL_SYNC();
    return left;
}

/* End a round: return to the match before it, or keep the new one with its mismatches. */
static void settled(const chain_t *c, const bool undo)
{
    const int me = (int)get_local_id(0);
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP)
        if (undo && c->match[q] >= 0)
            SEEN_FREE(&c->seen[c->match[q]]);
    SYNC();
    for (int q = me; q < c->nodes; q += PYAPSP_GROUP) {
        if (!undo)
            c->bad[q] = c->marks[q];
        else
            c->match[q] = c->kept[q];
        if (undo && c->match[q] >= 0)
            SEEN_USE(&c->seen[c->match[q]]);
    }
    SYNC();
}

/* The seed of one chain for each group: pairs[2 i] and pairs[2 i + 1] for entry i of `work`. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
seeds(__global const int *work, const uint stream, __global const int *info, const int n,
      const int power, const ulong seed, __global const uint *score, __global const uint *table,
      __global int *pairs)
{
    __local long keys[PYAPSP_GROUP];
    __local int items[PYAPSP_GROUP];
    const int me = (int)get_local_id(0), number = (int)get_group_id(0);
    const int query = work[2 * number];
    const uint chain = (uint)work[2 * number + 1] + stream;
    const int nodes = info[query * INFO], first = info[query * INFO + 1];
    long best = 0;
    int leader = NONE;
    for (int q = me; q < nodes; q += PYAPSP_GROUP) {
        const long key = (long)philox((uint)q, 0, chain, SEED_ROW, seed);
        if (BETTER(key, q, best, leader)) {
            best = key;
            leader = q;
        }
    }
    const int q = winner(best, leader, keys, items);
    score += (size_t)(first + q) * n;
    leader = NONE;
    for (int t = me; t < n; t += PYAPSP_GROUP) {
        const uint draw = philox((uint)t, 0, chain, SEED_TARGET, seed);
        const long key = raced(log_or_least(score[t], table), power, draw, table);
        if (BETTER(key, t, best, leader)) {
            best = key;
            leader = t;
        }
    }
    leader = winner(best, leader, keys, items);
    if (me == 0) {
        pairs[2 * number] = q;
        pairs[2 * number + 1] = leader;
    }
}

/* The chains: matches[(first * chains + chain * nodes) + q], and the cost of each. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
extend(__global const int *work, const uint stream, __global const int *info,
       __global const int *query_offsets,
       __global const int *query_neighbours, __global const int *offsets,
       __global const int *neighbours, const int n, __global const int *components,
       __global const int *low, __global const int *high, __global const uint *given,
       __global const uint *adjacency, __global const uint *score, __global const uint *table, const int total, const int chains,
       const int power, const int flags, const int rounds, const ulong seed,
       __global const int *pairs,
       __global uint *seen, __global int *lists, volatile __global int *next,
       __global int *matches, __global long *costs)
{
    __local int match[PYAPSP_NODES], kept[PYAPSP_NODES];
    __local int marks[PYAPSP_NODES], bad[PYAPSP_NODES];
    __local int shared[2], taken;
    __local long keys[PYAPSP_GROUP];
    __local int items[PYAPSP_GROUP];
    const int me = (int)get_local_id(0);
    const size_t slot = get_group_id(0);
    chain_t c;
    c.n = n;
    c.power = power;
    c.seed = seed;
    c.query_offsets = query_offsets;
    c.query_neighbours = query_neighbours;
    c.offsets = offsets;
    c.neighbours = neighbours;
    c.components = components;
    c.low = low;
    c.high = high;
    c.given = given;
    c.score = score;
    c.table = table;
    c.seen = seen + slot * n;
    c.list = lists + slot * n;
    c.match = match;
    c.kept = kept;
    c.flags = flags;
    c.marks = marks;
    c.bad = bad;
    c.shared = shared;
    c.keys = keys;
    c.items = items;

    for (;;) {
        const int number = next_number(next, &taken);
        if (number >= total)
            break;
        const int query = work[2 * number], place = work[2 * number + 1];
        c.chain = (uint)place + stream;
        c.nodes = info[query * INFO];
        c.first = info[query * INFO + 1];
        c.words = info[query * INFO + 2];
        c.rows = adjacency + info[query * INFO + 4];
        for (int q = me; q < c.nodes; q += PYAPSP_GROUP)
            match[q] = q == pairs[2 * number] ? pairs[2 * number + 1] : FREE;
        if (me == 0)
            SEEN_USE(&c.seen[pairs[2 * number + 1]]);
        SYNC();
        /* the first match is a round in which no node keeps a partner: each function is called in
         * one place, because compilers copy it to each */
        uint step = 0;
        long cost = 0;
        for (int round = 0; round == 0 || (round <= rounds && cost != 0); round++) {
            const int left = round == 0 ? 1 : loosened(&c, step);
            step = grow(&c, step + 1);
            const long now = mismatched(&c);
            const bool better = round == 0 || (left > 0 && now <= cost);
            settled(&c, !better);
            cost = better ? now : cost;
        }
        for (int q = me; q < c.nodes; q += PYAPSP_GROUP) {
            if (match[q] >= 0)
                SEEN_FREE(&c.seen[match[q]]);
            matches[(size_t)c.first * chains + (size_t)place * c.nodes + q] = match[q];
        }
        if (me == 0)
            costs[(size_t)query * chains + place] = cost;
        SYNC();
    }
}
