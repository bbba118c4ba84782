/* Sums are in long double; those of float factors in double, which rounds 2^29 times finer than
 * floats, and which a processor has vectors of. */
#include "bench_sums.h"
#include <math.h>
#include <stdlib.h>

/* What every nonzero's terms are made from, with nothing left to ask for. */
struct source {
  const struct bench_operands *operands;
  int order;
  uint64_t nnz, rank, columns;
  const void *index[POLYAD_MAX_ORDER];
  bool narrow[POLYAD_MAX_ORDER]; /* indices of 4 bytes, not 8 */
  const void *values;
  polyad_type type; /* of the values */
  const int32_t *slot;
};

static struct source source_of(const struct bench_operands *operands, const int32_t *slot) {
  const polyad_tensor *tensor = operands->tensor;
  struct source source = {.operands = operands,
                          .order = polyad_tensor_order(tensor),
                          .nnz = polyad_tensor_nnz(tensor),
                          .rank = operands->rank,
                          .columns = bench_columns(operands),
                          .values = polyad_tensor_values(tensor),
                          .type = polyad_tensor_type(tensor),
                          .slot = slot};
  for (int n = 0; n < source.order; ++n) {
    source.index[n] = polyad_tensor_indices(tensor, n);
    source.narrow[n] = polyad_tensor_index_bytes(tensor, n) == 4;
  }
  return source;
}

static inline uint64_t index_of(const struct source *source, int n, uint64_t p) {
  return source->narrow[n] ? ((const uint32_t *)source->index[n])[p]
                           : ((const uint64_t *)source->index[n])[p];
}

static inline double value_of(const struct source *source, uint64_t p) {
  return bench_entry(source->values, p, source->type);
}

/* Nonzeros are divided among threads that each have their own sums, up to this size of all of
 * these; beyond, rows are. */
static const uint64_t most_own_bytes = UINT64_C(1) << 28;

#define REAL double
#define ENTRY float
#define ABSOLUTE fabs
#define NAME(name) name##_f32
#include "bench_sums_body.h"
#undef REAL
#undef ENTRY
#undef ABSOLUTE
#undef NAME

#define REAL long double
#define ENTRY double
#define ABSOLUTE fabsl
#define NAME(name) name##_f64
#include "bench_sums_body.h"

bool bench_sum_rows(const struct bench_operands *operands, const int32_t *slot, int threads,
                    struct bench_reference *reference) {
  struct source source = source_of(operands, slot);
  return (operands->type == POLYAD_F32 ? sum_rows_f32 : sum_rows_f64)(&source, threads, reference);
}
