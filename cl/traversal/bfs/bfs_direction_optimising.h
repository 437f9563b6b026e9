/* The frontiers of bfs_direction_optimising: their records, and how vertices get into them.
 *
 * A vertex that is found gets its level and parent, and a place in the next frontier: in the queue,
 * or, if it has more than PYAPSP_CHUNK arcs, in the list of pieces. A group collects vertices in
 * local memory before it appends them to the queue, and adds up what it found.
 *
 * The state has four records of RECORD ints, used in turn. Launch t reads record t % 4, writes the
 * next one, and clears the one after that. The sums of the crew follow.
 *
 * Macros are explained in bfs_direction_optimising.cl.
 */
#ifndef TRAVERSAL_BFS_DIRECTION_OPTIMISING_H
#define TRAVERSAL_BFS_DIRECTION_OPTIMISING_H
#include "common/arc_types.h"
#include "common/group.h"
#include "traversal/bfs/results.h"
#ifndef PYAPSP_PULL
#define PYAPSP_PULL 1
#endif
#ifndef PYAPSP_CHUNK
#define PYAPSP_CHUNK 1024
#endif
#ifndef PYAPSP_BLOCK
#define PYAPSP_BLOCK 64
#endif
#ifndef PYAPSP_NEAR
#define PYAPSP_NEAR 0
#endif
#ifndef PYAPSP_PROBE
#define PYAPSP_PROBE 16
#endif
#ifndef PYAPSP_STROLL
#define PYAPSP_STROLL 131072
#endif
#ifndef PYAPSP_CREW
#define PYAPSP_CREW 0
#endif

#if PYAPSP_CREW
#include "common/meeting.h"
#endif

/* A record of the state: the frontier of a launch. The first ones are changed by atomics. */
#define RECORD 16
#define LIGHT 0    /* vertices in the queue */
#define PIECES 1   /* pieces of the others */
#define FOUND 2    /* vertices */
#define ARCS 3     /* arcs that leave them */
#define TICKET 4   /* blocks taken by the launch that finds them */
#define ENTERED 5  /* of the crew of the launch that finds them, see common/meeting.h */
#define ARRIVED 6
#define SUMS 7
#define LEVEL 7    /* their level */
#define FIRST 8    /* the index of the first in the queue */
#define PIECE 9    /* the index of the first piece */
#define REST 10    /* arcs that leave these and later vertices */
#define PULLED 11  /* whether a pull found them */
/* After the records: what the crew finds in three levels, by level % 3, and whether it stalled. */
#define CREW_SUMS (4 * RECORD)
#define STALLED (4 * RECORD + 3 * 4)
#define STATE_SIZE (5 * RECORD)

/* Whether to pull from a frontier with so many arcs, if `rest` arcs leave vertices not found. */
#if PYAPSP_PULL
#define PULLABLE(arcs, rest, n, alpha)                                                             \
    ((alpha) > 0 && (arcs) > (rest) / (alpha) && (arcs) >= (n) / WORD)
#else
#define PULLABLE(arcs, rest, n, alpha) 0
#endif
/* Vertices that a group collects before it appends them to the queue. */
#if PYAPSP_GROUP == 1
#define HELD 1024
#else
#define HELD (2 * PYAPSP_GROUP)
#endif
/* Whether each group has a bit map of its own. */
#define MINE (PYAPSP_GROUP == 1 && !PYAPSP_PULL)
/* Work-items that share the arcs of a vertex after PYAPSP_PROBE, and bits of a word. */
#define WORD 32
/* Ints of a cache line; offsets of one or two. */
#define LINE 16

/* What the kernels share. */
typedef struct {
    __global const offset_t *first;
    __global const int *heads;
    __global int *levels;
    __global int *parents;
    __global int *queue;
    __global int *pieces;
    int level; /* of the vertices to find */
} search_t;

/* What a group has found in this launch and not yet added to the record. */
typedef struct {
    int count;  /* vertices that wait in `held`; larger than HELD if it was full */
    int found;
    int arcs;
    int ticket;
    int base;
} sums_t;

/* Set level and parent of a vertex that this work-item alone has found. */
static inline void settle(const search_t *search, const int v, const int u)
{
    search->levels[v] = search->level;
#if PYAPSP_PREDECESSORS
    search->parents[v] = u;
#endif
}

#if PYAPSP_NEAR
/* Prefetch what the arrays have soon after v, whose arcs begin at `start`: the next levels read it. A
 * prefetch past the end of an array does nothing. */
static inline void prefetch_next(const search_t *search, const int v, const offset_t start)
{
    PREFETCH(&search->heads[start + LINE]);
    PREFETCH(&search->first[v + LINE]);
    PREFETCH(&search->levels[v + LINE]);
#if PYAPSP_PREDECESSORS
    PREFETCH(&search->parents[v + LINE]);
#endif
}
#else
#define prefetch_next(search, v, start)
#endif

#if PYAPSP_GROUP > 1
/* Claim a neighbour of u in a map that others change, too. Return its degree, -1 if it was claimed. */
static inline int claim(const search_t *search, __global uint *map, __global uint *next, const int v,
                        const int u)
{
    if (atomic_or(&map[v >> 5], BIT(v)) & BIT(v))
        return -1;
    atomic_or(&next[v >> 5], BIT(v));
    settle(search, v, u);
    return (int)(search->first[v + 1] - search->first[v]);
}
#endif

/* Write the pieces of a vertex with `degree` arcs. */
static inline void cut(const search_t *search, const int v, const int degree, const int start,
                       __global int *record)
{
    const int parts = (degree - 1) / PYAPSP_CHUNK + 1;
    const int place = start + atomic_add(&record[PIECES], parts);
    for (int part = 0; part < parts; part++) {
        search->pieces[2 * (place + part)] = v;
        search->pieces[2 * (place + part) + 1] = part;
    }
}

/* Write the record of the frontier with which a launch of several levels ends. */
static inline void leave(__global int *record, const int light, const int found, const int arcs,
                         const int level, const int first, const int piece, const int rest)
{
    record[LIGHT] = light;
    record[FOUND] = found;
    record[ARCS] = arcs;
    record[LEVEL] = level;
    record[FIRST] = first;
    record[PIECE] = piece;
    record[REST] = rest;
    record[PULLED] = 0;
}

/* Put a vertex into the next frontier. */
static inline void append(const search_t *search, const int v, const int tail, const int piece,
                          __local int *held, __local sums_t *sums, int *found, int *arcs,
                          __global int *record)
{
    const int degree = (int)(search->first[v + 1] - search->first[v]);
    *found += 1;
    *arcs += degree;
    if (degree > PYAPSP_CHUNK) {
        cut(search, v, degree, piece, record);
        return;
    }
    const int place = LOCAL_ADD(&sums->count, 1);
    if (place < HELD)
        held[place] = v;
    else
        search->queue[tail + atomic_inc(&record[LIGHT])] = v;
}

/* Append the vertices that wait to the queue. Executed by the whole group, after a barrier. A macro,
 * because a compiler for CPUs makes a crash of a function with these barriers. */
#define APPEND_HELD()                                                                              \
    do {                                                                                           \
        const int count = min(sums.count, HELD);                                                   \
        if (item == 0 && count > 0)                                                                \
            sums.base = atomic_add(&record[LIGHT], count);                                         \
        SYNC();                                                                                    \
        for (int i = item; i < count; i += PYAPSP_GROUP)                                           \
            queue[tail + sums.base + i] = held[i];                                                 \
        SYNC();                                                                                    \
        if (item == 0)                                                                             \
            sums.count = 0;                                                                        \
    } while (0)

/* The work-items of a vertex: about half the mean number of arcs, and enough to fill the groups. */
static inline int lanes_for(const int vertices, const int arcs, const int items)
{
    int lanes = 1;
    while (2 * lanes <= min(PYAPSP_GROUP, WORD) &&
           (4 * (long)lanes * vertices <= arcs || 2 * (long)lanes * vertices <= items))
        lanes *= 2;
    return lanes;
}

#endif /* TRAVERSAL_BFS_DIRECTION_OPTIMISING_H */
