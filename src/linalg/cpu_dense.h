/* Products of tall or wide matrices on the CPU, with double results. Matrices `y` and `u` are
 * without padding between their rows. */
#ifndef PD_CPU_DENSE_H
#define PD_CPU_DENSE_H

#include "core/stage.h"
#include "device/device.h"
#include "linalg/factor_kernels.h"

/** A Gram matrix of up to `rows` rows and the threads' parts of it. */
struct pd_dense_gram {
  uint64_t rows;
  int threads;
  double *sum;   /* padded x padded: the result's upper triangle, and of each thread */
  double *tiles; /* of each thread: two panels of PD_TILE_ROWS padded rows */
};

polyad_status pd_dense_gram_create(polyad_context *context, uint64_t rows, int threads,
                                   struct pd_dense_gram *gram);
void pd_dense_gram_destroy(polyad_context *context, struct pd_dense_gram *gram);
uint64_t pd_dense_gram_bytes(uint64_t rows, int threads);
/** sum = y^T y, at least its upper triangle (row major, padded rows), in steps of a fraction of a
 *  second, between which the stage may end it.
 *  @return POLYAD_CANCELLED: it did */
polyad_status pd_dense_gram_columns(struct pd_stage *stage, struct pd_dense_gram *gram,
                                    const struct pd_matrix *y);
/** sum = y y^T. */
polyad_status pd_dense_gram_rows(struct pd_stage *stage, struct pd_dense_gram *gram,
                                 const struct pd_matrix *y);

/** to = y b, with b y->columns x count. */
void pd_dense_times(int threads, const struct pd_matrix *y, const double *b, uint64_t count,
                    double *to);
/** to = q^T y, with q y->rows x count; to is count x y->columns. The same bits for any threads. */
void pd_dense_project(int threads, const struct pd_matrix *y, const double *q, uint64_t count,
                      double *to);

/** The first `columns` columns of u = from[i * row_step + c * column_step]. */
void pd_dense_store(struct pd_matrix *u, const double *from, uint64_t row_step,
                    uint64_t column_step, uint64_t columns);
/** to = u, without padding. */
void pd_dense_load(const struct pd_matrix *u, double *to);
/** Replaces columns of u from `from` on, and those before that are zero, by orthonormal ones that
 *  are orthogonal to all others. */
void pd_dense_complete(struct pd_matrix *u, uint64_t from);

#endif
