/* Sums of many variables by a warp: PYAPSP_WARP neighbouring work-items of a group.
 *
 * warp_sum is called by all work-items of a group, at the top of a kernel; a warp without a sum has
 * count 0. The terms are the variables whose slots are in indices [count].
 *
 *     PYAPSP_SUM 1  tree         each lane adds every WARP-th term, then lanes add in pairs
 *                2  ordered      lanes load WARP terms, the first lane adds them in order
 *                3  compensated  as tree, with the rounding error of each addition beside the sum
 *
 * The ordered sum equals that of one work-item. The compensated sum hardly depends on the order.
 * rounds is at least count / WARP, rounded up, for each warp of the group.
 *
 * Source  F. Okuyama's thesis, 2013, section 5.5.1 (Sum); A. Neumaier, Zeitschrift fuer Angewandte
 *         Mathematik und Mechanik 54, 1974 (the compensated sum).
 */
#ifndef SIMULATION_SUMS_H
#define SIMULATION_SUMS_H
#include "simulation/stages.h"

#ifndef PYAPSP_WARP
#define PYAPSP_WARP 32
#endif
#ifndef PYAPSP_SUM
#define PYAPSP_SUM 2
#endif

/* Before a loop that adds in order: some compilers add in vectors, though that is another order. */
#define IN_ORDER _Pragma("clang loop vectorize(disable)")

/* The rounding error of total = a + b. */
static real lost(const real total, const real a, const real b)
{
    return fabs(a) >= fabs(b) ? (a - total) + b : (b - total) + a;
}

static real warp_sum(const int count, __global const int *indices, const int rounds,
                     __global const real *x, __global const real *f, const int states,
                     __local real *part, __local real *error)
{
    const int item = get_local_id(0), lane = item % PYAPSP_WARP, first = item - lane;
    real sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE); /* after the reads of a sum before this one */
#if PYAPSP_SUM == 2
    for (int round = 0; round < rounds; round++) {
        const int i = round * PYAPSP_WARP + lane;
        part[item] = i < count ? VARIABLE_AT(indices[i]) : (real)0;
        barrier(CLK_LOCAL_MEM_FENCE);
        const int some = lane ? 0 : min(PYAPSP_WARP, count - round * PYAPSP_WARP);
        IN_ORDER
        for (int j = 0; j < some; j++)
            sum += part[first + j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    real wrong = 0;
    IN_ORDER
    for (int i = lane; i < count; i += PYAPSP_WARP) {
        const real term = VARIABLE_AT(indices[i]), total = sum + term;
        wrong += lost(total, sum, term);
        sum = total;
    }
    part[item] = sum;
    error[item] = wrong;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = PYAPSP_WARP / 2; reach > 0; reach /= 2) {
        if (lane < reach) {
            const real a = part[item], b = part[item + reach], total = a + b;
            part[item] = total;
            error[item] += error[item + reach] + lost(total, a, b);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = PYAPSP_SUM == 3 ? part[first] + error[first] : part[first];
#endif
    return sum; /* of the first lane */
}

/* The sum of one work-item: in order, or compensated. */
static inline real item_sum(const int count, __global const int *indices, __global const real *x,
                     __global const real *f, const int states)
{
    real sum = 0, wrong = 0;
    IN_ORDER
    for (int i = 0; i < count; i++) {
        const real term = VARIABLE_AT(indices[i]), total = sum + term;
        wrong += lost(total, sum, term);
        sum = total;
    }
    return PYAPSP_SUM == 3 ? sum + wrong : sum;
}

#endif /* SIMULATION_SUMS_H */
