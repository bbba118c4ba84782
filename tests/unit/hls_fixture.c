#include "unit/hls_fixture.h"
#include "core/random.h"
#include "harness.h"
#include "inputs.h"
#include <math.h>
#include <polyad/polyad.h>
#include <stdlib.h>
#include <string.h>

const struct mixture mixtures[] = {
    {3, {100, 70, 50}, 12, 900, 2000},
    {3, {33, 17, 15}, 5, 2000, 300},
    {3, {500, 3, 400}, 4, 300, 500},
    {4, {60, 40, 50, 6}, 10, 700, 1500},
    {5, {40, 30, 20, 3, 4}, 8, 700, 900},
    {6, {30, 20, 20, 3, 2, 2}, 8, 500, 500},
    {7, {20, 20, 20, 2, 2, 2, 2}, 6, 500, 400},
    {8, {20, 18, 17, 2, 2, 2, 2, 2}, 6, 500, 400},
};
const int mixture_count = sizeof mixtures / sizeof *mixtures;

/* Within one tile in modes 0 to 2, the same index in the others. */
static uint64_t index_in_tile(const struct mixture *m, int mode, uint64_t tile, uint64_t any) {
  uint64_t at = pd_random_u64(5, (uint64_t)mode, tile) % m->dims[mode];
  if (mode < 3) at = at / 16 * 16 + any % 16;
  return at < m->dims[mode] ? at : m->dims[mode] - 1;
}

polyad_tensor *mixture_tensor(polyad_context *context, const struct mixture *m, polyad_type type) {
  uint64_t nnz = m->dense_tiles * m->cells + m->scattered;
  uint64_t *index = calloc((size_t)m->order * nnz + 1, sizeof *index);
  double *value = calloc(nnz + 1, sizeof *value);
  for (uint64_t p = 0; p < nnz; ++p) {
    uint64_t tile = p / m->cells;
    for (int n = 0; n < m->order; ++n) {
      uint64_t any = pd_random_u64(3, (uint64_t)n, p);
      index[(size_t)n * nnz + p] =
          tile < m->dense_tiles ? index_in_tile(m, n, tile, any) : any % m->dims[n];
    }
    value[p] = (float)pd_random_uniform(3, 99, p) + 0.5;
  }
  polyad_tensor_input input =
      input_of_columns(m->order, m->dims, nnz, POLYAD_U64, index, nnz, value);
  input.type = type;
  polyad_tensor *tensor = NULL;
  assert_int_equal(polyad_tensor_create(context, &input, &tensor), POLYAD_OK);
  free(index);
  free(value);
  return tensor;
}

void hls_problem_make(polyad_context *context, const struct pd_hls *hls, uint64_t rank,
                      bool unequal, struct hls_problem *problem) {
  polyad_tensor *stored = NULL;
  struct pd_nonzeros nonzeros = {.order = hls->order,
                                 .nnz = hls->nnz,
                                 .type = hls->type,
                                 .storage = hls,
                                 .decode = pd_hls_decode};
  memcpy(nonzeros.dims, hls->dims, (size_t)hls->order * sizeof *nonzeros.dims);
  assert_int_equal(pd_nonzeros_to_tensor(context, &nonzeros, &stored), POLYAD_OK);
  size_t order = (size_t)hls->order, nnz = (size_t)stored->nnz;
  problem->index = malloc(order * nnz * sizeof(uint64_t) + 1);
  problem->value = malloc(nnz * sizeof(double) + 1);
  for (size_t p = 0; p < nnz; ++p) {
    for (size_t n = 0; n < order; ++n)
      problem->index[p * order + n] = pd_tensor_index(stored, (int)n, p);
    problem->value[p] = pd_tensor_value(stored, p);
  }
  problem->tensor = (struct oracle_tensor){.order = hls->order,
                                           .dims = hls->dims,
                                           .nnz = nnz,
                                           .index = problem->index,
                                           .value = problem->value};
  for (size_t n = 0; n < order; ++n) {
    problem->ranks[n] = unequal ? 1 + (rank + n) % 5 : rank;
    size_t count = (size_t)(hls->dims[n] * problem->ranks[n]);
    problem->factor[n] = malloc(count * sizeof(double));
    for (size_t k = 0; k < count; ++k)
      problem->factor[n][k] = (double)(float)(pd_random_uniform(8, n, k) * 2 - 1);
  }
  polyad_tensor_destroy(stored);
}

void hls_problem_free(struct hls_problem *problem) {
  free(problem->index);
  free(problem->value);
  for (int n = 0; n < problem->tensor.order; ++n)
    free(problem->factor[n]);
}

size_t hls_problem_columns(const struct hls_problem *problem, int mode, bool chain) {
  size_t columns = 1;
  for (int n = 0; n < problem->tensor.order; ++n)
    if (n != mode) columns *= (size_t)problem->ranks[n];
  return chain ? columns : (size_t)problem->ranks[0];
}

/* A matrix on the device with the doubles in its type. */
static void fill(polyad_context *context, const struct pd_device *device, polyad_type type,
                 uint64_t rows, uint64_t columns, const double *from, struct pd_matrix *matrix) {
  size_t count = (size_t)(rows * columns);
  void *host = malloc(count * sizeof(double) + 1);
  for (size_t k = 0; k < count; ++k)
    if (type == POLYAD_F32)
      ((float *)host)[k] = from == NULL ? NAN : (float)from[k];
    else
      ((double *)host)[k] = from == NULL ? NAN : from[k];
  assert_int_equal(pd_matrix_create(context, device, type, rows, columns, matrix), POLYAD_OK);
  assert_int_equal(pd_matrix_from_host(context, matrix, host), POLYAD_OK);
  free(host);
}

void hls_problem_run(polyad_context *context, const struct polyad_kernels *kernels,
                     const struct pd_hls *hls, const void *on_device,
                     const struct hls_problem *problem, int mode, bool chain, double *out) {
  const struct pd_device *device = NULL;
  struct pd_matrix factor[PD_HLS_MAX_ORDER], result;
  const struct pd_matrix *list[PD_HLS_MAX_ORDER];
  size_t rows = (size_t)hls->dims[mode], columns = hls_problem_columns(problem, mode, chain);
  void *scratch = NULL, *host = malloc(rows * columns * sizeof(double) + 1);
  assert_int_equal(pd_device_of(context, &device), POLYAD_OK);
  for (int n = 0; n < hls->order; ++n) {
    fill(context, device, hls->type, hls->dims[n], problem->ranks[n], problem->factor[n],
         &factor[n]);
    list[n] = &factor[n];
  }
  fill(context, device, hls->type, rows, columns, NULL, &result);
  const struct pd_walk *walk = pd_walk_of(kernels, chain ? PD_OPS_TTMC : PD_OPS_MTTKRP);
  const struct pd_call call = {
      .op = chain ? PD_TTMC : PD_MTTKRP, .mode = mode, .factors = list, .out = &result};
  polyad_status status = pd_walk_open(context, walk, device, on_device, problem->ranks, &scratch);
  if (status == POLYAD_OK) status = walk->run(context, on_device, scratch, &call);
  if (status == POLYAD_OK) status = pd_matrix_to_host(context, &result, host);
  if (status != POLYAD_OK) fail_msg("%s", polyad_last_error(context));
  for (size_t k = 0; k < rows * columns; ++k)
    out[k] = hls->type == POLYAD_F32 ? (double)((float *)host)[k] : ((double *)host)[k];
  pd_walk_close(scratch);
  for (int n = 0; n < hls->order; ++n)
    pd_matrix_destroy(context, &factor[n]);
  pd_matrix_destroy(context, &result);
  free(host);
}
