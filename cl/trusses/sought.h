/* A search in a sorted row that goes on from the last place: O(log of the distance). */
#ifndef TRUSSES_SOUGHT_H
#define TRUSSES_SOUGHT_H

/* The first place from `low` on, before `high`, whose head is at least w. */
static inline int sought(__global const int *heads, int low, int high, const int w)
{
    int step = 1;
    while (low + step < high && heads[low + step] < w) {
        low += step;
        step *= 2;
    }
    high = min(high, low + step + 1);
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (heads[middle] < w)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif /* TRUSSES_SOUGHT_H */
