/* launch: kernels that do almost nothing.
 *
 * Purpose   The time of `profiling_empty` is that of a launch. That of `profiling_groups` grows with
 *           the number of groups.
 *
 * Layout    out: the number of work-items is written by the first one, so that the host sees that
 *           the kernel ran; or a 1 by each work-item, at its number up to `mask`, a power of two
 *           less 1.
 *
 * Parameters  none
 *
 * Cost      one store of a launch, or of each work-item.
 *
 * Source    N. Bombieri, F. Busato, F. Fummi, MIPP: a microbenchmark suite for performance, power and
 *           energy consumption characterization of GPU architectures, SIES 2016 (the suite).
 */
__kernel void profiling_empty(__global int *out)
{
    if (get_global_id(0) == 0)
        out[0] = get_global_size(0);
}

__kernel void profiling_groups(__global uint *out, const uint mask)
{
    out[get_global_id(0) & mask] = 1;
}
