/* OpenCL C in the words of CUDA C++: what stands before the text of a kernel for nvcc.
 *
 * Purpose   A kernel of OpenCL becomes one of CUDA with the same text, so that a profiler which
 *           sees only CUDA can observe it. `__local` is not here: of a variable it is `__shared__`,
 *           of a pointer it is nothing, which twins.py tells apart.
 *
 * Limits    No vectors, images and sub-groups.
 */
#include <cuda_runtime.h>
#include <math_constants.h>

#define __OPENCL_C_VERSION__ 120
#define __kernel extern "C" __global__
#define __global
#define __constant const
#define __private
#define __local
#define restrict __restrict__
#define reqd_work_group_size(x, y, z) launch_bounds((x) * (y) * (z))
/* functions of the text are for the device */
#define inline __device__ inline

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
typedef unsigned char uchar;

#define OPENCL_PLACE(name, x_, y_, z_)                                                             \
    static inline size_t name(const int d)                                                         \
    {                                                                                              \
        return d == 0 ? (x_) : d == 1 ? (y_) : (z_);                                               \
    }
OPENCL_PLACE(get_local_id, threadIdx.x, threadIdx.y, threadIdx.z)
OPENCL_PLACE(get_group_id, blockIdx.x, blockIdx.y, blockIdx.z)
OPENCL_PLACE(get_local_size, blockDim.x, blockDim.y, blockDim.z)
OPENCL_PLACE(get_num_groups, gridDim.x, gridDim.y, gridDim.z)
static inline size_t get_global_id(const int d)
{
    return get_group_id(d) * get_local_size(d) + get_local_id(d);
}
static inline size_t get_global_size(const int d)
{
    return get_num_groups(d) * get_local_size(d);
}
static inline void barrier(const int)
{
    __syncthreads();
}
static inline void mem_fence(const int)
{
    __threadfence();
}

#define OPENCL_ATOMIC(name, cuda)                                                                  \
    template <class T, class V> static inline T name(volatile T *at, const V value)                \
    {                                                                                              \
        return cuda((T *)at, (T)value);                                                            \
    }
OPENCL_ATOMIC(atomic_add, atomicAdd)
OPENCL_ATOMIC(atomic_or, atomicOr)
OPENCL_ATOMIC(atomic_and, atomicAnd)
OPENCL_ATOMIC(atomic_max, atomicMax)
OPENCL_ATOMIC(atomic_min, atomicMin)
OPENCL_ATOMIC(atomic_xchg, atomicExch)
template <class T> static inline T atomic_inc(volatile T *at)
{
    return atomicAdd((T *)at, (T)1);
}
template <class T> static inline T atomic_cmpxchg(volatile T *at, const T is, const T becomes)
{
    return atomicCAS((T *)at, is, becomes);
}
template <class T> static inline T atom_add(volatile T *at, const T value)
{
    return (T)atomicAdd((unsigned long long *)at, (unsigned long long)value);
}
static inline uint clz(const uint value)
{
    return __clz((int)value);
}
