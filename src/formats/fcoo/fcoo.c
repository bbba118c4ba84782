/* Building, checking and describing "fcoo". */
#include "core/numbers.h"
#include "formats/fcoo/fcoo_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <stdio.h>

static void fcoo_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                uint64_t *storage, uint64_t *building) {
  struct pd_fcoo like = {
      .head = {.order = traits->order, .nnz = traits->nnz, .type = request->precision}};
  for (int n = 0; n < traits->order; ++n)
    like.mode[n].rows = (uint32_t)traits->nonempty[n];
  *storage = pd_storage_bytes(&pd_fcoo_format, &like);
  *building = pd_add_saturated(*storage, pd_nz_sorted_bytes(traits, request));
}

static double fcoo_estimate_seconds(const struct pd_traits *traits,
                                    const struct pd_request *request) {
  return 1.01 * pd_nz_estimate_seconds(traits, request);
}

static void fcoo_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_fcoo *fcoo = storage;
  uint64_t nnz = fcoo->head.nnz, units = (nnz + PD_FCOO_UNIT - 1) / PD_FCOO_UNIT;
  for (int n = 0; n < fcoo->head.order; ++n) {
    struct pd_fcoo_mode *mode = &fcoo->mode[n];
    enum pd_array_use use = n == 0 ? PD_ARRAY_DECODED : PD_ARRAY_MOVES;
    for (int l = 1; l < fcoo->head.order; ++l)
      pd_show_array(arrays, &mode->id[l], nnz, sizeof *mode->id[l], use);
    pd_show_array(arrays, &mode->flags, units, sizeof *mode->flags, use);
    pd_show_array(arrays, &mode->row_id, mode->rows, sizeof *mode->row_id, use);
    pd_show_array(arrays, &mode->unit_row, units, sizeof *mode->unit_row, use);
    pd_show_array(arrays, &mode->values, nnz, pd_type_bytes(fcoo->head.type), use);
  }
}

static void fcoo_decode(const void *storage, int mode, uint64_t first, int count,
                        struct pd_chunk *block) {
  const struct pd_fcoo *fcoo = storage;
  const struct pd_fcoo_mode *from = &fcoo->mode[mode];
  for (int k = 0; k < count; ++k) {
    uint64_t p = first + (uint64_t)k;
    block->index[mode][k] = from->row_id[pd_fcoo_row(from, p)];
    for (int l = 1; l < fcoo->head.order; ++l)
      block->index[from->level[l]][k] = from->id[l][p];
    block->value[k] = pd_load(fcoo->head.type, from->values, p);
  }
}

static const struct pd_nz_ops ops = {.rows_together = true, .decode = fcoo_decode};

/* In the sorted indices of the rows. */
static bool row_begins(const void *user, uint64_t p) {
  const uint32_t *row = user;
  return p == 0 || row[p - 1] != row[p];
}

/* The flags of nonzeros are the marks of rows that begin. */
static polyad_status build_rows(polyad_context *context, const polyad_tensor *sorted,
                                struct pd_fcoo_mode *mode) {
  const uint32_t *index = sorted->index[mode->level[0]];
  uint64_t nnz = sorted->nnz, units = (nnz + PD_FCOO_UNIT - 1) / PD_FCOO_UNIT;
  uint32_t *start = NULL;
  polyad_status status = POLYAD_OK;
  PD_TRY_CLEANUP(pd_nz_mark(context, nnz, row_begins, index, &mode->flags));
  PD_TRY_CLEANUP(pd_nz_marked(context, nnz, mode->flags, &start, &mode->rows));
  PD_TRY_CLEANUP(PD_NEW(context, mode->rows, &mode->row_id));
  PD_TRY_CLEANUP(PD_NEW(context, units, &mode->unit_row));
  int threads = pd_threads_for(context, nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint32_t row = 0; row < mode->rows; ++row)
    mode->row_id[row] = index[start[row]];
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t u = 0; u < units; ++u)
    mode->unit_row[u] = (uint32_t)pd_nz_piece_of(start, mode->rows, u * PD_FCOO_UNIT);
cleanup:
  pd_free(context, start);
  return status;
}

static polyad_status fcoo_build_mode(polyad_context *context, const polyad_tensor *tensor,
                                     int output, struct pd_room *room, struct pd_fcoo_mode *mode) {
  polyad_tensor sorted = {.context = context};
  mode->level[0] = output;
  for (int n = 0, count = 1; n < tensor->order; ++n)
    if (n != output) mode->level[count++] = n;
  polyad_status status = pd_sorted_by_modes(context, tensor, mode->level, room, &sorted);
  if (status == POLYAD_OK) status = build_rows(context, &sorted, mode);
  for (int l = 1; l < tensor->order && status == POLYAD_OK; ++l)
    mode->id[l] = pd_sorted_take(&sorted.index[mode->level[l]]);
  if (status == POLYAD_OK) mode->values = pd_sorted_take(&sorted.values);
  pd_tensor_free_arrays(&sorted);
  return status;
}

static polyad_status fcoo_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                const struct pd_request *request, void *storage) {
  (void)take, (void)request;
  polyad_status status = POLYAD_OK;
  struct pd_fcoo *fcoo = storage;
  struct pd_room room = {0};
  pd_nz_init(&fcoo->head, &ops, tensor);
  for (int n = 0; n < tensor->order; ++n)
    PD_TRY_CLEANUP(fcoo_build_mode(context, tensor, n, &room, &fcoo->mode[n]));
cleanup:
  pd_room_destroy(context, &room);
  return status;
}

/* Flags and the rows of units agree. */
static polyad_status check_flags(polyad_context *context, const struct pd_fcoo_mode *mode,
                                 uint64_t nnz) {
  uint64_t begun = 0;
  for (uint64_t p = 0; p < nnz; ++p) {
    begun += mode->flags[p / 64] >> p % 64 & 1;
    if (begun == 0 || begun > mode->rows || pd_fcoo_row(mode, p) != begun - 1)
      return pd_nz_broken(context, "fcoo", "wrong row of nonzero", p);
  }
  return begun == mode->rows ? POLYAD_OK : pd_nz_broken(context, "fcoo", "rows left over", begun);
}

static polyad_status fcoo_check(polyad_context *context, const void *storage) {
  const struct pd_fcoo *fcoo = storage;
  for (int n = 0; n < fcoo->head.order; ++n)
    PD_TRY(check_flags(context, &fcoo->mode[n], fcoo->head.nnz));
  return pd_nz_check(context, &fcoo->head, "fcoo");
}

static void fcoo_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  (void)first_mode;
  const struct pd_fcoo *fcoo = storage;
  snprintf(text, PD_REASON_BYTES, "%d lists with a flag per nonzero", fcoo->head.order);
}

const struct polyad_format pd_fcoo_format = {
    .name = "fcoo",
    .summary = "For each mode: the other modes' indices, and a bit where an output row begins",
    .paper = "B. Liu et al., CLUSTER 2017",
    .variants = "auto",
    .supports = pd_nz_supports,
    .estimate_seconds = fcoo_estimate_seconds,
    PD_NZ_FORMAT_SLOTS(fcoo),
};

const struct polyad_kernels pd_fcoo_kernels_cpu = PD_NZ_KERNELS_CPU("fcoo");
