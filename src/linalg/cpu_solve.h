/* Updates of a factor on the CPU; see struct pd_linalg. */
#ifndef PD_CPU_SOLVE_H
#define PD_CPU_SOLVE_H

#include "linalg/cpu_work.h"

polyad_status pd_cpu_update(polyad_context *context, struct pd_linalg_work *work,
                            const struct pd_matrix *v, double damping,
                            const struct pd_matrix *before, struct pd_matrix *x,
                            enum pd_scaling scaling, struct pd_matrix *lambda,
                            struct pd_matrix *gram);
polyad_status pd_cpu_update_nonnegative(polyad_context *context, struct pd_linalg_work *work,
                                        const struct pd_matrix *v, const struct pd_matrix *m,
                                        struct pd_matrix *x, enum pd_scaling scaling,
                                        struct pd_matrix *lambda, struct pd_matrix *gram);

#endif
