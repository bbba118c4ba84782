/* Dividing the slices of a mode by kind, and building the lists of each kind. */
#include "formats/hbcsf/hbcsf_build.h"

enum kind { SINGLE, LISTED, TREE, KINDS };

void pd_hbcsf_clear(polyad_context *context, struct pd_hbcsf_mode *mode) {
  for (int l = 0; l < POLYAD_MAX_ORDER; ++l) {
    pd_free(context, mode->single_id[l]);
    pd_free(context, mode->listed_id[l]);
  }
  pd_free(context, mode->single_values);
  pd_free(context, mode->slice_id);
  pd_free(context, mode->slice_start);
  pd_free(context, mode->listed_values);
  pd_free(context, mode->unit_slice);
  pd_fibers_clear(context, &mode->tree);
}

/* Levels, from the first, in which two nonzeros agree. */
static int agree(const polyad_tensor *tensor, const int *level, uint32_t p, uint32_t q) {
  int l = 0;
  while (l < tensor->order &&
         pd_tensor_index(tensor, level[l], p) == pd_tensor_index(tensor, level[l], q))
    ++l;
  return l;
}

/* Where the slice that begins at `begin` ends, and of which kind it is. */
static uint64_t next_slice(const polyad_tensor *tensor, const int *level, const uint32_t *order,
                           uint64_t begin, enum kind *kind) {
  uint64_t end = begin + 1;
  bool fibers = false; /* of several nonzeros */
  for (; end < tensor->nnz; ++end) {
    int same = agree(tensor, level, order[end - 1], order[end]);
    if (same == 0) break;
    fibers = fibers || same == tensor->order - 1;
  }
  *kind = end - begin == 1 ? SINGLE : fibers ? TREE : LISTED;
  return end;
}

/* The nonzeros of each kind, in their order. */
struct division {
  uint32_t *order; /* singles, then listed ones, then those of the tree */
  uint32_t count[KINDS];
  uint32_t slices; /* listed ones */
};

static void divide(const polyad_tensor *tensor, const int *level, const uint32_t *sorted,
                   struct division *to) {
  enum kind kind;
  for (uint64_t begin = 0, end; begin < tensor->nnz; begin = end) {
    end = next_slice(tensor, level, sorted, begin, &kind);
    to->count[kind] += (uint32_t)(end - begin);
    to->slices += kind == LISTED;
  }
  uint32_t at[KINDS] = {0, to->count[SINGLE], to->count[SINGLE] + to->count[LISTED]};
  for (uint64_t begin = 0, end; begin < tensor->nnz; begin = end) {
    end = next_slice(tensor, level, sorted, begin, &kind);
    for (uint64_t p = begin; p < end; ++p)
      to->order[at[kind]++] = sorted[p];
  }
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
  PD_TRY(PD_NEW(context, mode->slices, &mode->slice_id));
  PD_TRY(PD_NEW(context, (uint64_t)mode->slices + 1, &mode->slice_start));
  uint32_t slice = 0;
  for (uint32_t p = 0; p < mode->listed; ++p) {
    uint32_t id = (uint32_t)pd_tensor_index(tensor, mode->level[0], order[p]);
    if (p > 0 && id == mode->slice_id[slice - 1]) continue;
    mode->slice_start[slice] = p;
    mode->slice_id[slice++] = id;
  }
  mode->slice_start[slice] = mode->listed;
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
  divide(tensor, mode->level, sorted, &division);
  mode->singles = division.count[SINGLE];
  mode->listed = division.count[LISTED];
  mode->slices = division.slices;
  PD_TRY_CLEANUP(build_singles(context, tensor, division.order, mode));
  PD_TRY_CLEANUP(build_listed(context, tensor, division.order + mode->singles, mode));
  PD_TRY_CLEANUP(pd_fibers_build(context, tensor, mode->level, division.count[TREE],
                                 division.order + mode->singles + mode->listed, PD_HBCSF_FIBER_MOST,
                                 &mode->tree));
cleanup:
  pd_free(context, sorted);
  pd_free(context, division.order);
  return status;
}
