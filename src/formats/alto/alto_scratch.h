/* Memory of running calls of "alto" on the CPU. */
#ifndef PD_ALTO_SCRATCH_H
#define PD_ALTO_SCRATCH_H

#include "formats/alto/alto_kernel.h"
#include "formats/alto/alto_share.h"
#include "formats/format.h"

struct pd_alto_scratch {
  struct pd_scratch base;
  int threads;
  uint64_t rank, padded;
  const struct pd_alto_isa *isa;
  struct pd_rowsum_scratch *sums; /* column blocks, writing of rows, tables of pairs */
  const struct pd_alto_kernel **kernel;
  uint64_t sums_columns;
  struct pd_alto_columns *columns;
  int runs;
  void *keep, *ones;
  double *tiles;     /* PD_ALTO_BLOCK rows of each thread */
  double *sums_rows; /* temporaries, or the atomic edition's sums */
  struct pd_alto_share *share;
  struct pd_alto_sharing sharing[POLYAD_MAX_ORDER];
  double *gains;     /* of each thread, a cache line apart */
  int *parts;        /* lists of parts, one of each thread */
  char *products;    /* stored rows of Pi */
  int products_mode; /* -1: none */
  struct pd_versions products_versions;
};

/** The modes but one as columns of a list, for pair_tables.h; it has no nonzeros of its own. */
struct pd_rowsum pd_alto_other_modes(const struct pd_alto *alto, int mode);

uint64_t pd_alto_scratch_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_alto_scratch_fill(polyad_context *context, const void *storage,
                                   const uint64_t *ranks, void *scratch);

#endif
