/* Building, checking and describing "coo". */
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"
#include "formats/rowsum/rowsum_build.h"
#include <stdio.h>
#include <string.h>

static bool on_gpu(const struct pd_request *request) {
  return strcmp(request->device->kind, "cpu") != 0;
}

static bool supports(const struct pd_traits *traits, const struct pd_request *request,
                     char reason[PD_REASON_BYTES]) {
  bool tiled = strcmp(request->variant, "tiled") == 0;
  if (!on_gpu(request)) return true;
  if (tiled) snprintf(reason, PD_REASON_BYTES, "variant tiled is made for the caches of a CPU");
  return !tiled && pd_nz_supports(traits, request, reason);
}

/* Variants plain and paper cut nothing, nor does any on a GPU; variant tiled cuts the output and
 * the first two columns in four. */
static void choose_tiling(const struct pd_traits *traits, const struct pd_request *request,
                          int mode, struct pd_tiling *tiling) {
  bool cut = strcmp(request->variant, "auto") == 0 && !on_gpu(request);
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

static void estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                           uint64_t *storage, uint64_t *building) {
  *storage = sizeof(struct pd_coo);
  for (int n = 0; n < traits->order; ++n) {
    struct pd_tiling tiling;
    choose_tiling(traits, request, n, &tiling);
    *storage = pd_add_saturated(
        *storage, pd_rowsum_estimate_bytes(traits->order, traits->dims, n, traits->nnz, tiling.runs,
                                           request->precision, request->force_index64));
  }
  *building = pd_add_saturated(*storage, pd_rowsum_building_bytes(traits->nnz));
}

static double estimate_seconds(const struct pd_traits *traits, const struct pd_request *request) {
  double sum = 0;
  if (on_gpu(request)) return pd_nz_estimate_seconds(traits, request);
  for (int n = 0; n < traits->order; ++n) {
    struct pd_tiling tiling;
    choose_tiling(traits, request, n, &tiling);
    sum += tiling.nanoseconds;
  }
  return 1e-9 * sum / request->threads;
}

static void destroy(polyad_context *context, void *storage) {
  struct pd_coo *coo = storage;
  if (coo == NULL) return;
  for (int n = 0; n < coo->order; ++n)
    pd_rowsum_clear(context, &coo->list[n]);
  pd_free(context, coo);
}

static polyad_status build(polyad_context *context, polyad_tensor *tensor, bool take,
                           const struct pd_request *request, void **storage) {
  (void)take; /* every list is made from the tensor's arrays */
  struct pd_coo *coo;
  struct pd_traits traits;
  *storage = NULL;
  PD_TRY(pd_traits_compute(context, tensor, &traits));
  PD_TRY(PD_NEW_ZERO(context, 1, &coo));
  pd_nz_init(&coo->head, NULL, tensor);
  coo->order = tensor->order;
  coo->nnz = tensor->nnz;
  coo->type = tensor->type;
  memcpy(coo->dims, tensor->dims, sizeof coo->dims);
  coo->atomic = strcmp(request->variant, "paper") == 0;
  for (int n = 0; n < coo->order; ++n) {
    struct pd_tiling tiling;
    choose_tiling(&traits, request, n, &tiling);
    polyad_status status =
        pd_rowsum_build(context, tensor, n, request->force_index64, &tiling, &coo->list[n]);
    if (status != POLYAD_OK) {
      destroy(context, coo);
      return status;
    }
  }
  *storage = coo;
  return POLYAD_OK;
}

static polyad_status check(polyad_context *context, const void *storage) {
  const struct pd_coo *coo = storage;
  for (int n = 0; n < coo->order; ++n)
    PD_TRY(pd_rowsum_check(context, &coo->list[n], n, coo->dims));
  return POLYAD_OK;
}

static uint64_t bytes(const void *storage) {
  const struct pd_coo *coo = storage;
  uint64_t total = sizeof *coo;
  for (int n = 0; n < coo->order; ++n)
    total += pd_rowsum_bytes(&coo->list[n], coo->type);
  return total;
}

static void describe(const void *storage, char text[PD_REASON_BYTES]) {
  const struct pd_coo *coo = storage;
  int length = snprintf(text, PD_REASON_BYTES, "%d lists, each sorted by its mode", coo->order);
  const char *word = "; tiled: modes";
  if (coo->atomic) snprintf(text, PD_REASON_BYTES, "one list and atomic sums on a GPU");
  for (int n = 0; n < coo->order; ++n) {
    if (coo->list[n].blocks == 0) continue;
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s %d", word, n + 1);
    word = ",";
  }
}

static polyad_status expand(polyad_context *context, const void *storage, polyad_tensor **tensor) {
  const struct pd_coo *coo = storage;
  return pd_rowsum_expand(context, &coo->list[0], 0, coo->dims, coo->type, tensor);
}

const struct polyad_format pd_coo_format = {
    .name = "coo",
    .summary = "Coordinates and values, sorted once for each mode",
    .paper = "B. W. Bader and T. G. Kolda, SIAM J. Sci. Comput. 30 (2007)",
    .variants = "auto plain tiled paper",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .deterministic = true,
    .supports = supports,
    .estimate_bytes = estimate_bytes,
    .estimate_seconds = estimate_seconds,
    .build = build,
    .check = check,
    .bytes = bytes,
    .describe = describe,
    .destroy = destroy,
    .expand = expand,
};
