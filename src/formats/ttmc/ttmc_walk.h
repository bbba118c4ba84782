/* How the chain walks nonzeros; one function per instruction set. */
#ifndef PD_TTMC_WALK_H
#define PD_TTMC_WALK_H

#include "formats/rowsum/driver.h"
#include "formats/ttmc/ttmc_source.h"

/** What all threads of one call share. */
struct pd_ttmc_job {
  const struct pd_ttmc_source *source;
  const void *factor[POLYAD_MAX_ORDER]; /* of each column */
  uint64_t stride[POLYAD_MAX_ORDER];    /* in elements */
  uint64_t rank[POLYAD_MAX_ORDER];      /* of each column */
  uint64_t size[POLYAD_MAX_ORDER + 1];  /* product of the ranks from a column on */
  const uint32_t *place; /* where each number of a row of sums belongs; NULL: where it is */
  struct pd_matrix *out;
};

/** One thread's part. */
struct pd_ttmc_part {
  uint64_t begin, end;               /* nonzeros, in the source's order */
  double *sum[POLYAD_MAX_ORDER + 1]; /* of each column: what is summed below it; sum[0]: the row */
  double *head, *tail;               /* sums of a row shared with the part before, after */
  bool has_head, head_ends, has_tail;
  uint64_t head_row, tail_row;
  struct pd_ttmc_block *block;
};

typedef void pd_ttmc_walk_function(const struct pd_ttmc_job *job, struct pd_ttmc_part *part);

void pd_ttmc_walk_plain(const struct pd_ttmc_job *job, struct pd_ttmc_part *part);
void pd_ttmc_walk_avx2(const struct pd_ttmc_job *job, struct pd_ttmc_part *part);
void pd_ttmc_walk_avx512(const struct pd_ttmc_job *job, struct pd_ttmc_part *part);
/** Writes sums as a row of the output; zeroes rows [begin, end). */
void pd_ttmc_write_row(const struct pd_ttmc_job *job, const double *sums, uint64_t row);
void pd_ttmc_zero_rows(const struct pd_ttmc_job *job, uint64_t begin, uint64_t end);

#endif
