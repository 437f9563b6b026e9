/* A heap of vertices by their costs, with four children for each entry.
 *
 *     entry  0 | 1 2 3 4 | 5 6 7 8  9 10 11 12  13 ...      the children of i: 4 i + 1 to 4 i + 4
 *
 * It needs common/types.h with PYAPSP_WIDTH 1. A file with entries of another kind defines ENTRY, their
 * type, and IS_NEARER(a, b), their order, before.
 *
 * Source    D. B. Johnson, Information Processing Letters 4(3), 1975,
 *           doi:10.1016/0020-0190(75)90001-0.
 */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H

#define FANOUT 4

#ifndef ENTRY
typedef struct {
    value_t cost;
    int vertex;
} entry_t;
#define ENTRY entry_t
#define IS_NEARER(a, b) ((a).cost < (b).cost)
#endif

/* Put an entry where the heap has a hole, or above it. */
static inline void rise(__global ENTRY *heap, int hole, const ENTRY entry)
{
    while (hole > 0) {
        const int parent = (hole - 1) / FANOUT;
        const ENTRY above = heap[parent];
        if (!IS_NEARER(entry, above))
            break;
        heap[hole] = above;
        hole = parent;
    }
    heap[hole] = entry;
}

/* Put an entry where the heap has a hole, or below it. */
static inline void sink(__global ENTRY *heap, const int size, int hole, const ENTRY entry)
{
    for (;;) {
        int child = FANOUT * hole + 1;
        if (child >= size)
            break;
        const int end = min(child + FANOUT, size);
        ENTRY least = heap[child];
        for (int other = child + 1; other < end; other++) {
            const ENTRY next = heap[other];
            const bool nearer = IS_NEARER(next, least);
            child = nearer ? other : child;
            least = nearer ? next : least;
        }
        if (!IS_NEARER(least, entry))
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = entry;
}

/* Order the first `size` entries as a heap; return the size. */
static inline int ordered(__global ENTRY *heap, const int size)
{
    for (int hole = (size + 2) / FANOUT; hole-- > 0;)
        sink(heap, size, hole, heap[hole]);
    return size;
}

#endif /* COMMON_HEAP_H */
