/* A model in double precision, and the small sums over its factors that methods with a finished
 * model share: Gram matrices, column sums, and the systems of equations that are made of them. */
#include "algorithms/double_model.h"
#include "algorithms/model_start.h"
#include <math.h>
#include <string.h>

static polyad_status double_model_copy_numbers(polyad_context *context, const polyad_ktensor *model,
                                               const void *array, uint64_t count, double **copy,
                                               bool *negative) {
  PD_TRY(PD_NEW(context, count, copy));
  for (uint64_t k = 0; k < count; ++k) {
    double number = (*copy)[k] = pd_model_number(model, array, k);
    if (!isfinite(number))
      return pd_fail(context, POLYAD_NUMERICAL, "the model has a number that is not finite");
    *negative = *negative || number < 0;
  }
  return POLYAD_OK;
}

polyad_status pd_double_model_create(polyad_context *context, const polyad_ktensor *model,
                                     const bool *left, struct pd_double_model *copy) {
  *copy = (struct pd_double_model){.order = model->order, .rank = model->rank};
  polyad_status status = double_model_copy_numbers(context, model, model->weights, model->rank,
                                                   &copy->weight, &copy->negative);
  for (int n = 0; status == POLYAD_OK && n < model->order; ++n) {
    copy->rows[n] = model->dims[n];
    if (left == NULL || !left[n])
      status =
          double_model_copy_numbers(context, model, model->factor[n], model->dims[n] * model->rank,
                                    &copy->factor[n], &copy->negative);
  }
  if (status != POLYAD_OK) pd_double_model_clear(context, copy);
  return status;
}

void pd_double_model_clear(polyad_context *context, struct pd_double_model *copy) {
  pd_free(context, copy->weight);
  for (int n = 0; n < copy->order; ++n)
    pd_free(context, copy->factor[n]);
  *copy = (struct pd_double_model){.order = 0};
}

const char *polyad_model_kind_string(polyad_model_kind kind) {
  static const char *const words[] = {"auto", "signed", "nonnegative", "poisson"};
  return kind < POLYAD_KIND_AUTO || kind > POLYAD_KIND_POISSON ? "unknown" : words[kind];
}

polyad_status pd_model_kind(polyad_context *context, const struct pd_double_model *model,
                            polyad_model_kind *kind) {
  PD_EXPECT(context, *kind >= POLYAD_KIND_AUTO && *kind <= POLYAD_KIND_POISSON,
            "unknown kind of model %d", (int)*kind);
  if (*kind == POLYAD_KIND_AUTO)
    *kind = model->negative ? POLYAD_KIND_SIGNED : POLYAD_KIND_NONNEGATIVE;
  if (model->negative && *kind != POLYAD_KIND_SIGNED)
    return pd_fail(context, POLYAD_NUMERICAL,
                   "the model has a negative number; expected none of a "
                   "%s model",
                   polyad_model_kind_string(*kind));
  return POLYAD_OK;
}

void pd_double_gram(uint64_t count, uint64_t rank, const double *a, double *gram) {
  memset(gram, 0, rank * rank * sizeof *gram);
  for (uint64_t i = 0; i < count; ++i) {
    const double *row = a + i * rank;
    for (uint64_t r = 0; r < rank; ++r)
      for (uint64_t s = 0; s < rank; ++s)
        gram[r * rank + s] += row[r] * row[s];
  }
}

void pd_double_normal(const struct pd_double_model *model, const double *const *gram, int mode,
                      int skipped, double *v) {
  uint64_t rank = model->rank;
  for (uint64_t r = 0; r < rank; ++r)
    for (uint64_t s = 0; s < rank; ++s)
      v[r * rank + s] = model->weight[r] * model->weight[s];
  for (int n = 0; n < model->order; ++n)
    for (uint64_t k = 0; n != mode && n != skipped && k < rank * rank; ++k)
      v[k] *= gram[n][k];
}

void pd_double_moments(polyad_model_kind kind, uint64_t count, uint64_t rank, const double *a,
                       double *moments) {
  if (kind != POLYAD_KIND_POISSON) {
    pd_double_gram(count, rank, a, moments);
    return;
  }
  memset(moments, 0, rank * rank * sizeof *moments);
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t r = 0; r < rank; ++r)
      moments[r * rank + r] += a[i * rank + r];
}

void pd_double_system(polyad_model_kind kind, const struct pd_double_model *model,
                      const double *const *moments, int mode, int skipped, double *v) {
  pd_double_normal(model, moments, mode, skipped, v);
  if (kind != POLYAD_KIND_POISSON) return;
  for (uint64_t r = 0; r < model->rank; ++r)
    if (model->weight[r] > 0) v[r * model->rank + r] /= model->weight[r];
}

void pd_double_column_sums(const struct pd_double_model *model, double *sum) {
  uint64_t rank = model->rank;
  memset(sum, 0, (uint64_t)model->order * rank * sizeof *sum);
  for (int n = 0; n < model->order; ++n)
    for (uint64_t i = 0; i < model->rows[n]; ++i)
      for (uint64_t r = 0; r < rank; ++r)
        sum[(uint64_t)n * rank + r] += model->factor[n][i * rank + r];
}
