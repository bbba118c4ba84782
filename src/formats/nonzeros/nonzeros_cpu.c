/* MTTKRP on the CPU of formats that list every nonzero, and a loss's gain and its gradient. Lists
 * that rowsum can read as they are it sums by itself. Of others a chunk of nonzeros is decoded at a
 * time, to addresses of factor rows; the vector kernels of rowsum then sum runs of nonzeros that
 * have the same output row.
 *
 * Where an output row's nonzeros stand together, threads take equal numbers of nonzeros, and a row
 * that spans threads is added up in their order. Else every thread adds into an output of its own,
 * and these are summed in the order of the threads; when that needs too much memory, every thread
 * walks the whole list and takes the rows that are its own. A format may bring a schedule of parts
 * that do not conflict: it is used where it has work for all threads. */
#include "core/threads.h"
#include "formats/nonzeros/nonzeros.h"
#include "formats/rowsum/decode.h"
#include <string.h>

enum { PRIVATE_BYTES = 256 << 20 };

/* What a thread leaves of rows that it shares with others: sums are in its head and tail. */
struct ends {
  bool has_head, head_ends, has_tail;
  uint64_t head_row;
  double gain;
};

struct scratch {
  struct pd_scratch base;
  int threads;
  struct pd_rowsum_scratch *kernels; /* and the sums of each thread: a row, a head, a tail */
  uint64_t rank, padded;
  bool private_rows; /* an output for each thread, else one for all */
  double *rows;      /* NULL when the lists have their rows together */
  struct ends *ends; /* of each thread */
};

/* One walk of one thread. */
struct walk {
  const struct pd_nz *head;
  const struct scratch *scratch;
  int mode;
  struct pd_rowsum list; /* its columns' modes alone */
  struct pd_rowsum_job job;
  uint64_t item;         /* bytes of a value */
  double *sums;          /* the thread's: of the row at work, a head, a tail */
  void *b;               /* room for a row of the output mode's factor */
  double gain;           /* summed so far */
  struct pd_chunk chunk; /* what was decoded last */
  _Alignas(64) const char *row[POLYAD_MAX_ORDER][PD_BLOCK + PD_AHEAD];
  _Alignas(64) double values[PD_BLOCK];
  _Alignas(64) double slopes[PD_BLOCK + PD_LANES_MAX];
};

_Static_assert((int)PD_CHUNK == (int)PD_BLOCK, "a chunk is what the kernels take at once");

/* ---- scratch memory -------------------------------------------------------------------------- */

/* All modes but one. */
static void nonzeros_cpu_set_columns(const struct pd_nz *head, int mode, struct pd_rowsum *list) {
  for (int n = 0; n < head->order; ++n)
    if (n != mode) list->mode[list->columns++] = n;
}

static bool fits_private(const struct pd_nz *head, uint64_t padded, int threads) {
  return pd_mul_saturated(pd_mul_saturated(pd_longest(head->order, head->dims), padded),
                          8 * (uint64_t)threads) <= PRIVATE_BYTES;
}

/* Of tables of pairs of short modes, which the driver of sorted lists takes. */
static uint64_t nonzeros_cpu_table_bytes(const struct pd_nz *head, uint64_t rank) {
  uint64_t most = 0;
  for (int mode = 0; mode < head->order && head->ops->sorted != NULL; ++mode) {
    struct pd_rowsum list = {.nnz = head->nnz};
    nonzeros_cpu_set_columns(head, mode, &list);
    uint64_t bytes = pd_pair_tables_bytes(&list, head->dims, head->type, rank);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t nonzeros_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const struct pd_nz *head = storage;
  uint64_t padded = pd_rowsum_padded(ranks[0]), rows = 0;
  if (!head->ops->rows_together)
    rows = pd_mul_saturated(pd_longest(head->order, head->dims),
                            fits_private(head, padded, threads) ? (uint64_t)threads : 1);
  return pd_add_saturated(pd_add_saturated(pd_rowsum_scratch_bytes(ranks[0], 1, threads),
                                           nonzeros_cpu_table_bytes(head, ranks[0])),
                          pd_mul_saturated(pd_mul_saturated(rows, padded), sizeof(double)));
}

static polyad_status nonzeros_cpu_fill(polyad_context *context, const void *storage,
                                       const uint64_t *ranks, void *pointer) {
  const uint64_t rank = ranks[0];
  const struct pd_nz *head = storage;
  struct scratch *scratch = pointer;
  uint64_t rows;
  int threads = scratch->threads = pd_kernel_threads(context, head->nnz, rank);
  scratch->rank = rank;
  scratch->padded = pd_rowsum_padded(rank);
  scratch->private_rows = fits_private(head, scratch->padded, threads);
  uint64_t copies = scratch->private_rows ? (uint64_t)threads : 1;
  if (!pd_mul(pd_longest(head->order, head->dims), copies, &rows) ||
      !pd_mul(rows, scratch->padded, &rows) || rank > UINT64_MAX / 64 / (uint64_t)threads)
    return pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large", (unsigned long long)rank);
  PD_TRY(pd_rowsum_scratch_create(&scratch->base, head->type, rank, 1, threads, &scratch->kernels));
  PD_TRY(pd_rowsum_scratch_add_tables(scratch->kernels, nonzeros_cpu_table_bytes(head, rank)));
  PD_TRY(PD_SCRATCH(&scratch->base, (uint64_t)threads, &scratch->ends));
  return head->ops->rows_together ? POLYAD_OK : PD_SCRATCH(&scratch->base, rows, &scratch->rows);
}

/* ---- a run of nonzeros ----------------------------------------------------------------------- */

/* Decodes some nonzeros: addresses of factor rows, and values in the factors' type. */
static void nonzeros_cpu_decode(struct walk *walk, uint64_t first, int count) {
  const struct pd_rowsum_job *job = &walk->job;
  walk->head->ops->decode(walk->head, walk->mode, first, count, &walk->chunk);
  for (int g = 0; g < walk->list.columns; ++g) {
    const uint64_t *index = walk->chunk.index[walk->list.mode[g]];
    const uint64_t stride = job->stride[g] * walk->item;
    const char *factor = job->factor[g], **restrict row = walk->row[g];
    for (int k = 0; k < count; ++k)
      row[k] = factor + index[k] * stride;
  }
  if (job->type == POLYAD_F32)
    for (int k = 0; k < count; ++k)
      ((float *)walk->values)[k] = (float)walk->chunk.value[k];
  else
    memcpy(walk->values, walk->chunk.value, (size_t)count * sizeof *walk->values);
}

/* Puts the slopes of the loss's gain at the models in the place of a run's values; adds up the
 * gains themselves where these are asked for. */
static void nonzeros_cpu_weigh(struct walk *walk, uint64_t row, struct pd_run *run) {
  const struct pd_rowsum_job *job = &walk->job;
  const struct pd_rowsum_isa *isa = walk->scratch->kernels->isa;
  const struct pd_column_blocks *blocks = &walk->scratch->kernels->blocks;
  const void *b = (const char *)job->b + row * job->b_stride * walk->item;
  if (!pd_rows_arranged(blocks, job->rank)) {
    pd_arrange_row(blocks, walk->item, b, walk->b);
    b = walk->b;
  }
  pd_find_dots(blocks, walk->item, job->rank, run, b, NULL, walk->slopes);
  if (job->out == NULL)
    walk->gain += isa->gains(job->type, run->count, run->values, &job->loss, walk->slopes);
  else
    isa->slopes(job->type, run->count, run->values, &job->loss, walk->slopes);
  run->values = walk->slopes;
}

/* The nonzeros of one output row from `at` on among the `count` decoded ones; returns where the
 * next row's begin. */
static int nonzeros_cpu_run_end(const struct walk *walk, int at, int count) {
  const uint64_t *row = walk->chunk.index[walk->mode];
  int end = at + 1;
  while (end < count && row[end] == row[at])
    ++end;
  return end;
}

/* Adds such a run to sums, or to the gain. */
static void nonzeros_cpu_take_run(struct walk *walk, int at, int end, bool fresh, double *sums) {
  struct pd_run run = {.count = (uint32_t)(end - at),
                       .columns = walk->list.columns,
                       .fresh = fresh,
                       .row = (const pd_rows *)(walk->row[0] + at),
                       .values = (const char *)walk->values + (uint64_t)at * walk->item};
  if (walk->job.b != NULL) nonzeros_cpu_weigh(walk, walk->chunk.index[walk->mode][at], &run);
  if (sums != NULL) pd_sum_run(&walk->scratch->kernels->blocks, walk->item, &run, sums);
}

/* ---- the shares of the threads --------------------------------------------------------------- */

static uint64_t nonzeros_cpu_row_of(struct walk *walk, uint64_t p) {
  walk->head->ops->decode(walk->head, walk->mode, p, 1, &walk->chunk);
  return walk->chunk.index[walk->mode][0];
}

/* A row is complete as far as the thread has it: the first may have begun before, the last may go
 * on. */
static void leave_row(const struct walk *walk, uint64_t row, bool before, bool after,
                      struct ends *ends) {
  const struct scratch *scratch = walk->scratch;
  const size_t bytes = scratch->padded * sizeof(double);
  if (before) {
    ends->has_head = true;
    ends->head_ends = !after;
    ends->head_row = row;
    memcpy(walk->sums + scratch->padded, walk->sums, bytes);
  } else if (after) {
    ends->has_tail = true;
    memcpy(walk->sums + 2 * scratch->padded, walk->sums, bytes);
  } else {
    scratch->kernels->isa->write_row(&walk->job, &scratch->kernels->blocks, walk->sums, row);
  }
}

static void walk_rows(struct walk *walk, uint64_t begin, uint64_t end, struct ends *ends) {
  const uint64_t nnz = walk->head->nnz;
  uint64_t row = UINT64_MAX, next = UINT64_MAX;
  bool before = false;
  if (begin == end) return;
  if (begin > 0) row = nonzeros_cpu_row_of(walk, begin - 1);
  if (end < nnz) next = nonzeros_cpu_row_of(walk, end);
  bool open = false; /* whether sums has something of `row` */
  for (uint64_t first = begin; first < end; first += PD_CHUNK) {
    int count = pd_chunk_count(first, end);
    nonzeros_cpu_decode(walk, first, count);
    for (int at = 0, stop; at < count; at = stop) {
      uint64_t here = walk->chunk.index[walk->mode][at];
      stop = nonzeros_cpu_run_end(walk, at, count);
      if (open && here != row) leave_row(walk, row, before, false, ends);
      bool fresh = !open || here != row;
      before = open ? before && here == row : here == row;
      row = here;
      open = true;
      nonzeros_cpu_take_run(walk, at, stop, fresh, walk->sums);
    }
  }
  leave_row(walk, row, before, row == next, ends);
}

/* Nonzeros of rows [low, high), into sums of all rows. */
static void walk_scattered(struct walk *walk, double *rows, uint64_t begin, uint64_t end,
                           uint64_t low, uint64_t high) {
  for (uint64_t first = begin; first < end; first += PD_CHUNK) {
    int count = pd_chunk_count(first, end);
    nonzeros_cpu_decode(walk, first, count);
    for (int at = 0, stop; at < count; at = stop) {
      uint64_t row = walk->chunk.index[walk->mode][at];
      stop = nonzeros_cpu_run_end(walk, at, count);
      if (row >= low && row < high)
        nonzeros_cpu_take_run(walk, at, stop, false, rows + row * walk->scratch->padded);
    }
  }
}

static void walk_gains(struct walk *walk, uint64_t begin, uint64_t end) {
  for (uint64_t first = begin; first < end; first += PD_CHUNK) {
    int count = pd_chunk_count(first, end);
    nonzeros_cpu_decode(walk, first, count);
    for (int at = 0, stop; at < count; at = stop) {
      stop = nonzeros_cpu_run_end(walk, at, count);
      nonzeros_cpu_take_run(walk, at, stop, true, NULL);
    }
  }
}

/* ---- all threads ----------------------------------------------------------------------------- */

/* How the threads share the work of one call. */
enum sharing { BY_ROWS, BY_SCHEDULE, BY_COPIES, BY_OWNERS, GAINS };

static enum sharing choose_sharing(const struct pd_nz *head, const struct scratch *scratch,
                                   const struct pd_call *call) {
  if (call->op.into == PD_INTO_SCALAR) return GAINS;
  if (head->ops->rows_together) return BY_ROWS;
  if (head->ops->schedule != NULL &&
      head->ops->schedule(head, call->mode)->groups >= 2 * (uint32_t)scratch->threads)
    return BY_SCHEDULE;
  return scratch->private_rows ? BY_COPIES : BY_OWNERS;
}

static void begin_walk(const struct pd_nz *head, const struct scratch *scratch,
                       const struct pd_call *call, int thread, struct walk *walk) {
  walk->head = head;
  walk->scratch = scratch;
  walk->mode = call->mode;
  walk->item = pd_type_bytes(head->type);
  walk->gain = 0;
  walk->list = (struct pd_rowsum){0};
  nonzeros_cpu_set_columns(head, call->mode, &walk->list);
  walk->job = pd_rowsum_job_of(&walk->list, head->type, call);
  walk->sums = scratch->kernels->sums + 3 * (uint64_t)thread * scratch->padded;
  walk->b = scratch->kernels->weighing + (uint64_t)thread * pd_rowsum_weighing(scratch->rank);
}

static void run_thread(struct walk *walk, int t, enum sharing sharing) {
  const struct scratch *scratch = walk->scratch;
  uint64_t nnz = walk->head->nnz, rows = walk->job.out_rows, padded = scratch->padded;
  uint64_t begin = pd_part_begin(nnz, t, scratch->threads);
  uint64_t end = pd_part_begin(nnz, t + 1, scratch->threads);
  uint64_t low = pd_part_begin(rows, t, scratch->threads);
  uint64_t high = pd_part_begin(rows, t + 1, scratch->threads);
  struct ends *ends = &scratch->ends[t];
  *ends = (struct ends){0};
  if (sharing == BY_ROWS) {
    walk_rows(walk, begin, end, ends);
  } else if (sharing == GAINS) {
    walk_gains(walk, begin, end);
    ends->gain = walk->gain;
  } else if (sharing == BY_COPIES) {
    double *own = scratch->rows + (uint64_t)t * rows * padded;
    memset(own, 0, rows * padded * sizeof *own);
    walk_scattered(walk, own, begin, end, 0, rows);
  } else {
    memset(scratch->rows + low * padded, 0, (high - low) * padded * sizeof(double));
    if (sharing == BY_OWNERS) walk_scattered(walk, scratch->rows, 0, nnz, low, high);
  }
}

/* The parts of one group, in their order: the same sums whichever thread has it. */
static void run_group(struct walk *walk, const struct pd_nz_schedule *schedule, uint32_t group) {
  for (uint32_t k = schedule->group_start[group]; k < schedule->group_start[group + 1]; ++k) {
    uint32_t part = schedule->part[k];
    walk_scattered(walk, walk->scratch->rows, schedule->start[part], schedule->start[part + 1], 0,
                   walk->job.out_rows);
  }
}

/* Adds up what the threads have of rows [begin, end), and stores it. */
static void store_rows(const struct walk *walk, int copies, uint64_t begin, uint64_t end) {
  const struct scratch *scratch = walk->scratch;
  uint64_t padded = scratch->padded;
  for (uint64_t i = begin; i < end; ++i) {
    double *sums = scratch->rows + i * padded;
    for (int t = 1; t < copies; ++t) {
      const double *more = sums + (uint64_t)t * walk->job.out_rows * padded;
      for (uint64_t r = 0; r < padded; ++r)
        sums[r] += more[r];
    }
    scratch->kernels->isa->write_row(&walk->job, &scratch->kernels->blocks, sums, i);
  }
}

/* Rows that span threads: the tail of one and the heads of those after it, in their order. */
static void nonzeros_cpu_join(const struct walk *walk) {
  const struct scratch *scratch = walk->scratch;
  double *whole = NULL;
  for (int t = 0; t < scratch->threads; ++t) {
    const struct ends *ends = &scratch->ends[t];
    double *head = scratch->kernels->sums + (3 * (uint64_t)t + 1) * scratch->padded;
    for (uint64_t r = 0; ends->has_head && r < scratch->padded; ++r)
      whole[r] += head[r];
    if (ends->has_head && ends->head_ends)
      scratch->kernels->isa->write_row(&walk->job, &scratch->kernels->blocks, whole,
                                       ends->head_row);
    if (ends->has_tail) whole = head + scratch->padded;
  }
}

static void nonzeros_cpu_zero_rows(const struct pd_matrix *out, uint64_t begin, uint64_t end) {
  size_t size = pd_type_bytes(out->type);
  for (uint64_t i = begin; i < end; ++i)
    memset((char *)out->data + i * out->stride * size, 0, out->columns * size);
}

/* Whether the kernels of sorted rows did it. */
static bool nonzeros_cpu_run_sorted(const struct pd_nz *head, const struct scratch *scratch,
                                    const struct pd_call *call) {
  struct pd_rowsum list = {0};
  if (head->ops->sorted == NULL || !head->ops->sorted(head, call->mode, &list)) return false;
  const struct pd_rowsum_job job = pd_rowsum_job_of(&list, head->type, call);
  if (call->op.into == PD_INTO_SCALAR)
    *(double *)call->out->data = pd_rowsum_gain(&job, scratch->kernels);
  else
    pd_rowsum_run(&job, scratch->kernels);
  return true;
}

static polyad_status nonzeros_cpu_run(polyad_context *context, const void *storage, void *pointer,
                                      const struct pd_call *call) {
  (void)context;
  const struct scratch *scratch = pointer;
  const struct pd_nz *head = storage;
  if (nonzeros_cpu_run_sorted(head, scratch, call)) return POLYAD_OK;
  const enum sharing sharing = choose_sharing(head, scratch, call);
  const struct pd_nz_schedule *schedule =
      sharing == BY_SCHEDULE ? head->ops->schedule(storage, call->mode) : NULL;
  const uint32_t groups = schedule != NULL ? schedule->groups : 0;
  const int threads = scratch->threads, copies = sharing == BY_COPIES ? threads : 1;
  struct walk walk;
#pragma omp parallel num_threads(threads) private(walk)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      if (sharing == BY_ROWS)
        nonzeros_cpu_zero_rows(call->out, pd_part_begin(call->out->rows, t, threads),
                               pd_part_begin(call->out->rows, t + 1, threads));
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      begin_walk(head, scratch, call, t, &walk);
      run_thread(&walk, t, sharing);
    }
#pragma omp for schedule(dynamic, 1)
    for (uint32_t g = 0; g < groups; ++g)
      run_group(&walk, schedule, g);
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      if (scratch->rows != NULL && sharing != GAINS)
        store_rows(&walk, copies, pd_part_begin(call->out->rows, t, threads),
                   pd_part_begin(call->out->rows, t + 1, threads));
  }
  begin_walk(head, scratch, call, 0, &walk);
  if (sharing == BY_ROWS) nonzeros_cpu_join(&walk);
  if (sharing != GAINS) return POLYAD_OK;
  double *sum = call->out->data;
  *sum = 0;
  for (int t = 0; t < threads; ++t)
    *sum += scratch->ends[t].gain;
  return POLYAD_OK;
}

const struct pd_walk pd_nz_walk_cpu = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = nonzeros_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = nonzeros_cpu_fill,
    .run = nonzeros_cpu_run,
};

double pd_nz_estimate_seconds(const struct pd_traits *traits, const struct pd_request *request) {
  double row = (double)(request->rank * pd_type_bytes(request->precision));
  double bytes = (double)traits->nnz * traits->order * (traits->order * row + 16);
  bool gpu = strcmp(request->device->kind, "cuda") == 0;
  return gpu ? 3e-5 * traits->order + bytes / 3e12 : 1e-5 + bytes / (1e9 * request->threads);
}
