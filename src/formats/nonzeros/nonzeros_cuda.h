/* GPU side of formats that list every nonzero: what their lists are to the kernels, and running
 * them. */
#ifndef PD_NONZEROS_CUDA_H
#define PD_NONZEROS_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/nonzeros/nonzeros_gpu.h"
#include "formats/scratch_cuda.h"

enum { PD_NZ_LISTS = 3 * POLYAD_MAX_ORDER, PD_NZ_SIDES = 2 /* streams beside the device's own */ };

/** One list. */
struct pd_nz_device_list {
  struct pd_nz_list list;
  int levels;                  /* the order of the tensor */
  int level[POLYAD_MAX_ORDER]; /* mode of each slot */
  int mode;                    /* output mode that the list serves, -1: every mode */
  int kind;                    /* which of the format's kernels runs it */
};

/** The lists of a storage on the device. */
struct pd_nz_lists {
  const struct pd_nz *head;
  const struct pd_nz_cuda *format;
  int count;
  struct pd_nz_device_list list[PD_NZ_LISTS];
};

/** What a format says about itself. */
struct pd_nz_cuda {
  /** Adds the lists of a storage on the device with pd_nz_add_list(). */
  void (*describe)(const void *storage, struct pd_nz_lists *to);
  pd_nz_launcher f32[3], f64[3];             /* by kind */
  pd_nz_chain_launcher chain_f32, chain_f64; /* of kind 0, which is its only one; NULL: none */
  bool sorted[3];                            /* by kind: whether its kernels need heads and tails */
};

/** A workspace. */
struct pd_nz_scratch {
  struct pd_scratch base;
  struct pd_nz_lists lists;
  void *head, *tail;
  void *copies; /* of a short output; NULL: none */
  /* Where lists of one mode run beside each other; NULL where a mode has one list. */
  cudaStream_t side[PD_NZ_SIDES];
  cudaEvent_t begin, done[PD_NZ_SIDES];
};

/** A new list, without arrays; `levels` are the modes of its slots. */
struct pd_nz_device_list *pd_nz_add_list(struct pd_nz_lists *to, int mode, const int *levels);

uint64_t pd_nz_cuda_workspace_bytes(const struct pd_nz_cuda *format, const void *storage,
                                    uint64_t rank);
polyad_status pd_nz_cuda_fill(polyad_context *context, const struct pd_nz_cuda *format,
                              const void *storage, uint64_t rank, void *scratch);
void pd_nz_cuda_clear(polyad_context *context, void *scratch);
polyad_status pd_nz_cuda_run(polyad_context *context, const void *storage, void *scratch,
                             const struct pd_call *call);

/** The tensor-times-matrix chain. */
uint64_t pd_nz_chain_workspace_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_nz_chain_fill(polyad_context *context, const struct pd_nz_cuda *format,
                               const void *storage, const uint64_t *ranks, void *scratch);
polyad_status pd_nz_chain_run(polyad_context *context, const void *storage, void *scratch,
                              const struct pd_call *call);

/** The launch of one list for an output mode: inputs in the order of the list's levels. Returns
 *  whether all matrices are aligned. */
int pd_nz_prepare(const struct pd_nz_device_list *list, int mode,
                  const struct pd_matrix *const *factors, const struct pd_matrix *out,
                  struct pd_nz_launch *launch);

/** NAME_cuda_lists, the walk of a format that says NAME_on_cuda about itself, whose lists are
 * sorted in the default variant or not, */
#define PD_NZ_WALK_CUDA(name, are_sorted)                                                          \
  static uint64_t name##_cuda_workspace_bytes(const void *storage, const uint64_t *ranks,          \
                                              int threads) {                                       \
    (void)threads;                                                                                 \
    return pd_nz_cuda_workspace_bytes(&name##_on_cuda, storage, ranks[0]);                         \
  }                                                                                                \
  static polyad_status name##_cuda_fill(polyad_context *context, const void *storage,              \
                                        const uint64_t *ranks, void *scratch) {                    \
    return pd_nz_cuda_fill(context, &name##_on_cuda, storage, ranks[0], scratch);                  \
  }                                                                                                \
  static const struct pd_walk name##_cuda_lists = {                                                \
      .ops = PD_OPS_MTTKRP,                                                                        \
      .any_order = !(are_sorted),                                                                  \
      .scratch_bytes = sizeof(struct pd_nz_scratch),                                               \
      .workspace_bytes = name##_cuda_workspace_bytes,                                              \
      .fill = name##_cuda_fill,                                                                    \
      .clear = pd_nz_cuda_clear,                                                                   \
      .run = pd_nz_cuda_run,                                                                       \
  };
/** and NAME_cuda_chain, that of the chain. */
#define PD_NZ_CHAIN_CUDA(name)                                                                     \
  static polyad_status name##_cuda_chain_fill(polyad_context *context, const void *storage,        \
                                              const uint64_t *ranks, void *scratch) {              \
    return pd_nz_chain_fill(context, &name##_on_cuda, storage, ranks, scratch);                    \
  }                                                                                                \
  static const struct pd_walk name##_cuda_chain = {                                                \
      .ops = PD_OPS_TTMC,                                                                          \
      .any_order = true,                                                                           \
      .scratch_bytes = sizeof(struct pd_nz_scratch),                                               \
      .workspace_bytes = pd_nz_chain_workspace_bytes,                                              \
      .fill = name##_cuda_chain_fill,                                                              \
      .run = pd_nz_chain_run,                                                                      \
  };

#endif
