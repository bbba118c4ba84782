/* MTTKRP of "modecopy" on the CPU. By default threads take equal numbers of nonzeros and a row
 * that spans threads is added up in their order; in the paper's variants a thread takes whole
 * partitions. */
#include "core/threads.h"
#include "formats/modecopy/modecopy.h"
#include "formats/modecopy/modecopy_layout.h"
#include <math.h>
#include <omp.h>
#include <string.h>

struct scratch {
  int threads;
  uint64_t rank;
  double *sums;   /* 3 x rank per thread: of a row, of the first and the last partial row */
  double *buffer; /* rank per thread */
  double *shared; /* paper's variants: 2 x rank per partition */
};

struct sweep {
  const struct pd_modecopy_copy *copy;
  int inputs;
  uint64_t rank;
  const void *factor[POLYAD_MAX_ORDER];
  uint64_t stride[POLYAD_MAX_ORDER];
  struct pd_matrix *out;
  const struct pd_matrix *own; /* where the model is needed: the output mode's factor, else NULL */
  struct pd_loss loss;
};

#define INDEX(sweep, k, p) pd_modecopy_index((sweep)->copy, k, p)
#define VALUE(sweep, p) (((const VAL *)(sweep)->copy->values)[p])
#define VAL float
#define NAME(x) x##_f32
#include "formats/ordered/ordered_cpu_body.h"

#include "formats/modecopy/modecopy_cpu_body.h"
#undef VAL
#undef NAME
#define VAL double
#define NAME(x) x##_f64
#include "formats/ordered/ordered_cpu_body.h"

#include "formats/modecopy/modecopy_cpu_body.h"

static uint64_t modecopy_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_modecopy *host = storage;
  uint64_t rows = 4 * (uint64_t)threads;
  if (host->variant != PD_MODECOPY_SORTED) rows += 2 * (uint64_t)host->partitions;
  return pd_mul_saturated(pd_mul_saturated(rows, rank), sizeof(double));
}

static void modecopy_cpu_workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_free(context, scratch->sums);
  pd_free(context, scratch->buffer);
  pd_free(context, scratch->shared);
  pd_free(context, scratch);
}

static polyad_status modecopy_cpu_workspace_create(polyad_context *context,
                                                   const struct pd_device *device,
                                                   const void *storage, const uint64_t *ranks,
                                                   void **out) {
  const uint64_t rank = ranks[0];
  (void)device;
  const struct pd_modecopy *host = storage;
  polyad_status status = POLYAD_OK;
  struct scratch *scratch = NULL;
  uint64_t numbers;
  *out = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &scratch));
  scratch->threads = pd_kernel_threads(context, host->nnz, rank);
  scratch->rank = rank;
  if (!pd_mul((uint64_t)scratch->threads, rank, &numbers) || numbers > UINT64_MAX / 4) {
    status = pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large", (unsigned long long)rank);
    goto cleanup;
  }
  PD_TRY_CLEANUP(PD_NEW(context, 3 * numbers, &scratch->sums));
  PD_TRY_CLEANUP(PD_NEW(context, numbers, &scratch->buffer));
  if (host->variant != PD_MODECOPY_SORTED)
    PD_TRY_CLEANUP(pd_alloc(context, 2 * (uint64_t)host->partitions, (size_t)rank * sizeof(double),
                            (void **)&scratch->shared));
  *out = scratch;
  scratch = NULL;
cleanup:
  modecopy_cpu_workspace_destroy(context, scratch);
  return status;
}

/* The part of one thread in the default variant. */
struct part {
  uint64_t begin, end; /* nonzeros */
  double *row, *first, *last;
  void *buffer;
};

static struct part modecopy_cpu_part_of(const struct sweep *sweep, const struct scratch *scratch,
                                        uint64_t nnz, int thread, int threads) {
  double *sums = scratch->sums + (size_t)thread * 3 * sweep->rank;
  return (struct part){.begin = pd_part_begin(nnz, thread, threads),
                       .end = pd_part_begin(nnz, thread + 1, threads),
                       .row = sums,
                       .first = sums + sweep->rank,
                       .last = sums + 2 * sweep->rank,
                       .buffer = scratch->buffer + (size_t)thread * sweep->rank};
}

/* The output row of a copy's row. */
static uint64_t modecopy_cpu_index_of(const struct sweep *sweep, uint64_t row) {
  return sweep->copy->order.row_id == NULL ? row : sweep->copy->order.row_id[row];
}

static void sum_row(const struct sweep *sweep, uint64_t begin, uint64_t end, uint64_t row,
                    void *buffer, double *sums) {
  if (sweep->out->type == POLYAD_F32)
    sum_row_f32(sweep, begin, end, modecopy_cpu_index_of(sweep, row), buffer, sums);
  else
    sum_row_f64(sweep, begin, end, modecopy_cpu_index_of(sweep, row), buffer, sums);
}

static void modecopy_cpu_store(const struct sweep *sweep, uint64_t row, const double *sums) {
  uint64_t index = modecopy_cpu_index_of(sweep, row);
  if (sweep->out->type == POLYAD_F32)
    store_f32(sweep, index, sums);
  else
    store_f64(sweep, index, sums);
}

static uint64_t modecopy_cpu_row_of(const struct pd_modecopy_copy *copy, uint64_t p) {
  uint64_t row = copy->order.chunk_row[p / PD_ORDERED_CHUNK];
  while (copy->order.row_start[row + 1] <= p)
    ++row;
  return row;
}

/* Whole rows are stored; rows shared with the threads before and after stay in first and last. */
static void modecopy_cpu_run_part(const struct sweep *sweep, const struct part *part) {
  const struct pd_modecopy_copy *copy = sweep->copy;
  if (part->begin == part->end) return;
  for (uint64_t row = modecopy_cpu_row_of(copy, part->begin); row < copy->order.rows; ++row) {
    uint64_t begin = copy->order.row_start[row], end = copy->order.row_start[row + 1];
    if (begin >= part->end) break;
    bool before = begin<part->begin, after = end> part->end;
    double *sums = before ? part->first : after ? part->last : part->row;
    sum_row(sweep, before ? part->begin : begin, after ? part->end : end, row, part->buffer, sums);
    if (!before && !after) modecopy_cpu_store(sweep, row, sums);
  }
}

/* Rows that span threads: the thread that begins one adds up what the next ones have. */
static void modecopy_cpu_join_parts(const struct sweep *sweep, const struct scratch *scratch,
                                    uint64_t nnz, int threads) {
  const struct pd_modecopy_copy *copy = sweep->copy;
  for (int t = 0; t < threads; ++t) {
    struct part part = modecopy_cpu_part_of(sweep, scratch, nnz, t, threads);
    if (part.begin == part.end) continue;
    uint64_t row = modecopy_cpu_row_of(copy, part.end - 1), end = copy->order.row_start[row + 1];
    if (end <= part.end || copy->order.row_start[row] < part.begin) continue;
    memcpy(part.row, part.last, sweep->rank * sizeof *part.row);
    for (int next = t + 1; next < threads; ++next) {
      struct part more = modecopy_cpu_part_of(sweep, scratch, nnz, next, threads);
      if (more.begin >= end) break;
      for (uint64_t r = 0; r < sweep->rank; ++r)
        part.row[r] += more.first[r];
    }
    modecopy_cpu_store(sweep, row, part.row);
  }
}

static void modecopy_cpu_zero_rows(const struct sweep *sweep, uint64_t begin, uint64_t end) {
  size_t size = pd_type_bytes(sweep->out->type);
  for (uint64_t i = begin; i < end; ++i)
    memset((char *)sweep->out->data + i * sweep->out->stride * size, 0, sweep->rank * size);
}

static void modecopy_cpu_run_sorted(const struct pd_modecopy *storage,
                                    const struct scratch *scratch, const struct sweep *sweep) {
  int threads = scratch->threads;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      if (sweep->copy->order.row_id != NULL)
        modecopy_cpu_zero_rows(sweep, pd_part_begin(sweep->out->rows, t, threads),
                               pd_part_begin(sweep->out->rows, t + 1, threads));
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      struct part part = modecopy_cpu_part_of(sweep, scratch, storage->nnz, t, threads);
      modecopy_cpu_run_part(sweep, &part);
    }
  }
  modecopy_cpu_join_parts(sweep, scratch, storage->nnz, threads);
}

/* Rows that scheme 2 shares between partitions, in the order of the partitions. */
static void join_partitions(const struct pd_modecopy *storage, const struct scratch *scratch,
                            const struct sweep *sweep) {
  const struct pd_modecopy_copy *copy = sweep->copy;
  for (int k = 0; k < storage->partitions; ++k) {
    uint64_t begin = copy->part_start[k], end = copy->part_start[k + 1];
    if (begin == end) continue;
    uint64_t low = pd_modecopy_index(copy, copy->inputs, begin);
    uint64_t high = pd_modecopy_index(copy, copy->inputs, end - 1);
    const double *first = scratch->shared + (size_t)k * 2 * sweep->rank;
    for (int side = 0; side < (low == high ? 1 : 2); ++side)
      if (storage->type == POLYAD_F32)
        add_sums_f32(sweep, side == 0 ? low : high, first + (size_t)side * sweep->rank);
      else
        add_sums_f64(sweep, side == 0 ? low : high, first + (size_t)side * sweep->rank);
  }
}

static void modecopy_cpu_run_paper(const struct pd_modecopy *storage, const struct scratch *scratch,
                                   const struct sweep *sweep) {
  int threads = scratch->threads;
  modecopy_cpu_zero_rows(sweep, 0, sweep->out->rows);
  memset(scratch->shared, 0, (size_t)storage->partitions * 2 * sweep->rank * sizeof(double));
#pragma omp parallel num_threads(threads)
  {
    void *buffer = scratch->buffer + (size_t)omp_get_thread_num() * sweep->rank;
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < storage->partitions; ++k) {
      uint64_t begin = sweep->copy->part_start[k], end = sweep->copy->part_start[k + 1];
      double *first = scratch->shared + (size_t)k * 2 * sweep->rank;
      if (storage->type == POLYAD_F32)
        run_partition_f32(sweep, begin, end, buffer, first, first + sweep->rank);
      else
        run_partition_f64(sweep, begin, end, buffer, first, first + sweep->rank);
    }
  }
  if (sweep->copy->scheme == 2) join_partitions(storage, scratch, sweep);
}

static struct sweep sweep_of(const struct pd_modecopy *storage, const struct pd_call *call) {
  const struct pd_modecopy_copy *copy = &storage->copy[call->mode];
  struct sweep sweep = {.copy = copy,
                        .inputs = copy->inputs,
                        .rank = pd_call_rank(call),
                        .out = call->out,
                        .loss = call->op.loss};
  for (int k = 0; k < sweep.inputs; ++k) {
    sweep.factor[k] = call->factors[copy->field[k].mode]->data;
    sweep.stride[k] = call->factors[copy->field[k].mode]->stride;
  }
  if (pd_op_needs_model(&call->op)) sweep.own = call->factors[call->mode];
  return sweep;
}

/* Ends the row that nonzero p belongs to, and gives its output row. */
static uint64_t end_of_row(const struct pd_modecopy *storage, const struct sweep *sweep, uint64_t p,
                           uint64_t end, uint64_t *index) {
  const struct pd_modecopy_copy *copy = sweep->copy;
  if (storage->variant == PD_MODECOPY_SORTED) {
    uint64_t row = modecopy_cpu_row_of(copy, p);
    *index = modecopy_cpu_index_of(sweep, row);
    return copy->order.row_start[row + 1] < end ? copy->order.row_start[row + 1] : end;
  }
  *index = pd_modecopy_index(copy, copy->inputs, p);
  while (p < end && pd_modecopy_index(copy, copy->inputs, p) == *index)
    ++p;
  return p;
}

/* One thread's share: nonzeros of equal numbers, whatever the variant. */
static double gain_part(const struct pd_modecopy *storage, const struct sweep *sweep,
                        const struct part *part) {
  double sum = 0;
  for (uint64_t p = part->begin, next, index; p < part->end; p = next) {
    next = end_of_row(storage, sweep, p, part->end, &index);
    sum += storage->type == POLYAD_F32 ? gain_row_f32(sweep, p, next, index, part->buffer)
                                       : gain_row_f64(sweep, p, next, index, part->buffer);
  }
  return sum;
}

static double modecopy_cpu_sum_gains(const struct pd_modecopy *storage,
                                     const struct scratch *scratch, const struct sweep *sweep) {
  double sum = 0;
#pragma omp parallel for num_threads(scratch->threads) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t) {
    struct part part = modecopy_cpu_part_of(sweep, scratch, storage->nnz, t, scratch->threads);
    part.row[0] = gain_part(storage, sweep, &part);
  }
  for (int t = 0; t < scratch->threads; ++t)
    sum += modecopy_cpu_part_of(sweep, scratch, storage->nnz, t, scratch->threads).row[0];
  return sum;
}

static polyad_status modecopy_cpu_run(polyad_context *context, const void *pointer, void *scratch,
                                      const struct pd_call *call) {
  (void)context;
  const struct pd_modecopy *storage = pointer;
  struct sweep sweep = sweep_of(storage, call);
  if (call->op.into == PD_INTO_SCALAR)
    *(double *)call->out->data = modecopy_cpu_sum_gains(storage, scratch, &sweep);
  else if (storage->variant == PD_MODECOPY_SORTED)
    modecopy_cpu_run_sorted(storage, scratch, &sweep);
  else
    modecopy_cpu_run_paper(storage, scratch, &sweep);
  return POLYAD_OK;
}

static const struct pd_walk modecopy_cpu_rows = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = modecopy_cpu_workspace_bytes,
    .workspace_create = modecopy_cpu_workspace_create,
    .workspace_destroy = modecopy_cpu_workspace_destroy,
    .run = modecopy_cpu_run,
};

const struct polyad_kernels pd_modecopy_kernels_cpu = {
    .format = "modecopy",
    .device = "cpu",
    .walks = {&modecopy_cpu_rows, &pd_modecopy_ttmc_walk},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 1.5,
};
