/* The tables of nonzeros in the order of one mode. */
#include "formats/ordered/ordered.h"
#include "core/radix_sort.h"
#include "tensor/tensor_slices.h"

static int ordered_threads_of(const polyad_context *context, uint64_t nnz) {
  return pd_threads_for(context, nnz, 1 << 14);
}

bool pd_ordered_supports(const struct pd_traits *traits, const struct pd_request *request,
                         char reason[PD_REASON_BYTES]) {
  return pd_supports_32_bits(traits, request, UINT32_MAX, reason);
}

uint64_t pd_ordered_sorting_bytes(uint64_t nnz) {
  return pd_mul_saturated(nnz, 4 + 2 * 12); /* permutation, keys and what moves with them, twice */
}

void pd_ordered_arrays(struct pd_ordered *order, uint64_t nnz, uint64_t dim, bool ends,
                       enum pd_array_use use, struct pd_arrays *arrays) {
  pd_show_array(arrays, &order->row_start, order->rows + 1, sizeof *order->row_start, use);
  if (order->has_row_id)
    pd_show_array(arrays, &order->row_id, order->rows, sizeof *order->row_id, use);
  pd_show_array(arrays, &order->chunk_row, pd_ordered_chunks(nnz) + 1, sizeof *order->chunk_row,
                use);
  if (ends)
    pd_show_array(arrays, &order->ends, nnz / PD_ORDERED_MARKS + 1, sizeof *order->ends,
                  PD_ARRAY_MOVES);
  else
    pd_show_array(arrays, &order->marks, pd_ordered_mark_words(nnz), sizeof *order->marks,
                  PD_ARRAY_MOVES);
  if (order->rows < dim)
    pd_show_array(arrays, &order->used, dim / 32 + 1, sizeof *order->used, PD_ARRAY_MOVES);
}

static void set_bit(uint32_t *bits, uint64_t k) { bits[k / 32] |= UINT32_C(1) << k % 32; }

polyad_status pd_ordered_set_used(polyad_context *context, uint64_t dim, struct pd_ordered *order) {
  if (order->rows == dim) return POLYAD_OK;
  PD_TRY(PD_NEW_ZERO(context, dim / 32 + 1, &order->used));
  for (uint64_t k = 0; k < order->rows; ++k)
    set_bit(order->used, order->row_id[k]);
  return POLYAD_OK;
}

polyad_status pd_ordered_set_ends(polyad_context *context, uint64_t nnz, struct pd_ordered *order) {
  PD_TRY(PD_NEW_ZERO(context, nnz / PD_ORDERED_MARKS + 1, &order->ends));
  for (uint64_t k = 0; k < order->rows; ++k)
    set_bit(order->ends, order->row_start[k + 1] - 1);
  return POLYAD_OK;
}

polyad_status pd_ordered_degrees(polyad_context *context, const polyad_tensor *tensor, int mode,
                                 uint32_t *degree) {
  uint64_t dim = tensor->dims[mode], *counts;
  PD_TRY(PD_NEW(context, dim, &counts));
  polyad_status status = pd_tensor_count_indices(context, tensor, mode, counts);
  for (uint64_t i = 0; status == POLYAD_OK && i < dim; ++i)
    degree[i] = (uint32_t)counts[i];
  pd_free(context, counts);
  return status;
}

static uint64_t ordered_place_of(const struct pd_ordered_job *job, uint64_t i, uint64_t ascending) {
  return job->place == NULL ? ascending : job->place[i];
}

static polyad_status ordered_list_rows(polyad_context *context, const struct pd_ordered_job *job,
                                       struct pd_ordered *order) {
  uint64_t dim = job->tensor->dims[job->mode], rows = 0;
  for (uint64_t i = 0; i < dim; ++i)
    rows += job->degree[i] > 0;
  order->rows = rows;
  PD_TRY(PD_NEW(context, rows + 1, &order->row_start));
  order->has_row_id = rows < dim || job->place != NULL;
  if (order->has_row_id) PD_TRY(PD_NEW(context, rows, &order->row_id));
  uint64_t row = 0, start = 0;
  for (uint64_t i = 0; i < dim; ++i) {
    if (job->degree[i] == 0) continue;
    uint64_t place = ordered_place_of(job, i, row++);
    order->row_start[place] = job->degree[i];
    if (order->row_id != NULL) order->row_id[place] = (uint32_t)i;
  }
  for (row = 0; row < rows; ++row) {
    uint64_t size = order->row_start[row];
    order->row_start[row] = start;
    start += size;
  }
  order->row_start[rows] = start;
  return POLYAD_OK;
}

static polyad_status list_chunks(polyad_context *context, uint64_t nnz, struct pd_ordered *order) {
  uint64_t chunks = pd_ordered_chunks(nnz), row = 0;
  PD_TRY(PD_NEW(context, chunks + 1, &order->chunk_row));
  for (uint64_t c = 0; c < chunks; ++c) {
    while (order->row_start[row + 1] <= c * PD_ORDERED_CHUNK)
      ++row;
    order->chunk_row[c] = (uint32_t)row;
  }
  order->chunk_row[chunks] = (uint32_t)order->rows;
  return POLYAD_OK;
}

/* The order as sort keys. With a place per output row that place is the first key. */
static polyad_status ordered_sort(polyad_context *context, const struct pd_ordered_job *job,
                                  const struct pd_ordered *order, uint32_t *permutation) {
  const polyad_tensor *tensor = job->tensor;
  const uint32_t *index = tensor->index[job->mode];
  struct pd_key keys[POLYAD_MAX_ORDER];
  uint32_t *places = NULL;
  keys[0] = (struct pd_key){index, 4, tensor->dims[job->mode]};
  if (job->place != NULL) {
    PD_TRY(PD_NEW(context, tensor->nnz, &places));
    int threads = ordered_threads_of(context, tensor->nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (uint64_t p = 0; p < tensor->nnz; ++p)
      places[p] = job->place[index[p]];
    keys[0] = (struct pd_key){places, 4, order->rows};
  }
  for (int k = 0; k < order->inputs; ++k) {
    int mode = order->input[k];
    keys[k + 1] = (struct pd_key){tensor->index[mode], 4, tensor->dims[mode]};
  }
  polyad_status status =
      pd_sort_permutation(context, tensor->nnz, order->inputs + 1, keys, 4, permutation);
  pd_free(context, places);
  return status;
}

/* Whether nonzeros p and q of the tensor differ in the output or in an outer input. */
static bool ordered_apart(const struct pd_ordered_job *job, const struct pd_ordered *order,
                          uint64_t p, uint64_t q) {
  const uint32_t *output = job->tensor->index[job->mode];
  if (output[p] != output[q]) return true;
  for (int k = 0; k + 1 < order->inputs; ++k) {
    const uint32_t *index = job->tensor->index[order->input[k]];
    if (index[p] != index[q]) return true;
  }
  return false;
}

static polyad_status ordered_mark(polyad_context *context, const struct pd_ordered_job *job,
                                  const uint32_t *permutation, struct pd_ordered *order) {
  uint64_t nnz = job->tensor->nnz, words = pd_ordered_mark_words(nnz);
  const uint32_t *output = job->tensor->index[job->mode];
  PD_TRY(PD_NEW(context, words, &order->marks));
  int threads = ordered_threads_of(context, nnz);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t w = 0; w < words; ++w) {
    struct pd_ordered_marks now = {0, 0};
    for (uint64_t p = w * PD_ORDERED_MARKS; p < (w + 1) * PD_ORDERED_MARKS && p < nnz; ++p) {
      uint32_t bit = UINT32_C(1) << p % PD_ORDERED_MARKS;
      if (p + 1 == nnz || output[permutation[p]] != output[permutation[p + 1]]) now.ends |= bit;
      if (p == 0 || ordered_apart(job, order, permutation[p - 1], permutation[p])) now.runs |= bit;
    }
    order->marks[w] = now;
  }
  return POLYAD_OK;
}

void pd_ordered_mark(struct pd_ordered *order, uint64_t nnz, uint64_t w, uint32_t apart,
                     uint64_t *row) {
  uint64_t first = w * PD_ORDERED_MARKS;
  uint64_t end = nnz - first < PD_ORDERED_MARKS ? nnz : first + PD_ORDERED_MARKS;
  struct pd_ordered_marks marks = {0, apart};
  if (order->row_start[*row] == first) marks.runs |= 1;
  for (uint64_t next; (next = order->row_start[*row + 1]) <= end;) {
    marks.ends |= UINT32_C(1) << (next - 1 - first);
    if (next < end) marks.runs |= UINT32_C(1) << (next - first);
    if (++*row == order->rows) break;
  }
  order->marks[w] = marks;
}

polyad_status pd_ordered_tables(polyad_context *context, const struct pd_ordered_job *job,
                                struct pd_ordered *order) {
  pd_ordered_inputs(job, order);
  PD_TRY(ordered_list_rows(context, job, order));
  return list_chunks(context, job->tensor->nnz, order);
}

polyad_status pd_ordered_build(polyad_context *context, const struct pd_ordered_job *job,
                               struct pd_ordered *order, uint32_t *permutation) {
  PD_TRY(pd_ordered_tables(context, job, order));
  PD_TRY(ordered_sort(context, job, order, permutation));
  return ordered_mark(context, job, permutation, order);
}
