/* Higher-order orthogonal iteration on a dense core: how much of it do ranks keep? */
#ifndef PD_CORE_ITERATE_H
#define PD_CORE_ITERATE_H

#include "core/stage.h"
#include <polyad/tensor.h>

/** A core whose squares sum up to shares of the tensor's squared norm. */
struct pd_core {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  double *data; /* the last level varies fastest */
};

/** A Tucker model of a core. */
struct pd_core_model {
  uint64_t ranks[POLYAD_MAX_ORDER];
  double share;                       /* that it keeps */
  uint64_t columns[POLYAD_MAX_ORDER]; /* of the next: ranks[n] and more, to grow into */
  double *vectors[POLYAD_MAX_ORDER];  /* dims[n] x columns[n], row major, orthonormal */
  double *shares[POLYAD_MAX_ORDER];   /* shares[n][r]: kept with r columns of mode n beside the
                                         others' ranks, r = 0 to columns[n] */
};

/** Memory of dense iterations on one core. */
struct pd_core_work {
  const struct pd_core *core;
  double *from, *to; /* the core, contracted */
  double *gram;      /* largest dims squared */
  double *values, *vectors;
  double done; /* work so far: multiplications and additions */
};

polyad_status pd_core_work_create(polyad_context *context, const struct pd_core *core,
                                  struct pd_core_work *work);
/** May be called on one that was set to zero. */
void pd_core_work_clear(polyad_context *context, struct pd_core_work *work);

/** A model of these ranks whose vectors are the first unit vectors: of a truncated HOSVD's core,
 * the truncated HOSVD itself. */
polyad_status pd_core_model_create(polyad_context *context, const struct pd_core *core,
                                   const uint64_t *ranks, struct pd_core_model *model);
/** May be called on one that was set to zero. */
void pd_core_model_clear(polyad_context *context, struct pd_core_model *model);
/** A model of these ranks from the leading vectors of another: ranks[n] <= from->columns[n]. */
polyad_status pd_core_model_cut(polyad_context *context, const struct pd_core *core,
                                const struct pd_core_model *from, const uint64_t *ranks,
                                struct pd_core_model *model);

/** Iterates until the model keeps `target`, or will not, as the gain of the last iterations tells.
 *  Runs one iteration at least. */
polyad_status pd_core_iterate(struct pd_stage *stage, struct pd_core_work *work, double target,
                              struct pd_core_model *model);

#endif
