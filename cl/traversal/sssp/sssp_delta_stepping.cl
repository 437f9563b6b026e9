/* sssp_delta_stepping: shortest paths from one source, by all groups, with steps of the threshold.
 *
 * Purpose   A vertex whose distance was lowered is an entry: the vertex and the distance offered to
 *           it. An entry at most at the threshold is near, and others are far. A launch of
 *           sssp_step advances the search. All work-items derive from the record of the last launch
 *           what this launch does:
 *             relax  the near entries offer their neighbours the path through themselves
 *             raise  there is none: the threshold becomes delta more than the least far distance,
 *                    far entries at most at it are relaxed, and the others are kept
 *             rest   there is none at all: nothing
 *           So the host enqueues several launches, and reads the record after the last of them.
 *           Weights must not be negative.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, with weights.
 *             words   n     the distances, see words.h
 *             vertices, offers  4 x capacity: entries in two far and two near lists, used in turn
 *             pieces, shares    2 x room: vertices with many arcs, and numbers of pieces of them;
 *                           the distances offered to them
 *             lost    a bit for each vertex: it has an entry for which there was no place
 *             state, bounds     four records each, used in turn. Launch t reads record t % 4,
 *                           writes the next one, and clears the one after that
 *
 *           A group keeps the near entries that it makes, and relaxes them in rounds of its own:
 *
 *               near or far list                    two lists of the group
 *             | u d | u d | u d |  -- tickets -->   | v d | v d |  <-->  | w d |
 *                                                     |    more than `keep`: all groups share
 *               next near list   <--------------------+    them in the next launch
 *               far list         <------------------------ offers above the threshold
 *
 *           So a round with few arcs does not need its own launch: one launch does most of the work
 *           between two thresholds. A group may relax an entry before another group lowers that
 *           vertex further. Each decrease of a distance makes a new entry, so the vertex is relaxed
 *           again. An entry with more than the distance of its vertex is skipped. The order in
 *           which a group sees the atomic operations of others does not matter: an entry contains
 *           the distance, and an outdated distance of a neighbour is only too large.
 *           A vertex with more than PYAPSP_CHUNK arcs is divided into pieces for the next launch,
 *           so that all groups share its arcs. If a list is full, the bit of the vertex is set
 *           instead. When the threshold is raised, vertices with set bits become entries.
 *
 * Parameters  those of all_pairs/sparse/words.h, common/types.h with PYAPSP_WIDTH 1, common/semiring.h, and
 *             PYAPSP_GROUP   64     work-items of a group: 1 or a power of two
 *             PYAPSP_OFFSET  long   type of first: int or long
 *             PYAPSP_WEIGHT  float  type of the weights, which are converted to distances
 *             PYAPSP_CHUNK   1024   arcs of a piece
 *             PYAPSP_HELD    256    entries in each list of a group
 *             PYAPSP_ROUNDS  4096   rounds of a group in a launch
 *             PYAPSP_AHEAD   0      with groups of 1: how far ahead arcs are prefetched; 0 without
 *                                   Clang's builtin for it
 *           Words of 64 bits need 64-bit atomics.
 *           Arguments of sssp_step: `delta` is the step of the threshold; offers above `farthest`
 *           are ignored; a group shares near entries if they are more than `keep`; `width`
 *           work-items share the arcs of a vertex, and more if there are few vertices.
 *
 * Cost      An arc is read once for each time that its tail is relaxed, with a read of a distance,
 *           and an atomic minimum if it is lowered. A larger delta relaxes more often, a smaller
 *           one takes more launches. With a delta of 32 mean weights over the mean number of arcs
 *           of a vertex, a vertex offers about 32 near distances.
 *
 *           Times on a GPU with 4 TB/s and groups of 256, weights 1 .. 100, delta 32:
 *             Grid 2048 x 2048: 178 launches of 50 to 70 us, 12 ms. A launch has about 20 rounds of
 *             four dependent accesses to memory each.
 *             R-MAT 2^20, 31 M arcs: 16 launches, 2.3 ms, most of it below the first threshold.
 *             R-MAT 2^22, 128 M arcs: 8 to 11 ms.
 *
 * Source    U. Meyer, P. Sanders, delta-stepping, Journal of Algorithms 49(1), 2003,
 *           doi:10.1016/S0196-6774(03)00076-2. Two lists instead of buckets: A. Davidson,
 *           S. Baxter, M. Garland, J. D. Owens, IPDPS 2014, doi:10.1109/IPDPS.2014.45. Rounds
 *           within a group: bucket fusion of Y. Zhang et al., CGO 2020,
 *           doi:10.1145/3368826.3377909, there for threads of a CPU.
 */
#include "common/arc_types.h"
#include "common/group.h"
#include "common/peek.h"
#include "all_pairs/sparse/words.h"
#ifndef PYAPSP_CHUNK
#define PYAPSP_CHUNK 1024
#endif
#ifndef PYAPSP_HELD
#define PYAPSP_HELD 256
#endif
#ifndef PYAPSP_ROUNDS
#define PYAPSP_ROUNDS 4096
#endif

#define FARTHEST_WORD WORD_OF((value_t)PYAPSP_INFINITY)

/* A record of the state. The first five are sums by atomics. */
#define RECORD 16
#define NEAR 0    /* entries of the near list; more than its capacity, if some were lost */
#define PIECES 1  /* pieces, likewise */
#define FAR 2     /* entries that this launch adds to the far list */
#define MISSED 3  /* entries that this launch loses */
#define TICKET 4  /* blocks taken by the launch that writes this record */
#define SUMS 5
#define FAR_BEFORE 5    /* entries of the far list before this launch */
#define MISSED_BEFORE 6 /* entries lost before this launch, and not found again */
#define DAY 7           /* which far list */
#define STEPS 8         /* launches that did something */
#define RAISES 9        /* of these, those that raised the threshold */

/* A record of bounds. The first is a minimum by atomics. */
#define BOUNDS 4
#define LEAST 0        /* the least entry that this launch adds to the far list, or loses */
#define LEAST_BEFORE 1 /* of those before this launch */
#define LIMIT 2        /* the threshold */

/* Lists of a group, and work-items that may share the arcs of a vertex. */
#define FAR_HELD 2
#define WARP 32
/* With groups of 1: entries that a group takes at once. */
#define BLOCK 64

#if PYAPSP_WORD == 32
#define MIN_AT(place, word) atomic_min(place, word)
#else
#define MIN_AT(place, word) atom_min(place, word)
#endif

/* A distance that other groups may be lowering. */
static inline value_t peek(__global word_t *word)
{
#if PYAPSP_WORD == 32
    return VALUE_IN(PEEK_INT(word));
#else
    return VALUE_IN(PEEK_LONG(word));
#endif
}

/* What the work-items share. */
typedef struct {
    __global const offset_t *first;
    __global const int *heads;
    __global const weight_t *weights;
    __global word_t *words;
    __global int *vertices;    /* of entries */
    __global value_t *offers;
    __global int *pieces;      /* the list that is written */
    __global value_t *shares;  /* offers of the pieces */
    __global uint *lost;
    __global int *record;
    __global word_t *bound;
    int capacity;
    int room;   /* for pieces */
    size_t near; /* the index of the near list that is written */
    size_t far;
    int tail;    /* entries of the far list before this launch */
    value_t limit;
    value_t farthest;
} search_t;

/* What a group holds. */
typedef struct {
    int count[3]; /* entries of the lists; more than PYAPSP_HELD if they were full */
    int ticket;
    int base;
    word_t least; /* of the far entries */
} sums_t;

/* The lists of a group, as one of its work-items sees them. */
typedef struct {
    __local int *vertices;
    __local value_t *offers;
    __local sums_t *sums;
    value_t least; /* of the far entries that it made */
} held_t;

static inline void lose(const search_t *search, const int v, const value_t offer)
{
    atomic_or(&search->lost[v >> 5], BIT(v));
    atomic_inc(&search->record[MISSED]);
    MIN_AT(&search->bound[LEAST], WORD_OF(offer));
}

/* Write an entry into a list of all groups. */
static inline void enter(const search_t *search, const size_t list, const int place, const int v,
                         const value_t offer)
{
    if (place >= search->capacity) {
        lose(search, v, offer);
        return;
    }
    search->vertices[list + place] = v;
    search->offers[list + place] = offer;
}

/* Make an entry. Those that the group does not hold are written to the lists of all groups. */
static inline void push(const search_t *search, held_t *held, const int next, const int v,
                        const value_t offer)
{
    const int is_near = offer <= search->limit, list = is_near ? next : FAR_HELD;
    const int place = LOCAL_ADD(&held->sums->count[list], 1);
    if (!is_near && offer < held->least)
        held->least = offer;
    if (place < PYAPSP_HELD) {
        held->vertices[list * PYAPSP_HELD + place] = v;
        held->offers[list * PYAPSP_HELD + place] = offer;
    } else if (is_near)
        enter(search, search->near, atomic_inc(&search->record[NEAR]), v, offer);
    else
        enter(search, search->far, search->tail + atomic_inc(&search->record[FAR]), v, offer);
}

/* Write a list of the group to one of all groups. */
static inline void flush(const search_t *search, const held_t *held, const int list)
{
    const int item = get_local_id(0), is_far = list == FAR_HELD;
    LOCAL_SYNC();
    const int count = min(held->sums->count[list], PYAPSP_HELD);
    if (item == 0 && count > 0)
        held->sums->base = atomic_add(&search->record[is_far ? FAR : NEAR], count);
    LOCAL_SYNC();
    const int base = held->sums->base + (is_far ? search->tail : 0);
    for (int i = item; i < count; i += PYAPSP_GROUP)
        enter(search, is_far ? search->far : search->near, base + i,
              held->vertices[list * PYAPSP_HELD + i], held->offers[list * PYAPSP_HELD + i]);
    LOCAL_SYNC();
    if (item == 0)
        held->sums->count[list] = 0;
    LOCAL_SYNC();
}

/* Cut a vertex into pieces for the next launch. */
static inline void cut(const search_t *search, const int u, const value_t offer, const int parts)
{
    const int place = atomic_add(&search->record[PIECES], parts);
    const int fits = place >= 0 && place <= search->room - parts;
    for (int part = 0; place >= 0 && part < min(parts, search->room - place); part++) {
        search->pieces[2 * (place + part)] = fits ? u : -1;
        search->pieces[2 * (place + part) + 1] = part;
        search->shares[place + part] = offer;
    }
    if (!fits)
        lose(search, u, offer);
}

/* Offer neighbours the path through a vertex: `by` work-items, over some of its arcs. */
static inline void relax(const search_t *search, held_t *held, const int next,
                         const value_t distance, const offset_t start, const offset_t end,
                         const int by)
{
    for (offset_t a = start; a < end; a += by) {
        const int v = search->heads[a];
        const value_t offer = extend(distance, (value_t)search->weights[a]);
        if (offer <= search->farthest && offer < peek(&search->words[v]) &&
            WORD_OF(offer) < MIN_AT(&search->words[v], WORD_OF(offer)))
            push(search, held, next, v, offer);
    }
}

/* Relax an entry, if nothing lower was offered to its vertex. */
static inline void visit(const search_t *search, held_t *held, const int next, const int u,
                         const value_t offer, const int lane, const int lanes)
{
    if (peek(&search->words[u]) < offer)
        return;
    if (offer > search->limit) {
        if (lane == 0)
            push(search, held, next, u, offer);
        return;
    }
    const offset_t start = search->first[u], end = search->first[u + 1];
    if (end - start <= PYAPSP_CHUNK)
        relax(search, held, next, offer, start + lane, end, lanes);
    else if (lane == 0)
        cut(search, u, offer, (int)((end - start - 1) / PYAPSP_CHUNK + 1));
}

/* The work-items of a vertex: more than `width` if that leaves some without work. */
static inline int lanes_for(const int width, const int vertices, const int items)
{
    int lanes = width;
    while (2 * lanes <= min(PYAPSP_GROUP, WARP) && 2 * (long)lanes * vertices <= items)
        lanes *= 2;
    return lanes;
}

/* Prepare a search. */
__kernel GROUP void sssp_start(__global word_t *words, __global int *vertices,
                               __global value_t *offers, __global uint *lost, __global int *state,
                               __global word_t *bounds, const int source, const int n)
{
    const int items = get_global_size(0), item = get_global_id(0), length = (n - 1) / 32 + 1;
#if PYAPSP_GROUP == 1
    /* a part of each array for each work-item */
    const int part_of = (length - 1) / items + 1, low = min(item * part_of, length);
    const int high = min(low + part_of, length), from = 32 * low, to = min(32 * high, n), by = 1;
#else
    const int low = item, high = length, from = item, to = n, by = items;
#endif
    for (int word = low; word < high; word += by)
        lost[word] = 0;
    for (int v = from; v < to; v += by)
        words[v] = v == source ? WORD_OF((value_t)0) : FARTHEST_WORD;
    if (item > 0)
        return;
    for (int field = 0; field < 4 * RECORD; field++)
        state[field] = 0;
    for (int field = 0; field < 4 * BOUNDS; field++)
        bounds[field] = FARTHEST_WORD;
    /* one far entry */
    vertices[0] = source;
    offers[0] = 0;
    state[FAR] = 1;
    bounds[LEAST] = WORD_OF((value_t)0);
}

__kernel GROUP void sssp_step(__global const offset_t *first, __global const int *heads,
                              __global const weight_t *weights, __global word_t *words,
                              __global int *vertices, __global value_t *offers,
                              __global int *pieces, __global value_t *shares, __global uint *lost,
                              __global int *state, __global word_t *bounds, const int n,
                              const int capacity, const int room, const value_t delta,
                              const value_t farthest, const int keep, const int width,
                              const int turn)
{
    __local int held_vertices[3 * PYAPSP_HELD];
    __local value_t held_offers[3 * PYAPSP_HELD];
    __local sums_t sums;
    const int item = get_local_id(0), groups = get_num_groups(0), length = (n - 1) / 32 + 1;
    __global const int *last = state + turn * RECORD;
    __global int *record = state + (turn + 1) % 4 * RECORD;
    __global const word_t *known = bounds + turn * BOUNDS;
    __global word_t *bound = bounds + (turn + 1) % 4 * BOUNDS;

    /* what this launch does: the same in all work-items */
    const int cuts = min(last[PIECES], room), near = min(last[NEAR], capacity);
    const int waiting = min(last[FAR_BEFORE] + last[FAR], capacity);
    const int missed = last[MISSED_BEFORE] + last[MISSED];
    const int relaxes = cuts + near > 0, raises = !relaxes && waiting + missed > 0;
    const value_t least = SHORTER(VALUE_IN(known[LEAST]), VALUE_IN(known[LEAST_BEFORE]));
    value_t limit = VALUE_IN(known[LIMIT]);
    if (raises)
        limit = delta < farthest - least ? (value_t)(least + delta) : farthest;
    /* far lists are lists 0 and 1, near lists are 2 and 3 */
    const int day = raises ? 1 - last[DAY] : last[DAY];
    const search_t search = {first,
                             heads,
                             weights,
                             words,
                             vertices,
                             offers,
                             pieces + (size_t)((turn + 1) % 2) * 2 * room,
                             shares + (size_t)((turn + 1) % 2) * room,
                             lost,
                             record,
                             bound,
                             capacity,
                             room,
                             (size_t)(2 + (turn + 1) % 2) * capacity,
                             (size_t)day * capacity,
                             raises ? 0 : waiting,
                             limit,
                             farthest};
    if (get_global_id(0) == 0) {
        for (int field = 0; field < SUMS; field++)
            state[(turn + 2) % 4 * RECORD + field] = 0;
        bounds[(turn + 2) % 4 * BOUNDS + LEAST] = FARTHEST_WORD;
        record[FAR_BEFORE] = search.tail;
        record[MISSED_BEFORE] = raises ? 0 : missed;
        record[DAY] = day;
        record[STEPS] = last[STEPS] + (relaxes || raises);
        record[RAISES] = last[RAISES] + raises;
        bound[LEAST_BEFORE] = raises ? FARTHEST_WORD : WORD_OF(least);
        bound[LIMIT] = WORD_OF(limit);
    }
    if (!relaxes && !raises)
        return;
    held_t held = {held_vertices, held_offers, &sums, PYAPSP_INFINITY};
    if (item == 0) {
        sums.count[0] = sums.count[1] = sums.count[FAR_HELD] = 0;
        sums.least = FARTHEST_WORD;
    }
    LOCAL_SYNC();

    /* blocks of entries, and of pieces or of words of the bit map */
    const int entries = raises ? waiting : near;
    const size_t from = (size_t)(raises ? last[DAY] : 2 + turn % 2) * capacity;
    __global const int *parts = pieces + (size_t)(turn % 2) * 2 * room;
    __global const value_t *part_offers = shares + (size_t)(turn % 2) * room;
    const int lanes = lanes_for(width, entries, groups * PYAPSP_GROUP);
#if PYAPSP_GROUP == 1
    const int most = BLOCK, fair = entries / (4 * groups) + 1, stretch = BLOCK;
#else
    const int most = PYAPSP_GROUP / lanes, fair = (entries - 1) / groups + 1;
    const int stretch = PYAPSP_GROUP;
#endif
    const int block = max(min(most, fair), 1), blocks = (entries + block - 1) / block;
    const int others = relaxes ? cuts : missed > 0 ? (length - 1) / stretch + 1 : 0;
    int taken = 0;
    while (taken < others + blocks) {
        if (item == 0)
            sums.ticket = atomic_inc(&record[TICKET]);
        LOCAL_SYNC();
        taken = sums.ticket;
        if (taken < others && relaxes) {
            const int u = parts[2 * taken];
            const value_t offer = part_offers[taken];
            if (u >= 0 && peek(&words[u]) >= offer) {
                const offset_t start = first[u] + (offset_t)parts[2 * taken + 1] * PYAPSP_CHUNK;
                const offset_t end = min((offset_t)(start + PYAPSP_CHUNK), first[u + 1]);
                relax(&search, &held, 0, offer, start + item, end, PYAPSP_GROUP);
            }
        } else if (taken < others) {
            const int low = taken * stretch, high = min(low + stretch, length);
            for (int w = low + item; w < high; w += PYAPSP_GROUP) {
                uint bits = atomic_xchg(&lost[w], 0u);
                while (bits) {
                    const int v = 32 * w + 31 - clz(bits & -bits);
                    bits &= bits - 1;
                    push(&search, &held, 0, v, peek(&words[v]));
                }
            }
        } else if (taken < others + blocks) {
            const int low = (taken - others) * block, high = min(low + block, entries);
            for (int i = low + item / lanes; i < high; i += PYAPSP_GROUP / lanes) {
#if PYAPSP_AHEAD > 0
                const int soon = vertices[from + min(i + 2 * PYAPSP_AHEAD, entries - 1)];
                PREFETCH(&words[soon]);
                PREFETCH(&first[soon]);
                const offset_t row = first[vertices[from + min(i + PYAPSP_AHEAD, entries - 1)]];
                PREFETCH(&heads[row]);
                PREFETCH(&weights[row]);
#endif
                visit(&search, &held, 0, vertices[from + i], offers[from + i], item % lanes, lanes);
            }
        }
        LOCAL_SYNC();
        const int many_near = sums.count[0] > PYAPSP_HELD / 2;
        const int many_far = sums.count[FAR_HELD] > PYAPSP_HELD / 2;
        if (many_near)
            flush(&search, &held, 0);
        if (many_far)
            flush(&search, &held, FAR_HELD);
    }

    /* rounds of this group alone */
    int now = 0, count = sums.count[0];
    for (int round = 0; count > 0 && count <= keep && round < PYAPSP_ROUNDS; round++) {
        const int next = 1 - now, share = lanes_for(width, count, PYAPSP_GROUP);
        LOCAL_SYNC();
        for (int i = item / share; i < count; i += PYAPSP_GROUP / share)
            visit(&search, &held, next, held_vertices[now * PYAPSP_HELD + i],
                  held_offers[now * PYAPSP_HELD + i], item % share, share);
        LOCAL_SYNC();
        const int many_far = sums.count[FAR_HELD] > PYAPSP_HELD / 2;
        if (item == 0)
            sums.count[now] = 0;
        now = next;
        count = sums.count[now];
        LOCAL_SYNC();
        if (many_far)
            flush(&search, &held, FAR_HELD);
    }
    if (held.least < (value_t)PYAPSP_INFINITY)
        MIN_AT(&sums.least, WORD_OF(held.least));
    flush(&search, &held, now);
    flush(&search, &held, FAR_HELD);
    if (item == 0 && sums.least < FARTHEST_WORD)
        MIN_AT(&bound[LEAST], sums.least);
}
