/* Questions about and changes to columns of row-major matrices, a few columns at a time so that
 * nothing need be allocated. */
#ifndef PD_COLUMNS_H
#define PD_COLUMNS_H

#include "tensor/tensor.h"

#define PD_COLUMN_CHUNK 64 /* most columns in one call */

/** Columns first to first + count - 1 of a matrix; count is at most PD_COLUMN_CHUNK. */
struct pd_columns {
  const polyad_context *context;
  void *matrix;
  polyad_type type;
  uint64_t rows, stride; /* stride: entries from one row to the next */
  uint64_t first;
  int count;
};

/** Entry of largest magnitude of each column (the first such one). */
void pd_columns_peak(const struct pd_columns *columns, double *peak);

/** Norm of each column as norm[c] * 2^exponent[c]; cannot overflow. The same for every number of
 *  threads. `one`: the sum of magnitudes, else the Euclidean norm. The same pass finds the entries
 *  that pd_columns_peak() would. */
void pd_columns_norm(const struct pd_columns *columns, bool one, double *norm, int *exponent,
                     double *peak);

/** The exponents that bring columns with these peaks to where their entries can be squared and
 *  added; whether any is not 0. */
bool pd_columns_exponents(const double *peak, int count, int *exponent);

/** How a column of a normal form is made: from the entries of column `place`, times `one` and
 *  `other`, which are powers of two, and divided by `divisor`. */
struct pd_column_form {
  uint64_t place;
  double one, other, divisor;
};

/** Divides column c by divisor[c] * 2^exponent[c]; columns with divisor 0 stay. */
void pd_columns_divide(const struct pd_columns *columns, const double *divisor,
                       const int *exponent);

#endif
