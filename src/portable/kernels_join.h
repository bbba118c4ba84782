/* What joins or prepares the results of the kernels over rows.
 *
 * Rows that several work groups have parts of: pulled from their carries in the order of the work
 * groups. A work item has one column of the row that goes on after its work group. Include once per
 * type. */
#include "portable/real_types.h"

PD_KERNEL OF_TYPE(join_rows)(PD_ITEM PD_JOB(pd_rows_job) job,
                             const PD_GLOBAL pd_u64 *PD_RESTRICT row_start,
                             const PD_GLOBAL pd_u32 *PD_RESTRICT row_id,
                             const PD_GLOBAL pd_u32 *PD_RESTRICT chunk_row,
                             const PD_GLOBAL REAL *PD_RESTRICT head,
                             const PD_GLOBAL REAL *PD_RESTRICT tail,
                             PD_GLOBAL REAL *PD_RESTRICT out) {
  const pd_u64 block = PD_INDEX / job.columns, column = job.column + PD_INDEX % job.columns;
  if (block + 1 >= job.blocks) return;
  const pd_u64 end = (block + 1) * job.block_nonzeros;
  const pd_u64 row = chunk_row[end / PD_PORTABLE_CHUNK], start = row_start[row];
  if (start == end || start < block * job.block_nonzeros) return;
  const pd_u64 last = (row_start[row + 1] - 1) / job.block_nonzeros;
  REAL sum = tail[block * job.rank + column];
  for (pd_u64 from = block + 1; from <= last; ++from)
    sum += head[from * job.rank + column];
  out[(job.has_row_id ? row_id[row] : row) * job.out_stride + column] = sum;
}

/* Zeroes the rows of `out` that have no nonzeros, or all of them where parts will be added: one
 * work item per entry. used NULL: all. */
PD_KERNEL OF_TYPE(zero_rows)(PD_ITEM PD_JOB(pd_rows_job) job,
                             const PD_GLOBAL pd_u32 *PD_RESTRICT used, pd_u64 rows,
                             PD_GLOBAL REAL *PD_RESTRICT out) {
  const pd_u64 row = PD_INDEX / job.rank;
  if (row >= rows) return;
  if (!job.atomic && (used[row / 32] >> row % 32 & 1u) != 0) return;
  out[row * job.out_stride + PD_INDEX % job.rank] = 0;
}

/* The sums of `each` consecutive numbers, in order; the last may be of fewer. */
PD_KERNEL OF_TYPE(sum_gains)(PD_ITEM pd_u64 count, pd_u64 each,
                             const PD_GLOBAL double *PD_RESTRICT from,
                             PD_GLOBAL double *PD_RESTRICT to) {
  const pd_u64 begin = PD_INDEX * each, end = begin + each < count ? begin + each : count;
  if (PD_INDEX > 0 && begin >= count) return;
  double sum = 0;
  for (pd_u64 k = begin; k < end; ++k)
    sum += from[k];
  to[PD_INDEX] = sum;
}

#include "portable/real_types_end.h"
