/* Storages of "portable" on a device: the host's own, built there, or copied there and back. */
#ifndef PD_PORTABLE_STORE_H
#define PD_PORTABLE_STORE_H

#include "formats/portable/portable_format.h"

/** One list on the device. */
struct pd_portable_list {
  void *plane[POLYAD_MAX_ORDER], *values, *row_start, *row_id, *chunk_row;
  void *ends; /* a bit per nonzero: the last of its row */
  void *used; /* a bit per output row, NULL when all have nonzeros */
};

/** What kernels get as `storage`. */
struct pd_portable_on_device {
  const struct pd_portable *host; /* facts and orders; its arrays need not be there */
  struct pd_portable_list list[POLYAD_MAX_ORDER];
};

/** Slots of the kernels; the CPU, whose memory serves as it is, has upload and unload alone. */
polyad_status pd_portable_build(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, const struct pd_traits *traits,
                                const struct pd_request *request, void *storage, void **on_device);
uint64_t pd_portable_build_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes);
polyad_status pd_portable_download(polyad_context *context, const struct pd_device *device,
                                   const void *on_device, bool whole, void **storage);
polyad_status pd_portable_upload(polyad_context *context, const struct pd_device *device,
                                 const void *storage, void **on_device);
void pd_portable_unload(polyad_context *context, const struct pd_device *device, void *on_device);

#endif
