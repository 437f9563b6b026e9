/* The last step of sums that workers have added apart.
 *
 * Purpose   Each worker, a work-item or a group, adds into sums of its own. This kernel adds them up, in
 *           the order of the workers, so that the result is the same in each run.
 *
 * Layout    sums: [worker][size]; the result is in the row of the first worker.
 *
 * Parameters  those of common/group_size.h
 *
 * Cost      every sum is read once.
 */
#ifndef ALL_PAIRS_SUMMARIES_ADD_SUMS_H
#define ALL_PAIRS_SUMMARIES_ADD_SUMS_H

#include "common/group_size.h"

__kernel GROUP void add_sums(__global double *sums, const int workers, const long size)
{
    for (size_t i = get_global_id(0); i < (size_t)size; i += get_global_size(0)) {
        double sum = sums[i];
        for (int worker = 1; worker < workers; worker++)
            sum += sums[(size_t)worker * size + i];
        sums[i] = sum;
    }
}

#endif
