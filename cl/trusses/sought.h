/* Two rows of which the shorter is read, and a search in the longer one, which is sorted: it goes on
 * from the last place, O(log of the distance). */
#ifndef TRUSSES_SOUGHT_H
#define TRUSSES_SOUGHT_H
#include "common/bisect.h"

/* The first place from `low` on, before `high`, whose head is at least w. */
static inline int sought(__global const int *heads, int low, int high, const int w)
{
    int step = 1;
    while (low + step < high && heads[low + step] < w) {
        low += step;
        step *= 2;
    }
    return bisect(heads, low, min(high, low + step + 1), w);
}

/* The one of two vertices that has the shorter row, and the other. */
static inline int2 shorter_first(__global const int *first, const int u, const int v)
{
    const int is_u = first[u + 1] - first[u] <= first[v + 1] - first[v];
    return is_u ? (int2)(u, v) : (int2)(v, u);
}

#endif /* TRUSSES_SOUGHT_H */
