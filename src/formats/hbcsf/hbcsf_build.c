/* Dividing the slices of a mode by kind, and building the lists of each kind. */
#include "formats/hbcsf/hbcsf_build.h"
#include <string.h>

enum kind { SINGLE, LISTED, TREE, KINDS };

/* Nonzeros in their order. */
struct sorted {
  const polyad_tensor *tensor;
  const int *level;
  const uint32_t *order;
};

static uint64_t hbcsf_build_index_of(const struct sorted *sorted, int l, uint64_t p) {
  return pd_tensor_index(sorted->tensor, sorted->level[l], sorted->order[p]);
}

/* Where slices begin among `count` nonzeros. */
static polyad_status hbcsf_build_find_slices(polyad_context *context, const struct sorted *sorted,
                                             uint64_t count, uint32_t **start, uint32_t *slices) {
  int shift[POLYAD_MAX_ORDER];
  for (int n = 0; n < sorted->tensor->order; ++n)
    shift[n] = n == sorted->level[0] ? 0 : PD_NZ_LEFT_OUT;
  return pd_nz_runs(context, sorted->tensor, count, sorted->order, shift, start, slices);
}

/* Whether two nonzeros of one slice are in one fiber. */
static bool hbcsf_build_same_fiber(const struct sorted *sorted, uint64_t p, uint64_t q) {
  for (int l = 1; l < sorted->tensor->order - 1; ++l)
    if (hbcsf_build_index_of(sorted, l, p) != hbcsf_build_index_of(sorted, l, q)) return false;
  return true;
}

static enum kind kind_of(const struct sorted *sorted, uint64_t begin, uint64_t end) {
  for (uint64_t p = begin + 1; p < end; ++p)
    if (hbcsf_build_same_fiber(sorted, p - 1, p)) return TREE;
  return end - begin == 1 ? SINGLE : LISTED;
}

/* The nonzeros of each kind, in their order. */
struct division {
  uint32_t *order; /* singles, then listed ones, then those of the tree */
  uint32_t count[KINDS];
};

/* Slices, their kinds, and where the nonzeros of each go. */
struct slices {
  uint32_t count, *start, *target;
  uint8_t *kind;
};

static void place_slices(struct slices *slices, struct division *to) {
  for (uint32_t s = 0; s < slices->count; ++s)
    to->count[slices->kind[s]] += slices->start[s + 1] - slices->start[s];
  uint32_t at[KINDS] = {0, to->count[SINGLE], to->count[SINGLE] + to->count[LISTED]};
  for (uint32_t s = 0; s < slices->count; ++s) {
    slices->target[s] = at[slices->kind[s]];
    at[slices->kind[s]] += slices->start[s + 1] - slices->start[s];
  }
}

static polyad_status hbcsf_build_divide(polyad_context *context, const polyad_tensor *tensor,
                                        const int *level, const uint32_t *order,
                                        struct division *to) {
  const struct sorted sorted = {tensor, level, order};
  struct slices slices = {0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(
      hbcsf_build_find_slices(context, &sorted, tensor->nnz, &slices.start, &slices.count));
  PD_TRY_CLEANUP(PD_NEW(context, slices.count, &slices.kind));
  PD_TRY_CLEANUP(PD_NEW(context, slices.count, &slices.target));
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
  for (uint32_t s = 0; s < slices.count; ++s)
    slices.kind[s] = (uint8_t)kind_of(&sorted, slices.start[s], slices.start[s + 1]);
  place_slices(&slices, to);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
  for (uint32_t s = 0; s < slices.count; ++s)
    memcpy(to->order + slices.target[s], order + slices.start[s],
           (slices.start[s + 1] - slices.start[s]) * sizeof *order);
cleanup:
  PD_FREE(context, slices.start, slices.kind, slices.target);
  return status;
}

static polyad_status build_singles(polyad_context *context, const polyad_tensor *tensor,
                                   const uint32_t *order, struct pd_hbcsf_mode *mode) {
  for (int l = 0; l < tensor->order; ++l)
    PD_TRY(pd_nz_gather_index(context, tensor, mode->level[l], mode->singles, order,
                              &mode->single_id[l]));
  return pd_nz_gather_values(context, tensor, mode->singles, order, &mode->single_values);
}

static polyad_status build_listed(polyad_context *context, const polyad_tensor *tensor,
                                  const uint32_t *order, struct pd_hbcsf_mode *mode) {
  const struct sorted sorted = {tensor, mode->level, order};
  PD_TRY(
      hbcsf_build_find_slices(context, &sorted, mode->listed, &mode->slice_start, &mode->slices));
  PD_TRY(PD_NEW(context, mode->slices, &mode->slice_id));
  for (uint32_t s = 0; s < mode->slices; ++s)
    mode->slice_id[s] = (uint32_t)hbcsf_build_index_of(&sorted, 0, mode->slice_start[s]);
  for (int l = 1; l < tensor->order; ++l)
    PD_TRY(pd_nz_gather_index(context, tensor, mode->level[l], mode->listed, order,
                              &mode->listed_id[l]));
  PD_TRY(pd_nz_gather_values(context, tensor, mode->listed, order, &mode->listed_values));
  return pd_nz_pieces(context, mode->listed, PD_HBCSF_UNIT, mode->slice_start, mode->slices,
                      &mode->unit_slice);
}

polyad_status pd_hbcsf_build(polyad_context *context, const polyad_tensor *tensor,
                             struct pd_hbcsf_mode *mode) {
  polyad_status status = POLYAD_OK;
  struct division division = {0};
  uint32_t *sorted = NULL;
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &sorted));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &division.order));
  PD_TRY_CLEANUP(pd_nz_sort_modes(context, tensor, mode->level, sorted));
  PD_TRY_CLEANUP(hbcsf_build_divide(context, tensor, mode->level, sorted, &division));
  mode->singles = division.count[SINGLE];
  mode->listed = division.count[LISTED];
  PD_TRY_CLEANUP(build_singles(context, tensor, division.order, mode));
  PD_TRY_CLEANUP(build_listed(context, tensor, division.order + mode->singles, mode));
  PD_TRY_CLEANUP(pd_fibers_build(context, tensor, mode->level, division.count[TREE],
                                 division.order + mode->singles + mode->listed, PD_HBCSF_FIBER_MOST,
                                 &mode->tree));
cleanup:
  PD_FREE(context, sorted, division.order);
  return status;
}
