/* Completion on the CPU: the table, and the scratch memory of its steps. */
#include "linalg/completion_cpu.h"

/* Rows are long from this many observations on, and from a 256th of all. */
enum { PIECE_LEAST = 1 << 12, PIECE_SHARE = 256 };

uint64_t pd_observed_long_row(const struct pd_observed_rows *rows, uint64_t i) {
  uint64_t low = 0, high = rows->long_rows;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (rows->long_row[middle] < i)
      low = middle + 1;
    else
      high = middle;
  }
  return low < rows->long_rows && rows->long_row[low] == i ? low : UINT64_MAX;
}

/* A counting sort by the mode's index; start[i] ends where it was. */
static void sort_mode(struct pd_observations *o, int mode) {
  struct pd_observed_rows *rows = &o->rows[mode];
  const uint32_t *index = o->cell[mode];
  for (uint64_t q = 0; q < o->count; ++q) {
    uint64_t to = rows->start[index[q]]++;
    rows->place[to] = q;
    for (int n = 0; n < o->order; ++n)
      if (n != mode) rows->index[n][to] = o->cell[n][q];
  }
  for (uint64_t i = o->dims[mode]; i > 0; --i)
    rows->start[i] = rows->start[i - 1];
  rows->start[0] = 0;
}

static polyad_status completion_sort(polyad_context *context, struct pd_observations *o,
                                     int threads) {
  (void)context;
  if (threads > o->order) threads = o->order;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int n = 1; n < o->order; ++n)
    sort_mode(o, n);
  return POLYAD_OK;
}

static uint64_t completion_work_bytes(const struct pd_completion_job *job, uint64_t observations) {
  uint64_t systems = job->rows ? pd_row_system_bytes(job->columns) : 0;
  uint64_t residual = job->components ? pd_mul_saturated(observations, sizeof(double)) : 0;
  return pd_add_saturated(pd_mul_saturated(systems, (uint64_t)job->threads), residual);
}

static void completion_work_destroy(polyad_context *context, struct pd_completion_work *work) {
  if (work == NULL) return;
  for (int t = 0; t < work->job.threads && work->system != NULL; ++t)
    pd_row_system_clear(context, &work->system[t]);
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n)
    pd_free(context, work->column[n]);
  PD_FREE(context, work->system, work->sums, work->partial, work->residual, work);
}

static polyad_status completion_work_fill(polyad_context *context,
                                          struct pd_completion_work *work) {
  const struct pd_completion_job *job = &work->job;
  uint64_t pieces = 0, numbers = 2; /* of a piece */
  for (int n = 0; n < job->seen->order; ++n)
    if (job->seen->rows[n].pieces > pieces) pieces = job->seen->rows[n].pieces;
  PD_TRY(PD_NEW(context, 2 * pd_completion_chunks(job), &work->partial));
  if (job->rows) {
    PD_TRY(PD_NEW_ZERO(context, (uint64_t)job->threads, &work->system));
    for (int t = 0; t < job->threads; ++t)
      PD_TRY(pd_row_system_create(context, (size_t)job->columns, &work->system[t]));
    numbers = pd_row_sums(&work->system[0]);
  }
  PD_TRY(PD_NEW(context, pd_mul_saturated(pieces, numbers), &work->sums));
  if (!job->components) return POLYAD_OK;
  for (int n = 0; n < job->seen->order; ++n)
    PD_TRY(PD_NEW(context, job->seen->dims[n], &work->column[n]));
  return PD_NEW(context, job->seen->count, &work->residual);
}

static polyad_status completion_work_create(polyad_context *context,
                                            const struct pd_completion_job *job,
                                            struct pd_completion_work **out) {
  struct pd_completion_work *work = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &work));
  work->job = *job;
  polyad_status status = completion_work_fill(context, work);
  if (status == POLYAD_OK)
    *out = work;
  else
    completion_work_destroy(context, work);
  return status;
}

static void completion_forget(struct pd_completion_work *work) { work->stands = false; }

const struct pd_completion pd_cpu_completion = {.piece_least = PIECE_LEAST,
                                                .piece_share = PIECE_SHARE,
                                                .sort = completion_sort,
                                                .work_bytes = completion_work_bytes,
                                                .work_create = completion_work_create,
                                                .work_destroy = completion_work_destroy,
                                                .solve_rows = pd_completion_solve_rows,
                                                .solve_component = pd_completion_solve_component,
                                                .forget = completion_forget,
                                                .measure = pd_completion_measure,
                                                .compare = pd_completion_compare};
