/* Storages of "modecopy" on a GPU. */
#ifndef PD_MODECOPY_STORE_CUDA_H
#define PD_MODECOPY_STORE_CUDA_H

#include "device/build.h"
#include "formats/modecopy/modecopy_layout.h"
#include "formats/ordered/ordered_cuda.h"

/** One copy on the device. */
struct pd_modecopy_device_copy {
  uint32_t *plane[POLYAD_MAX_ORDER];
  void *values;
  struct pd_ordered_device order; /* default variant */
  uint64_t *part_start;           /* paper's variants */
};

/** What kernels get as `storage`. */
struct pd_modecopy_on_device {
  const struct pd_modecopy *host; /* facts and orders; its arrays need not be there */
  struct pd_modecopy_device_copy copy[POLYAD_MAX_ORDER];
};

/** Builds the copies that a storage is to have from a tensor that the device has already. */
polyad_status pd_modecopy_cuda_build_opened(polyad_context *context, const struct pd_device *device,
                                            struct pd_build *build, const struct pd_traits *traits,
                                            const struct pd_request *request,
                                            struct pd_modecopy *storage,
                                            struct pd_modecopy_on_device **out);
/** Frees a storage that was brought to the host, arrays included. */
void pd_modecopy_cuda_drop(polyad_context *context, struct pd_modecopy *storage);

/** Slots of the kernels. */
polyad_status pd_modecopy_cuda_build(polyad_context *context, const struct pd_device *device,
                                     const polyad_tensor *tensor, const struct pd_traits *traits,
                                     const struct pd_request *request, void *storage,
                                     void **on_device);
uint64_t pd_modecopy_cuda_build_bytes(const struct pd_traits *traits,
                                      const struct pd_request *request, uint64_t storage_bytes);
polyad_status pd_modecopy_cuda_download(polyad_context *context, const struct pd_device *device,
                                        const void *on_device, bool whole, void **storage);
polyad_status pd_modecopy_cuda_upload(polyad_context *context, const struct pd_device *device,
                                      const void *storage, void **on_device);
void pd_modecopy_cuda_unload(polyad_context *context, const struct pd_device *device,
                             void *on_device);

#endif
