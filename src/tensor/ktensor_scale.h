/* A Kruskal tensor made safe for products: M = 2^exponent * sum of coefficient_r times the outer
 * product of columns, where neither coefficients nor columns are near the ends of the range. */
#ifndef PD_KTENSOR_SCALE_H
#define PD_KTENSOR_SCALE_H

#include "tensor/columns.h"
#include "tensor/ktensor.h"

struct pd_scaled_model {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t rank;
  polyad_type type;                     /* of the factors below */
  const void *factor[POLYAD_MAX_ORDER]; /* the model's own where they are tame, else copies */
  void *copy[POLYAD_MAX_ORDER];
  double *coefficient;
  int exponent;
};

/** Columns first, first + 1, … of a factor matrix. */
struct pd_columns pd_ktensor_columns(const polyad_ktensor *ktensor, int mode, uint64_t first);

double pd_ktensor_weight(const polyad_ktensor *ktensor, uint64_t r);

/** Prepares a model; freed with pd_unscale_model(). On failure nothing is left to free. */
polyad_status pd_scale_model(polyad_context *context, const polyad_ktensor *ktensor,
                             struct pd_scaled_model *model);
void pd_unscale_model(polyad_context *context, struct pd_scaled_model *model);

/** Value at a coordinate, without the factor 2^exponent. */
double pd_model_value(const struct pd_scaled_model *model, const uint64_t *coordinate);

/** gram[r * rank_b + s] = product over the modes of <column r of a, column s of b>; the dims
 *  agree. The same bits for every number of threads. */
polyad_status pd_model_gram(polyad_context *context, const struct pd_scaled_model *a,
                            const struct pd_scaled_model *b, double *gram);

/** Square of the norm, without the factor 4^exponent.
 *  @param[out] norms  sum of the components' norms, without 2^exponent: how far they cancel; may be
 *                     NULL */
polyad_status pd_model_norm_squared(polyad_context *context, const struct pd_scaled_model *model,
                                    double *squared, double *norms);

/** Fails with POLYAD_MISMATCH unless model and tensor have the same dims. */
polyad_status pd_check_same_dims(polyad_context *context, const polyad_ktensor *ktensor,
                                 const polyad_tensor *tensor);

#endif
