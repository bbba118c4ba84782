/* How much of each slice of a tensor a model explains. */
#ifndef CLI_REPORT_RESIDUAL_H
#define CLI_REPORT_RESIDUAL_H

#include <polyad/polyad.h>
#include <stdbool.h>

/** A model of either kind; the other one is NULL. */
struct cli_model {
  const polyad_ktensor *ktensor;
  const polyad_ttensor *ttensor;
};
int cli_model_order(const struct cli_model *model);
const uint64_t *cli_model_dims(const struct cli_model *model);
/** Columns of a mode's factor. */
uint64_t cli_model_columns(const struct cli_model *model, int mode);
/** The number in a row and column of a mode's factor. */
double cli_model_factor(const struct cli_model *model, int mode, uint64_t row, uint64_t column);
/** Weight of a component of a Kruskal tensor. */
double cli_model_weight(const struct cli_model *model, uint64_t component);
/** Gram matrix A'A of a mode's factor, columns x columns, freed with free(). NULL: no memory. */
double *cli_model_gram(const struct cli_model *model, int mode);

/** Of every slice of every mode, in shares of ||X||^2: `data[n][i]` = ||X_i||^2 and `left[n][i]` =
 *  ||X_i - M_i||^2, where X_i and M_i are the slices of tensor and model; the totals of mode 0 are
 *  those of the whole tensor. Freed by cli_residual_free(). */
struct cli_residual {
  int order;
  double *data[POLYAD_MAX_ORDER], *left[POLYAD_MAX_ORDER];
  double total_left; /* ||X - M||^2 / ||X||^2 */
};

/** Computes the residual of a model of `tensor`, which has the model's dims and is not all zero:
 *  over the nonzeros the sum of (x - m)^2, and where the tensor is zero ||M_i||^2 less the sum of
 *  m^2 over the slice's nonzeros, with ||M_i||^2 = a_i' H a_i from row i of the factor and a matrix
 * H of the other modes' Gram matrices. */
polyad_status cli_residual_compute(polyad_context *context, const struct cli_model *model,
                                   const polyad_tensor *tensor, struct cli_residual *residual);
void cli_residual_free(struct cli_residual *residual);

#endif
