/* truss_iterative: all triangles are counted again after each removal of edges.
 *
 * Purpose   The k-truss of a graph: as long as an edge is in less than k - 2 triangles, all such
 *           edges are removed, the rows of what is left are written (rows.cl), and the triangles of
 *           each edge are counted as in a new graph (triangles_intersect.cl). For all trusses, k
 *           grows by one when no edge is removed.
 *
 * Layout    Oriented rows of what is left, whose arcs have the numbers of their edges in the graph:
 *
 *             edges      0 1 2 3 4 5 6       marks   - 1 - - 2 - 1       -: ALIVE, else the step
 *             ids        0 2 3 5
 *             supports   3 . 1 4 . 2 .       only those of `ids` are counted
 *
 * Parameters  those of triangles_intersect.cl, with PYAPSP_COUNT 2
 *
 * Cost      The count of all triangles in each step.
 *
 * Source    J. Cohen, trusses, 2008; as the method Iterative in F. Busato, thesis, Verona 2018,
 *           section 19.4, and O. Green et al., HPEC 2017, doi:10.1109/HPEC.2017.8091038.
 */
#ifndef PYAPSP_COUNT
#define PYAPSP_COUNT 2
#endif
#include "trusses/triangles_intersect.cl"
#include "trusses/weak.h"
