/* Building, checking and describing "modecopy". */
#include "formats/modecopy/modecopy_build.h"
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

static enum pd_modecopy_variant modecopy_variant_of(const char *name) {
  if (strcmp(name, "paper") == 0) return PD_MODECOPY_ADAPTIVE;
  if (strcmp(name, "paper-scheme1") == 0) return PD_MODECOPY_SCHEME1;
  if (strcmp(name, "paper-scheme2") == 0) return PD_MODECOPY_SCHEME2;
  return PD_MODECOPY_SORTED;
}

void pd_modecopy_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t copies, uint64_t *storage, uint64_t *building) {
  struct pd_modecopy like = {.variant = modecopy_variant_of(request->variant),
                             .order = traits->order,
                             .copies = copies,
                             .nnz = traits->nnz,
                             .type = request->precision,
                             .partitions = pd_partition_count(request)};
  bool sorted = like.variant == PD_MODECOPY_SORTED;
  uint64_t longest = 0;
  memcpy(like.dims, traits->dims, sizeof like.dims);
  for (int mode = 0; mode < traits->order; ++mode) {
    if ((copies >> mode & 1) == 0) continue;
    struct pd_modecopy_copy *copy = &like.copy[mode];
    copy->order.rows = traits->nonempty[mode];
    copy->order.has_row_id = copy->order.rows < traits->dims[mode];
    for (int n = 0; n < traits->order; ++n)
      if (n != mode) copy->field[copy->inputs++].mode = n;
    copy->field[copy->inputs].mode = mode;
    pd_modecopy_pack(copy, sorted ? copy->inputs : copy->inputs + 1, traits->dims);
    if (traits->dims[mode] > longest) longest = traits->dims[mode];
  }
  *storage = pd_storage_bytes(&pd_modecopy_format, &like);
  /* The records, counts per row and what partitioning them takes. */
  int bits = pd_modecopy_key_bits(traits->order, traits->dims, sorted ? 1 : like.partitions);
  int words = pd_record_words(bits, 8 * (int)pd_type_bytes(request->precision));
  uint64_t sorting = pd_add_saturated(pd_sorting_bytes(traits->nnz, words, request->threads),
                                      pd_mul_saturated(longest, 4 + 16 + 8));
  *building = pd_add_saturated(*storage, sorting);
}

static void modecopy_estimate_bytes(const struct pd_traits *traits,
                                    const struct pd_request *request, uint64_t *storage,
                                    uint64_t *building) {
  pd_modecopy_estimate_bytes(traits, request, pd_modecopy_all(traits->order), storage, building);
}

static double modecopy_estimate_seconds(const struct pd_traits *traits,
                                        const struct pd_request *request) {
  double row = (double)(request->rank * pd_type_bytes(request->precision));
  double bytes = (double)traits->nnz * traits->order * ((traits->order - 1) * row + 12);
  bool gpu = strcmp(request->device->kind, "cuda") == 0;
  if (gpu) return 2.6e-5 * traits->order + bytes / 20e12; /* fitted on an H200 */
  return bytes / (1e10 * request->threads);
}

void pd_modecopy_arrays(struct pd_modecopy *storage, bool decoded, struct pd_arrays *arrays) {
  uint64_t nnz = storage->nnz, padded = pd_modecopy_padded(nnz);
  for (int mode = 0; mode < storage->order; ++mode) {
    struct pd_modecopy_copy *copy = &storage->copy[mode];
    enum pd_array_use use = decoded && mode == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES;
    if (!pd_modecopy_has(storage, mode)) continue;
    for (int k = 0; k < copy->planes; ++k)
      pd_show_array(arrays, &copy->plane[k], padded, sizeof *copy->plane[k], use);
    pd_show_array(arrays, &copy->values, padded, pd_type_bytes(storage->type), use);
    if (storage->variant == PD_MODECOPY_SORTED)
      pd_ordered_arrays(&copy->order, nnz, storage->dims[mode], storage->ends, use, arrays);
    else
      pd_show_array(arrays, &copy->part_start, (uint64_t)storage->partitions + 1,
                    sizeof *copy->part_start, use);
  }
}

static void modecopy_arrays(void *storage, struct pd_arrays *arrays) {
  pd_modecopy_arrays(storage, true, arrays);
}

void pd_modecopy_init(const polyad_tensor *tensor, const struct pd_request *request,
                      uint64_t copies, struct pd_modecopy *storage) {
  *storage = (struct pd_modecopy){
      .variant = modecopy_variant_of(request->variant),
      .copies = copies,
      .order = tensor->order,
      .nnz = tensor->nnz,
      .type = tensor->type,
      .partitions = pd_partition_count(request),
      .rank =
          request->device != NULL && strcmp(request->device->kind, "cuda") == 0 ? request->rank : 0,
      .columns = pd_parameter(request, PD_BLOCK_COLUMNS, PD_BLOCK_COLUMNS_USUAL)};
  memcpy(storage->dims, tensor->dims, sizeof storage->dims);
}

static polyad_status modecopy_begin(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_request *request, void *storage) {
  (void)context;
  pd_modecopy_init(tensor, request, pd_modecopy_all(tensor->order), storage);
  return POLYAD_OK;
}

/* The copy that most others follow comes first; they are made from its records. */
static polyad_status fill_sorted(polyad_context *context, const struct pd_modecopy_job *like) {
  struct pd_layout keys[POLYAD_MAX_ORDER];
  struct pd_modecopy_job job[POLYAD_MAX_ORDER];
  int copies = 0;
  for (int mode = 0; mode < like->tensor->order; ++mode) {
    if (!pd_modecopy_has(like->storage, mode)) continue;
    job[copies] = *like;
    job[copies].mode = mode;
    PD_TRY(pd_modecopy_order(context, &job[copies], &keys[copies]));
    ++copies;
  }
  int first = pd_layout_followed(copies, keys);
  like->room->keeps = first >= 0;
  for (int k = 0; k < copies; ++k) {
    int n = pd_layout_turn(k, first);
    PD_TRY(pd_modecopy_build_sorted(context, &job[n], &keys[n]));
  }
  return POLYAD_OK;
}

polyad_status pd_modecopy_fill(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_request *request, struct pd_modecopy *storage) {
  polyad_status status = POLYAD_OK;
  struct pd_traits traits;
  struct pd_room room = {0};
  PD_TRY_CLEANUP(pd_traits_of_request(context, tensor, request, &traits));
  bool sorted = storage->variant == PD_MODECOPY_SORTED;
  int bits = pd_modecopy_key_bits(tensor->order, tensor->dims, sorted ? 1 : storage->partitions);
  PD_TRY_CLEANUP(pd_room_create_values(context, tensor, bits, &room));
  struct pd_modecopy_job job = {tensor, &traits, request, 0, storage, &room};
  if (sorted) PD_TRY_CLEANUP(fill_sorted(context, &job));
  for (; !sorted && job.mode < tensor->order; ++job.mode)
    if (pd_modecopy_has(storage, job.mode)) PD_TRY_CLEANUP(pd_modecopy_build_paper(context, &job));
cleanup:
  pd_room_destroy(context, &room);
  return status;
}

static polyad_status modecopy_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                    const struct pd_request *request, void *storage) {
  (void)take; /* every copy is made from all of the tensor's arrays */
  return pd_modecopy_fill(context, tensor, request, storage);
}

/* Bits of one nonzero over all copies: by section III-C of the paper (whole bits per index), and
 * as stored. */
static void count_bits(const struct pd_modecopy *storage, int *formula, int *stored) {
  int value = 8 * (int)pd_type_bytes(storage->type);
  *formula = *stored = 0;
  for (int mode = 0; mode < storage->order; ++mode) {
    *stored += value + 32 * storage->copy[mode].planes;
    *formula += value;
    for (int n = 0; n < storage->order; ++n)
      *formula += pd_index_bits(storage->dims[n]);
  }
}

static void modecopy_describe(const void *pointer, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_modecopy *storage = pointer;
  int formula, stored;
  count_bits(storage, &formula, &stored);
  int at = snprintf(text, PD_REASON_BYTES, "%s, %d copies of together %d bits (COO: %d)",
                    storage->variant == PD_MODECOPY_SORTED ? "sorted" : "paper", storage->order,
                    stored, formula);
  if (storage->variant == PD_MODECOPY_SORTED) {
    uint64_t rows;
    int tables = storage->rank > 0 ? pd_modecopy_tables(storage, storage->rank, &rows) : 0;
    if (tables > 0)
      snprintf(text + at, (size_t)(PD_REASON_BYTES - at),
               ", %d of them with a table of two modes' products, of at most %llu rows", tables,
               (unsigned long long)rows);
    return;
  }
  at += snprintf(text + at, (size_t)(PD_REASON_BYTES - at), ", %d partitions, schemes",
                 storage->partitions);
  for (int mode = 0; mode < storage->order && at > 0 && at < PD_REASON_BYTES; ++mode)
    at += snprintf(text + at, (size_t)(PD_REASON_BYTES - at), " %d", storage->copy[mode].scheme);
}

const struct polyad_format pd_modecopy_format = {
    .name = "modecopy",
    .summary = "One copy of the nonzeros per mode, each in the order of its mode",
    .paper = "S. Wijeratne, R. Kannan and V. Prasanna, Accelerating Sparse MTTKRP for Small Tensor "
             "Decomposition on GPU",
    .variants = "auto paper paper-scheme1 paper-scheme2",
    .parameters = pd_partition_parameters,
    .parameter_count = 2,
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = pd_ordered_supports,
    .estimate_bytes = modecopy_estimate_bytes,
    .estimate_seconds = modecopy_estimate_seconds,
    .header_bytes = sizeof(struct pd_modecopy),
    .arrays = modecopy_arrays,
    .begin = modecopy_begin,
    .build_there = pd_modecopy_fill_there,
    .bytes_there = pd_modecopy_bytes_there,
    .build = modecopy_build,
    .check = pd_modecopy_check,
    .decode = pd_modecopy_decode,
    .rows = pd_modecopy_row_source,
    .describe = modecopy_describe,
};
