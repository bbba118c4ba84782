/* What the kernels get by value: plain numbers, the same on the host and on every device. The
 * backend's header comes first and defines pd_u32 and pd_u64. */
#ifndef PD_PORTABLE_JOB_H
#define PD_PORTABLE_JOB_H

#include "engine/loss.h"

#define PD_PORTABLE_INPUTS 15 /* other modes of a tensor, at most */
#define PD_PORTABLE_STEP 4    /* nonzeros that are worked on together; lists are padded to it */
#define PD_PORTABLE_CHUNK 64  /* nonzeros from one entry of chunk_row to the next */

/* Bits of a group's state. */
#define PD_HAS_FIRST 1u /* its first row began before its segment */
#define PD_HAS_LAST 2u  /* its last row began in its segment and goes on after it */
#define PD_THROUGH 4u   /* its first row neither begins nor ends in the segment */

/* Bits of a pass that only adds up dot products. */
#define PD_DOTS_FIRST 1u
#define PD_DOTS_LAST 2u
#define PD_DOTS_GAINS 4u /* the last sums the gains of each segment, instead of storing slopes */

/* Rows that are summed over the nonzeros of a list. Index k of nonzero p: (word >> shift) & mask.
 */
struct pd_rows_job {
  pd_u64 nnz;
  pd_u64 rows;                   /* output rows that have nonzeros */
  pd_u64 segment;                /* nonzeros of one group, a multiple of PD_PORTABLE_CHUNK */
  pd_u64 blocks, block_nonzeros; /* work groups, and the nonzeros that one takes */
  pd_u64 out_stride, b_stride;
  pd_u64 stride[PD_PORTABLE_INPUTS]; /* of the factors */
  pd_u32 shift[PD_PORTABLE_INPUTS];
  pd_u32 mask[PD_PORTABLE_INPUTS];
  pd_u32 inputs;
  pd_u32 column, columns, rank; /* first column and columns of this pass; columns in all */
  pd_u32 has_row_id;            /* 0: row k of the list is output row k */
  pd_u32 atomic;   /* rows that groups share: 1 added atomically, 0 pulled from carries */
  pd_u32 dots;     /* of a pass that only adds up dot products: PD_DOTS_... */
  pd_u32 prefetch; /* bit k: factor k does not stay in the cache by itself */
  pd_u32 loss;     /* PD_LOSS_... */
  double least;    /* the least model that is divided by */
};

/* Pointers by number: not every language has arrays of pointers as parameters. */
#define PD_LIST(item)                                                                              \
  item(0), item(1), item(2), item(3), item(4), item(5), item(6), item(7), item(8), item(9),        \
      item(10), item(11), item(12), item(13), item(14)
#define PD_PLANE_PARAMETER(k) const PD_GLOBAL pd_u32 *PD_RESTRICT plane##k
#define PD_PLANE_NAME(k) plane##k
#define PD_FACTOR_PARAMETER(k) const PD_GLOBAL REAL *PD_RESTRICT factor##k
#define PD_FACTOR_NAME(k) factor##k
#define PD_PLANE_PARAMETERS PD_LIST(PD_PLANE_PARAMETER)
#define PD_PLANE_NAMES PD_LIST(PD_PLANE_NAME)
#define PD_FACTOR_PARAMETERS PD_LIST(PD_FACTOR_PARAMETER)
#define PD_FACTOR_NAMES PD_LIST(PD_FACTOR_NAME)

#endif
