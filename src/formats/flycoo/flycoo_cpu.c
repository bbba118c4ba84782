/* MTTKRP of "flycoo" on the CPU, and the gradient of a loss's gain: threads take partitions,
 * compute their rows and write their elements to the places of the next mode's order. No two
 * threads write one place: no locks. The gains themselves are summed in whatever order the elements
 * have. */
#include "core/threads.h"
#include "formats/flycoo/flycoo.h"
#include "formats/flycoo/flycoo_layout.h"
#include <math.h>
#include <omp.h>

struct scratch {
  int threads;
  double *numbers;   /* 2 x rank per thread: sums, product */
  uint32_t *copy[2]; /* NULL without remapping */
  const uint32_t *current;
  int mode; /* in whose order `current` is */
};

struct sweep {
  const uint32_t *in;
  uint32_t *to; /* NULL: no remapping */
  const struct pd_flycoo_field *output, *remap, *input[POLYAD_MAX_ORDER];
  int words, inputs;
  polyad_type type;
  bool sorted;
  uint64_t rank;
  const void *factor[POLYAD_MAX_ORDER];
  uint64_t stride[POLYAD_MAX_ORDER];
  struct pd_matrix *out;
  const struct pd_matrix *own; /* where the model is needed: the output mode's factor, else NULL */
  struct pd_loss loss;
};

static inline const uint32_t *element_at(const struct sweep *sweep, uint64_t p) {
  return sweep->in + p * (uint64_t)sweep->words;
}

#define INDEX(sweep, k, p) pd_flycoo_get(element_at(sweep, p), (sweep)->input[k])
#define VALUE(sweep, p) (VAL) pd_flycoo_value(element_at(sweep, p), (sweep)->type)
#define VAL float
#define NAME(x) x##_f32
#include "formats/ordered/ordered_cpu_body.h"

#include "formats/flycoo/flycoo_cpu_body.h"
#undef VAL
#undef NAME
#define VAL double
#define NAME(x) x##_f64
#include "formats/ordered/ordered_cpu_body.h"

#include "formats/flycoo/flycoo_cpu_body.h"

static uint64_t flycoo_cpu_workspace_bytes(const void *storage, const uint64_t *ranks,
                                           int threads) {
  const uint64_t rank = ranks[0];
  const struct pd_flycoo *host = storage;
  uint64_t numbers = pd_mul_saturated(pd_mul_saturated((uint64_t)threads, rank), 16);
  return pd_add_saturated(host->remap ? 2 * pd_flycoo_copy_bytes(host) : 0, numbers);
}

static void flycoo_cpu_workspace_destroy(polyad_context *context, void *pointer) {
  struct scratch *scratch = pointer;
  if (scratch == NULL) return;
  pd_free(context, scratch->numbers);
  pd_free(context, scratch->copy[0]);
  pd_free(context, scratch->copy[1]);
  pd_free(context, scratch);
}

static polyad_status flycoo_cpu_workspace_create(polyad_context *context,
                                                 const struct pd_device *device,
                                                 const void *storage, const uint64_t *ranks,
                                                 void **out) {
  const uint64_t rank = ranks[0];
  (void)device;
  const struct pd_flycoo *host = storage;
  polyad_status status = POLYAD_OK;
  struct scratch *scratch = NULL;
  uint64_t numbers;
  *out = NULL;
  PD_TRY_CLEANUP(PD_NEW_ZERO(context, 1, &scratch));
  scratch->threads = pd_kernel_threads(context, host->nnz, rank);
  scratch->current = host->elements[0];
  if (!pd_mul((uint64_t)scratch->threads, rank, &numbers) || numbers > UINT64_MAX / 4) {
    status = pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large", (unsigned long long)rank);
    goto cleanup;
  }
  PD_TRY_CLEANUP(PD_NEW(context, 2 * numbers, &scratch->numbers));
  for (int k = 0; host->remap && k < 2; ++k)
    PD_TRY_CLEANUP(pd_alloc(context, pd_flycoo_copy_bytes(host), 1, (void **)&scratch->copy[k]));
  *out = scratch;
  scratch = NULL;
cleanup:
  flycoo_cpu_workspace_destroy(context, scratch);
  return status;
}

static uint32_t *flycoo_cpu_other_copy(const struct scratch *scratch) {
  return scratch->current == scratch->copy[0] ? scratch->copy[1] : scratch->copy[0];
}

/* Brings the elements into the order of `mode` when they are not. */
static void flycoo_cpu_arrange(polyad_context *context, const struct pd_flycoo *host,
                               struct scratch *scratch, int mode) {
  if (!host->remap) scratch->current = host->elements[mode];
  if (!host->remap || scratch->mode == mode) return;
  scratch->mode = mode;
  if (mode == 0 && host->sorted) {
    scratch->current = host->elements[0];
    return;
  }
  uint32_t *to = flycoo_cpu_other_copy(scratch);
  const uint32_t *from = scratch->current;
  size_t words = (size_t)host->packing.words;
  pd_log(context, POLYAD_LOG_DEBUG, "flycoo: remapping into the order of mode %d, out of turn",
         pd_shown_mode(context, mode));
#pragma omp parallel for num_threads(scratch->threads) schedule(static)
  for (uint64_t p = 0; p < host->nnz; ++p)
    memcpy(to + pd_flycoo_get(from + p * words, &host->packing.remap[mode]) * words,
           from + p * words, words * sizeof *to);
  scratch->current = to;
}

static void flycoo_cpu_zero(const struct scratch *scratch, struct pd_matrix *out) {
  size_t size = pd_type_bytes(out->type);
#pragma omp parallel for num_threads(scratch->threads) schedule(static)
  for (uint64_t i = 0; i < out->rows; ++i)
    memset((char *)out->data + i * out->stride * size, 0, out->columns * size);
}

static void run_partitions(const struct pd_flycoo *host, const struct scratch *scratch,
                           const struct sweep *sweep, int mode) {
  const uint64_t *start = host->mode[mode].part_start;
#pragma omp parallel num_threads(scratch->threads)
  {
    double *sums = scratch->numbers + (size_t)omp_get_thread_num() * 2 * sweep->rank;
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < host->partitions; ++k)
      if (host->type == POLYAD_F32)
        run_partition_f32(sweep, start[k], start[k + 1], sums + sweep->rank, sums);
      else
        run_partition_f64(sweep, start[k], start[k + 1], sums + sweep->rank, sums);
  }
}

static struct sweep flycoo_cpu_sweep_of(const struct pd_flycoo *host, const struct scratch *scratch,
                                        const struct pd_call *call) {
  const int mode = call->mode;
  struct sweep sweep = {.in = scratch->current,
                        .output = &host->packing.index[mode],
                        .remap = &host->packing.remap[(mode + 1) % host->order],
                        .words = host->packing.words,
                        .inputs = host->mode[mode].order.inputs,
                        .type = host->type,
                        .sorted = host->sorted,
                        .rank = pd_call_rank(call),
                        .out = call->out,
                        .own = pd_op_needs_model(&call->op) ? call->factors[mode] : NULL,
                        .loss = call->op.loss};
  for (int k = 0; k < sweep.inputs; ++k) {
    int input = host->mode[mode].order.input[k];
    sweep.input[k] = &host->packing.index[input];
    sweep.factor[k] = call->factors[input]->data;
    sweep.stride[k] = call->factors[input]->stride;
  }
  return sweep;
}

/* The gains of equal shares of the elements, in the order that these have, added up in the order of
 * the threads. */
static double flycoo_cpu_sum_gains(const struct pd_flycoo *host, const struct scratch *scratch,
                                   const struct sweep *sweep) {
  double sum = 0, *gain = scratch->numbers; /* the thread's sums, beside its product */
#pragma omp parallel for num_threads(scratch->threads) schedule(static, 1)
  for (int t = 0; t < scratch->threads; ++t) {
    uint64_t begin = pd_part_begin(host->nnz, t, scratch->threads);
    uint64_t end = pd_part_begin(host->nnz, t + 1, scratch->threads);
    double *own = gain + (size_t)t * 2 * sweep->rank;
    *own = host->type == POLYAD_F32 ? gain_part_f32(sweep, begin, end, own + sweep->rank)
                                    : gain_part_f64(sweep, begin, end, own + sweep->rank);
  }
  for (int t = 0; t < scratch->threads; ++t)
    sum += gain[(size_t)t * 2 * sweep->rank];
  return sum;
}

static polyad_status flycoo_cpu_run(polyad_context *context, const void *storage, void *workspace,
                                    const struct pd_call *call) {
  const int mode = call->mode;
  struct pd_matrix *out = call->out;
  const struct pd_flycoo *host = storage;
  struct scratch *scratch = workspace;
  int next = (mode + 1) % host->order;
  if (call->op.into == PD_INTO_ROWS || !host->remap)
    flycoo_cpu_arrange(context, host, scratch, mode);
  struct sweep sweep = flycoo_cpu_sweep_of(host, scratch, call);
  if (call->op.into == PD_INTO_SCALAR) {
    *(double *)out->data = flycoo_cpu_sum_gains(host, scratch, &sweep);
    return POLYAD_OK;
  }
  /* As on the GPU: the plan still has mode 0's order, only the paper's variant writes it again. */
  bool moves = host->remap && next != mode && (next != 0 || !host->sorted);
  if (moves) sweep.to = flycoo_cpu_other_copy(scratch);
  flycoo_cpu_zero(scratch, out);
  run_partitions(host, scratch, &sweep, mode);
  if (moves) {
    scratch->current = sweep.to;
    scratch->mode = next;
  } else if (host->remap && next != mode) {
    scratch->current = host->elements[0];
    scratch->mode = 0;
  }
  return POLYAD_OK;
}

const uint32_t *pd_flycoo_cpu_elements(const void *pointer, int *mode) {
  const struct scratch *scratch = pointer;
  *mode = scratch->mode;
  return scratch->current;
}

static const struct pd_walk flycoo_cpu_partitions = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = flycoo_cpu_workspace_bytes,
    .workspace_create = flycoo_cpu_workspace_create,
    .workspace_destroy = flycoo_cpu_workspace_destroy,
    .run = flycoo_cpu_run,
};

const struct polyad_kernels pd_flycoo_kernels_cpu = {
    .format = "flycoo",
    .device = "cpu",
    .walks = {&flycoo_cpu_partitions},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 1.4,
};
