/* A model in double precision, for methods that take a finished model: factors without padding, the
 * weights apart. */
#ifndef PD_DOUBLE_MODEL_H
#define PD_DOUBLE_MODEL_H

#include "tensor/ktensor.h"
#include <polyad/project.h>

struct pd_double_model {
  int order;
  uint64_t rank, rows[POLYAD_MAX_ORDER];
  double *weight;                   /* R */
  double *factor[POLYAD_MAX_ORDER]; /* rows x R */
  bool negative;                    /* whether a number is */
};

/** Copies a model. In modes that are `left` the factor is not copied, and NULL.
 *  @return POLYAD_NUMERICAL when a number is not finite */
polyad_status pd_double_model_create(polyad_context *context, const polyad_ktensor *model,
                                     const bool *left, struct pd_double_model *copy);
void pd_double_model_clear(polyad_context *context, struct pd_double_model *copy);

/** What POLYAD_KIND_AUTO stands for.
 *  @return POLYAD_NUMERICAL when the kind allows no negative numbers and the model has one,
 *  POLYAD_INVALID_ARGUMENT for an unknown kind */
polyad_status pd_model_kind(polyad_context *context, const struct pd_double_model *model,
                            polyad_model_kind *kind);

/** What a mode's system needs of another mode's factor A of `count` rows (R x R): of models of
 *  squares its Gram matrix A^T A; of counts, whose likelihood has no more, its column sums on the
 *  diagonal. */
void pd_double_moments(polyad_model_kind kind, uint64_t count, uint64_t rank, const double *a,
                       double *moments);
/** A mode's system made of them: pd_double_normal(), or of counts the diagonal of what each
 *  component's rows are multiplied by in the model's sum of all cells. */
void pd_double_system(polyad_model_kind kind, const struct pd_double_model *model,
                      const double *const *moments, int mode, int skipped, double *v);

/** gram = A^T A of `count` rows (R x R). */
void pd_double_gram(uint64_t count, uint64_t rank, const double *a, double *gram);

/** V of a mode's normal equations: the elementwise product of the other modes' Gram matrices
 *  gram[m] (R x R each) and of the weights' outer product. `skipped` is a second mode that is left
 *  out; -1: none. */
void pd_double_normal(const struct pd_double_model *model, const double *const *gram, int mode,
                      int skipped, double *v);

/** Sums over the rows of each column of each factor, times the weights in none (order x R). */
void pd_double_column_sums(const struct pd_double_model *model, double *sum);

#endif
