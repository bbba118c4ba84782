/* Building, checking and describing "coo". */
#include "formats/coo/coo.h"
#include "formats/coo/coo_layout.h"
#include <stdio.h>
#include <string.h>

static bool supports(const struct pd_traits *traits, const struct pd_request *request,
                     char reason[PD_REASON_BYTES]) {
  (void)traits, (void)request, (void)reason;
  return true;
}

static int index_bytes(const struct pd_request *request, uint64_t dim) {
  return request->force_index64 ? 8 : pd_index_bytes(dim);
}

static void estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                           uint64_t *storage, uint64_t *building) {
  uint64_t item = pd_type_bytes(request->precision);
  for (int n = 0; n < traits->order; ++n)
    item += (uint64_t)index_bytes(request, traits->dims[n]);
  *storage = pd_add_saturated(pd_mul_saturated(traits->nnz, item), sizeof(struct pd_coo));
  *building = *storage;
}

static double estimate_seconds(const struct pd_traits *traits, const struct pd_request *request) {
  return 1e-9 * (double)traits->nnz * (double)request->rank * traits->order * traits->order /
         (double)request->threads;
}

static void destroy(polyad_context *context, void *storage) {
  struct pd_coo *coo = storage;
  if (coo == NULL) return;
  for (int n = 0; n < coo->order; ++n)
    pd_free(context, coo->index[n]);
  pd_free(context, coo->values);
  pd_free(context, coo);
}

static polyad_status copy_index(polyad_context *context, const polyad_tensor *tensor, int mode,
                                struct pd_coo *coo) {
  PD_TRY(pd_alloc(context, coo->nnz, (size_t)coo->index_bytes[mode], (void **)&coo->index[mode]));
  for (uint64_t p = 0; p < coo->nnz; ++p) {
    uint64_t i = pd_tensor_index(tensor, mode, p);
    if (coo->index_bytes[mode] == 4)
      ((uint32_t *)coo->index[mode])[p] = (uint32_t)i;
    else
      ((uint64_t *)coo->index[mode])[p] = i;
  }
  return POLYAD_OK;
}

static polyad_status build(polyad_context *context, polyad_tensor *tensor, bool take,
                           const struct pd_request *request, void **storage) {
  polyad_status status = POLYAD_OK;
  struct pd_coo *coo = NULL;
  *storage = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &coo));
  coo->order = tensor->order;
  coo->nnz = tensor->nnz;
  coo->type = tensor->type;
  memcpy(coo->dims, tensor->dims, sizeof coo->dims);
  for (int n = 0; n < coo->order; ++n) {
    coo->index_bytes[n] = index_bytes(request, coo->dims[n]);
    if (take && coo->index_bytes[n] == tensor->index_bytes[n]) {
      coo->index[n] = tensor->index[n];
      tensor->index[n] = NULL;
    } else {
      PD_TRY_CLEANUP(copy_index(context, tensor, n, coo));
    }
  }
  if (take) {
    coo->values = tensor->values;
    tensor->values = NULL;
  } else {
    PD_TRY_CLEANUP(pd_alloc(context, coo->nnz, pd_type_bytes(coo->type), &coo->values));
    memcpy(coo->values, tensor->values, coo->nnz * pd_type_bytes(coo->type));
  }
  *storage = coo;
  coo = NULL;
cleanup:
  destroy(context, coo);
  return status;
}

static polyad_status check(polyad_context *context, const void *storage) {
  const struct pd_coo *coo = storage;
  for (int n = 0; n < coo->order; ++n)
    for (uint64_t p = 0; p < coo->nnz; ++p) {
      uint64_t i = coo->index_bytes[n] == 4 ? ((const uint32_t *)coo->index[n])[p]
                                            : ((const uint64_t *)coo->index[n])[p];
      if (i >= coo->dims[n])
        return pd_fail(context, POLYAD_INTERNAL, "coo: index %llu of mode %d, expected below %llu",
                       (unsigned long long)i, n + 1, (unsigned long long)coo->dims[n]);
    }
  return POLYAD_OK;
}

static uint64_t bytes(const void *storage) {
  const struct pd_coo *coo = storage;
  uint64_t item = pd_type_bytes(coo->type);
  for (int n = 0; n < coo->order; ++n)
    item += (uint64_t)coo->index_bytes[n];
  return coo->nnz * item + sizeof *coo;
}

static void describe(const void *storage, char text[PD_REASON_BYTES]) {
  const struct pd_coo *coo = storage;
  snprintf(text, PD_REASON_BYTES, "one list of %llu nonzeros", (unsigned long long)coo->nnz);
}

const struct polyad_format pd_coo_format = {
    .name = "coo",
    .summary = "Coordinates and values as they are",
    .paper = "B. W. Bader and T. G. Kolda, SIAM J. Sci. Comput. 30 (2007)",
    .variants = "auto",
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
};
