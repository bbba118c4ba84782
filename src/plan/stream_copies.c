/* Chunks for devices with memory of their own: copies of format "modecopy", each of one mode, which
 * the device's kernels of that format read. Which of a chunk's rows have nonzeros is not stored:
 * all are made zero beforehand. */
#include "device/build.h"
#include "formats/storage.h"
#include "plan/stream.h"
#include <string.h>

static int stream_copies_arrays(struct pd_modecopy_copy *copy, uint64_t nnz, polyad_type type,
                                struct pd_stream_array array[PD_STREAM_ARRAYS]) {
  struct pd_ordered *order = &copy->order;
  uint64_t padded = pd_modecopy_padded(nnz);
  int count = 0;
  for (int k = 0; k < copy->planes; ++k)
    array[count++] =
        (struct pd_stream_array){(const void **)&copy->plane[k], padded * sizeof **copy->plane};
  array[count++] =
      (struct pd_stream_array){(const void **)&copy->values, padded * pd_type_bytes(type)};
  array[count++] = (struct pd_stream_array){(const void **)&order->row_start,
                                            (order->rows + 1) * sizeof *order->row_start};
  if (order->has_row_id)
    array[count++] = (struct pd_stream_array){(const void **)&order->row_id,
                                              order->rows * sizeof *order->row_id};
  array[count++] = (struct pd_stream_array){
      (const void **)&order->chunk_row, (pd_ordered_chunks(nnz) + 1) * sizeof *order->chunk_row};
  array[count++] = (struct pd_stream_array){(const void **)&order->marks,
                                            pd_ordered_mark_words(nnz) * sizeof *order->marks};
  return count;
}

/* The copy of a mode without arrays, with the inputs in this order. */
static void stream_copies_header(const struct pd_stream *stream, const uint8_t *input,
                                 struct pd_modecopy_copy *copy) {
  *copy = (struct pd_modecopy_copy){.inputs = stream->order - 1};
  copy->order.inputs = copy->inputs;
  for (int k = 0; k < copy->inputs; ++k)
    copy->field[k].mode = copy->order.input[k] = input[k];
  pd_modecopy_pack(copy, copy->inputs, stream->dims);
}

static uint64_t stream_copies_bytes(const struct pd_stream *stream, int mode, uint64_t nnz,
                                    uint64_t rows) {
  struct pd_modecopy_copy copy;
  struct pd_stream_array array[PD_STREAM_ARRAYS];
  uint8_t input[POLYAD_MAX_ORDER];
  uint64_t bytes = 0;
  for (int n = 0, k = 0; n < stream->order; ++n)
    if (n != mode) input[k++] = (uint8_t)n;
  stream_copies_header(stream, input, &copy);
  copy.order.rows = rows;
  copy.order.has_row_id = true;
  int count = stream_copies_arrays(&copy, nnz, stream->type, array);
  for (int a = 0; a < count; ++a)
    bytes = pd_add_saturated(bytes, array[a].bytes);
  return bytes;
}

/* Records, sizes of the rows twice, and which of them have nonzeros. */
static uint64_t stream_copies_building_bytes(const struct pd_stream *stream, uint64_t nnz,
                                             int threads) {
  int bits = pd_modecopy_key_bits(stream->order, stream->dims, 1);
  int words = pd_record_words(bits, 8 * (int)pd_type_bytes(stream->type));
  uint64_t longest = pd_longest(stream->order, stream->dims);
  return pd_add_saturated(pd_sorting_bytes(nnz, words, threads), pd_mul_saturated(longest, 4 + 9));
}

static polyad_status stream_copies_make(polyad_context *context,
                                        const struct pd_stream_source *from,
                                        struct pd_modecopy *made) {
  struct pd_room room = {0};
  const struct pd_modecopy_job job = {from->tensor, from->traits, from->request,
                                      from->mode,   made,         &room};
  int bits = pd_modecopy_key_bits(from->tensor->order, from->tensor->dims, 1);
  PD_TRY(pd_room_create_values(context, from->tensor, bits, &room));
  struct pd_layout keys;
  polyad_status status = pd_modecopy_order(context, &job, &keys);
  if (status == POLYAD_OK) status = pd_modecopy_build_sorted(context, &job, &keys);
  pd_room_destroy(context, &room);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

/* Most bytes of the device that building a chunk there takes. */
static uint64_t stream_copies_there_bytes(const struct pd_stream *stream,
                                          const struct pd_request *request,
                                          const polyad_tensor *tensor) {
  const struct pd_device_build *steps = stream->device->functions->build;
  if (steps == NULL || !steps->takes(tensor->nnz, tensor->order, tensor->dims)) return UINT64_MAX;
  uint64_t chunk = pd_mul_saturated(pd_stream_entry_bytes(stream), tensor->nnz);
  chunk = pd_add_saturated(chunk, pd_longest(tensor->order, tensor->dims)); /* rows that are used */
  return pd_add_saturated(
      chunk, steps->bytes(tensor->nnz, tensor->order, tensor->dims, request->precision));
}

/* Brings the arrays of a copy to the host; those that are there go with `on_device`. */
static polyad_status bring_copy(polyad_context *context, const struct pd_device *device,
                                const struct pd_modecopy *on_device, struct pd_modecopy *made) {
  void *brought;
  PD_TRY(pd_storage_bring(context, pd_format_find(pd_stream_modecopy_lists.format), device,
                          on_device, true, &brought));
  *made = *(struct pd_modecopy *)brought;
  pd_free(context, brought); /* the header alone */
  return POLYAD_OK;
}

/* A device that builds sorts the chunk, which comes back as the host would have made it. */
static polyad_status stream_copies_make_there(polyad_context *context,
                                              const struct pd_stream *stream,
                                              const struct pd_stream_source *from,
                                              struct pd_modecopy *made) {
  const struct pd_device *device = stream->device;
  const struct pd_device_build *steps = device->functions->build;
  const struct polyad_format *format = pd_format_find(pd_stream_modecopy_lists.format);
  struct pd_traits traits = *from->traits;
  struct pd_request request = *from->request;
  struct pd_build_classes classes;
  struct pd_build *build = NULL;
  struct pd_modecopy *there = NULL;
  polyad_status status = POLYAD_OK;
  request.traits = &traits;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &there)); /* as pd_storage_release() frees it */
  *there = *made;
  PD_TRY_CLEANUP(steps->open(context, device, from->tensor, &build));
  PD_TRY_CLEANUP(steps->classes(context, build, from->mode, &classes));
  traits.nonempty[from->mode] = 0; /* was an estimate */
  for (int c = 0; c < PD_BUILD_CLASSES; ++c)
    traits.nonempty[from->mode] += classes.rows[c];
  PD_TRY_CLEANUP(pd_modecopy_fill_opened(context, build, &request, there));
  status = bring_copy(context, device, there, made);
cleanup:
  if (build != NULL) steps->close(context, build);
  pd_storage_release(context, format, device, there);
  return status;
}

/* Where the device has no room after all the host builds. */
static polyad_status stream_copies_make_anywhere(polyad_context *context, struct pd_stream *stream,
                                                 const struct pd_stream_source *from,
                                                 struct pd_modecopy *made) {
  const struct pd_device *device = stream->device;
  uint64_t bytes = stream_copies_there_bytes(stream, from->request, from->tensor);
  if (bytes > device->functions->memory_available(context, device) / 2)
    return stream_copies_make(context, from, made);
  polyad_status status = stream_copies_make_there(context, stream, from, made);
  if (status == POLYAD_OK && bytes > stream->built_bytes) stream->built_bytes = bytes;
  if (status != POLYAD_OUT_OF_MEMORY && status != POLYAD_MEMORY_LIMIT) return status;
  pd_begin(context);
  return stream_copies_make(context, from, made);
}

static polyad_status stream_copies_build(polyad_context *context, struct pd_stream *stream,
                                         const struct pd_stream_source *from,
                                         struct pd_stream_chunk *chunk) {
  struct pd_stream_array array[PD_STREAM_ARRAYS];
  struct pd_arrays freeing = pd_arrays_freeing(context);
  struct pd_modecopy made;
  pd_modecopy_init(from->tensor, from->request, UINT64_C(1) << from->mode, &made);
  struct pd_modecopy_copy *copy = &made.copy[from->mode];
  polyad_status status = stream_copies_make_anywhere(context, stream, from, &made);
  if (status == POLYAD_OK) {
    chunk->copy.rows = copy->order.rows;
    chunk->copy.has_row_id = copy->order.has_row_id;
    for (int k = 0; k < copy->inputs; ++k)
      chunk->copy.input[k] = (uint8_t)copy->order.input[k];
    int count = stream_copies_arrays(copy, made.nnz, made.type, array);
    status = pd_stream_spill(context, stream, chunk, count, array);
  }
  pd_modecopy_arrays(&made, false, &freeing);
  return status;
}

void pd_stream_copy_shape(const struct pd_stream *stream, struct pd_modecopy *shape) {
  *shape = (struct pd_modecopy){.variant = PD_MODECOPY_SORTED,
                                .order = stream->order,
                                .nnz = stream->chunk_nnz,
                                .type = stream->type};
  memcpy(shape->dims, stream->dims, sizeof shape->dims);
}

void pd_stream_copy_at(const struct pd_stream *stream, int mode, uint64_t k, const char *at,
                       struct pd_modecopy *copy) {
  const struct pd_stream_chunk *chunk = &stream->chunk[mode][k];
  struct pd_stream_array array[PD_STREAM_ARRAYS];
  struct pd_modecopy_copy *one = &copy->copy[mode];
  pd_stream_copy_shape(stream, copy);
  copy->nnz = pd_stream_chunk_nnz(stream, k);
  copy->copies = UINT64_C(1) << mode;
  copy->dims[mode] = chunk->rows;
  stream_copies_header(stream, chunk->copy.input, one);
  one->order.rows = chunk->copy.rows;
  one->order.has_row_id = chunk->copy.has_row_id;
  int count = stream_copies_arrays(one, copy->nnz, stream->type, array);
  for (int a = 0; a < count; ++a) {
    *array[a].pointer = at;
    at += pd_stream_padded(array[a].bytes);
  }
}

static polyad_status stream_copies_check(polyad_context *context, const struct pd_stream *stream,
                                         int mode, uint64_t k, const char *at) {
  struct pd_modecopy copy;
  pd_stream_copy_at(stream, mode, k, at, &copy);
  return pd_modecopy_check(context, &copy);
}

const struct pd_stream_lists pd_stream_modecopy_lists = {
    .format = "modecopy",
    .bytes = stream_copies_bytes,
    .building_bytes = stream_copies_building_bytes,
    .build = stream_copies_build,
    .check = stream_copies_check,
};
