/* Loads and stores of words that other work-items of the launch may change.
 *
 * The loads are atomic and relaxed: they order nothing, and an outdated word is allowed. OpenCL C
 * before 2.0 has no such loads; there a change that changes nothing takes their place.
 */
#ifndef COMMON_PEEK_H
#define COMMON_PEEK_H

#if __OPENCL_C_VERSION__ >= 200
#define PEEK_INT(place)                                                                            \
    atomic_load_explicit((volatile __global atomic_int *)(place), memory_order_relaxed,            \
                         memory_scope_device)
#define PEEK_LONG(place)                                                                           \
    atomic_load_explicit((volatile __global atomic_long *)(place), memory_order_relaxed,           \
                         memory_scope_device)
#define POKE_INT(place, value)                                                                     \
    atomic_store_explicit((volatile __global atomic_int *)(place), value, memory_order_relaxed,    \
                          memory_scope_device)
#define POKE_LONG(place, value)                                                                    \
    atomic_store_explicit((volatile __global atomic_long *)(place), value, memory_order_relaxed,   \
                          memory_scope_device)
#else
#define PEEK_INT(place) atomic_or(place, 0)
#define PEEK_LONG(place) atom_or(place, 0L)
#define POKE_INT(place, value) atomic_xchg(place, value)
#define POKE_LONG(place, value) atom_xchg(place, value)
#endif

#endif /* COMMON_PEEK_H */
