/* Tensor-times-matrix chains of random tensors with factors of different ranks, compared with the
 * oracle. */
#ifndef TTMC_CASE_H
#define TTMC_CASE_H

#include "property/mttkrp_case.h"

struct ttmc_case {
  struct mttkrp_case tensor;
  uint64_t ranks[POLYAD_MAX_ORDER];
};

extern const struct ttmc_case ttmc_cases[];
extern const int ttmc_case_count;

/* A case with factors: floats, half of them negative. */
struct ttmc_problem {
  const struct ttmc_case *from;
  struct problem tensor;
  double *factor[POLYAD_MAX_ORDER];
};

void ttmc_problem_make(const struct ttmc_case *from, uint64_t seed, struct ttmc_problem *problem);
void ttmc_problem_free(struct ttmc_problem *problem);
/* The plan's chain of one mode as doubles. */
void ttmc_problem_run(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                      const struct ttmc_problem *problem, int mode, double *out);
size_t ttmc_problem_columns(const struct ttmc_problem *problem, int mode);
/* Fails the test when any entry of any mode is further from the oracle than rounding allows;
 * `atomic`: partial sums are rounded to the output's type and added there in any order. */
bool ttmc_problem_compare(polyad_context *context, const polyad_plan *plan,
                          const struct ttmc_problem *problem, bool atomic, const char *what);

#endif
