/* What a rank scan knows of all ranks, and what follows from it. */
#ifndef PD_RANK_SCAN_H
#define PD_RANK_SCAN_H

#include "core/core.h"
#include <polyad/rank.h>

/** Numbers of a scan beside its rows. */
struct pd_rank_evidence {
  int rows, folds;
  const polyad_rank_row *row;
  const double *error; /* rows x folds held-out errors; NaN: that fold has none */
  int order;           /* of the tensor where the fits are of least squares; else 0 */
  const uint64_t *dims;
};

/** Chooses the rank, see polyad_rank_scan(), and says why. */
void pd_rank_advise(const struct pd_rank_evidence *evidence, polyad_rank_result *result);

#endif
