/* The rows of a graph, whatever holds it: a kernel is written once.
 *
 *     macro          default  meaning
 *     PYAPSP_HORNET  1        1: blocks of a Hornet (blocks.h); 0: compressed sparse rows
 *     PYAPSP_OFFSET  long     type of the offsets of compressed sparse rows
 *     PYAPSP_WEIGHT  float    type of the weights
 *     PYAPSP_WEIGHT_HALF  0   1: that type is half
 *
 *     ROWS           parameters of a kernel that reads rows
 *     ROWS_WEIGHTS   the same, with weights
 *     IS_VERTEX(v)   whether v is a vertex
 *     ROW_SIZE(v)    number of its edges
 *     ROW_HEADS(v), ROW_WEIGHTS(v)   their arrays, for vertices with edges
 *     WEIGHT_AT(weights, k)   a weight; a half as a float
 */
#ifndef DYNAMIC_ROWS_H
#define DYNAMIC_ROWS_H
#include "common/arc_types.h"
#ifndef PYAPSP_HORNET
#define PYAPSP_HORNET 1
#endif
#ifndef PYAPSP_WEIGHT_HALF
#define PYAPSP_WEIGHT_HALF 0
#endif
#include "dynamic/blocks.h"

#if PYAPSP_HORNET
#define ROWS                                                                                       \
    __global const int *degree, __global const uint *place, __global const uint4 *regions,         \
        ARENAS(const int, heads)
#define ROWS_WEIGHTS ROWS, ARENAS(const weight_t, weights)
#define IS_VERTEX(v) (degree[v] >= 0)
#define ROW_SIZE(v) max(degree[v], 0)
#define ROW_HEADS(v) ROW(heads, REGION(place[v]), place[v])
#define ROW_WEIGHTS(v) ROW(weights, REGION(place[v]), place[v])
#else
#define ROWS __global const offset_t *first, __global const int *heads
#define ROWS_WEIGHTS ROWS, __global const weight_t *weights
#define IS_VERTEX(v) 1
#define ROW_SIZE(v) (int)(first[(v) + 1] - first[v])
#define ROW_HEADS(v) (heads + first[v])
#define ROW_WEIGHTS(v) (weights + first[v])
#endif

#if PYAPSP_WEIGHT_HALF
/* without cl_khr_fp16 a half is only for memory */
#define WEIGHT_AT(weights, k) vload_half(k, weights)
#else
#define WEIGHT_AT(weights, k) (weights)[k]
#endif

#endif /* DYNAMIC_ROWS_H */
