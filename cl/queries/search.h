/* Dijkstra's algorithm by one work-item, at a cost that depends only on what it reaches.
 *
 * Purpose   Many searches that end early: at a distance, or when all targets are found. Each
 *           work-item has its own memory, and clears after a search only what the search has used.
 *
 * Layout    the memory of a work-item, for n vertices:
 *
 *             nodes  n nodes: cost, place in the heap (-1: not in it), the vertex before
 *             heap   n entries: cost and vertex. The children of entry i are FANOUT i + 1, ...
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
 *                                     smallest number among those that were taken from the heap
 *                                     before the vertex
 *
 * Cost      O((vertices + arcs) log vertices) for what is reached, and n / 4096.
 *
 * Source    E. W. Dijkstra, Numerische Mathematik 1, 1959, doi:10.1007/BF01386390; the heap with four
 *           children: D. B. Johnson, Information Processing Letters 4(3), 1975,
 *           doi:10.1016/0020-0190(75)90001-0.
 */
#ifndef QUERIES_SEARCH_H
#define QUERIES_SEARCH_H
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif

#include "common/types.h"
#include "common/group_size.h"

#define FANOUT 4
#define NONE -9999
#define LEFTMOST 0x8000000000000000UL

/* state, 4 ints: the next search; values in use; whether there was no room for a row; whether a
 * distance is too large for its type. */
enum { NEXT, USED, FULL, LOST };

typedef struct {
    value_t cost;
    int place;
    int before;
} node_t;

typedef struct {
    value_t cost;
    int vertex;
} entry_t;

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
    memory.heap = heaps + worker * n;
    memory.bits = marks + worker * (words + words_of(words));
    memory.summary = memory.bits + words;
    return memory;
}

/* Put an entry where the heap has a hole, or above it. */
static inline void rise(const memory_t memory, int hole, const entry_t entry)
{
    while (hole > 0) {
        const int parent = (hole - 1) / FANOUT;
        const entry_t above = memory.heap[parent];
        if (above.cost <= entry.cost)
            break;
        memory.heap[hole] = above;
        memory.nodes[above.vertex].place = hole;
        hole = parent;
    }
    memory.heap[hole] = entry;
    memory.nodes[entry.vertex].place = hole;
}

/* Put an entry at the top of the heap, or below it. */
static inline void sink(const memory_t memory, const int size, const entry_t entry)
{
    int hole = 0;
    for (;;) {
        int child = FANOUT * hole + 1;
        if (child >= size)
            break;
        const int end = min(child + FANOUT, size);
        entry_t least = memory.heap[child];
        for (int other = child + 1; other < end; other++) {
            const entry_t next = memory.heap[other];
            if (next.cost < least.cost) {
                least = next;
                child = other;
            }
        }
        if (least.cost >= entry.cost)
            break;
        memory.heap[hole] = least;
        memory.nodes[least.vertex].place = hole;
        hole = child;
    }
    memory.heap[hole] = entry;
    memory.nodes[entry.vertex].place = hole;
}

/* Offer a path to v whose last vertex is u; return the size of the heap. */
static inline int offer_path(const memory_t memory, int size, const int v, const value_t cost,
                             const int u)
{
    __global node_t *node = memory.nodes + v;
    const value_t old = node->cost;
    if (cost < old) {
        node->cost = cost;
        node->before = u;
        int place = node->place;
        if (old == PYAPSP_INFINITY) {
            place = size++;
            memory.bits[v / 64] |= LEFTMOST >> (v % 64);
            memory.summary[v / 4096] |= LEFTMOST >> (v / 64 % 64);
        }
        rise(memory, place, (entry_t){cost, v});
    }
#if PYAPSP_PREDECESSORS
    else if (cost == old && node->place >= 0 && u < node->before)
        node->before = u;
#endif
    return size;
}

/* Take the nearest vertex from the heap; return its number. */
static inline int take(const memory_t memory, const int size)
{
    const int nearest = memory.heap[0].vertex;
    memory.nodes[nearest].place = -1;
    if (size > 1)
        sink(memory, size - 1, memory.heap[size - 1]);
    return nearest;
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

/* Search from a source, until nothing within `farthest` is left, or until `waiting` of the vertices
 * with a bit in `wanted` are taken from the heap. Return the number of vertices that are taken. With
 * `checks`, state[LOST] becomes 1 if a distance is too large for its type. */
static inline int search_from(const int source, __global const long *first,
                              __global const int *heads, __global const value_t *weights,
                              const int n, const value_t farthest, const int checks,
                              const memory_t memory, __global const ulong *wanted, int waiting,
                              volatile __global int *state)
{
    int size = offer_path(memory, 0, source, 0, NONE), taken = 0;
    bool beyond = false;
    while (size > 0) {
        const int u = take(memory, size--);
        taken++;
        if (wanted != 0 && (wanted[u / 64] & LEFTMOST >> (u % 64)) && --waiting == 0)
            return taken;
        const value_t cost = memory.nodes[u].cost;
        for (long a = first[u]; a < first[u + 1]; a++) {
            const value_t offer = cost + weights[a];
            if (offer <= farthest)
                size = offer_path(memory, size, heads[a], offer, u);
            else
                beyond = true;
        }
    }
    if (checks && beyond && leads_beyond(first, heads, memory, n))
        state[LOST] = 1;
    return taken;
}

/* Return the place of `count` values, or -1 if there is no room. */
static int room_for(volatile __global int *used, const int count, const int capacity)
{
    for (;;) {
        const int before = atomic_or(used, 0);
        if (count > capacity - before)
            return -1;
        if (atomic_cmpxchg(used, before, before + count) == before)
            return before;
    }
}

/* Clear the memory of all work-items. */
__kernel GROUP void clear_memory(__global node_t *nodes, __global ulong *marks, const long vertices,
                                 const long words)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)vertices; i += step) {
        nodes[i].cost = PYAPSP_INFINITY;
        nodes[i].place = -1;
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
