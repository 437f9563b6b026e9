/* Sub-groups of OpenCL C for a driver that has none: the warps of the hardware, in PTX.
 *
 * Purpose   The functions of sub-groups that logical_warp.h calls, under their names. The host puts
 *           this file before one that includes logical_warp.h (pyapsp/device/kernels/warps.py).
 *
 * Layout    A sub-group is a warp: 32 neighbouring work-items of a group of one dimension, whose
 *           size is a multiple of 32. All 32 call each function.
 *
 * Parameters  none
 *
 * Cost      A reduction, a vote, a shuffle or a barrier is one instruction, a scan ten.
 *
 * Source    NVIDIA, PTX ISA 7.0: bar.warp.sync, shfl.sync, vote.sync, redux.sync (from sm_80 on).
 */
#define EVERY_LANE "0xffffffff"

/* These take the place of functions that a compiler may declare. */
#define get_sub_group_local_id() (get_local_id(0) % 32)
#define get_sub_group_id() (get_local_id(0) / 32)
#define sub_group_barrier(fences) ptx_barrier()
#define sub_group_shuffle(x, lane) ptx_shuffle(x, lane)
#define sub_group_reduce_add(x) ptx_add(x)
#define sub_group_reduce_min(x) ptx_min(x)
#define sub_group_reduce_max(x) ptx_max(x)
#define sub_group_scan_exclusive_add(x) ptx_scan(x)
#define sub_group_ballot(flag) ptx_ballot(flag)
#define sub_group_ballot_bit_count(votes) popcount((votes).x)
#define sub_group_ballot_exclusive_scan(votes)                                                     \
    popcount((votes).x & ((1u << get_local_id(0) % 32) - 1))
#define sub_group_any(flag) (ptx_ballot(flag).x != 0)
#define sub_group_all(flag) (ptx_ballot(flag).x == 0xffffffff)

static inline void ptx_barrier(void)
{
    __asm__ volatile("bar.warp.sync " EVERY_LANE ";" : : : "memory");
}

static inline int ptx_shuffle(const int x, const uint lane)
{
    int found;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, " EVERY_LANE ";"
                     : "=r"(found)
                     : "r"(x), "r"(lane));
    return found;
}

#define PTX_REDUCE(name)                                                                           \
    static inline int ptx_##name(const int x)                                                      \
    {                                                                                              \
        int found;                                                                                 \
        __asm__ volatile("redux.sync." #name ".s32 %0, %1, " EVERY_LANE ";"                        \
                         : "=r"(found)                                                             \
                         : "r"(x));                                                                \
        return found;                                                                              \
    }
PTX_REDUCE(add)
PTX_REDUCE(min)
PTX_REDUCE(max)

static inline int ptx_scan(const int x)
{
    const uint lane = get_local_id(0) % 32;
    int sum = x;
    for (uint d = 1; d < 32; d *= 2) {
        const int before = ptx_shuffle(sum, lane - d); /* the lane counts modulo 32 */
        sum += lane >= d ? before : 0;
    }
    return sum - x;
}

/* A bit for each lane, in the first word. */
static inline uint4 ptx_ballot(const int flag)
{
    uint bits;
    __asm__ volatile("{ .reg .pred vote; setp.ne.s32 vote, %1, 0; "
                     "vote.sync.ballot.b32 %0, vote, " EVERY_LANE "; }"
                     : "=r"(bits)
                     : "r"(flag));
    return (uint4)(bits, 0, 0, 0);
}
