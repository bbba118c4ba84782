/* Rows of a factor on their way between the members of a team, on the CPU: taken from a matrix into
 * packed memory, and added from there. Rows of one call are all different, so that threads may
 * share them. */
#include "linalg/cpu_lent_rows.h"
#include "core/threads.h"
#include <string.h>

static char *lent_row_of(const struct pd_matrix *matrix, uint64_t row) {
  return (char *)matrix->data + row * matrix->stride * pd_type_bytes(matrix->type);
}

polyad_status pd_cpu_take_rows(polyad_context *context, const struct pd_matrix *matrix,
                               uint64_t count, const uint64_t *index, void *to) {
  size_t bytes = (size_t)matrix->columns * pd_type_bytes(matrix->type);
  int threads = pd_worth_threads(polyad_threads(context), count * matrix->columns);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t j = 0; j < count; ++j)
    memcpy((char *)to + j * bytes, lent_row_of(matrix, index[j]), bytes);
  return POLYAD_OK;
}

static void cpu_lent_rows_add(polyad_type type, uint64_t columns, const void *from, void *to) {
  if (type == POLYAD_F64)
    for (uint64_t r = 0; r < columns; ++r)
      ((double *)to)[r] += ((const double *)from)[r];
  else
    for (uint64_t r = 0; r < columns; ++r)
      ((float *)to)[r] += ((const float *)from)[r];
}

polyad_status pd_cpu_add_rows(polyad_context *context, const void *from, uint64_t count,
                              const uint64_t *index, struct pd_matrix *matrix) {
  uint64_t bytes = matrix->columns * pd_type_bytes(matrix->type);
  int threads = pd_worth_threads(polyad_threads(context), count * matrix->columns);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t j = 0; j < count; ++j)
    cpu_lent_rows_add(matrix->type, matrix->columns, (const char *)from + j * bytes,
                      lent_row_of(matrix, index[j]));
  return POLYAD_OK;
}
