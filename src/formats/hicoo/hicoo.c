/* Building, checking and describing "hicoo". */
#include "formats/hicoo/hicoo.h"
#include "formats/hicoo/hicoo_layout.h"
#include <stdio.h>

static uint64_t bytes_of(int order, uint64_t nnz, uint64_t blocks, polyad_type type) {
  return sizeof(struct pd_hicoo) + nnz * ((uint64_t)order + pd_type_bytes(type)) +
         4 * (blocks * ((uint64_t)order + 1) + 1 + pd_nz_units(nnz, PD_HICOO_UNIT));
}

/* At most a block for every nonzero, and no more than there are. */
static uint64_t most_blocks(const struct pd_traits *traits) {
  uint64_t blocks = 1;
  for (int n = 0; n < traits->order; ++n)
    blocks = pd_mul_saturated(blocks, ((traits->dims[n] - 1) >> PD_HICOO_BITS) + 1);
  return blocks < traits->nnz ? blocks : traits->nnz;
}

static void estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                           uint64_t *storage, uint64_t *building) {
  struct pd_nz_curve curve;
  pd_nz_curve_init(&curve, traits->order, traits->dims, 0);
  *storage = bytes_of(traits->order, traits->nnz, most_blocks(traits), request->precision);
  *building = pd_add_saturated(*storage, pd_nz_sorting_bytes(traits->nnz, curve.words));
}

static void destroy(polyad_context *context, void *storage) {
  struct pd_hicoo *hicoo = storage;
  if (hicoo == NULL) return;
  for (int n = 0; n < hicoo->head.order; ++n) {
    pd_free(context, hicoo->block[n]);
    pd_free(context, hicoo->element[n]);
  }
  pd_free(context, hicoo->start);
  pd_free(context, hicoo->values);
  pd_free(context, hicoo->unit_block);
  pd_free(context, hicoo);
}

static bool same_block(const polyad_tensor *tensor, uint64_t p, uint64_t q) {
  for (int n = 0; n < tensor->order; ++n)
    if ((pd_tensor_index(tensor, n, p) ^ pd_tensor_index(tensor, n, q)) >> PD_HICOO_BITS)
      return false;
  return true;
}

static polyad_status build_blocks(polyad_context *context, const polyad_tensor *tensor,
                                  const uint32_t *permutation, struct pd_hicoo *hicoo) {
  uint64_t nnz = tensor->nnz, blocks = nnz > 0;
  for (uint64_t p = 1; p < nnz; ++p)
    blocks += !same_block(tensor, permutation[p - 1], permutation[p]);
  PD_TRY(PD_NEW(context, blocks + 1, &hicoo->start));
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(PD_NEW(context, blocks, &hicoo->block[n]));
  uint32_t block = 0;
  for (uint64_t p = 0; p < nnz; ++p) {
    if (p > 0 && same_block(tensor, permutation[p - 1], permutation[p])) continue;
    for (int n = 0; n < tensor->order; ++n)
      hicoo->block[n][block] =
          (uint32_t)(pd_tensor_index(tensor, n, permutation[p]) >> PD_HICOO_BITS);
    hicoo->start[block++] = (uint32_t)p;
  }
  hicoo->start[blocks] = (uint32_t)nnz;
  hicoo->blocks = (uint32_t)blocks;
  return POLYAD_OK;
}

static polyad_status build_elements(polyad_context *context, const polyad_tensor *tensor,
                                    const uint32_t *permutation, struct pd_hicoo *hicoo) {
  uint64_t nnz = tensor->nnz;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  for (int n = 0; n < tensor->order; ++n) {
    PD_TRY(PD_NEW(context, nnz, &hicoo->element[n]));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t p = 0; p < nnz; ++p)
      hicoo->element[n][p] =
          (uint8_t)(pd_tensor_index(tensor, n, permutation[p]) & ((1 << PD_HICOO_BITS) - 1));
  }
  return pd_nz_gather_values(context, tensor, nnz, permutation, &hicoo->values);
}

static const int *levels_of(const void *storage, int mode) {
  (void)mode;
  return ((const struct pd_hicoo *)storage)->levels;
}

static bool row_runs(const void *storage, int mode) {
  (void)storage, (void)mode;
  return false;
}

static void decode(const void *storage, int mode, uint64_t first, int count,
                   struct pd_nz_block *block) {
  (void)mode;
  const struct pd_hicoo *hicoo = storage;
  uint64_t at = pd_nz_piece_of(hicoo->start, hicoo->blocks, first);
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    while (p >= hicoo->start[at + 1])
      ++at;
    for (int n = 0; n < hicoo->head.order; ++n)
      block->index[n][k] = (uint64_t)hicoo->block[n][at] << PD_HICOO_BITS | hicoo->element[n][p];
    block->value[k] = pd_nz_value(hicoo->values, hicoo->head.type, p);
  }
}

static const struct pd_nz_ops ops = {.levels = levels_of, .row_runs = row_runs, .decode = decode};

static polyad_status build(polyad_context *context, polyad_tensor *tensor, bool take,
                           const struct pd_request *request, void **out) {
  (void)take, (void)request;
  polyad_status status = POLYAD_OK;
  struct pd_hicoo *hicoo = NULL;
  struct pd_nz_curve curve;
  uint32_t *permutation = NULL;
  *out = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &hicoo));
  pd_nz_init(&hicoo->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n)
    hicoo->levels[n] = n;
  pd_nz_curve_init(&curve, tensor->order, tensor->dims, 0);
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &permutation));
  PD_TRY_CLEANUP(pd_nz_sort_curve(context, tensor, &curve, -1, permutation));
  PD_TRY_CLEANUP(build_blocks(context, tensor, permutation, hicoo));
  PD_TRY_CLEANUP(build_elements(context, tensor, permutation, hicoo));
  PD_TRY_CLEANUP(pd_nz_pieces(context, tensor->nnz, PD_HICOO_UNIT, hicoo->start, hicoo->blocks,
                              &hicoo->unit_block));
  *out = hicoo;
  hicoo = NULL;
cleanup:
  pd_free(context, permutation);
  destroy(context, hicoo);
  return status;
}

static polyad_status check(polyad_context *context, const void *storage) {
  const struct pd_hicoo *hicoo = storage;
  if (hicoo->start[0] != 0 || hicoo->start[hicoo->blocks] != hicoo->head.nnz)
    return pd_nz_broken(context, "hicoo", "blocks do not hold all nonzeros", 0);
  for (uint32_t b = 0; b < hicoo->blocks; ++b)
    if (hicoo->start[b] >= hicoo->start[b + 1])
      return pd_nz_broken(context, "hicoo", "empty block", b);
  for (int n = 0; n < hicoo->head.order; ++n)
    for (uint64_t p = 0; p < hicoo->head.nnz; ++p)
      if (hicoo->element[n][p] >> PD_HICOO_BITS)
        return pd_nz_broken(context, "hicoo", "element outside its block", p);
  for (uint64_t c = 0; c * PD_HICOO_UNIT < hicoo->head.nnz; ++c)
    if (pd_nz_piece_of(hicoo->start, hicoo->blocks, c * PD_HICOO_UNIT) != hicoo->unit_block[c])
      return pd_nz_broken(context, "hicoo", "wrong block of unit", c);
  return pd_nz_check(context, &hicoo->head, "hicoo");
}

static uint64_t bytes(const void *storage) {
  const struct pd_hicoo *hicoo = storage;
  return bytes_of(hicoo->head.order, hicoo->head.nnz, hicoo->blocks, hicoo->head.type);
}

static void describe(const void *storage, char text[PD_REASON_BYTES]) {
  const struct pd_hicoo *hicoo = storage;
  snprintf(text, PD_REASON_BYTES, "%u blocks of edge %d, %.3g nonzeros in each", hicoo->blocks,
           1 << PD_HICOO_BITS,
           (double)hicoo->head.nnz / (hicoo->blocks > 0 ? (double)hicoo->blocks : 1));
}

const struct polyad_format pd_hicoo_format = {
    .name = "hicoo",
    .summary = "Blocks of 128 indices in every mode, one byte per index in them; one copy",
    .paper = "J. Li, J. Sun and R. Vuduc, SC 2018",
    .variants = "auto",
    .min_order = 3,
    .max_order = POLYAD_MAX_ORDER,
    .deterministic = false,
    .supports = pd_nz_supports,
    .estimate_bytes = estimate_bytes,
    .estimate_seconds = pd_nz_estimate_seconds,
    .build = build,
    .check = check,
    .bytes = bytes,
    .describe = describe,
    .destroy = destroy,
    .expand = pd_nz_expand,
};

const struct polyad_kernels pd_hicoo_kernels_cpu = PD_NZ_KERNELS_CPU("hicoo");
