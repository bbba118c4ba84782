/* Rows of a factor on their way between the members of a team: the CPU's slots take_rows and
 * add_rows (linalg.h). */
#ifndef PD_CPU_LENT_ROWS_H
#define PD_CPU_LENT_ROWS_H

#include "device/device.h"

polyad_status pd_cpu_take_rows(polyad_context *context, const struct pd_matrix *matrix,
                               uint64_t count, const uint64_t *index, void *to);
polyad_status pd_cpu_add_rows(polyad_context *context, const void *from, uint64_t count,
                              const uint64_t *index, struct pd_matrix *matrix);

#endif
