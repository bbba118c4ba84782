/* Building and describing "flycoo". */
#include "formats/flycoo/flycoo_layout.h"
#include "formats/sent.h"
#include "formats/tables.h"
#include <stdio.h>

static void flycoo_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                  uint64_t *storage, uint64_t *building) {
  struct pd_flycoo like;
  pd_flycoo_like(traits, request, &like);
  like.partitions = pd_partition_count(request);
  uint64_t copy = pd_flycoo_copy_bytes(&like), longest = pd_longest(traits->order, traits->dims);
  for (int n = 0; n < traits->order; ++n) {
    like.dims[n] = traits->dims[n];
    like.mode[n].order = (struct pd_ordered){.rows = traits->nonempty[n], .has_row_id = true};
  }
  *storage = pd_storage_bytes(&pd_flycoo_format, &like);
  /* Either building (keys, permutation, places, the sort's own) or running (two copies that are
   * remapped from one into the other) needs more. */
  uint64_t sorting = pd_add_saturated(
      pd_add_saturated(pd_ordered_sorting_bytes(traits->nnz), pd_mul_saturated(traits->nnz, 8)),
      pd_mul_saturated(longest, 12 + 12));
  uint64_t running = like.remap ? 2 * copy : 0;
  *building = pd_add_saturated(*storage, sorting > running ? sorting : running);
}

static double flycoo_estimate_seconds(const struct pd_traits *traits,
                                      const struct pd_request *request) {
  struct pd_flycoo_packing packing;
  pd_flycoo_pack(traits->order, traits->dims, traits->nnz, request->precision, &packing);
  double row = (double)(request->rank * pd_type_bytes(request->precision));
  double bytes = (double)traits->nnz * traits->order * ((traits->order - 1) * row);
  double moved = (double)traits->nnz * traits->order * packing.words * 8;
  bool gpu = strcmp(request->device->kind, "cuda") == 0;
  if (gpu) return 4e-5 * traits->order + bytes / 8e12 + moved / 2e12;
  return bytes / (1e10 * request->threads) + moved / (4e9 * request->threads);
}

static void flycoo_arrays(void *pointer, struct pd_arrays *arrays) {
  struct pd_flycoo *storage = pointer;
  for (int n = 0; n < storage->order; ++n) {
    struct pd_flycoo_mode *mode = &storage->mode[n];
    if (n == 0 || !storage->remap)
      pd_show_array(arrays, &storage->elements[n], pd_flycoo_copy_bytes(storage), 1,
                    n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES);
    if (storage->dealt)
      pd_show_array(arrays, &mode->part_start, (uint64_t)storage->partitions + 1,
                    sizeof *mode->part_start, PD_ARRAY_MOVES);
    if (storage->sorted)
      pd_ordered_arrays(&mode->order, storage->nnz, storage->dims[n], false, PD_ARRAY_MOVES,
                        arrays);
  }
}

static polyad_status flycoo_begin(polyad_context *context, const polyad_tensor *tensor,
                                  const struct pd_request *request, void *pointer) {
  (void)context;
  struct pd_flycoo *storage = pointer;
  pd_flycoo_read_variant(request->variant, storage);
  storage->order = tensor->order;
  memcpy(storage->dims, tensor->dims, sizeof storage->dims);
  storage->nnz = tensor->nnz;
  storage->type = tensor->type;
  storage->partitions = pd_partition_count(request);
  storage->columns = pd_parameter(request, PD_BLOCK_COLUMNS, PD_BLOCK_COLUMNS_USUAL);
  storage->fullest = 1;
  pd_flycoo_pack(tensor->order, tensor->dims, tensor->nnz, tensor->type, &storage->packing);
  return POLYAD_OK;
}

static polyad_status flycoo_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                  const struct pd_request *request, void *storage) {
  (void)take; /* every mode's order needs the tensor as it is */
  struct pd_traits traits;
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  return pd_flycoo_fill(context, tensor, &traits, request, storage);
}

/* The steps' memory, a place per nonzero, and a number per row of a mode. One ordered copy per mode
 * is for measurements: the host builds it. */
static uint64_t flycoo_bytes_there(const struct pd_traits *traits, const struct pd_request *request,
                                   uint64_t storage_bytes) {
  uint64_t longest = pd_longest(traits->order, traits->dims);
  struct pd_flycoo like;
  pd_flycoo_read_variant(request->variant, &like);
  uint64_t bytes = pd_sent_bytes_there(traits, request, storage_bytes);
  return like.remap && bytes > 0
             ? pd_add_saturated(bytes, pd_mul_saturated(pd_add_saturated(traits->nnz, longest), 4))
             : 0;
}

static void flycoo_describe(const void *pointer, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_flycoo *storage = pointer;
  char partitions[96] = "";
  if (storage->dealt)
    snprintf(partitions, sizeof partitions, " %s%d partitions, fullest %.2f times the mean,",
             storage->cyclic ? "cyclic, " : "", storage->partitions, storage->fullest);
  snprintf(text, PD_REASON_BYTES, "%s,%s elements of %d words (%d of %d bits)",
           storage->sorted ? "sorted" : "paper", partitions, storage->packing.words,
           storage->packing.bits, 32 * storage->packing.words);
}

const struct polyad_format pd_flycoo_format = {
    .name = "flycoo",
    .summary = "One copy of the nonzeros that is remapped into the next mode's order while it is "
               "used",
    .paper = "S. Wijeratne, R. Kannan and V. Prasanna, Sparse MTTKRP Acceleration for Tensor "
             "Decomposition on GPU, CF '24",
    .variants = "auto cyclic no-remap paper paper-cyclic paper-no-remap",
    .parameters = pd_partition_parameters,
    .parameter_count = 2,
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = pd_ordered_supports,
    .estimate_bytes = flycoo_estimate_bytes,
    .estimate_seconds = flycoo_estimate_seconds,
    .header_bytes = sizeof(struct pd_flycoo),
    .arrays = flycoo_arrays,
    .begin = flycoo_begin,
    .build_there = pd_flycoo_fill_there,
    .bytes_there = flycoo_bytes_there,
    .build = flycoo_build,
    .check = pd_flycoo_check,
    .decode = pd_flycoo_decode,
    .describe = flycoo_describe,
};
