/* bench tile-threshold: from how many nonzeros on a tile of 16 x 16 x 16 is cheaper as a dense one
 * (figure 7 of the paper that hls comes from). Tensors whose tiles all hold the same number of
 * nonzeros are stored once as dense tiles and once as single nonzeros. */
#include "bench.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 3, SIDE = 16, CELLS = SIDE * SIDE * SIDE, STEP = 8, MOST = 160 };

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

/* Factors, the output and times. */
struct room {
  void *factor[ORDER], *out;
  double *seconds;
};

static int make_room(const struct bench *bench, bool chain, struct room *room) {
  polyad_type type = cli_precision(&bench->session);
  uint64_t columns = chain ? bench->rank * bench->rank : bench->rank;
  for (int n = 0; n < ORDER; ++n) {
    uint64_t count = grid[n] * SIDE * bench->rank;
    room->factor[n] = malloc(count * bench_width(type));
    if (room->factor[n] == NULL) return cli_failure("out of memory");
    bench_fill(room->factor[n], count, type, (uint64_t)n << 40);
  }
  room->out = malloc(grid[0] * SIDE * columns * bench_width(type));
  room->seconds = malloc((bench->repeat + 1) * sizeof *room->seconds);
  return room->out != NULL && room->seconds != NULL ? 0 : cli_failure("out of memory");
}

static void free_room(struct room *room) {
  for (int n = 0; n < ORDER; ++n)
    free(room->factor[n]);
  free(room->out);
  free(room->seconds);
}

/* The median of all three modes with one threshold. */
static int measure(struct bench *bench, bool chain, int threshold, struct room *room,
                   struct bench_row *row) {
  polyad_context *context = bench->session.context;
  const void *const *factors = (const void *const *)room->factor;
  uint64_t ranks[ORDER] = {bench->rank, bench->rank, bench->rank};
  polyad_plan *plan = NULL;
  polyad_workspace *workspace = NULL;
  polyad_plan_options options;
  int runs = 0;
  polyad_plan_options_init(&options);
  cli_set_partitions(&bench->session, &options);
  options.format = "hls";
  options.rank = bench->rank;
  options.precision = cli_precision(&bench->session);
  options.tile_threshold = threshold;
  /* In full precision a GPU has no dense tiles. */
  if (options.compute == POLYAD_COMPUTE_NATIVE && strcmp(polyad_device(context), "cpu") != 0)
    options.compute = POLYAD_COMPUTE_F16;
  polyad_status status = polyad_plan_create(context, bench->tensor, &options, &plan);
  if (status == POLYAD_OK)
    status = chain ? polyad_ttmc_workspace_create(context, plan, ranks, &workspace)
                   : polyad_workspace_create(context, plan, bench->rank, &workspace);
  for (uint64_t k = 0; status == POLYAD_OK && k < bench->warmup + bench->repeat; ++k) {
    double begin = bench_now();
    for (int n = 0; status == POLYAD_OK && n < ORDER; ++n)
      status =
          (chain ? polyad_ttmc : polyad_mttkrp)(context, plan, workspace, n, factors, room->out);
    if (k >= bench->warmup) room->seconds[runs++] = bench_now() - begin;
    if (bench_interrupted() && runs > 0) break;
  }
  if (status == POLYAD_OK) {
    *row = (struct bench_row){
        .format = "hls", .bytes_format = polyad_plan_bytes(plan), .max_relative_error = NAN};
    bench_summarise(room->seconds, runs, row);
  }
  polyad_workspace_destroy(workspace);
  polyad_plan_destroy(plan);
  return status == POLYAD_OK ? 0 : cli_library_failure(context);
}

/* Both storages of every tensor; the threshold is the first number with which tiles win. */
static int curve(struct bench *bench, bool chain) {
  struct room room = {.out = NULL};
  const char *name = chain ? "ttmc" : "mttkrp";
  uint64_t found = 0;
  int status = make_room(bench, chain, &room);
  for (uint64_t each = STEP; status == 0 && each <= MOST && !bench_interrupted(); each += STEP) {
    struct bench_row row[2];
    status = make_tensor(bench, each);
    for (int dense = 0; dense < 2 && status == 0; ++dense) {
      status = measure(bench, chain, dense ? 1 : POLYAD_MAX_TILE_THRESHOLD, &room, &row[dense]);
      if (status != 0) break;
      snprintf(row[dense].variant, sizeof row[dense].variant, "%s, %llu nonzeros a tile, %s", name,
               (unsigned long long)each, dense ? "dense tiles" : "single nonzeros");
      bench_add(bench, &row[dense]);
    }
    if (status == 0 && found == 0 && row[1].median <= row[0].median) found = each;
  }
  if (status == 0 && found > 0)
    cli_talk(&bench->session, "%s: dense tiles are faster from %llu nonzeros on\n", name,
             (unsigned long long)found);
  else if (status == 0)
    cli_talk(&bench->session, "%s: single nonzeros are faster up to %d a tile\n", name, MOST);
  free_room(&room);
  return status;
}

int bench_tile_threshold(struct bench *bench) {
  int status = curve(bench, false);
  return status == 0 && !bench_interrupted() ? curve(bench, true) : status;
}
