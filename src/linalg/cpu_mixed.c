/* The lists of sums that the CPU exchanges with devices of other kinds: see cpu_mixed.h. */
#include "linalg/cpu_mixed.h"
#include <string.h>

static void put_sums(size_t rank, const struct pd_cpu_sums *sums, double *list) {
  if (sums->gram != NULL) memcpy(list, sums->gram, rank * rank * sizeof *list);
  if (sums->gram != NULL) list += rank * rank;
  for (int k = 0; k < PD_COLUMN_SUMS; ++k, list += rank)
    if (sums->column[k] != NULL) memcpy(list, sums->column[k], rank * sizeof *list);
}

static void get_sums(size_t rank, const double *list, const struct pd_cpu_sums *sums) {
  for (size_t r = 0; r < rank && sums->gram != NULL; ++r)
    for (size_t s = r; s < rank; ++s)
      sums->gram[r * rank + s] = sums->gram[s * rank + r] = list[r * rank + s];
  if (sums->gram != NULL) list += rank * rank;
  for (int k = 0; k < PD_COLUMN_SUMS; ++k, list += rank)
    if (sums->column[k] != NULL) memcpy(sums->column[k], list, rank * sizeof *list);
}

polyad_status pd_cpu_share_mixed(polyad_context *context, struct pd_linalg_work *work,
                                 const struct pd_cpu_sums *sums) {
  size_t rank = work->rank, square = sums->gram != NULL ? rank * rank : 0;
  size_t count = square + PD_COLUMN_SUMS * rank;
  memset(work->sent, 0, count * sizeof *work->sent);
  put_sums(rank, sums, work->sent);
  PD_TRY(pd_team_fold(context, work->team, count, square + PD_SUM_LARGEST * rank, work->sent));
  get_sums(rank, work->sent, sums);
  return POLYAD_OK;
}
