/* How MTTKRP walks a tree; one table per instruction set. */
#ifndef PD_CSF_WALK_H
#define PD_CSF_WALK_H

#include "formats/csf/csf_layout.h"
#include "formats/rowsum/driver.h"

/** What all threads of one call share. */
struct pd_csf_job {
  const struct pd_csf *csf;
  const struct pd_csf_tree *tree;
  int level;                            /* of the output mode */
  const struct pd_rowsum_scratch *sums; /* kernels, column blocks */
  const char *factor[POLYAD_MAX_ORDER]; /* of each level */
  uint64_t stride[POLYAD_MAX_ORDER];    /* in bytes */
  bool prefetch;                        /* rows of the last level */
  uint64_t rank, padded;
  struct pd_rowsum_job out; /* the output matrix, for write_row */
  /* Gradients: factor[level] is B, and every value is replaced by the slope of the loss's gain. */
  bool weighs, gains; /* or only the sum of the gains is wanted */
  struct pd_loss loss;
};

/** One thread's part. */
struct pd_csf_part {
  uint64_t begin, end; /* nonzeros */
  double *vectors;     /* scratch: 2 x order + 1 rows of `padded` numbers */
  double *head, *tail; /* root output: sums of a row shared with the part before, after */
  bool has_head, head_ends, has_tail;
  uint64_t head_row, tail_row; /* output rows */
  double *rows;                /* other outputs: this thread's private copy */
  double *whole;               /* gradients: order + 2 rows of `padded` numbers */
  double gain;
};

/** Writes `rank` sums as a row of the output. */
static inline void pd_csf_write_row(const struct pd_rowsum_job *out, const double *restrict sums,
                                    uint64_t index) {
  uint64_t at = index * out->out_stride;
  if (out->type == POLYAD_F32)
    for (uint64_t r = 0; r < out->rank; ++r)
      ((float *)out->out)[at + r] = (float)sums[r];
  else
    for (uint64_t r = 0; r < out->rank; ++r)
      ((double *)out->out)[at + r] = sums[r];
}

typedef void pd_csf_walk_function(const struct pd_csf_job *job, struct pd_csf_part *part);

void pd_csf_walk_plain(const struct pd_csf_job *job, struct pd_csf_part *part);
void pd_csf_walk_avx2(const struct pd_csf_job *job, struct pd_csf_part *part);
void pd_csf_walk_avx512(const struct pd_csf_job *job, struct pd_csf_part *part);

#endif
