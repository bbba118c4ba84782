/* MTTKRP and Phi of "alto" on the CPU.
 *
 * Pull-based edition: each thread sums the rows its part touches in temporaries of its own (rows
 * that no other part touches: in the output itself where its numbers are the sums' doubles), then
 * all threads pull the rows together, parts in their order. Atomic edition: one set of sums;
 * additions to rows that other parts touch as well are atomic. */
#include "formats/alto/alto_scratch.h"
#include "formats/tables.h"
#include <string.h>

/* What one call works on. */
struct call {
  struct pd_alto_scratch *scratch;
  const struct pd_alto_sharing *sharing;
  struct pd_alto_job job;
  struct pd_rowsum_job out; /* the output matrix, for write_row */
};

/* What each nonzero's row of Pi is the product of, tables of pairs of short modes filled; nothing
 * where these rows are stored. */
static void set_sources(const struct pd_alto *alto, struct pd_alto_scratch *s, int mode,
                        const struct pd_matrix *const *factors, bool stored,
                        struct pd_alto_job *job) {
  if (stored) return;
  struct pd_rowsum list = pd_alto_other_modes(alto, mode);
  struct pd_rowsum_job columns = {.list = &list, .type = alto->type, .rank = s->rank};
  for (int g = 0; g < list.columns; ++g) {
    const struct pd_matrix *factor = factors[list.mode[g]];
    job->other[g] = list.mode[g];
    columns.factor[g] = factor->data;
    columns.stride[g] = factor->stride;
    columns.factor_rows[g] = factor->rows;
    columns.version[g] = factor->version;
  }
  pd_sources_choose(&columns, s->sums->tables, s->sums->table_bytes, &job->sources);
  pd_sources_fill(&columns, &job->sources, s->threads, &s->sums->made);
}

/* All but the output; `stored`: rows of Pi are read from the scratch. */
static void set_call(const struct pd_alto *alto, struct pd_alto_scratch *s,
                     const struct pd_call *asked, bool stored, struct call *call) {
  const int mode = asked->mode;
  const struct pd_matrix *const *factors = asked->factors;
  const uint64_t item = pd_type_bytes(alto->type);
  struct pd_alto_job *job = &call->job;
  *call = (struct call){.scratch = s, .sharing = &s->sharing[mode]};
  *job = (struct pd_alto_job){.alto = alto,
                              .decode = pd_alto_decoder(alto),
                              .blocks = &s->sums->blocks,
                              .kernel = s->kernel,
                              .mode = mode,
                              .rank = s->rank,
                              .padded = s->padded,
                              .atomic = pd_alto_adds_atomically(alto, mode),
                              .keep = s->keep,
                              .ones = s->ones,
                              .columns = s->columns,
                              .runs = s->runs,
                              .sums_columns = s->sums_columns,
                              .weighs = asked->op.weight == PD_GAIN_GRADIENT,
                              .gains = asked->op.weight == PD_GAIN,
                              .loss = asked->op.loss};
  if (factors[mode] != NULL) {
    job->own = factors[mode]->data;
    job->own_stride = factors[mode]->stride * item;
  }
  if (stored) job->products = s->products;
  set_sources(alto, s, mode, factors, stored, job);
}

static void alto_cpu_set_output(struct call *call, const struct pd_matrix *out) {
  call->out = (struct pd_rowsum_job){.type = call->job.alto->type,
                                     .rank = out->columns,
                                     .out = out->data,
                                     .out_rows = out->rows,
                                     .out_stride = out->stride};
}

/* The part of thread t with the places of its sums. */
static void alto_cpu_set_part(const struct call *call, int t, struct pd_alto_part *part) {
  const struct pd_alto_scratch *s = call->scratch;
  const struct pd_alto_share *share = &call->sharing->share[t];
  const uint64_t row = s->padded * sizeof(double), out_row = call->out.out_stride * sizeof(double);
  *part = (struct pd_alto_part){.begin = share->begin,
                                .end = share->end,
                                .own = share->own,
                                .stride = row,
                                .middle_stride = row,
                                .tile = s->tiles + (uint64_t)t * PD_ALTO_BLOCK * s->padded,
                                .gain = s->gains + (uint64_t)t * PD_ALTO_LINE};
  uintptr_t output = (uintptr_t)call->out.out, sums = (uintptr_t)s->sums_rows;
  if (call->job.atomic) {
    part->left = part->middle = part->right = call->sharing->direct ? output : sums;
    if (call->sharing->direct) part->stride = part->middle_stride = out_row;
    return;
  }
  sums += share->first * row;
  part->left = part->middle = part->right = sums - share->all.begin * row;
  if (!call->sharing->direct) return;
  part->middle = output;
  part->middle_stride = out_row;
  part->right -= (share->own.end - share->own.begin) * row;
}

/* Sums that part t alone adds to, before it begins. */
static void zero_part(const struct call *call, int t) {
  const struct pd_alto_share *share = &call->sharing->share[t];
  bool direct = call->sharing->direct;
  double *first = call->scratch->sums_rows + share->first * call->scratch->padded;
  memset(first, 0, pd_alto_share_rows(share, direct) * call->scratch->padded * sizeof *first);
  if (direct) pd_rowsum_zero(&call->out, share->own.begin, share->own.end);
}

/* Sums that all parts add to: a thread's portion. */
static void zero_shared(const struct call *call, int t, int threads) {
  uint64_t begin = pd_part_begin(call->out.out_rows, t, threads);
  uint64_t end = pd_part_begin(call->out.out_rows, t + 1, threads);
  const struct pd_alto_scratch *s = call->scratch;
  if (call->sharing->direct)
    pd_rowsum_zero(&call->out, begin, end);
  else
    memset(s->sums_rows + begin * s->padded, 0, (end - begin) * s->padded * sizeof(double));
}

static bool within(const struct pd_alto_span *span, uint64_t row) {
  return row >= span->begin && row < span->end;
}

/* Sums of a row from all parts that touch it, in their order; NULL: in no temporaries. */
static double *pull_row(const struct call *call, uint64_t row, const int *parts, int count,
                        bool *done) {
  const struct pd_alto_scratch *s = call->scratch;
  double *sum = NULL;
  *done = false;
  for (int k = 0; k < count; ++k) {
    const struct pd_alto_share *share = &call->sharing->share[parts[k]];
    if (!within(&share->all, row)) continue;
    uint64_t at = share->first + row - share->all.begin;
    if (call->sharing->direct) {
      *done = within(&share->own, row);
      if (*done) return NULL;
      if (row >= share->own.end) at -= share->own.end - share->own.begin;
    }
    double *more = s->sums_rows + at * s->padded;
    if (sum == NULL)
      sum = more;
    else
      for (uint64_t r = 0; r < s->sums_columns; ++r)
        sum[r] += more[r];
  }
  return sum;
}

/* Writes rows [begin, end) of the output, but those that are done. */
static void pull_rows(const struct call *call, uint64_t begin, uint64_t end, int *parts) {
  const struct pd_alto_scratch *s = call->scratch;
  int count = 0;
  for (int t = 0; t < call->sharing->parts; ++t) {
    const struct pd_alto_span *all = &call->sharing->share[t].all;
    if (all->begin < end && all->end > begin) parts[count++] = t;
  }
  for (uint64_t row = begin; row < end; ++row) {
    bool done = false;
    double *sum = call->job.atomic ? s->sums_rows + row * s->padded
                                   : pull_row(call, row, parts, count, &done);
    if (done) continue;
    if (sum == NULL)
      pd_rowsum_zero(&call->out, row, row + 1);
    else
      s->sums->isa->write_row(&call->out, &s->sums->blocks, sum, row);
  }
}

static void sum_rows(const struct call *call) {
  enum { ROWS = 64 };
  const struct pd_alto_scratch *s = call->scratch;
  const int parts = call->sharing->parts, threads = s->threads;
  const uint64_t chunks = (call->out.out_rows + ROWS - 1) / ROWS;
  const bool pulls = !(call->job.atomic && call->sharing->direct);
#pragma omp parallel num_threads(threads)
  {
    if (call->job.atomic) {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t)
        zero_shared(call, t, threads);
    }
#pragma omp for schedule(static, 1)
    for (int t = 0; t < parts; ++t) {
      struct pd_alto_part part;
      alto_cpu_set_part(call, t, &part);
      if (!call->job.atomic) zero_part(call, t);
      s->isa->drive(&call->job, &part);
    }
    if (pulls) {
#pragma omp for schedule(static, 1)
      for (int t = 0; t < threads; ++t) {
        uint64_t end = pd_part_begin(chunks, t + 1, threads);
        for (uint64_t c = pd_part_begin(chunks, t, threads); c < end; ++c)
          pull_rows(call, c * ROWS,
                    (c + 1) * ROWS < call->out.out_rows ? (c + 1) * ROWS : call->out.out_rows,
                    s->parts + (uint64_t)t * (uint64_t)threads);
      }
    }
  }
}

/* Every part, without rows: products or gains. */
static void drive_all(const struct call *call) {
#pragma omp parallel for num_threads(call->scratch->threads) schedule(static, 1)
  for (int t = 0; t < call->sharing->parts; ++t) {
    struct pd_alto_part part;
    alto_cpu_set_part(call, t, &part);
    *part.gain = 0;
    call->scratch->isa->drive(&call->job, &part);
  }
}

static polyad_status alto_cpu_pi(polyad_context *context, const struct pd_alto *alto,
                                 struct pd_alto_scratch *s, const struct pd_call *asked) {
  struct call call;
  uint64_t count;
  if (!pd_mul(alto->nnz, s->rank, &count))
    return pd_fail(context, POLYAD_OVERFLOW, "Pi of %llu nonzeros is too large",
                   (unsigned long long)alto->nnz);
  s->products_mode = -1;
  if (s->products == NULL)
    PD_TRY(pd_scratch_array(&s->base, count, pd_type_bytes(alto->type), (void **)&s->products));
  set_call(alto, s, asked, false, &call);
  call.job.products_out = s->products;
  drive_all(&call);
  s->products_mode = asked->mode;
  pd_versions_set(&s->products_versions, asked->factors, pd_modes_but(alto->order, asked->mode));
  return POLYAD_OK;
}

/* Whether rows of Pi are stored; they are made anew where they are of other factors, if these have
 * versions. */
static polyad_status find_products(polyad_context *context, const struct pd_alto *alto,
                                   struct pd_alto_scratch *s, const struct pd_call *asked,
                                   bool *stored) {
  uint64_t others = pd_modes_but(alto->order, asked->mode);
  *stored = s->products_mode == asked->mode && pd_versions_known(asked->factors, others);
  if (!*stored || pd_versions_hold(&s->products_versions, asked->factors, others)) return POLYAD_OK;
  const struct pd_call pi = {.op = PD_PI, .mode = asked->mode, .factors = asked->factors};
  return alto_cpu_pi(context, alto, s, &pi);
}

/* Gains: each part by itself, then the parts in their order. */
static double alto_cpu_sum_gains(const struct call *call) {
  double sum = 0;
  drive_all(call);
  for (int t = 0; t < call->sharing->parts; ++t)
    sum += call->scratch->gains[t * PD_ALTO_LINE];
  return sum;
}

static polyad_status alto_cpu_run(polyad_context *context, const void *storage, void *scratch,
                                  const struct pd_call *asked) {
  struct call call;
  bool stored = false;
  if (asked->op.into == PD_INTO_NONZEROS) return alto_cpu_pi(context, storage, scratch, asked);
  if (pd_op_needs_model(&asked->op))
    PD_TRY(find_products(context, storage, scratch, asked, &stored));
  set_call(storage, scratch, asked, stored, &call);
  if (asked->op.into == PD_INTO_SCALAR) {
    *(double *)asked->out->data = alto_cpu_sum_gains(&call);
  } else {
    alto_cpu_set_output(&call, asked->out);
    sum_rows(&call);
  }
  return POLYAD_OK;
}

static const struct pd_walk alto_cpu_scatter = {
    .ops = PD_OPS_MTTKRP | PD_OPS_PI | PD_OPS_GRADIENT | PD_OPS_GAIN,
    .workspace_bytes = pd_alto_scratch_bytes,
    .scratch_bytes = sizeof(struct pd_alto_scratch),
    .fill = pd_alto_scratch_fill,
    .run = alto_cpu_run,
};

const struct polyad_kernels pd_alto_kernels_cpu = {
    .format = "alto",
    .device = "cpu",
    .walks = {&alto_cpu_scatter, &pd_alto_ttmc_walk},
    .sum_depth = pd_sum_depth_on_cpu,
    .phi_over_mttkrp = 1.4,
};
