/* bfs_direction_optimising: breadth-first search by push, by pull, or by one group alone.
 *
 * Purpose   Levels, where every arc has length 1. A launch of bfs_step advances the search. All
 *           work-items derive from a few ints of the last launch what this launch does:
 *             push   vertices of the frontier claim their neighbours that are not seen
 *             pull   vertices that are not seen look for a neighbour that is
 *             walk   the frontier has few arcs: the first group finds level after level alone
 *             march  it has more: a crew of groups does the same, with a barrier after each level
 *             rest   the frontier is empty: nothing
 *           So the host enqueues several launches, and reads the ints only after the last of them.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, and
 *           tails[entering[v] .. entering[v + 1]] those with an arc to v. In a symmetric graph both
 *           are the same buffers. An int of each of these for every vertex:
 *             levels   the level, INFINITE as long as it is not known
 *             parents  with PYAPSP_PREDECESSORS: the vertex from which each was found; never read
 *             queue    the vertices in the order in which they are found, level after level
 *           seen has two bit maps of the vertices that have been found. A launch reads the one, and
 *           writes the other:
 *
 *             launch t       reads NOW  = seen[t % 2]        all vertices up to the frontier
 *                            writes NEXT = seen[1 - t % 2]   all before the frontier, + the frontier
 *                                                            + what is found = NOW of launch t + 1
 *
 *           A push sets bits in NEXT by atomics: a vertex of the frontier its own, and those of the
 *           neighbours that are not in NOW. Who sets a bit first claims the vertex. A pull writes
 *           whole words of NEXT: a vertex that is not in NOW, and has a neighbour in NOW, is in the
 *           next level, because a neighbour before the frontier would have found it. So a launch
 *           may push or pull whatever the last one did.
 *
 *             queue    0 | 3 5 8 | 1 2 9 7 | . . .     levels 0, 1, 2; appended by atomics
 *                                ^ FIRST     ^ FIRST + LIGHT
 *
 *           A vertex with more than PYAPSP_CHUNK arcs is not in the queue. It is in pieces: pairs of
 *           a vertex and a number, for each PYAPSP_CHUNK of its arcs. So all groups share its arcs.
 *           With groups of 1 and without pull, each group has a bit map in `mine` of the vertices
 *           that it has seen. In a level with most of the arcs, most arcs lead to vertices of the
 *           next level. Without the bit map each of these arcs would take an atomic operation.
 *           state: see bfs_direction_optimising.h, which has the macros' defaults, too.
 *
 * Parameters  PYAPSP_GROUP         64          work-items of a group: 1 or a multiple of 32
 *             PYAPSP_PREDECESSORS  0           1: keep the vertex from which each was found
 *             PYAPSP_INFINITY      1073741823  the level of a vertex that is not reached
 *             PYAPSP_OFFSET        long        type of first and entering: int or long
 *             PYAPSP_PULL          1           0: there are no arcs to pull from
 *             PYAPSP_CHUNK         1024        arcs of a piece
 *             PYAPSP_BLOCK         64          with groups of 1: vertices, or words of a bit map,
 *                                              that a group takes at once
 *             PYAPSP_AHEAD         0           with groups of 1: how far ahead in the queue arcs are
 *                                              prefetched; 0 without Clang's builtin for it
 *             PYAPSP_NEAR          0           with groups of 1: 1 if many neighbours have close numbers,
 *                                              as in meshes and road networks: prefetch what follows
 *                                              each vertex that is found
 *             PYAPSP_PROBE         16          with larger groups: arcs that a work-item pulls from
 *                                              alone, before 32 share the others
 *             PYAPSP_STROLL        131072      a frontier with more arcs is pulled from if that is
 *                                              allowed, even if it is small enough for a walk
 *             PYAPSP_CREW          0           with larger groups: groups of a crew; 0: no march
 *           and with a crew those of common/meeting.h.
 *           Arguments of bfs_step: a frontier of at most `walk` vertices and arcs is left to one
 *           group, and one of at most `march` to the crew. A search changes from push to pull if the frontier has more arcs than 1 / alpha
 *           of those of the vertices not found, and at least one for each word of a bit map; and
 *           back if the frontier has at most 1 / beta of the vertices. alpha = 0 is push alone.
 *
 * Cost      Push reads a head and a bit for each arc of the frontier, and has two atomics for each
 *           vertex found. Pull reads the bit map, and the entering arcs of vertices not found up to
 *           the first hit. On graphs of small diameter the frontier of one or two levels has nearly
 *           all arcs; there a pull reads a few per cent of them. Groups take blocks of work with a
 *           ticket, so few groups share levels of any shape, and an empty launch costs only itself.
 *
 *           Estimates for a GPU with 4 TB/s, 3.5 us from launch to launch, 0.6 us for an access to
 *           memory, and groups of 1024:
 *             R-MAT 2^20, 31 M arcs: 1 + 8 launches, 2 or 3 of them pulls. A pull reads a sector of
 *             heads for each of 0.6 M vertices, and the probes of those not found: 20 to 100 MB,
 *             30 us. Push levels have 1 to 3 M arcs, 12 to 40 us, for a sector of atomics each.
 *             In total 0.2 to 0.4 ms. R-MAT 2^22, 128 M arcs: 4 times the bytes, 0.6 to 1.3 ms.
 *             Grid 2048 x 2048, 3,115 levels of 5,400 arcs: a walk has four dependent accesses in a
 *             level, and one group issues 5,400 atomics in 3 us: 5 to 6 us, 16 to 19 ms in total. A
 *             launch for each level would take 3.5 us more. A crew issues the atomics at the same
 *             time and waits 1.5 us: 4 us, 12 to 13 ms.
 *
 * Source    S. Beamer, K. Asanovic, D. Patterson, SC 2012, doi:10.1109/SC.2012.50. There a frontier
 *           is converted between queue and bit map when the direction changes.
 */
#include "traversal/bfs/bfs_direction_optimising.h"

/* A work-item for each vertex; it prepares a search. */
__kernel GROUP void bfs_start(__global const offset_t *first, __global const offset_t *entering,
                              __global int *levels, __global int *parents, __global int *queue,
                              __global int *pieces, __global uint *seen, __global uint *mine,
                              __global int *state, const int source, const int n, const int m)
{
    const int items = get_global_size(0), item = get_global_id(0), words = (n - 1) / WORD + 1;
#if PYAPSP_GROUP == 1
    /* a part of all arrays for each work-item */
    const int part_of = (words - 1) / items + 1, low = min(item * part_of, words);
    const int high = min(low + part_of, words), from = WORD * low, to = min(WORD * high, n), by = 1;
#else
    const int low = item, high = words, from = item, to = n, by = items;
#endif
#if MINE
    for (int word = 0; word < words; word++)
        mine[(size_t)item * words + word] = 0;
#endif
    for (int word = low; word < high; word += by) {
        uint bits = 0;
#if PYAPSP_PULL
        /* it has no arcs, so that no pull has to look for it, and none can find it as a neighbour */
        for (int v = WORD * word; v < min(WORD * word + WORD, n); v++)
            if (entering[v] == entering[v + 1] && first[v] == first[v + 1])
                bits |= BIT(v);
#endif
        if (word == source / WORD)
            bits |= BIT(source);
        seen[word] = seen[words + word] = bits;
    }
    for (int v = from; v < to; v += by)
        levels[v] = v == source ? 0 : PYAPSP_INFINITY;
#if PYAPSP_PREDECESSORS
    for (int v = from; v < to; v += by)
        parents[v] = NO_PREDECESSOR;
#endif
    const int degree = (int)(first[source + 1] - first[source]);
    const int parts = degree > PYAPSP_CHUNK ? (degree - 1) / PYAPSP_CHUNK + 1 : 0;
    for (int part = item; part < parts; part += items) {
        pieces[2 * part] = source;
        pieces[2 * part + 1] = part;
    }
    if (item > 0)
        return;
    queue[0] = source;
    for (int field = 0; field < STATE_SIZE; field++)
        state[field] = 0;
    state[LIGHT] = parts == 0;
    state[PIECES] = parts;
    state[FOUND] = 1;
    state[ARCS] = degree;
    state[REST] = m;
}

__kernel GROUP void bfs_step(__global const offset_t *first, __global const int *heads,
                             __global const offset_t *entering, __global const int *tails,
                             __global int *levels, __global int *parents, __global int *queue,
                             __global int *pieces, __global uint *seen, __global uint *mine,
                             __global int *state, const int n, const int turn, const int walk,
                             const int march, const int alpha, const int beta)
{
    __local int held[HELD];
    __local sums_t sums;
#if PYAPSP_GROUP > 1
    __local int hits[PYAPSP_GROUP], waiting[PYAPSP_GROUP], waits;
    __local uint found_bits[PYAPSP_GROUP / WORD];
    __global uint *map = seen + turn % 2 * ((n - 1) / WORD + 1);
#endif
    const int item = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    const int words = (n - 1) / WORD + 1;
    __global const int *last = state + turn % 4 * RECORD;
    __global int *record = state + (turn + 1) % 4 * RECORD;
    __global const uint *now = seen + turn % 2 * words;
    __global uint *next = seen + (turn + 1) % 2 * words;

    /* what this launch does: the same in all work-items */
    const int light = last[LIGHT], cuts = last[PIECES], size = last[FOUND], arcs = last[ARCS];
    const int rest = last[REST] - arcs, tail = last[FIRST] + light, piece = last[PIECE] + cuts;
    const int pullable = PULLABLE(arcs, rest, n, alpha);
    const int whole = size > 0 && cuts == 0;
    const int walks = whole && size <= walk && arcs <= walk && !(pullable && arcs > PYAPSP_STROLL);
    /* not const: without a crew it would be a constant, which some compilers warn of below */
    int marches = PYAPSP_CREW && whole && !walks && size <= march && arcs <= march;
    int pulls = 0;
#if PYAPSP_PULL
    if (size > 0 && !walks && !marches && alpha > 0)
        pulls = last[PULLED] ? size > n / beta : pullable;
#endif
    const int pushes = size > 0 && !walks && !marches && !pulls;
    search_t search = {first, heads, levels, parents, queue, pieces, last[LEVEL] + 1};

    if (group == 0 && item == 0) {
        for (int field = 0; field < SUMS; field++)
            state[(turn + 2) % 4 * RECORD + field] = 0;
        for (int field = 0; PYAPSP_CREW && !marches && field < 12; field++)
            state[CREW_SUMS + field] = 0;
        if (!walks && !marches) {
            record[LEVEL] = last[LEVEL] + (size > 0);
            record[FIRST] = tail;
            record[PIECE] = piece;
            record[REST] = rest;
            record[PULLED] = pulls;
        }
    }
    if (item == 0)
        sums.count = sums.found = sums.arcs = 0;
    SYNC();

    /* walk: the first group alone. A work-item alone looks at levels, and sets the bits of all that
     * it found at the end. More of them claim in NOW; NEXT still lacks the frontier. */
    int walking = walks && group == 0, from = last[FIRST], width = light, left = rest, span = arcs;
    int own_found = 0, own_arcs = 0;
#if PYAPSP_GROUP > 1
    for (int i = item; walking && i < width; i += PYAPSP_GROUP) {
        const int u = queue[from + i];
        atomic_or(&next[u >> 5], BIT(u));
    }
#endif
    while (walking) {
#if PYAPSP_GROUP == 1
        __global uint *map = seen + turn % 2 * words;
        int count = from + width, made = 0;
        span = 0;
        for (int i = from; i < from + width; i++) {
            const int u = queue[i];
            /* its offset is in the cache, from when the vertex was found */
            PREFETCH(&heads[first[queue[min(i + PYAPSP_AHEAD, count - 1)]]]);
            const offset_t end = first[u + 1];
            for (offset_t a = first[u]; a < end; a++) {
                const int v = heads[a];
                if (levels[v] < PYAPSP_INFINITY)
                    continue;
                settle(&search, v, u);
                const offset_t start = first[v];
                const int degree = (int)(first[v + 1] - start);
                span += degree;
                prefetch_next(&search, v, start);
                if (degree > PYAPSP_CHUNK) {
                    map[v >> 5] |= BIT(v);
                    next[v >> 5] |= BIT(v);
                    cut(&search, v, degree, piece, record);
                    made++;
                } else
                    queue[count++] = v;
            }
        }
        from += width;
        width = count - from;
        const int total = width + made;
#else
        const int lanes = lanes_for(width, span, PYAPSP_GROUP);
        for (int i = item / lanes; i < width; i += PYAPSP_GROUP / lanes) {
            const int u = queue[from + i];
            const offset_t end = first[u + 1];
            for (offset_t a = first[u] + item % lanes; a < end; a += lanes) {
                const int v = heads[a], degree = claim(&search, map, next, v, u);
                if (degree < 0)
                    continue;
                atomic_add(&sums.found, 1);
                atomic_add(&sums.arcs, degree);
                if (degree > PYAPSP_CHUNK)
                    cut(&search, v, degree, piece, record);
                else
                    queue[from + width + atomic_inc(&sums.count)] = v;
            }
        }
        SYNC();
        from += width;
        width = sums.count;
        span = sums.arcs;
        const int total = sums.found, made = total - width;
        SYNC();
        if (item == 0)
            sums.count = sums.found = sums.arcs = 0;
        SYNC();
#endif
        walking = total > 0 && made == 0 && total <= walk && span <= walk &&
                  !(span > PYAPSP_STROLL && PULLABLE(span, left - span, n, alpha));
#if PYAPSP_GROUP == 1
        for (int i = walking || total == 0 ? count : last[FIRST]; i < count; i++) {
            const int v = queue[i];
            map[v >> 5] |= BIT(v);
            next[v >> 5] |= BIT(v);
        }
#endif
        if (!walking && item == 0)
            leave(record, width, total, span, search.level, from, piece, left);
        left -= span;
        search.level++;
    }

#if PYAPSP_CREW
    /* march: the groups of the crew find level after level, and claim in NOW as in a walk */
    int crew = 0, rank = -1;
    if (marches && group < PYAPSP_CREW)
        rank = enter(&record[ENTERED], min(PYAPSP_CREW, groups), &crew, waiting);
    int marching = rank >= 0;
    for (int i = rank * PYAPSP_GROUP + item; marching && i < width; i += crew * PYAPSP_GROUP) {
        const int u = queue[from + i];
        atomic_or(&next[u >> 5], BIT(u));
    }
    for (int at = 1; marching; at++) {
        counters_t found = state + CREW_SUMS + at % 3 * 4;
        if (rank == 0 && item < 4)
            put(state + CREW_SUMS + (at + 1) % 3 * 4 + item, 0);
        const int lanes = lanes_for(width, span, crew * PYAPSP_GROUP), rows = PYAPSP_GROUP / lanes;
        for (int i = rank * rows + item / lanes; i < width; i += crew * rows) {
            const int u = queue[from + i];
            const offset_t end = first[u + 1];
            for (offset_t a = first[u] + item % lanes; a < end; a += lanes) {
                const int v = heads[a], degree = claim(&search, map, next, v, u);
                if (degree < 0)
                    continue;
                atomic_add(&sums.found, 1);
                atomic_add(&sums.arcs, degree);
                if (degree > PYAPSP_CHUNK) {
                    cut(&search, v, degree, piece, record);
                    continue;
                }
                const int place = atomic_inc(&sums.count);
                if (place < HELD)
                    held[place] = v;
                else
                    queue[from + width + atomic_inc(&found[LIGHT])] = v;
            }
        }
        SYNC();
        const int count = min(sums.count, HELD);
        if (item == 0 && sums.found > 0) {
            sums.base = atomic_add(&found[LIGHT], count);
            atomic_add(&found[FOUND], sums.found);
            atomic_add(&found[ARCS], sums.arcs);
        }
        SYNC();
        for (int i = item; i < count; i += PYAPSP_GROUP)
            queue[from + width + sums.base + i] = held[i];
        marching = meet(&record[ARRIVED], &state[STALLED], crew, at, rank, waiting);
        if (item == 0) {
            /* after a stall the queue may have gaps: later launches find nothing to do */
            sums.count = marching ? look(&found[LIGHT]) : 0;
            sums.found = marching ? look(&found[FOUND]) : 0;
            sums.arcs = marching ? look(&found[ARCS]) : 0;
        }
        SYNC();
        from += width;
        width = sums.count;
        span = sums.arcs;
        const int total = sums.found;
        SYNC();
        if (item == 0)
            sums.count = sums.found = sums.arcs = 0;
        SYNC();
        marching = total > 0 && total == width && total <= march && span <= march;
        if (!marching && rank == 0 && item == 0)
            leave(record, width, total, span, search.level, from, piece, left);
        left -= span;
        search.level++;
    }
#endif

    /* push: blocks are pieces, and then vertices of the queue */
#if PYAPSP_GROUP == 1
    const int lanes = 1, block = PYAPSP_BLOCK;
#else
    const int lanes = lanes_for(light, arcs, groups * PYAPSP_GROUP), block = PYAPSP_GROUP / lanes;
#endif
    const int to_push = pushes ? cuts + (light + block - 1) / block : 0;
    int taken = to_push > 0 ? 0 : 1;
    while (taken < max(to_push, 1)) {
        if (item == 0)
            sums.ticket = atomic_inc(&record[TICKET]);
        SYNC();
        taken = sums.ticket;
        const int is_piece = taken < cuts;
        const int low = is_piece ? taken : (taken - cuts) * block;
        const int high = taken >= to_push ? 0 : is_piece ? low + 1 : min(low + block, light);
        const int share = is_piece ? PYAPSP_GROUP : lanes;
        for (int i = low + item / share; i < high; i += PYAPSP_GROUP / share) {
            const int u = is_piece ? pieces[2 * (last[PIECE] + i)] : queue[last[FIRST] + i];
            const int part = is_piece ? pieces[2 * (last[PIECE] + i) + 1] : 0;
#if PYAPSP_AHEAD > 0
            if (!is_piece) {
                __global const int *soon = queue + last[FIRST];
                const offset_t row = first[soon[min(i + PYAPSP_AHEAD, high - 1)]];
                PREFETCH(&first[soon[min(i + 2 * PYAPSP_AHEAD, high - 1)]]);
                PREFETCH(&heads[row]);
                PREFETCH(&heads[row + 16]);
                PREFETCH(&heads[row + 32]);
            }
#endif
            const offset_t start = first[u] + (offset_t)part * PYAPSP_CHUNK;
            const offset_t end = is_piece ? min(start + PYAPSP_CHUNK, first[u + 1]) : first[u + 1];
            if (item % share == 0 && part == 0)
                atomic_or(&next[u >> 5], BIT(u));
            for (offset_t a = start + item % share; a < end; a += share) {
                const int v = heads[a];
#if MINE
                __global uint *own = mine + (size_t)group * words + (v >> 5);
                const uint met = *own;
                if (met & BIT(v))
                    continue;
                *own = met | BIT(v);
#endif
                if (HAS(now, v) || (atomic_or(&next[v >> 5], BIT(v)) & BIT(v)))
                    continue;
                settle(&search, v, u);
                append(&search, v, tail, piece, held, &sums, &own_found, &own_arcs, record);
            }
        }
        SYNC();
        APPEND_HELD();
    }

#if PYAPSP_PULL
    /* pull: blocks are words of the bit map */
#if PYAPSP_GROUP == 1
    const int stretch = PYAPSP_BLOCK;
#else
    const int stretch = PYAPSP_GROUP / WORD;
#endif
    const int to_pull = pulls ? (words + stretch - 1) / stretch : 0;
    taken = to_pull > 0 ? 0 : 1;
    while (taken < max(to_pull, 1)) {
        if (item == 0)
            sums.ticket = atomic_inc(&record[TICKET]);
        SYNC();
        taken = sums.ticket;
#if PYAPSP_GROUP == 1
        for (int w = taken * stretch; taken < to_pull && w < min((taken + 1) * stretch, words);
             w++) {
            const uint before = now[w];
            uint missing = ~before, bits = 0;
            if (w == words - 1 && n % WORD)
                missing &= (1u << n % WORD) - 1;
            while (missing) {
                const int v = WORD * w + 31 - clz(missing & -missing);
                missing &= missing - 1;
                const offset_t end = entering[v + 1];
                for (offset_t a = entering[v]; a < end; a++) {
                    const int u = tails[a];
                    if (!HAS(now, u))
                        continue;
                    bits |= BIT(v);
                    settle(&search, v, u);
                    append(&search, v, tail, piece, held, &sums, &own_found, &own_arcs, record);
                    break;
                }
            }
            next[w] = before | bits;
        }
#else
        const int v = taken < to_pull ? taken * PYAPSP_GROUP + item : n;
        if (item < PYAPSP_GROUP / WORD)
            found_bits[item] = 0;
        if (item == 0)
            waits = 0;
        hits[item] = -1;
        SYNC();
        int u = -1, place = -1;
        if (v < n && !HAS(now, v)) {
            const offset_t start = entering[v], end = entering[v + 1];
            const offset_t stop = min(end, start + PYAPSP_PROBE);
            for (offset_t a = start; a < stop && u < 0; a++)
                if (HAS(now, tails[a]))
                    u = tails[a];
            if (u < 0 && stop < end) {
                place = atomic_inc(&waits);
                waiting[place] = v;
            }
        }
        SYNC();
        for (int i = item / WORD; i < waits; i += PYAPSP_GROUP / WORD) {
            const offset_t end = entering[waiting[i] + 1];
            offset_t a = entering[waiting[i]] + PYAPSP_PROBE + item % WORD;
            for (; a < end && atomic_or(&hits[i], 0) < 0; a += WORD)
                if (HAS(now, tails[a]))
                    atomic_max(&hits[i], tails[a]);
        }
        SYNC();
        if (place >= 0)
            u = hits[place];
        if (u >= 0) {
            atomic_or(&found_bits[item / WORD], BIT(v));
            settle(&search, v, u);
            append(&search, v, tail, piece, held, &sums, &own_found, &own_arcs, record);
        }
        SYNC();
        const int w = taken * (PYAPSP_GROUP / WORD) + item;
        if (taken < to_pull && item < PYAPSP_GROUP / WORD && w < words)
            next[w] = now[w] | found_bits[item];
#endif
        APPEND_HELD();
    }
#endif

    if (own_found > 0) {
        LOCAL_ADD(&sums.found, own_found);
        LOCAL_ADD(&sums.arcs, own_arcs);
    }
    SYNC();
    if (item == 0 && sums.found > 0) {
        atomic_add(&record[FOUND], sums.found);
        atomic_add(&record[ARCS], sums.arcs);
    }
}

/* A work-item for some vertices: levels as ints of so many bytes, 1, 2 or 4; -1 if not reached. */
__kernel GROUP void bfs_narrow(__global const int *levels, __global void *narrow, const int n,
                               const int bytes)
{
    for (int v = get_global_id(0); v < n; v += get_global_size(0)) {
        const int level = levels[v] < PYAPSP_INFINITY ? levels[v] : -1;
        if (bytes == 1)
            ((__global char *)narrow)[v] = (char)level;
        else if (bytes == 2)
            ((__global short *)narrow)[v] = (short)level;
        else
            ((__global int *)narrow)[v] = level;
    }
}
