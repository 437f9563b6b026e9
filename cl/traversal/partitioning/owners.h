/* Items that own units: the data of all partitioning kernels, and the search for owners.
 *
 * Purpose   An *item* owns a run of *units*: a vertex its arcs, a matrix row its entries. Item i
 *           owns the units offsets[i] .. offsets[i + 1]. A partitioning technique decides which
 *           work-items process which units. Its kernel here writes the owner of each unit; another
 *           kernel can do any work on a pair (owner, unit) in the same place.
 *
 * Layout    items + 1 offsets, of which the first is 0 and the last `units`. Items may be empty:
 *
 *             item       0       1   2   3     4
 *             offsets    0       3   3   4     6   9
 *             unit       0 1 2       3   4 5   6 7 8
 *             owners     0 0 0       2   3 3   4 4 4
 *
 *           Units, and sums of them with the size of a chunk, are below 2^32: a place is a uint.
 *
 * Parameters  those of common/logical_warp.h, and
 *             PYAPSP_RESTRICT  1   1: pointers are declared restrict, and inputs const
 *
 * Source    F. Busato, N. Bombieri, a dynamic approach for workload partitioning on GPU
 *           architectures, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166.
 */
#ifndef PARTITIONING_OWNERS_H
#define PARTITIONING_OWNERS_H
#include "common/logical_warp.h"
#ifndef PYAPSP_RESTRICT
#define PYAPSP_RESTRICT 1
#endif

#if PYAPSP_RESTRICT
#define INPUT const __global int *restrict
#define OUTPUT __global int *restrict
#else
#define INPUT __global int *
#define OUTPUT __global int *
#endif

/* This work-item among all of the launch, in the order of groups and places. */
#define PLACE_OF_ALL ((size_t)get_group_id(0) * PYAPSP_GROUP + GROUP_PLACE)

#endif /* PARTITIONING_OWNERS_H */
