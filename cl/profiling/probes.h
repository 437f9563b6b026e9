/* Probes: what a program calls where its source was instrumented.
 *
 * Purpose   One of four traces of a launch: how often each item executes each basic block, when each
 *           item begins and ends and how long it waits at barriers, which addresses it accesses, or
 *           in which order it executes its blocks.
 *
 * Layout    An item with a place P in the trace writes
 *
 *               blocks      out[k room + P]       how often it executed block k
 *               warps       out[r room + P]       four rows of ulong: begin, end, unit, waiting time
 *               addresses   out[0]                the number of accesses so far, of all items; then
 *                           rows of ulong, one column for each access: its moment, its address, and
 *                           phase << 48 | site << 32 | P
 *               order       out[0]                the number of blocks so far, of all items; then a
 *                           ulong for each execution of a block k: P << 32 | k
 *
 *           Groups 0, every, 2 every ... have places; the other groups are not recorded. The moment
 *           of an access is a number of its site, the turns of the loops around it and the calls
 *           that lead to it: items of a warp with the same moment access memory together. Its phase
 *           is the number of barriers that its item has passed, at most 65535.
 *
 * Parameters  PYAPSP_PROBE   1   the trace: 1 blocks, 2 warps, 3 addresses, 4 order
 *             and clock.cl, or that of a vendor, before this file if PYAPSP_PROBE is 2
 *
 * Cost      an increment in global memory for each block; an atomic increment and three stores for
 *           each access; an atomic increment and a store for each block of the order.
 *
 * Source    F. Busato, High-Performance and Power-Aware Graph Processing on GPUs, thesis, Verona
 *           2018, chapter 12 (what is counted).
 */
#ifndef PYAPSP_PROBE
#define PYAPSP_PROBE 1
#endif

typedef struct {
    __global uint *out;
    uint room, place;
    int on;
#if PYAPSP_PROBE == 2
    ulong begin, waiting, since;
#elif PYAPSP_PROBE == 3
    uint phase;
#endif
} profile_t;

static inline profile_t profile_start(__global uint *out, const uint room, const uint every)
{
    profile_t profile;
    const uint group = get_group_id(0) +
                       get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
    const uint item = get_local_id(0) +
                      get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
    profile.out = out;
    profile.room = room;
    profile.place = group / every * (get_local_size(0) * get_local_size(1) * get_local_size(2));
    profile.place += item;
    profile.on = group % every == 0;
#if PYAPSP_PROBE == 2
    profile.waiting = 0;
    profile.begin = profile_clock();
#elif PYAPSP_PROBE == 3
    profile.phase = 0;
#endif
    return profile;
}

#if PYAPSP_PROBE == 1
static inline void profile_block(const profile_t *profile, const uint block)
{
    if (profile->on)
        profile->out[(size_t)block * profile->room + profile->place]++;
}
#endif

#if PYAPSP_PROBE == 2
static inline void profile_wait(profile_t *profile)
{
    profile->since = profile_clock();
}

static inline void profile_go(profile_t *profile)
{
    profile->waiting += profile_since(profile->since);
}

static inline void profile_end(const profile_t *profile)
{
    __global ulong *out = (__global ulong *)profile->out + profile->place;
    const ulong now = profile_clock();
    if (profile->on) {
        out[0] = profile->begin;
        out[profile->room] = now;
        out[2 * (size_t)profile->room] = profile_unit();
        out[3 * (size_t)profile->room] = profile->waiting;
    }
}
#endif

#if PYAPSP_PROBE == 3
/* Mixes numbers into one of 64 bits. */
static inline ulong profile_mix(const ulong path, const uint place, const uint turn)
{
    ulong x = path ^ ((ulong)place << 32 | turn);
    x *= 0x9E3779B97F4A7C15UL;
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93UL;
    return x ^ x >> 32;
}

/* Records an access, and returns its address. */
static inline ulong profile_access(const profile_t *profile, const uint site, const ulong path,
                                   const ulong address)
{
    if (profile->on) {
        __global ulong *log = (__global ulong *)profile->out + 1;
        const size_t slot = atomic_inc((volatile __global uint *)profile->out);
        const size_t room = profile->room;
        if (slot < room) {
            log[slot] = profile_mix(path, site, 0);
            log[room + slot] = address;
            log[2 * room + slot] = (ulong)profile->phase << 48 | (ulong)site << 32 | profile->place;
        }
    }
    return address;
}

static inline void profile_go(profile_t *profile)
{
    profile->phase = min(profile->phase + 1, 65535u);
}

/* The address of element `index` from a place on, which may be negative. */
static inline ulong profile_at(const long index, const ulong address, const uint size)
{
    return address + index * size;
}
#endif

#if PYAPSP_PROBE == 4
static inline void profile_block(const profile_t *profile, const uint block)
{
    if (profile->on) {
        __global ulong *log = (__global ulong *)profile->out + 1;
        const size_t slot = atomic_inc((volatile __global uint *)profile->out);
        if (slot < profile->room)
            log[slot] = (ulong)profile->place << 32 | block;
    }
}
#endif
