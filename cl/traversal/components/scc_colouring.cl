/* scc_colouring: strongly connected components by the largest labels that reach each vertex.
 *
 * Purpose   Each vertex has a label. `in` of a vertex is the largest label among the vertices that
 *           reach it, `out` that among those that it reaches. Vertices of one component have the
 *           same pair (in, out). If in = out, the vertices with this pair are the component of the
 *           vertex with that label. The ends of an arc between different pairs are in different
 *           components. So a round finds the pairs, stores the components with in = out, and keeps
 *           only the arcs within the other pairs. When no arc is left, each remaining vertex is a
 *           component.
 *             Before the rounds, two searches, forward and backward from a vertex with many arcs,
 *           find its component, which in many graphs has most of the arcs. They need only bit maps.
 *           If they are deeper than a few levels, they are stopped and ignored.
 *
 * Layout    Sides: 2 v is a vertex as seen by `in`, 2 v + 1 as seen by `out`. An arc (u, w) is an
 *           arc from side 2 u to 2 w, and from 2 w + 1 to 2 u + 1. So both pairs of a search are
 *           one search along the arcs of sides.
 *             list     the arcs that count: tails[0 .. size], then, from m on, heads. One list is
 *                      read, and another written with what is kept.
 *             bits     two bit maps of the sides that the searches have reached, now and next
 *             labels   two arrays with a uint for each side, now and next
 *             roots    a vertex that stands for the component of v, or -1
 *           A sweep goes through the arcs, reads now, and writes next: changes by atomics, and what
 *           was known before as well. After some sweeps, the rest of a round uses rows instead:
 *             rows, ends   the arcs of side s lead to ends[rows[s] .. rows[s + 1]]
 *             queue        two lists of sides that changed on this level, and on the next
 *             stamps       the last level whose list has this side
 *           If a level fits in the local memory of one group, that group processes it, and the next
 *           levels as long as they fit too.
 *
 *           Labels are a permutation of the vertices, and its inverse is also computed. The label
 *           that a vertex has received belongs to an ancestor. A label that has reached the ancestor
 *           reaches the vertex too, so each sweep also reads that one.
 *
 *           state: CHANGED + t % 3   whether sweep t changed something. Sweep t clears that of t +
 *                                    1. A sweep after one without changes does nothing.
 *                  SIZE + p          arcs of list p
 *                  RECORDS           four records (size of a frontier, its level), used in turn
 *           The host enqueues many launches, and then reads the state.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_WIDTH   4     work-items that share the arcs of a side
 *             PYAPSP_OFFSET  long  type of first: int or long
 *             PYAPSP_HELD    2 GROUP, or 1024 for groups of 1: sides that a group collects in
 *                            local memory
 *
 * Cost      A sweep reads 8 bytes for each arc, and a pair at random. A level of the queue reads
 *           the arcs of the sides that changed, with an atomic for each; a side changes about log n
 *           times in a round. There are about log n rounds; a round has as many levels as the
 *           longest of the shortest paths of a label.
 *
 * Source    G. Alabandi, W. Sands, G. Biros, M. Burtscher, A GPU algorithm for detecting strongly
 *           connected components, SC 2023, doi:10.1145/3581784.3607071 (labels in both directions,
 *           arcs removed between pairs); S. Orzan, PhD thesis, VU Amsterdam 2004 (colouring); L.
 *           Fleischer, B. Hendrickson, A. Pinar, IPDPS workshops 2000,
 *           doi:10.1007/3-540-45591-4_68 (forward and backward search). The queues, sides, and
 *           bits: ours.
 */
#include "common/arc_types.h"
#include "common/group.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 4
#endif

/* Places in state. */
#define CHANGED 0
#define SIZE 3
#define KNOWN 5
#define PIVOT 6
#define RECORDS 8
#define RECORD 2
#define COUNT 0
#define LEVEL 1

/* Arcs of a work-item that are filtered at once. */
#if PYAPSP_GROUP == 1
#define EACH 32
#ifndef PYAPSP_HELD
#define PYAPSP_HELD 1024
#endif
#else
#define EACH 8
#ifndef PYAPSP_HELD
#define PYAPSP_HELD (2 * PYAPSP_GROUP)
#endif
#endif
/* Levels that one group goes through in a launch. */
#define LEVELS 512

#define WORD 32

/* What a group has collected. */
typedef struct {
    int count; /* larger than PYAPSP_HELD if held was full */
    int base;
} sums_t;

/* A permutation of the 32-bit numbers that looks like chance, and its inverse. */
static inline uint mixed(uint x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static inline uint unmixed(uint x)
{
    x = (x ^ x >> 16) * 0x43021123u;
    x = (x ^ x >> 15 ^ x >> 30) * 0x1d69e2a5u;
    return x ^ x >> 16;
}

/* Add what the work-items of a group have counted to a place. */
static inline void add_all(__local int *sum, const int own, __global int *place)
{
    SYNC();
    if (get_local_id(0) == 0)
        *sum = 0;
    SYNC();
    if (own > 0)
        LOCAL_ADD(sum, own);
    SYNC();
    if (get_local_id(0) == 0 && *sum > 0)
        atomic_add(place, *sum);
}

/* Whether sweep `turn` has anything to do. It clears the mark of the next one. */
static inline int is_awake(__global int *state, const int turn)
{
    if (get_global_id(0) == 0)
        state[CHANGED + (turn + 1) % 3] = 0;
    return state[CHANGED + (turn + 2) % 3];
}

/* Write the tails of all arcs to a list, whose heads are there. So many work-items share a vertex
 * that one with many arcs does not take longer than all others. */
__kernel GROUP void scc_list(__global const offset_t *first, __global int *list, const int n,
                             const int lanes)
{
    const size_t by = get_global_size(0) / lanes;
    for (size_t v = get_global_id(0) / lanes; v < (size_t)n; v += by) {
        const offset_t end = first[v + 1];
        for (offset_t a = first[v] + get_global_id(0) % lanes; a < end; a += lanes)
            list[a] = v;
    }
}

/* Count the arcs that enter each vertex, among every `stride`-th. */
__kernel GROUP void scc_sample(__global const int *heads, __global uint *entering, const int m,
                               const int stride)
{
    for (long a = (long)get_global_id(0) * stride; a < m; a += (long)get_global_size(0) * stride)
        atomic_inc(&entering[heads[a]]);
}

/* Leave the best of the scores of a group, and its vertex, in the first places. */
static inline void best_of(__local uint *scores, __local uint *vertices)
{
    const int item = get_local_id(0);
    for (int by = PYAPSP_GROUP / 2; by > 0; by /= 2) {
        SYNC();
        if (item < by && scores[item + by] > scores[item]) {
            scores[item] = scores[item + by];
            vertices[item] = vertices[item + by];
        }
    }
    SYNC();
}

/* Find the best vertex of each group: the one with most arcs in times arcs out. */
__kernel GROUP void scc_elect(__global const offset_t *first, __global const uint *entering,
                              __global uint *best, const int n)
{
    __local uint scores[PYAPSP_GROUP], vertices[PYAPSP_GROUP];
    uint score = 0, vertex = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const uint leaving = (uint)min((offset_t)65535, first[v + 1] - first[v]);
        const uint found = leaving * min(65535u, entering[v]);
        if (found > score) {
            score = found;
            vertex = v;
        }
    }
    scores[get_local_id(0)] = score;
    vertices[get_local_id(0)] = vertex;
    best_of(scores, vertices);
    if (get_local_id(0) == 0) {
        best[2 * get_group_id(0)] = scores[0];
        best[2 * get_group_id(0) + 1] = vertices[0];
    }
}

/* Begin the searches of the best vertex of all groups: one group. */
__kernel GROUP void scc_pivot(__global const uint *best, __global uint *now, __global uint *next,
                              __global int *state, const int groups, const int m)
{
    __local uint scores[PYAPSP_GROUP], vertices[PYAPSP_GROUP];
    uint score = 0, vertex = 0;
    for (int group = get_local_id(0); group < groups; group += PYAPSP_GROUP) {
        if (best[2 * group] > score) {
            score = best[2 * group];
            vertex = best[2 * group + 1];
        }
    }
    scores[get_local_id(0)] = score;
    vertices[get_local_id(0)] = vertex;
    best_of(scores, vertices);
    if (get_local_id(0) > 0)
        return;
    const uint pivot = vertices[0];
    now[2 * pivot / WORD] = next[2 * pivot / WORD] = BIT(2 * pivot) | BIT(2 * pivot + 1);
    state[PIVOT] = pivot;
    state[SIZE] = m;
    state[CHANGED + 2] = 1;
}

/* A sweep of the two searches of the pivot. */
__kernel GROUP void scc_reach(__global const int *list, __global const uint *now,
                              __global uint *next, __global int *state, const int n, const int m,
                              const int turn)
{
    __local int sum;
    if (!is_awake(state, turn))
        return;
    int found = 0;
    for (size_t w = get_global_id(0); w <= (2 * (size_t)n - 1) / WORD; w += get_global_size(0))
        if (now[w])
            atomic_or(&next[w], now[w]);
    for (size_t a = get_global_id(0); a < (size_t)m; a += get_global_size(0)) {
        const uint from = 2 * (uint)list[a], to = 2 * (uint)list[m + a];
        const uint here = now[from / WORD] >> from % WORD, there = now[to / WORD] >> to % WORD;
        if (here & ~there & 1)
            found |= !(atomic_or(&next[to / WORD], BIT(to)) & BIT(to));
        if (there & ~here & 2)
            found |= !(atomic_or(&next[from / WORD], BIT(from + 1)) & BIT(from + 1));
    }
    add_all(&sum, found, &state[CHANGED + turn % 3]);
}

/* Write the arcs (u, w) of a list for which `kept` is true to another list. */
#define FILTER(kept)                                                                               \
    do {                                                                                           \
        const int span = PYAPSP_GROUP * EACH, item = get_local_id(0);                              \
        for (long from = (long)get_group_id(0) * span; from < size;                                \
             from += (long)get_num_groups(0) * span) {                                             \
            uint mine = 0;                                                                         \
            int own = 0;                                                                           \
            for (int k = 0; k < EACH; k++) {                                                       \
                const long a = from + k * PYAPSP_GROUP + item;                                     \
                if (a >= size)                                                                     \
                    continue;                                                                      \
                const int u = list[a], w = list[m + a];                                            \
                if (u != w && (kept)) {                                                            \
                    mine |= 1u << k;                                                               \
                    own++;                                                                         \
                }                                                                                  \
            }                                                                                      \
            SYNC();                                                                                \
            if (item == 0)                                                                         \
                sums.count = 0;                                                                    \
            SYNC();                                                                                \
            int place = own > 0 ? LOCAL_ADD(&sums.count, own) : 0;                                 \
            SYNC();                                                                                \
            if (item == 0 && sums.count > 0)                                                       \
                sums.base = atomic_add(total, sums.count);                                         \
            SYNC();                                                                                \
            place += sums.base;                                                                    \
            for (int k = 0; k < EACH; k++) {                                                       \
                if (!(mine & 1u << k))                                                             \
                    continue;                                                                      \
                const long a = from + k * PYAPSP_GROUP + item;                                     \
                rest[place] = list[a];                                                             \
                rest[(size_t)m + place++] = list[m + a];                                           \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* After the sweeps of the pivot, of which `turn` would be the next: settle its component, and keep
 * the arcs between vertices that both searches tell alike. If the searches are not complete, every
 * vertex is left, and every arc other than loops. */
__kernel GROUP void scc_split(__global const int *list, __global int *rest,
                              __global const uint *bits, __global int *roots, __global int *state,
                              const int n, const int m, const int turn)
{
    __local sums_t sums;
    __global int *total = &state[SIZE + 1];
    const int is_complete = state[CHANGED + (turn + 2) % 3] == 0, pivot = state[PIVOT];
    const long size = m;
    int known = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const int found = is_complete && (bits[2 * v / WORD] >> 2 * v % WORD & 3) == 3;
        roots[v] = found ? pivot : -1;
        known += found;
    }
    add_all(&sums.count, known, &state[KNOWN]);
#define SEEN(v) (bits[2 * (uint)(v) / WORD] >> 2 * (uint)(v) % WORD & 3)
    FILTER(!is_complete || (SEEN(u) == SEEN(w) && SEEN(u) != 3));
}

/* Begin a round: the own label for all sides. `turn` is the first sweep of the round, and p the
 * list that it reads. */
__kernel GROUP void scc_begin(__global uint *now, __global uint *next, __global int *state,
                              const int n, const int turn, const int p, const uint round)
{
    const uint key = round == 0 ? ~mixed(state[PIVOT]) : mixed(~round);
    for (size_t s = get_global_id(0); s < 2 * (size_t)n; s += get_global_size(0))
        now[s] = next[s] = mixed(s / 2) ^ key;
    if (get_global_id(0) == 0) {
        state[SIZE + 1 - p] = 0;
        state[CHANGED + turn % 3] = 0;
        state[CHANGED + (turn + 2) % 3] = 1;
    }
}

/* A sweep of a round. */
__kernel GROUP void scc_spread(__global const int *list, __global const uint *now,
                               __global uint *next, __global int *state, const int n, const int m,
                               const int turn, const int p, const uint round)
{
    __local int sum;
    if (!is_awake(state, turn))
        return;
    const long size = state[SIZE + p];
    const uint key = round == 0 ? ~mixed(state[PIVOT]) : mixed(~round);
    int found = 0;
    for (size_t s = get_global_id(0); s < 2 * (size_t)n; s += get_global_size(0)) {
        const uint own = now[s], whose = unmixed(own ^ key);
        if (whose == s / 2)
            continue;
        const uint there = now[2 * (size_t)whose + s % 2];
        found |= atomic_max(&next[s], max(own, there)) < there && there > own;
    }
    for (long a = get_global_id(0); a < size; a += get_global_size(0)) {
        const size_t u = 2 * (size_t)list[a], w = 2 * (size_t)list[m + a];
        const uint in = now[u], out = now[w + 1];
        if (in > now[w])
            found |= atomic_max(&next[w], in) < in;
        if (out > now[u + 1])
            found |= atomic_max(&next[u + 1], out) < out;
    }
    add_all(&sum, found, &state[CHANGED + turn % 3]);
}

/* Count the arcs of each side. */
__kernel GROUP void scc_count(__global const int *list, __global int *counts,
                              __global const int *state, const int m, const int p)
{
    const long size = state[SIZE + p];
    for (long a = get_global_id(0); a < size; a += get_global_size(0)) {
        atomic_inc(&counts[2 * (size_t)list[a]]);
        atomic_inc(&counts[2 * (size_t)list[m + a] + 1]);
    }
}

/* Write the ends of the arcs to the rows; the counts are down to zero then. */
__kernel GROUP void scc_place(__global const int *list, __global const int *rows,
                              __global int *counts, __global uint *ends,
                              __global const int *state, const int m, const int p)
{
    const long size = state[SIZE + p];
    for (long a = get_global_id(0); a < size; a += get_global_size(0)) {
        const uint u = list[a], w = list[m + a];
        ends[rows[2 * u] + atomic_dec(&counts[2 * u]) - 1] = 2 * w;
        ends[rows[2 * w + 1] + atomic_dec(&counts[2 * w + 1]) - 1] = 2 * u + 1;
    }
}

/* Put a side on a list. */
static inline void put(const uint side, __local uint *held, __local sums_t *sums,
                       __global uint *queue, __global int *total)
{
    const int place = LOCAL_ADD(&sums->count, 1);
    if (place < PYAPSP_HELD)
        held[place] = side;
    else
        queue[atomic_inc(total)] = side;
}

/* Move what the group has collected to a list. */
static inline void flush(__local const uint *held, __local sums_t *sums, __global uint *queue,
                         __global int *total)
{
    SYNC();
    const int count = min(sums->count, PYAPSP_HELD), item = get_local_id(0);
    if (item == 0 && count > 0)
        sums->base = atomic_add(total, count);
    SYNC();
    for (int i = item; i < count; i += PYAPSP_GROUP)
        queue[sums->base + i] = held[i];
    SYNC();
    if (item == 0)
        sums->count = 0;
    SYNC();
}

/* List the sides that the last sweep changed. */
__kernel GROUP void scc_collect(__global const uint *now, __global const uint *before,
                                __global int *stamps, __global uint *queue, __global int *state,
                                const int n)
{
    __local uint held[PYAPSP_HELD];
    __local sums_t sums;
    const int item = get_local_id(0);
    if (item == 0)
        sums.count = 0;
    SYNC();
    for (long from = (long)get_group_id(0) * PYAPSP_HELD; from < 2 * (long)n;
         from += (long)get_num_groups(0) * PYAPSP_HELD) {
        for (long s = from + item; s < min(from + PYAPSP_HELD, 2 * (long)n); s += PYAPSP_GROUP) {
            stamps[s] = -1;
            if (now[s] != before[s])
                put(s, held, &sums, queue, &state[RECORDS + COUNT]);
        }
        flush(held, &sums, queue, &state[RECORDS + COUNT]);
    }
}

/* One level of a round, or as many as one group can go through. */
__kernel GROUP void scc_step(__global const int *rows, __global const uint *ends,
                             __global uint *labels, __global int *stamps, __global uint *queue,
                             __global int *state, const int n, const int turn)
{
    __local uint held[2][PYAPSP_HELD];
    __local sums_t sums;
    const int item = get_local_id(0), lane = item % PYAPSP_WIDTH;
    const int share = PYAPSP_GROUP / PYAPSP_WIDTH; /* sides at once */
    __global const int *last = state + RECORDS + turn % 4 * RECORD;
    __global int *record = state + RECORDS + (turn + 1) % 4 * RECORD;
    const size_t sides = 2 * (size_t)n;
    int count = last[COUNT], level = last[LEVEL];
    const int walks = count <= PYAPSP_HELD;
    if (item == 0)
        sums.count = 0;
    SYNC();
    if (get_global_id(0) == 0) {
        state[RECORDS + (turn + 2) % 4 * RECORD + COUNT] = 0;
        if (!walks)
            record[LEVEL] = level + 1;
    }
    if (!walks) {
        __global const uint *now = queue + level % 2 * sides;
        __global uint *next = queue + (level + 1) % 2 * sides;
        for (int from = get_group_id(0) * share; from < count; from += get_num_groups(0) * share) {
            const int i = from + item / PYAPSP_WIDTH;
            if (i < count) {
                const uint side = now[i], label = atomic_or(&labels[side], 0);
                const int end = rows[side + 1];
                for (int a = rows[side] + lane; a < end; a += PYAPSP_WIDTH) {
                    const uint to = ends[a];
                    if (atomic_max(&labels[to], label) < label &&
                        atomic_xchg(&stamps[to], level + 1) != level + 1)
                        put(to, held[0], &sums, next, &record[COUNT]);
                }
            }
            flush(held[0], &sums, next, &record[COUNT]);
        }
        return;
    }
    if (get_group_id(0) > 0)
        return;
    for (int i = item; i < count; i += PYAPSP_GROUP)
        held[level % 2][i] = queue[level % 2 * sides + i];
    SYNC();
    for (int step = 0; step < LEVELS && count > 0 && count <= PYAPSP_HELD; step++) {
        __local const uint *now = held[level % 2];
        __local uint *soon = held[(level + 1) % 2];
        __global uint *next = queue + (level + 1) % 2 * sides;
        for (int i = item / PYAPSP_WIDTH; i < count; i += share) {
            const uint side = now[i], label = atomic_or(&labels[side], 0);
            const int end = rows[side + 1];
            for (int a = rows[side] + lane; a < end; a += PYAPSP_WIDTH) {
                const uint to = ends[a];
                if (atomic_max(&labels[to], label) < label &&
                    atomic_xchg(&stamps[to], level + 1) != level + 1) {
                    const int place = LOCAL_ADD(&sums.count, 1);
                    if (place < PYAPSP_HELD)
                        soon[place] = to;
                    else
                        next[place] = to;
                }
            }
        }
        SYNC();
        count = sums.count;
        level++;
        SYNC();
        if (item == 0)
            sums.count = 0;
        SYNC();
    }
    for (int i = item; i < min(count, PYAPSP_HELD); i += PYAPSP_GROUP)
        queue[level % 2 * sides + i] = held[level % 2][i];
    if (item == 0) {
        record[COUNT] = count;
        record[LEVEL] = level;
    }
}

/* End a round: settle components, and keep the arcs within the others. A round with sweeps alone is
 * complete if the last one, before `turn`, changed nothing; otherwise nothing is done. */
__kernel GROUP void scc_settle(__global const int *list, __global int *rest,
                               __global const uint *labels, __global int *roots,
                               __global int *state, const int n, const int m, const int turn,
                               const int p, const uint round, const int is_complete)
{
    __local sums_t sums;
    if (!is_complete && state[CHANGED + (turn + 2) % 3])
        return;
    __global int *total = &state[SIZE + 1 - p];
    const uint key = round == 0 ? ~mixed(state[PIVOT]) : mixed(~round);
    const long size = state[SIZE + p];
    int known = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        if (roots[v] >= 0 || labels[2 * v] != labels[2 * v + 1])
            continue;
        roots[v] = unmixed(labels[2 * v] ^ key);
        known++;
    }
    add_all(&sums.count, known, &state[KNOWN]);
#define IN(v) labels[2 * (size_t)(v)]
#define OUT(v) labels[2 * (size_t)(v) + 1]
    FILTER(IN(u) == IN(w) && OUT(u) == OUT(w) && IN(u) != OUT(u));
}
