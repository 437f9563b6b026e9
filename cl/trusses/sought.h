/* A search in a sorted row that goes on from the last place: O(log of the distance). */
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

#endif /* TRUSSES_SOUGHT_H */
