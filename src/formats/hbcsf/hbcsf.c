/* Building, checking and describing "hbcsf". */
#include "core/numbers.h"
#include "formats/hbcsf/hbcsf_layout.h"
#include "formats/tables.h"
#include <stdio.h>

/* As if all slices were in trees. */
static void hbcsf_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t *storage, uint64_t *building) {
  struct pd_hbcsf like = {.head = {.order = traits->order, .type = request->precision}};
  for (int n = 0; n < traits->order; ++n) {
    int levels[POLYAD_MAX_ORDER];
    pd_fibers_levels(traits->order, traits->dims, n, pd_fibers_leaf(traits, n), levels);
    like.mode[n].tree = pd_fibers_like(traits, levels);
  }
  *storage = pd_storage_bytes(&pd_hbcsf_format, &like);
  *building = pd_add_saturated(*storage, pd_add_saturated(pd_nz_sorted_bytes(traits, request),
                                                          pd_mul_saturated(traits->nnz, 4)));
}

/* `use` is that of the arrays which decoding reads. */
static void hbcsf_mode_arrays(struct pd_hbcsf_mode *mode, int order, polyad_type type,
                              enum pd_array_use use, struct pd_arrays *arrays) {
  for (int l = 0; l < order; ++l) {
    pd_show_array(arrays, &mode->single_id[l], mode->singles, sizeof *mode->single_id[l], use);
    if (l > 0)
      pd_show_array(arrays, &mode->listed_id[l], mode->listed, sizeof *mode->listed_id[l], use);
  }
  pd_show_array(arrays, &mode->single_values, mode->singles, pd_type_bytes(type), use);
  pd_show_array(arrays, &mode->slice_id, mode->slices, sizeof *mode->slice_id, use);
  pd_show_array(arrays, &mode->slice_start, (uint64_t)mode->slices + 1, sizeof *mode->slice_start,
                use);
  pd_show_array(arrays, &mode->listed_values, mode->listed, pd_type_bytes(type), use);
  pd_show_array(arrays, &mode->unit_slice, pd_nz_units(mode->listed, PD_HBCSF_UNIT),
                sizeof *mode->unit_slice, use);
  pd_fibers_arrays(&mode->tree, type, use, arrays);
}

static void hbcsf_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_hbcsf *hbcsf = storage;
  for (int n = 0; n < hbcsf->head.order; ++n)
    hbcsf_mode_arrays(&hbcsf->mode[n], hbcsf->head.order, hbcsf->head.type,
                      n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES, arrays);
}

static void decode_single(const struct pd_hbcsf_mode *from, int order, polyad_type type, uint64_t p,
                          int k, struct pd_chunk *block) {
  for (int l = 0; l < order; ++l)
    block->index[from->level[l]][k] = from->single_id[l][p];
  block->value[k] = pd_load(type, from->single_values, p);
}

static void decode_listed(const struct pd_hbcsf_mode *from, int order, polyad_type type, uint64_t p,
                          uint64_t slice, int k, struct pd_chunk *block) {
  block->index[from->level[0]][k] = from->slice_id[slice];
  for (int l = 1; l < order; ++l)
    block->index[from->level[l]][k] = from->listed_id[l][p];
  block->value[k] = pd_load(type, from->listed_values, p);
}

static void hbcsf_decode(const void *storage, int mode, uint64_t first, int count,
                         struct pd_chunk *block) {
  const struct pd_hbcsf *hbcsf = storage;
  const struct pd_hbcsf_mode *from = &hbcsf->mode[mode];
  int order = hbcsf->head.order, k = 0;
  polyad_type type = hbcsf->head.type;
  for (; k < count && first + (uint64_t)k < from->singles; ++k)
    decode_single(from, order, type, first + (uint64_t)k, k, block);
  uint64_t lists_end = (uint64_t)from->singles + from->listed, slice = 0;
  for (bool found = false; k < count && first + (uint64_t)k < lists_end; ++k) {
    uint64_t p = first + (uint64_t)k - from->singles;
    if (!found) slice = pd_nz_piece_of(from->slice_start, from->slices, p);
    found = true;
    while (p >= from->slice_start[slice + 1])
      ++slice;
    decode_listed(from, order, type, p, slice, k, block);
  }
  if (k < count)
    pd_fibers_decode(&from->tree, type, first + (uint64_t)k - lists_end, count - k, k, block);
}

static const struct pd_nz_ops ops = {.rows_together = true, .decode = hbcsf_decode};

/* ---- building: the slices of a mode are divided by kind, and each kind gets its lists -------- */

enum kind { SINGLE, LISTED, TREE, KINDS };

/* Nonzeros in their order; `order` NULL: the tensor's. */
struct sorted {
  const polyad_tensor *tensor;
  const int *level;
  const uint32_t *order;
};

static uint64_t hbcsf_index_of(const struct sorted *sorted, int l, uint64_t p) {
  return pd_tensor_index(sorted->tensor, sorted->level[l], pd_nz_at(sorted->order, p));
}

/* Where slices begin among `count` nonzeros. */
static polyad_status hbcsf_find_slices(polyad_context *context, const struct sorted *sorted,
                                       uint64_t count, uint32_t **start, uint32_t *slices) {
  int shift[POLYAD_MAX_ORDER];
  for (int n = 0; n < sorted->tensor->order; ++n)
    shift[n] = n == sorted->level[0] ? 0 : PD_NZ_LEFT_OUT;
  return pd_nz_runs(context, sorted->tensor, count, sorted->order, shift, start, slices);
}

/* Whether two nonzeros of one slice are in one fiber. */
static bool hbcsf_same_fiber(const struct sorted *sorted, uint64_t p, uint64_t q) {
  for (int l = 1; l < sorted->tensor->order - 1; ++l)
    if (hbcsf_index_of(sorted, l, p) != hbcsf_index_of(sorted, l, q)) return false;
  return true;
}

static enum kind kind_of(const struct sorted *sorted, uint64_t begin, uint64_t end) {
  for (uint64_t p = begin + 1; p < end; ++p)
    if (hbcsf_same_fiber(sorted, p - 1, p)) return TREE;
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

static polyad_status hbcsf_divide(polyad_context *context, const polyad_tensor *tensor,
                                  const int *level, struct division *to) {
  const struct sorted sorted = {tensor, level, NULL};
  struct slices slices = {0};
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(hbcsf_find_slices(context, &sorted, tensor->nnz, &slices.start, &slices.count));
  PD_TRY_CLEANUP(PD_NEW(context, slices.count, &slices.kind));
  PD_TRY_CLEANUP(PD_NEW(context, slices.count, &slices.target));
  int threads = pd_threads_for(context, tensor->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
  for (uint32_t s = 0; s < slices.count; ++s)
    slices.kind[s] = (uint8_t)kind_of(&sorted, slices.start[s], slices.start[s + 1]);
  place_slices(&slices, to);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64)
  for (uint32_t s = 0; s < slices.count; ++s)
    for (uint32_t p = slices.start[s]; p < slices.start[s + 1]; ++p)
      to->order[slices.target[s] + p - slices.start[s]] = p;
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
  PD_TRY(hbcsf_find_slices(context, &sorted, mode->listed, &mode->slice_start, &mode->slices));
  PD_TRY(PD_NEW(context, mode->slices, &mode->slice_id));
  for (uint32_t s = 0; s < mode->slices; ++s)
    mode->slice_id[s] = (uint32_t)hbcsf_index_of(&sorted, 0, mode->slice_start[s]);
  for (int l = 1; l < tensor->order; ++l)
    PD_TRY(pd_nz_gather_index(context, tensor, mode->level[l], mode->listed, order,
                              &mode->listed_id[l]));
  PD_TRY(pd_nz_gather_values(context, tensor, mode->listed, order, &mode->listed_values));
  return pd_nz_pieces(context, mode->listed, PD_HBCSF_UNIT, mode->slice_start, mode->slices,
                      &mode->unit_slice);
}

/* Fills the mode, whose levels are set; what was allocated is in it also on failure. */
static polyad_status hbcsf_build_mode(polyad_context *context, const polyad_tensor *tensor,
                                      struct pd_room *room, struct pd_hbcsf_mode *mode) {
  polyad_status status = POLYAD_OK;
  struct division division = {0};
  polyad_tensor sorted = {.context = context};
  PD_TRY_CLEANUP(pd_sorted_by_modes(context, tensor, mode->level, room, &sorted));
  PD_TRY_CLEANUP(PD_NEW(context, tensor->nnz, &division.order));
  PD_TRY_CLEANUP(hbcsf_divide(context, &sorted, mode->level, &division));
  mode->singles = division.count[SINGLE];
  mode->listed = division.count[LISTED];
  PD_TRY_CLEANUP(build_singles(context, &sorted, division.order, mode));
  PD_TRY_CLEANUP(build_listed(context, &sorted, division.order + mode->singles, mode));
  PD_TRY_CLEANUP(pd_fibers_build(context, &sorted, mode->level, division.count[TREE],
                                 division.order + mode->singles + mode->listed, PD_HBCSF_FIBER_MOST,
                                 &mode->tree));
cleanup:
  pd_tensor_free_arrays(&sorted);
  pd_free(context, division.order);
  return status;
}

static polyad_status hbcsf_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                 const struct pd_request *request, void *storage) {
  (void)take;
  polyad_status status = POLYAD_OK;
  struct pd_hbcsf *hbcsf = storage;
  struct pd_traits traits;
  struct pd_room room = {0};
  PD_TRY(pd_traits_of_request(context, tensor, request, &traits));
  pd_nz_init(&hbcsf->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n) {
    struct pd_hbcsf_mode *mode = &hbcsf->mode[n];
    pd_fibers_levels(tensor->order, tensor->dims, n, pd_fibers_leaf(&traits, n), mode->level);
    PD_TRY_CLEANUP(hbcsf_build_mode(context, tensor, &room, mode));
  }
cleanup:
  pd_room_destroy(context, &room);
  return status;
}

/* ---- checking, describing ---------------------------------------------------------------------
 */

static polyad_status check_slices(polyad_context *context, const struct pd_hbcsf_mode *mode) {
  if (mode->slice_start[0] != 0 || mode->slice_start[mode->slices] != mode->listed)
    return pd_nz_broken(context, "hbcsf", "slices do not hold all listed nonzeros", 0);
  for (uint32_t s = 0; s < mode->slices; ++s)
    if (mode->slice_start[s + 1] < mode->slice_start[s] + 2)
      return pd_nz_broken(context, "hbcsf", "fewer than two nonzeros in listed slice", s);
  for (uint64_t c = 0; c * PD_HBCSF_UNIT < mode->listed; ++c)
    if (pd_nz_piece_of(mode->slice_start, mode->slices, c * PD_HBCSF_UNIT) != mode->unit_slice[c])
      return pd_nz_broken(context, "hbcsf", "wrong slice of unit", c);
  return POLYAD_OK;
}

static polyad_status hbcsf_check(polyad_context *context, const void *storage) {
  const struct pd_hbcsf *hbcsf = storage;
  for (int n = 0; n < hbcsf->head.order; ++n) {
    const struct pd_hbcsf_mode *mode = &hbcsf->mode[n];
    if ((uint64_t)mode->singles + mode->listed + mode->tree.nnz != hbcsf->head.nnz)
      return pd_nz_broken(context, "hbcsf", "lost nonzeros of mode", (uint64_t)n);
    PD_TRY(check_slices(context, mode));
    PD_TRY(pd_fibers_check(context, &mode->tree, "hbcsf", PD_HBCSF_FIBER_MOST));
  }
  return pd_nz_check(context, &hbcsf->head, "hbcsf");
}

static void hbcsf_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_hbcsf *hbcsf = storage;
  double singles = 0, listed = 0, nnz = (double)hbcsf->head.nnz * hbcsf->head.order;
  for (int n = 0; n < hbcsf->head.order; ++n) {
    singles += hbcsf->mode[n].singles;
    listed += hbcsf->mode[n].listed;
  }
  if (nnz == 0) nnz = 1;
  snprintf(text, PD_REASON_BYTES, "of all modes' nonzeros %.0f%% in coo, %.0f%% in csl",
           100 * singles / nnz, 100 * listed / nnz);
}

const struct polyad_format pd_hbcsf_format = {
    .name = "hbcsf",
    .summary = "For each mode: slices as coordinates, compressed slices or cut compressed fibers",
    .paper = "I. Nisa et al., IPDPS 2019",
    .variants = "auto",
    .by_name = true,
    .supports = pd_nz_supports,
    .estimate_seconds = pd_nz_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(hbcsf),
};

const struct polyad_kernels pd_hbcsf_kernels_cpu = PD_NZ_KERNELS_CPU("hbcsf");
