/* MTTKRP on the CPU of formats that list every nonzero, and a loss's gain and its gradient.
 * Products of factor rows are kept for as long as the indices they belong to stay the same; sums
 * are in float64.
 *
 * Where an output row's nonzeros stand together, threads take whole rows. Else every thread adds
 * into an output of its own, and these are summed in the order of the threads; when that needs too
 * much memory, every thread walks the whole list and takes the rows that are its own. A format may
 * bring a schedule of parts that do not conflict: it is used where it has work for all threads. */
#include "core/threads.h"
#include "formats/nonzeros/nonzeros.h"
#include <math.h>
#include <omp.h>
#include <string.h>

enum { PRIVATE_BYTES = 256 << 20 };

struct scratch {
  int threads;
  uint64_t rank;
  bool private_sums; /* an output for each thread, else one for all */
  double *prefix;    /* of each thread: order rows, and one for sums */
  double *sums;      /* NULL when every list has its rows together */
};

/* One walk of one thread. */
struct walk {
  const struct pd_nz *head;
  int mode, inputs;
  int input[POLYAD_MAX_ORDER]; /* modes, the one that changes least first */
  const void *factor[POLYAD_MAX_ORDER];
  uint64_t stride[POLYAD_MAX_ORDER];
  uint64_t rank;
  uint64_t last[POLYAD_MAX_ORDER]; /* indices that prefix belongs to */
  bool fresh;                      /* nothing in prefix yet */
  double *prefix;                  /* order rows, see multiply() */
  struct pd_matrix *out;
  const struct pd_matrix *own; /* where the model is needed: the output mode's factor, else NULL */
  struct pd_loss loss;
  double gain; /* summed so far */
};

static bool all_runs(const struct pd_nz *head) {
  for (int n = 0; n < head->order; ++n)
    if (!head->ops->row_runs(head, n)) return false;
  return true;
}

static uint64_t nonzeros_cpu_longest(const struct pd_nz *head) {
  uint64_t most = 1;
  for (int n = 0; n < head->order; ++n)
    if (head->dims[n] > most) most = head->dims[n];
  return most;
}

static bool fits_private(const struct pd_nz *head, uint64_t rank, int threads) {
  return pd_mul_saturated(pd_mul_saturated(nonzeros_cpu_longest(head), rank),
                          8 * (uint64_t)threads) <= PRIVATE_BYTES;
}

static uint64_t nonzeros_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                             int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_nz *head = storage;
  uint64_t rows = (uint64_t)threads * ((uint64_t)head->order + 1);
  if (!all_runs(head)) {
    uint64_t copies = fits_private(head, rank, threads) ? (uint64_t)threads : 1;
    rows = pd_add_saturated(rows, pd_mul_saturated(nonzeros_cpu_longest(head), copies));
  }
  return pd_mul_saturated(pd_mul_saturated(rows, rank), sizeof(double));
}

static void nonzeros_cpu_workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_free(context, scratch->prefix);
  pd_free(context, scratch->sums);
  pd_free(context, scratch);
}

static polyad_status nonzeros_cpu_workspace_create(polyad_context *context,
                                                   const struct pd_device *device,
                                                   const void *storage, const uint64_t *ranks,
                                                   void **out) {
  const uint64_t rank = ranks[0];
  (void)device;
  const struct pd_nz *head = storage;
  polyad_status status = POLYAD_OK;
  struct scratch *scratch = NULL;
  uint64_t numbers, all;
  *out = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &scratch));
  scratch->threads = pd_kernel_threads(context, head->nnz, rank);
  scratch->rank = rank;
  scratch->private_sums = fits_private(head, rank, scratch->threads);
  uint64_t copies = scratch->private_sums ? (uint64_t)scratch->threads : 1;
  if (!pd_mul((uint64_t)scratch->threads * ((uint64_t)head->order + 1), rank, &numbers) ||
      !pd_mul(nonzeros_cpu_longest(head), rank, &all) || !pd_mul(all, copies, &all)) {
    status = pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large", (unsigned long long)rank);
    goto cleanup;
  }
  PD_TRY_CLEANUP(PD_NEW(context, numbers, &scratch->prefix));
  if (!all_runs(head)) PD_TRY_CLEANUP(PD_NEW(context, all, &scratch->sums));
  *out = scratch;
  scratch = NULL;
cleanup:
  nonzeros_cpu_workspace_destroy(context, scratch);
  return status;
}

/* Row k + 1 of prefix is row k times the row of input k; row 0 has ones. */
static void nonzeros_cpu_multiply(const struct walk *walk, int input, uint64_t index) {
  const double *restrict before = walk->prefix + (uint64_t)input * walk->rank;
  double *restrict product = walk->prefix + (uint64_t)(input + 1) * walk->rank;
  uint64_t at = index * walk->stride[input];
  if (walk->head->type == POLYAD_F32) {
    const float *restrict row = (const float *)walk->factor[input] + at;
    for (uint64_t r = 0; r < walk->rank; ++r)
      product[r] = before[r] * (double)row[r];
  } else {
    const double *restrict row = (const double *)walk->factor[input] + at;
    for (uint64_t r = 0; r < walk->rank; ++r)
      product[r] = before[r] * row[r];
  }
}

/* The model at a nonzero of this row, and what follows from it: its gain is added to walk->gain
 * (`sums` NULL), or the slope of the gain times the product of all inputs' rows to sums. */
static void nonzeros_cpu_weigh(struct walk *walk, uint64_t row, double value,
                               double *restrict sums) {
  const double *restrict product = walk->prefix + (uint64_t)walk->inputs * walk->rank;
  uint64_t at = row * walk->own->stride;
  double model = 0;
  if (walk->head->type == POLYAD_F32)
    for (uint64_t r = 0; r < walk->rank; ++r)
      model += product[r] * (double)((const float *)walk->own->data)[at + r];
  else
    for (uint64_t r = 0; r < walk->rank; ++r)
      model += product[r] * ((const double *)walk->own->data)[at + r];
  if (sums == NULL) {
    walk->gain += PD_LOSS_GAIN(walk->loss.kind, value, model);
    return;
  }
  double slope = PD_LOSS_SLOPE(walk->loss.kind, value, model, walk->loss.least);
  for (uint64_t r = 0; r < walk->rank; ++r)
    sums[r] += slope * product[r];
}

/* sums += value times the rows of all inputs, for nonzero p of the block; where the model is
 * needed, see nonzeros_cpu_weigh(). */
static void add_nonzero(struct walk *walk, const struct pd_chunk *block, int p,
                        double *restrict sums) {
  int leaf = walk->inputs - 1, from = 0;
  while (!walk->fresh && from < leaf && block->index[walk->input[from]][p] == walk->last[from])
    ++from;
  for (int k = from; k < leaf; ++k) {
    walk->last[k] = block->index[walk->input[k]][p];
    nonzeros_cpu_multiply(walk, k, walk->last[k]);
  }
  walk->fresh = false;
  double value = block->value[p];
  if (walk->own != NULL) {
    nonzeros_cpu_multiply(walk, leaf, block->index[walk->input[leaf]][p]);
    nonzeros_cpu_weigh(walk, block->index[walk->mode][p], value, sums);
    return;
  }
  const double *restrict prefix = walk->prefix + (uint64_t)leaf * walk->rank;
  uint64_t at = block->index[walk->input[leaf]][p] * walk->stride[leaf];
  if (walk->head->type == POLYAD_F32) {
    const float *restrict row = (const float *)walk->factor[leaf] + at;
    for (uint64_t r = 0; r < walk->rank; ++r)
      sums[r] += value * prefix[r] * (double)row[r];
  } else {
    const double *restrict row = (const double *)walk->factor[leaf] + at;
    for (uint64_t r = 0; r < walk->rank; ++r)
      sums[r] += value * prefix[r] * row[r];
  }
}

static void nonzeros_cpu_store(const struct walk *walk, uint64_t row, const double *sums) {
  if (walk->out->type == POLYAD_F32) {
    float *to = (float *)walk->out->data + row * walk->out->stride;
    for (uint64_t r = 0; r < walk->rank; ++r)
      to[r] = (float)sums[r];
  } else {
    memcpy((double *)walk->out->data + row * walk->out->stride, sums, walk->rank * sizeof *sums);
  }
}

static int block_length(uint64_t first, uint64_t end) {
  return end - first < PD_CHUNK ? (int)(end - first) : PD_CHUNK;
}

/* The first nonzero from p on that begins a row. */
static uint64_t row_begin(const struct walk *walk, struct pd_chunk *block, uint64_t p) {
  uint64_t nnz = walk->head->nnz;
  if (p == 0 || p >= nnz) return p;
  walk->head->ops->decode(walk->head, walk->mode, p - 1, 1, block);
  uint64_t row = block->index[walk->mode][0];
  for (; p < nnz; p += PD_CHUNK) {
    int count = block_length(p, nnz);
    walk->head->ops->decode(walk->head, walk->mode, p, count, block);
    for (int k = 0; k < count; ++k)
      if (block->index[walk->mode][k] != row) return p + (uint64_t)k;
  }
  return nnz;
}

/* Whole rows from the one that begins at or after `begin` to the one before `end`'s. */
static void walk_rows(struct walk *walk, double *sums, uint64_t begin, uint64_t end) {
  struct pd_chunk block;
  begin = row_begin(walk, &block, begin);
  end = row_begin(walk, &block, end);
  uint64_t row = 0;
  for (uint64_t p = begin; p < end; p += PD_CHUNK) {
    int count = block_length(p, end);
    walk->head->ops->decode(walk->head, walk->mode, p, count, &block);
    for (int k = 0; k < count; ++k) {
      bool first = p == begin && k == 0;
      if (first || block.index[walk->mode][k] != row) {
        if (!first) nonzeros_cpu_store(walk, row, sums);
        row = block.index[walk->mode][k];
        memset(sums, 0, walk->rank * sizeof *sums);
      }
      add_nonzero(walk, &block, k, sums);
    }
  }
  if (begin < end) nonzeros_cpu_store(walk, row, sums);
}

/* Nonzeros of rows [low, high), into sums of all rows. */
static void walk_scattered(struct walk *walk, double *sums, uint64_t begin, uint64_t end,
                           uint64_t low, uint64_t high) {
  struct pd_chunk block;
  for (uint64_t p = begin; p < end; p += PD_CHUNK) {
    int count = block_length(p, end);
    walk->head->ops->decode(walk->head, walk->mode, p, count, &block);
    for (int k = 0; k < count; ++k) {
      uint64_t row = block.index[walk->mode][k];
      if (row >= low && row < high) add_nonzero(walk, &block, k, sums + row * walk->rank);
    }
  }
}

static void nonzeros_cpu_zero_rows(const struct pd_matrix *out, uint64_t begin, uint64_t end) {
  size_t size = pd_type_bytes(out->type);
  for (uint64_t i = begin; i < end; ++i)
    memset((char *)out->data + i * out->stride * size, 0, out->columns * size);
}

/* How the threads share the work of one call. */
enum sharing { BY_ROWS, BY_SCHEDULE, BY_COPIES, BY_OWNERS };

static enum sharing choose_sharing(const struct pd_nz *head, const struct scratch *scratch,
                                   int mode) {
  if (head->ops->row_runs(head, mode)) return BY_ROWS;
  if (head->ops->schedule != NULL &&
      head->ops->schedule(head, mode)->groups >= 2 * (uint32_t)scratch->threads)
    return BY_SCHEDULE;
  return scratch->private_sums ? BY_COPIES : BY_OWNERS;
}

/* Adds up what the threads have, and stores it. */
static void store_rows(const struct walk *walk, const struct scratch *scratch, int copies,
                       uint64_t begin, uint64_t end) {
  uint64_t rows = walk->out->rows, rank = walk->rank;
  for (uint64_t i = begin; i < end; ++i) {
    double *sums = scratch->sums + i * rank;
    for (int t = 1; t < copies; ++t) {
      const double *more = scratch->sums + ((uint64_t)t * rows + i) * rank;
      for (uint64_t r = 0; r < rank; ++r)
        sums[r] += more[r];
    }
    nonzeros_cpu_store(walk, i, sums);
  }
}

static void begin_thread(struct walk *walk, const struct scratch *scratch, int t) {
  walk->prefix = scratch->prefix + (uint64_t)t * ((uint64_t)walk->head->order + 1) * scratch->rank;
  walk->fresh = true;
  for (uint64_t r = 0; r < scratch->rank; ++r)
    walk->prefix[r] = 1;
}

static void run_thread(struct walk walk, const struct scratch *scratch, int t,
                       enum sharing sharing) {
  uint64_t nnz = walk.head->nnz, rows = walk.out->rows, rank = scratch->rank;
  uint64_t begin = pd_part_begin(nnz, t, scratch->threads);
  uint64_t end = pd_part_begin(nnz, t + 1, scratch->threads);
  uint64_t low = pd_part_begin(rows, t, scratch->threads);
  uint64_t high = pd_part_begin(rows, t + 1, scratch->threads);
  begin_thread(&walk, scratch, t);
  if (sharing == BY_ROWS) {
    walk_rows(&walk, walk.prefix + (uint64_t)walk.head->order * rank, begin, end);
  } else if (sharing == BY_COPIES) {
    double *sums = scratch->sums + (uint64_t)t * rows * rank;
    memset(sums, 0, rows * rank * sizeof *sums);
    walk_scattered(&walk, sums, begin, end, 0, rows);
  } else {
    memset(scratch->sums + low * rank, 0, (high - low) * rank * sizeof(double));
    if (sharing == BY_OWNERS) walk_scattered(&walk, scratch->sums, 0, nnz, low, high);
  }
}

/* The parts of one group, in their order: the same sums whichever thread has it. */
static void run_group(struct walk walk, const struct scratch *scratch,
                      const struct pd_nz_schedule *schedule, uint32_t group) {
  begin_thread(&walk, scratch, omp_get_thread_num());
  for (uint32_t k = schedule->group_start[group]; k < schedule->group_start[group + 1]; ++k) {
    uint32_t part = schedule->part[k];
    walk_scattered(&walk, scratch->sums, schedule->start[part], schedule->start[part + 1], 0,
                   walk.out->rows);
  }
}

static struct walk walk_of(const void *storage, const struct pd_call *call) {
  struct walk walk = {.head = storage,
                      .mode = call->mode,
                      .rank = pd_call_rank(call),
                      .fresh = true,
                      .out = call->out,
                      .loss = call->op.loss};
  const int *levels = walk.head->ops->levels(storage, call->mode);
  if (pd_op_needs_model(&call->op)) walk.own = call->factors[call->mode];
  for (int l = 0; l < walk.head->order; ++l) {
    if (levels[l] == call->mode) continue;
    walk.factor[walk.inputs] = call->factors[levels[l]]->data;
    walk.stride[walk.inputs] = call->factors[levels[l]]->stride;
    walk.input[walk.inputs++] = levels[l];
  }
  return walk;
}

/* The gains of thread t's share of the nonzeros. */
static double gains_of_thread(struct walk walk, const struct scratch *scratch, int t) {
  struct pd_chunk block;
  uint64_t end = pd_part_begin(walk.head->nnz, t + 1, scratch->threads);
  begin_thread(&walk, scratch, t);
  for (uint64_t p = pd_part_begin(walk.head->nnz, t, scratch->threads); p < end; p += PD_CHUNK) {
    int count = block_length(p, end);
    walk.head->ops->decode(walk.head, walk.mode, p, count, &block);
    for (int k = 0; k < count; ++k)
      add_nonzero(&walk, &block, k, NULL);
  }
  return walk.gain;
}

/* All gains, added up in the order of the threads: each leaves its own in its row for sums. */
static double nonzeros_cpu_sum_gains(const struct walk *walk, const struct scratch *scratch) {
  uint64_t order = (uint64_t)walk->head->order, each = (order + 1) * scratch->rank;
  double *gain = scratch->prefix + order * scratch->rank, sum = 0;
#pragma omp parallel for num_threads(scratch->threads) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t)
    gain[(uint64_t)t * each] = gains_of_thread(*walk, scratch, t);
  for (int t = 0; t < scratch->threads; ++t)
    sum += gain[(uint64_t)t * each];
  return sum;
}

static polyad_status nonzeros_cpu_run(polyad_context *context, const void *storage, void *pointer,
                                      const struct pd_call *call) {
  (void)context;
  const int mode = call->mode;
  struct pd_matrix *out = call->out;
  const struct scratch *scratch = pointer;
  struct walk walk = walk_of(storage, call);
  if (call->op.into == PD_INTO_SCALAR) {
    *(double *)out->data = nonzeros_cpu_sum_gains(&walk, scratch);
    return POLYAD_OK;
  }
  enum sharing sharing = choose_sharing(storage, scratch, mode);
  const struct pd_nz_schedule *schedule =
      sharing == BY_SCHEDULE ? walk.head->ops->schedule(storage, mode) : NULL;
  uint32_t groups = schedule != NULL ? schedule->groups : 0;
  int threads = scratch->threads, copies = sharing == BY_COPIES ? threads : 1;
#pragma omp parallel num_threads(threads)
  {
    if (sharing == BY_ROWS) {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t)
        nonzeros_cpu_zero_rows(out, pd_part_begin(out->rows, t, threads),
                               pd_part_begin(out->rows, t + 1, threads));
    }
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t)
      run_thread(walk, scratch, t, sharing);
#pragma omp for schedule(dynamic, 1)
    for (uint32_t g = 0; g < groups; ++g)
      run_group(walk, scratch, schedule, g);
    if (sharing != BY_ROWS) {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t)
        store_rows(&walk, scratch, copies, pd_part_begin(out->rows, t, threads),
                   pd_part_begin(out->rows, t + 1, threads));
    }
  }
  return POLYAD_OK;
}

const struct pd_walk pd_nz_walk_cpu = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = nonzeros_cpu_workspace_bytes,
    .workspace_create = nonzeros_cpu_workspace_create,
    .workspace_destroy = nonzeros_cpu_workspace_destroy,
    .run = nonzeros_cpu_run,
};

double pd_nz_estimate_seconds(const struct pd_traits *traits, const struct pd_request *request) {
  double row = (double)(request->rank * pd_type_bytes(request->precision));
  double bytes = (double)traits->nnz * traits->order * (traits->order * row + 16);
  bool gpu = strcmp(request->device->kind, "cuda") == 0;
  return gpu ? 3e-5 * traits->order + bytes / 3e12 : 1e-5 + bytes / (1e9 * request->threads);
}
