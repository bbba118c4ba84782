/* First factors: random, from a model, or by HOSVD. */
#include "algorithms/als_state.h"
#include "algorithms/hosvd.h"
#include "core/random.h"
#include <math.h>
#include <string.h>

/* Uniform in [0, 1): entry (i, r) of mode n of a start is number i * R + r of its stream. */
static void fill_random(struct pd_als *als, int n, int restart) {
  uint64_t seed = polyad_seed(als->context);
  uint64_t stream = (uint64_t)restart * POLYAD_MAX_ORDER + (uint64_t)n;
  uint64_t count = als->model->dims[n] * als->model->rank;
  int threads = pd_threads_for(als->context, count, 1 << 16);
  double *wide = als->model->factor[n];
  float *narrow = als->model->factor[n];
  bool single = als->model->type == POLYAD_F32;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < count; ++k) {
    double value = pd_random_uniform(seed, stream, k);
    if (single)
      narrow[k] = (float)value;
    else
      wide[k] = value;
  }
}

static polyad_status check_initial(struct pd_als *als, const polyad_ktensor *initial) {
  polyad_context *context = als->context;
  if (initial == NULL)
    return pd_fail(context, POLYAD_INVALID_ARGUMENT, "no initial model is given");
  if (initial->order != als->order)
    return pd_fail(context, POLYAD_MISMATCH,
                   "the initial model has %d modes; expected %d, as the tensor has", initial->order,
                   als->order);
  if (initial->rank != als->model->rank)
    return pd_fail(context, POLYAD_MISMATCH, "the initial model has rank %llu; expected %llu",
                   (unsigned long long)initial->rank, (unsigned long long)als->model->rank);
  for (int n = 0; n < als->order; ++n)
    if (initial->dims[n] != als->model->dims[n])
      return pd_fail(context, POLYAD_MISMATCH,
                     "mode %d of the initial model has length %llu; expected %llu, as the tensor "
                     "has",
                     n + 1, (unsigned long long)initial->dims[n],
                     (unsigned long long)als->model->dims[n]);
  return POLYAD_OK;
}

static double entry(const polyad_ktensor *model, int n, uint64_t k) {
  return model->type == POLYAD_F64 ? ((const double *)model->factor[n])[k]
                                   : ((const float *)model->factor[n])[k];
}

static polyad_status copy_initial(struct pd_als *als) {
  const polyad_ktensor *initial = als->options->initial;
  PD_TRY(check_initial(als, initial));
  for (int n = 0; n < als->order; ++n)
    for (uint64_t k = 0; k < initial->dims[n] * initial->rank; ++k) {
      double value = entry(initial, n, k);
      if (!isfinite(value))
        return pd_fail(als->context, POLYAD_NUMERICAL,
                       "the initial factor of mode %d has an entry that is not finite in row %llu",
                       n + 1, (unsigned long long)(k / initial->rank + 1));
      if (als->options->nonnegative && value < 0) value = 0;
      if (als->model->type == POLYAD_F64)
        ((double *)als->model->factor[n])[k] = value;
      else
        ((float *)als->model->factor[n])[k] = (float)value;
    }
  return POLYAD_OK;
}

static polyad_status start_by_hosvd(struct pd_als *als) {
  uint64_t ranks[POLYAD_MAX_ORDER];
  for (int n = 0; n < als->order; ++n)
    ranks[n] = als->model->rank;
  return pd_hosvd(als->context, als->plan, ranks, als->model->type, als->model->factor);
}

/* HALS needs nonnegative factors; a singular vector's sign means nothing. */
static void make_nonnegative(struct pd_als *als) {
  for (int n = 0; n < als->order; ++n)
    for (uint64_t k = 0; k < als->model->dims[n] * als->model->rank; ++k) {
      if (als->model->type == POLYAD_F64)
        ((double *)als->model->factor[n])[k] = fabs(((double *)als->model->factor[n])[k]);
      else
        ((float *)als->model->factor[n])[k] = fabsf(((float *)als->model->factor[n])[k]);
    }
}

static void set_weights_to_one(polyad_ktensor *model) {
  for (uint64_t r = 0; r < model->rank; ++r) {
    if (model->type == POLYAD_F64)
      ((double *)model->weights)[r] = 1.0;
    else
      ((float *)model->weights)[r] = 1.0f;
  }
}

polyad_status pd_als_initialize(struct pd_als *als, int restart) {
  als->restart = restart;
  als->iteration = 0;
  als->change = NAN;
  als->fallbacks = 0;
  als->kept = 0;
  set_weights_to_one(als->model);
  if (als->options->init == POLYAD_INIT_MODEL) {
    PD_TRY(copy_initial(als));
  } else {
    for (int n = 0; n < als->order; ++n)
      fill_random(als, n, restart);
    /* Later starts of several differ only if they are random. */
    if (als->options->init == POLYAD_INIT_HOSVD && restart == 0) {
      PD_TRY(start_by_hosvd(als));
      if (als->options->nonnegative) make_nonnegative(als);
    }
  }
  return pd_als_upload(als);
}
