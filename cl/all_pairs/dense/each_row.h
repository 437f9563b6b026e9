/* EACH_ROW(DO): statements for each row of a register block, DO(0) DO(1) and so on.
 *
 * Not every compiler keeps a private array in registers, so the rows are separate variables, whose
 * names end in the number of the row.
 *
 *     macro        default  meaning
 *     PYAPSP_ROWS  1        rows: 1, 2, 4, 6, 8, 12 or 16
 */
#ifndef DENSE_EACH_ROW_H
#define DENSE_EACH_ROW_H
#ifndef PYAPSP_ROWS
#define PYAPSP_ROWS 1
#endif

#if PYAPSP_ROWS == 1
#define EACH_ROW(DO) DO(0)
#elif PYAPSP_ROWS == 2
#define EACH_ROW(DO) DO(0) DO(1)
#elif PYAPSP_ROWS == 4
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3)
#elif PYAPSP_ROWS == 6
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#elif PYAPSP_ROWS == 8
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#elif PYAPSP_ROWS == 12
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#elif PYAPSP_ROWS == 16
#define EACH_ROW(DO)                                                                               \
    DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)                                                \
    DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#else
#error "PYAPSP_ROWS must be 1, 2, 4, 6, 8, 12 or 16"
#endif
#endif
