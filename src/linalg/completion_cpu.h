/* Completion on the CPU: the scratch memory that its steps share. */
#ifndef PD_COMPLETION_CPU_H
#define PD_COMPLETION_CPU_H

#include "linalg/completion.h"
#include "linalg/row_system.h"

struct pd_completion_work {
  struct pd_completion_job job;
  struct pd_row_system *system;     /* one for each thread, for rows */
  double *sums;                     /* of pieces of rows */
  double *partial;                  /* sums of chunks: pd_completion_chunks() times two */
  double *residual;                 /* e of each observation, for components */
  bool stands;                      /* it is of the model as it is */
  double *column[POLYAD_MAX_ORDER]; /* one of every factor, for components */
  uint64_t fallbacks;
};

polyad_status pd_completion_solve_rows(polyad_context *context, struct pd_completion_work *work,
                                       const struct pd_completed *model, int mode);
polyad_status pd_completion_solve_component(polyad_context *context,
                                            struct pd_completion_work *work,
                                            const struct pd_completed *model, size_t r);
polyad_status pd_completion_measure(polyad_context *context, struct pd_completion_work *work,
                                    const struct pd_completed *model,
                                    struct pd_completion_sums *sums);
polyad_status pd_completion_compare(polyad_context *context, struct pd_completion_work *work,
                                    const struct pd_completed *model,
                                    const struct pd_observations *o, double shift, double sums[2]);
/** residual[q] = what the model misses at observation q of the fit. */
void pd_completion_residuals(struct pd_completion_work *work, const struct pd_completed *model);
/** Chunks that sums over observations or rows may have. */
uint64_t pd_completion_chunks(const struct pd_completion_job *job);
/** Which of the long rows row i is, or UINT64_MAX. */
uint64_t pd_observed_long_row(const struct pd_observed_rows *rows, uint64_t i);

#endif
