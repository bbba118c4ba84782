/* Sums by output row: the CPU's MTTKRP of nonzeros that are sorted by the output mode.
 *
 *   row_id     [ 2 | 5 | 6 ... ]            rows that have nonzeros, ascending
 *   row_start  [ 0 | 3 | 4 ... | nnz ]      where their nonzeros begin
 *   id[0]      [ 7 9 9 | 1 | ... ]          index in the first other mode, one per nonzero
 *   id[1]      [ 0 4 5 | 3 | ... ]          ... and so on
 *   values     [ x x x | x | ... ]
 *
 * Threads take equal numbers of nonzeros. A row that spans threads is summed from their parts in
 * the order of the threads, so the result depends on the number of threads only. */
#ifndef PD_ROWSUM_H
#define PD_ROWSUM_H

#include "core/core.h"
#include <polyad/tensor.h>

struct pd_rowsum {
  uint64_t nnz, rows;
  int start_bytes;                /* of one row_start: 4 or 8 */
  int row_bytes;                  /* of one row_id: 4 or 8 */
  const void *row_start;          /* rows + 1 */
  const void *row_id;             /* rows */
  int columns;                    /* other modes, 0 or more */
  int mode[POLYAD_MAX_ORDER];     /* which mode each column belongs to */
  int id_bytes[POLYAD_MAX_ORDER]; /* 2, 4 or 8 */
  const void *id[POLYAD_MAX_ORDER];
  const void *values; /* of the type of the factors */
};

/** Memory of running jobs of one type and rank, and the kernels they use. */
struct pd_rowsum_scratch;

/** `threads` of the context is what jobs will run with. */
polyad_status pd_rowsum_scratch_create(polyad_context *context, polyad_type type, uint64_t rank,
                                       struct pd_rowsum_scratch **scratch);
void pd_rowsum_scratch_destroy(polyad_context *context, struct pd_rowsum_scratch *scratch);
/** Bytes that it takes. */
uint64_t pd_rowsum_scratch_bytes(uint64_t rank, int threads);

/** What one call works on. Factors and `out` are row major, strides in elements. */
struct pd_rowsum_job {
  const struct pd_rowsum *list;
  polyad_type type;
  uint64_t rank;
  const void *factor[POLYAD_MAX_ORDER]; /* one per column */
  uint64_t stride[POLYAD_MAX_ORDER];
  uint64_t factor_rows[POLYAD_MAX_ORDER];
  void *out;
  uint64_t out_rows, out_stride;
};

/** out = sums; wholly overwritten. */
void pd_rowsum_run(const struct pd_rowsum_job *job, struct pd_rowsum_scratch *scratch);

#endif
