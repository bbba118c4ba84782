/* Building, checking and describing "fwc". */
#include "core/numbers.h"
#include "formats/fibers/fibers.h"
#include "formats/fwc/fwc_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>

static void fwc_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                               uint64_t *storage, uint64_t *building) {
  struct pd_fwc like = {
      .head = {.order = traits->order, .nnz = traits->nnz, .type = request->precision}};
  for (int n = 0; n < traits->order; ++n)
    like.mode[n].fibers = (uint32_t)traits->fibers[pd_fibers_leaf(traits, n)];
  *storage = pd_storage_bytes(&pd_fwc_format, &like);
  *building = pd_add_saturated(*storage, pd_nz_sorted_bytes(traits, request));
}

static void fwc_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_fwc *fwc = storage;
  uint64_t nnz = fwc->head.nnz;
  for (int n = 0, leaf = fwc->head.order - 1; n <= leaf; ++n) {
    struct pd_fwc_mode *mode = &fwc->mode[n];
    enum pd_array_use use = n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES;
    for (int l = 0; l <= leaf; ++l)
      pd_show_array(arrays, &mode->id[l], l < leaf ? mode->fibers : nnz, sizeof *mode->id[l], use);
    pd_show_array(arrays, &mode->start, (uint64_t)mode->fibers + 1, sizeof *mode->start, use);
    pd_show_array(arrays, &mode->unit_fiber, pd_nz_units(nnz, PD_FWC_UNIT),
                  sizeof *mode->unit_fiber, use);
    pd_show_array(arrays, &mode->values, nnz, pd_type_bytes(fwc->head.type), use);
  }
}

static void fwc_decode(const void *storage, int mode, uint64_t first, int count,
                       struct pd_chunk *block) {
  const struct pd_fwc *fwc = storage;
  const struct pd_fwc_mode *from = &fwc->mode[mode];
  uint64_t fiber = pd_nz_piece_of(from->start, from->fibers, first);
  int leaf = fwc->head.order - 1;
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    while (p >= from->start[fiber + 1])
      ++fiber;
    for (int l = 0; l < leaf; ++l)
      block->index[from->level[l]][k] = from->id[l][fiber];
    block->index[from->level[leaf]][k] = from->id[leaf][p];
    block->value[k] = pd_load(fwc->head.type, from->values, p);
  }
}

static const struct pd_nz_ops ops = {.rows_together = true, .decode = fwc_decode};

static polyad_status fwc_build_mode(polyad_context *context, const polyad_tensor *tensor,
                                    struct pd_room *room, struct pd_fwc_mode *mode) {
  polyad_status status = POLYAD_OK;
  polyad_tensor sorted = {.context = context};
  int leaf = tensor->order - 1, shift[POLYAD_MAX_ORDER] = {0};
  shift[mode->level[leaf]] = PD_NZ_LEFT_OUT;
  PD_TRY_CLEANUP(pd_sorted_by_modes(context, tensor, mode->level, room, &sorted));
  PD_TRY_CLEANUP(
      pd_nz_runs(context, &sorted, tensor->nnz, NULL, shift, &mode->start, &mode->fibers));
  for (int l = 0; l < leaf; ++l)
    PD_TRY_CLEANUP(pd_nz_gather_index(context, &sorted, mode->level[l], mode->fibers, mode->start,
                                      &mode->id[l]));
  mode->id[leaf] = pd_sorted_take(&sorted.index[mode->level[leaf]]);
  mode->values = pd_sorted_take(&sorted.values);
  status =
      pd_nz_pieces(context, tensor->nnz, PD_FWC_UNIT, mode->start, mode->fibers, &mode->unit_fiber);
cleanup:
  pd_tensor_free_arrays(&sorted);
  return status;
}

static polyad_status fwc_build(polyad_context *context, polyad_tensor *tensor, bool take,
                               const struct pd_request *request, void *storage) {
  (void)take;
  polyad_status status = POLYAD_OK;
  struct pd_fwc *fwc = storage;
  struct pd_traits traits;
  struct pd_room room = {0};
  PD_TRY_CLEANUP(pd_traits_of_request(context, tensor, request, &traits));
  pd_nz_init(&fwc->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n) {
    pd_fibers_levels(tensor->order, tensor->dims, n, pd_fibers_leaf(&traits, n),
                     fwc->mode[n].level);
    PD_TRY_CLEANUP(fwc_build_mode(context, tensor, &room, &fwc->mode[n]));
  }
cleanup:
  pd_room_destroy(context, &room);
  return status;
}

static polyad_status fwc_check(polyad_context *context, const void *storage) {
  const struct pd_fwc *fwc = storage;
  for (int n = 0; n < fwc->head.order; ++n) {
    const struct pd_fwc_mode *mode = &fwc->mode[n];
    if (mode->start[0] != 0 || mode->start[mode->fibers] != fwc->head.nnz)
      return pd_nz_broken(context, "fwc", "fibers do not hold all nonzeros of mode", (uint64_t)n);
    for (uint32_t f = 0; f < mode->fibers; ++f)
      if (mode->start[f] >= mode->start[f + 1])
        return pd_nz_broken(context, "fwc", "empty fiber", f);
    for (uint64_t c = 0; c * PD_FWC_UNIT < fwc->head.nnz; ++c)
      if (pd_nz_piece_of(mode->start, mode->fibers, c * PD_FWC_UNIT) != mode->unit_fiber[c])
        return pd_nz_broken(context, "fwc", "wrong fiber of unit", c);
  }
  return pd_nz_check(context, &fwc->head, "fwc");
}

static void fwc_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_fwc *fwc = storage;
  int length = snprintf(text, PD_REASON_BYTES, "fibers along");
  for (int n = 0; n < fwc->head.order; ++n)
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s mode %d",
                       n > 0 ? "," : "", fwc->mode[n].level[fwc->head.order - 1] + first_mode);
}

const struct polyad_format pd_fwc_format = {
    .name = "fwc",
    .summary = "For each mode: compressed fibers, each an inner product with a factor's columns",
    .paper = "R. Hu et al., HPCC 2020",
    .variants = "auto",
    .by_name = true,
    .supports = pd_nz_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(fwc),
};

const struct polyad_kernels pd_fwc_kernels_cpu = PD_NZ_KERNELS_CPU("fwc");
