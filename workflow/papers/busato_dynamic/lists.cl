/* lists: graphs that change, as an array for each vertex (cuSTINGER) or a list of pages (AIM).
 *
 * Purpose   The rivals of figures 18.5 to 18.8. Both look for each edge of a batch in the row of its
 *           tail, and append it if it is not there. They differ in what a row is, and in how it
 *           grows: cuSTINGER copies it to a new array of at least twice the size, AIM links more
 *           pages of a pool. Neither gives memory back.
 *             A batch is inserted in these steps, without locks, so that the edges of a row are the
 *           same in each run, in any order:
 *
 *             list_seek      is the edge in its row?
 *             list_claim     count the new edges of each tail, which gives each edge a place
 *             list_outgrown  which rows need memory; the host then looks whether there is enough
 *             list_move      cuSTINGER: copy rows to new arrays
 *             list_link      AIM: link pages
 *             list_write     write the new edges behind their rows
 *             list_repeat    which of them are equal to one before them, of the same batch
 *             list_write     erase these
 *             list_settle    close the gaps, and count
 *
 *           Deletion is list_seek, list_claim, list_write (erases) and list_settle.
 *
 * Layout    used[v], capacity[v]   edges of a row, and those that it has memory for
 *           begin[v], last[v]      places of its first part, and of the part with its last edge; a
 *                                  part is the whole array, or a page
 *           next[p]                AIM: the page behind page p of a row, or -1
 *           fresh[v]               new edges of a batch, 0 between batches
 *
 *             a place is      arena << 40 | edge in the arena
 *             cuSTINGER       5 2 7 . . . . .            used 3, capacity 8
 *             AIM             5 2 7 1 -> 9 . . .         used 5, capacity 8, pages of 4
 *
 * Parameters  PYAPSP_GROUP   32   work-items that share an edge of a batch, or a row
 *             PYAPSP_PAGE     0   edges of a page; 0: a row is one array
 *
 * Cost      For each edge of a batch one read of its row, and one of the new edges of its tail before
 *           it. Pages: a read of a link for each of them.
 *
 * Source    O. Green, D. A. Bader, cuSTINGER, HPEC 2016, doi:10.1109/HPEC.2016.7761622; M. Winter,
 *           R. Zayer, M. Steinberger, Autonomous, independent management of dynamic graphs on GPUs
 *           (AIM), HPEC 2017, doi:10.1109/HPEC.2017.8091058; as F. Busato, thesis, Verona 2018,
 *           chapter 17, describes them. Counters in place of locks: ours.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 32
#endif
#ifndef PYAPSP_PAGE
#define PYAPSP_PAGE 0
#endif

#define TOGETHER __kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
#if PYAPSP_GROUP == 1
#define LANE 0
#define SYNC()
#else
#define LANE (int)get_local_id(0)
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define FOR_GROUPS(i, count) for (int i = get_group_id(0); i < (count); i += get_num_groups(0))
#define FOR_ITEMS(i, count) for (int i = get_global_id(0); i < (count); i += get_global_size(0))

#define BAD 0
#define TOUCHED 1
#define OUTGROWN 2
#define PAGES 3
#define SETTLED 4

#define ARENA_BITS 40
#define ARENAS                                                                                     \
    __global int *h0, __global int *h1, __global int *h2, __global int *h3, __global int *h4,      \
        __global int *h5, __global int *h6, __global int *h7
#define AT(place) edge_at(place, h0, h1, h2, h3, h4, h5, h6, h7)
#define ROWS                                                                                       \
    __global int *used, __global int *capacity, __global long *begin, __global long *last,         \
        __global int *fresh, __global int *next, ARENAS

#if PYAPSP_PAGE
#define PART PYAPSP_PAGE
#define NEXT(place) ((long)next[(place) / PYAPSP_PAGE] * PYAPSP_PAGE)
#else
#define PART INT_MAX
#define NEXT(place) (place)
#endif

static inline __global int *edge_at(const long place, ARENAS)
{
    const long edge = place & ((1L << ARENA_BITS) - 1);
    switch ((int)(place >> ARENA_BITS)) {
    case 0:
        return h0 + edge;
    case 1:
        return h1 + edge;
    case 2:
        return h2 + edge;
    case 3:
        return h3 + edge;
    case 4:
        return h4 + edge;
    case 5:
        return h5 + edge;
    case 6:
        return h6 + edge;
    default:
        return h7 + edge;
    }
}

/* The first edge of the part with the last edge of a row. */
#define LAST_BASE(size) ((long)(max(size, 1) - 1) / PART * PART)

/* Go on from the part that begins with edge `base`, at `place`, to the part with edge k. */
#define REACH(part, place, base, k)                                                                \
    while ((k) >= base + PART) {                                                                   \
        place = NEXT(place);                                                                       \
        base += PART;                                                                              \
        part = AT(place);                                                                          \
    }

/* The edges from `from` on, before `to`, of a row: the lanes of a group take them in turns. Edge k
 * is part[k - base]. */
#define FOR_EDGES(k, part, place, base, from, to)                                                  \
    for (; base < (to); place = NEXT(place), base += PART)                                         \
        for (__global int *part = AT(place), *turn = part; turn; turn = 0)                         \
            for (long k = max(base, (long)(from)) + LANE; k < min(base + PART, (long)(to));        \
                 k += PYAPSP_GROUP)

/* The place of each edge of a batch in its row, or -1; the least edge without vertices is noted. */
TOGETHER list_seek(__global const int *tails, __global const int *heads, const int count,
                   const int n, __global int *at, volatile __global int *state, ROWS)
{
    __local int least;
    FOR_GROUPS (i, count) {
        const int v = tails[i], head = heads[i];
        if (LANE == 0)
            least = INT_MAX;
        SYNC();
        if (v >= 0 && v < n && head >= 0 && head < n) {
            long place = begin[v], base = 0;
            FOR_EDGES (k, part, place, base, 0, used[v]) {
                if (part[k - base] == head)
                    atomic_min(&least, (int)k);
            }
        } else if (LANE == 0) {
            atomic_min(&state[BAD], i);
        }
        SYNC();
        if (LANE == 0)
            at[i] = least == INT_MAX ? -1 : least;
    }
}

/* Count the edges of each tail that are there, or not; the latter get a place behind its row. */
__kernel void list_claim(__global const int *tails, const int count, __global const int *at,
                         const int there, __global int *place, __global int *touched,
                         volatile __global int *state, __global const int *used,
                         volatile __global int *fresh)
{
    if (state[BAD] != INT_MAX)
        return;
    FOR_ITEMS (i, count) {
        int k = -1;
        if ((at[i] >= 0) == there) {
            const int v = tails[i], rank = atomic_inc(&fresh[v]);
            k = used[v] + rank;
            if (rank == 0)
                touched[atomic_inc(&state[TOUCHED])] = v;
        }
        place[i] = k;
    }
}

/* The rows that need memory, and what they need: edges of a new array, or more pages. */
__kernel void list_outgrown(__global const int *touched, __global int2 *outgrown,
                            volatile __global int *state, __global const int *used,
                            __global const int *capacity, __global const int *fresh)
{
    FOR_ITEMS (j, state[TOUCHED]) {
        const int v = touched[j], size = used[v] + fresh[v];
        if (size > capacity[v]) {
#if PYAPSP_PAGE
            const int need = (size - capacity[v] + PYAPSP_PAGE - 1) / PYAPSP_PAGE;
            atomic_add(&state[PAGES], need);
#else
            const int need = max(size, (int)min(2L * capacity[v], (long)INT_MAX));
#endif
            outgrown[atomic_inc(&state[OUTGROWN])] = (int2)(v, need);
        }
    }
}

#if PYAPSP_PAGE
/* Link more pages to rows; *taken is the number of pages in use. */
__kernel void list_link(__global const int2 *outgrown, const int count,
                        volatile __global int *taken, ROWS)
{
    FOR_ITEMS (j, count) {
        const int v = outgrown[j].x, need = outgrown[j].y;
        const int page = atomic_add(taken, need);
        for (int p = page; p < page + need; p++)
            next[p] = p + 1 < page + need ? p + 1 : -1;
        if (capacity[v] == 0) {
            begin[v] = last[v] = (long)page * PYAPSP_PAGE;
        } else {
            int end = (int)(last[v] / PYAPSP_PAGE);
            while (next[end] >= 0)
                end = next[end];
            next[end] = page;
        }
        capacity[v] += need * PYAPSP_PAGE;
    }
}
#else
/* Copy rows to new arrays. */
TOGETHER list_move(__global const int2 *outgrown, __global const long *to, const int count, ROWS)
{
    FOR_GROUPS (j, count) {
        const int v = outgrown[j].x;
        long place = begin[v], base = 0;
        __global int *array = AT(to[j]);
        FOR_EDGES (k, part, place, base, 0, used[v])
            array[k] = part[k];
        SYNC();
        if (LANE == 0) {
            begin[v] = to[j];
            capacity[v] = outgrown[j].y;
        }
    }
}
#endif

/* Write each edge of a batch that has a place, or erase it. Equal edges are erased twice. */
__kernel void list_write(__global const int *tails, __global const int *heads, const int count,
                         __global const int *places, const int erase, ROWS)
{
    FOR_ITEMS (i, count) {
        const int v = tails[i], k = places[i];
        if (k >= 0) {
            long base = LAST_BASE(used[v]), place = last[v];
            if (k < base) {
                base = 0;
                place = begin[v];
            }
            volatile __global int *part = AT(place);
            REACH(part, place, base, k)
            atomic_xchg(&part[k - base], erase ? -1 : heads[i]);
        }
    }
}

/* Of the new edges, the places of those that are equal to one before them; -1 for the others. */
TOGETHER list_repeat(__global const int *tails, __global const int *heads, const int count,
                     __global const int *places, __global int *repeats, ROWS)
{
    __local int equal;
    FOR_GROUPS (i, count) {
        const int v = tails[i], own = places[i];
        if (LANE == 0)
            equal = 0;
        SYNC();
        if (own >= 0) {
            long base = LAST_BASE(used[v]), place = last[v];
            FOR_EDGES (k, part, place, base, used[v], own) {
                if (part[k - base] == heads[i])
                    atomic_or(&equal, 1);
            }
        }
        SYNC();
        if (LANE == 0)
            repeats[i] = equal ? own : -1;
    }
}

/* Close the gaps of the rows of a batch: of their new edges, or of the whole rows. */
TOGETHER list_settle(__global const int *touched, const int whole, volatile __global int *state,
                     ROWS)
{
    __local int stays[PYAPSP_GROUP];
    FOR_GROUPS (j, state[TOUCHED]) {
        const int v = touched[j], size = used[v];
        const int from = whole ? 0 : size, to = whole ? size : size + fresh[v];
        // each lane has a place that it reads, and one that it writes; both only go on
        long base = whole ? 0 : LAST_BASE(size), place = whole ? begin[v] : last[v];
        long out_base = base, out = place;
        __global int *in_part = AT(place), *out_part = in_part;
        int end = from;
        for (int first = from; first < to; first += PYAPSP_GROUP) {
            const int k = first + LANE;
            int head = -1;
            if (k < to) {
                REACH(in_part, place, base, k)
                head = in_part[k - base];
            }
            stays[LANE] = head >= 0;
            SYNC();
            int before = 0, all = 0;
            for (int lane = 0; lane < PYAPSP_GROUP; lane++) {
                before += lane < LANE && stays[lane];
                all += stays[lane];
            }
            if (head >= 0) {
                REACH(out_part, out, out_base, end + before)
                out_part[end + before - out_base] = head;
            }
            end += all;
            SYNC();
        }
        if (LANE == 0) {
#if PYAPSP_PAGE
            long last_base = 0, last_place = begin[v];
            REACH(in_part, last_place, last_base, max(end, 1) - 1)
            last[v] = last_place;
#endif
            used[v] = end;
            fresh[v] = 0;
            atomic_add(&state[SETTLED], whole ? to - end : end - from);
        }
        SYNC();
    }
}

/* Copy compressed sparse rows into the parts, which follow each other, or out of them. */
TOGETHER list_copy(__global const long *first, __global int *heads, const int n, const int out,
                   ROWS)
{
    FOR_GROUPS (v, n) {
        long base = 0, place = begin[v];
        FOR_EDGES (k, part, place, base, 0, used[v]) {
            if (out)
                heads[first[v] + k] = part[k - base];
            else
                part[k - base] = heads[first[v] + k];
        }
    }
}
