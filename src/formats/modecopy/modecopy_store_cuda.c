/* Storages of "modecopy" on a GPU: built there, or copied there and back. */
#include "formats/modecopy/modecopy_store_cuda.h"
#include "formats/modecopy/modecopy_device.h"
#include <string.h>

void pd_modecopy_cuda_unload(polyad_context *context, const struct pd_device *device,
                             void *pointer) {
  struct pd_modecopy_on_device *made = pointer;
  if (made == NULL) return;
  for (int mode = 0; mode < POLYAD_MAX_ORDER; ++mode) {
    struct pd_modecopy_device_copy *copy = &made->copy[mode];
    for (int k = 0; k < POLYAD_MAX_ORDER; ++k)
      pd_cuda_release(context, device, copy->plane[k]);
    pd_cuda_release(context, device, copy->values);
    pd_ordered_unload(context, device, &copy->order);
    pd_cuda_release(context, device, copy->part_start);
  }
  pd_cuda_services->free(context, made);
}

static polyad_status modecopy_store_cuda_create(polyad_context *context,
                                                const struct pd_modecopy *host,
                                                struct pd_modecopy_on_device **out) {
  struct pd_modecopy_on_device *made;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *made, (void **)&made));
  *made = (struct pd_modecopy_on_device){.host = host};
  *out = made;
  return POLYAD_OK;
}

/* ---- from the host ----------------------------------------------------------------------------
 */

static polyad_status upload_copy(polyad_context *context, const struct pd_device *device,
                                 const struct pd_modecopy *host, int mode,
                                 struct pd_modecopy_device_copy *to) {
  const struct pd_modecopy_copy *from = &host->copy[mode];
  uint64_t padded = pd_modecopy_padded(host->nnz);
  for (int k = 0; k < from->planes; ++k)
    PD_TRY(pd_cuda_upload(context, device, padded, sizeof *from->plane[k], from->plane[k],
                          (void **)&to->plane[k]));
  PD_TRY(pd_cuda_upload(context, device, padded, pd_type_bytes(host->type), from->values,
                        &to->values));
  if (host->variant != PD_MODECOPY_SORTED)
    return pd_cuda_upload(context, device, (uint64_t)host->partitions + 1, sizeof *from->part_start,
                          from->part_start, (void **)&to->part_start);
  return pd_ordered_upload(context, device, host->nnz, host->dims[mode], &from->order, &to->order);
}

polyad_status pd_modecopy_cuda_upload(polyad_context *context, const struct pd_device *device,
                                      const void *storage, void **out) {
  const struct pd_modecopy *host = storage;
  struct pd_modecopy_on_device *made;
  *out = NULL;
  PD_TRY(modecopy_store_cuda_create(context, host, &made));
  polyad_status status = POLYAD_OK;
  for (int mode = 0; mode < host->order && status == POLYAD_OK; ++mode)
    if (pd_modecopy_has(host, mode))
      status = upload_copy(context, device, host, mode, &made->copy[mode]);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_modecopy_cuda_unload(context, device, made);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

uint64_t pd_modecopy_cuda_build_bytes(const struct pd_traits *traits,
                                      const struct pd_request *request, uint64_t storage_bytes) {
  if (strncmp(request->variant, "paper", 5) == 0) return 0;
  return pd_modecopy_build_bytes(request->device, traits, request->precision, storage_bytes);
}

static void modecopy_store_cuda_take_arrays(const struct pd_modecopy_arrays *from,
                                            struct pd_modecopy_device_copy *to) {
  memcpy(to->plane, from->plane, sizeof to->plane);
  to->values = from->values;
  to->order = (struct pd_ordered_device){.row_start = from->row_start,
                                         .row_id = from->row_id,
                                         .chunk_row = from->chunk_row,
                                         .marks = (uint2 *)(void *)from->marks,
                                         .used = from->used};
}

polyad_status pd_modecopy_cuda_build_opened(polyad_context *context, const struct pd_device *device,
                                            struct pd_build *build, const struct pd_traits *traits,
                                            const struct pd_request *request,
                                            struct pd_modecopy *storage,
                                            struct pd_modecopy_on_device **out) {
  struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER] = {0};
  struct pd_modecopy_on_device *made;
  *out = NULL;
  PD_TRY(modecopy_store_cuda_create(context, storage, &made));
  polyad_status status = pd_modecopy_build_opened(context, device, build, traits, request,
                                                  PD_MODECOPY_MARKS, storage, arrays);
  for (int mode = 0; mode < storage->order; ++mode)
    modecopy_store_cuda_take_arrays(&arrays[mode], &made->copy[mode]);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_modecopy_cuda_unload(context, device, made);
  return status;
}

polyad_status pd_modecopy_cuda_build(polyad_context *context, const struct pd_device *device,
                                     const polyad_tensor *tensor, const struct pd_traits *traits,
                                     const struct pd_request *request, void *storage, void **out) {
  const struct pd_device_build *steps = device->functions->build;
  struct pd_build *build;
  *out = NULL;
  PD_TRY(steps->open(context, device, tensor, &build));
  polyad_status status = pd_modecopy_cuda_build_opened(
      context, device, build, traits, request, storage, (struct pd_modecopy_on_device **)out);
  steps->close(context, build);
  return status;
}

/* ---- back to the host --------------------------------------------------------------------------
 */

/* The array is there, if empty, also where the device has none. */
static polyad_status modecopy_store_cuda_bring(polyad_context *context,
                                               const struct pd_device *device, uint64_t count,
                                               size_t size, const void *from, void **to) {
  PD_TRY(pd_cuda_services->alloc(context, count, size, to));
  return device->functions->copy_out(context, device, *to, from, count * size);
}

static polyad_status bring_tables(polyad_context *context, const struct pd_device *device,
                                  uint64_t nnz, uint64_t dim, const struct pd_ordered_device *from,
                                  struct pd_ordered *to) {
  PD_TRY(modecopy_store_cuda_bring(context, device, to->rows + 1, sizeof *to->row_start,
                                   from->row_start, (void **)&to->row_start));
  PD_TRY(modecopy_store_cuda_bring(context, device, pd_ordered_chunks(nnz) + 1,
                                   sizeof *to->chunk_row, from->chunk_row,
                                   (void **)&to->chunk_row));
  PD_TRY(modecopy_store_cuda_bring(context, device, pd_ordered_mark_words(nnz), sizeof *to->marks,
                                   from->marks, (void **)&to->marks));
  if (to->rows == dim) return POLYAD_OK;
  return modecopy_store_cuda_bring(context, device, to->rows, sizeof *to->row_id, from->row_id,
                                   (void **)&to->row_id);
}

static polyad_status bring_copy(polyad_context *context, const struct pd_device *device,
                                const struct pd_modecopy_on_device *made, int mode,
                                struct pd_modecopy_copy *to) {
  const struct pd_modecopy *host = made->host;
  const struct pd_modecopy_device_copy *from = &made->copy[mode];
  uint64_t padded = pd_modecopy_padded(host->nnz);
  for (int k = 0; k < to->planes; ++k)
    PD_TRY(modecopy_store_cuda_bring(context, device, padded, sizeof *to->plane[k], from->plane[k],
                                     (void **)&to->plane[k]));
  PD_TRY(modecopy_store_cuda_bring(context, device, padded, pd_type_bytes(host->type), from->values,
                                   &to->values));
  if (host->variant == PD_MODECOPY_SORTED)
    return bring_tables(context, device, host->nnz, host->dims[mode], &from->order, &to->order);
  return modecopy_store_cuda_bring(context, device, (uint64_t)host->partitions + 1,
                                   sizeof *to->part_start, from->part_start,
                                   (void **)&to->part_start);
}

void pd_modecopy_cuda_drop(polyad_context *context, struct pd_modecopy *storage) {
  const struct pd_services *core = pd_cuda_services;
  for (int mode = 0; storage != NULL && mode < storage->order; ++mode) {
    struct pd_modecopy_copy *copy = &storage->copy[mode];
    for (int k = 0; k < POLYAD_MAX_ORDER; ++k)
      core->free(context, copy->plane[k]);
    core->free(context, copy->values);
    core->free(context, copy->part_start);
    core->free(context, copy->order.row_start);
    core->free(context, copy->order.row_id);
    core->free(context, copy->order.chunk_row);
    core->free(context, copy->order.marks);
  }
  core->free(context, storage);
}

/* Decoding reads the copy of mode 0 alone. */
polyad_status pd_modecopy_cuda_download(polyad_context *context, const struct pd_device *device,
                                        const void *on_device, bool whole, void **out) {
  const struct pd_modecopy_on_device *made = on_device;
  struct pd_modecopy *storage;
  *out = NULL;
  PD_TRY(pd_cuda_services->alloc(context, 1, sizeof *storage, (void **)&storage));
  pd_modecopy_copy_header(made->host, storage);
  polyad_status status = POLYAD_OK;
  for (int mode = 0; mode < (whole ? storage->order : 1) && status == POLYAD_OK; ++mode)
    if (pd_modecopy_has(storage, mode))
      status = bring_copy(context, device, made, mode, &storage->copy[mode]);
  if (status == POLYAD_OK)
    *out = storage;
  else
    pd_modecopy_cuda_drop(context, storage);
  return status;
}
