/* Storages of "twotree" on a GPU. */
#ifndef PD_TWOTREE_STORE_CUDA_H
#define PD_TWOTREE_STORE_CUDA_H

#include "formats/modecopy/modecopy_store_cuda.h"
#include "formats/twotree/twotree_copies.h"

/** One side; see struct pd_twotree_side. */
struct pd_twotree_device_side {
  struct pd_modecopy_on_device *nonzeros, *by_tuple;
  uint32_t *tuple_id[PD_TWOTREE_MAX_ORDER];
};

/** What kernels get as `storage`. */
struct pd_twotree_on_device {
  const struct pd_twotree *host; /* facts and orders; its arrays need not be there */
  struct pd_twotree_device_side side[PD_TWOTREE_MAX_ORDER];
};

/** Slots of the kernels. */
polyad_status pd_twotree_cuda_build(polyad_context *context, const struct pd_device *device,
                                    const polyad_tensor *tensor, const struct pd_traits *traits,
                                    const struct pd_request *request, void *storage,
                                    void **on_device);
uint64_t pd_twotree_cuda_build_bytes(const struct pd_traits *traits,
                                     const struct pd_request *request, uint64_t storage_bytes);
polyad_status pd_twotree_cuda_download(polyad_context *context, const struct pd_device *device,
                                       const void *on_device, bool whole, void **storage);
polyad_status pd_twotree_cuda_upload(polyad_context *context, const struct pd_device *device,
                                     const void *storage, void **on_device);
void pd_twotree_cuda_unload(polyad_context *context, const struct pd_device *device,
                            void *on_device);

#endif
