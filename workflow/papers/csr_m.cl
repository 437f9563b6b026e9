/* csr_m: both ends of the row of each vertex, as one vector.
 *
 * Purpose   A kernel that visits vertices in any order reads where the arcs of a vertex begin and
 *           where they end. In CSR these are two neighbouring offsets, and two reads. Here they are
 *           a vector, which is one read.
 *
 * Layout    offsets   0 3 3 4
 *           rows      (0, 3) (3, 3) (3, 4)
 *
 * Parameters  PYAPSP_GROUP  64   work-items of a group
 *
 * Cost      A work-item for each vertex; 8 bytes a vertex in place of 4.
 *
 * Source    F. Busato, thesis, Verona 2018, section 7.3, https://iris.univr.it/handle/11562/979445:
 *           CSR-M.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif

__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
csr_m_build(__global const int *offsets, __global int2 *rows, const int n)
{
    const size_t v = get_global_id(0);
    if (v < (size_t)n)
        rows[v] = (int2)(offsets[v], offsets[v + 1]);
}
