/* sssp_h_bf: H-BF, Bellman-Ford from a frontier, with classes of arcs and no duplicates.
 *
 * Purpose   In a round, the vertices whose distance was lowered in the last round (the frontier)
 *           offer their neighbours the path through themselves. Weights may be negative. All
 *           optimisations of the thesis are options:
 *             classes     arcs to some vertices need no atomic, or no relaxation
 *             duplicates  a vertex enters a frontier once: the word that is lowered also has the
 *                         round in which it was lowered; or a table tells afterwards which entries
 *                         of a frontier are duplicates, as in the workfront sweep of Davidson et al.
 *             enqueue     a group collects vertices in local memory, and writes them together
 *             warps       `width` work-items share the arcs of a vertex; the host may choose
 *                         another width for each round. A warp takes `load` vertices in turn
 *             heavy list  all groups share the arcs of vertices with more than `heavy` arcs, in a
 *                         launch of their own, which takes the place of dynamic parallelism
 *             merge path  all groups have as many vertices and arcs of the frontier together, as in
 *                         the workfront sweep, in the place of warps and of the heavy list
 *             memory      the arcs are read through the cache for constant data; the frontier and
 *                         the rows, which are read once, are streamed past the caches
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, with weights. After
 *           hbf_mark the two highest bits of a head are the class of the arc:
 *             NORMAL  atomic minimum
 *             SINGLE  no other arc enters the head: a store, and the head enters the frontier
 *             LEAF    no arc leaves the head (or in an undirected graph, only the reverse): the arc
 *                     is skipped. hbf_leaves finds these distances at the end, from the entering
 *                     arcs
 *             LOOP    head and tail are the same: the arc is skipped. A negative loop is NORMAL
 *           The source is in the first frontier alone, and its arcs need a store. Offers to it are
 *           ignored; a negative one is a negative cycle, and sets NEGATIVE.
 *
 *           A distance is a key: an integer in the same order.
 *             words   n   keys. With DUPLICATES 1 and 2 they are longs:
 *
 *                           63         32 31              0
 *                          |  key        |  round          |
 *
 *             tags    n   with DUPLICATES 3: the round in which each vertex entered a frontier;
 *                         with 4: the place of one of its entries in `next`
 *             now, next   frontiers; `next` has a place for every vertex, or without removal of
 *                         duplicates for every arc. If these are too few, FOUND is larger, and the
 *                         host makes a frontier of all vertices that are reached
 *             counts  8   FOUND, HEAVY, NEGATIVE; with COUNTED also RELAXED, the NORMAL arcs that
 *                         were tried, and AVOIDED, the duplicates that did not enter a frontier
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and common/semiring.h, and
 *             PYAPSP_GROUP       64  work-items of a group
 *             PYAPSP_CLASSES     1   0: heads have no classes
 *             PYAPSP_DUPLICATES  3   0: they are kept; 1: atomic minimum of longs; 2: compare and
 *                                    exchange of longs; 3: minimum, and exchange of a tag; 4:
 *                                    kept, until hbf_look_up and hbf_filter remove them
 *             PYAPSP_STAGED      1   0: an atomic for each vertex that is found
 *             PYAPSP_WIDE        0   1: distances of 8 bytes, with DUPLICATES 0 or 3
 *             PYAPSP_HALF        0   1: distances are halves, whose keys are those of floats
 *             PYAPSP_HELD        1024  vertices that a group collects
 *             PYAPSP_READ        0   1: arcs through the cache for constant data; 2: also stream
 *             PYAPSP_COUNTED     0   1: count relaxations and duplicates
 *             PYAPSP_MERGED      0   1: there is hbf_expand_merged, for frontiers without duplicates;
 *                                    see traversal/partitioning/merge_path.h
 *           DUPLICATES 1 and 2, and wide distances, need 64-bit atomics.
 *
 * Cost      A round reads the arcs of its frontier, with one atomic for each that is NORMAL and
 *           lowers a distance. Rounds: the most arcs on a shortest path. A vertex may be relaxed as
 *           often as there are paths to it.
 *
 * Source    F. Busato, N. Bombieri, an efficient implementation of the Bellman-Ford algorithm for
 *           Kepler GPU architectures, IEEE TPDS 27(8), 2016, doi:10.1109/TPDS.2015.2485994; F.
 *           Busato, PhD thesis, University of Verona, 2018, chapter 8. There a marked vertex is
 *           stored whatever it is; here the source is not. In algorithm 11 of the thesis a vertex
 *           is enqueued even if it was not lowered; here both conditions are tested.
 */
#include "common/group_size.h"
#include "common/types.h"
#include "common/semiring.h"
#include "common/peek.h"
#ifndef PYAPSP_CLASSES
#define PYAPSP_CLASSES 1
#endif
#ifndef PYAPSP_DUPLICATES
#define PYAPSP_DUPLICATES 3
#endif
#ifndef PYAPSP_STAGED
#define PYAPSP_STAGED 1
#endif
#ifndef PYAPSP_WIDE
#define PYAPSP_WIDE 0
#endif
#ifndef PYAPSP_HALF
#define PYAPSP_HALF 0
#endif
#ifndef PYAPSP_HELD
#define PYAPSP_HELD 1024
#endif

#ifndef PYAPSP_READ
#define PYAPSP_READ 0
#endif
#ifndef PYAPSP_COUNTED
#define PYAPSP_COUNTED 0
#endif
#ifndef PYAPSP_MERGED
#define PYAPSP_MERGED 0
#endif
#if PYAPSP_MERGED
#define PYAPSP_WARP 1
#include "traversal/partitioning/merge_path.h"
#endif

#define NO_PREDECESSOR (-9999)
#define PACKED (PYAPSP_DUPLICATES == 1 || PYAPSP_DUPLICATES == 2)

#define FOUND 0
#define HEAVY 1
#define NEGATIVE 2
#define RELAXED 3
#define AVOIDED 4
#define COUNTS 8

/* Compilers that know that nothing else writes an array read it through the cache for constants. */
#if PYAPSP_READ
#define ALONE restrict
#else
#define ALONE
#endif
#if PYAPSP_READ == 2
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_load)
#define STREAM(place) __builtin_nontemporal_load(place)
#endif
#endif
#ifndef STREAM
#error "no __builtin_nontemporal_load"
#endif
#else
#define STREAM(place) (*(place))
#endif

#define NORMAL 0
#define SINGLE 1
#define LEAF 2
#define LOOP 3
#define CLASS_SHIFT 30
#define HEAD_OF(marked) ((int)((marked) & ((1u << CLASS_SHIFT) - 1)))

#if PACKED || PYAPSP_WIDE
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
typedef long word_t;
#define PEEK(place) PEEK_LONG(place)
#define POKE(place, word) POKE_LONG(place, word)
#define LOWER(place, word) atom_min(place, word)
#else
typedef int word_t;
#define PEEK(place) PEEK_INT(place)
#define POKE(place, word) POKE_INT(place, word)
#define LOWER(place, word) atomic_min(place, word)
#endif

#if PYAPSP_WIDE
typedef long key_t;
#define KEY_BITS 63
#define MAGNITUDE 0x7fffffffffffffffL
#else
typedef int key_t;
#define KEY_BITS 31
#define MAGNITUDE 0x7fffffff
#endif

/* Floats in the order of their bits: of negative ones, the bits but the sign are turned. */
static inline key_t turned(const key_t bits)
{
    return bits ^ ((bits >> KEY_BITS) & MAGNITUDE);
}

#if PYAPSP_INTEGER
#define KEY_OF(value) ((key_t)(value))
#define VALUE_OF(key) ((value_t)(key))
#elif PYAPSP_WIDE || !PYAPSP_HALF
#define KEY_OF(value) turned(PYAPSP_JOIN(as_, PYAPSP_BITS)(value))
#define VALUE_OF(key) PYAPSP_JOIN(as_, PYAPSP_VALUE)(turned(key))
#else
/* half: floats hold the same numbers */
#define KEY_OF(value) turned(as_int((float)(value)))
#define VALUE_OF(key) ((value_t)as_float(turned(key)))
#endif

#if PACKED
#define WORD_OF(value, round) (((long)KEY_OF(value) << 32) | (long)(uint)(round))
#define VALUE_IN(word) VALUE_OF((int)((word) >> 32))
#define ROUND_IN(word) ((int)(uint)((word) & 0xffffffffL))
#else
#define WORD_OF(value, round) KEY_OF(value)
#define VALUE_IN(word) VALUE_OF(word)
#endif

/* What the work-items share. */
typedef struct {
    __global const long *first;
    __global const uint *heads;
    __global const value_t *weights;
    __global word_t *words;
    __global int *tags;
    __global int *next;
    __global int *counts;
    int capacity;
    int source;
    int round;
    __local int *held;
    __local int *count; /* larger than PYAPSP_HELD if it was full */
} search_t;

/* The number of arcs that enter each vertex, which is 0 before. */
__kernel GROUP void hbf_degrees(__global const uint *heads, __global int *entering, const long m)
{
    const size_t a = get_global_id(0);
    if ((long)a < m)
        atomic_inc(&entering[heads[a]]);
}

/* Set the classes of arcs: `width` work-items for each tail. */
__kernel GROUP void hbf_mark(__global const long *first, __global uint *heads,
                             __global const value_t *weights, __global const int *entering,
                             const int undirected, const int width, const int n)
{
    const size_t u = get_global_id(0) / width;
    if (u >= (size_t)n)
        return;
    for (long a = first[u] + get_global_id(0) % width; a < first[u + 1]; a += width) {
        const uint v = heads[a];
        const long leaving = first[v + 1] - first[v];
        uint class = NORMAL;
        if (u == v)
            class = weights[a] < (value_t)0 ? NORMAL : LOOP;
        else if (leaving == 0 || (undirected && leaving == 1))
            class = LEAF;
        else if (entering[v] == 1)
            class = SINGLE;
        heads[a] = v | class << CLASS_SHIFT;
    }
}

__kernel GROUP void hbf_start(__global word_t *words, __global int *tags, __global int *now,
                              __global int *counts, const int source, const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    words[v] = v == (size_t)source ? WORD_OF((value_t)0, 0) : WORD_OF((value_t)PYAPSP_INFINITY, 0);
#if PYAPSP_DUPLICATES >= 3
    tags[v] = 0;
#endif
    if (v != (size_t)source)
        return;
    now[0] = source;
    for (int count = 0; count < COUNTS; count++)
        counts[count] = 0;
}

static inline void enter(const search_t *search, const int place, const int v)
{
    if ((uint)place < (uint)search->capacity) /* the count may wrap */
        search->next[place] = v;
}

/* Put a vertex into the next frontier. */
static inline void push(const search_t *search, const int v)
{
#if PYAPSP_STAGED
    const int place = atomic_inc(search->count);
    if (place < PYAPSP_HELD) {
        search->held[place] = v;
        return;
    }
#endif
    enter(search, atomic_inc(&search->counts[FOUND]), v);
}

/* Write what the group has collected. */
static inline void flush(const search_t *search, __local int *base)
{
#if PYAPSP_STAGED
    const int item = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int count = min(*search->count, PYAPSP_HELD);
    if (item == 0 && count > 0)
        *base = atomic_add(&search->counts[FOUND], count);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < count; i += PYAPSP_GROUP)
        enter(search, *base + i, search->held[i]);
#endif
}

/* Lower the distance of a vertex; return 1 if it enters the next frontier, -1 if it is there. */
static inline int lower(const search_t *search, const int v, const value_t offer)
{
    __global word_t *word = &search->words[v];
#if PYAPSP_DUPLICATES == 1
    const word_t old = LOWER(word, WORD_OF(offer, search->round));
    return offer < VALUE_IN(old) ? (ROUND_IN(old) != search->round ? 1 : -1) : 0;
#elif PYAPSP_DUPLICATES == 2
    word_t old = PEEK(word);
    while (offer < VALUE_IN(old)) {
        const word_t met = atom_cmpxchg(word, old, WORD_OF(offer, search->round));
        if (met == old)
            return ROUND_IN(old) != search->round ? 1 : -1;
        old = met;
    }
    return 0;
#elif PYAPSP_DUPLICATES == 3
    if (!(offer < VALUE_IN(LOWER(word, WORD_OF(offer, 0)))))
        return 0;
    return atomic_xchg(&search->tags[v], search->round) != search->round ? 1 : -1;
#else
    return offer < VALUE_IN(LOWER(word, WORD_OF(offer, 0)));
#endif
}

/* Offer the head of an arc of u the path through u. */
static inline void relax_arc(const search_t *search, const int u, const value_t distance,
                             const long a, int *tried, int *avoided)
{
    const uint marked = search->heads[a];
    const int class = PYAPSP_CLASSES ? marked >> CLASS_SHIFT : NORMAL;
    const int v = PYAPSP_CLASSES ? HEAD_OF(marked) : (int)marked;
    if (class == LOOP || class == LEAF)
        return;
    const value_t offer = extend(distance, search->weights[a]);
    if (v == search->source) {
        if (offer < (value_t)0)
            atomic_xchg(&search->counts[NEGATIVE], 1);
    } else if (PYAPSP_CLASSES && (class == SINGLE || u == search->source)) {
        if (offer < VALUE_IN(PEEK(&search->words[v]))) {
            POKE(&search->words[v], WORD_OF(offer, search->round));
            push(search, v);
        }
    } else {
        ++*tried;
        const int entry = offer < VALUE_IN(PEEK(&search->words[v])) ? lower(search, v, offer) : 0;
        *avoided += entry < 0;
        if (entry > 0)
            push(search, v);
    }
}

static inline void count_arcs(const search_t *search, const int tried, const int avoided)
{
#if PYAPSP_COUNTED
    atomic_add(&search->counts[RELAXED], tried);
    atomic_add(&search->counts[AVOIDED], avoided);
#endif
}

/* Offer neighbours the path through u: `by` work-items. */
static inline void relax(const search_t *search, const int u, const long start, const long by)
{
    const value_t distance = VALUE_IN(PEEK(&search->words[u]));
    const long end = STREAM(&search->first[u + 1]);
    int tried = 0, avoided = 0;
    for (long a = STREAM(&search->first[u]) + start; a < end; a += by)
        relax_arc(search, u, distance, a, &tried, &avoided);
    count_arcs(search, tried, avoided);
}

/* The first part of an expansion, before a barrier: `search`, and what the group holds. */
#define OPEN_SEARCH                                                                                \
    __local int held[PYAPSP_STAGED ? PYAPSP_HELD : 1], count, base;                                \
    const search_t search = {first,  heads,    weights, words, tags, next,                         \
                             counts, capacity, source,  round, held, &count};                      \
    if (get_local_id(0) == 0)                                                                      \
        count = 0

/* Relax the frontier: warps of `width` work-items, each with `load` vertices. Vertices with more
 * than `heavy` arcs are put into a list, unless `heavy` is 0. */
__kernel GROUP void hbf_expand(__global const long *ALONE first, __global const uint *ALONE heads,
                               __global const value_t *ALONE weights, __global word_t *words,
                               __global int *tags, __global const int *ALONE now,
                               __global int *next, __global int *heavies, __global int *counts,
                               const int capacity, const int source, const int round,
                               const int size, const int width, const int load, const int heavy)
{
    OPEN_SEARCH;
    barrier(CLK_LOCAL_MEM_FENCE);
    const long low = (long)(get_global_id(0) / width) * load;
    for (long i = low; i < min(low + load, (long)size); i++) {
        const int u = STREAM(&now[i]), lane = get_global_id(0) % width;
        if (heavy > 0 && first[u + 1] - first[u] > heavy) {
            if (lane == 0)
                heavies[atomic_inc(&counts[HEAVY])] = u;
        } else
            relax(&search, u, lane, width);
    }
    flush(&search, &base);
}

/* Relax the heavy vertices: all work-items share each of them. */
__kernel GROUP void hbf_expand_heavy(__global const long *ALONE first,
                                     __global const uint *ALONE heads,
                                     __global const value_t *ALONE weights, __global word_t *words,
                                     __global int *tags, __global int *next,
                                     __global const int *heavies, __global int *counts,
                                     const int capacity, const int source, const int round)
{
    OPEN_SEARCH;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < counts[HEAVY]; i++)
        relax(&search, heavies[i], get_global_id(0), get_global_size(0));
    flush(&search, &base);
}

#if PYAPSP_MERGED
#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)

/* The degrees of the frontier: a work-item for each vertex. */
__kernel GROUP void hbf_count(__global const long *first, __global const int *now,
                              __global int *degrees, const int size)
{
    const size_t i = get_global_id(0);
    if (i < (size_t)size)
        degrees[i] = (int)(first[now[i] + 1] - first[now[i]]);
}

/* The number of chunks of the frontier and its arcs. */
static inline int chunks_of(__global const int *sums, const int size)
{
    return ((long)size + sums[size] - 1) / CHUNK + 1;
}

/* A work-item for each chunk, and one for the end. */
__kernel GROUP void hbf_divide(__global const int *sums, __global int *parts, const int size)
{
    const int chunks = chunks_of(sums, size);
    for (int c = get_global_id(0); c <= chunks; c += get_global_size(0))
        parts[c] = merged_part(sums, c, CHUNK, size, sums[size]);
}

/* The groups share the chunks. */
__kernel GROUP void hbf_expand_merged(
    __global const long *ALONE first, __global const uint *ALONE heads,
    __global const value_t *ALONE weights, __global word_t *words, __global int *tags,
    __global const int *ALONE now, __global int *next, __global int *counts,
    __global const int *ALONE sums, __global const int *ALONE parts, const int capacity,
    const int source, const int round, const int size)
{
    OPEN_SEARCH;
    __local int slice[CHUNK + 2], owner_of[CHUNK];
    const int chunks = chunks_of(sums, size);
    int tried = 0, avoided = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        int found;
        const int begin =
            stage_merged(sums, parts, size, sums[size], c, CHUNK, slice, owner_of, &found);
        for (int p = get_local_id(0); p < found; p += PYAPSP_GROUP) {
            const int i = owner_of[p], u = STREAM(&now[i]);
            const value_t distance = VALUE_IN(PEEK(&search.words[u]));
            relax_arc(&search, u, distance, STREAM(&first[u]) + begin + p - sums[i], &tried,
                      &avoided);
        }
        group_sync();
    }
    count_arcs(&search, tried, avoided);
    flush(&search, &base);
}
#endif

#if PYAPSP_DUPLICATES == 4
/* Each entry of a frontier writes its place into the table; one of each vertex remains there. */
__kernel GROUP void hbf_look_up(__global const int *found, __global int *table, const int size)
{
    const size_t i = get_global_id(0);
    if (i < size)
        atomic_xchg(&table[found[i]], (int)i);
}

/* Keep the entries whose places are in the table. */
__kernel GROUP void hbf_filter(__global const int *found, __global const int *table,
                               __global int *kept, __global int *counts, const int size)
{
    const size_t i = get_global_id(0);
    if (i >= size)
        return;
    if (table[found[i]] == i)
        kept[atomic_inc(&counts[FOUND])] = found[i];
#if PYAPSP_COUNTED
    else
        atomic_inc(&counts[AVOIDED]);
#endif
}
#endif

/* Let the frontier be all vertices that are reached. Not the source: its arcs are stored once. */
__kernel GROUP void hbf_reached(__global const word_t *words, __global int *now,
                                __global int *counts, const int source, const int n)
{
    const size_t v = get_global_id(0);
    if (v < (size_t)n && v != (size_t)source && VALUE_IN(words[v]) < (value_t)PYAPSP_INFINITY)
        now[atomic_inc(&counts[FOUND])] = v;
}

/* The distances of leaves: the arcs tails[from[i] .. from[i + 1]] enter leaves[i]. */
__kernel GROUP void hbf_leaves(__global const int *leaves, __global const int *from,
                               __global const int *tails, __global const value_t *entering,
                               __global word_t *words, const int source, const int count)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)count || leaves[i] == source)
        return;
    value_t least = PYAPSP_INFINITY;
    for (int a = from[i]; a < from[i + 1]; a++) {
        const value_t distance = VALUE_IN(words[tails[a]]);
        if (!(distance < (value_t)PYAPSP_INFINITY))
            continue;
        const value_t offer = extend(distance, entering[a]);
        least = SHORTER(offer, least);
    }
    if (least < (value_t)PYAPSP_INFINITY)
        words[leaves[i]] = WORD_OF(least, 0);
}

__kernel GROUP void hbf_distances(__global const word_t *words, __global value_t *distances,
                                  const int n)
{
    const size_t v = get_global_id(0);
    if (v < (size_t)n)
        distances[v] = VALUE_IN(words[v]);
}

/* Search the tree of shortest paths level by level: a work-item for each vertex of a level. tags[v] is
 * the level in which v was found, NO_PREDECESSOR before. Of the vertices from which v is found in its
 * level, over an arc that attains the distance, the one with the smallest number is its parent. */
__kernel GROUP void hbf_parents(__global const long *first, __global const uint *heads,
                                __global const value_t *weights, __global const word_t *words,
                                __global int *parents, __global int *tags,
                                __global const int *now, __global int *next,
                                __global int *counts, const int source, const int size,
                                const int level)
{
    const size_t i = get_global_id(0);
    if (i >= (size_t)size)
        return;
    const int u = now[i];
    const value_t distance = VALUE_IN(words[u]);
    for (long a = first[u]; a < first[u + 1]; a++) {
        const int v = PYAPSP_CLASSES ? HEAD_OF(heads[a]) : (int)heads[a];
        if (v == source || extend(distance, weights[a]) != VALUE_IN(words[v]) ||
            !(VALUE_IN(words[v]) < (value_t)PYAPSP_INFINITY))
            continue;
        const int found = atomic_cmpxchg(&tags[v], NO_PREDECESSOR, level);
        if (found == NO_PREDECESSOR)
            next[atomic_inc(&counts[FOUND])] = v;
        if (found == NO_PREDECESSOR || found == level)
            atomic_min((volatile __global uint *)&parents[v], (uint)u);
    }
}
