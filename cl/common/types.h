/* The number type of a distance matrix, and strips of it.
 *
 * A *value* is one distance. A *strip* is PYAPSP_WIDTH neighbouring values of one matrix row, held in
 * one vector register; with PYAPSP_WIDTH 1 it is a plain value. Predecessors are int, in strips of
 * the same width.
 *
 *     macro             default    meaning
 *     PYAPSP_VALUE      float      float, double, half, int, long, short or ushort
 *     PYAPSP_INTEGER    0          1 when PYAPSP_VALUE is one of the integers
 *     PYAPSP_INFINITY   INFINITY   the distance between vertices that no path connects
 *     PYAPSP_WIDTH      1          values in a strip: 1, 2, 4, 8, 16, or 32 of two bytes where the
 *                                  compiler is made of Clang, without predecessors
 *
 *     PYAPSP_HAS_FP64   0          1 on devices with double
 *     PYAPSP_HAS_FP16   0          1 on devices with half
 *
 * For integers PYAPSP_INFINITY is about half of the largest number, so that the sum of two
 * distances cannot overflow. C adds shorts and ushorts as ints, so the sum of two scalar values
 * must be stored in a value_t before it is passed to an overloaded function.
 */
#ifndef COMMON_TYPES_H
#define COMMON_TYPES_H
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE float
#endif
#ifndef PYAPSP_INTEGER
#define PYAPSP_INTEGER 0
#endif
#ifndef PYAPSP_INFINITY
#define PYAPSP_INFINITY INFINITY
#endif
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1
#endif
#ifndef PYAPSP_HAS_FP64
#define PYAPSP_HAS_FP64 0
#endif

#ifndef PYAPSP_HAS_FP16
#define PYAPSP_HAS_FP16 0
#endif

#if PYAPSP_HAS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if PYAPSP_HAS_FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif

#define PYAPSP_JOIN_(a, b) a##b
#define PYAPSP_JOIN(a, b) PYAPSP_JOIN_(a, b)

typedef PYAPSP_VALUE value_t;

#if PYAPSP_WIDTH == 1
typedef value_t strip_t;
typedef int index_strip_t;
#define INDEX_MASK(mask) (mask)
#define ANY(mask) (mask)
#elif PYAPSP_WIDTH == 32
typedef value_t strip_t __attribute__((ext_vector_type(32)));
#else
typedef PYAPSP_JOIN(PYAPSP_VALUE, PYAPSP_WIDTH) strip_t;
typedef PYAPSP_JOIN(int, PYAPSP_WIDTH) index_strip_t;
/* comparing strips gives masks as wide as their values; predecessors are 32-bit */
#define INDEX_MASK(mask) PYAPSP_JOIN(convert_int, PYAPSP_WIDTH)(mask)
#define ANY(mask) (PYAPSP_JOIN(ANY_, PYAPSP_WIDTH)(mask) != 0)
#endif
/* Whether any bit of a vector of integers is set. Not any(), which is a function call on CPUs. */
#define ANY_2(v) ((v).s0 | (v).s1)
#define ANY_4(v) ANY_2((v).lo | (v).hi)
#define ANY_8(v) ANY_4((v).lo | (v).hi)
#define ANY_16(v) ANY_8((v).lo | (v).hi)

/* The strip at an address, to read or to assign: STRIP(__global const, row + x). The address must be
 * a multiple of the strip's size. vload and vstore would need no alignment, but one compiler makes
 * them function calls and spills every register around each call, which is 2.5 times slower. */
#define STRIP(space, address) (*(space strip_t *)(address))
#define INDEX_STRIP(space, address) (*(space index_strip_t *)(address))
#define STRIP_ALIGNED __attribute__((aligned(128)))

#endif /* COMMON_TYPES_H */
