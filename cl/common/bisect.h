/* A binary search in a sorted row. */
#ifndef COMMON_BISECT_H
#define COMMON_BISECT_H

/* The first place from `low` on, before `high`, whose entry is at least x; or `high`. */
static inline int bisect(__global const int *sorted, int low, int high, const int x)
{
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif /* COMMON_BISECT_H */
