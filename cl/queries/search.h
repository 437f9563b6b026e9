/* Dijkstra's algorithm by one work-item, at a cost that depends only on what it reaches.
 *
 * Purpose   Many searches that end early: at a distance, or when all targets are found. Each
 *           work-item has its own memory, and clears after a search only what the search has used.
 *
 * Layout    the memory of a work-item, for n vertices:
 *
 *             nodes  n nodes: cost, and if wanted the vertex before or the number of paths
 *             heap   2 n entries: cost and vertex. An entry whose vertex has a lower cost is
 *                    out of date. When the heap is full, those are removed.
 *             marks  a bit for each vertex that is reached, and above each word of these bits a bit:
 *
 *                      summary    1 0 0 1 ...           n / 4096 words, bits from the left
 *                                 |     `-----------.
 *                      bits       0110..  0..  0..  1000..      n / 64 words
 *
 *           The marks list the reached vertices in the order of their numbers.
 *
 * Parameters  those of common/types.h and common/group_size.h with PYAPSP_WIDTH 1, and
 *             PYAPSP_PREDECESSORS  0  1: keep the vertex before each: of several, that with the
 *                                     smallest number among those with a lower cost; if there is
 *                                     none, because arcs have weight zero, the first one
 *             PYAPSP_COUNTS        0  1: count the shortest paths to each vertex, up to the largest
 *                                     ulong, which stands for more; weights must be above zero
 *
 *             PYAPSP_BANNED        0  1: `search_from` leaves out some arcs of the source; a vertex
 *                                     whose cost is set to 0 before is never entered
 *
 * Cost      O((vertices + arcs) log vertices) for what is reached, and n / 4096.
 *
 * Source    E. W. Dijkstra, Numerische Mathematik 1, 1959, doi:10.1007/BF01386390; common/heap.h.
 */
#ifndef QUERIES_SEARCH_H
#define QUERIES_SEARCH_H
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif
#ifndef PYAPSP_COUNTS
#define PYAPSP_COUNTS 0
#endif
#ifndef PYAPSP_BANNED
#define PYAPSP_BANNED 0
#endif

#include "common/types.h"
#include "common/group_size.h"
#include "common/heap.h"

#define CAPACITY(n) (2 * (n))
#define NONE -9999
#define LEFTMOST 0x8000000000000000UL

/* state, 4 ints: the next search; values in use; whether there was no room for a row; 1 if a distance
 * is too large for its type, and 2 if a weight is lost in a sum of which paths are counted. */
enum { NEXT, USED, FULL, LOST };

typedef struct {
    value_t cost;
#if PYAPSP_PREDECESSORS
    int before;
#endif
#if PYAPSP_COUNTS
    ulong count;
#endif
} node_t;

/* The memory of one work-item. */
typedef struct {
    __global node_t *nodes;
    __global entry_t *heap;
    __global ulong *bits;
    __global ulong *summary;
} memory_t;

static inline int words_of(const int n)
{
    return (n + 63) / 64;
}

static inline memory_t memory_of(__global node_t *nodes, __global entry_t *heaps,
                                 __global ulong *marks, const size_t worker, const int n)
{
    const int words = words_of(n);
    memory_t memory;
    memory.nodes = nodes + worker * n;
    memory.heap = heaps + worker * CAPACITY(n);
    memory.bits = marks + worker * (words + words_of(words));
    memory.summary = memory.bits + words;
    return memory;
}

#if PYAPSP_PREDECESSORS
#define SET_BEFORE(v, u) memory.nodes[v].before = (u)
#else
#define SET_BEFORE(v, u)
#endif
#if PYAPSP_COUNTS
#define SET_COUNT(v, paths) memory.nodes[v].count = (paths)
#else
#define SET_COUNT(v, paths)
#endif

/* Note that a vertex is reached. */
static inline void mark(const memory_t memory, const int v)
{
    memory.bits[v / 64] |= LEFTMOST >> (v % 64);
    memory.summary[v / 4096] |= LEFTMOST >> (v / 64 % 64);
}

/* Remove the entries that are out of date; return the size of the heap. */
static int tidied(const memory_t memory, const int size)
{
    int kept = 0;
    for (int i = 0; i < size; i++) {
        const entry_t entry = memory.heap[i];
        if (entry.cost == memory.nodes[entry.vertex].cost)
            memory.heap[kept++] = entry;
    }
    return ordered(memory.heap, kept);
}

/* Return whether an arc leads from a reached vertex to one whose distance no value can hold. */
static bool leads_beyond(__global const long *first, __global const int *heads,
                         const memory_t memory, const int n)
{
    for (int word = 0; word < words_of(n); word++)
        for (ulong bits = memory.bits[word]; bits != 0; bits ^= LEFTMOST >> clz(bits)) {
            const int u = 64 * word + (int)clz(bits);
            for (long a = first[u]; a < first[u + 1]; a++)
                if (memory.nodes[heads[a]].cost == PYAPSP_INFINITY)
                    return true;
        }
    return false;
}

#if PYAPSP_BANNED
#define IS_BANNED(u, v) ((u) == source && is_among(v, banned, bans))
#define BANS , __global const int *banned, const int bans

static inline bool is_among(const int v, __global const int *some, const int count)
{
    for (int i = 0; i < count; i++)
        if (some[i] == v)
            return true;
    return false;
}
#else
#define IS_BANNED(u, v) false
#define BANS
#endif

/* Arguments of kernels: the arcs of the graph; its size, the limits of a search, and the memory of all
 * work-items. */
#define ARCS_ARGUMENTS                                                                             \
    __global const long *first, __global const int *heads, __global const value_t *weights
#define SEARCH_ARGUMENTS                                                                           \
    const int n, const value_t farthest, const int checks, __global node_t *nodes,                 \
        __global entry_t *heaps, __global ulong *marks

/* Search from a source, until nothing within `farthest` is left, or until `waiting` of the vertices
 * with a bit in `wanted` are taken from the heap. Return the number of vertices that are taken. With
 * `checks`, state[LOST] becomes 1 if a distance is too large for its type. */
static inline int search_from(const int source, __global const long *first,
                              __global const int *heads, __global const value_t *weights,
                              const int n, const value_t farthest, const int checks,
                              const memory_t memory, __global const ulong *wanted, int waiting,
                              volatile __global int *state BANS)
{
    int size = 1, taken = 0;
    bool beyond = false;
    memory.nodes[source].cost = 0;
    SET_BEFORE(source, NONE);
    SET_COUNT(source, 1);
    mark(memory, source);
    memory.heap[0] = (entry_t){0, source};
    while (size > 0) {
        const entry_t nearest = memory.heap[0];
        const int u = nearest.vertex;
        const value_t cost = nearest.cost;
        if (--size > 0)
            sink(memory.heap, size, 0, memory.heap[size]);
        if (cost > memory.nodes[u].cost)
            continue; /* a shorter path was found since */
        taken++;
        if (wanted != 0 && (wanted[u / 64] & LEFTMOST >> (u % 64)) && --waiting == 0)
            return taken;
        for (long a = first[u]; a < first[u + 1]; a++) {
            const int v = heads[a];
            if (IS_BANNED(u, v))
                continue;
            const value_t offer = cost + weights[a], old = memory.nodes[v].cost;
#if PYAPSP_COUNTS
            if (offer == cost && offer <= old && offer <= farthest && u != v)
                atomic_or(state + LOST, 2);
#endif
            if (offer > farthest) {
                beyond = true;
            } else if (offer < old) {
                if (old == PYAPSP_INFINITY)
                    mark(memory, v);
                memory.nodes[v].cost = offer;
                SET_BEFORE(v, u);
                SET_COUNT(v, memory.nodes[u].count);
                if (size == CAPACITY(n))
                    size = tidied(memory, size);
                rise(memory.heap, size++, (entry_t){offer, v});
            }
#if PYAPSP_PREDECESSORS
            else if (offer == old && cost < old && u < memory.nodes[v].before)
                memory.nodes[v].before = u;
#endif
#if PYAPSP_COUNTS
            else if (offer == old)
                memory.nodes[v].count = add_sat(memory.nodes[v].count, memory.nodes[u].count);
#endif
        }
    }
    if (checks && beyond && leads_beyond(first, heads, memory, n))
        atomic_or(state + LOST, 1);
    return taken;
}

/* Return the place of `count` values, or -1 if there is no room. */
static inline int room_for(volatile __global int *used, const int count, const int capacity)
{
    for (;;) {
        const int before = atomic_or(used, 0);
        if (count > capacity - before)
            return -1;
        if (atomic_cmpxchg(used, before, before + count) == before)
            return before;
    }
}

#if PYAPSP_PREDECESSORS
/* Write the shortest path to a vertex to `paths`; and its place there, -1 if there is no room, and
 * its length to a row. */
static inline void write_path(const memory_t memory, const int target, volatile __global int *used,
                              __global int *row, __global int *paths, const int capacity)
{
    int length = 0;
    if (memory.nodes[target].cost < PYAPSP_INFINITY)
        for (int v = target; v != NONE; v = memory.nodes[v].before)
            length++;
    const int place = room_for(used, length, capacity);
    row[0] = place;
    row[1] = length;
    if (place >= 0 && length > 0) {
        int end = place + length;
        for (int v = target; v != NONE; v = memory.nodes[v].before)
            paths[--end] = v;
    }
}
#endif

/* The searches that a work-item takes: work-items share them. */
#define EACH_SEARCH(search, searches)                                                              \
    for (int search = atomic_inc(state + NEXT); search < (searches);                               \
         search = atomic_inc(state + NEXT))

/* Clear the memory of all work-items. */
__kernel GROUP void clear_memory(__global node_t *nodes, __global ulong *marks, const long vertices,
                                 const long words)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)vertices; i += step) {
        nodes[i].cost = PYAPSP_INFINITY;
    }
    for (size_t i = get_global_id(0); i < (size_t)words; i += step)
        marks[i] = 0;
}

/* Walk over the reached vertices in the order of their numbers, and clear the marks:
 * FOR_REACHED(memory, n, v) { ... } END_REACHED */
#define FOR_REACHED(memory, n, v)                                                                  \
    for (int above_ = 0; above_ < words_of(words_of(n)); above_++) {                               \
        ulong sum_ = (memory).summary[above_];                                                     \
        if (sum_ == 0)                                                                             \
            continue;                                                                              \
        (memory).summary[above_] = 0;                                                              \
        while (sum_ != 0) {                                                                        \
            const int word_ = 64 * above_ + (int)clz(sum_);                                        \
            sum_ ^= LEFTMOST >> (word_ % 64);                                                      \
            ulong bits_ = (memory).bits[word_];                                                    \
            (memory).bits[word_] = 0;                                                              \
            while (bits_ != 0) {                                                                   \
                const int v = 64 * word_ + (int)clz(bits_);                                        \
                bits_ ^= LEFTMOST >> (v % 64);

#define END_REACHED                                                                                \
    }                                                                                              \
    }                                                                                              \
    }

#endif /* QUERIES_SEARCH_H */
