/* Building and describing "alto". */
#include "formats/alto/alto_build.h"
#include "formats/sent.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

static bool alto_supports(const struct pd_traits *traits, const struct pd_request *request,
                          char reason[PD_REASON_BYTES]) {
  bool gpu = strcmp(request->device->kind, "cuda") == 0; /* there indices are of 32 bits */
  int bits = 0;
  for (int n = 0; n < traits->order; ++n)
    bits += pd_index_bits(traits->dims[n]);
  if (gpu && !pd_supports_32_bits(traits, request, UINT32_MAX, reason)) return false;
  if (bits <= PD_ALTO_BITS_MAX) return true;
  snprintf(reason, PD_REASON_BYTES, "its keys would have %d bits; expected at most %d", bits,
           PD_ALTO_BITS_MAX);
  return false;
}

static void alto_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t *storage, uint64_t *building) {
  struct pd_alto like = {.type = request->precision};
  pd_alto_shape(traits->order, traits->dims, traits->nnz, request, &like);
  for (int n = 0; n < traits->order; ++n)
    like.list[n].rows = traits->nonempty[n];
  *storage = pd_storage_bytes(&pd_alto_format, &like);
  *building = pd_add_saturated(*storage, pd_alto_building_bytes(&like, request->threads));
}

/* Nanoseconds of one thread, so fitted that they compare with the model of coo as measured times do
 * (see the README); rows of matrices that the second level of cache does not hold cost more. */
static double alto_estimate_seconds(const struct pd_traits *traits,
                                    const struct pd_request *request) {
  const double NEAR_BYTES = 1e6, FAR_ROW = 2;
  double rank = (double)request->rank, wide = request->precision == POLYAD_F32 ? 0.7 : 1;
  double row = rank * (double)pd_type_bytes(request->precision), sum = 0, each = 1;
  for (int n = 0; n < traits->order; ++n) {
    each += 0.05 * rank * wide;
    if ((double)traits->nonempty[n] * row > NEAR_BYTES) each += FAR_ROW;
    sum += (double)traits->dims[n] * rank * 0.8;
  }
  sum += (double)traits->nnz * each * traits->order;
  return 1e-9 * sum / request->threads;
}

/* Keys are made, and sorted once with the values. */
static double alto_estimate_building(const struct pd_traits *traits,
                                     const struct pd_request *request) {
  (void)request;
  return (double)traits->nnz * 40;
}

static void alto_show_list(struct pd_alto_rows *list, uint64_t nnz, struct pd_arrays *arrays) {
  pd_show_array(arrays, &list->order, nnz, sizeof *list->order, PD_ARRAY_MOVES);
  pd_show_array(arrays, &list->row_id, list->rows, sizeof *list->row_id, PD_ARRAY_MOVES);
  pd_show_array(arrays, &list->row_start, list->rows + 1, sizeof *list->row_start, PD_ARRAY_MOVES);
  pd_show_array(arrays, &list->chunk_row, pd_alto_chunks(nnz) + 1, sizeof *list->chunk_row,
                PD_ARRAY_MOVES);
}

static void alto_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_alto *alto = storage;
  uint64_t nnz = alto->nnz;
  pd_show_array(arrays, &alto->low, nnz, (size_t)alto->low_bytes, PD_ARRAY_DECODED);
  pd_show_array(arrays, &alto->high, nnz, (size_t)alto->high_bytes, PD_ARRAY_DECODED);
  pd_show_array(arrays, &alto->values, nnz, pd_type_bytes(alto->type), PD_ARRAY_DECODED);
  for (int n = 0; n < alto->order && alto->decoded; ++n)
    pd_show_array(arrays, &alto->index[n], nnz, (size_t)alto->index_bytes[n], PD_ARRAY_DECODED);
  for (int n = 0; n < alto->order && alto->lists; ++n)
    alto_show_list(&alto->list[n], nnz, arrays);
  pd_show_array(arrays, &alto->span, (uint64_t)alto->segments * (uint64_t)alto->order,
                sizeof *alto->span, PD_ARRAY_HOST);
}

static polyad_status alto_begin(polyad_context *context, const polyad_tensor *tensor,
                                const struct pd_request *request, void *storage) {
  struct pd_alto *alto = storage;
  alto->type = tensor->type;
  if (pd_alto_shape(tensor->order, tensor->dims, tensor->nnz, request, alto)) return POLYAD_OK;
  return pd_fail(context, POLYAD_UNSUPPORTED, "alto: keys would have %d bits; expected at most %d",
                 alto->bits, PD_ALTO_BITS_MAX);
}

static polyad_status alto_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                const struct pd_request *request, void *storage) {
  (void)request;
  return pd_alto_fill(context, tensor, take, storage);
}

static void alto_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_alto *alto = storage;
  const char *edition = alto->atomic ? "atomic" : alto->adaptive ? "adaptive" : "pull";
  if (alto->decoded) {
    int index = 0;
    for (int n = 0; n < alto->order; ++n)
      index += alto->index_bytes[n];
    snprintf(text, PD_REASON_BYTES, "coo-%s, indices of together %d bytes", edition, index);
  } else {
    snprintf(text, PD_REASON_BYTES, "%s-%s, keys of %d bits in %d bytes",
             alto->fields ? "fields" : "keys", edition, alto->bits,
             alto->low_bytes + alto->high_bytes);
  }
}

static const struct pd_parameter parameters[] = {
    [PD_ALTO_SEGMENTS_ASKED] = {
        .about = {.name = "segments",
                  .help = "parts of the sorted nonzeros that threads sum apart; fewer "
                          "by default where a part would have below 64 nonzeros",
                  .least = 1,
                  .most = 1 << 20,
                  .usual = PD_ALTO_SEGMENTS}}};

const struct polyad_format pd_alto_format = {
    .name = "alto",
    .summary = "All indices of a nonzero interleaved into one key, in the order of the keys",
    .paper = "A. E. Helal et al., International Conference on Supercomputing (ICS) 2021",
    .variants = "auto fields-pull keys-pull keys-atomic keys-adaptive coo-pull coo-atomic",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .fiberless = true,
    .supports = alto_supports,
    .estimate_bytes = alto_estimate_bytes,
    .estimate_seconds = alto_estimate_seconds,
    .estimate_building = alto_estimate_building,
    .header_bytes = sizeof(struct pd_alto),
    .arrays = alto_arrays,
    .begin = alto_begin,
    .build_there = pd_alto_fill_there,
    .bytes_there = pd_sent_bytes_there,
    .build = alto_build,
    .check = pd_alto_check,
    .describe = alto_describe,
    .decode = pd_alto_decode,
};
