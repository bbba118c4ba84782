/* Random tensors and factors for the tests of MTTKRP, and the comparison with the oracle. */
#ifndef MTTKRP_CASE_H
#define MTTKRP_CASE_H

#include "oracle/mttkrp_oracle.h"
#include <polyad/polyad.h>
#include <stdbool.h>

enum shape {
  SHAPE_UNIFORM,
  SHAPE_HEAVY,   /* most nonzeros in one slice of every mode */
  SHAPE_FIBERS,  /* nonzeros come in runs along the last mode */
  SHAPE_DIAGONAL /* every slice has at most one nonzero */
};

struct mttkrp_case {
  const char *name;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  size_t nnz;
  enum shape shape;
  bool repeats; /* every third coordinate is given twice */
};

/* What the oracle finds for one mode: sums, sums of magnitudes (dims[mode] x rank), terms per row.
 */
struct answer {
  long double *exact, *magnitude;
  size_t *terms;
};

/* A case made concrete: owned arrays. */
struct problem {
  const struct mttkrp_case *from;
  size_t entries; /* repeats counted */
  uint64_t *index;
  double *value;
  size_t rank;
  double *factor[POLYAD_MAX_ORDER];
  struct answer answer[POLYAD_MAX_ORDER]; /* found when a mode is first compared */
};

/* Values and factors are floats, so that both precisions compute with the same numbers; about
 * half of them are negative, so that sums cancel. */
void problem_make(const struct mttkrp_case *from, size_t rank, uint64_t seed,
                  struct problem *problem);
void problem_free(struct problem *problem);
/* To be called after entries or factors of a compared problem were changed, or of a copy. */
void problem_forget_answers(struct problem *problem);
struct oracle_tensor problem_tensor(const struct problem *problem);
polyad_tensor *problem_polyad(polyad_context *context, const struct problem *problem,
                              polyad_type type);

/* The plan's MTTKRP of one mode as doubles (dims[mode] x rank). */
void problem_mttkrp(polyad_context *context, const polyad_plan *plan, polyad_workspace *workspace,
                    const struct problem *problem, int mode, double *out);

/* A copy of numbers as floats or doubles, to be freed. */
void *problem_in_type(const double *from, size_t count, polyad_type type);

/* Calls `visit` for every variant of every format whose kernels on the device run all these
 * operations (engine/op.h) in one walk, and returns how many there were. */
int property_each_variant(const char *device, uint64_t ops,
                          void (*visit)(const char *format, const char *variant));

/* The same for one of them, as `which` counts. */
void property_one_variant(const char *device, uint64_t ops, uint64_t which,
                          void (*visit)(const char *format, const char *variant));

/* A small case drawn at random: of 1 to 8 modes, short and long ones, with empty slices, repeats or
 * one row that has most nonzeros, whose values add up without rounding once problem_coarsen() has
 * rounded them. Less than 256 entries, so that float sums are of known depth (bound_of). */
void property_draw_case(uint64_t seed, struct mttkrp_case *from);
void problem_coarsen(struct problem *problem);

/* Fails the test when any entry of any mode is further from the oracle than rounding allows. */
void problem_compare(polyad_context *context, const polyad_plan *plan, struct problem *problem,
                     const char *what);

#endif
