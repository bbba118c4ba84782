/* Higher-order orthogonal iteration (L. De Lathauwer, B. De Moor and J. Vandewalle 2000) on a dense
 * core. In each iteration every factor becomes the leading eigenvectors of Y_(n) Y_(n)^T, Y the
 * core multiplied by all other factors. The eigenvalues tell how much any number of columns of that
 * mode would keep. */
#include "algorithms/core_iterate.h"
#include "linalg/symmetric.h"
#include "tensor/tensor.h"
#include <float.h>
#include <string.h>

enum { MOST_ITERATIONS = 50, ROOM = 12, CHUNK = 256, GRAIN = 1 << 16 };
/* Iterations converge linearly: what is gained from now on is at most this many times what the last
 * one gained, unless the rate is above 0.95. */
static const double most_gain = 20;

/* ---- memory --------------------------------------------------------------------------------- */

static uint64_t core_iterate_longest(const struct pd_core *core) {
  uint64_t most = 1;
  for (int n = 0; n < core->order; ++n)
    most = core->dims[n] > most ? core->dims[n] : most;
  return most;
}

polyad_status pd_core_work_create(polyad_context *context, const struct pd_core *core,
                                  struct pd_core_work *work) {
  uint64_t most = core_iterate_longest(core);
  *work = (struct pd_core_work){.core = core};
  PD_TRY(PD_NEW(context, pd_cells(core->order, core->dims), &work->from));
  PD_TRY(PD_NEW(context, pd_cells(core->order, core->dims), &work->to));
  PD_TRY(PD_NEW(context, pd_mul_saturated(most, most), &work->gram));
  PD_TRY(PD_NEW(context, most, &work->values));
  return PD_NEW(context, pd_mul_saturated(most, most), &work->vectors);
}

void pd_core_work_clear(polyad_context *context, struct pd_core_work *work) {
  PD_FREE(context, work->from, work->to, work->gram, work->values, work->vectors);
  *work = (struct pd_core_work){0};
}

static polyad_status new_model(polyad_context *context, const struct pd_core *core,
                               const uint64_t *ranks, struct pd_core_model *model) {
  *model = (struct pd_core_model){.share = 0};
  for (int n = 0; n < core->order; ++n) {
    uint64_t more = 2 * ranks[n] + ROOM;
    model->ranks[n] = ranks[n];
    model->columns[n] = more < core->dims[n] ? more : core->dims[n];
    PD_TRY(PD_NEW_ZERO(context, pd_mul_saturated(core->dims[n], model->columns[n]),
                       &model->vectors[n]));
    PD_TRY(PD_NEW_ZERO(context, model->columns[n] + 1, &model->shares[n]));
  }
  return POLYAD_OK;
}

polyad_status pd_core_model_create(polyad_context *context, const struct pd_core *core,
                                   const uint64_t *ranks, struct pd_core_model *model) {
  PD_TRY(new_model(context, core, ranks, model));
  for (int n = 0; n < core->order; ++n)
    for (uint64_t r = 0; r < model->columns[n]; ++r)
      model->vectors[n][r * model->columns[n] + r] = 1;
  return POLYAD_OK;
}

polyad_status pd_core_model_cut(polyad_context *context, const struct pd_core *core,
                                const struct pd_core_model *from, const uint64_t *ranks,
                                struct pd_core_model *model) {
  PD_TRY(new_model(context, core, ranks, model));
  for (int n = 0; n < core->order; ++n)
    for (uint64_t i = 0; i < core->dims[n]; ++i)
      memcpy(model->vectors[n] + i * model->columns[n], from->vectors[n] + i * from->columns[n],
             ranks[n] * sizeof(double));
  return POLYAD_OK;
}

void pd_core_model_clear(polyad_context *context, struct pd_core_model *model) {
  for (int n = 0; n < POLYAD_MAX_ORDER; ++n) {
    PD_FREE(context, model->vectors[n], model->shares[n]);
  }
  *model = (struct pd_core_model){0};
}

/* ---- one mode ------------------------------------------------------------------------------- */

/* to = from x_n W^T for from of outer x dim x inner, W dim x rank. */
static void contract(int threads, uint64_t outer, uint64_t dim, uint64_t inner, const double *from,
                     uint64_t rank, const double *vectors, uint64_t stride, double *to) {
  uint64_t chunks = (inner + CHUNK - 1) / CHUNK;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t part = 0; part < outer * chunks; ++part) {
    uint64_t o = part / chunks, begin = part % chunks * CHUNK;
    uint64_t width = inner - begin < CHUNK ? inner - begin : CHUNK;
    double *out = to + o * rank * inner + begin;
    for (uint64_t r = 0; r < rank; ++r)
      memset(out + r * inner, 0, width * sizeof *out);
    for (uint64_t d = 0; d < dim; ++d) {
      const double *restrict in = from + (o * dim + d) * inner + begin;
      const double *w = vectors + d * stride;
      for (uint64_t r = 0; r < rank; ++r) {
        double *restrict line = out + r * inner;
        for (uint64_t j = 0; j < width; ++j)
          line[j] += w[r] * in[j];
      }
    }
  }
}

/* The mode that is contracted next: the one that shrinks most, then the cheaper one. */
static int next_mode(const struct pd_core_model *model, const uint64_t *dims, int order, int skip,
                     const bool *contracted) {
  int best = -1;
  for (int n = 0; n < order; ++n) {
    if (n == skip || contracted[n]) continue;
    if (best < 0 ||
        (double)model->ranks[n] * (double)dims[best] < (double)model->ranks[best] * (double)dims[n])
      best = n;
  }
  return best;
}

/* work->from = the core multiplied by every factor but that of mode `skip`. */
static polyad_status chain(struct pd_stage *stage, struct pd_core_work *work,
                           const struct pd_core_model *model, int skip, uint64_t *dims) {
  const struct pd_core *core = work->core;
  const double *from = core->data;
  bool contracted[POLYAD_MAX_ORDER] = {false};
  memcpy(dims, core->dims, sizeof core->dims);
  for (int step = 0; step < core->order - 1; ++step) {
    int n = next_mode(model, dims, core->order, skip, contracted);
    uint64_t outer = 1, inner = 1;
    for (int m = 0; m < core->order; ++m) {
      if (m < n) outer *= dims[m];
      if (m > n) inner *= dims[m];
    }
    uint64_t products = outer * inner * dims[n] * model->ranks[n];
    PD_TRY(pd_stage_tick(stage));
    contract(pd_threads_for(stage->context, products, GRAIN), outer, dims[n], inner, from,
             model->ranks[n], model->vectors[n], model->columns[n], work->to);
    work->done += 2 * (double)products;
    dims[n] = model->ranks[n];
    contracted[n] = true;
    double *swap = work->from;
    work->from = work->to;
    work->to = swap;
    from = work->from;
  }
  if (core->order == 1) memcpy(work->from, core->data, dims[0] * sizeof *from);
  return POLYAD_OK;
}

/* gram = Y_(n) Y_(n)^T, its lower triangle, for Y of outer x dim x inner. Threads share rows. */
static void core_iterate_form_gram(int threads, uint64_t outer, uint64_t dim, uint64_t inner,
                                   const double *y, double *gram) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
  for (uint64_t a = 0; a < dim; ++a)
    for (uint64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (uint64_t o = 0; o < outer; ++o) {
        const double *left = y + (o * dim + a) * inner, *right = y + (o * dim + b) * inner;
#pragma omp simd reduction(+ : sum)
        for (uint64_t j = 0; j < inner; ++j)
          sum += left[j] * right[j];
      }
      gram[a * dim + b] = sum;
    }
}

static polyad_status update(struct pd_stage *stage, struct pd_core_work *work,
                            struct pd_core_model *model, int n) {
  uint64_t dims[POLYAD_MAX_ORDER], outer = 1, inner = 1, columns = model->columns[n];
  PD_TRY(chain(stage, work, model, n, dims));
  for (int m = 0; m < work->core->order; ++m) {
    if (m < n) outer *= dims[m];
    if (m > n) inner *= dims[m];
  }
  double products = (double)dims[n] * (double)dims[n] * (double)(outer * inner);
  core_iterate_form_gram(
      pd_threads_for(stage->context, products < 1e18 ? (uint64_t)products : UINT64_MAX, GRAIN),
      outer, dims[n], inner, work->from, work->gram);
  PD_TRY(pd_stage_tick(stage));
  PD_TRY(
      pd_symmetric_leading(stage, dims[n], work->gram, columns, work->values, model->vectors[n]));
  double size = (double)dims[n];
  work->done += products + 10 * size * size * size + 1e5; /* the last: of LAPACK's own calls */
  for (uint64_t r = 0; r < columns; ++r)
    model->shares[n][r + 1] = model->shares[n][r] + (work->values[r] > 0 ? work->values[r] : 0);
  model->share = model->shares[n][model->ranks[n]];
  return POLYAD_OK;
}

polyad_status pd_core_iterate(struct pd_stage *stage, struct pd_core_work *work, double target,
                              struct pd_core_model *model) {
  double before = 0;
  for (int k = 0; k < MOST_ITERATIONS; ++k) {
    for (int n = 0; n < work->core->order; ++n)
      PD_TRY(update(stage, work, model, n));
    double gain = model->share - before;
    if (model->share >= target) break;
    if (k > 0 && (most_gain * gain < target - model->share || gain < DBL_EPSILON)) break;
    before = model->share;
  }
  return POLYAD_OK;
}
