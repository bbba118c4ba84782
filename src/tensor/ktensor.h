/* Layout of the Kruskal tensor. */
#ifndef PD_KTENSOR_H
#define PD_KTENSOR_H

#include "tensor/columns.h"
#include <polyad/model.h>

struct polyad_ktensor {
  polyad_context *context;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t rank;
  polyad_type type;
  void *weights;                  /* rank numbers */
  void *factor[POLYAD_MAX_ORDER]; /* dims[n] x rank, row major */
};

/** polyad_ktensor_create(); without `zeros` the factors' numbers are undefined until they are set.
 */
polyad_status pd_ktensor_create(polyad_context *context, int order, const uint64_t *dims,
                                uint64_t rank, polyad_type type, bool zeros,
                                polyad_ktensor **ktensor);

/** A component's weight, and its number before components are sorted. */
struct pd_component {
  double weight;
  uint64_t place;
};

/** A model whose rows are spread over several members: a member's model has the rows that it owns,
 * then copies of some that others own. All members make the calls below together, with equal
 * weights. */
struct pd_ktensor_share {
  int size;                       /* number of members */
  uint64_t own[POLYAD_MAX_ORDER]; /* rows of each mode that this member owns: the first ones */
  /* Fills `all` with the `bytes` bytes at `mine` of every member, in the members' order. */
  polyad_status (*gather)(void *members, const void *mine, uint64_t bytes, void *all);
  void *members;
};

/** Passes over the rows of factors that lie elsewhere than in the model's arrays. */
struct pd_ktensor_passes {
  /** The 2-norms and first entries of largest magnitude of columns first to first + count - 1, at
   *  most PD_COLUMN_CHUNK, of the rows that count. Entries are taken times 2^-exponent before they
   *  are squared. */
  polyad_status (*norms)(void *user, int mode, uint64_t first, int count, const int *exponent,
                         double *norm, double *peak);
  /** Makes all columns, in all rows, what `form` says. */
  polyad_status (*form)(void *user, int mode, const struct pd_column_form *form);
  void *user;
};

/** polyad_ktensor_normalize() of the whole model, of which this member has a part. Where `share` is
 *  NULL the member has all rows, and nothing can fail. */
polyad_status pd_ktensor_normalize_shared(polyad_ktensor *ktensor, polyad_norm norm,
                                          const struct pd_ktensor_share *share);
/** polyad_ktensor_normalize() of the whole model by 2-norms, then polyad_ktensor_arrange() and
 *  polyad_ktensor_fix_signs(), in two passes over its rows: those of its arrays or, where there are
 *  `passes`, others; then only the weights are the model's. order[k].place is where the component
 * at place k was. */
polyad_status pd_ktensor_normal_form_shared(polyad_context *context, polyad_ktensor *ktensor,
                                            const struct pd_ktensor_passes *passes,
                                            const struct pd_ktensor_share *share,
                                            struct pd_component *order);

#endif
