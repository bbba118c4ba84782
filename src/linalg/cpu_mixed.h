/* Sums over the rows of a mixed team's members, on the CPU: in the lists that GPUs send (enum
 * pd_column_sum). Where the team is none or not mixed the caller meets the others itself. */
#ifndef PD_CPU_MIXED_H
#define PD_CPU_MIXED_H

#include "linalg/cpu_work.h"

/** What a member has found of each of R columns; NULL: nothing, and nothing is wanted. */
struct pd_cpu_sums {
  double *gram; /* R x R, both triangles; NULL: none is sent */
  double *column[PD_COLUMN_SUMS];
};

/** Makes them those of all members. */
polyad_status pd_cpu_share_mixed(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_cpu_sums *sums);
/** INNER from the parts' inner products that pd_cpu_weighted_inner() left (cpu_rows.c). */
polyad_status pd_cpu_share_inner(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_matrix *x, const double *weight);

#endif
