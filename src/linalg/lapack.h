/* Eigenvalues and eigenvectors of symmetric matrices, by the machine's LAPACK.
 *
 * LAPACK is not linked: OpenBLAS, which most machines have it from, starts a thread per processor
 * and maps more than 100 MB for each when it is loaded, and where it is refused that memory it
 * raises SIGINT or waits for ever. It is loaded when the first eigenproblem comes up, which most
 * decompositions never meet, and only where there is room for it. */
#ifndef PD_LAPACK_H
#define PD_LAPACK_H

#include "core/stage.h"

/** Eigenvalues (ascending) and eigenvectors of the n x n matrix in `a`, whose columns are `stride`
 *  numbers apart; column k of `a` becomes eigenvector k. `work` has pd_eigen_numbers(n) numbers. By
 *  QR iterations (dsyev, upper triangle).
 *  POLYAD_NUMERICAL: it does not converge. POLYAD_UNSUPPORTED: this machine has no LAPACK.
 *  POLYAD_OUT_OF_MEMORY: the limit of address space has no room for it. */
polyad_status pd_eigen(polyad_context *context, size_t n, double *a, size_t stride, double *values,
                       double *work);
size_t pd_eigen_numbers(size_t n);

/** The `count` largest eigenvalues (ascending, in values[0] on; `values` has n numbers) and their
 *  eigenvectors, column k of `vectors` (n numbers each), of the n x n matrix in `a`, which is
 *  overwritten, by relatively robust representations (dstemr, upper triangle): computes no others.
 *  `work` has pd_eigen_leading_numbers(n) numbers and `integers` pd_eigen_leading_integers(n); n is
 *  at most PD_EIGEN_LARGEST: LAPACK counts the numbers in 32 bits. It is reduced to tridiagonal
 *  form, which is most of the work, the eigenvectors of that are found, and they are turned back,
 *  all in steps of a fraction of a second each, between which the stage may end it.
 *  POLYAD_CANCELLED: it did. */
polyad_status pd_eigen_leading(struct pd_stage *stage, size_t rows, double *a, size_t count,
                               double *values, double *vectors, double *work, int *integers);
size_t pd_eigen_leading_numbers(size_t n);
/** The same of a tridiagonal matrix: its diagonal, and `beside` it n - 1 numbers and a 0. About
 *  `at_once` vectors are found in one call of dstemr, more where eigenvalues are too close to be
 *  told apart. `work` has 21 n numbers. */
polyad_status pd_eigen_tridiagonal(struct pd_stage *stage, size_t rows, size_t wanted,
                                   size_t at_once, const double *diagonal, const double *beside,
                                   double *values, double *vectors, double *work, int *integers);
size_t pd_eigen_leading_integers(size_t n);
enum { PD_EIGEN_LARGEST = 32000 };

#endif
