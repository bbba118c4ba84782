/* Tensors that are partly dense, and running kernels of "hls" on any device. */
#ifndef HLS_FIXTURE_H
#define HLS_FIXTURE_H

#include "formats/hls/hls_layout.h"
#include "oracle/mttkrp_oracle.h"

/* Nonzeros drawn into tiles over the first three modes (with repeats), and `scattered` more. */
struct mixture {
  int order;
  uint64_t dims[PD_HLS_MAX_ORDER];
  uint64_t dense_tiles, cells, scattered;
};
extern const struct mixture mixtures[];
extern const int mixture_count;

polyad_tensor *mixture_tensor(polyad_context *context, const struct mixture *mixture,
                              polyad_type type);

/* The nonzeros as the storage has them (a compute type rounds them), and factors. */
struct hls_problem {
  struct oracle_tensor tensor;
  uint64_t *index;
  double *value;
  double *factor[PD_HLS_MAX_ORDER];
  uint64_t ranks[PD_HLS_MAX_ORDER];
};
void hls_problem_make(polyad_context *context, const struct pd_hls *hls, uint64_t rank,
                      bool unequal, struct hls_problem *problem);
void hls_problem_free(struct hls_problem *problem);
size_t hls_problem_columns(const struct hls_problem *problem, int mode, bool chain);

/* Runs MTTKRP or the chain on the context's device; out is dims[mode] x columns. */
void hls_problem_run(polyad_context *context, const struct polyad_kernels *kernels,
                     const struct pd_hls *hls, const void *on_device,
                     const struct hls_problem *problem, int mode, bool chain, double *out);

#endif
