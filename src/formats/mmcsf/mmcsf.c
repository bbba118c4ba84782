/* Building, checking and describing "mmcsf". */
#include "core/radix_sort.h"
#include "formats/mmcsf/mmcsf_layout.h"
#include "formats/tables.h"
#include <stdio.h>
#include <string.h>

/* All nonzeros share the trees: about a tree of all, with the leaf mode that has fewest fibers. */
static void mmcsf_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t *storage, uint64_t *building) {
  int levels[POLYAD_MAX_ORDER];
  pd_fibers_levels(traits->order, traits->dims, -1, pd_fibers_leaf(traits, -1), levels);
  const struct pd_mmcsf like = {.head = {.order = traits->order, .type = request->precision},
                                .trees = 1,
                                .tree = {pd_fibers_like(traits, levels)}};
  *storage = pd_storage_bytes(&pd_mmcsf_format, &like);
  /* The orders of all modes, the longest fiber of each nonzero and its mode. */
  uint64_t more = pd_mul_saturated(traits->nnz, 4 * ((uint64_t)traits->order + 1) + 5);
  *building =
      pd_add_saturated(pd_add_saturated(*storage, more), pd_nz_sorting_bytes(traits->nnz, 1));
}

static void mmcsf_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_mmcsf *mmcsf = storage;
  for (int t = 0; t < mmcsf->trees; ++t)
    pd_fibers_arrays(&mmcsf->tree[t], mmcsf->head.type, PD_ARRAY_DECODED, arrays);
}

static void mmcsf_decode(const void *storage, int mode, uint64_t first, int count,
                         struct pd_chunk *block) {
  (void)mode;
  const struct pd_mmcsf *mmcsf = storage;
  int done = 0;
  for (int t = 0; t < mmcsf->trees && done < count; ++t) {
    uint64_t from = first + (uint64_t)done;
    if (from < mmcsf->first[t] || from >= mmcsf->first[t + 1]) continue;
    uint64_t left = mmcsf->first[t + 1] - from;
    int some = left < (uint64_t)(count - done) ? (int)left : count - done;
    pd_fibers_decode(&mmcsf->tree[t], mmcsf->head.type, from - mmcsf->first[t], some, done, block);
    done += some;
  }
}

static const struct pd_nz_ops ops = {.decode = mmcsf_decode};

/* What decides where a nonzero goes. */
struct choice {
  uint32_t *order[POLYAD_MAX_ORDER]; /* nonzeros sorted by the levels of each leaf mode */
  uint32_t *longest;                 /* length of each nonzero's longest fiber */
  uint8_t *mode;                     /* and the mode along which it runs */
};

/* Nonzeros in their order, and the mode of each. */
struct sorted {
  const uint32_t *order;
  const uint8_t *chosen;
  int mode;
};

static bool is_of_mode(const void *user, uint64_t p) {
  const struct sorted *sorted = user;
  return sorted->chosen[sorted->order[p]] == sorted->mode;
}

static polyad_status weigh_fibers(polyad_context *context, const polyad_tensor *tensor, int mode,
                                  struct choice *choice) {
  const uint32_t *order = choice->order[mode];
  int shift[POLYAD_MAX_ORDER] = {0};
  uint32_t *start, fibers;
  shift[mode] = PD_NZ_LEFT_OUT;
  PD_TRY(pd_nz_runs(context, tensor, tensor->nnz, order, shift, &start, &fibers));
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint32_t f = 0; f < fibers; ++f)
    for (uint32_t p = start[f], length = start[f + 1] - p; p < start[f + 1]; ++p) {
      if (length <= choice->longest[order[p]]) continue;
      choice->longest[order[p]] = length;
      choice->mode[order[p]] = (uint8_t)mode;
    }
  pd_free(context, start);
  return POLYAD_OK;
}

static polyad_status mmcsf_choose(polyad_context *context, const polyad_tensor *tensor,
                                  struct choice *choice) {
  PD_TRY(PD_NEW_ZERO(context, tensor->nnz, &choice->longest));
  PD_TRY(PD_NEW_ZERO(context, tensor->nnz, &choice->mode));
  for (int n = 0; n < tensor->order; ++n) {
    int levels[POLYAD_MAX_ORDER];
    pd_fibers_levels(tensor->order, tensor->dims, -1, n, levels);
    PD_TRY(PD_NEW(context, tensor->nnz, &choice->order[n]));
    PD_TRY(pd_nz_sort_modes(context, tensor, levels, choice->order[n]));
    PD_TRY(weigh_fibers(context, tensor, n, choice));
  }
  return POLYAD_OK;
}

/* The tree of the nonzeros whose longest fibers run along a mode. */
static polyad_status build_tree(polyad_context *context, const polyad_tensor *tensor, int mode,
                                struct choice *choice, struct pd_mmcsf *mmcsf) {
  const struct sorted sorted = {choice->order[mode], choice->mode, mode};
  uint32_t *places = NULL, *order = NULL, count;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_nz_places(context, tensor->nnz, is_of_mode, &sorted, &places, &count));
  if (count > 0) {
    int levels[POLYAD_MAX_ORDER], t = mmcsf->trees++;
    PD_TRY_CLEANUP(PD_NEW(context, count, &order));
    pd_gather(context, count, places, 4, sorted.order, 4, order);
    pd_fibers_levels(tensor->order, tensor->dims, -1, mode, levels);
    mmcsf->first[t + 1] = mmcsf->first[t] + count;
    status = pd_fibers_build(context, tensor, levels, count, order, 0, &mmcsf->tree[t]);
  }
cleanup:
  PD_FREE(context, places, order);
  return status;
}

static polyad_status build_trees(polyad_context *context, const polyad_tensor *tensor,
                                 struct choice *choice, struct pd_mmcsf *mmcsf) {
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY(build_tree(context, tensor, n, choice, mmcsf));
  return POLYAD_OK;
}

static polyad_status mmcsf_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                 const struct pd_request *request, void *storage) {
  (void)take, (void)request;
  polyad_status status = POLYAD_OK;
  struct pd_mmcsf *mmcsf = storage;
  struct choice choice = {{NULL}, NULL, NULL};
  pd_nz_init(&mmcsf->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n)
    mmcsf->levels[n] = n;
  PD_TRY_CLEANUP(mmcsf_choose(context, tensor, &choice));
  PD_TRY_CLEANUP(build_trees(context, tensor, &choice, mmcsf));
  if (mmcsf->trees == 1) memcpy(mmcsf->levels, mmcsf->tree[0].level, sizeof mmcsf->levels);
cleanup:
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, choice.order[n]);
  PD_FREE(context, choice.longest, choice.mode);
  return status;
}

static polyad_status mmcsf_check(polyad_context *context, const void *storage) {
  const struct pd_mmcsf *mmcsf = storage;
  if (mmcsf->first[mmcsf->trees] != mmcsf->head.nnz)
    return pd_nz_broken(context, "mmcsf", "trees do not hold all nonzeros", 0);
  for (int t = 0; t < mmcsf->trees; ++t)
    PD_TRY(pd_fibers_check(context, &mmcsf->tree[t], "mmcsf", 0));
  return pd_nz_check(context, &mmcsf->head, "mmcsf");
}

static void mmcsf_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_mmcsf *mmcsf = storage;
  int length = snprintf(text, PD_REASON_BYTES, "nonzeros along");
  for (int t = 0; t < mmcsf->trees; ++t)
    length += snprintf(text + length, (size_t)(PD_REASON_BYTES - length), "%s mode %d: %.0f%%",
                       t > 0 ? "," : "", mmcsf->tree[t].level[mmcsf->head.order - 1] + first_mode,
                       100.0 * mmcsf->tree[t].nnz / (double)mmcsf->head.nnz);
}

const struct polyad_format pd_mmcsf_format = {
    .name = "mmcsf",
    .summary = "Compressed fibers, every nonzero once, along the mode of its longest fiber",
    .paper = "I. Nisa et al., SC 2019",
    .variants = "auto",
    .by_name = true,
    .supports = pd_nz_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(mmcsf),
};

const struct polyad_kernels pd_mmcsf_kernels_cpu = PD_NZ_KERNELS_CPU("mmcsf");
