/* Updates of a factor on the CPU; see struct pd_linalg. */
#ifndef PD_CPU_SOLVE_H
#define PD_CPU_SOLVE_H

#include "linalg/cpu_work.h"

polyad_status pd_cpu_update_rows_by_solving(polyad_context *context, int runs,
                                            const struct pd_update *updates);
polyad_status pd_cpu_update_rows_nonnegative(polyad_context *context, int runs,
                                             const struct pd_update *updates);

#endif
