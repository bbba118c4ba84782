/* bench ttmc: the tensor-times-matrix chain with R columns in every mode. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Products that checking one result may take. */
static const uint64_t most_products = UINT64_C(1) << 27;

struct chain {
  struct bench *bench;
  polyad_type type;
  uint64_t ranks[POLYAD_MAX_ORDER];
  void *factor[POLYAD_MAX_ORDER];
};

static int make_chain(struct bench *bench, struct chain *chain) {
  *chain = (struct chain){.bench = bench, .type = cli_precision(&bench->session)};
  const uint64_t *dims = polyad_tensor_dims(bench->tensor);
  for (int n = 0; n < polyad_tensor_order(bench->tensor); ++n) {
    uint64_t bytes;
    chain->ranks[n] = bench->rank;
    if (__builtin_mul_overflow(dims[n], bench->rank * bench_width(chain->type), &bytes) ||
        bytes > polyad_memory_limit(bench->session.context))
      return cli_failure("mode %d has length %llu: its factor of rank %llu is larger than memory",
                         n + 1, (unsigned long long)dims[n], (unsigned long long)bench->rank);
    chain->factor[n] = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (chain->factor[n] == NULL) return cli_failure("out of memory");
    bench_fill(chain->factor[n], dims[n] * bench->rank, chain->type, (uint64_t)n << 40);
  }
  return 0;
}

static void free_chain(struct chain *chain) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    free(chain->factor[n]);
}

/* sum += value times the Kronecker product of the other modes' rows of nonzero p; all are
 * positive but the value. `work` has room for two rows. */
static void add_nonzero(const struct chain *chain, int mode, uint64_t p, uint64_t columns,
                        long double *sum, long double *work) {
  const polyad_tensor *tensor = chain->bench->tensor;
  uint64_t rank = chain->bench->rank, size = 1;
  long double *from = work, *to = work + columns;
  from[0] = bench_entry(polyad_tensor_values(tensor), p, polyad_tensor_type(tensor));
  for (int n = 0; n < polyad_tensor_order(tensor); ++n) {
    if (n == mode) continue;
    uint64_t first = bench_index(tensor, n, p) * rank;
    for (uint64_t k = 0; k < size; ++k)
      for (uint64_t r = 0; r < rank; ++r)
        to[k * rank + r] = from[k] * bench_entry(chain->factor[n], first + r, chain->type);
    size *= rank;
    long double *swap = from;
    from = to;
    to = swap;
  }
  for (uint64_t k = 0; k < columns; ++k) {
    sum[k] += from[k];
    sum[columns + k] += fabsl(from[k]);
  }
}

static double check_row(const struct chain *chain, int mode, uint64_t row, uint64_t columns,
                        const void *out, long double *sum) {
  const polyad_tensor *tensor = chain->bench->tensor;
  double worst = 0;
  memset(sum, 0, 2 * columns * sizeof *sum);
  for (uint64_t p = 0; p < polyad_tensor_nnz(tensor); ++p)
    if (bench_index(tensor, mode, p) == row)
      add_nonzero(chain, mode, p, columns, sum, sum + 2 * columns);
  for (uint64_t k = 0; k < columns; ++k) {
    long double found = bench_entry(out, row * columns + k, chain->type), size = sum[columns + k];
    double error = size > 0 ? (double)(fabsl(found - sum[k]) / size) : found != 0;
    if (error > worst || isnan(error)) worst = error;
  }
  return worst;
}

/* The largest relative error over some rows that are computed again in long double: those of
 * nonzeros spread over the tensor whose slices are not too full. */
static double check(const struct chain *chain, int mode, uint64_t columns, const void *out) {
  enum { ROWS = 8 };
  const polyad_tensor *tensor = chain->bench->tensor;
  uint64_t nnz = polyad_tensor_nnz(tensor), products = 0;
  long double *sum = malloc(4 * columns * sizeof *sum);
  double worst = sum == NULL ? NAN : 0;
  for (uint64_t k = 0; k < ROWS && k < nnz && sum != NULL; ++k) {
    uint64_t row = bench_index(tensor, mode, k * (nnz / ROWS)), count = 0;
    for (uint64_t p = 0; p < nnz; ++p)
      count += bench_index(tensor, mode, p) == row;
    if (products > 0 && products + count * columns > most_products) continue;
    products += count * columns;
    double error = check_row(chain, mode, row, columns, out, sum);
    if (error > worst || isnan(error)) worst = error;
  }
  free(sum);
  return worst;
}

/* Modelled as for MTTKRP: a product and a sum for every nonzero and column of the output; the bound
 * also writes the output. */
static void model(const struct chain *chain, int mode, uint64_t columns, struct bench_row *row) {
  const polyad_tensor *tensor = chain->bench->tensor;
  int order = polyad_tensor_order(tensor);
  double nnz = (double)polyad_tensor_nnz(tensor), rank = (double)chain->bench->rank;
  double w = (double)bench_width(chain->type), stream = w, factors = 0;
  for (int n = 0; n < order; ++n) {
    stream += polyad_tensor_index_bytes(tensor, n);
    if (n != mode) factors += (double)polyad_tensor_dims(tensor)[n] * rank * w;
  }
  double touched = nnz * (order - 1) * rank * w;
  double out = (double)polyad_tensor_dims(tensor)[mode] * (double)columns * w;
  row->flops = 2 * nnz * (double)columns;
  row->bytes_moved = nnz * stream + touched + out;
  row->bound_seconds =
      (nnz * stream + (factors < touched ? factors : touched) + out) / bench_triad(chain->bench);
}

static int time_mode(struct chain *chain, const polyad_plan *plan, polyad_workspace *workspace,
                     int mode, struct bench_row *row) {
  struct bench *bench = chain->bench;
  polyad_context *context = bench->session.context;
  uint64_t columns, rows = polyad_plan_dims(plan)[mode], bytes;
  if (polyad_ttmc_columns(context, plan, chain->ranks, mode, &columns) != POLYAD_OK)
    return cli_library_failure(context);
  if (__builtin_mul_overflow(columns * bench_width(chain->type), rows, &bytes) ||
      columns > UINT32_MAX || bytes > polyad_memory_limit(context))
    return cli_failure("the chain of mode %d is %llu x %llu: larger than memory", mode + 1,
                       (unsigned long long)rows, (unsigned long long)columns);
  void *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  int runs = 0, status = out == NULL || seconds == NULL ? cli_failure("out of memory") : 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat && status == 0; ++k) {
    double begin = bench_now();
    if (polyad_ttmc(context, plan, workspace, mode, (const void *const *)chain->factor, out) !=
        POLYAD_OK)
      status = cli_library_failure(context);
    if (k >= bench->warmup) seconds[runs++] = bench_now() - begin;
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == 0) {
    bench_summarise(seconds, runs, row);
    row->mode = mode + 1;
    row->max_relative_error = check(chain, mode, columns, out);
    model(chain, mode, columns, row);
  }
  free(out);
  free(seconds);
  return status;
}

static int chain_format(void *user, const char *format) {
  struct chain *chain = user;
  struct bench *bench = chain->bench;
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  struct bench_row row;
  int status = bench_make_plan(bench, format, &plan, &row);
  if (status == 0 && polyad_ttmc_workspace_create(bench->session.context, plan, chain->ranks,
                                                  &workspace) != POLYAD_OK)
    status = cli_library_failure(bench->session.context);
  for (int n = 0; status == 0 && n < polyad_plan_order(plan) && !bench_interrupted(); ++n) {
    if (bench->mode > 0 && (int)bench->mode != n + 1) continue;
    struct bench_row each = row;
    status = time_mode(chain, plan, workspace, n, &each);
    if (status == 0) bench_add(bench, &each);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status;
}

int bench_ttmc(struct bench *bench) {
  if ((int)bench->mode > polyad_tensor_order(bench->tensor))
    return cli_failure("mode %llu does not exist; the tensor has %d modes",
                       (unsigned long long)bench->mode, polyad_tensor_order(bench->tensor));
  struct chain chain;
  bench->needs = POLYAD_KERNEL_TTMC;
  int status = make_chain(bench, &chain);
  if (status == 0) status = bench_each_format(bench, chain_format, &chain);
  free_chain(&chain);
  return status;
}
