/* A heap of vertices by their costs, with four children for each entry.
 *
 *     entry  0 | 1 2 3 4 | 5 6 7 8  9 10 11 12  13 ...      the children of i: 4 i + 1 to 4 i + 4
 *
 * It needs common/types.h with PYAPSP_WIDTH 1.
 *
 * Source    D. B. Johnson, Information Processing Letters 4(3), 1975,
 *           doi:10.1016/0020-0190(75)90001-0.
 */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H

#define FANOUT 4

typedef struct {
    value_t cost;
    int vertex;
} entry_t;

/* Put an entry where the heap has a hole, or above it. */
static inline void rise(__global entry_t *heap, int hole, const entry_t entry)
{
    while (hole > 0) {
        const int parent = (hole - 1) / FANOUT;
        const entry_t above = heap[parent];
        if (above.cost <= entry.cost)
            break;
        heap[hole] = above;
        hole = parent;
    }
    heap[hole] = entry;
}

/* Put an entry where the heap has a hole, or below it. */
static inline void sink(__global entry_t *heap, const int size, int hole, const entry_t entry)
{
    for (;;) {
        int child = FANOUT * hole + 1;
        if (child >= size)
            break;
        const int end = min(child + FANOUT, size);
        value_t least = heap[child].cost;
        for (int other = child + 1; other < end; other++) {
            const value_t next = heap[other].cost;
            child = next < least ? other : child;
            least = next < least ? next : least;
        }
        if (least >= entry.cost)
            break;
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = entry;
}

/* Order the first `size` entries as a heap; return the size. */
static inline int ordered(__global entry_t *heap, const int size)
{
    for (int hole = (size + 2) / FANOUT; hole-- > 0;)
        sink(heap, size, hole, heap[hole]);
    return size;
}

#endif /* COMMON_HEAP_H */
