/* The lists of a side for the CPU: its pass from the records that twotree_tuples.c sorts, those of
 * its modes from the tuples. */
#include "formats/twotree/twotree_build.h"
#include "formats/rowsum/driver.h"
#include "formats/twotree/twotree_tuples.h"
#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* A list of one mode of a tensor, in room of its own. */
static polyad_status twotree_build_build_list(polyad_context *context, const polyad_tensor *tensor,
                                              int mode, const struct pd_request *request,
                                              const struct pd_tiling *tiling,
                                              struct pd_rowsum *list) {
  struct pd_room room = {0};
  PD_TRY(pd_rowsum_room_create(context, tensor, false, &room));
  polyad_status status =
      pd_rowsum_build(context, tensor, mode, request->force_index64, tiling, &room, list);
  pd_room_destroy(context, &room);
  return status;
}

/* The lists name modes of the tensor, and `order` for tuples. */
static void name_columns(struct pd_rowsum *list, int order, const int *mode) {
  for (int g = 0; g < list->columns; ++g)
    list->mode[g] = list->mode[g] == 0 ? order : mode[list->mode[g] - 1];
}

/* The order of columns and tiles of a side's pass, columns being modes of the tensor. */
static void pass_tiling(const struct pd_traits *traits, const struct pd_request *request,
                        const struct pd_twotree_modes *modes, struct pd_tiling *tiling) {
  pd_twotree_pass_tiling(traits, request, modes, tiling);
  for (int g = 0; g < tiling->columns && modes->count > 1; ++g)
    tiling->mode[g] = modes->other[tiling->mode[g] - 1];
}

/* The pass of sorted records: its rows are the tuples. */
static polyad_status fill_pass(polyad_context *context, const struct pd_request *request,
                               const struct pd_tiling *tiling, struct pd_twotree_sorted *s,
                               struct pd_rowsum *pass) {
  const struct pd_rowsum_sorted rows = {s->nnz,     s->dims,         s->type,
                                        &s->layout, s->room.records, s->tuples};
  void *start = s->start;
  s->start = NULL;
  return pd_rowsum_fill(context, &rows, request->force_index64, tiling, start, pass);
}

/* The pass of records that are sorted anew, by blocks of tuples and tiles. */
static polyad_status sort_pass_anew(polyad_context *context, struct pd_twotree_sorted *s,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request, struct pd_rowsum *pass) {
  const polyad_tensor nonzeros = pd_twotree_nonzeros(s, s->tuples);
  const struct pd_record_source source = {
      .tensor = &nonzeros, .fetch = pd_twotree_fetch, .packed = pd_twotree_fetched, .user = s};
  const int bits = s->room.value_bits;
  struct pd_tiling tiling;
  struct pd_room room;
  pd_twotree_pass_tiling(traits, request, s->modes, &tiling);
  PD_TRY(pd_room_create(context, s->nnz,
                        pd_record_words(pd_index_bits_of_all(nonzeros.order, nonzeros.dims), bits),
                        &room));
  room.value_bits = bits;
  polyad_status status =
      pd_rowsum_build_from(context, &source, 0, request->force_index64, &tiling, &room, pass);
  pd_room_destroy(context, &room);
  if (status == POLYAD_OK) name_columns(pass, s->order, s->modes->other);
  return status;
}

static polyad_status build_lists(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_traits *traits, const struct pd_request *request,
                                 struct pd_twotree_side *side) {
  const struct pd_twotree_modes *modes = &side->modes;
  polyad_status status = POLYAD_OK;
  polyad_tensor tuples;
  PD_TRY_CLEANUP(pd_twotree_tuples_make(context, tensor, side, &tuples));
  for (int k = 0; k < modes->count; ++k) {
    struct pd_tiling tiling;
    pd_twotree_list_tiling(traits, modes, k, &tiling);
    PD_TRY_CLEANUP(
        twotree_build_build_list(context, &tuples, 1 + k, request, &tiling, &side->list[k]));
    name_columns(&side->list[k], tensor->order, modes->mode);
  }
cleanup:
  pd_twotree_tuples_clear(context, &tuples);
  return status;
}

polyad_status pd_twotree_side_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request,
                                    struct pd_twotree_side *side) {
  polyad_status status = POLYAD_OK;
  struct pd_twotree_sorted sorted = {0};
  struct pd_tiling tiling;
  pass_tiling(traits, request, &side->modes, &tiling);
  if (side->modes.count == 1)
    return twotree_build_build_list(context, tensor, side->modes.mode[0], request, &tiling,
                                    &side->pass);
  PD_TRY_CLEANUP(pd_twotree_sorted_make(context, tensor, take,
                                        tiling.tiled ? side->modes.other : tiling.mode,
                                        request->force_index64, side, &sorted));
  PD_TRY_CLEANUP(tiling.tiled ? sort_pass_anew(context, &sorted, traits, request, &side->pass)
                              : fill_pass(context, request, &tiling, &sorted, &side->pass));
  pd_twotree_sorted_clear(context, &sorted);
  PD_TRY_CLEANUP(build_lists(context, tensor, traits, request, side));
cleanup:
  pd_twotree_sorted_clear(context, &sorted);
  return status;
}

/* ---- checks and bytes ------------------------------------------------------------------------ */

/* Every tuple stands once in the list of a mode, with the indices that it has. */
static polyad_status check_list(polyad_context *context, const struct pd_twotree *twotree,
                                const struct pd_twotree_side *side, int which) {
  const struct pd_rowsum *list = &side->list[which];
  for (uint64_t run = 0; run < list->runs; ++run)
    for (uint64_t p = pd_rowsum_start(list, run); p < pd_rowsum_start(list, run + 1); ++p) {
      uint64_t tuple = pd_rowsum_id(list, 0, p);
      bool right = list->mode[0] == twotree->order &&
                   pd_twotree_tuple_index(side, which, tuple) == pd_rowsum_row(list, run);
      for (int g = 1, k = 0; right && g < list->columns; ++g, ++k) {
        k += k == which;
        right = list->mode[g] == side->modes.mode[k] &&
                pd_twotree_tuple_index(side, k, tuple) == pd_rowsum_id(list, g, p);
      }
      bool ascends = p == pd_rowsum_start(list, run) || pd_rowsum_id(list, 0, p - 1) < tuple;
      if (!right || !ascends)
        return pd_fail(context, POLYAD_INTERNAL, "list of mode %d: wrong tuple at %llu",
                       pd_shown_mode(context, side->modes.mode[which]), (unsigned long long)p);
    }
  return POLYAD_OK;
}

polyad_status pd_twotree_side_check(polyad_context *context, const struct pd_twotree *twotree,
                                    const struct pd_twotree_side *side) {
  uint64_t dims[POLYAD_MAX_ORDER];
  int rows = side->modes.count == 1 ? side->modes.mode[0] : twotree->order;
  memcpy(dims, twotree->dims, sizeof dims);
  if (side->modes.count > 1) dims[twotree->order] = side->tuples;
  if (side->pass.nnz != twotree->nnz)
    return pd_fail(context, POLYAD_INTERNAL, "a pass lacks nonzeros");
  PD_TRY(pd_rowsum_check(context, &side->pass, rows, dims));
  if (side->modes.count == 1) return POLYAD_OK;
  PD_TRY(pd_twotree_tuples_check(context, twotree, side));
  for (int k = 0; k < side->modes.count; ++k) {
    if (side->list[k].nnz != side->tuples)
      return pd_fail(context, POLYAD_INTERNAL, "a list lacks tuples");
    PD_TRY(pd_rowsum_check(context, &side->list[k], side->modes.mode[k], dims));
    PD_TRY(check_list(context, twotree, side, k));
  }
  return POLYAD_OK;
}

void pd_twotree_side_arrays(struct pd_twotree_side *side, polyad_type type,
                            struct pd_arrays *arrays) {
  pd_rowsum_arrays(&side->pass, type, arrays);
  for (int k = 0; k < side->modes.count && side->modes.count > 1; ++k) {
    pd_rowsum_arrays(&side->list[k], type, arrays);
    pd_show_array(arrays, &side->tuple_id[k], side->tuples, (size_t)side->id_bytes[k],
                  PD_ARRAY_HOST);
  }
}

uint64_t pd_twotree_side_estimate(const struct pd_traits *traits, const struct pd_request *request,
                                  const struct pd_twotree_modes *modes) {
  struct pd_tiling tiling;
  bool wide = request->force_index64;
  uint64_t dims[POLYAD_MAX_ORDER], nnz = traits->nnz;
  pd_twotree_pass_tiling(traits, request, modes, &tiling);
  if (modes->count == 1)
    return pd_rowsum_estimate_bytes(traits->order, traits->dims, modes->mode[0], nnz, tiling.runs,
                                    request->precision, wide);
  uint64_t tuples = pd_twotree_tuples_at_most(traits, modes);
  dims[0] = tuples;
  for (int k = 0; k < modes->others; ++k)
    dims[1 + k] = traits->dims[modes->other[k]];
  uint64_t total =
      pd_rowsum_estimate_bytes(1 + modes->others, dims, 0, nnz,
                               pd_twotree_at_most(tiling.runs, nnz), request->precision, wide);
  if (tiling.tiled) total = pd_add_saturated(total, pd_mul_saturated(tuples + 1, sizeof(uint64_t)));
  for (int k = 0; k < modes->count; ++k)
    dims[1 + k] = traits->dims[modes->mode[k]];
  for (int k = 0; k < modes->count; ++k) {
    uint64_t each =
        pd_rowsum_estimate_bytes(1 + modes->count, dims, 1 + k, tuples,
                                 traits->nonempty[modes->mode[k]], request->precision, wide);
    uint64_t ids = pd_mul_saturated(tuples, (uint64_t)pd_index_bytes(dims[1 + k]));
    total = pd_add_saturated(total, pd_add_saturated(each, ids));
  }
  return total;
}

/* Lists of nonzeros have the tensor's modes, or the number of a tuple for some of them, which takes
 * no more bits; lists of tuples have their number beside the modes, and ones as values. */
uint64_t pd_twotree_building_bytes(const struct pd_traits *traits,
                                   const struct pd_request *request) {
  uint64_t nnz = traits->nnz, dims[POLYAD_MAX_ORDER];
  uint64_t each = pd_type_bytes(request->precision) + 2 * (uint64_t)pd_twotree_number_bytes(nnz);
  memcpy(dims, traits->dims, sizeof dims);
  dims[traits->order] = nnz;
  uint64_t list = pd_rowsum_building_bytes(traits->order + 1, dims, nnz, request->precision, false,
                                           request->threads);
  return pd_add_saturated(list, pd_mul_saturated(nnz + 1, each));
}
