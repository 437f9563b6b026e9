/* given_matrix: the first distances, from a matrix of weights that is on the device.
 *
 * Purpose   The weights of a matrix in the memory of a device become distances there, in the type and
 *           layout of the rounds.
 *
 * Layout    The matrix has n x n weights from `first` on; 0 and +infinity are no arcs. Distances have
 *           rows of `columns` values; the diagonal is 0, or a negative loop; the rest is padding.
 *
 *             weights  0 3 .         distances  0   3   inf inf
 *                      7 2 inf                  7   0   inf inf
 *                      0 0 -1                   inf inf -1  inf
 *
 * Parameters  PYAPSP_FROM      float     type of the weights
 *             PYAPSP_FLOAT     1         whether it is a type of floats
 *             PYAPSP_VALUE     float     type of the distances, which holds every weight
 *             PYAPSP_INFINITY  INFINITY  infinity of that type
 *             PYAPSP_HALF      0         1: distances are of type half; PYAPSP_VALUE is not used
 *
 * Cost      Each weight is read once, each distance written once.
 *
 * Source    ours.
 */
#ifndef PYAPSP_FROM
#define PYAPSP_FROM float
#endif
#ifndef PYAPSP_FLOAT
#define PYAPSP_FLOAT 1
#endif
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE float
#endif
#ifndef PYAPSP_INFINITY
#define PYAPSP_INFINITY INFINITY
#endif
#ifndef PYAPSP_HALF
#define PYAPSP_HALF 0
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if PYAPSP_HALF
typedef half distance_t;
#else
typedef PYAPSP_VALUE distance_t;
#endif

/* The work-items of dimension 0 share a row, those of dimension 1 the rows. */
__kernel void given_matrix(__global const PYAPSP_FROM *weights, const long first, const int n,
                           __global distance_t *distances, const long columns,
                           const int rows)
{
    for (long row = get_global_id(1); row < rows; row += get_global_size(1))
        for (long v = get_global_id(0); v < columns; v += get_global_size(0)) {
            PYAPSP_FROM weight = 0;
            if (row < n && v < n)
                weight = weights[first + row * n + v];
            bool arc = weight != 0;
#if PYAPSP_FLOAT
            arc = arc && weight < INFINITY;
#endif
            if (row == v && row < n) {
                arc = true;
                weight = weight < 0 ? weight : 0;
            }
#if PYAPSP_HALF
            vstore_half(arc ? (float)weight : INFINITY, row * columns + v, distances);
#else
            distances[row * columns + v] = arc ? (distance_t)weight : (distance_t)PYAPSP_INFINITY;
#endif
        }
}
