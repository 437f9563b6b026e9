/* scc_multi_step: what the multi-step method needs besides the kernels of scc_forward_backward.cl.
 *
 * Purpose   The multi-step method trims, has some rounds of forward and backward searches, and then
 *           colours: every vertex gets the largest vertex of its part that reaches it as its
 *           colour. The vertices of a colour are a part of their own; those that reach the vertex
 *           of the colour are its component. Here are the colours, and the linear search, which has
 *           a queue.
 *
 * Layout    words, stamps and levels: as in scc_forward_backward.cl. A part of a colour has the
 *           number of its vertex. colours: two buffers of an int for each vertex, now and next, of
 *           which a launch reads one and writes the other.
 *           queue: two lists of 2 v for the forward search, and 2 v + 1 for the backward search;
 *           level l is in list l % 2, and has sizes[l % 3] entries.
 *
 *               words      6 6 6 6   colours   0 1 3 3   after a launch; then   3 1 3 3
 *                                    words     3 1 3 3   two new parts
 *
 *           state: as in scc_forward_backward.cl, and the last turn in which a colour changed.
 *
 * Parameters  PYAPSP_GROUP  64   work-items of a group
 *             PYAPSP_WIDTH   1   work-items that share the arcs of a vertex in the linear search
 *
 * Cost      A launch of colours: n steps, and the arcs of all vertices that are left; as many
 *           launches as arcs on the longest of the shortest paths of a colour. The linear search
 *           takes an atomic for each arc, and one for each vertex that it finds.
 *
 * Source    F. Busato's thesis, Verona 2018, chapter 9; G. M. Slota, S. Rajamanickam, K. Madduri,
 *           IPDPS 2014, doi:10.1109/IPDPS.2014.64.
 */
#include "common/group_size.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1
#endif

#define NONE (-1)

/* Places in state; ACTIVE as in scc_forward_backward.cl. */
#define ACTIVE 1
#define PAINTED 3

/* Begin searches on a level: from the pivots of all parts in both directions, or backward from the
 * vertices of colours. If they are linear, also list them. */
__kernel GROUP void steps_begin(__global const int *words, __global const int *pivots,
                                __global int2 *now, __global int2 *next, __global int *queue,
                                __global int *sizes, const int n, const int level,
                                const int is_colour, const int is_linear)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        const int part = words[v];
        const int begins = part >= 0 && (is_colour ? part : pivots[part]) == (int)v;
        now[v] = begins ? (int2)(is_colour ? NONE : level, level) : (int2)(NONE);
        next[v] = NONE;
        if (!begins || !is_linear)
            continue;
        __global int *list = queue + (size_t)(level % 2) * 2 * n;
        for (int direction = is_colour; direction < 2; direction++)
            list[atomic_inc(&sizes[level % 3])] = 2 * v + direction;
    }
}

/* A level of a linear search. */
__kernel GROUP void steps_expand(__global const long *first, __global const int *heads,
                                 __global const long *before, __global const int *tails,
                                 __global const int *words, __global int *stamps,
                                 __global int *queue, __global int *sizes, const int n,
                                 const int level)
{
    const int count = sizes[level % 3];
    __global const int *now = queue + (size_t)(level % 2) * 2 * n;
    __global int *next = queue + (size_t)((level + 1) % 2) * 2 * n;
    if (get_global_id(0) == 0)
        sizes[(level + 2) % 3] = 0;
    const size_t by = get_global_size(0) / PYAPSP_WIDTH;
    for (size_t i = get_global_id(0) / PYAPSP_WIDTH; i < (size_t)count; i += by) {
        const int v = (uint)now[i] / 2, direction = now[i] % 2;
        __global const long *rows = direction ? before : first;
        __global const int *ends = direction ? tails : heads;
        const long end = rows[v + 1];
        for (long a = rows[v] + get_global_id(0) % PYAPSP_WIDTH; a < end; a += PYAPSP_WIDTH) {
            const int w = ends[a];
            if (words[w] == words[v] &&
                atomic_cmpxchg(&stamps[2 * (size_t)w + direction], NONE, level + 1) == NONE)
                next[atomic_inc(&sizes[(level + 1) % 3])] = 2 * w + direction;
        }
    }
}

/* Give each vertex that is left its own colour, and count them. */
__kernel GROUP void steps_paint(__global const int *words, __global int *now, __global int *next,
                                __global int *state, const int n)
{
    int active = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        now[v] = next[v] = v;
        active += words[v] >= 0;
    }
    if (active > 0)
        atomic_add(&state[ACTIVE], active);
}

/* Give colours to the heads of arcs within parts: a work-item for each vertex. */
__kernel GROUP void steps_spread(__global const long *first, __global const int *heads,
                                 __global const int *words, __global const int *now,
                                 __global int *next, __global int *state, const int n,
                                 const int turn)
{
    const int v = get_global_id(0);
    if (v >= n || words[v] < 0)
        return;
    const int colour = now[v], part = words[v];
    int found = 0;
    atomic_max(&next[v], colour);
    for (long a = first[v]; a < first[v + 1]; a++) {
        const int w = heads[a];
        if (words[w] == part && now[w] < colour)
            found |= atomic_max(&next[w], colour) < colour;
    }
    if (found)
        atomic_max(&state[PAINTED], turn);
}

/* Make a part of each colour. */
__kernel GROUP void steps_rename(__global int *words, __global const int *colours, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0))
        if (words[v] >= 0)
            words[v] = colours[v];
}

/* Remove the vertices that reach the vertex of their colour. */
__kernel GROUP void steps_settle(__global int *words, __global const int2 *even,
                                 __global const int2 *odd, __global int *state, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        if (words[v] >= 0 && max(even[v], odd[v]).y != NONE)
            words[v] = -1 - words[v];
        if (v == 0)
            state[ACTIVE] = 0;
    }
}
