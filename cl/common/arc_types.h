/* The types of a graph: of the offsets of its rows, and of the weights of its arcs.
 *
 *     macro          default  meaning
 *     PYAPSP_OFFSET  long     type of offsets: int or long
 *     PYAPSP_WEIGHT  float    type of weights
 */
#ifndef COMMON_ARC_TYPES_H
#define COMMON_ARC_TYPES_H
#ifndef PYAPSP_OFFSET
#define PYAPSP_OFFSET long
#endif
#ifndef PYAPSP_WEIGHT
#define PYAPSP_WEIGHT float
#endif

typedef PYAPSP_OFFSET offset_t;
typedef PYAPSP_WEIGHT weight_t;

#endif /* COMMON_ARC_TYPES_H */
