/* The plan of a generated tensor whose modes follow independent laws. */
#ifndef PD_GENERATE_PLAN_H
#define PD_GENERATE_PLAN_H

#include "tensor/generate.h"
#include "tensor/generate_law.h"

/** Slices fuller than one cell in this many are divided down to cells, not drawn. */
#define PD_DENSE_SHARE 16

/** A range [lo, hi) of indices of one mode below fixed indices of the modes before it, with the
 *  number of nonzeros in it. */
struct pd_leaf {
  uint64_t prefix[POLYAD_MAX_ORDER];
  int mode;
  uint64_t lo, hi;
  uint64_t nnz;
  uint64_t begin; /* place of its first nonzero in the tensor */
};

struct pd_plan {
  uint64_t seed;
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  uint64_t capacity[POLYAD_MAX_ORDER]; /* cells below one index of a mode; sticks at 2^64 - 1 */
  double cluster;
  struct pd_law law[POLYAD_MAX_ORDER];
  uint64_t leaf_nnz; /* most nonzeros of a leaf */
  uint64_t leaf_count, leaf_room;
  struct pd_leaf *leaves;
};

/** Stream of random numbers that belongs to the first `modes` indices of `prefix`. */
uint64_t pd_plan_stream(const uint64_t *prefix, int modes);

/** Called for each index of a range that has nonzeros, in ascending order. */
struct pd_visitor {
  polyad_status (*visit)(struct pd_visitor *visitor, uint64_t index, uint64_t nnz);
  /** Asked for each part of the range: true when it was dealt with as a whole. May be NULL. */
  bool (*take)(struct pd_visitor *visitor, uint64_t lo, uint64_t hi, uint64_t nnz,
               polyad_status *status);
};

/** Divides `nnz` nonzeros among the indices lo to hi - 1 of a mode: by its law, at random, but
 *  never more to an index than it has cells. The division of a part depends on the part alone. */
polyad_status pd_plan_divide(const struct pd_plan *plan, uint64_t stream, int mode, uint64_t lo,
                             uint64_t hi, uint64_t nnz, struct pd_visitor *visitor);

/** Plans all leaves. `plan` has seed to cluster set. */
polyad_status pd_plan_create(polyad_context *context, const double *skew, struct pd_plan *plan);
void pd_plan_destroy(polyad_context *context, struct pd_plan *plan);

/** Where nonzeros go; `at` is the next place in the arrays. */
struct pd_sink {
  void *const *index;
  void *values;
  polyad_type type;
  uint64_t at;
};

/** Bytes of work space that filling a leaf needs. */
uint64_t pd_plan_scratch_bytes(const struct pd_plan *plan);

/** Makes the nonzeros of a leaf, sorted. */
void pd_plan_fill(const struct pd_plan *plan, const struct pd_leaf *leaf, void *scratch,
                  struct pd_sink *sink);

/** Value of nonzero p: a small count, 1 to 9. */
double pd_generated_value(uint64_t seed, uint64_t p);

#endif
