/* The CPU's tensor-times-matrix chain for every format that can give its nonzeros row by row. */
#ifndef PD_TTMC_ROWS_H
#define PD_TTMC_ROWS_H

#include "formats/ttmc/ttmc_source.h"

struct pd_ttmc_part;

/** Memory of running chains on one storage. */
struct pd_ttmc_work {
  struct pd_scratch base;
  int threads;
  uint64_t row, partial; /* numbers of the longest row, and of the sums below it */
  double *sums;          /* of each thread: three rows and the partial sums */
  struct pd_ttmc_block *block;
  struct pd_ttmc_part *part;
  uint32_t *place;                                /* of a row's numbers */
  struct pd_ttmc_source source[POLYAD_MAX_ORDER]; /* of each mode */
  struct pd_ttmc_order order[POLYAD_MAX_ORDER];
};

/** Slot `rows` of a format. */
typedef void pd_ttmc_rows_function(const void *storage, int mode, struct pd_ttmc_source *source,
                                   struct pd_ttmc_segments *segments);

polyad_status pd_ttmc_work_fill(polyad_context *context, pd_ttmc_rows_function *rows,
                                const void *storage, const uint64_t *ranks,
                                struct pd_ttmc_work *work);
void pd_ttmc_work_clear(polyad_context *context, void *work);
/** UINT64_MAX when a product overflows. */
uint64_t pd_ttmc_work_bytes(pd_ttmc_rows_function *rows, const void *storage, const uint64_t *ranks,
                            int threads);

/** Defines pd_NAME_ttmc_walk, the walk of the chain for a format with pd_NAME_row_source(). The
 *  bits of a result depend on the number of threads only. */
#define PD_TTMC_WALK(name)                                                                         \
  static uint64_t name##_ttmc_bytes(const void *storage, const uint64_t *ranks, int threads) {     \
    return pd_ttmc_work_bytes(pd_##name##_row_source, storage, ranks, threads);                    \
  }                                                                                                \
  static polyad_status name##_ttmc_fill(polyad_context *context, const void *storage,              \
                                        const uint64_t *ranks, void *work) {                       \
    return pd_ttmc_work_fill(context, pd_##name##_row_source, storage, ranks, work);               \
  }                                                                                                \
  const struct pd_walk pd_##name##_ttmc_walk = {.ops = PD_OPS_TTMC,                                \
                                                .scratch_bytes = sizeof(struct pd_ttmc_work),      \
                                                .workspace_bytes = name##_ttmc_bytes,              \
                                                .fill = name##_ttmc_fill,                          \
                                                .clear = pd_ttmc_work_clear,                       \
                                                .run = pd_ttmc_run};
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
