/* The number of work-items of a group, in one dimension.
 *
 *     macro         default  meaning
 *     PYAPSP_GROUP  64       work-items of a group
 *
 *     GROUP         the attribute of a kernel that has groups of this size
 */
#ifndef COMMON_GROUP_SIZE_H
#define COMMON_GROUP_SIZE_H
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

#endif /* COMMON_GROUP_SIZE_H */
