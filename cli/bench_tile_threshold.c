/* bench tile-threshold: from how many nonzeros on a tile of 16 x 16 x 16 is cheaper as a dense one
 * (figure 7 of the paper that hls comes from). Tensors whose tiles all hold the same number of
 * nonzeros are stored once as dense tiles and once as single nonzeros. */
#include "bench_kernel.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 3, SIDE = 16, CELLS = SIDE * SIDE * SIDE, STEP = 8, MOST = 160 };

static const char format[] = "hls", all_dense[] = "hls:tile-threshold=1",
                  none_dense[] = "hls:tile-threshold=4097";

/* Tiles along each mode. */
static const uint64_t grid[ORDER] = {16, 16, 8};

/* `each` nonzeros in every tile, in cells that an odd stride walks through. */
static int make_tensor(struct bench *bench, uint64_t each) {
  uint64_t tiles = grid[0] * grid[1] * grid[2], nnz = tiles * each, dims[ORDER];
  uint32_t *index = malloc(ORDER * nnz * sizeof *index);
  double *value = malloc(nnz * sizeof *value);
  polyad_tensor_input input;
  polyad_tensor_input_init(&input);
  for (uint64_t p = 0; index != NULL && value != NULL && p < nnz; ++p) {
    uint64_t tile = p / each, cell = (p % each * 1237 + tile * 911) % CELLS;
    uint64_t place[ORDER] = {tile / grid[2] / grid[1], tile / grid[2] % grid[1], tile % grid[2]};
    for (int n = 0; n < ORDER; ++n)
      index[(uint64_t)n * nnz + p] = (uint32_t)(place[n] * SIDE + (cell >> (8 - 4 * n)) % SIDE);
    value[p] = 1 + (double)(p % 7);
  }
  input.order = ORDER;
  input.dims = dims;
  input.nnz = nnz;
  input.index_type = POLYAD_U32;
  input.values = value;
  input.value_stride = sizeof *value;
  input.type = cli_precision(&bench->session);
  for (int n = 0; n < ORDER; ++n) {
    dims[n] = grid[n] * SIDE;
    input.index[n] = index + (uint64_t)n * nnz;
    input.index_stride[n] = sizeof *index;
  }
  polyad_tensor_destroy(bench->tensor);
  bench->tensor = NULL;
  polyad_status status = POLYAD_OUT_OF_MEMORY;
  if (index != NULL && value != NULL)
    status = polyad_tensor_create(bench->session.context, &input, &bench->tensor);
  free(index);
  free(value);
  if (status == POLYAD_OK) return 0;
  return index == NULL || value == NULL ? cli_failure("out of memory")
                                        : cli_library_failure(bench->session.context);
}

static polyad_plan_options options_of(const struct bench *bench, polyad_kernel kernel) {
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  cli_set_types(&bench->session, &options);
  options.format = format;
  options.rank = bench->rank;
  options.kernel = kernel;
  /* In full precision a GPU has no dense tiles. */
  if (options.compute == POLYAD_COMPUTE_NATIVE &&
      strcmp(polyad_device(bench->session.context), "cpu") != 0)
    options.compute = POLYAD_COMPUTE_F16;
  return options;
}

static int make_plan(const struct bench_job *job, const char *stored, polyad_plan **plan) {
  const struct bench *bench = job->bench;
  polyad_context *context = bench->session.context;
  polyad_plan_options options = options_of(bench, job->kernel);
  options.format = stored;
  if (polyad_plan_create(context, bench->tensor, &options, plan) == POLYAD_OK) return 0;
  return cli_library_failure(context);
}

/* Times of all three modes together. */
static int time_runs(const struct bench_job *job, polyad_measurement *measurement, double *seconds,
                     int *runs) {
  const struct bench *bench = job->bench;
  *runs = 0;
  for (uint64_t k = 0; k < bench->warmup + bench->repeat; ++k) {
    double all = 0, one;
    for (int n = 0; n < ORDER; ++n, all += one)
      if (polyad_measurement_run(measurement, job->kernel, n, 0, &one) != POLYAD_OK)
        return cli_library_failure(bench->session.context);
    if (k >= bench->warmup) seconds[(*runs)++] = all;
    if (bench_interrupted() && *runs > 0) break;
  }
  return 0;
}

static int measure(struct bench_job *job, const char *stored, struct bench_row *row) {
  struct bench *bench = job->bench;
  polyad_plan *plan = NULL;
  polyad_measurement *measurement = NULL;
  double *seconds = malloc(bench->repeat * sizeof *seconds);
  int runs, status = seconds == NULL ? cli_failure("out of memory") : 0;
  if (status == 0) status = make_plan(job, stored, &plan);
  if (status == 0) status = bench_job_measurement(job, plan, &measurement);
  if (status == 0) status = time_runs(job, measurement, seconds, &runs);
  if (status == 0) {
    *row = (struct bench_row){
        .format = format, .bytes_format = polyad_plan_bytes(plan), .max_relative_error = NAN};
    bench_summarise(seconds, runs, row);
  }
  polyad_measurement_destroy(measurement);
  polyad_plan_destroy(plan);
  free(seconds);
  return status;
}

/* Both storages of the tensor whose tiles hold so many nonzeros; tells whether dense tiles win. */
static int compare(struct bench *bench, polyad_kernel kernel, uint64_t each, bool *dense_wins) {
  struct bench_row row[2];
  struct bench_job job;
  int status = make_tensor(bench, each);
  if (status != 0) return status;
  status = bench_job_make(bench, kernel, &job);
  for (int dense = 0; dense < 2 && status == 0; ++dense) {
    status = measure(&job, dense ? all_dense : none_dense, &row[dense]);
    if (status != 0) break;
    snprintf(row[dense].variant, sizeof row[dense].variant, "%s, %llu nonzeros a tile, %s",
             kernel == POLYAD_KERNEL_TTMC ? "ttmc" : "mttkrp", (unsigned long long)each,
             dense ? "dense tiles" : "single nonzeros");
    bench_add(bench, &row[dense]);
  }
  bench_job_free(&job);
  if (status == 0) *dense_wins = row[1].median <= row[0].median;
  return status;
}

/* For plans with --tune, where there is a place for it. */
static int keep(struct bench *bench, const polyad_plan_options *options, uint64_t threshold) {
  polyad_context *context = bench->session.context;
  if (options->tune_cache == NULL) return 0;
  if (polyad_tune_cache_keep(context, options, "tile-threshold", (int)threshold) == POLYAD_OK)
    return 0;
  return cli_library_failure(context);
}

/* The threshold is the first number with which tiles win. */
static int curve(struct bench *bench, polyad_kernel kernel) {
  const char *name = kernel == POLYAD_KERNEL_TTMC ? "ttmc" : "mttkrp";
  uint64_t found = 0;
  int status = 0;
  for (uint64_t each = STEP; status == 0 && each <= MOST && !bench_interrupted(); each += STEP) {
    bool dense_wins = false;
    status = compare(bench, kernel, each, &dense_wins);
    if (dense_wins && found == 0) found = each;
  }
  if (status != 0 || bench_interrupted()) return status;
  polyad_plan_options options = options_of(bench, kernel);
  if (found > 0) {
    cli_talk(&bench->session, "%s: dense tiles are faster from %llu nonzeros on\n", name,
             (unsigned long long)found);
    cli_set_tuning(&bench->session, &options);
    return keep(bench, &options, found);
  }
  cli_talk(&bench->session, "%s: single nonzeros are faster up to %d a tile\n", name, MOST);
  return 0;
}

int bench_tile_threshold(struct bench *bench) {
  int status = curve(bench, POLYAD_KERNEL_MTTKRP);
  return status == 0 && !bench_interrupted() ? curve(bench, POLYAD_KERNEL_TTMC) : status;
}
