/* Eigenvectors of dense symmetric matrices: LAPACK computes those that are asked for and no others.
 */
#include "linalg/symmetric.h"
#include "linalg/lapack.h"

/* LAPACK's memory: numbers and integers. */
struct room {
  double *work, *vectors, *values;
  int *integers;
};

static polyad_status symmetric_make_room(polyad_context *context, uint64_t rows, uint64_t count,
                                         struct room *room) {
  PD_TRY(PD_NEW(context, pd_eigen_leading_numbers((size_t)rows), &room->work));
  PD_TRY(PD_NEW(context, pd_eigen_leading_integers((size_t)rows), &room->integers));
  PD_TRY(PD_NEW(context, rows, &room->values));
  return PD_NEW(context, pd_mul_saturated(rows, count), &room->vectors);
}

polyad_status pd_symmetric_leading(struct pd_stage *stage, uint64_t rows, double *a, uint64_t count,
                                   double *values, double *vectors) {
  polyad_context *context = stage->context;
  struct room room = {0};
  polyad_status status = POLYAD_OK;
  if (rows > PD_EIGEN_LARGEST)
    return pd_fail(context, POLYAD_OVERFLOW, "a matrix of %llu rows is too large for LAPACK",
                   (unsigned long long)rows);
  if (count == 0) return POLYAD_OK;
  PD_TRY_CLEANUP(symmetric_make_room(context, rows, count, &room));
  PD_TRY_CLEANUP(pd_eigen_leading(stage, (size_t)rows, a, (size_t)count, room.values, room.vectors,
                                  room.work, room.integers));
  for (uint64_t r = 0; r < count; ++r) {
    const double *vector = room.vectors + (count - 1 - r) * rows;
    values[r] = room.values[count - 1 - r];
    for (uint64_t i = 0; i < rows; ++i)
      vectors[i * count + r] = vector[i];
  }
cleanup:
  PD_FREE(context, room.work, room.integers, room.values, room.vectors);
  return status;
}
