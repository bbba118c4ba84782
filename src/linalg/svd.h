/* Leading left singular vectors of dense matrices: what Tucker decomposition needs of a device. */
#ifndef PD_SVD_H
#define PD_SVD_H

#include "device/device.h"

/** A matrix of rows x columns of which `count` vectors are wanted. */
struct pd_svd_size {
  uint64_t rows, columns, count;
};

enum pd_svd_method {
  PD_SVD_EXACT,     /* eigenvectors of the smaller Gram matrix, orthonormalised again */
  PD_SVD_RANDOMIZED /* range finder with power iterations (Halko, Martinsson and Tropp 2011,
                       algorithm 4.4) */
};

enum { PD_SVD_OVERSAMPLING = 8, PD_SVD_POWERS = 2 };

/** Memory for some sizes. Calls on one work are not shared by running computations. */
struct pd_svd_work;

struct pd_svd {
  /** Bytes of device memory; UINT64_MAX when a product overflows. */
  uint64_t (*bytes)(int sizes, const struct pd_svd_size *size, enum pd_svd_method method,
                    int threads);
  polyad_status (*create)(polyad_context *context, const struct pd_device *device, int sizes,
                          const struct pd_svd_size *size, enum pd_svd_method method,
                          struct pd_svd_work **work);
  void (*destroy)(polyad_context *context, struct pd_svd_work *work);
  /** u = orthonormal columns that span the strongest left singular vectors of y, the strongest
   *  first; their sizes are one of the work's. Where y has fewer, any orthonormal ones follow.
   *  @return POLYAD_CANCELLED when the caller wants the work to end; u is as it was */
  polyad_status (*leading)(polyad_context *context, struct pd_svd_work *work,
                           const struct pd_matrix *y, struct pd_matrix *u);
  /** core = u^T y. */
  polyad_status (*project)(polyad_context *context, struct pd_svd_work *work,
                           const struct pd_matrix *u, const struct pd_matrix *y,
                           struct pd_matrix *core);
  /** Waits for the sum of squares of m's entries; reports what went wrong in earlier calls. */
  polyad_status (*sum_of_squares)(polyad_context *context, struct pd_svd_work *work,
                                  const struct pd_matrix *m, double *sum);
};

extern const struct pd_svd pd_cpu_svd;

/** Vectors that a method computes for a size. */
static inline uint64_t pd_svd_vectors(const struct pd_svd_size *size, enum pd_svd_method method) {
  uint64_t least = size->rows < size->columns ? size->rows : size->columns;
  uint64_t wanted = size->count;
  if (method == PD_SVD_RANDOMIZED) wanted = pd_add_saturated(wanted, PD_SVD_OVERSAMPLING);
  return wanted < least ? wanted : least;
}

#endif
