/* Building, checking and describing "coo". */
#include "formats/coo/coo_flat.h"
#include "formats/sent.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

static bool coo_on_gpu(const struct pd_request *request) {
  return strcmp(request->device->kind, "cpu") != 0;
}

static bool coo_supports(const struct pd_traits *traits, const struct pd_request *request,
                         char reason[PD_REASON_BYTES]) {
  bool tiled = strcmp(request->variant, "tiled") == 0;
  if (!coo_on_gpu(request)) return true;
  if (tiled) snprintf(reason, PD_REASON_BYTES, "variant tiled is made for the caches of a CPU");
  return !tiled && pd_nz_supports(traits, request, reason);
}

/* Variants plain and paper cut nothing; variant tiled cuts the output and the first two columns in
 * four. */
static void choose_tiling(const struct pd_traits *traits, const struct pd_request *request,
                          int mode, struct pd_tiling *tiling) {
  bool cut = strcmp(request->variant, "auto") == 0;
  pd_tiling_choose(traits, request, mode, cut, tiling);
  if (strcmp(request->variant, "tiled") != 0) return;
  int bits = pd_index_bits(traits->dims[mode]) - 2;
  tiling->tiled = true;
  tiling->block_shift = bits < 0 ? 0 : bits < 10 ? bits : 10;
  for (int g = 0; g < tiling->columns && g < 2; ++g) {
    bits = pd_index_bits(traits->dims[tiling->mode[g]]) - 2;
    tiling->shift[g] = bits < 0 ? 0 : bits;
    tiling->runs = 4 * tiling->runs < traits->nnz ? 4 * tiling->runs : traits->nnz;
  }
}

/* Variant paper on the CPU: coordinates once and a permutation per mode. */
static bool is_permuted(const struct pd_request *request) {
  return strcmp(request->variant, "paper") == 0 && !coo_on_gpu(request);
}

/* Lists of a device. */
static int flats_of(int order, const struct pd_request *request) {
  if (!coo_on_gpu(request)) return 0;
  return strcmp(request->variant, "paper") == 0 ? 1 : order;
}

static uint64_t shared_bytes(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                             bool force_index64) {
  uint64_t item = pd_type_bytes(type);
  for (int n = 0; n < order; ++n)
    item += (uint64_t)pd_rowsum_index_bytes(dims[n], force_index64);
  return pd_mul_saturated(nnz, item);
}

static void coo_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                               uint64_t *storage, uint64_t *building) {
  bool wide = request->force_index64, permuted = is_permuted(request);
  int flats = flats_of(traits->order, request);
  *storage = sizeof(struct pd_coo);
  if (flats > 0) {
    *storage = pd_add_saturated(
        *storage, pd_coo_flat_bytes(flats, traits->order, traits->nnz, request->precision));
    *building = pd_add_saturated(*storage, pd_nz_sorted_bytes(traits, request));
    return;
  }
  if (permuted)
    *storage = pd_add_saturated(
        *storage, shared_bytes(traits->order, traits->dims, traits->nnz, request->precision, wide));
  for (int n = 0; n < traits->order; ++n) {
    struct pd_tiling tiling;
    choose_tiling(traits, request, n, &tiling);
    uint64_t each = permuted
                        ? pd_rowsum_permuted_bytes(traits->dims, n, traits->nnz, tiling.runs, wide)
                        : pd_rowsum_estimate_bytes(traits->order, traits->dims, n, traits->nnz,
                                                   tiling.runs, request->precision, wide);
    *storage = pd_add_saturated(*storage, each);
  }
  *building = pd_add_saturated(*storage, pd_rowsum_building_bytes(traits->order, traits->dims,
                                                                  traits->nnz, request->precision,
                                                                  permuted, request->threads));
}

static double coo_estimate_seconds(const struct pd_traits *traits,
                                   const struct pd_request *request) {
  double sum = 0;
  if (coo_on_gpu(request)) return pd_nz_estimate_seconds(traits, request);
  for (int n = 0; n < traits->order; ++n) {
    struct pd_tiling tiling;
    choose_tiling(traits, request, n, &tiling);
    sum += tiling.nanoseconds;
  }
  return 1e-9 * sum / request->threads;
}

static void coo_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_coo *coo = storage;
  for (int n = 0; n < coo->flats; ++n) {
    struct pd_coo_flat *list = &coo->flat[n];
    enum pd_array_use use = n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES;
    for (int l = 0; l < coo->order; ++l)
      pd_show_array(arrays, &list->index[l], coo->nnz, sizeof *list->index[l], use);
    pd_show_array(arrays, &list->values, coo->nnz, pd_type_bytes(coo->type), use);
  }
  for (int n = 0; n < coo->order && coo->flats == 0; ++n) {
    pd_rowsum_arrays(&coo->list[n], coo->type, arrays);
    pd_show_array(arrays, &coo->shared.id[n], coo->nnz, (size_t)coo->shared.id_bytes[n],
                  PD_ARRAY_HOST);
  }
  if (coo->flats == 0 && coo->atomic)
    pd_show_array(arrays, &coo->shared.values, coo->nnz, pd_type_bytes(coo->type), PD_ARRAY_HOST);
}

static polyad_status coo_build_list(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_tiling *tiling,
                                    const struct pd_request *request, int mode,
                                    struct pd_room *room, struct pd_coo *coo) {
  bool wide = request->force_index64;
  if (!is_permuted(request))
    return pd_rowsum_build(context, tensor, mode, wide, tiling, room, &coo->list[mode]);
  return pd_rowsum_build_permuted(context, tensor, mode, wide, tiling, &coo->shared, room,
                                  &coo->list[mode]);
}

static polyad_status coo_build_lists(polyad_context *context, const polyad_tensor *tensor,
                                     const struct pd_traits *traits,
                                     const struct pd_request *request, struct pd_coo *coo) {
  polyad_status status = POLYAD_OK;
  struct pd_room room = {0};
  struct pd_tiling tiling[POLYAD_MAX_ORDER];
  struct pd_layout keys[POLYAD_MAX_ORDER];
  for (int n = 0; n < coo->order; ++n) {
    choose_tiling(traits, request, n, &tiling[n]);
    pd_rowsum_layout(tensor, n, &tiling[n], &keys[n]);
  }
  if (is_permuted(request))
    status = pd_rowsum_share(context, tensor, request->force_index64, &coo->shared);
  if (status == POLYAD_OK)
    status = pd_rowsum_room_create(context, tensor, is_permuted(request), &room);
  /* The list that most others follow comes first; they are made from its records. */
  int first = pd_layout_followed(coo->order, keys);
  room.keeps = first >= 0;
  for (int k = 0; k < coo->order && status == POLYAD_OK; ++k) {
    int n = pd_layout_turn(k, first);
    status = coo_build_list(context, tensor, &tiling[n], request, n, &room, coo);
  }
  pd_room_destroy(context, &room);
  return status;
}

static polyad_status coo_begin(polyad_context *context, const polyad_tensor *tensor,
                               const struct pd_request *request, void *storage) {
  (void)context;
  struct pd_coo *coo = storage;
  pd_nz_init(&coo->head, NULL, tensor);
  coo->order = tensor->order;
  coo->nnz = tensor->nnz;
  coo->type = tensor->type;
  memcpy(coo->dims, tensor->dims, sizeof coo->dims);
  coo->atomic = strcmp(request->variant, "paper") == 0;
  coo->flats = flats_of(coo->order, request);
  return POLYAD_OK;
}

static polyad_status coo_build(polyad_context *context, polyad_tensor *tensor, bool take,
                               const struct pd_request *request, void *storage) {
  (void)take; /* every list is made from the tensor's arrays */
  struct pd_coo *coo = storage;
  struct pd_traits traits;
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  return coo->flats > 0 ? pd_coo_flat_build(context, tensor, &traits, request, coo)
                        : coo_build_lists(context, tensor, &traits, request, coo);
}

static polyad_status coo_check(polyad_context *context, const void *storage) {
  const struct pd_coo *coo = storage;
  if (coo->flats > 0) return pd_coo_flat_check(context, coo);
  for (int n = 0; n < coo->order; ++n)
    PD_TRY(pd_rowsum_check(context, &coo->list[n], n, coo->dims));
  return POLYAD_OK;
}

static void coo_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_coo *coo = storage;
  int length = snprintf(text, PD_REASON_BYTES, "%d lists, each sorted by its mode", coo->order);
  const char *word = "; tiled: modes";
  if (coo->atomic)
    length = snprintf(text, PD_REASON_BYTES, "one list%s, atomic sums",
                      coo->shared.values != NULL ? " and a permutation per mode" : "");
  for (int n = 0; n < coo->order; ++n) {
    if (coo->list[n].blocks == 0) continue;
    length +=
        snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s %d", word, n + first_mode);
    word = ",";
  }
}

static void coo_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_coo *coo = storage;
  if (coo->flats > 0)
    pd_coo_flat_decode(coo, first, count, chunk);
  else
    pd_rowsum_decode(&coo->list[0], 0, coo->type, first, count, chunk);
}

const struct polyad_format pd_coo_format = {
    .name = "coo",
    .summary = "Coordinates and values, sorted once for each mode",
    .paper = "B. W. Bader and T. G. Kolda, SIAM J. Sci. Comput. 30 (2007)",
    .variants = "auto plain tiled paper",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = coo_supports,
    .estimate_bytes = coo_estimate_bytes,
    .estimate_seconds = coo_estimate_seconds,
    .header_bytes = sizeof(struct pd_coo),
    .arrays = coo_arrays,
    .begin = coo_begin,
    .build_there = pd_coo_flat_build_there,
    .bytes_there = pd_sent_bytes_there,
    .build = coo_build,
    .check = coo_check,
    .describe = coo_describe,
    .decode = coo_decode,
    .rows = pd_coo_row_source,
};
