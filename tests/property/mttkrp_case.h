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
  int long_mode;                          /* where length > 0; see problem_lengthen() */
  uint64_t length;
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

/* Makes one mode longer for the library than it is for the oracle, to up to 2^31: its indices lie
 * in even steps from the first to the last, and all between them are empty. Not every seed does. */
void problem_lengthen(struct problem *problem, uint64_t seed);
/* Whether a plan or a workspace for it needs more than the limit that problem_polyad() sets, for
 * not every format takes little memory for empty rows; fails the test on any other error. */
bool problem_is_too_long(polyad_context *context, const struct problem *problem,
                         polyad_status status);
/* Matrices of a mode as the library takes them, dims[mode] x columns numbers `from` in those places
 * that the library knows; of long modes only what is used takes memory. NULL: all is NaN. */
void *problem_matrix(const struct problem *problem, int mode, const double *from, size_t columns,
                     polyad_type type);
void problem_matrix_free(const struct problem *problem, int mode, size_t columns, polyad_type type,
                         const void *matrix);
/* Takes the numbers out again, and fails the test where others are not zero. */
void problem_matrix_read(const struct problem *problem, int mode, size_t columns, polyad_type type,
                         const void *matrix, double *to);
/* Whether there is room for a result, all of which is written. */
bool problem_has_room(const struct problem *problem, int mode, size_t columns);

/* A copy of numbers as floats or doubles, to be freed. */
void *problem_in_type(const double *from, size_t count, polyad_type type);

/* Calls `visit` for every variant of every format whose kernels on the device run all these
 * operations (engine/op.h) in one walk, and returns how many there were. */
int property_each_variant(const char *device, uint64_t ops,
                          void (*visit)(const char *format, const char *variant));

/* The same for one of them, as `which` counts. */
void property_one_variant(const char *device, uint64_t ops, uint64_t which,
                          void (*visit)(const char *format, const char *variant));

/* A small case drawn at random: of 1 to 8 modes, short and long ones (every fourth case has one of
 * up to 2^31), with empty slices, repeats or one row that has most nonzeros, whose values add up
 * without rounding once problem_coarsen() has rounded them. Less than 256 entries, so that float
 * sums are of known depth (bound_of). */
void property_draw_case(uint64_t seed, struct mttkrp_case *from);
void problem_coarsen(struct problem *problem);

/* Fails the test when any entry of any mode is further from the oracle than rounding allows. False:
 * problem_is_too_long(). */
bool problem_compare(polyad_context *context, const polyad_plan *plan, struct problem *problem,
                     const char *what);

#endif
