/* MTTKRP of "csf" on the CPU: threads walk equal shares of the nonzeros. Root outputs are written
 * directly, rows that two threads share are joined in the threads' order. Other outputs go into
 * one private copy per thread; the copies are added in the threads' order. */
#include "core/isa.h"
#include "core/threads.h"
#include "formats/csf/csf_walk.h"
#include "formats/tables.h"
#include <string.h>

struct scratch {
  struct pd_scratch base;
  int threads;
  struct pd_rowsum_scratch *sums;
  pd_csf_walk_function *walk;
  uint64_t padded;
  double *vectors; /* of each thread: up and down per level, head, tail */
  double *rows;    /* private copies, NULL when every mode has a tree of its own */
  uint64_t rows_each;
  struct pd_csf_part *part;
};

/* Rows of the longest output that needs private copies. */
static uint64_t private_rows(const struct pd_csf *csf) {
  uint64_t rows = 0;
  for (int n = 0; n < csf->order; ++n)
    if ((csf->level_of[n] > 0 || csf->order == 1) && csf->dims[n] > rows) rows = csf->dims[n];
  return rows;
}

/* up and down per level, head, tail; of CP-APR: whole per level, b, a row in float32 */
static uint64_t vectors_each(const struct pd_csf *csf) { return 3 * (uint64_t)csf->order + 4; }

static uint64_t csf_cpu_workspace_bytes(const void *storage, const uint64_t *ranks, int threads) {
  const uint64_t rank = ranks[0];
  uint64_t lines = pd_add_saturated(private_rows(storage), vectors_each(storage));
  uint64_t each = pd_mul_saturated(lines, pd_mul_saturated(pd_rowsum_padded(rank), sizeof(double)));
  return pd_add_saturated(pd_mul_saturated(each, (uint64_t)threads),
                          pd_rowsum_scratch_bytes(rank, 1, threads));
}

static polyad_status csf_cpu_fill(polyad_context *context, const void *storage,
                                  const uint64_t *ranks, void *scratch) {
  const uint64_t rank = ranks[0];
  const struct pd_csf *csf = storage;
  struct scratch *s = scratch;
  uint64_t each, all;
  s->threads = pd_kernel_threads(context, csf->nnz, rank);
  s->walk = PD_ISA_PICK(pd_csf_walk_function, pd_csf_walk);
  s->padded = pd_rowsum_padded(rank);
  s->rows_each = private_rows(csf);
  uint64_t lines = pd_mul_saturated((uint64_t)s->threads, vectors_each(csf));
  PD_TRY(pd_rowsum_scratch_create(&s->base, csf->type, rank, 1, s->threads, &s->sums));
  PD_TRY(PD_SCRATCH_ZERO(&s->base, (uint64_t)s->threads, &s->part));
  PD_TRY(PD_SCRATCH(&s->base, pd_mul_saturated(lines, s->padded), &s->vectors));
  if (!pd_mul(s->rows_each, s->padded, &each) || !pd_mul(each, (uint64_t)s->threads, &all))
    return pd_fail(context, POLYAD_OVERFLOW, "private copies of %llu rows are too large",
                   (unsigned long long)s->rows_each);
  return all > 0 ? PD_SCRATCH(&s->base, all, &s->rows) : POLYAD_OK;
}

static void set_job(const struct pd_csf *csf, const struct scratch *s, const struct pd_call *call,
                    struct pd_csf_job *job) {
  const uint64_t item = pd_type_bytes(csf->type);
  const int mode = call->mode;
  const bool model = pd_op_needs_model(&call->op);
  const struct pd_matrix *out = call->op.into == PD_INTO_ROWS ? call->out : call->factors[mode];
  *job = (struct pd_csf_job){.csf = csf,
                             .tree = &csf->tree[csf->tree_of[mode]],
                             .level = csf->level_of[mode],
                             .sums = s->sums,
                             .rank = out->columns,
                             .padded = s->padded,
                             .weighs = model,
                             .gains = call->op.into == PD_INTO_SCALAR,
                             .loss = call->op.loss};
  for (int l = 0; l < csf->order; ++l) {
    const struct pd_matrix *factor = call->factors[job->tree->mode[l]];
    if (l == job->level && !model) continue;
    job->factor[l] = factor->data;
    job->stride[l] = factor->stride * item;
    if (l == csf->order - 1) job->prefetch = factor->rows * job->stride[l] > PD_PREFETCH_FROM;
  }
  job->out = (struct pd_rowsum_job){.type = csf->type,
                                    .rank = out->columns,
                                    .out = out->data,
                                    .out_rows = out->rows,
                                    .out_stride = out->stride};
}

static void csf_cpu_set_part(const struct pd_csf_job *job, const struct scratch *s, int thread,
                             struct pd_csf_part *part) {
  uint64_t order = (uint64_t)job->csf->order;
  *part = (struct pd_csf_part){.begin = pd_part_begin(job->csf->nnz, thread, s->threads),
                               .end = pd_part_begin(job->csf->nnz, thread + 1, s->threads)};
  part->vectors = s->vectors + (uint64_t)thread * vectors_each(job->csf) * s->padded;
  part->head = part->vectors + 2 * order * s->padded;
  part->tail = part->head + s->padded;
  part->whole = part->tail + s->padded;
  if (s->rows != NULL) part->rows = s->rows + (uint64_t)thread * s->rows_each * s->padded;
}

static void join_roots(const struct pd_csf_job *job, const struct scratch *s) {
  double *whole = NULL;
  for (int t = 0; t < s->threads; ++t) {
    const struct pd_csf_part *part = &s->part[t];
    if (part->has_head) {
      for (uint64_t r = 0; r < job->rank; ++r)
        whole[r] += part->head[r];
      if (part->head_ends) pd_csf_write_row(&job->out, whole, part->head_row);
    }
    if (part->has_tail) whole = part->tail;
  }
}

static void root_mttkrp(const struct pd_csf_job *job, const struct scratch *s) {
  uint64_t rows = job->out.out_rows;
#pragma omp parallel num_threads(s->threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < s->threads; ++t)
      pd_rowsum_zero(&job->out, pd_part_begin(rows, t, s->threads),
                     pd_part_begin(rows, t + 1, s->threads));
#pragma omp for schedule(static, 1)
    for (int t = 0; t < s->threads; ++t) {
      csf_cpu_set_part(job, s, t, &s->part[t]);
      s->walk(job, &s->part[t]);
    }
  }
  join_roots(job, s);
}

static void private_mttkrp(const struct pd_csf_job *job, const struct scratch *s) {
  uint64_t rows = job->out.out_rows;
#pragma omp parallel num_threads(s->threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < s->threads; ++t) {
      csf_cpu_set_part(job, s, t, &s->part[t]);
      memset(s->part[t].rows, 0, rows * s->padded * sizeof(double));
      s->walk(job, &s->part[t]);
    }
#pragma omp for schedule(static)
    for (uint64_t i = 0; i < rows; ++i) {
      double *sum = s->rows + i * s->padded;
      for (int t = 1; t < s->threads; ++t) {
        const double *other = sum + (uint64_t)t * s->rows_each * s->padded;
        for (uint64_t r = 0; r < job->rank; ++r)
          sum[r] += other[r];
      }
      pd_csf_write_row(&job->out, sum, i);
    }
  }
}

/* The sum of the parts' gains, in the threads' order. */
static double csf_cpu_sum_gains(const struct pd_csf_job *job, const struct scratch *s) {
  double sum = 0;
#pragma omp parallel for num_threads(s->threads) schedule(static, 1)
  for (int t = 0; t < s->threads; ++t) {
    csf_cpu_set_part(job, s, t, &s->part[t]);
    s->walk(job, &s->part[t]);
  }
  for (int t = 0; t < s->threads; ++t)
    sum += s->part[t].gain;
  return sum;
}

static polyad_status csf_cpu_run(polyad_context *context, const void *storage, void *scratch,
                                 const struct pd_call *call) {
  (void)context;
  struct pd_csf_job job;
  set_job(storage, scratch, call, &job);
  if (job.gains)
    *(double *)call->out->data = csf_cpu_sum_gains(&job, scratch);
  else if (job.level == 0 && job.csf->order > 1)
    root_mttkrp(&job, scratch);
  else
    private_mttkrp(&job, scratch);
  return POLYAD_OK;
}

static const struct pd_walk csf_cpu_tree = {
    .ops = PD_OPS_MTTKRP | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = csf_cpu_workspace_bytes,
    .scratch_bytes = sizeof(struct scratch),
    .fill = csf_cpu_fill,
    .run = csf_cpu_run,
};

const struct polyad_kernels pd_csf_kernels_cpu = {
    .format = "csf",
    .device = "cpu",
    .walks = {&csf_cpu_tree, &pd_csf_ttmc_walk},
    .sum_depth = pd_sum_depth_on_cpu,
};
