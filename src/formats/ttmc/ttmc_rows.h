/* The CPU's tensor-times-matrix chain for every format that can give its nonzeros row by row. */
#ifndef PD_TTMC_ROWS_H
#define PD_TTMC_ROWS_H

#include "formats/ttmc/ttmc_source.h"

/** Memory of running chains on one storage. */
struct pd_ttmc_work;

/** Slot `rows` of a format. */
typedef void pd_ttmc_rows_function(const void *storage, int mode, struct pd_ttmc_source *source,
                                   struct pd_ttmc_segments *segments);

/** `scratch` becomes a struct pd_ttmc_work, NULL on failure. */
polyad_status pd_ttmc_work_create(polyad_context *context, pd_ttmc_rows_function *rows,
                                  const void *storage, const uint64_t *ranks, void **scratch);
/** UINT64_MAX when a product overflows. */
uint64_t pd_ttmc_work_bytes(pd_ttmc_rows_function *rows, const void *storage, const uint64_t *ranks,
                            int threads);

/** Defines pd_NAME_ttmc_walk, the walk of the chain for a format with pd_NAME_row_source(). The
 *  bits of a result depend on the number of threads only. */
#define PD_TTMC_WALK(name)                                                                         \
  static uint64_t name##_ttmc_bytes(const void *storage, const uint64_t *ranks, int threads) {     \
    return pd_ttmc_work_bytes(pd_##name##_row_source, storage, ranks, threads);                    \
  }                                                                                                \
  static polyad_status name##_ttmc_create(polyad_context *context, const struct pd_device *device, \
                                          const void *storage, const uint64_t *ranks,              \
                                          void **scratch) {                                        \
    (void)device;                                                                                  \
    return pd_ttmc_work_create(context, pd_##name##_row_source, storage, ranks, scratch);          \
  }                                                                                                \
  const struct pd_walk pd_##name##_ttmc_walk = {.ops = PD_OPS_TTMC,                                \
                                                .workspace_bytes = name##_ttmc_bytes,              \
                                                .workspace_create = name##_ttmc_create,            \
                                                .workspace_destroy = pd_ttmc_work_destroy,         \
                                                .run = pd_ttmc_run};
void pd_ttmc_work_destroy(polyad_context *context, void *work);
polyad_status pd_ttmc_run(polyad_context *context, const void *storage, void *work,
                          const struct pd_call *call);

/** Product of the ranks of all modes but `mode`; false when it overflows. */
static inline bool pd_ttmc_columns(int order, const uint64_t *ranks, int mode, uint64_t *columns) {
  *columns = 1;
  for (int n = 0; n < order; ++n)
    if (n != mode && !pd_mul(*columns, ranks[n], columns)) return false;
  return true;
}

#endif
