/* The CPU's tensor-times-matrix chain for every format that can give its nonzeros row by row. */
#ifndef PD_TTMC_ROWS_H
#define PD_TTMC_ROWS_H

#include "formats/ttmc/ttmc_source.h"

/** Memory of running chains on one storage. */
struct pd_ttmc_work;

/** What a chain needs to know of the storage. */
struct pd_ttmc_shape {
  int order;
  uint64_t nnz;
  polyad_type type;
};

/** The segments by which a mode's nonzeros are to be put in the order of their rows; none of them
 *  where the format's own order does. */
typedef struct pd_ttmc_segments pd_ttmc_segments_function(const void *storage, int mode);

/** `scratch` becomes a struct pd_ttmc_work, NULL on failure. */
polyad_status pd_ttmc_work_create(polyad_context *context, const struct pd_ttmc_shape *shape,
                                  const uint64_t *ranks, const void *storage,
                                  pd_ttmc_segments_function *segments_of, void **scratch);
void pd_ttmc_work_destroy(polyad_context *context, struct pd_ttmc_work *work);
/** Bytes without the orders of single modes; UINT64_MAX when a product overflows. */
uint64_t pd_ttmc_work_bytes(const struct pd_ttmc_shape *shape, const uint64_t *ranks, int threads);
/** The order of a mode's nonzeros; NULL when the format's own order does. */
const struct pd_ttmc_order *pd_ttmc_work_sorted(const struct pd_ttmc_work *work, int mode);

/** out = the chain of `source->mode`, wholly overwritten. Same bits for the same threads. */
void pd_ttmc_run(struct pd_ttmc_work *work, const struct pd_ttmc_source *source,
                 const struct pd_matrix *const *factors, struct pd_matrix *out);

/** Product of the ranks of all modes but `mode`; false when it overflows. */
static inline bool pd_ttmc_columns(int order, const uint64_t *ranks, int mode, uint64_t *columns) {
  *columns = 1;
  for (int n = 0; n < order; ++n)
    if (n != mode && !pd_mul(*columns, ranks[n], columns)) return false;
  return true;
}

#endif
