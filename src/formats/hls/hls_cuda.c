/* "hls" on a GPU: uploading, scratch memory, launching. One call packs the factors, where blocks do
 * not make the fragments that they need, runs tiles and single nonzeros, and adds up their sums. */
#include "device/cuda/cuda_sum.h"
#include "formats/hls/hls_launch.h"
#include "formats/hls/hls_schedule.h"
#include "formats/scratch_cuda.h"
#include "formats/tables.h"

struct scratch {
  struct pd_scratch base;
  const struct pd_hls *hls;
  enum pd_hls_kernel kernel;
  bool chain, own_fragments;
  uint64_t ranks[PD_HLS_MAX_ORDER];
  struct pd_hls_schedule schedule[PD_HLS_MAX_ORDER];
  void *fragment[PD_HLS_MAX_ORDER], *copy[PD_HLS_MAX_ORDER];
  struct pd_versions packed; /* of the factors that these were made from */
  uint32_t *most;            /* order x columns of fragments */
  float *scale;              /* likewise */
  uint64_t columns_each;
  void *dense_sums, *sparse_sums;
  float *sums; /* atomic variants */
};

static enum pd_hls_kernel kernel_of(const struct pd_hls *hls) {
  switch (hls->value) {
  case PD_HLS_F16:
    return PD_HLS_KERNEL_F16;
  case PD_HLS_BF16:
    return PD_HLS_KERNEL_BF16;
  case PD_HLS_F32:
    return PD_HLS_KERNEL_TF32; /* in full precision it has single nonzeros only, not rounded */
  default:
    return PD_HLS_KERNEL_F64;
  }
}

/* ---- workspaces -------------------------------------------------------------------------------
 */

/* Fragments across a factor: one, or an even number. */
static uint64_t hls_cuda_blocks_of(uint64_t rank) {
  return rank <= PD_HLS_BLOCK ? 1 : (rank + 2 * PD_HLS_BLOCK - 1) / (2 * PD_HLS_BLOCK) * 2;
}

/* Columns of a row of sums; saturated. */
static uint64_t columns_of(const struct scratch *scratch, int mode) {
  uint64_t columns = 1;
  if (!scratch->chain) return hls_cuda_blocks_of(scratch->ranks[mode]) * PD_HLS_BLOCK;
  for (int n = 0; n < scratch->hls->order; ++n)
    if (n != mode) columns = pd_mul_saturated(columns, scratch->ranks[n]);
  return columns;
}

/* Tiles of a segment and nonzeros of an item, so that there are several for every warp that a
 * processor runs at once. */
static uint64_t hls_cuda_segment_of(const struct scratch *scratch, int processors) {
  uint64_t wanted = (uint64_t)processors * (scratch->chain ? 4 : 32);
  return scratch->hls->tiles / wanted + 1;
}

static uint64_t hls_cuda_item_of(const struct scratch *scratch, int processors) {
  uint64_t wanted = (uint64_t)processors * (scratch->chain ? 32 : 256);
  uint64_t each = scratch->hls->sparse_nnz / wanted, least = scratch->chain ? 32 : 16;
  return each < least ? least : each;
}

/* Whether blocks make the fragments of their tiles: where each has one tile at most. Packing whole
 * factors before takes longer than the kernel there; where a block sums several tiles, each would
 * wait for its rows anew. Chains of more than three modes read packed fragments. */
static bool makes_own_fragments(const struct scratch *scratch, int processors) {
  const struct pd_hls *hls = scratch->hls;
  return !hls->scheme.atomic && (!scratch->chain || hls->order == PD_HLS_SPAN) &&
         hls_cuda_segment_of(scratch, processors) == 1;
}

/* Whether kernels need a padded copy of a factor's rows. */
static bool needs_copy(const struct scratch *scratch, int mode) {
  polyad_type type = scratch->hls->type;
  bool narrower = type == POLYAD_F64 && scratch->kernel != PD_HLS_KERNEL_F64;
  return narrower || scratch->ranks[mode] % 4 != 0;
}

static uint64_t copy_width(uint64_t rank) { return (rank + 3) / 4 * 4; }

static size_t row_number_bytes(const struct scratch *scratch) {
  return scratch->kernel == PD_HLS_KERNEL_F64 ? 8 : 4;
}

static void hls_cuda_clear(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  for (int n = 0; n < PD_HLS_MAX_ORDER; ++n)
    pd_hls_schedule_clear(context, scratch->base.device, &scratch->schedule[n]);
}

static polyad_status allocate_factors(polyad_context *context, struct scratch *scratch) {
  const struct pd_hls *hls = scratch->hls;
  size_t pair = hls->value == PD_HLS_F32 ? 8 : 4;
  for (int n = 0; n < hls->order; ++n) {
    uint64_t blocks = hls_cuda_blocks_of(scratch->ranks[n]);
    if (blocks * PD_HLS_BLOCK > scratch->columns_each)
      scratch->columns_each = blocks * PD_HLS_BLOCK;
    uint64_t pairs =
        pd_mul_saturated(pd_hls_tiles_along(hls->dims[n]) * blocks, PD_HLS_LANES * PD_HLS_PAIRS);
    if (hls->place[n] >= 0 && hls->tiles > 0 && !scratch->own_fragments)
      PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, pairs, pair, &scratch->fragment[n]));
    uint64_t numbers = pd_mul_saturated(hls->dims[n], copy_width(scratch->ranks[n]));
    if (needs_copy(scratch, n))
      PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, numbers, row_number_bytes(scratch),
                             &scratch->copy[n]));
  }
  uint64_t columns = scratch->columns_each * (uint64_t)hls->order;
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, columns, sizeof(float), &scratch->scale));
  PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, columns, sizeof(uint32_t), &scratch->most));
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  return PD_CUDA(
      context, state,
      cudaMemsetAsync(scratch->most, 0, columns * sizeof(uint32_t), pd_cuda_stream(state)));
}

static polyad_status allocate_sums(polyad_context *context, struct scratch *scratch) {
  const struct pd_hls *hls = scratch->hls;
  uint64_t dense = 0, sparse = 0, rows = 0;
  for (int n = 0; n < hls->order; ++n) {
    const struct pd_hls_schedule *schedule = &scratch->schedule[n];
    uint64_t columns = columns_of(scratch, n), side = hls->place[n] >= 0 ? PD_HLS_SIDE : 1;
    uint64_t d = pd_mul_saturated(schedule->segments * side, columns);
    uint64_t s = pd_mul_saturated(schedule->items, columns);
    uint64_t r = pd_mul_saturated(hls->dims[n], columns);
    if (d > dense) dense = d;
    if (s > sparse) sparse = s;
    if (r > rows) rows = r;
  }
  if (hls->scheme.atomic)
    return PD_CUDA_SCRATCH(context, &scratch->base, rows, sizeof(float), &scratch->sums);
  if (dense > 0)
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base, dense, sizeof(float), &scratch->dense_sums));
  if (sparse == 0) return POLYAD_OK;
  return PD_CUDA_SCRATCH(context, &scratch->base, sparse, row_number_bytes(scratch),
                         &scratch->sparse_sums);
}

static polyad_status hls_cuda_create(polyad_context *context, const struct pd_hls *hls,
                                     const uint64_t *ranks, bool chain, struct scratch *scratch) {
  const struct pd_device *device = scratch->base.device;
  int processors = pd_cuda_state_of(device)->processors;
  for (int n = 0; n < hls->order; ++n)
    if (ranks[n] > INT32_MAX / 64)
      return pd_cuda_services->fail(context, POLYAD_OVERFLOW, "rank %llu is too large",
                                    (unsigned long long)ranks[n]);
  PD_TRY(pd_cuda_enter(context, pd_cuda_state_of(device)));
  scratch->hls = hls;
  scratch->kernel = kernel_of(hls);
  scratch->chain = chain;
  memcpy(scratch->ranks, ranks, (size_t)hls->order * sizeof *ranks);
  scratch->own_fragments = makes_own_fragments(scratch, processors);
  for (int n = 0; n < hls->order && !hls->scheme.atomic; ++n)
    PD_TRY(pd_hls_schedule_create(context, device, hls, n, hls_cuda_segment_of(scratch, processors),
                                  hls_cuda_item_of(scratch, processors), &scratch->schedule[n]));
  PD_TRY(allocate_factors(context, scratch));
  return allocate_sums(context, scratch);
}

static polyad_status hls_cuda_fill(polyad_context *context, const void *storage,
                                   const uint64_t *ranks, void *scratch) {
  return hls_cuda_create(context, storage, ranks, false, scratch);
}

static polyad_status hls_cuda_ttmc_fill(polyad_context *context, const void *storage,
                                        const uint64_t *ranks, void *scratch) {
  return hls_cuda_create(context, storage, ranks, true, scratch);
}

/* Orders of all modes, copies of the nonzeros, fragments and copies of factors; sums follow from
 * how the work is cut, which depends on the device: allocating them checks the limit again. */
static uint64_t hls_cuda_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  (void)threads;
  const struct pd_hls *hls = storage;
  uint64_t bytes = 0;
  for (int n = 0; n < hls->order; ++n) {
    uint64_t columns = hls_cuda_blocks_of(ranks[n]) * PD_HLS_BLOCK;
    bytes = pd_add_saturated(bytes, 4 * hls->tiles);
    if (!hls->scheme.atomic) bytes = pd_add_saturated(bytes, pd_hls_schedule_bytes(hls));
    bytes = pd_add_saturated(bytes, pd_mul_saturated(hls->dims[n], 6 * columns));
  }
  return bytes;
}

/* ---- one call ---------------------------------------------------------------------------------
 */

/* Modes of the tile that play the parts of k, j and s. */
static void set_parts(const struct pd_hls *hls, int mode, struct pd_hls_run *run) {
  run->output = hls->place[mode];
  int place = run->output < 0 ? 0 : run->output;
  run->mode_k = hls->span[pd_hls_mode_k(place)];
  run->mode_j = hls->span[pd_hls_mode_j(place)];
  run->mode_s = hls->span[place];
  for (int n = 0; n < hls->order; ++n) {
    if (n == mode) continue;
    run->input_mode[run->inputs++] = n;
    if (hls->place[n] < 0) run->other[run->others++] = n;
  }
}

static void hls_cuda_set_columns(const struct scratch *scratch, struct pd_hls_run *run) {
  uint64_t stride = 1;
  run->columns = columns_of(scratch, run->mode);
  for (int k = run->inputs - 1; k >= 0; --k) {
    struct pd_hls_input *in = &run->input[run->input_mode[k]];
    in->column_stride = stride;
    stride *= (uint64_t)in->rank;
  }
}

/* Rows as the kernels want them: as they are, or copied and padded. */
static polyad_status hls_cuda_set_rows(polyad_context *context, struct scratch *scratch, int mode,
                                       const struct pd_matrix *factor, struct pd_hls_input *in,
                                       struct pd_hls_source *source) {
  bool wide = scratch->kernel == PD_HLS_KERNEL_F64;
  if (scratch->copy[mode] == NULL && !pd_cuda_aligned(factor)) {
    PD_TRY(PD_CUDA_SCRATCH(context, &scratch->base,
                           pd_mul_saturated(factor->rows, copy_width(factor->columns)),
                           wide ? 8 : 4, &scratch->copy[mode]));
    scratch->packed.of[mode] = 0;
  }
  in->width = (int)copy_width(factor->columns);
  in->rows = scratch->copy[mode] != NULL ? scratch->copy[mode] : factor->data;
  in->stride = scratch->copy[mode] != NULL ? (uint64_t)in->width : factor->stride;
  source->width = in->width;
  source->copy = scratch->copy[mode];
  return POLYAD_OK;
}

/* Factors that have not changed since they were packed are not packed again. */
static polyad_status set_inputs(polyad_context *context, struct scratch *scratch,
                                const struct pd_matrix *const *factors, const struct pd_matrix *out,
                                struct pd_hls_run *run, struct pd_hls_pack *pack) {
  const struct pd_hls *hls = scratch->hls;
  pack->wide = hls->type == POLYAD_F64;
  for (int n = 0; n < hls->order; ++n) {
    struct pd_hls_input *in = &run->input[n];
    *in = (struct pd_hls_input){.dim = hls->dims[n],
                                .rank = (int)scratch->ranks[n],
                                .blocks = (int)hls_cuda_blocks_of(scratch->ranks[n]),
                                .tile_bits = hls->tile_bits[n],
                                .tile_shift = hls->tile_shift[n],
                                .bits = hls->bits[n],
                                .shift = hls->shift[n]};
    if (n == run->mode) {
      if (!scratch->chain) in->rank = (int)out->columns;
      continue;
    }
    float *scale = scratch->scale + (uint64_t)n * scratch->columns_each;
    struct pd_hls_source source = {.factor = factors[n]->data,
                                   .stride = factors[n]->stride,
                                   .rows = factors[n]->rows,
                                   .rank = in->rank,
                                   .blocks = in->blocks,
                                   .fragment = scratch->fragment[n],
                                   .most = scratch->most + (uint64_t)n * scratch->columns_each,
                                   .scale = scale};
    in->fragment = scratch->fragment[n];
    in->scale = scale;
    PD_TRY(hls_cuda_set_rows(context, scratch, n, factors[n], in, &source));
    if (pd_versions_hold(&scratch->packed, factors, UINT64_C(1) << n)) continue;
    pack->source[pack->count++] = source;
    pd_versions_set(&scratch->packed, factors, UINT64_C(1) << n);
  }
  return POLYAD_OK;
}

static void set_work(const struct scratch *scratch, struct pd_hls_run *run) {
  const struct pd_hls *hls = scratch->hls;
  const struct pd_hls_schedule *schedule = &scratch->schedule[run->mode];
  run->order = hls->order;
  run->atomic = hls->scheme.atomic;
  run->tile_linear_bits = hls->tile_linear_bits;
  run->linear_bits = run->atomic ? hls->linear_bits : 32 * pd_hls_index_words(hls);
  run->b_inds = hls->b_inds;
  run->b_bmp = hls->b_bmp;
  run->b_vals_ptr = hls->b_vals_ptr;
  run->b_vals = hls->b_vals;
  run->nnz_inds = run->atomic ? hls->nnz_inds : schedule->nnz_inds;
  run->nnz_vals = run->atomic ? hls->nnz_vals : schedule->nnz_vals;
  run->diagonal = hls->scheme.diagonal;
  run->own_fragments = scratch->own_fragments;
  run->segments = run->atomic ? (uint32_t)hls->tiles : schedule->segments;
  run->items = schedule->items;
  run->tile_order = schedule->tile_order;
  run->segment_start = schedule->segment_start;
  run->item_start = schedule->item_start;
  run->nonzeros = hls->sparse_nnz;
  run->dense_sums = scratch->dense_sums;
  run->sparse_sums = scratch->sparse_sums;
  run->sums = scratch->sums;
}

static polyad_status hls_cuda_launch(polyad_context *context, const struct scratch *scratch,
                                     const struct pd_hls_run *run) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  if (scratch->chain)
    return PD_CUDA(context, state, pd_hls_chain_run(scratch->kernel, run, pd_cuda_stream(state)));
  return PD_CUDA(context, state, pd_hls_mttkrp_run(scratch->kernel, run, pd_cuda_stream(state)));
}

/* Tiles and single nonzeros in one launch (fusion load scheme) or in two. */
static polyad_status launch_scheme(polyad_context *context, const struct scratch *scratch,
                                   const struct pd_hls_run *run) {
  if (!scratch->hls->scheme.sequential) return hls_cuda_launch(context, scratch, run);
  struct pd_hls_run part = *run;
  part.items = 0;
  part.nonzeros = 0;
  PD_TRY(hls_cuda_launch(context, scratch, &part));
  part = *run;
  part.segments = 0;
  return hls_cuda_launch(context, scratch, &part);
}

static polyad_status hls_cuda_finish(polyad_context *context, const struct scratch *scratch,
                                     const struct pd_hls_run *run, const struct pd_matrix *out) {
  struct pd_cuda_state *state = pd_cuda_state_of(scratch->base.device);
  const struct pd_hls *hls = scratch->hls;
  const struct pd_hls_schedule *schedule = &scratch->schedule[run->mode];
  struct pd_hls_finish last = {.out = out->data,
                               .rows = out->rows,
                               .columns = out->columns,
                               .stride = out->stride,
                               .wide = out->type == POLYAD_F64,
                               .wide_sums = scratch->kernel == PD_HLS_KERNEL_F64,
                               .scale = hls->scale,
                               .spanned = run->output >= 0,
                               .width = run->columns,
                               .segments = schedule->segments,
                               .items = schedule->items,
                               .line_segment = schedule->line_segment,
                               .row_item = schedule->row_item,
                               .dense_sums = scratch->dense_sums,
                               .sparse_sums = scratch->sparse_sums,
                               .sums = scratch->sums,
                               .most = scratch->most,
                               .most_count =
                                   (uint32_t)(scratch->columns_each * (uint64_t)hls->order)};
  return PD_CUDA(context, state, pd_hls_finish_run(&last, pd_cuda_stream(state)));
}

static polyad_status hls_cuda_run(polyad_context *context, const void *storage, void *workspace,
                                  const struct pd_call *call) {
  (void)storage;
  const int mode = call->mode;
  struct scratch *scratch = workspace;
  struct pd_matrix *out = call->out;
  struct pd_hls_run run = {.mode = mode};
  struct pd_hls_pack pack = {.count = 0};
  PD_CUDA_ENTER(context, scratch->base.device);
  set_parts(scratch->hls, mode, &run);
  PD_TRY(set_inputs(context, scratch, call->factors, out, &run, &pack));
  hls_cuda_set_columns(scratch, &run);
  set_work(scratch, &run);
  PD_TRY(PD_CUDA(context, state, pd_hls_pack_run(scratch->kernel, &pack, stream)));
  if (run.atomic)
    PD_TRY(PD_CUDA(context, state,
                   cudaMemsetAsync(run.sums, 0, out->rows * run.columns * sizeof(float), stream)));
  PD_TRY(launch_scheme(context, scratch, &run));
  return hls_cuda_finish(context, scratch, &run, out);
}

static const struct pd_walk hls_cuda_tiles = {
    .ops = PD_OPS_MTTKRP,
    .workspace_bytes = hls_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = hls_cuda_fill,
    .clear = hls_cuda_clear,
    .run = hls_cuda_run,
};

static const struct pd_walk hls_cuda_ttmc = {
    .ops = PD_OPS_TTMC,
    .workspace_bytes = hls_cuda_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = hls_cuda_ttmc_fill,
    .clear = hls_cuda_clear,
    .run = hls_cuda_run,
};

const struct polyad_kernels pd_hls_kernels_cuda = {
    .format = "hls",
    .device = "cuda",
    .walks = {&hls_cuda_tiles, &hls_cuda_ttmc},
};
