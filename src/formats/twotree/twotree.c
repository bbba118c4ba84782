/* Format "twotree": choosing, building and describing. */
#include "formats/modecopy/modecopy_pairs.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include "formats/twotree/twotree_build.h"
#include "formats/twotree/twotree_copies.h"
#include <stdio.h>
#include <string.h>

/* The plan takes this format only where it is predicted to be so many times as fast as the best
 * other: a model of caches errs. */
static const double LEAST_GAIN = 1.1;

static bool twotree_supports(const struct pd_traits *traits, const struct pd_request *request,
                             char reason[PD_REASON_BYTES]) {
  return !pd_twotree_on_gpu(request) || pd_ordered_supports(traits, request, reason);
}

static void twotree_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                   uint64_t *storage, uint64_t *building) {
  struct pd_twotree_cut cut;
  bool on_gpu = pd_twotree_on_gpu(request);
  uint64_t most = on_gpu ? 0 : pd_twotree_building_bytes(traits, request); /* beside the storage */
  pd_twotree_cut_choose(traits, request, &cut);
  *storage = sizeof(struct pd_twotree);
  for (int s = 0; s < cut.sides; ++s) {
    struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &cut, s);
    uint64_t each, making = 0;
    if (on_gpu)
      pd_twotree_copies_estimate(traits, request, &modes, &each, &making);
    else
      each = pd_twotree_side_estimate(traits, request, &modes);
    *storage = pd_add_saturated(*storage, each);
    if (on_gpu && making - each > most) most = making - each;
  }
  *building = pd_add_saturated(*storage, most);
}

static double twotree_estimate_seconds(const struct pd_traits *traits,
                                       const struct pd_request *request) {
  struct pd_twotree_cut cut;
  pd_twotree_cut_choose(traits, request, &cut);
  if (pd_twotree_on_gpu(request)) /* as far as a copy per mode is estimated rightly */
    return LEAST_GAIN * cut.nanoseconds / cut.plain *
           pd_modecopy_format.estimate_seconds(traits, request);
  return 1e-9 * LEAST_GAIN * cut.nanoseconds / request->threads;
}

/* A side's nonzeros are sorted once, numbered by their tuples, and the tuples sorted for each of
 * its modes. */
static double twotree_estimate_building(const struct pd_traits *traits,
                                        const struct pd_request *request) {
  const double PASS = 24, LIST = 25, TUPLE = 25;
  struct pd_twotree_cut cut;
  double nanoseconds = 0;
  pd_twotree_cut_choose(traits, request, &cut);
  for (int s = 0; s < cut.sides; ++s) {
    struct pd_twotree_modes modes = pd_twotree_modes_of(traits->order, &cut, s);
    nanoseconds += (double)traits->nnz * (modes.count > 1 ? PASS : LIST);
    if (modes.count > 1)
      nanoseconds += (double)pd_twotree_tuples(traits, &modes) * modes.count * TUPLE;
  }
  return nanoseconds;
}

static void twotree_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_twotree *twotree = storage;
  for (int s = 0; s < twotree->sides; ++s)
    if (twotree->on_gpu)
      pd_twotree_copies_arrays(&twotree->side[s], s == 0, arrays);
    else
      pd_twotree_side_arrays(&twotree->side[s], twotree->type, arrays);
}

/* Everything but the sides' arrays. */
static polyad_status twotree_begin(polyad_context *context, const polyad_tensor *tensor,
                                   const struct pd_request *request, void *storage) {
  struct pd_twotree *twotree = storage;
  struct pd_twotree_cut cut;
  struct pd_traits traits;
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  PD_TRY(pd_traits_count_tuples(context, tensor, request, &traits));
  pd_twotree_cut_choose(&traits, request, &cut);
  twotree->order = tensor->order;
  twotree->nnz = tensor->nnz;
  twotree->type = tensor->type;
  twotree->on_gpu = pd_twotree_on_gpu(request);
  twotree->gain = cut.nanoseconds > 0 ? cut.plain / cut.nanoseconds : 1;
  memcpy(twotree->dims, tensor->dims, sizeof twotree->dims);
  twotree->sides = cut.sides;
  for (int s = 0; s < cut.sides; ++s)
    twotree->side[s].modes = pd_twotree_modes_of(tensor->order, &cut, s);
  return POLYAD_OK;
}

/* All sides are made from one tensor on the device. */
static polyad_status twotree_build_there(polyad_context *context, struct pd_build *build,
                                         const polyad_tensor *tensor,
                                         const struct pd_request *request, void *storage) {
  struct pd_twotree *twotree = storage;
  struct pd_traits traits;
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  PD_TRY(pd_traits_count_tuples(context, tensor, request, &traits));
  for (int s = 0; s < twotree->sides; ++s)
    PD_TRY(
        pd_twotree_copies_build_there(context, build, tensor, &traits, request, &twotree->side[s]));
  return POLYAD_OK;
}

/* The first side has two modes or more: it is made last, and may give up the tensor. */
static polyad_status twotree_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                   const struct pd_request *request, void *storage) {
  struct pd_twotree *twotree = storage;
  struct pd_traits traits;
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  PD_TRY(pd_traits_count_tuples(context, tensor, request, &traits));
  for (int s = twotree->sides - 1; s >= 0; --s) {
    struct pd_twotree_side *side = &twotree->side[s];
    PD_TRY(twotree->on_gpu
               ? pd_twotree_copies_build(context, tensor, &traits, request, side)
               : pd_twotree_side_build(context, tensor, take && s == 0, &traits, request, side));
  }
  return POLYAD_OK;
}

static polyad_status twotree_check(polyad_context *context, const void *storage) {
  const struct pd_twotree *twotree = storage;
  for (int s = 0; s < twotree->sides; ++s)
    PD_TRY(twotree->on_gpu ? pd_twotree_copies_check(context, twotree, &twotree->side[s])
                           : pd_twotree_side_check(context, twotree, &twotree->side[s]));
  return POLYAD_OK;
}

/* Copies of which a GPU gathers two modes as one. */
static int tables_of(const struct pd_twotree *twotree) {
  int tables = 0;
  uint64_t rows;
  for (int s = 0; s < twotree->sides && twotree->nnz > 0; ++s) {
    const struct pd_twotree_side *side = &twotree->side[s];
    const struct pd_modecopy *of[2] = {&side->nonzeros, &side->by_tuple};
    for (int k = 0; k < (side->modes.count > 1 ? 2 : 1); ++k)
      if (of[k]->rank > 0) tables += pd_modecopy_tables(of[k], of[k]->rank, &rows);
  }
  return tables;
}

static void twotree_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_twotree *twotree = storage;
  int length = 0;
  for (int s = 0; s < twotree->sides; ++s) {
    const struct pd_twotree_side *side = &twotree->side[s];
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%smode%s",
                       s > 0 ? "; " : "", side->modes.count > 1 ? "s" : "");
    for (int k = 0; k < side->modes.count; ++k)
      length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), " %d",
                         side->modes.mode[k] + first_mode);
    if (side->modes.count > 1)
      length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), " by %llu partial rows",
                         (unsigned long long)side->tuples);
  }
  if (twotree->on_gpu && tables_of(twotree) > 0)
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length),
                       "; %d tables of two modes' products", tables_of(twotree));
  snprintf(text + length, (size_t)(PD_REASON_BYTES - length),
           "; predicted %.2f times as fast as a list per mode", twotree->gain);
}

/* Indices of tuples in the side's mode number k. */
static void take_indices(const struct pd_twotree_side *side, int k, int count,
                         const uint64_t *restrict tuple, uint64_t *restrict index) {
  const void *numbers = side->tuple_id[k];
  if (side->id_bytes[k] == 4)
    for (int p = 0; p < count; ++p)
      index[p] = ((const uint32_t *)numbers)[tuple[p]];
  else
    for (int p = 0; p < count; ++p)
      index[p] = ((const uint64_t *)numbers)[tuple[p]];
}

/* The first side has two modes or more: its pass gives the tuple, which gives their indices. */
static void twotree_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_twotree *twotree = storage;
  const struct pd_twotree_side *side = &twotree->side[0];
  if (twotree->on_gpu) {
    pd_twotree_copies_decode(side, first, count, chunk);
    return;
  }
  pd_rowsum_decode(&side->pass, twotree->order, twotree->type, first, count, chunk);
  for (int k = 0; k < side->modes.count; ++k)
    take_indices(side, k, count, chunk->index[twotree->order], chunk->index[side->modes.mode[k]]);
}

const struct polyad_format pd_twotree_format = {
    .name = "twotree",
    .summary = "An order per group of modes, whose partial rows serve all modes of the group",
    .paper = "O. Kaya and B. Ucar, SIAM J. Sci. Comput. 40 (2018)",
    .variants = "auto",
    .min_order = 3,
    .max_order = PD_TWOTREE_MAX_ORDER,
    .counts_tuples = true,
    .supports = twotree_supports,
    .estimate_bytes = twotree_estimate_bytes,
    .estimate_seconds = twotree_estimate_seconds,
    .estimate_building = twotree_estimate_building,
    .header_bytes = sizeof(struct pd_twotree),
    .arrays = twotree_arrays,
    .begin = twotree_begin,
    .build_there = twotree_build_there,
    .bytes_there = pd_twotree_copies_bytes_there,
    .build = twotree_build,
    .check = twotree_check,
    .describe = twotree_describe,
    .decode = twotree_decode,
};
