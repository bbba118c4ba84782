/* Building, checking and describing "dense". */
#include "formats/dense/dense_layout.h"
#include "formats/storage.h"
#include "formats/tables.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The cut whose groups have the fewest tuples together: what is neither a cell nor a multiplication
 * of one grows with their number. */
static void cut_in_groups(int order, const uint64_t *dims, int *cut,
                          uint64_t rows[PD_DENSE_GROUPS]) {
  uint64_t least = UINT64_MAX;
  *cut = 1;
  for (int k = 1; k < order || k == 1; ++k) {
    uint64_t first = pd_cells(k, dims), second = pd_cells(order - k, dims + k);
    if (pd_add_saturated(first, second) >= least) continue;
    least = first + second;
    *cut = k;
    rows[0] = first;
    rows[1] = second;
  }
}

/* Almost empty tensors are refused where their zeros take much room. */
static bool dense_supports(const struct pd_traits *traits, const struct pd_request *request,
                           char reason[PD_REASON_BYTES]) {
  (void)request;
  const uint64_t few = UINT64_C(1) << 20, least_share = 100;
  uint64_t cells = pd_cells(traits->order, traits->dims);
  if (cells > UINT32_MAX)
    snprintf(reason, PD_REASON_BYTES,
             "the tensor has %.3g cells, zeros included; expected fewer "
             "than 2^32",
             (double)cells);
  else if (cells > few && pd_mul_saturated(traits->nnz, least_share) < cells)
    snprintf(reason, PD_REASON_BYTES,
             "%.3g%% of the tensor's %" PRIu64 " cells are nonzeros; "
             "expected at least 1%%",
             100 * (double)traits->nnz / (double)cells, cells);
  else
    return true;
  return false;
}

static void dense_init(int order, const uint64_t *dims, uint64_t nnz, polyad_type type,
                       struct pd_dense *dense) {
  dense->order = order;
  dense->nnz = nnz;
  dense->type = type;
  memcpy(dense->dims, dims, (size_t)order * sizeof *dims);
  cut_in_groups(order, dims, &dense->cut, dense->rows);
}

static void dense_arrays(void *storage, struct pd_arrays *arrays) {
  struct pd_dense *dense = storage;
  uint64_t cells = pd_mul_saturated(dense->rows[0], dense->rows[1]);
  for (int g = 0; g < PD_DENSE_GROUPS; ++g)
    if (pd_dense_group(dense, g).count > 0)
      pd_show_array(arrays, &dense->cells[g], cells, sizeof *dense->cells[g], PD_ARRAY_MOVES);
  pd_show_array(arrays, &dense->cell, dense->nnz, sizeof *dense->cell, PD_ARRAY_DECODED);
  pd_show_array(arrays, &dense->values, dense->nnz, pd_type_bytes(dense->type), PD_ARRAY_DECODED);
}

static void dense_estimate_bytes(const struct pd_traits *traits, const struct pd_request *request,
                                 uint64_t *storage, uint64_t *building) {
  struct pd_dense like = {0};
  dense_init(traits->order, traits->dims, traits->nnz, request->precision, &like);
  *storage = *building = pd_storage_bytes(&pd_dense_format, &like);
}

/* Fitted on an AMD EPYC (Zen 4) with AVX2: each cell is read and multiplied with a row of `rank`
 * numbers twice, and each tuple has a few rows made and added. */
static double dense_estimate_seconds(const struct pd_traits *traits,
                                     const struct pd_request *request) {
  const double CELL = 0.05, PRODUCT = 0.05, TUPLE = 0.25;
  struct pd_dense like = {0};
  dense_init(traits->order, traits->dims, traits->nnz, request->precision, &like);
  double cells = (double)like.rows[0] * (double)like.rows[1], rank = (double)request->rank;
  double tuples = (double)like.rows[0] + (double)like.rows[1];
  double nanoseconds = 2 * cells * (CELL + PRODUCT * rank) + TUPLE * traits->order * tuples * rank;
  return 1e-9 * nanoseconds / request->threads;
}

static double dense_estimate_building(const struct pd_traits *traits,
                                      const struct pd_request *request) {
  (void)request;
  const double NONZERO = 6, CELL = 4;
  return NONZERO * (double)traits->nnz + CELL * (double)pd_cells(traits->order, traits->dims);
}

static polyad_status dense_begin(polyad_context *context, const polyad_tensor *tensor,
                                 const struct pd_request *request, void *storage) {
  (void)context, (void)request;
  dense_init(tensor->order, tensor->dims, tensor->nnz, tensor->type, storage);
  return POLYAD_OK;
}

/* A nonzero's tuple of a group, numbered with the last mode fastest. */
static uint64_t group_tuple(const struct pd_dense *dense, const polyad_tensor *tensor, int group,
                            uint64_t p) {
  struct pd_dense_modes modes = pd_dense_group(dense, group);
  uint64_t tuple = 0;
  for (int n = modes.first; n < modes.first + modes.count; ++n)
    tuple = tuple * dense->dims[n] + pd_tensor_index(tensor, n, p);
  return tuple;
}

/* A cell's place in the transpose. */
static uint64_t transposed(const struct pd_dense *dense, uint32_t cell) {
  uint32_t columns = (uint32_t)dense->rows[1];
  return (uint64_t)(cell % columns) * dense->rows[0] + cell / columns;
}

static polyad_status dense_build(polyad_context *context, polyad_tensor *tensor, bool take,
                                 const struct pd_request *request, void *storage) {
  (void)take, (void)request;
  struct pd_dense *dense = storage;
  uint64_t cells = dense->rows[0] * dense->rows[1];
  for (int g = 0; g < PD_DENSE_GROUPS; ++g)
    if (pd_dense_group(dense, g).count > 0) PD_TRY(PD_NEW_ZERO(context, cells, &dense->cells[g]));
  PD_TRY(PD_NEW(context, dense->nnz, &dense->cell));
  PD_TRY(pd_alloc(context, dense->nnz, pd_type_bytes(dense->type), &dense->values));
  if (dense->nnz > 0)
    memcpy(dense->values, tensor->values, dense->nnz * pd_type_bytes(dense->type));
  int threads = pd_threads_for(context, dense->nnz, 1 << 14);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t p = 0; p < dense->nnz; ++p) {
    uint64_t row = group_tuple(dense, tensor, 0, p), column = group_tuple(dense, tensor, 1, p);
    uint64_t cell = row * dense->rows[1] + column;
    double value = pd_tensor_value(tensor, p);
    dense->cell[p] = (uint32_t)cell;
    dense->cells[0][cell] = value;
    if (dense->cells[1] != NULL) dense->cells[1][column * dense->rows[0] + row] = value;
  }
  return POLYAD_OK;
}

/* Cells that are not zero. */
static uint64_t count_nonzero(const double *cells, uint64_t count) {
  uint64_t found = 0;
  for (uint64_t c = 0; c < count; ++c)
    found += cells[c] != 0;
  return found;
}

static polyad_status dense_check(polyad_context *context, const void *storage) {
  const struct pd_dense *dense = storage;
  uint64_t cells = dense->rows[0] * dense->rows[1], zeros = 0;
  for (uint64_t p = 0; p < dense->nnz; ++p) {
    uint32_t cell = dense->cell[p];
    double value = pd_load(dense->type, dense->values, p);
    if (cell >= cells || (p > 0 && cell <= dense->cell[p - 1]))
      return pd_fail(context, POLYAD_INTERNAL, "dense: nonzero %" PRIu64 " is out of order", p);
    if (dense->cells[0][cell] != value ||
        (dense->cells[1] != NULL && dense->cells[1][transposed(dense, cell)] != value))
      return pd_fail(context, POLYAD_INTERNAL, "dense: nonzero %" PRIu64 " is not in its cell", p);
    zeros += value == 0;
  }
  for (int g = 0; g < PD_DENSE_GROUPS; ++g)
    if (dense->cells[g] != NULL && count_nonzero(dense->cells[g], cells) != dense->nnz - zeros)
      return pd_fail(context, POLYAD_INTERNAL, "dense: a cell without a nonzero is not zero");
  return POLYAD_OK;
}

static void dense_describe(const void *storage, int first_mode, char text[PD_REASON_BYTES]) {
  const struct pd_dense *dense = storage;
  double cells = (double)dense->rows[0] * (double)dense->rows[1];
  double full = cells > 0 ? 100 * (double)dense->nnz / cells : 0;
  int length =
      snprintf(text, PD_REASON_BYTES, "a matrix of %" PRIu64 " x %" PRIu64 " cells, %.3g%% full",
               dense->rows[0], dense->rows[1], full);
  if (dense->order > 1)
    snprintf(text + length, (size_t)(PD_REASON_BYTES - length), ", cut behind mode %d",
             dense->cut - 1 + first_mode);
}

static void dense_decode(const void *storage, uint64_t first, int count, struct pd_chunk *chunk) {
  const struct pd_dense *dense = storage;
  for (int k = 0; k < count; ++k) {
    uint32_t rest = dense->cell[first + (uint64_t)k];
    for (int n = dense->order - 1; n > 0; --n) {
      uint32_t dim = (uint32_t)dense->dims[n];
      chunk->index[n][k] = rest % dim;
      rest /= dim;
    }
    chunk->index[0][k] = rest;
    chunk->value[k] = pd_load(dense->type, dense->values, first + (uint64_t)k);
  }
}

const struct polyad_format pd_dense_format = {
    .name = "dense",
    .summary = "All cells, zeros too, as a matrix: for tensors that are a third full or more",
    .paper = "A.-H. Phan, P. Tichavsky and A. Cichocki, IEEE Trans. Signal Process. 61 (2013)",
    .variants = "auto",
    .min_order = 1,
    .max_order = POLYAD_MAX_ORDER,
    .supports = dense_supports,
    .estimate_bytes = dense_estimate_bytes,
    .estimate_seconds = dense_estimate_seconds,
    .estimate_building = dense_estimate_building,
    .header_bytes = sizeof(struct pd_dense),
    .arrays = dense_arrays,
    .begin = dense_begin,
    .build = dense_build,
    .check = dense_check,
    .describe = dense_describe,
    .decode = dense_decode,
};
