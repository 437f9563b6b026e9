/* fw-packed4, fw-packed8, fw-packed16: blocked Floyd-Warshall on distances of 4, 8 or 16 bits.
 *
 * Purpose   Where all finite distances are below 2^b - 1, several of them are added and compared by
 *           one instruction, and the matrix is 32/b times smaller than one of 32-bit values.
 *
 * Layout    Fields of b bits, where 2^b - 1 is infinity. With PYAPSP_FORM 0 a word has 32/b of
 *           them, the first vertex in the lowest bits; with PYAPSP_FORM 1 a word is one field, and
 *           the vector instructions of the device take several words. For b = 4 and t = 64:
 *
 *               64 vertices = 8 words of 8 fields
 *             +---+---+---+---+---+---+---+---+
 *             |   |   |   |   |   |   |   |   |  64 rows      a tile: 512 words
 *
 *           Everything else is as in the unpacked kernels.
 *
 * Parameters  those of common/types.h, all_pairs/dense/words.h (here PYAPSP_FIELD_BITS is 4 by default),
 *             all_pairs/dense/tile_update.h and all_pairs/dense/soft_sync.h, and
 *             PYAPSP_SINGLE  0  0: the kernels of fw_multikernel.cl; 1: that of fw_singlekernel.cl
 *
 * Cost      as the unpacked kernels, with 32/b updates per word: 11 operations for the sum and 10
 *           for the minimum with PYAPSP_FORM 0.
 *
 * Source    D. Takafuji's thesis, 2020, section 3.2.4 (fields of 4 bits) and section 3.6 (fields
 *           and vectors on a CPU); chapter 3 as an article: doi:10.1002/cpe.5963.
 */
#ifndef PYAPSP_FIELD_BITS
#define PYAPSP_FIELD_BITS 4
#endif
#ifndef PYAPSP_SINGLE
#define PYAPSP_SINGLE 0
#endif

/* outside of the condition: the host inserts included files without evaluating conditions */
#include "all_pairs/dense/tile_update.h"
#if PYAPSP_SINGLE
#include "all_pairs/dense/fw_singlekernel.cl"
#else
#include "all_pairs/dense/fw_multikernel.cl"
#endif
