/* The CPU's dense algebra: its table, its scratch memory, and the small operations. */
#include "linalg/cpu_lent_rows.h"
#include "linalg/cpu_mixed.h"
#include "linalg/cpu_solve.h"
#include "linalg/lapack.h"
#include <math.h>
#include <string.h>

static uint64_t padded_number(uint64_t rank) {
  return pd_add_saturated(rank, PD_COLUMN_TILE - 1) / PD_COLUMN_TILE * PD_COLUMN_TILE;
}

static uint64_t cpu_linalg_numbers_per_thread(uint64_t rank) {
  return pd_mul_saturated(padded_number(rank), 2 + PD_TILE_ROWS);
}

static uint64_t numbers_per_part(uint64_t rank) {
  uint64_t padded = padded_number(rank);
  return pd_mul_saturated(padded, pd_add_saturated(padded, 3));
}

/* More parts let more threads share the rows; each has a Gram matrix of its own. */
enum { MOST_PARTS = 32, LEAST_PARTS = 4 };
static const uint64_t part_bytes = UINT64_C(1) << 28;

/* The most parts that matrices of a rank have. */
static int most_parts(uint64_t rank) {
  uint64_t parts = part_bytes / pd_mul_saturated(numbers_per_part(rank), sizeof(double));
  return parts < LEAST_PARTS ? LEAST_PARTS : parts > MOST_PARTS ? MOST_PARTS : (int)parts;
}

static uint64_t shared_numbers(uint64_t rank) {
  /* lower, vectors, inverse; numbers to squares; pd_eigen() */
  return pd_add_saturated(pd_mul_saturated(3, pd_mul_saturated(rank, padded_number(rank))),
                          pd_mul_saturated(rank, 7 + pd_eigen_numbers(1)));
}

static uint64_t cpu_linalg_work_bytes(uint64_t rank, int threads) {
  uint64_t numbers =
      pd_add_saturated(shared_numbers(rank),
                       pd_mul_saturated((uint64_t)threads, cpu_linalg_numbers_per_thread(rank)));
  numbers = pd_add_saturated(numbers,
                             pd_mul_saturated((uint64_t)most_parts(rank), numbers_per_part(rank)));
  return pd_mul_saturated(numbers, sizeof(double));
}

static void cpu_linalg_work_destroy(polyad_context *context, struct pd_linalg_work *work) {
  if (work == NULL) return;
  PD_FREE(context, work->memory, work->thread, work->part, work->sent, work);
}

static void divide_memory(struct pd_linalg_work *work) {
  double *next = work->memory;
  size_t padded = pd_padded(work->rank), square = work->rank * padded;
  work->lower = next;
  work->vectors = (next += square);
  work->inverse = (next += square);
  work->numbers = (next += square);
  work->divided = (next += 2 * work->rank);
  work->reciprocal = (next += work->rank);
  work->weighed = (next += work->rank);
  work->pull = (next += work->rank);
  work->squares = (next += work->rank);
  work->eigen_work = (next += work->rank);
  next += pd_eigen_numbers(work->rank);
  for (int t = 0; t < work->threads; ++t) {
    work->thread[t].norm = next;
    work->thread[t].inner = (next += padded);
    work->thread[t].tile = (next += padded);
    next += PD_TILE_ROWS * padded;
  }
  for (int p = 0; p < work->parts; ++p) {
    work->part[p].gram = next;
    work->part[p].inner = (next += padded * padded);
    work->part[p].largest = (next += padded);
    work->part[p].squares = (next += padded);
    next += padded;
  }
}

static polyad_status cpu_linalg_work_create(polyad_context *context, const struct pd_device *device,
                                            uint64_t rank, struct pd_linalg_work **out) {
  (void)device;
  struct pd_linalg_work *work = NULL;
  *out = NULL;
  PD_TRY(PD_NEW_ZERO(context, 1, &work));
  work->rank = (size_t)rank;
  work->threads = polyad_threads(context);
  work->parts = most_parts(rank);
  uint64_t bytes = cpu_linalg_work_bytes(rank, work->threads);
  if (bytes == UINT64_MAX || rank > INT32_MAX / 64) {
    cpu_linalg_work_destroy(context, work);
    return pd_fail(context, POLYAD_OVERFLOW, "rank %llu is too large for R x R matrices",
                   (unsigned long long)rank);
  }
  polyad_status status = PD_NEW(context, (uint64_t)work->threads, &work->thread);
  if (status == POLYAD_OK) status = PD_NEW(context, (uint64_t)work->parts, &work->part);
  if (status == POLYAD_OK) status = pd_alloc_zero(context, bytes, 1, (void **)&work->memory);
  if (status != POLYAD_OK) {
    cpu_linalg_work_destroy(context, work);
    return status;
  }
  divide_memory(work);
  *out = work;
  return POLYAD_OK;
}

static polyad_status cpu_linalg_join(polyad_context *context, struct pd_linalg_work *work,
                                     polyad_team *team) {
  if (work->sent == NULL && team != NULL)
    PD_TRY(PD_NEW(context, pd_mul_saturated(work->rank, work->rank + PD_COLUMN_SUMS), &work->sent));
  work->team = team;
  return POLYAD_OK;
}

static polyad_status cpu_linalg_gram(polyad_context *context, struct pd_linalg_work *work,
                                     const struct pd_matrix *a, struct pd_matrix *out,
                                     struct pd_matrix *peak) {
  pd_cpu_gram(work, a, out->data, peak->data);
  const struct pd_cpu_sums sums = {.gram = out->data, .column[PD_SUM_LARGEST] = peak->data};
  if (pd_team_is_mixed(work->team)) return pd_cpu_share_mixed(context, work, &sums);
  PD_TRY(pd_team_sum(context, work->team, work->rank * work->rank, out->data));
  return pd_team_max(context, work->team, work->rank, peak->data);
}

static polyad_status cpu_linalg_hadamard(polyad_context *context, struct pd_linalg_work *work,
                                         int count, const struct pd_matrix *const *grams, int skip,
                                         double ridge, struct pd_matrix *v) {
  (void)context;
  size_t rank = work->rank;
  double *out = v->data;
  for (size_t k = 0; k < rank * rank; ++k)
    out[k] = 1.0;
  for (int n = 0; n < count; ++n) {
    if (n == skip) continue;
    const double *factor = grams[n]->data;
    for (size_t k = 0; k < rank * rank; ++k)
      out[k] *= factor[k];
  }
  for (size_t r = 0; r < rank; ++r)
    out[r * rank + r] += ridge;
  return POLYAD_OK;
}

/* An update of the CPU does all its work itself. */
static polyad_status cpu_linalg_prepare(polyad_context *context, int runs,
                                        const struct pd_update *updates) {
  for (const struct pd_update *u = updates; u < updates + runs; ++u)
    PD_TRY(cpu_linalg_hadamard(context, u->work, u->count, u->grams, u->skip, u->ridge, u->v));
  return POLYAD_OK;
}

static polyad_status cpu_linalg_copy_columns(polyad_context *context,
                                             const struct pd_device *device, int count,
                                             const struct pd_column_copy *copies) {
  (void)context;
  (void)device;
  for (const struct pd_column_copy *copy = copies; copy < copies + count; ++copy) {
    size_t bytes = pd_type_bytes(copy->to->type);
    for (uint64_t i = 0; i < copy->to->rows; ++i)
      memcpy(pd_cpu_row(copy->to, i) + copy->first_to * bytes,
             pd_cpu_row(copy->from, i) + copy->first_from * bytes, copy->columns * bytes);
  }
  return POLYAD_OK;
}

static polyad_status cpu_linalg_add(polyad_context *context, struct pd_linalg_work *work,
                                    const struct pd_matrix *y, struct pd_matrix *x) {
  (void)context;
  int threads = pd_cpu_pass_threads(work, x);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t i = 0; i < x->rows; ++i) {
    const void *from = pd_cpu_row(y, i);
    void *to = pd_cpu_row(x, i);
    for (uint64_t r = 0; r < x->columns; ++r)
      if (x->type == POLYAD_F64)
        ((double *)to)[r] += ((const double *)from)[r];
      else
        ((float *)to)[r] += ((const float *)from)[r];
  }
  return POLYAD_OK;
}

/* Squared norm of component r but for its column in the last factor. */
static double cpu_linalg_others_squared(int count, const struct pd_matrix *const *grams,
                                        const struct pd_matrix *lambda, size_t rank, size_t r) {
  double weight = ((const double *)lambda->data)[r], square = weight * weight;
  for (int n = 0; n < count - 1; ++n)
    square *= ((const double *)grams[n]->data)[r * rank + r];
  return square;
}

static double cpu_linalg_spread_of(const struct pd_linalg_work *work, int count,
                                   const struct pd_matrix *const *grams,
                                   const struct pd_matrix *lambda) {
  double sum = 0;
  for (size_t r = 0; r < work->rank; ++r)
    sum += cpu_linalg_others_squared(count, grams, lambda, work->rank, r) * work->squares[r];
  return sum;
}

/* Entry (r, s) of the product of all Gram matrices. */
static double product_entry(int count, const struct pd_matrix *const *grams, size_t entry) {
  double product = 1;
  for (int n = 0; n < count; ++n)
    product *= ((const double *)grams[n]->data)[entry];
  return product;
}

static void find_model_norm(const struct pd_norm *of) {
  struct pd_linalg_work *work = of->work;
  const struct pd_matrix *const *grams = of->grams, *lambda = of->lambda;
  int count = of->count;
  size_t rank = work->rank;
  const double *weight = lambda->data, *most = of->peak->data;
  double sum = 0, norms = 0, peaks = 0, clipped = 0;
  for (size_t r = 0; r < rank; ++r) {
    double line = 0;
    for (size_t s = 0; s < rank; ++s)
      line += product_entry(count, grams, r * rank + s) * weight[s];
    sum += weight[r] * line;
    norms += sqrt(weight[r] * weight[r] * product_entry(count, grams, r * rank + r));
    peaks += cpu_linalg_others_squared(count, grams, lambda, rank, r) * most[r] * most[r];
    clipped += weight[r] == 0 ? 1 : 0;
  }
  work->scalars[PD_SCALAR_MODEL] = sum;
  work->scalars[PD_SCALAR_NORMS] = norms;
  work->scalars[PD_SCALAR_PEAKS] = peaks;
  work->scalars[PD_SCALAR_CLIPPED] = clipped;
  if (of->spreads)
    work->scalars[PD_SCALAR_SPREAD] = cpu_linalg_spread_of(work, count, grams, lambda);
}

static polyad_status cpu_linalg_model_norm(polyad_context *context, int runs,
                                           const struct pd_norm *norms) {
  (void)context;
  for (int k = 0; k < runs; ++k)
    find_model_norm(&norms[k]);
  return POLYAD_OK;
}

static polyad_status cpu_linalg_spread(polyad_context *context, struct pd_linalg_work *work,
                                       const struct pd_matrix *slices, const struct pd_matrix *x,
                                       int count, const struct pd_matrix *const *grams,
                                       const struct pd_matrix *lambda) {
  pd_cpu_weighted_squares(work, slices->data, x);
  const struct pd_cpu_sums sums = {.column[PD_SUM_SQUARE] = work->squares};
  PD_TRY(pd_team_is_mixed(work->team)
             ? pd_cpu_share_mixed(context, work, &sums)
             : pd_team_sum(context, work->team, work->rank, work->squares));
  work->scalars[PD_SCALAR_SPREAD] = cpu_linalg_spread_of(work, count, grams, lambda);
  return POLYAD_OK;
}

static polyad_status cpu_linalg_weighted_inner(polyad_context *context, struct pd_linalg_work *work,
                                               const struct pd_matrix *m, const struct pd_matrix *x,
                                               const struct pd_matrix *lambda) {
  pd_cpu_weighted_inner(work, m, x, lambda->data);
  if (pd_team_is_mixed(work->team)) return pd_cpu_share_inner(context, work, x, lambda->data);
  return pd_team_sum(context, work->team, 1, &work->scalars[PD_SCALAR_INNER]);
}

static polyad_status cpu_linalg_fetch(polyad_context *context, int runs,
                                      struct pd_linalg_work *const *works,
                                      double (*scalars)[PD_SCALARS]) {
  (void)context;
  for (int k = 0; k < runs; ++k) {
    double *mine = works[k]->scalars;
    memcpy(scalars[k], mine, sizeof scalars[k]);
    mine[PD_SCALAR_FALLBACKS] = mine[PD_SCALAR_DAMPED] = 0;
    mine[PD_SCALAR_UPDATES] = mine[PD_SCALAR_SHIFTED] = 0;
  }
  return POLYAD_OK;
}

const struct pd_linalg pd_cpu_linalg = {
    .svd = &pd_cpu_svd,
    .completion = &pd_cpu_completion,
    .work_create = cpu_linalg_work_create,
    .work_destroy = cpu_linalg_work_destroy,
    .work_bytes = cpu_linalg_work_bytes,
    .join = cpu_linalg_join,
    .take_rows = pd_cpu_take_rows,
    .add_rows = pd_cpu_add_rows,
    .gram = cpu_linalg_gram,
    .add = cpu_linalg_add,
    .hadamard = cpu_linalg_hadamard,
    .copy_columns = cpu_linalg_copy_columns,
    .prepare = cpu_linalg_prepare,
    .update_rows = pd_cpu_update_rows_by_solving,
    .update_rows_nonnegative = pd_cpu_update_rows_nonnegative,
    .update_finish = pd_cpu_update_finish,
    .weighted_inner = cpu_linalg_weighted_inner,
    .model_norm = cpu_linalg_model_norm,
    .spread = cpu_linalg_spread,
    .residual = pd_cpu_residual,
    .weigh = pd_cpu_weigh,
    .kkt = pd_cpu_kkt,
    .multiply = pd_cpu_multiply,
    .normalize = pd_cpu_normalize,
    .fetch = cpu_linalg_fetch,
};
