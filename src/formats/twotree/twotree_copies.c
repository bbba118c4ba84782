/* A side for a GPU: copies of format "modecopy" of the nonzeros with the number of their tuple, and
 * of the tuples. */
#include "formats/twotree/twotree_copies.h"
#include "device/build.h"
#include "formats/modecopy/modecopy_build.h"
#include "formats/tables.h"
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

static polyad_status build_nonzeros(polyad_context *context, const struct pd_twotree_sorted *sorted,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request,
                                    struct pd_twotree_side *side) {
  polyad_tensor nonzeros = pd_twotree_nonzeros(sorted, side->tuples);
  struct pd_traits of;
  pd_twotree_pass_traits(traits, &side->modes, side->tuples, &of);
  const struct pd_request changed = request_of(request, &of);
  pd_modecopy_init(&nonzeros, &changed, pd_twotree_copies_of_nonzeros(&side->modes),
                   &side->nonzeros);
  return pd_modecopy_fill(context, &nonzeros, &changed, &side->nonzeros);
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
  if (status == POLYAD_OK) {
    pd_modecopy_init(&tuples, &changed, pd_twotree_copies_by_tuple(&side->modes), &side->by_tuple);
    status = pd_modecopy_fill(context, &tuples, &changed, &side->by_tuple);
  }
  pd_twotree_tuples_clear(context, &tuples);
  return status;
}

polyad_status pd_twotree_copies_build(polyad_context *context, polyad_tensor *tensor,
                                      const struct pd_traits *traits,
                                      const struct pd_request *request,
                                      struct pd_twotree_side *side) {
  polyad_status status = POLYAD_OK;
  struct pd_twotree_sorted sorted = {0};
  if (tensor->nnz == 0) return POLYAD_OK;
  if (side->modes.count == 1) {
    const struct pd_request changed = request_of(request, traits);
    pd_modecopy_init(tensor, &changed, pd_twotree_copies_of_nonzeros(&side->modes),
                     &side->nonzeros);
    return pd_modecopy_fill(context, tensor, &changed, &side->nonzeros);
  }
  PD_TRY_CLEANUP(
      pd_twotree_sorted_make(context, tensor, false, side->modes.other, false, side, &sorted));
  PD_TRY_CLEANUP(pd_twotree_sorted_unpack(context, &sorted));
  PD_TRY_CLEANUP(build_nonzeros(context, &sorted, traits, request, side));
  pd_twotree_sorted_clear(context, &sorted);
  PD_TRY_CLEANUP(build_by_tuple(context, tensor, traits, request, side));
cleanup:
  pd_twotree_sorted_clear(context, &sorted);
  return status;
}

/* ---- on the device ----------------------------------------------------------------------------
 */

uint64_t pd_twotree_copies_bytes_there(const struct pd_traits *traits,
                                       const struct pd_request *request, uint64_t storage_bytes) {
  const struct pd_device_build *steps = request->device->functions->build;
  uint64_t bytes = pd_modecopy_bytes_there(traits, request, storage_bytes), most = 0;
  struct pd_twotree_cut cut;
  if (bytes == 0) return 0;
  pd_twotree_cut_choose(traits, request, &cut);
  for (int s = 0; s < cut.sides; ++s) {
    struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &cut, s);
    if (modes.count == 1) continue;
    uint64_t tuples = pd_twotree_tuples_at_most(traits, &modes);
    uint64_t each = steps->group_bytes(traits->nnz, tuples, modes.count, request->precision);
    if (each > most) most = each;
  }
  return pd_add_saturated(bytes, most);
}

/* The facts of a side's storages, whose tuples are known. */
static void begin_grouped(const polyad_tensor *tensor, const struct pd_request *plain,
                          struct pd_twotree_side *side) {
  const struct pd_twotree_modes *modes = &side->modes;
  polyad_tensor nonzeros = {
      .order = 1 + modes->others, .nnz = tensor->nnz, .type = tensor->type, .dims = {side->tuples}};
  polyad_tensor tuples = {
      .order = 1 + modes->count, .nnz = side->tuples, .type = tensor->type, .dims = {side->tuples}};
  for (int k = 0; k < modes->others; ++k)
    nonzeros.dims[1 + k] = tensor->dims[modes->other[k]];
  for (int k = 0; k < modes->count; ++k) {
    tuples.dims[1 + k] = tensor->dims[modes->mode[k]];
    side->id_bytes[k] = tensor->index_bytes[modes->mode[k]];
  }
  pd_modecopy_init(&nonzeros, plain, pd_twotree_copies_of_nonzeros(modes), &side->nonzeros);
  pd_modecopy_init(&tuples, plain, pd_twotree_copies_by_tuple(modes), &side->by_tuple);
}

static polyad_status fill_grouped(polyad_context *context, const struct pd_build_groups *groups,
                                  const struct pd_traits *traits, const struct pd_request *request,
                                  struct pd_twotree_side *side) {
  struct pd_traits of = {0};
  struct pd_request changed = request_of(request, &of);
  pd_twotree_pass_traits(traits, &side->modes, side->tuples, &of);
  PD_TRY(pd_modecopy_fill_opened(context, groups->nonzeros, &changed, &side->nonzeros));
  pd_twotree_tuple_traits(traits, &side->modes, side->tuples, &of);
  return pd_modecopy_fill_opened(context, groups->by_tuple, &changed, &side->by_tuple);
}

polyad_status pd_twotree_copies_build_there(polyad_context *context, struct pd_build *build,
                                            const polyad_tensor *tensor,
                                            const struct pd_traits *traits,
                                            const struct pd_request *request,
                                            struct pd_twotree_side *side) {
  const struct pd_device_build *steps = request->device->functions->build;
  const struct pd_request plain = request_of(request, traits);
  struct pd_build_groups groups;
  if (side->modes.count == 1) {
    pd_modecopy_init(tensor, &plain, pd_twotree_copies_of_nonzeros(&side->modes), &side->nonzeros);
    return pd_modecopy_fill_opened(context, build, &plain, &side->nonzeros);
  }
  polyad_status status = steps->group(context, build, side->modes.mode, side->modes.count, &groups);
  side->tuples = groups.tuples;
  for (int k = 0; k < side->modes.count; ++k)
    side->tuple_id[k] = groups.index[k];
  if (status == POLYAD_OK) {
    begin_grouped(tensor, &plain, side);
    status = fill_grouped(context, &groups, traits, request, side);
  }
  steps->close(context, groups.nonzeros);
  steps->close(context, groups.by_tuple);
  return status;
}

/* ---- looking at them --------------------------------------------------------------------------
 */

void pd_twotree_copies_arrays(struct pd_twotree_side *side, bool decoded,
                              struct pd_arrays *arrays) {
  pd_modecopy_arrays(&side->nonzeros, decoded, arrays);
  pd_modecopy_arrays(&side->by_tuple, false, arrays);
  for (int k = 0; k < side->modes.count && side->modes.count > 1; ++k)
    pd_show_array(arrays, &side->tuple_id[k], side->tuples, (size_t)side->id_bytes[k],
                  decoded ? PD_ARRAY_DECODED : PD_ARRAY_MOVES);
}

/* The list of a mode has every tuple with the indices that it has. */
static polyad_status check_mode(polyad_context *context, const struct pd_twotree_side *side,
                                int which) {
  const struct pd_modecopy_copy *copy = &side->by_tuple.copy[1 + which];
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
  if (side->nonzeros.nnz != twotree->nnz)
    return pd_fail(context, POLYAD_INTERNAL, "a pass lacks nonzeros");
  PD_TRY(pd_modecopy_check(context, &side->nonzeros));
  if (side->modes.count == 1) return POLYAD_OK;
  if (side->nonzeros.dims[0] != side->tuples || side->by_tuple.nnz != side->tuples ||
      side->nonzeros.copy[0].order.rows != side->tuples)
    return pd_fail(context, POLYAD_INTERNAL, "a side lacks tuples");
  PD_TRY(pd_twotree_tuples_check(context, twotree, side));
  PD_TRY(pd_modecopy_check(context, &side->by_tuple));
  for (int k = 0; k < side->modes.count; ++k)
    PD_TRY(check_mode(context, side, k));
  return POLYAD_OK;
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
  pd_modecopy_decode(&side->nonzeros, first, count, &numbered);
  memcpy(chunk->value, numbered.value, sizeof chunk->value);
  for (int k = 0; k < side->modes.others; ++k)
    memcpy(chunk->index[side->modes.other[k]], numbered.index[1 + k], sizeof numbered.index[0]);
  for (int k = 0; k < side->modes.count; ++k)
    for (int p = 0; p < count; ++p)
      chunk->index[side->modes.mode[k]][p] = pd_twotree_tuple_index(side, k, numbered.index[0][p]);
}
