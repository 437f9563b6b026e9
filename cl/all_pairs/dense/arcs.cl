/* arcs: a matrix of weights from the arcs of a graph, on the device.
 *
 * Purpose   The matrix of a graph with few arcs is mostly infinity. To fill it on the device, and to
 *           copy the arcs alone, takes a fraction of the time of copying the matrix. If there are
 *           many arcs, one thread of the host needs 4 to 8 ns to write one, a device far less.
 *
 * Layout    Rows of vertices from `begin` on follow each other in the matrix from `at` on. Row r of
 *           them begins at at + r * columns, and the arcs of its vertex are first[r] .. first[r + 1].
 *
 *             heads    2 5 | 0 |         matrix   0 . 3 . . 7
 *             weights  3 7 | 4 |                  4 0 . . . .
 *
 *           The matrix is infinity when the first kernel begins. Weights are the words of any type;
 *           the word 0 is the number 0 in all of them, and the first bit says whether a number of a
 *           type with a sign is negative.
 *
 * Parameters  PYAPSP_GROUP  64    work-items of a group
 *             PYAPSP_LANES  8     work-items that share the arcs of a vertex
 *             PYAPSP_WORD   uint  an unsigned integer as wide as a weight
 *             PYAPSP_SIGN   1     whether the type of the weights has a sign
 *
 * Cost      The arcs are read once; each is one write at random.
 *
 * Source    ours.
 */
#include "common/group_size.h"
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 8
#endif
#ifndef PYAPSP_WORD
#define PYAPSP_WORD uint
#endif
#ifndef PYAPSP_SIGN
#define PYAPSP_SIGN 1
#endif
/* whether a word is a number below zero */
#define NEGATIVE(word) (PYAPSP_SIGN && (word) >> (8 * sizeof(word_t) - 1))

typedef PYAPSP_WORD word_t;

/* 0 on the diagonal. */
__kernel GROUP void arcs_diagonal(__global word_t *matrix, const int rows, const long columns,
                                  const int begin, const long at)
{
    const int r = get_global_id(0);
    if (r < rows)
        matrix[at + r * columns + begin + r] = 0;
}

/* The weights of the arcs. A loop only if it is negative: then it is a negative cycle. */
__kernel GROUP void arcs_write(__global const long *first, __global const int *heads,
                               __global const word_t *weights, __global word_t *matrix,
                               const int rows, const long columns, const int begin,
                               const long at)
{
    const int r = get_global_id(0) / PYAPSP_LANES, lane = get_global_id(0) % PYAPSP_LANES;
    if (r >= rows)
        return;
    for (long a = first[r] + lane; a < first[r + 1]; a += PYAPSP_LANES)
        if (heads[a] != begin + r || NEGATIVE(weights[a]))
            matrix[at + r * columns + heads[a]] = weights[a];
}
