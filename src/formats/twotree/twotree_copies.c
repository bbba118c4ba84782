/* A side for a GPU: copies of format "modecopy" of the nonzeros with the number of their tuple, and
 * of the tuples. */
#include "formats/twotree/twotree_copies.h"
#include "formats/modecopy/modecopy.h"
#include "formats/modecopy/modecopy_build.h"
#include "formats/twotree/twotree_tuples.h"
#include <string.h>

/* What is asked of a copy of another tensor. */
static struct pd_request request_of(const struct pd_request *request,
                                    const struct pd_traits *traits) {
  struct pd_request changed = *request;
  changed.variant = "auto";
  changed.traits = traits;
  memset(changed.parameter, 0, sizeof changed.parameter);
  changed.parameter[PD_PARTITIONS] = 1; /* it has none */
  return changed;
}

polyad_status pd_twotree_copies_begin(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side) {
  const struct pd_twotree_modes *modes = &side->modes;
  const struct pd_request plain = request_of(request, NULL);
  polyad_tensor nonzeros = {.nnz = tensor->nnz, .type = tensor->type};
  polyad_tensor tuples = nonzeros;
  if (modes->count == 1)
    return pd_modecopy_begin(context, tensor, &plain, pd_twotree_copies_of_nonzeros(modes),
                             &side->nonzeros);
  nonzeros.order = 1 + modes->others;
  tuples.order = 1 + modes->count;
  for (int k = 0; k < modes->others; ++k)
    nonzeros.dims[1 + k] = tensor->dims[modes->other[k]];
  for (int k = 0; k < modes->count; ++k) {
    tuples.dims[1 + k] = tensor->dims[modes->mode[k]];
    side->id_bytes[k] = tensor->index_bytes[modes->mode[k]];
  }
  PD_TRY(pd_modecopy_begin(context, &nonzeros, &plain, pd_twotree_copies_of_nonzeros(modes),
                           &side->nonzeros));
  return pd_modecopy_begin(context, &tuples, &plain, pd_twotree_copies_by_tuple(modes),
                           &side->by_tuple);
}

static polyad_status build_nonzeros(polyad_context *context, const struct pd_twotree_sorted *sorted,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request,
                                    struct pd_twotree_side *side) {
  polyad_tensor nonzeros = pd_twotree_nonzeros(sorted, side->tuples);
  struct pd_traits of;
  pd_twotree_pass_traits(traits, &side->modes, side->tuples, &of);
  const struct pd_request changed = request_of(request, &of);
  return pd_modecopy_build(context, &nonzeros, &changed,
                           pd_twotree_copies_of_nonzeros(&side->modes), &side->nonzeros);
}

static polyad_status build_by_tuple(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request,
                                    struct pd_twotree_side *side) {
  polyad_tensor tuples;
  struct pd_traits of;
  pd_twotree_tuple_traits(traits, &side->modes, side->tuples, &of);
  const struct pd_request changed = request_of(request, &of);
  polyad_status status = pd_twotree_tuples_make(context, tensor, side, &tuples);
  if (status == POLYAD_OK)
    status = pd_modecopy_build(context, &tuples, &changed, pd_twotree_copies_by_tuple(&side->modes),
                               &side->by_tuple);
  pd_twotree_tuples_clear(context, &tuples);
  return status;
}

polyad_status pd_twotree_copies_build(polyad_context *context, const polyad_tensor *tensor,
                                      const struct pd_traits *traits,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side) {
  polyad_status status = POLYAD_OK;
  struct pd_twotree_sorted sorted = {0};
  if (tensor->nnz == 0) return POLYAD_OK;
  if (side->modes.count == 1) {
    const struct pd_request changed = request_of(request, traits);
    return pd_modecopy_build(context, tensor, &changed, pd_twotree_copies_of_nonzeros(&side->modes),
                             &side->nonzeros);
  }
  PD_TRY_CLEANUP(pd_twotree_sorted_make(context, tensor, side, &sorted));
  PD_TRY_CLEANUP(build_nonzeros(context, &sorted, traits, request, side));
  pd_twotree_sorted_clear(context, &sorted);
  PD_TRY_CLEANUP(build_by_tuple(context, tensor, traits, request, side));
cleanup:
  pd_twotree_sorted_clear(context, &sorted);
  return status;
}

void pd_twotree_copies_shed(polyad_context *context, struct pd_twotree_side *side) {
  if (side->nonzeros != NULL) pd_modecopy_format.shed(context, side->nonzeros);
  if (side->by_tuple != NULL) pd_modecopy_format.shed(context, side->by_tuple);
  for (int k = 0; k < side->modes.count; ++k) {
    pd_free(context, side->tuple_id[k]);
    side->tuple_id[k] = NULL;
  }
}

void pd_twotree_copies_clear(polyad_context *context, struct pd_twotree_side *side) {
  for (int k = 0; k < side->modes.count; ++k)
    pd_free(context, side->tuple_id[k]);
  pd_modecopy_format.destroy(context, side->nonzeros);
  pd_modecopy_format.destroy(context, side->by_tuple);
}

/* The list of a mode has every tuple with the indices that it has. */
static polyad_status check_mode(polyad_context *context, const struct pd_twotree_side *side,
                                int which) {
  const struct pd_modecopy_copy *copy = &side->by_tuple->copy[1 + which];
  const struct pd_ordered *order = &copy->order;
  for (uint64_t row = 0; row < order->rows; ++row)
    for (uint64_t p = order->row_start[row]; p < order->row_start[row + 1]; ++p) {
      uint64_t index[1 + PD_TWOTREE_MAX_ORDER] = {0};
      index[1 + which] = order->row_id == NULL ? row : order->row_id[row];
      for (int f = 0; f < copy->inputs; ++f)
        index[copy->field[f].mode] = pd_modecopy_index(copy, f, p);
      for (int k = 0; k < side->modes.count; ++k)
        if (index[0] >= side->tuples || pd_twotree_tuple_index(side, k, index[0]) != index[1 + k])
          return pd_fail(context, POLYAD_INTERNAL, "list of mode %d: wrong tuple at %llu",
                         pd_shown_mode(context, side->modes.mode[which]), (unsigned long long)p);
    }
  return POLYAD_OK;
}

polyad_status pd_twotree_copies_check(polyad_context *context, const struct pd_twotree *twotree,
                                      const struct pd_twotree_side *side) {
  if (twotree->nnz == 0) return POLYAD_OK;
  if (side->nonzeros->nnz != twotree->nnz)
    return pd_fail(context, POLYAD_INTERNAL, "a pass lacks nonzeros");
  PD_TRY(pd_modecopy_format.check(context, side->nonzeros));
  if (side->modes.count == 1) return POLYAD_OK;
  if (side->nonzeros->dims[0] != side->tuples || side->by_tuple->nnz != side->tuples ||
      side->nonzeros->copy[0].order.rows != side->tuples)
    return pd_fail(context, POLYAD_INTERNAL, "a side lacks tuples");
  PD_TRY(pd_twotree_tuples_check(context, twotree, side));
  PD_TRY(pd_modecopy_format.check(context, side->by_tuple));
  for (int k = 0; k < side->modes.count; ++k)
    PD_TRY(check_mode(context, side, k));
  return POLYAD_OK;
}

uint64_t pd_twotree_copies_bytes(const struct pd_twotree_side *side) {
  uint64_t total = side->nonzeros == NULL ? 0 : pd_modecopy_format.bytes(side->nonzeros);
  if (side->by_tuple != NULL) total += pd_modecopy_format.bytes(side->by_tuple);
  for (int k = 0; k < side->modes.count; ++k)
    total += side->tuples * (uint64_t)side->id_bytes[k];
  return total;
}

void pd_twotree_copies_estimate(const struct pd_traits *traits, const struct pd_request *request,
                                const struct pd_twotree_modes *modes, uint64_t *storage,
                                uint64_t *building) {
  uint64_t count = pd_twotree_tuples_at_most(traits, modes), more, more_building;
  struct pd_traits pass, tuples;
  struct pd_request changed = request_of(request, traits);
  if (modes->count == 1) {
    pd_modecopy_estimate_bytes(traits, &changed, pd_twotree_copies_of_nonzeros(modes), storage,
                               building);
    return;
  }
  pd_twotree_pass_traits(traits, modes, count, &pass);
  pd_twotree_tuple_traits(traits, modes, count, &tuples);
  pd_modecopy_estimate_bytes(&pass, &changed, pd_twotree_copies_of_nonzeros(modes), storage,
                             building);
  pd_modecopy_estimate_bytes(&tuples, &changed, pd_twotree_copies_by_tuple(modes), &more,
                             &more_building);
  for (int k = 0; k < modes->count; ++k)
    more = pd_add_saturated(
        more, pd_mul_saturated(count, (uint64_t)pd_index_bytes(traits->dims[modes->mode[k]])));
  *storage = pd_add_saturated(*storage, more);
  *building = pd_add_saturated(pd_add_saturated(*building, more_building),
                               pd_twotree_sorted_bytes(traits, request->precision));
}

void pd_twotree_copies_decode(const struct pd_twotree_side *side, uint64_t first, int count,
                              struct pd_chunk *chunk) {
  struct pd_chunk numbered;
  pd_modecopy_format.decode(side->nonzeros, first, count, &numbered);
  memcpy(chunk->value, numbered.value, sizeof chunk->value);
  for (int k = 0; k < side->modes.others; ++k)
    memcpy(chunk->index[side->modes.other[k]], numbered.index[1 + k], sizeof numbered.index[0]);
  for (int k = 0; k < side->modes.count; ++k)
    for (int p = 0; p < count; ++p)
      chunk->index[side->modes.mode[k]][p] = pd_twotree_tuple_index(side, k, numbered.index[0][p]);
}
