/* Bi-cross-validation of CP models. With fold f of modes a and b, the tensor has four parts: the
 * training part outside of the fold in both modes, X_a in the fold in mode a alone, X_b in mode b
 * alone, and the test part T in both. A model lambda, A, B, C, ... of the training part (rows of A
 * and B in the fold are zero) is completed by least squares,
 *
 *   A_f = MTTKRP_a(X_a) V_a^-1,   B_f = MTTKRP_b(X_b) V_b^-1,
 *
 * V_n the elementwise product of the other modes' Gram matrices, and predicts T by A_f, B_f, C, ...
 * No cell of T has been seen. Cells without a nonzero count as zeros, so that all sums run over
 * nonzeros and Gram matrices. */
#include "algorithms/rank_holdout.h"
#include "algorithms/model_start.h"
#include "core/random.h"
#include "linalg/cholesky.h"
#include "tensor/tensor_pick.h"
#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 16 };

/* ---- folds ---------------------------------------------------------------------------------- */

static void find_modes(const polyad_tensor *tensor, int mode[2]) {
  mode[0] = 0;
  for (int n = 1; n < tensor->order; ++n)
    if (tensor->dims[n] > tensor->dims[mode[0]]) mode[0] = n;
  mode[1] = mode[0] == 0 ? 1 : 0;
  for (int n = 0; n < tensor->order; ++n)
    if (n != mode[0] && tensor->dims[n] > tensor->dims[mode[1]]) mode[1] = n;
}

/* Folds of equal size, in random order (Fisher and Yates). */
static void rank_holdout_shuffle(uint64_t seed, int mode, uint64_t length, int folds, uint8_t *of) {
  uint64_t stream = UINT64_MAX - (uint64_t)mode; /* no start uses it */
  for (uint64_t i = 0; i < length; ++i)
    of[i] = (uint8_t)(i % (uint64_t)folds);
  for (uint64_t i = length; i > 1; --i) {
    uint64_t other = pd_random_u64(seed, stream, i) % i;
    uint8_t swap = of[i - 1];
    of[i - 1] = of[other];
    of[other] = swap;
  }
}

polyad_status pd_holdout_split(polyad_context *context, const polyad_tensor *tensor, int folds,
                               struct pd_holdout *holdout) {
  *holdout = (struct pd_holdout){.folds = 0};
  if (tensor->order < 2 || folds == 0) return POLYAD_OK;
  find_modes(tensor, holdout->mode);
  uint64_t most = tensor->dims[holdout->mode[1]] / 2;
  if (most < 2) return POLYAD_OK;
  holdout->folds = most < (uint64_t)folds ? (int)most : folds;
  for (int side = 0; side < 2; ++side) {
    int n = holdout->mode[side];
    PD_TRY(PD_NEW(context, tensor->dims[n], &holdout->of[side]));
    rank_holdout_shuffle(polyad_seed(context), n, tensor->dims[n], holdout->folds,
                         holdout->of[side]);
  }
  return POLYAD_OK;
}

void pd_holdout_clear(polyad_context *context, struct pd_holdout *holdout) {
  for (int side = 0; side < 2; ++side)
    pd_free(context, holdout->of[side]);
  *holdout = (struct pd_holdout){.folds = 0};
}

/* Bit 0: the nonzero is in the fold in the first of the two modes; bit 1: in the second. */
enum part { TRAINING = 0, ONLY_FIRST = 1, ONLY_SECOND = 2, TEST = 3 };

static enum part rank_holdout_part_of(const struct pd_holdout *holdout, const polyad_tensor *tensor,
                                      int fold, uint64_t p) {
  int in = 0;
  for (int side = 0; side < 2; ++side)
    if (holdout->of[side][pd_tensor_index(tensor, holdout->mode[side], p)] == fold) in |= 1 << side;
  return (enum part)in;
}

/* The places of the nonzeros of a part. */
static polyad_status rank_holdout_find_places(polyad_context *context,
                                              const struct pd_holdout *holdout,
                                              const polyad_tensor *tensor, int fold, enum part part,
                                              uint64_t **place, uint64_t *count) {
  *count = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    *count += rank_holdout_part_of(holdout, tensor, fold, p) == part;
  PD_TRY(PD_NEW(context, *count, place));
  uint64_t at = 0;
  for (uint64_t p = 0; p < tensor->nnz; ++p)
    if (rank_holdout_part_of(holdout, tensor, fold, p) == part) (*place)[at++] = p;
  return POLYAD_OK;
}

/* ---- the training part ---------------------------------------------------------------------- */

polyad_status pd_holdout_plan(struct pd_rank_job *job, const struct pd_holdout *holdout,
                              const polyad_tensor *tensor, int fold, polyad_plan **plan) {
  polyad_context *context = job->context;
  uint64_t *place = NULL, count;
  polyad_tensor *part = NULL;
  polyad_status status = POLYAD_OK;
  polyad_plan_options options;
  polyad_plan_options_init(&options);
  options.rank = job->options->ranks[job->options->rank_count - 1];
  options.columns = UINT64_MAX; /* starts of all ranks */
  options.precision = tensor->type;
  if (job->options->algorithm == POLYAD_ALGORITHM_APR_MU) options.kernel = POLYAD_KERNEL_PHI;
  *plan = NULL;
  PD_TRY_CLEANUP(
      rank_holdout_find_places(context, holdout, tensor, fold, TRAINING, &place, &count));
  if (count == 0) goto cleanup;
  PD_TRY_CLEANUP(pd_tensor_pick(context, tensor, count, place, &part));
  status = polyad_plan_create_take(context, &part, &options, plan);
cleanup:
  pd_free(context, place);
  polyad_tensor_destroy(part);
  return status;
}

/* ---- prediction ----------------------------------------------------------------------------- */

struct prediction {
  polyad_context *context;
  const struct pd_holdout *holdout;
  const polyad_tensor *tensor;
  int fold;
  uint64_t rank;
  double *factor[POLYAD_MAX_ORDER]; /* I_n x R of the training part; weights are in mode[0]'s */
  double *completed[2];             /* of the two modes: the rows of the fold; others are zero */
  double *gram[POLYAD_MAX_ORDER];   /* R x R of each factor */
  double *v, *lower, *inverse;      /* R x R, R x R, R */
};

static bool in_fold(const struct prediction *p, int side, uint64_t row) {
  return p->holdout->of[side][row] == p->fold;
}

static void find_gram(uint64_t rows, uint64_t rank, const double *factor, double *gram) {
  memset(gram, 0, rank * rank * sizeof *gram);
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s <= r; ++s)
        gram[r * rank + s] += factor[i * rank + r] * factor[i * rank + s];
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = r + 1; s < rank; ++s)
      gram[r * rank + s] = gram[s * rank + r];
}

/* Factors in double. A row without nonzeros in the training part keeps nothing of its start. */
static polyad_status take_model(struct prediction *p, const polyad_ktensor *model) {
  uint64_t square = p->rank * p->rank;
  for (int n = 0; n < model->order; ++n) {
    uint64_t count = model->dims[n] * p->rank;
    PD_TRY(PD_NEW(p->context, count, &p->factor[n]));
    PD_TRY(PD_NEW(p->context, square, &p->gram[n]));
    for (uint64_t k = 0; k < count; ++k)
      p->factor[n][k] = pd_model_number(model, model->factor[n], k);
  }
  for (int side = 0; side < 2; ++side) {
    int n = p->holdout->mode[side];
    PD_TRY(PD_NEW_ZERO(p->context, pd_mul_saturated(model->dims[n], p->rank), &p->completed[side]));
    for (uint64_t i = 0; i < model->dims[n]; ++i)
      for (uint64_t r = 0; r < p->rank; ++r) {
        double *x = &p->factor[n][i * p->rank + r];
        if (in_fold(p, side, i)) *x = 0;
        if (side == 0) *x *= pd_model_number(model, model->weights, r);
      }
  }
  for (int n = 0; n < model->order; ++n)
    find_gram(model->dims[n], p->rank, p->factor[n], p->gram[n]);
  PD_TRY(PD_NEW(p->context, square, &p->v));
  PD_TRY(PD_NEW(p->context, square, &p->lower));
  return PD_NEW(p->context, p->rank, &p->inverse);
}

/* out += the nonzeros at these places times the other factors' rows: MTTKRP. Threads share the
 * columns, so that the order of additions does not depend on their number. */
static void rank_holdout_add_products(const struct prediction *p, int mode, uint64_t count,
                                      const uint64_t *place, double *out) {
  const polyad_tensor *x = p->tensor;
  uint64_t rank = p->rank;
  int threads = pd_threads_for(p->context, count * rank * (uint64_t)x->order, GRAIN);
  if ((uint64_t)threads > rank) threads = (int)rank;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    uint64_t begin = pd_part_begin(rank, t, threads), end = pd_part_begin(rank, t + 1, threads);
    for (uint64_t k = 0; k < count; ++k) {
      double value = pd_tensor_value(x, place[k]);
      double *to = out + pd_tensor_index(x, mode, place[k]) * rank;
      for (uint64_t r = begin; r < end; ++r) {
        double product = value;
        for (int n = 0; n < x->order; ++n)
          if (n != mode) product *= p->factor[n][pd_tensor_index(x, n, place[k]) * rank + r];
        to[r] += product;
      }
    }
  }
}

/* v = the elementwise product of Gram matrices but one's. */
static void multiply_grams(const struct prediction *p, int but) {
  for (uint64_t k = 0; k < p->rank * p->rank; ++k) {
    p->v[k] = 1;
    for (int n = 0; n < p->tensor->order; ++n)
      if (n != but) p->v[k] *= p->gram[n][k];
  }
}

/* Factors v, with as little added to its diagonal as that needs; false when v is zero. */
static bool factorize(struct prediction *p) {
  double most = 0, ratio = 1, rounding = pd_cholesky_rounding((size_t)p->rank);
  for (uint64_t r = 0; r < p->rank; ++r)
    most = fmax(most, p->v[r * p->rank + r]);
  if (!(most > 0) || !isfinite(most)) return false;
  double ridge = 0;
  while (ridge < 1) {
    for (uint64_t r = 0; r < p->rank; ++r)
      p->v[r * p->rank + r] += ridge * most;
    if (pd_cholesky((size_t)p->rank, p->v, rounding, p->lower, p->inverse, &ratio)) return true;
    ridge = ridge > 0 ? 100 * ridge : rounding;
  }
  return false;
}

/* row = row v^-1, from the Cholesky factor. */
static void rank_holdout_solve_row(const struct prediction *p, double *row) {
  uint64_t rank = p->rank;
  for (uint64_t r = 0; r < rank; ++r) {
    for (uint64_t s = 0; s < r; ++s)
      row[r] -= p->lower[r * rank + s] * row[s];
    row[r] *= p->inverse[r];
  }
  for (uint64_t r = rank; r-- > 0;) {
    for (uint64_t s = r + 1; s < rank; ++s)
      row[r] -= p->lower[s * rank + r] * row[s];
    row[r] *= p->inverse[r];
  }
}

/* The rows of the fold of one of the modes, by least squares. */
static polyad_status rank_holdout_complete(struct prediction *p, int side) {
  int n = p->holdout->mode[side];
  uint64_t *place = NULL, count;
  PD_TRY(rank_holdout_find_places(p->context, p->holdout, p->tensor, p->fold,
                                  side == 0 ? ONLY_FIRST : ONLY_SECOND, &place, &count));
  multiply_grams(p, n);
  if (factorize(p)) {
    rank_holdout_add_products(p, n, count, place, p->completed[side]);
    for (uint64_t i = 0; i < p->tensor->dims[n]; ++i)
      if (in_fold(p, side, i)) rank_holdout_solve_row(p, p->completed[side] + i * p->rank);
  }
  pd_free(p->context, place);
  return POLYAD_OK;
}

/* Takes the completed rows for the factors of both modes. The least-squares rows of the first mode
 * have the weights in them; those of the second were found with weights in the first. */
static void use_completed(struct prediction *p) {
  for (int side = 0; side < 2; ++side) {
    int n = p->holdout->mode[side];
    double *swap = p->factor[n];
    p->factor[n] = p->completed[side];
    p->completed[side] = swap;
    find_gram(p->tensor->dims[n], p->rank, p->factor[n], p->gram[n]);
  }
}

/* ||T - M||^2 / ||T||^2 with <T, M> over the nonzeros and ||M||^2 from Gram matrices. */
static polyad_status rank_holdout_compare(struct prediction *p, double *error) {
  uint64_t *place = NULL, count;
  double squares = 0, inner = 0, model = 0;
  PD_TRY(
      rank_holdout_find_places(p->context, p->holdout, p->tensor, p->fold, TEST, &place, &count));
  for (uint64_t k = 0; k < count; ++k) {
    double value = pd_tensor_value(p->tensor, place[k]), at = 0;
    for (uint64_t r = 0; r < p->rank; ++r) {
      double product = 1;
      for (int n = 0; n < p->tensor->order; ++n)
        product *= p->factor[n][pd_tensor_index(p->tensor, n, place[k]) * p->rank + r];
      at += product;
    }
    squares += value * value;
    inner += value * at;
  }
  pd_free(p->context, place);
  multiply_grams(p, -1);
  for (uint64_t k = 0; k < p->rank * p->rank; ++k)
    model += p->v[k];
  *error = squares > 0 ? fmax((squares - 2 * inner + model) / squares, 0) : NAN;
  return POLYAD_OK;
}

polyad_status pd_holdout_error(polyad_context *context, const struct pd_holdout *holdout,
                               const polyad_tensor *tensor, int fold, const polyad_ktensor *model,
                               double *error) {
  struct prediction p = {
      .context = context, .holdout = holdout, .tensor = tensor, .fold = fold, .rank = model->rank};
  polyad_status status = POLYAD_OK;
  *error = NAN;
  PD_TRY_CLEANUP(take_model(&p, model));
  for (int side = 0; side < 2; ++side)
    PD_TRY_CLEANUP(rank_holdout_complete(&p, side));
  use_completed(&p);
  status = rank_holdout_compare(&p, error);
cleanup:
  for (int n = 0; n < tensor->order; ++n) {
    PD_FREE(context, p.factor[n], p.gram[n]);
  }
  for (int side = 0; side < 2; ++side)
    pd_free(context, p.completed[side]);
  PD_FREE(context, p.v, p.lower, p.inverse);
  return status;
}

polyad_status pd_holdout_match(polyad_context *context, const struct pd_holdout *holdout, int fold,
                               const polyad_ktensor *model, const polyad_ktensor *whole,
                               double *score) {
  polyad_ktensor *part = NULL;
  PD_TRY(pd_model_copy(context, whole, &part));
  for (int side = 0; side < 2; ++side) {
    int n = holdout->mode[side];
    for (uint64_t i = 0; i < part->dims[n]; ++i)
      for (uint64_t r = 0; r < part->rank && holdout->of[side][i] == fold; ++r)
        pd_model_set(part, part->factor[n], i * part->rank + r, 0);
  }
  polyad_status status = polyad_ktensor_score(context, model, part, 0, score, NULL);
  polyad_ktensor_destroy(part);
  return status;
}
