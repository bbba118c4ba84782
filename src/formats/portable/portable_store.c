/* Storages of "portable" on a device. On the CPU the kernels read the host's arrays; a device with
 * build steps makes them itself (modecopy's lists, with a bit for each row's end); to others they
 * are copied. Where they lie on the device alone they can be brought back. */
#include "formats/portable/portable_store.h"
#include "device/build_steps.h"
#include "formats/modecopy/modecopy.h"
#include "formats/modecopy/modecopy_device.h"
#include <string.h>

static void portable_store_release(polyad_context *context, const struct pd_device *device,
                                   void *pointer) {
  if (pointer != NULL) device->functions->release(context, device, pointer);
}

/* Host memory serves as it is. */
static bool borrows(const struct pd_device *device) { return device->functions->host_memory; }

static polyad_status portable_store_put(polyad_context *context, const struct pd_device *device,
                                        const void *host, uint64_t count, size_t size, void **out) {
  *out = NULL;
  if (host == NULL) return POLYAD_OK;
  if (borrows(device)) {
    *out = (void *)host; /* kernels only read it */
    return POLYAD_OK;
  }
  PD_TRY(device->functions->allocate(context, device, count * size, out));
  return device->functions->copy_in(context, device, *out, host, count * size);
}

void pd_portable_unload(polyad_context *context, const struct pd_device *device, void *pointer) {
  struct pd_portable_on_device *made = pointer;
  if (made == NULL) return;
  for (int mode = 0; mode < made->host->lists->order; ++mode) {
    struct pd_portable_list *list = &made->list[mode];
    if (borrows(device)) {
      pd_free(context, list->ends);
      pd_free(context, list->used);
      continue;
    }
    for (int k = 0; k < POLYAD_MAX_ORDER; ++k)
      portable_store_release(context, device, list->plane[k]);
    portable_store_release(context, device, list->values);
    portable_store_release(context, device, list->row_start);
    portable_store_release(context, device, list->row_id);
    portable_store_release(context, device, list->chunk_row);
    portable_store_release(context, device, list->ends);
    portable_store_release(context, device, list->used);
  }
  pd_free(context, made);
}

/* Bits made for the kernels: the host's memory is freed, or is what the kernels use. */
static polyad_status put_bits(polyad_context *context, const struct pd_device *device,
                              uint32_t *bits, uint64_t words, void **out) {
  polyad_status status = portable_store_put(context, device, bits, words, sizeof *bits, out);
  if (borrows(device)) return status;
  if (status == POLYAD_OK) status = device->functions->synchronize(context, device);
  pd_free(context, bits);
  return status;
}

static void set_bit(uint32_t *bits, uint64_t k) { bits[k / 32] |= UINT32_C(1) << k % 32; }

static polyad_status put_ends(polyad_context *context, const struct pd_device *device, uint64_t nnz,
                              const struct pd_modecopy_copy *from, struct pd_portable_list *to) {
  uint64_t words = nnz / 32 + 1;
  uint32_t *ends;
  PD_TRY(PD_NEW_ZERO(context, words, &ends));
  for (uint64_t k = 0; k < from->order.rows; ++k)
    set_bit(ends, from->order.row_start[k + 1] - 1);
  return put_bits(context, device, ends, words, &to->ends);
}

static polyad_status put_used(polyad_context *context, const struct pd_device *device, uint64_t dim,
                              const struct pd_modecopy_copy *from, struct pd_portable_list *to) {
  uint64_t words = dim / 32 + 1;
  uint32_t *used;
  if (from->order.row_id == NULL) return POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, words, &used));
  for (uint64_t k = 0; k < from->order.rows; ++k)
    set_bit(used, from->order.row_id[k]);
  return put_bits(context, device, used, words, &to->used);
}

static polyad_status portable_store_put_list(polyad_context *context,
                                             const struct pd_device *device,
                                             const struct pd_modecopy *host, int mode,
                                             struct pd_portable_list *to) {
  const struct pd_modecopy_copy *from = &host->copy[mode];
  uint64_t padded = pd_modecopy_padded(host->nnz), chunks = pd_ordered_chunks(host->nnz);
  for (int k = 0; k < from->planes; ++k)
    PD_TRY(portable_store_put(context, device, from->plane[k], padded, sizeof(uint32_t),
                              &to->plane[k]));
  PD_TRY(portable_store_put(context, device, from->values, padded, pd_type_bytes(host->type),
                            &to->values));
  PD_TRY(portable_store_put(context, device, from->order.row_start, from->order.rows + 1,
                            sizeof(uint64_t), &to->row_start));
  PD_TRY(portable_store_put(context, device, from->order.row_id, from->order.rows, sizeof(uint32_t),
                            &to->row_id));
  PD_TRY(portable_store_put(context, device, from->order.chunk_row, chunks + 1, sizeof(uint32_t),
                            &to->chunk_row));
  PD_TRY(put_ends(context, device, host->nnz, from, to));
  return put_used(context, device, host->dims[mode], from, to);
}

polyad_status pd_portable_upload(polyad_context *context, const struct pd_device *device,
                                 const void *storage, void **out) {
  const struct pd_portable *host = storage;
  struct pd_portable_on_device *made;
  polyad_status status = POLYAD_OK;
  *out = NULL;
  PD_TRY(pd_portable_check_device(context, device));
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->host = host;
  for (int mode = 0; mode < host->lists->order && status == POLYAD_OK; ++mode)
    status = portable_store_put_list(context, device, host->lists, mode, &made->list[mode]);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_portable_unload(context, device, made);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

uint64_t pd_portable_build_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t storage_bytes) {
  return pd_modecopy_build_bytes(request->device, traits, request->precision, storage_bytes);
}

static void portable_store_take_arrays(const struct pd_modecopy_arrays *from,
                                       struct pd_portable_list *to) {
  *to = (struct pd_portable_list){.values = from->values,
                                  .row_start = from->row_start,
                                  .row_id = from->row_id,
                                  .chunk_row = from->chunk_row,
                                  .ends = from->ends,
                                  .used = from->used};
  for (int k = 0; k < POLYAD_MAX_ORDER; ++k)
    to->plane[k] = from->plane[k];
}

polyad_status pd_portable_build(polyad_context *context, const struct pd_device *device,
                                const polyad_tensor *tensor, const struct pd_traits *traits,
                                const struct pd_request *request, void *storage, void **out) {
  const struct pd_portable *host = storage;
  struct pd_modecopy_arrays arrays[POLYAD_MAX_ORDER] = {0};
  struct pd_portable_on_device *made;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &made));
  made->host = host;
  polyad_status status = pd_modecopy_build_arrays(context, device, tensor, traits, request,
                                                  PD_MODECOPY_ENDS, host->lists, arrays);
  for (int mode = 0; mode < host->lists->order; ++mode)
    portable_store_take_arrays(&arrays[mode], &made->list[mode]);
  if (status == POLYAD_OK)
    *out = made;
  else
    pd_portable_unload(context, device, made);
  return status;
}

/* ---- back to the host --------------------------------------------------------------------------
 */

static polyad_status portable_store_bring(polyad_context *context, const struct pd_device *device,
                                          uint64_t count, size_t size, const void *from,
                                          void **to) {
  PD_TRY(pd_alloc(context, count, size, to));
  return device->functions->copy_out(context, device, *to, from, count * size);
}

/* The device has no marks of runs: they follow from rows and indices. */
static polyad_status find_marks(polyad_context *context, uint64_t nnz,
                                struct pd_modecopy_copy *copy) {
  uint32_t outer_mask[POLYAD_MAX_ORDER] = {0}, *row;
  struct pd_ordered *order = &copy->order;
  PD_TRY(PD_NEW(context, pd_ordered_mark_words(nnz), &order->marks));
  PD_TRY(PD_NEW(context, nnz, &row));
  for (uint64_t r = 0; r < order->rows; ++r)
    for (uint64_t p = order->row_start[r]; p < order->row_start[r + 1]; ++p)
      row[p] = (uint32_t)r;
  for (int k = 0; k + 1 < copy->inputs; ++k)
    outer_mask[copy->field[k].plane] |= copy->field[k].mask << copy->field[k].shift;
  for (uint64_t p = 0; p < nnz; ++p) {
    struct pd_ordered_marks *marks = &order->marks[p / PD_ORDERED_MARKS];
    int bit = (int)(p % PD_ORDERED_MARKS);
    if (bit == 0) *marks = (struct pd_ordered_marks){0, 0};
    marks->ends |= (uint32_t)pd_build_ends(row, nnz, p) << bit;
    marks->runs |= (uint32_t)pd_build_starts_run(row, (const uint32_t *const *)copy->plane,
                                                 outer_mask, copy->planes, nnz, p)
                   << bit;
  }
  pd_free(context, row);
  return POLYAD_OK;
}

static polyad_status bring_list(polyad_context *context, const struct pd_device *device,
                                const struct pd_modecopy *lists, int mode,
                                const struct pd_portable_list *from, struct pd_modecopy_copy *to) {
  uint64_t padded = pd_modecopy_padded(lists->nnz), rows = to->order.rows;
  for (int k = 0; k < to->planes; ++k)
    PD_TRY(
        portable_store_bring(context, device, padded, 4, from->plane[k], (void **)&to->plane[k]));
  PD_TRY(portable_store_bring(context, device, padded, pd_type_bytes(lists->type), from->values,
                              &to->values));
  PD_TRY(portable_store_bring(context, device, rows + 1, 8, from->row_start,
                              (void **)&to->order.row_start));
  PD_TRY(portable_store_bring(context, device, pd_ordered_chunks(lists->nnz) + 1, 4,
                              from->chunk_row, (void **)&to->order.chunk_row));
  if (rows < lists->dims[mode])
    PD_TRY(
        portable_store_bring(context, device, rows, 4, from->row_id, (void **)&to->order.row_id));
  return POLYAD_OK;
}

/* The same facts and orders, without arrays. */
static polyad_status copy_header(polyad_context *context, const struct pd_portable *host,
                                 struct pd_portable **out) {
  struct pd_portable *storage;
  PD_TRY(PD_NEW_ZERO(context, 1, &storage));
  *storage = *host;
  polyad_status status = PD_NEW(context, 1, &storage->lists);
  if (status != POLYAD_OK) {
    pd_free(context, storage);
    return status;
  }
  pd_modecopy_copy_header(host->lists, storage->lists);
  *out = storage;
  return POLYAD_OK;
}

/* Decoding reads the list of mode 0 alone. */
polyad_status pd_portable_download(polyad_context *context, const struct pd_device *device,
                                   const void *on_device, bool whole, void **out) {
  const struct pd_portable_on_device *made = on_device;
  struct pd_portable *storage;
  *out = NULL;
  PD_TRY(copy_header(context, made->host, &storage));
  struct pd_modecopy *lists = storage->lists;
  polyad_status status = POLYAD_OK;
  for (int mode = 0; mode < (whole ? lists->order : 1) && status == POLYAD_OK; ++mode) {
    status = bring_list(context, device, lists, mode, &made->list[mode], &lists->copy[mode]);
    if (whole && status == POLYAD_OK) status = find_marks(context, lists->nnz, &lists->copy[mode]);
  }
  if (status == POLYAD_OK)
    *out = storage;
  else
    pd_portable_format.destroy(context, storage);
  return status;
}
