/* The arcs of the vertices of a group, read in three steps by their number.
 *
 * The group reads the arcs of a vertex together (GROUP arcs or more), a warp does (WARP or more), or
 * the arcs of all other vertices are put beside each other by a prefix sum.
 *
 *             degrees of a tile        9 0 2 3 40 1        groups of 16, warps of 8
 *             by the group             v4: 16 16 8
 *             by a warp                v0: 8 1
 *             by the prefix sum 0 2 5  v2 v2 v3 v3 v3 v5
 *
 * GATHER(u, TAKE) reads the arcs of a vertex u of each work-item, -1: none. TAKE(arc, u) is called by
 * all work-items of the group; arc is -1 where there is none. The place where it is used has `first`,
 * where the arcs of each vertex begin, and local memory: slots of WARP_SLOTS ints, listed and tails
 * of an int for each work-item.
 *
 * Source    D. Merrill, M. Garland, A. Grimshaw, scalable GPU graph traversal, PPoPP 2012,
 *           doi:10.1145/2145816.2145832.
 */
#ifndef TRAVERSAL_BFS_GATHER_H
#define TRAVERSAL_BFS_GATHER_H
#include "common/logical_warp.h"

#define GATHER(u, TAKE)                                                                            \
    do {                                                                                           \
        const int start_ = (u) < 0 ? 0 : (int)first[u];                                            \
        const int degree_ = (u) < 0 ? 0 : (int)(first[(u) + 1] - first[u]);                        \
        const int large_ = degree_ >= PYAPSP_GROUP;                                                \
        const int medium_ = degree_ >= PYAPSP_WARP && !large_;                                     \
        int count_, total_;                                                                        \
        const int place_ = group_rank(large_, &count_, slots);                                     \
        if (large_)                                                                                \
            listed[place_] = (u);                                                                  \
        group_sync();                                                                              \
        for (int each_ = 0; each_ < count_; each_++) {                                             \
            const int v_ = listed[each_], end_ = (int)first[v_ + 1];                               \
            for (int base_ = (int)first[v_]; base_ < end_; base_ += PYAPSP_GROUP) {                \
                const int arc_ = base_ + GROUP_PLACE;                                              \
                TAKE(arc_ < end_ ? arc_ : -1, v_);                                                 \
            }                                                                                      \
        }                                                                                          \
        group_sync();                                                                              \
        const int other_ = group_rank(medium_, &count_, slots);                                    \
        if (medium_)                                                                               \
            listed[other_] = (u);                                                                  \
        group_sync();                                                                              \
        for (int each_ = 0; each_ < count_; each_ += WARPS) {                                      \
            const int mine_ = each_ + WARP_NUMBER;                                                 \
            const int v_ = mine_ < count_ ? listed[mine_] : -1;                                    \
            const int base_ = v_ < 0 ? 0 : (int)first[v_], end_ = v_ < 0 ? 0 : (int)first[v_ + 1]; \
            const int steps_ = group_max((end_ - base_ + PYAPSP_WARP - 1) / PYAPSP_WARP, slots);   \
            for (int step_ = 0; step_ < steps_; step_++) {                                         \
                const int arc_ = base_ + step_ * PYAPSP_WARP + WARP_LANE;                          \
                TAKE(arc_ < end_ ? arc_ : -1, v_);                                                 \
            }                                                                                      \
        }                                                                                          \
        group_sync();                                                                              \
        const int small_ = large_ || medium_ ? 0 : degree_;                                        \
        const int before_ = group_scan(small_, &total_, slots);                                    \
        for (int base_ = 0; base_ < total_; base_ += PYAPSP_GROUP) {                               \
            for (int each_ = max(base_ - before_, 0);                                              \
                 each_ < small_ && before_ + each_ < base_ + PYAPSP_GROUP; each_++) {              \
                listed[before_ + each_ - base_] = start_ + each_;                                  \
                tails[before_ + each_ - base_] = (u);                                              \
            }                                                                                      \
            group_sync();                                                                          \
            const int there_ = base_ + GROUP_PLACE < total_;                                       \
            const int arc_ = there_ ? listed[GROUP_PLACE] : -1;                                    \
            const int tail_ = there_ ? tails[GROUP_PLACE] : -1;                                    \
            TAKE(arc_, tail_);                                                                     \
            group_sync();                                                                          \
        }                                                                                          \
    } while (0)

#endif /* TRAVERSAL_BFS_GATHER_H */
