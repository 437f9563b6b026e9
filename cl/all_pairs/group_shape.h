/* The work-items of a group.
 *
 *     macro           default  meaning
 *     PYAPSP_GROUP_X  32       along a row
 *     PYAPSP_GROUP_Y  8        along a column
 */
#ifndef ALL_PAIRS_GROUP_SHAPE_H
#define ALL_PAIRS_GROUP_SHAPE_H
#ifndef PYAPSP_GROUP_X
#define PYAPSP_GROUP_X 32
#endif
#ifndef PYAPSP_GROUP_Y
#define PYAPSP_GROUP_Y 8
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP_X, PYAPSP_GROUP_Y, 1)))
#endif
