/* Sums over the rows of all members of a mixed team, as the CPU makes them: it exchanges the lists
 * that GPUs send (enum pd_column_sum). The functions are for mixed teams only; in other teams the
 * caller adds up the numbers by the calls of device/team.h. */
#ifndef PD_CPU_MIXED_H
#define PD_CPU_MIXED_H

#include "linalg/cpu_work.h"

/** A member's sums for each of R columns. A pointer that is NULL stands for sums that the member
 *  neither has nor wants. */
struct pd_cpu_sums {
  double *gram; /* R x R, both triangles; NULL: none is sent */
  double *column[PD_COLUMN_SUMS];
};

/** Replaces a member's sums by those over all members. */
polyad_status pd_cpu_share_mixed(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_cpu_sums *sums);
/** Sets the scalar INNER over all members, from the inner products of the parts of the member's
 * rows that pd_cpu_weighted_inner() has left (cpu_rows.c). */
polyad_status pd_cpu_share_inner(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_matrix *x, const double *weight);

#endif
