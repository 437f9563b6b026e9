/* arrangement: copies the arrays of tasks from rows to lanes, and back.
 *
 * Purpose   In the interleaved scheme the arrays of V tasks are stored side by side, entry by
 *           entry: V work-items that access entry j of their tasks access V neighbouring entries.
 *           On the host the arrays are in rows. These kernels convert between both layouts.
 *
 * Layout    rows: [task][j]. lanes: blocks of V tasks, [block][j][lane], task = block V + lane; in
 *           a last block that is not full, the other lanes repeat its last task.
 *
 *                rows            lanes, V = 4           a tile of T entries of V tasks goes through
 *               j j j j j       t t t t                 local memory, padded by one entry, so that
 *             t a b c . .     j a d . .                 both sides are read and written in rows
 *             t d e f . .  -> j b e . .
 *             t . . . . .     j c f . .
 *             t . . . . .     j . . . .
 *
 *           On devices where a group is one work-item (PYAPSP_GROUP 1), it copies the whole tile,
 *           without local memory.
 *
 * Parameters  PYAPSP_ITEM  uint  an unsigned type as wide as an entry
 *             PYAPSP_LANES   32  V
 *             PYAPSP_TILE    32  T
 *             PYAPSP_GROUP  256  work-items of a group
 *
 * Cost      Every entry is read once and written once. Groups: blocks x ceil(size / T).
 *
 * Source    F. Ino et al., a parallel scheme for parameter sweep applications on a GPU, 2013,
 *           section 4.1, figures 3 and 4. There one block of 32 tasks is converted at a time.
 */
#ifndef PYAPSP_ITEM
#define PYAPSP_ITEM uint
#endif
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 32
#endif
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 32
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 256
#endif

#define V PYAPSP_LANES
#define T PYAPSP_TILE
#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

typedef PYAPSP_ITEM item_t;

/* The tile of a group: its block of tasks, and its first entry. */
#define PLACE                                                                                      \
    const int tiles = (size + T - 1) / T;                                                          \
    const int block = get_group_id(0) / tiles;                                                     \
    const int first = get_group_id(0) % tiles * T;                                                 \
    const int entries = min(T, size - first);                                                      \
    const int lanes = min(V, tasks - block * V);                                                   \
    const size_t row = (size_t)block * V * size + first;                                           \
    const size_t lane = ((size_t)block * size + first) * V;

__kernel GROUP void interleave(__global const item_t *restrict rows, __global item_t *restrict out,
                               const int size, const int tasks)
{
    PLACE
#if PYAPSP_GROUP == 1
    for (int j = 0; j < entries; j++)
        for (int t = 0; t < V; t++)
            out[lane + j * V + t] = rows[row + (size_t)min(t, lanes - 1) * size + j];
#else
    __local item_t tile[V][T + 1];
    for (int i = get_local_id(0); i < V * T; i += PYAPSP_GROUP)
        if (i % T < entries)
            tile[i / T][i % T] = rows[row + (size_t)min(i / T, lanes - 1) * size + i % T];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < V * T; i += PYAPSP_GROUP)
        if (i / V < entries)
            out[lane + i] = tile[i % V][i / V];
#endif
}

__kernel GROUP void separate(__global const item_t *restrict in, __global item_t *restrict rows,
                             const int size, const int tasks)
{
    PLACE
#if PYAPSP_GROUP == 1
    for (int t = 0; t < lanes; t++)
        for (int j = 0; j < entries; j++)
            rows[row + (size_t)t * size + j] = in[lane + j * V + t];
#else
    __local item_t tile[V][T + 1];
    for (int i = get_local_id(0); i < V * T; i += PYAPSP_GROUP)
        if (i / V < entries && i % V < lanes)
            tile[i % V][i / V] = in[lane + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < V * T; i += PYAPSP_GROUP)
        if (i % T < entries && i / T < lanes)
            rows[row + (size_t)(i / T) * size + i % T] = tile[i / T][i % T];
#endif
}
