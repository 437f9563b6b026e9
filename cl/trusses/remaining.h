/* The remaining graph while edges are removed: sorted rows with the numbers of the edges, in
 * compressed rows or in a Hornet, so that one text of a kernel reads either.
 *
 *     macro          default  meaning
 *     PYAPSP_HORNET  0        1: blocks of a Hornet (dynamic/blocks.h); 0: compressed rows
 *
 *     REMAINING_ROWS    parameters of a kernel
 *     REMAINING_FIELDS  the same, in a struct; REMAINING_NAMES: its initialisers
 *     ROW_BEGIN, ROW_END(c, v)
 *                       the places of the row of a vertex, in the struct to which c points
 *     ENTRY(c, heads, place), ENTRY(c, ids, place)
 *                       the neighbour, and the number of the edge
 */
#ifndef TRUSSES_REMAINING_H
#define TRUSSES_REMAINING_H
#ifndef PYAPSP_HORNET
#define PYAPSP_HORNET 0
#endif
/* Also without blocks.h, which includes it. */
#include "common/group.h"
#if PYAPSP_HORNET
#include "dynamic/blocks.h"
#define REMAINING_ROWS                                                                             \
    __global const int *degree, __global const uint *place, __global const uint4 *regions,         \
        ARENAS(const int, heads), ARENAS(const int, ids)
#define REMAINING_FIELDS                                                                           \
    __global const int *degree;                                                                    \
    __global const uint *place;                                                                    \
    __global const uint4 *regions;                                                                 \
    ARENA_FIELDS(const int, heads)                                                                 \
    ARENA_FIELDS(const int, ids)
#define REMAINING_NAMES degree, place, regions, ARENA_NAMES(heads), ARENA_NAMES(ids)
/* slots are below 2^31; a vertex without a block has the row -1 .. -1 */
#define ROW_BEGIN(c, v) ((int)(c)->place[v])
#define ROW_END(c, v) (ROW_BEGIN(c, v) + max((c)->degree[v], 0))
#define REGION_AT(c, slot) (c)->regions[(uint)(slot) >> PYAPSP_BITS]
#define ENTRY(c, name, slot)                                                                       \
    (*(PICK((c)->name, REGION_AT(c, slot).x >> 8) + ((uint)(slot) - REGION_AT(c, slot).y)))
#else
#define REMAINING_ROWS INPUT first, INPUT heads, INPUT ids
#define REMAINING_FIELDS __global const int *first, *heads, *ids;
#define REMAINING_NAMES first, heads, ids
#define ROW_BEGIN(c, v) (c)->first[v]
#define ROW_END(c, v) (c)->first[(v) + 1]
#define ENTRY(c, name, place) (c)->name[place]
#endif

#endif /* TRUSSES_REMAINING_H */
