#include "tensor/ktensor_scale.h"
#include "core/numbers.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  TAME_EXPONENTS = 200, /* their products, squares and sums of squares stay in the range */
  ENTRY_GRAIN = 1 << 14,
  SMALL_RANK = 64, /* Gram matrices up to this rank are summed over parts of the rows */
  GRAM_PARTS = 16,
  GRAM_ROWS = 16
};

polyad_status pd_check_same_dims(polyad_context *context, const polyad_ktensor *ktensor,
                                 const polyad_tensor *tensor) {
  PD_EXPECT(context, ktensor != NULL && tensor != NULL, "a NULL where a tensor was expected");
  if (ktensor->order != tensor->order)
    return pd_fail(context, POLYAD_MISMATCH, "the model has order %d; expected %d as the tensor",
                   ktensor->order, tensor->order);
  for (int n = 0; n < tensor->order; ++n)
    if (ktensor->dims[n] != tensor->dims[n])
      return pd_fail(context, POLYAD_MISMATCH,
                     "mode %d of the model has length %" PRIu64 "; expected %" PRIu64
                     " as in the tensor",
                     pd_shown_mode(context, n), ktensor->dims[n], tensor->dims[n]);
  return POLYAD_OK;
}

/* shift[n * rank + r]: exponent of the largest entry of column r of mode n. Returns whether all
 * columns can be used as they are. */
static bool find_shifts(const polyad_ktensor *ktensor, int *shift) {
  bool tame = true;
  for (uint64_t first = 0; first < ktensor->rank; first += PD_COLUMN_CHUNK) {
    int total[PD_COLUMN_CHUNK] = {0};
    for (int n = 0; n < ktensor->order; ++n) {
      double peak[PD_COLUMN_CHUNK];
      struct pd_columns columns = pd_ktensor_columns(ktensor, n, first);
      pd_columns_peak(&columns, peak);
      for (int c = 0; c < columns.count; ++c) {
        int *place = &shift[(uint64_t)n * ktensor->rank + first + (uint64_t)c];
        *place = 0;
        if (isfinite(peak[c])) (void)frexp(peak[c], place);
        total[c] += abs(*place);
        tame = tame && total[c] <= TAME_EXPONENTS;
      }
    }
  }
  return tame;
}

static polyad_status copy_scaled(polyad_context *context, const polyad_ktensor *ktensor, int mode,
                                 const int *shift, void **out) {
  double *copy;
  uint64_t entries = ktensor->dims[mode] * ktensor->rank;
  PD_TRY(PD_NEW(context, entries, &copy));
  int threads = pd_threads_for(context, entries, ENTRY_GRAIN);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t e = 0; e < entries; ++e) {
    double value = pd_load(ktensor->type, ktensor->factor[mode], e);
    copy[e] = ldexp(value, -shift[e % ktensor->rank]);
  }
  *out = copy;
  return POLYAD_OK;
}

/* Weights, and what was taken from the columns, relative to the largest. */
static void set_coefficients(const polyad_ktensor *ktensor, const int *shift,
                             struct pd_scaled_model *model) {
  bool any = false;
  for (int pass = 0; pass < 2; ++pass)
    for (uint64_t r = 0; r < model->rank; ++r) {
      double weight = pd_ktensor_weight(ktensor, r), mantissa = weight;
      int exponent = 0;
      if (isfinite(weight)) mantissa = frexp(weight, &exponent);
      for (int n = 0; n < model->order; ++n)
        exponent += shift[(uint64_t)n * model->rank + r];
      if (pass == 1) {
        model->coefficient[r] = ldexp(mantissa, exponent - model->exponent);
      } else if (mantissa != 0 && (!any || exponent > model->exponent)) {
        model->exponent = exponent;
        any = true;
      }
    }
}

polyad_status pd_scale_model(polyad_context *context, const polyad_ktensor *ktensor,
                             struct pd_scaled_model *model) {
  *model = (struct pd_scaled_model){
      .order = ktensor->order, .rank = ktensor->rank, .type = ktensor->type};
  polyad_status status = POLYAD_OK;
  int *shift = NULL;
  uint64_t shifts = pd_mul_saturated((uint64_t)ktensor->order, ktensor->rank);
  PD_TRY_CLEANUP(PD_NEW(context, ktensor->rank, &model->coefficient));
  PD_TRY_CLEANUP(PD_NEW(context, shifts, &shift));
  bool tame = find_shifts(ktensor, shift);
  if (tame) memset(shift, 0, (size_t)shifts * sizeof *shift);
  for (int n = 0; n < model->order; ++n) {
    model->dims[n] = ktensor->dims[n];
    model->factor[n] = ktensor->factor[n];
    if (tame) continue;
    PD_TRY_CLEANUP(
        copy_scaled(context, ktensor, n, shift + (uint64_t)n * ktensor->rank, &model->copy[n]));
    model->factor[n] = model->copy[n];
  }
  if (!tame) model->type = POLYAD_F64;
  set_coefficients(ktensor, shift, model);

cleanup:
  pd_free(context, shift);
  if (status != POLYAD_OK) pd_unscale_model(context, model);
  return status;
}

void pd_unscale_model(polyad_context *context, struct pd_scaled_model *model) {
  for (int n = 0; n < model->order; ++n)
    pd_free(context, model->copy[n]);
  pd_free(context, model->coefficient);
  *model = (struct pd_scaled_model){0};
}

double pd_model_value(const struct pd_scaled_model *model, const uint64_t *coordinate) {
  double total = 0;
  for (uint64_t first = 0; first < model->rank; first += PD_COLUMN_CHUNK) {
    double product[PD_COLUMN_CHUNK];
    uint64_t rest = model->rank - first;
    int count = rest < PD_COLUMN_CHUNK ? (int)rest : PD_COLUMN_CHUNK;
    memcpy(product, model->coefficient + first, (size_t)count * sizeof *product);
    for (int n = 0; n < model->order; ++n) {
      uint64_t place = coordinate[n] * model->rank + first;
      if (model->type == POLYAD_F32) {
        const float *row = (const float *)model->factor[n] + place;
        for (int c = 0; c < count; ++c)
          product[c] *= (double)row[c];
      } else {
        const double *row = (const double *)model->factor[n] + place;
        for (int c = 0; c < count; ++c)
          product[c] *= row[c];
      }
    }
    double lanes[4] = {0};
    int c = 0;
    for (; c + 4 <= count; c += 4)
      for (int lane = 0; lane < 4; ++lane)
        lanes[lane] += product[c + lane];
    for (; c < count; ++c)
      lanes[0] += product[c];
    total += (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
  }
  return total;
}

/* ---- Gram matrices ------------------------------------------------------------------------ */

static inline double ktensor_scale_entry(const struct pd_scaled_model *model, int mode,
                                         uint64_t place) {
  return pd_load(model->type, model->factor[mode], place);
}

/* Adds the products of rows [begin, end) for columns [r_begin, r_end) of a and all of b. */
static void ktensor_scale_add_products(const struct pd_scaled_model *a,
                                       const struct pd_scaled_model *b, int mode,
                                       const uint64_t rows[2], const uint64_t columns[2],
                                       double *sums) {
  for (uint64_t i = rows[0]; i < rows[1]; ++i)
    for (uint64_t r = columns[0]; r < columns[1]; ++r) {
      double left = ktensor_scale_entry(a, mode, i * a->rank + r);
      if (left == 0) continue;
      double *out = sums + r * b->rank;
      if (b->type == POLYAD_F32) {
        const float *row = (const float *)b->factor[mode] + i * b->rank;
        for (uint64_t s = 0; s < b->rank; ++s)
          out[s] += left * (double)row[s];
      } else {
        const double *row = (const double *)b->factor[mode] + i * b->rank;
        for (uint64_t s = 0; s < b->rank; ++s)
          out[s] += left * row[s];
      }
    }
}

/* Small ranks are cut by rows and joined in order; large ones by rows of the Gram matrix. */
static void mode_gram(const polyad_context *context, const struct pd_scaled_model *a,
                      const struct pd_scaled_model *b, int mode, double *sums) {
  uint64_t size = a->rank * b->rank;
  bool by_rows = a->rank <= SMALL_RANK && b->rank <= SMALL_RANK;
  int tasks = by_rows ? GRAM_PARTS : (int)((a->rank + GRAM_ROWS - 1) / GRAM_ROWS);
  int threads = pd_threads_for(context, pd_mul_saturated(a->dims[mode], size), 1 << 18);
  memset(sums, 0, (size_t)(by_rows ? GRAM_PARTS * size : size) * sizeof *sums);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int task = 0; task < tasks; ++task) {
    uint64_t rows[2] = {0, a->dims[mode]}, columns[2] = {0, a->rank};
    double *out = sums;
    if (by_rows) {
      rows[0] = pd_part_begin(a->dims[mode], task, GRAM_PARTS);
      rows[1] = pd_part_begin(a->dims[mode], task + 1, GRAM_PARTS);
      out += (uint64_t)task * size;
    } else {
      columns[0] = (uint64_t)task * GRAM_ROWS;
      columns[1] = columns[0] + GRAM_ROWS < a->rank ? columns[0] + GRAM_ROWS : a->rank;
    }
    ktensor_scale_add_products(a, b, mode, rows, columns, out);
  }
  for (uint64_t part = 1; by_rows && part < GRAM_PARTS; ++part)
    for (uint64_t e = 0; e < size; ++e)
      sums[e] += sums[part * size + e];
}

polyad_status pd_model_gram(polyad_context *context, const struct pd_scaled_model *a,
                            const struct pd_scaled_model *b, double *gram) {
  uint64_t size = pd_mul_saturated(a->rank, b->rank);
  bool by_rows = a->rank <= SMALL_RANK && b->rank <= SMALL_RANK;
  double *sums;
  PD_TRY(PD_NEW(context, by_rows ? GRAM_PARTS * size : size, &sums));
  for (uint64_t e = 0; e < size; ++e)
    gram[e] = 1;
  for (int n = 0; n < a->order; ++n) {
    mode_gram(context, a, b, n, sums);
    for (uint64_t e = 0; e < size; ++e)
      gram[e] *= sums[e];
  }
  pd_free(context, sums);
  return POLYAD_OK;
}

polyad_status pd_model_norm_squared(polyad_context *context, const struct pd_scaled_model *model,
                                    double *squared, double *norms) {
  double *gram;
  PD_TRY(PD_NEW(context, pd_mul_saturated(model->rank, model->rank), &gram));
  polyad_status status = pd_model_gram(context, model, model, gram);
  double sum = 0, sum_of_norms = 0;
  for (uint64_t r = 0; r < model->rank && status == POLYAD_OK; ++r) {
    for (uint64_t s = 0; s < model->rank; ++s)
      sum += model->coefficient[r] * model->coefficient[s] * gram[r * model->rank + s];
    sum_of_norms += fabs(model->coefficient[r]) * sqrt(gram[r * model->rank + r]);
  }
  pd_free(context, gram);
  *squared = sum > 0 || isnan(sum) ? sum : 0; /* rounding may leave less than nothing */
  if (norms != NULL) *norms = sum_of_norms;
  return status;
}
