/* Batches: converts many matrices of weights to the form that a method works on, and back.
 *
 * Purpose   The methods of fw_multikernel.cl, fw_singlekernel.cl, fw_packed.cl and fw_minplus.cl work
 *           on padded matrices, whose words may be several distances. Converting weights on the
 *           device costs one pass over them. The same pass makes the remarks that the host needs
 *           about each graph.
 *
 * Layout    weights, distances, remarks: see all_pairs/dense/batch.h. matrices: m matrices of `size` rows of
 *           size / FIELDS words, infinity past n:
 *
 *                n             size                    n
 *               +--+          +--+-+                  +--+
 *               |w0|          |d0|i|                  |d0|
 *               +--+ arrange  +--+ |  the method,     +--+
 *               |w1|   --->   |i i |  then restore    |d1|
 *               +--+          +----+     --->         +--+
 *                             |d1|i|
 *
 *           Groups (1, row, graph), ITEMS work-items along a row.
 *
 * Parameters  those of common/types.h, all_pairs/dense/words.h and all_pairs/dense/batch.h, and
 *             PYAPSP_ITEMS  64  work-items of a group
 *
 * Cost      2 size^2 words of memory traffic for each graph, each way.
 *
 * Source    pyapsp; the words are those of D. Takafuji's thesis, 2020, section 3.2.4.
 */
#ifndef PYAPSP_ITEMS
#define PYAPSP_ITEMS 64
#endif

#include "all_pairs/dense/words.h"
#include "all_pairs/dense/batch.h"

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_ITEMS, 1, 1)))

/* Put a distance into field f of a word, where it must be 0; read it from there; and test whether
 * it does not fit. */
#if PYAPSP_FIELD_BITS
#define TOP ((1u << PYAPSP_FIELD_BITS) - 1u)
/* the smallest number that does not fit in both a field and the type of the answer */
#define LIMIT fmin((float)TOP, (float)FAR)

static inline int misfit(const raw_t d)
{
    return d != FAR && (d < 0 || d != (raw_t)(uint)d || (float)d >= LIMIT);
}

static inline value_t with_field(const value_t word, const int f, const raw_t d)
{
    const uint field = d == FAR || misfit(d) ? TOP : (uint)d;
    return word | (value_t)(field << (f * PYAPSP_FIELD_BITS));
}

static inline raw_t from_field(const value_t word, const int f)
{
    const uint field = (uint)word >> (f * PYAPSP_FIELD_BITS) & TOP;
    return (float)field >= LIMIT ? FAR : (raw_t)field;
}
#else
static inline int misfit(const raw_t d)
{
    return 0;
}

static inline value_t with_field(const value_t word, const int f, const raw_t d)
{
    return d;
}

static inline raw_t from_field(const value_t word, const int f)
{
    return word;
}
#endif

__kernel GROUP void batch_arrange(__global const raw_t *weights, __global value_t *matrices,
                                  __global int *remarks, const int n, const int size,
                                  const int zeros, const float longest)
{
    const int row = get_group_id(1);
    const size_t graph = get_group_id(2);
    __global const raw_t *from = weights + (graph * n + min(row, n - 1)) * n;
    __global value_t *to = matrices + (graph * size + row) * (size / FIELDS);
    int found = 0;
    for (int x = get_local_id(0); x < size / FIELDS; x += PYAPSP_ITEMS) {
        value_t word = 0;
        for (int f = 0; f < FIELDS; f++) {
            const int column = x * FIELDS + f;
            const int inside = row < n && column < n;
            const raw_t weight = from[inside ? column : 0];
            raw_t distance = !inside || no_arc(weight, zeros) ? FAR : weight;
            found |= remarks_on(weight, zeros, longest) | (misfit(distance) ? BAD : 0);
            if (row == column && !(distance < 0))
                distance = 0;
            word = with_field(word, f, distance);
        }
        to[x] = word;
    }
    if (found)
        atomic_or(remarks + graph, found);
}

__kernel GROUP void batch_restore(__global const value_t *matrices, __global raw_t *distances,
                                  __global int *remarks, const int n, const int size)
{
    const int row = get_group_id(1);
    const size_t graph = get_group_id(2);
    __global const value_t *from = matrices + (graph * size + row) * (size / FIELDS);
    __global raw_t *to = distances + (graph * n + row) * n;
    int found = 0;
    for (int column = get_local_id(0); column < n; column += PYAPSP_ITEMS) {
        const raw_t distance = from_field(from[column / FIELDS], column % FIELDS);
        if (row == column && distance < 0)
            found |= CYCLE;
        to[column] = distance;
    }
    if (found)
        atomic_or(remarks + graph, found);
}
