/* Threads of the chain take equal numbers of nonzeros; a row that spans threads is added up in
 * their order. */
#include "formats/ttmc/ttmc_rows.h"
#include "core/isa.h"
#include "core/threads.h"
#include "formats/ttmc/ttmc_walk.h"
#include <string.h>

/* Numbers of the longest row, and of the partial sums below it in any order of the columns: each
 * is a product that leaves out at least one rank. */
static bool sizes(int order, const uint64_t *ranks, uint64_t *row, uint64_t *partial) {
  *row = 1;
  for (int n = 0; n < order; ++n) {
    uint64_t columns;
    if (!pd_ttmc_columns(order, ranks, n, &columns)) return false;
    if (columns > *row) *row = columns;
  }
  return pd_mul(*row, (uint64_t)order, partial);
}

static uint64_t numbers_each(uint64_t row, uint64_t partial) {
  return pd_add_saturated(pd_mul_saturated(3, row), partial);
}

uint64_t pd_ttmc_work_bytes(pd_ttmc_rows_function *rows, const void *storage, const uint64_t *ranks,
                            int threads) {
  struct pd_ttmc_source source;
  struct pd_ttmc_segments segments;
  uint64_t row, partial;
  rows(storage, 0, &source, &segments);
  int order = source.columns + 1;
  if (!sizes(order, ranks, &row, &partial)) return UINT64_MAX;
  uint64_t each = pd_mul_saturated(numbers_each(row, partial), sizeof(double));
  each = pd_add_saturated(each, sizeof(struct pd_ttmc_block) + sizeof(struct pd_ttmc_part));
  uint64_t bytes = pd_add_saturated(
      pd_mul_saturated(each, (uint64_t)threads),
      pd_add_saturated(pd_mul_saturated(row, sizeof(uint32_t)), sizeof(struct pd_ttmc_work)));
  for (int n = 0; n < order; ++n) {
    rows(storage, n, &source, &segments);
    if (segments.count > 0)
      bytes = pd_add_saturated(bytes, pd_ttmc_order_bytes(segments.count, segments.start == NULL));
  }
  return bytes;
}

void pd_ttmc_work_clear(polyad_context *context, void *pointer) {
  struct pd_ttmc_work *work = pointer;
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_ttmc_order_clear(context, &work->order[n]);
}

polyad_status pd_ttmc_work_fill(polyad_context *context, pd_ttmc_rows_function *rows,
                                const void *storage, const uint64_t *ranks,
                                struct pd_ttmc_work *work) {
  struct pd_ttmc_source first;
  struct pd_ttmc_segments segments;
  uint64_t row, partial;
  rows(storage, 0, &first, &segments);
  if (!sizes(first.columns + 1, ranks, &row, &partial) || row > UINT32_MAX)
    return pd_fail(context, POLYAD_OVERFLOW,
                   "the product of the ranks is too large; expected at most %llu columns",
                   (unsigned long long)UINT32_MAX);
  work->threads = pd_kernel_threads(context, first.nnz, row);
  work->row = row;
  work->partial = partial;
  uint64_t threads = (uint64_t)work->threads;
  PD_TRY(
      PD_SCRATCH(&work->base, pd_mul_saturated(threads, numbers_each(row, partial)), &work->sums));
  PD_TRY(PD_SCRATCH_ZERO(&work->base, threads, &work->block));
  PD_TRY(PD_SCRATCH_ZERO(&work->base, threads, &work->part));
  PD_TRY(PD_SCRATCH(&work->base, row, &work->place));
  for (int n = 0; n <= first.columns; ++n) {
    rows(storage, n, &work->source[n], &segments);
    if (segments.count == 0) continue;
    PD_TRY(pd_ttmc_order_create(context, &segments, &work->order[n]));
    work->source[n].sorted = &work->order[n];
  }
  return POLYAD_OK;
}

/* Places in the storage of the nonzeros from `first` on in the source's order. */
static void ttmc_rows_find_places(const struct pd_ttmc_order *sorted, uint64_t first,
                                  uint64_t count, uint64_t *place) {
  if (sorted->begin == NULL) {
    for (uint64_t p = 0; p < count; ++p)
      place[p] = pd_id_at(sorted->first, sorted->bytes, first + p);
    return;
  }
  uint64_t k = pd_ttmc_find(sorted->begin, 8, sorted->segments, 0, first);
  for (uint64_t p = 0; p < count; ++p) {
    while (sorted->begin[k + 1] <= first + p)
      ++k;
    place[p] = pd_id_at(sorted->first, sorted->bytes, k) + (first + p - sorted->begin[k]);
  }
}

void pd_ttmc_decode(const struct pd_ttmc_source *source, uint64_t first, uint64_t count,
                    struct pd_ttmc_block *block) {
  uint64_t place[PD_TTMC_BLOCK];
  if (source->sorted != NULL)
    ttmc_rows_find_places(source->sorted, first, count, place);
  else
    for (uint64_t p = 0; p < count; ++p)
      place[p] = first + p;
  source->decode(source, count, place, block);
}

void pd_ttmc_write_row(const struct pd_ttmc_job *job, const double *restrict sums, uint64_t row) {
  const struct pd_matrix *out = job->out;
  const uint32_t *restrict place = job->place;
  uint64_t at = row * out->stride, size = job->size[0];
  if (out->type == POLYAD_F32) {
    float *restrict to = (float *)out->data + at;
    for (uint64_t k = 0; k < size; ++k)
      to[place == NULL ? k : place[k]] = (float)sums[k];
  } else {
    double *restrict to = (double *)out->data + at;
    for (uint64_t k = 0; k < size; ++k)
      to[place == NULL ? k : place[k]] = sums[k];
  }
}

void pd_ttmc_zero_rows(const struct pd_ttmc_job *job, uint64_t begin, uint64_t end) {
  const struct pd_matrix *out = job->out;
  size_t item = pd_type_bytes(out->type);
  for (uint64_t i = begin; i < end; ++i)
    memset((char *)out->data + i * out->stride * item, 0, (size_t)job->size[0] * item);
}

/* Sums are in the order of the columns, the output in that of the modes. */
static const uint32_t *ttmc_rows_set_places(struct pd_ttmc_work *work,
                                            const struct pd_ttmc_job *job) {
  const struct pd_ttmc_source *source = job->source;
  uint64_t stride[POLYAD_MAX_ORDER], digit[POLYAD_MAX_ORDER] = {0};
  bool ascending = true;
  for (int g = 0; g < source->columns; ++g) {
    stride[g] = 1;
    for (int k = 0; k < source->columns; ++k)
      if (source->column_mode[k] > source->column_mode[g]) stride[g] *= job->rank[k];
    if (g > 0 && source->column_mode[g] < source->column_mode[g - 1]) ascending = false;
  }
  if (ascending) return NULL;
  uint64_t to = 0;
  for (uint64_t k = 0; k < job->size[0]; ++k) {
    work->place[k] = (uint32_t)to;
    for (int g = source->columns - 1; g >= 0; --g) {
      to += stride[g];
      if (++digit[g] < job->rank[g]) break;
      to -= stride[g] * job->rank[g];
      digit[g] = 0;
    }
  }
  return work->place;
}

static struct pd_ttmc_job make_job(struct pd_ttmc_work *work, const struct pd_ttmc_source *source,
                                   const struct pd_matrix *const *factors, struct pd_matrix *out) {
  struct pd_ttmc_job job = {.source = source, .out = out};
  job.size[source->columns] = 1;
  for (int g = source->columns - 1; g >= 0; --g) {
    const struct pd_matrix *factor = factors[source->column_mode[g]];
    job.factor[g] = factor->data;
    job.stride[g] = factor->stride;
    job.rank[g] = factor->columns;
    job.size[g] = job.size[g + 1] * factor->columns;
  }
  job.place = ttmc_rows_set_places(work, &job);
  return job;
}

static void ttmc_rows_set_part(const struct pd_ttmc_work *work, const struct pd_ttmc_job *job,
                               int thread, struct pd_ttmc_part *part) {
  uint64_t nnz = job->source->nnz;
  double *at = work->sums + (uint64_t)thread * numbers_each(work->row, work->partial);
  *part = (struct pd_ttmc_part){.begin = pd_part_begin(nnz, thread, work->threads),
                                .end = pd_part_begin(nnz, thread + 1, work->threads),
                                .head = at,
                                .tail = at + work->row,
                                .block = &work->block[thread]};
  at += 2 * work->row;
  for (int g = 0; g <= job->source->columns; ++g) {
    part->sum[g] = at;
    at += job->size[g];
  }
  memset(part->block->hint, 0, sizeof part->block->hint);
}

static void ttmc_rows_join_parts(const struct pd_ttmc_work *work, const struct pd_ttmc_job *job) {
  double *whole = NULL;
  for (int t = 0; t < work->threads; ++t) {
    const struct pd_ttmc_part *part = &work->part[t];
    if (part->has_head) {
      for (uint64_t k = 0; k < job->size[0]; ++k)
        whole[k] += part->head[k];
      if (part->head_ends) pd_ttmc_write_row(job, whole, part->head_row);
    }
    if (part->has_tail) whole = part->tail;
  }
}

polyad_status pd_ttmc_run(polyad_context *context, const void *storage, void *pointer,
                          const struct pd_call *call) {
  (void)context, (void)storage;
  struct pd_ttmc_work *work = pointer;
  const struct pd_ttmc_source *source = &work->source[call->mode];
  struct pd_ttmc_job job = make_job(work, source, call->factors, call->out);
  pd_ttmc_walk_function *walk = PD_ISA_PICK(pd_ttmc_walk_function, pd_ttmc_walk);
  if (source->nnz == 0) {
    pd_ttmc_zero_rows(&job, 0, call->out->rows);
    return POLYAD_OK;
  }
#pragma omp parallel for num_threads(work->threads) schedule(static, 1)
  for (int t = 0; t < work->threads; ++t) {
    ttmc_rows_set_part(work, &job, t, &work->part[t]);
    if (work->part[t].begin < work->part[t].end) walk(&job, &work->part[t]);
  }
  ttmc_rows_join_parts(work, &job);
  return POLYAD_OK;
}
