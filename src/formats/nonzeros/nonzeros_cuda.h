/* GPU side of formats that list every nonzero: putting lists on the device and running them. */
#ifndef PD_NONZEROS_CUDA_H
#define PD_NONZEROS_CUDA_H

#include "device/cuda/cuda_state.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/nonzeros/nonzeros_gpu.h"

enum { PD_NZ_LISTS = 3 * POLYAD_MAX_ORDER };

/** One list while it is put on the device. */
struct pd_nz_device_list {
  struct pd_nz_list list;
  int levels;                  /* the order of the tensor */
  int level[POLYAD_MAX_ORDER]; /* mode of each slot */
  int mode;                    /* output mode that the list serves, -1: every mode */
  int kind;                    /* which of the format's kernels runs it */
};

/** What kernels get as `storage`. */
struct pd_nz_on_device {
  const struct pd_nz *host;
  const struct pd_nz_cuda *format;
  int lists;
  struct pd_nz_device_list list[PD_NZ_LISTS];
};

/** What a format says about itself. */
struct pd_nz_cuda {
  const char *name;
  /** Adds the lists with pd_nz_add_list() and pd_nz_put(). */
  polyad_status (*describe)(polyad_context *context, const struct pd_device *device,
                            const void *storage, struct pd_nz_on_device *made);
  pd_nz_launcher f32[3], f64[3];             /* by kind */
  pd_nz_chain_launcher chain_f32, chain_f64; /* of kind 0, which is its only one; NULL: none */
  bool sorted[3];                            /* by kind: whether its kernels need heads and tails */
};

/** A new list; NULL never. `levels` are the modes of its slots. */
struct pd_nz_device_list *pd_nz_add_list(struct pd_nz_on_device *made, int mode, const int *levels);
/** Copies `count` items into array `array` of the list (-1: its values). */
polyad_status pd_nz_put(polyad_context *context, const struct pd_device *device,
                        struct pd_nz_device_list *list, int array, uint64_t count, size_t size,
                        const void *host);

polyad_status pd_nz_upload_as(polyad_context *context, const struct pd_device *device,
                              const struct pd_nz_cuda *format, const void *storage,
                              void **on_device);
void pd_nz_unload(polyad_context *context, const struct pd_device *device, void *on_device);
uint64_t pd_nz_cuda_workspace_bytes(const void *storage, uint64_t rank, int threads);
polyad_status pd_nz_cuda_workspace_create(polyad_context *context, const struct pd_device *device,
                                          const void *storage, uint64_t rank, void **scratch);
void pd_nz_cuda_workspace_destroy(polyad_context *context, void *scratch);
polyad_status pd_nz_cuda_mttkrp(polyad_context *context, const void *storage, void *scratch,
                                int mode, const struct pd_matrix *const *factors,
                                struct pd_matrix *out);

/** The tensor-times-matrix chain. */
uint64_t pd_nz_chain_workspace_bytes(const void *storage, const uint64_t *ranks, int threads);
polyad_status pd_nz_chain_workspace_create(polyad_context *context, const struct pd_device *device,
                                           const void *storage, const uint64_t *ranks,
                                           void **scratch);
void pd_nz_chain_workspace_destroy(polyad_context *context, void *scratch);
polyad_status pd_nz_cuda_chain(polyad_context *context, const void *storage, void *scratch,
                               int mode, const struct pd_matrix *const *factors,
                               struct pd_matrix *out);

/** The launch of one list for an output mode: inputs in the order of the list's levels. Returns
 *  whether all matrices are aligned. */
int pd_nz_prepare(const struct pd_nz_device_list *list, int mode,
                  const struct pd_matrix *const *factors, const struct pd_matrix *out,
                  struct pd_nz_launch *launch);

/** The slots of a struct polyad_kernels for CUDA; `upload_function` calls pd_nz_upload_as(). */
#define PD_NZ_SLOTS_CUDA(name, upload_function)                                                    \
  .format = (name), .device = "cuda", .upload = (upload_function), .unload = pd_nz_unload,         \
  .workspace_bytes = pd_nz_cuda_workspace_bytes, .workspace_create = pd_nz_cuda_workspace_create,  \
  .workspace_destroy = pd_nz_cuda_workspace_destroy, .mttkrp = pd_nz_cuda_mttkrp
#define PD_NZ_KERNELS_CUDA(name, upload_function)                                                  \
  { PD_NZ_SLOTS_CUDA(name, upload_function) }
/** The same with the chain. */
#define PD_NZ_KERNELS_CUDA_CHAIN(name, upload_function)                                            \
  {                                                                                                \
    PD_NZ_SLOTS_CUDA(name, upload_function),                                                       \
        .ttmc_workspace_bytes = pd_nz_chain_workspace_bytes,                                       \
        .ttmc_workspace_create = pd_nz_chain_workspace_create,                                     \
        .ttmc_workspace_destroy = pd_nz_chain_workspace_destroy, .ttmc = pd_nz_cuda_chain          \
  }

#endif
