/* A side is built by sorting the nonzeros by its modes, numbering the distinct tuples, and building
 * lists of two small tensors: the nonzeros with the tuple's number in place of the side's modes,
 * and the tuples themselves with their numbers for another mode. */
#include "formats/twotree/twotree_build.h"
#include "core/radix_sort.h"
#include "core/threads.h"
#include "formats/rowsum/driver.h"
#include <string.h>

static int number_bytes(uint64_t count) { return count <= UINT32_MAX ? 4 : 8; }

static uint64_t twotree_build_number_at(const void *numbers, int bytes, uint64_t p) {
  return bytes == 4 ? ((const uint32_t *)numbers)[p] : ((const uint64_t *)numbers)[p];
}

static void put_number(void *numbers, int bytes, uint64_t p, uint64_t number) {
  if (bytes == 4)
    ((uint32_t *)numbers)[p] = (uint32_t)number;
  else
    ((uint64_t *)numbers)[p] = number;
}

/* ---- tuples ---------------------------------------------------------------------------------- */

/* The nonzeros in the order of a side's modes; within a tuple they stay in the tensor's order, that
 * of the other modes. */
struct sorted {
  const polyad_tensor *tensor;
  const struct pd_twotree_modes *modes;
  int bytes;                                  /* of one number of a nonzero, and of a tuple */
  void *order;                                /* nonzeros in the order of their tuples */
  void *number;                               /* of the tuple of each nonzero, in that order */
  void *index[PD_TWOTREE_MAX_ORDER], *values; /* in that order: of the side's other modes */
};

static bool begins_tuple(const struct sorted *s, uint64_t p) {
  if (p == 0) return true;
  uint64_t here = twotree_build_number_at(s->order, s->bytes, p),
           before = twotree_build_number_at(s->order, s->bytes, p - 1);
  for (int k = 0; k < s->modes->count; ++k)
    if (pd_tensor_index(s->tensor, s->modes->mode[k], here) !=
        pd_tensor_index(s->tensor, s->modes->mode[k], before))
      return true;
  return false;
}

static polyad_status sort_tuples(polyad_context *context, struct sorted *s) {
  struct pd_key keys[PD_TWOTREE_MAX_ORDER];
  const polyad_tensor *tensor = s->tensor;
  for (int k = 0; k < s->modes->count; ++k) {
    int n = s->modes->mode[k];
    keys[k] = (struct pd_key){tensor->index[n], tensor->index_bytes[n], tensor->dims[n]};
  }
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)s->bytes, &s->order));
  PD_TRY(pd_alloc(context, tensor->nnz, (size_t)s->bytes, &s->number));
  return pd_sort_permutation(context, tensor->nnz, s->modes->count, keys, s->bytes, s->order);
}

/* Numbers the tuples of one part of the sorted nonzeros, from `tuple` on; with `side` it keeps
 * their indices. Returns the number after the part's last tuple. */
static uint64_t number_part(const struct sorted *s, uint64_t begin, uint64_t end, uint64_t tuple,
                            struct pd_twotree_side *side) {
  for (uint64_t p = begin; p < end; ++p) {
    bool begins = begins_tuple(s, p);
    uint64_t nonzero = twotree_build_number_at(s->order, s->bytes, p);
    tuple += begins;
    if (side == NULL) continue;
    put_number(s->number, s->bytes, p, tuple - 1);
    for (int k = 0; k < s->modes->count && begins; ++k)
      put_number(side->tuple_id[k], side->id_bytes[k], tuple - 1,
                 pd_tensor_index(s->tensor, s->modes->mode[k], nonzero));
  }
  return tuple;
}

/* Parts are counted first, so that each knows where its tuples begin. */
static polyad_status number_tuples(polyad_context *context, struct sorted *s,
                                   struct pd_twotree_side *side) {
  const uint64_t nnz = s->tensor->nnz;
  int threads = pd_threads_for(context, nnz, 1 << 14);
  uint64_t *before;
  polyad_status status = POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, (uint64_t)threads + 1, &before));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    before[t + 1] =
        number_part(s, pd_part_begin(nnz, t, threads), pd_part_begin(nnz, t + 1, threads), 0, NULL);
  for (int t = 0; t < threads; ++t)
    before[t + 1] += before[t];
  side->tuples = before[threads];
  for (int k = 0; k < s->modes->count; ++k) {
    side->id_bytes[k] = s->tensor->index_bytes[s->modes->mode[k]];
    PD_TRY_CLEANUP(pd_alloc(context, side->tuples, (size_t)side->id_bytes[k], &side->tuple_id[k]));
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t)
    (void)number_part(s, pd_part_begin(nnz, t, threads), pd_part_begin(nnz, t + 1, threads),
                      before[t], side);
cleanup:
  pd_free(context, before);
  return status;
}

static polyad_status gather_one(polyad_context *context, const struct sorted *s, const void *from,
                                size_t item, void **to) {
  PD_TRY(pd_alloc(context, s->tensor->nnz, item, to));
  pd_gather(context, s->tensor->nnz, s->order, s->bytes, from, item, *to);
  return POLYAD_OK;
}

/* The rest of the nonzeros in the order of their tuples. */
static polyad_status twotree_build_gather(polyad_context *context, struct sorted *s) {
  const polyad_tensor *tensor = s->tensor;
  for (int k = 0; k < s->modes->others; ++k) {
    int n = s->modes->other[k];
    PD_TRY(gather_one(context, s, tensor->index[n], (size_t)tensor->index_bytes[n], &s->index[k]));
  }
  return gather_one(context, s, tensor->values, pd_type_bytes(tensor->type), &s->values);
}

static void clear_sorted(polyad_context *context, struct sorted *s) {
  pd_free(context, s->order);
  pd_free(context, s->number);
  pd_free(context, s->values);
  for (int k = 0; k < PD_TWOTREE_MAX_ORDER; ++k)
    pd_free(context, s->index[k]);
  *s = (struct sorted){0};
}

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

static polyad_status build_pass(polyad_context *context, const struct sorted *s,
                                const struct pd_traits *traits, const struct pd_request *request,
                                struct pd_twotree_side *side) {
  const struct pd_twotree_modes *modes = s->modes;
  polyad_tensor nonzeros = *s->tensor;
  struct pd_tiling tiling;
  nonzeros.order = 1 + modes->others;
  nonzeros.dims[0] = side->tuples;
  nonzeros.index[0] = s->number;
  nonzeros.values = s->values;
  nonzeros.index_bytes[0] = s->bytes;
  for (int k = 0; k < modes->others; ++k) {
    nonzeros.dims[1 + k] = s->tensor->dims[modes->other[k]];
    nonzeros.index[1 + k] = s->index[k];
    nonzeros.index_bytes[1 + k] = s->tensor->index_bytes[modes->other[k]];
  }
  pd_twotree_pass_tiling(traits, request, modes, &tiling);
  PD_TRY(twotree_build_build_list(context, &nonzeros, 0, request, &tiling, &side->pass));
  name_columns(&side->pass, s->tensor->order, modes->other);
  return POLYAD_OK;
}

static polyad_status build_lists(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_traits *traits, const struct pd_request *request,
                                 struct pd_twotree_side *side) {
  const struct pd_twotree_modes *modes = &side->modes;
  int bytes = number_bytes(side->tuples);
  polyad_status status = POLYAD_OK;
  void *numbers = NULL, *ones = NULL;
  PD_TRY_CLEANUP(pd_alloc(context, side->tuples, (size_t)bytes, &numbers));
  PD_TRY_CLEANUP(pd_alloc(context, side->tuples, pd_type_bytes(tensor->type), &ones));
  for (uint64_t t = 0; t < side->tuples; ++t) {
    put_number(numbers, bytes, t, t);
    if (tensor->type == POLYAD_F32)
      ((float *)ones)[t] = 1;
    else
      ((double *)ones)[t] = 1;
  }
  polyad_tensor tuples = {.context = context,
                          .order = 1 + modes->count,
                          .nnz = side->tuples,
                          .type = tensor->type,
                          .values = ones};
  for (int k = 0; k <= modes->count; ++k) {
    tuples.dims[k] = k == 0 ? side->tuples : tensor->dims[modes->mode[k - 1]];
    tuples.index[k] = k == 0 ? numbers : side->tuple_id[k - 1];
    tuples.index_bytes[k] = k == 0 ? bytes : side->id_bytes[k - 1];
  }
  for (int k = 0; k < modes->count; ++k) {
    struct pd_tiling tiling;
    pd_twotree_list_tiling(traits, modes, k, &tiling);
    PD_TRY_CLEANUP(
        twotree_build_build_list(context, &tuples, 1 + k, request, &tiling, &side->list[k]));
    name_columns(&side->list[k], tensor->order, modes->mode);
  }
cleanup:
  pd_free(context, numbers);
  pd_free(context, ones);
  return status;
}

polyad_status pd_twotree_side_build(polyad_context *context, const polyad_tensor *tensor,
                                    const struct pd_traits *traits,
                                    const struct pd_request *request,
                                    struct pd_twotree_side *side) {
  polyad_status status = POLYAD_OK;
  struct sorted sorted = {
      .tensor = tensor, .modes = &side->modes, .bytes = number_bytes(tensor->nnz)};
  if (side->modes.count == 1) {
    struct pd_tiling tiling;
    pd_twotree_pass_tiling(traits, request, &side->modes, &tiling);
    return twotree_build_build_list(context, tensor, side->modes.mode[0], request, &tiling,
                                    &side->pass);
  }
  PD_TRY_CLEANUP(sort_tuples(context, &sorted));
  PD_TRY_CLEANUP(number_tuples(context, &sorted, side));
  PD_TRY_CLEANUP(twotree_build_gather(context, &sorted));
  pd_free(context, sorted.order);
  sorted.order = NULL;
  PD_TRY_CLEANUP(build_pass(context, &sorted, traits, request, side));
  clear_sorted(context, &sorted);
  PD_TRY_CLEANUP(build_lists(context, tensor, traits, request, side));
cleanup:
  clear_sorted(context, &sorted);
  return status;
}

void pd_twotree_side_clear(polyad_context *context, struct pd_twotree_side *side) {
  pd_rowsum_clear(context, &side->pass);
  for (int k = 0; k < side->modes.count; ++k) {
    pd_rowsum_clear(context, &side->list[k]);
    pd_free(context, side->tuple_id[k]);
  }
}

/* ---- checks and bytes ------------------------------------------------------------------------ */

/* Tuples ascend: none is there twice. */
static polyad_status check_tuples(polyad_context *context, const struct pd_twotree *twotree,
                                  const struct pd_twotree_side *side) {
  for (uint64_t t = 0; t < side->tuples; ++t) {
    int order = t == 0 ? 1 : 0;
    for (int k = 0; k < side->modes.count; ++k) {
      uint64_t here = twotree_build_number_at(side->tuple_id[k], side->id_bytes[k], t);
      if (here >= twotree->dims[side->modes.mode[k]])
        return pd_fail(context, POLYAD_INTERNAL, "tuple %llu: index too large",
                       (unsigned long long)t);
      uint64_t before =
          t == 0 ? 0 : twotree_build_number_at(side->tuple_id[k], side->id_bytes[k], t - 1);
      if (order == 0 && here != before) order = here > before ? 1 : -1;
    }
    if (order != 1)
      return pd_fail(context, POLYAD_INTERNAL, "tuple %llu is not above the one before",
                     (unsigned long long)t);
  }
  return POLYAD_OK;
}

/* Every tuple stands once in the list of a mode, with the indices that it has. */
static polyad_status check_list(polyad_context *context, const struct pd_twotree *twotree,
                                const struct pd_twotree_side *side, int which) {
  const struct pd_rowsum *list = &side->list[which];
  for (uint64_t run = 0; run < list->runs; ++run)
    for (uint64_t p = pd_rowsum_start(list, run); p < pd_rowsum_start(list, run + 1); ++p) {
      uint64_t tuple = pd_rowsum_id(list, 0, p);
      bool right = list->mode[0] == twotree->order &&
                   twotree_build_number_at(side->tuple_id[which], side->id_bytes[which], tuple) ==
                       pd_rowsum_row(list, run);
      for (int g = 1, k = 0; right && g < list->columns; ++g, ++k) {
        k += k == which;
        right = list->mode[g] == side->modes.mode[k] &&
                twotree_build_number_at(side->tuple_id[k], side->id_bytes[k], tuple) ==
                    pd_rowsum_id(list, g, p);
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
  PD_TRY(check_tuples(context, twotree, side));
  for (int k = 0; k < side->modes.count; ++k) {
    if (side->list[k].nnz != side->tuples)
      return pd_fail(context, POLYAD_INTERNAL, "a list lacks tuples");
    PD_TRY(pd_rowsum_check(context, &side->list[k], side->modes.mode[k], dims));
    PD_TRY(check_list(context, twotree, side, k));
  }
  return POLYAD_OK;
}

uint64_t pd_twotree_side_bytes(const struct pd_twotree_side *side, polyad_type type) {
  uint64_t total = pd_rowsum_bytes(&side->pass, type);
  for (int k = 0; k < side->modes.count && side->modes.count > 1; ++k)
    total += pd_rowsum_bytes(&side->list[k], type) + side->tuples * (uint64_t)side->id_bytes[k];
  return total;
}

/* Counts of tuples are estimates: a few percent more, so that building takes no more. */
static uint64_t twotree_build_at_most(uint64_t count, uint64_t nnz) {
  uint64_t more = pd_add_saturated(count, count / 16 + 64);
  return more < nnz ? more : nnz;
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
  uint64_t tuples = twotree_build_at_most(pd_twotree_tuples(traits, modes), nnz);
  dims[0] = tuples;
  for (int k = 0; k < modes->others; ++k)
    dims[1 + k] = traits->dims[modes->other[k]];
  uint64_t total =
      pd_rowsum_estimate_bytes(1 + modes->others, dims, 0, nnz,
                               twotree_build_at_most(tiling.runs, nnz), request->precision, wide);
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
 * no more bits; lists of tuples have their number beside the modes. */
uint64_t pd_twotree_building_bytes(const struct pd_traits *traits,
                                   const struct pd_request *request) {
  uint64_t nnz = traits->nnz, dims[POLYAD_MAX_ORDER];
  memcpy(dims, traits->dims, sizeof dims);
  dims[traits->order] = nnz;
  uint64_t list = pd_rowsum_building_bytes(traits->order + 1, dims, nnz, request->precision, false,
                                           request->threads);
  /* Beside the lists: the nonzeros in the order of their tuples, with that order or the numbers. */
  uint64_t each = pd_type_bytes(request->precision) + 2 * (uint64_t)number_bytes(nnz);
  for (int n = 0; n < traits->order; ++n)
    each += (uint64_t)pd_index_bytes(traits->dims[n]);
  return pd_add_saturated(list, pd_mul_saturated(nnz, each));
}
