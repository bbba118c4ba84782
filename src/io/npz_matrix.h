/* Sparse matrices of scipy in NumPy archives. */
#ifndef PD_NPZ_MATRIX_H
#define PD_NPZ_MATRIX_H

#include "io/npz_archive.h"

/** Whether the archive names a format and has one of the arrays of a matrix in it. */
bool pd_npz_is_matrix(const struct pd_npz *npz);
/** The rows of the `count` values of such an archive, and behind them their columns. */
polyad_status pd_npz_matrix(const struct pd_npz *npz, const int64_t *dims, uint64_t count,
                            int64_t *coords);

#endif
