/* MTTKRP, the tensor-times-matrix chain, and a loss's gain with its gradient, of "hls" on the CPU.
 * A thread takes 16 output rows at a time, with all tiles and nonzeros that add to them, in the
 * workspace's order; where a mode is so short that threads would idle, groups are cut into parts
 * that are added up in order. Results do not depend on who computes what. */
#include "core/isa.h"
#include "core/threads.h"
#include "formats/hls/hls_walk.h"
#include "formats/tables.h"
#include <omp.h>
#include <string.h>

enum { GROUPS_PER_THREAD = 4 };

struct scratch {
  struct pd_scratch base;
  int threads;
  struct pd_hls_order orders[PD_HLS_MAX_ORDER];
  uint64_t columns; /* of the widest output */
  uint64_t buffer;  /* numbers */
  double *rows;     /* 16 x columns for each thread, or for each part of a group */
  double *buffers;  /* of each thread */
  pd_hls_walk_function *walk;
};

/* Parts that a group of 16 rows is cut into. */
static uint64_t parts_of(uint64_t groups, int threads) {
  uint64_t wanted = (uint64_t)(GROUPS_PER_THREAD * threads);
  return threads == 1 || groups >= wanted ? 1 : (wanted + groups - 1) / groups;
}

/* Blocks of 16 rows of sums that a mode needs. */
static uint64_t hls_cpu_blocks_of(const struct pd_hls *hls, int mode, int threads) {
  uint64_t groups = pd_hls_tiles_along(hls->dims[mode]), parts = parts_of(groups, threads);
  return parts == 1 ? (uint64_t)threads : parts * groups;
}

static uint64_t hls_cpu_most_blocks(const struct pd_hls *hls, int threads) {
  uint64_t most = 0;
  for (int n = 0; n < hls->order; ++n) {
    uint64_t blocks = hls_cpu_blocks_of(hls, n, threads);
    if (blocks > most) most = blocks;
  }
  return most;
}

/* Columns of the widest output and of the largest rank; saturated. */
static uint64_t widest(const struct pd_hls *hls, const uint64_t *ranks, uint64_t *rank) {
  uint64_t most = 0;
  *rank = 0;
  for (int n = 0; n < hls->order; ++n) {
    uint64_t columns = 1;
    for (int m = 0; m < hls->order; ++m)
      if (m != n) columns = pd_mul_saturated(columns, ranks[m]);
    if (columns > most) most = columns;
    if (ranks[n] > *rank) *rank = ranks[n];
  }
  return most;
}

static uint64_t hls_cpu_scratch_bytes(const struct pd_hls *hls, uint64_t columns, uint64_t rank,
                                      int threads) {
  uint64_t rows = pd_mul_saturated(hls_cpu_most_blocks(hls, threads), PD_HLS_SIDE);
  rows = pd_mul_saturated(pd_add_saturated(rows, 2 * (uint64_t)threads), columns);
  uint64_t lines = (uint64_t)(hls->order + 1) * (uint64_t)threads;
  uint64_t numbers = pd_add_saturated(rows, pd_mul_saturated(lines, rank));
  uint64_t bytes = pd_mul_saturated(numbers, sizeof(double));
  for (int n = 0; n < hls->order; ++n)
    bytes = pd_add_saturated(bytes, pd_hls_order_bytes(hls, n));
  return pd_add_saturated(bytes, sizeof(struct scratch));
}

static polyad_status hls_cpu_create(polyad_context *context, const struct pd_hls *hls,
                                    uint64_t columns, uint64_t rank, struct scratch *scratch) {
  uint64_t rows, lines, numbers;
  scratch->threads = pd_kernel_threads(context, hls->nnz, columns);
  scratch->walk = PD_ISA_PICK(pd_hls_walk_function, pd_hls_walk);
  scratch->columns = columns;
  if (!pd_mul(columns, PD_HLS_SIDE * hls_cpu_most_blocks(hls, scratch->threads), &rows) ||
      !pd_mul(columns, 2, &scratch->buffer) || !pd_mul(rank, (uint64_t)hls->order + 1, &lines) ||
      !pd_add(scratch->buffer, lines, &scratch->buffer) ||
      !pd_mul(scratch->buffer, (uint64_t)scratch->threads, &numbers))
    return pd_fail(context, POLYAD_OVERFLOW, "the product of the ranks is too large");
  PD_TRY(PD_SCRATCH(&scratch->base, rows, &scratch->rows));
  PD_TRY(PD_SCRATCH(&scratch->base, numbers, &scratch->buffers));
  for (int n = 0; n < hls->order; ++n)
    PD_TRY(pd_hls_order_create(&scratch->base, hls, n, &scratch->orders[n]));
  return POLYAD_OK;
}

static uint64_t hls_cpu_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  return hls_cpu_scratch_bytes(storage, rank, rank, threads);
}

static polyad_status hls_cpu_fill(polyad_context *context, const void *storage,
                                  const uint64_t *ranks, void *scratch) {
  return hls_cpu_create(context, storage, ranks[0], ranks[0], scratch);
}

static uint64_t hls_cpu_ttmc_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  uint64_t rank, columns = widest(storage, ranks, &rank);
  return hls_cpu_scratch_bytes(storage, columns, rank, threads);
}

static polyad_status hls_cpu_ttmc_fill(polyad_context *context, const void *storage,
                                       const uint64_t *ranks, void *scratch) {
  uint64_t rank, columns = widest(storage, ranks, &rank);
  return hls_cpu_create(context, storage, columns, rank, scratch);
}

/* Part `part` of `parts` of the tiles and nonzeros of 16 output rows. */
static struct pd_hls_unit unit_of(const struct pd_hls_sweep *sweep, uint64_t group, uint64_t part,
                                  uint64_t parts) {
  const struct pd_hls_order *order = sweep->order;
  bool spanned = sweep->hls->place[sweep->mode] >= 0;
  uint64_t row = group * PD_HLS_SIDE, last = row + PD_HLS_SIDE, line = spanned ? group : row;
  uint64_t line_end = spanned ? group + 1 : last;
  if (last > order->rows) last = order->rows;
  if (line_end > order->lines) line_end = order->lines;
  uint64_t tiles = order->tile_start[line_end] - order->tile_start[line];
  uint64_t nonzeros = order->row_start[last] - order->row_start[row];
  int k = (int)part, n = (int)parts;
  return (struct pd_hls_unit){
      .first_row = row,
      .tile_begin = order->tile_start[line] + pd_part_begin(tiles, k, n),
      .tile_end = order->tile_start[line] + pd_part_begin(tiles, k + 1, n),
      .nonzero_begin = order->row_start[row] + pd_part_begin(nonzeros, k, n),
      .nonzero_end = order->row_start[row] + pd_part_begin(nonzeros, k + 1, n)};
}

static void store_group(const struct pd_hls_sweep *sweep, uint64_t group, const double *rows,
                        struct pd_matrix *out) {
  double scale = sweep->hls->scale;
  for (uint64_t i = 0; i < PD_HLS_SIDE && group * PD_HLS_SIDE + i < out->rows; ++i) {
    uint64_t at = (group * PD_HLS_SIDE + i) * out->stride;
    const double *from = rows + i * sweep->columns;
    for (uint64_t r = 0; r < sweep->columns; ++r)
      if (out->type == POLYAD_F32)
        ((float *)out->data)[at + r] = (float)(scale * from[r]);
      else
        ((double *)out->data)[at + r] = scale * from[r];
  }
}

static void run_groups(const struct scratch *scratch, const struct pd_hls_sweep *sweep,
                       struct pd_matrix *out) {
  uint64_t groups = pd_hls_tiles_along(out->rows), parts = parts_of(groups, scratch->threads);
  uint64_t block = PD_HLS_SIDE * sweep->columns;
#pragma omp parallel num_threads(scratch->threads)
  {
    uint64_t me = (uint64_t)omp_get_thread_num();
    double *buffer = scratch->buffers + me * scratch->buffer;
#pragma omp for schedule(dynamic, 1)
    for (uint64_t u = 0; u < groups * parts; ++u) {
      struct pd_hls_unit unit = unit_of(sweep, u / parts, u % parts, parts);
      double *rows = scratch->rows + (parts == 1 ? me : u) * block;
      memset(rows, 0, block * sizeof *rows);
      scratch->walk(sweep, &unit, rows, buffer);
      if (parts == 1) store_group(sweep, u, rows, out);
    }
#pragma omp for schedule(dynamic, 1)
    for (uint64_t g = 0; g < (parts == 1 ? 0 : groups); ++g) {
      double *rows = scratch->rows + g * parts * block;
      for (uint64_t k = 1; k < parts; ++k)
        for (uint64_t r = 0; r < block; ++r)
          rows[r] += rows[k * block + r];
      store_group(sweep, g, rows, out);
    }
  }
}

/* The gains of each thread's share of the groups, added up in the order of the threads. Values are
 * stored by a power of two smaller, which comes out of the sum (engine/loss.h). */
static double hls_cpu_sum_gains(const struct scratch *scratch, const struct pd_hls_sweep *sweep) {
  uint64_t groups = pd_hls_tiles_along(sweep->hls->dims[sweep->mode]);
  double sum = 0;
#pragma omp parallel for num_threads(scratch->threads) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t) {
    double *gain = scratch->rows + (uint64_t)t * sweep->columns;
    uint64_t end = pd_part_begin(groups, t + 1, scratch->threads);
    *gain = 0;
    for (uint64_t g = pd_part_begin(groups, t, scratch->threads); g < end; ++g) {
      struct pd_hls_unit unit = unit_of(sweep, g, 0, 1);
      scratch->walk(sweep, &unit, gain, scratch->buffers + (uint64_t)t * scratch->buffer);
    }
  }
  for (int t = 0; t < scratch->threads; ++t)
    sum += scratch->rows[(uint64_t)t * sweep->columns];
  return sweep->hls->scale * sum;
}

static polyad_status hls_cpu_run(polyad_context *context, const void *storage, void *pointer,
                                 const struct pd_call *call) {
  (void)context;
  const struct pd_hls *hls = storage;
  const struct scratch *scratch = pointer;
  struct pd_hls_sweep sweep = {.hls = hls,
                               .order = &scratch->orders[call->mode],
                               .mode = call->mode,
                               .chain = call->op.combine == PD_KRONECKER,
                               .columns = call->op.combine == PD_KRONECKER ? call->out->columns
                                                                           : pd_call_rank(call),
                               .weighs = pd_op_needs_model(&call->op),
                               .gains = call->op.into == PD_INTO_SCALAR,
                               .loss = call->op.loss};
  for (int n = 0; n < hls->order; ++n) {
    if (n == call->mode && !sweep.weighs) continue;
    sweep.rank[n] = call->factors[n]->columns;
    if (sweep.rank[n] > sweep.widest) sweep.widest = sweep.rank[n];
    sweep.factor[n] = call->factors[n]->data;
    sweep.stride[n] = call->factors[n]->stride;
  }
  if (sweep.gains)
    *(double *)call->out->data = hls_cpu_sum_gains(scratch, &sweep);
  else
    run_groups(scratch, &sweep, call->out);
  return POLYAD_OK;
}

static const struct pd_walk hls_cpu_tiles = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = hls_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = hls_cpu_fill,
    .run = hls_cpu_run,
};

static const struct pd_walk hls_cpu_ttmc = {
    .ops = PD_OPS_TTMC,
    .workspace_bytes = hls_cpu_ttmc_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = hls_cpu_ttmc_fill,
    .run = hls_cpu_run,
};

const struct polyad_kernels pd_hls_kernels_cpu = {
    .format = "hls",
    .device = "cpu",
    .variants = "auto",
    .walks = {&hls_cpu_tiles, &hls_cpu_ttmc},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 2.5,
};
