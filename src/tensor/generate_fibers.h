/* Generated tensors with a given number of distinct tuples of the first n modes, for every n: a
 * tree whose level n holds these tuples, as published real tensors have them. */
#ifndef PD_GENERATE_FIBERS_H
#define PD_GENERATE_FIBERS_H

#include "tensor/generate_children.h"
#include "tensor/generate_pick.h"
#include "tensor/generate_plan.h"

enum { PD_FIBER_ORDER = 5 }; /* most modes of a profile */

/** One level of the tree, the tuples of modes 1 to n; a tuple's children are the indices that
 *  continue it. What is not published is 0: see pd_fiber_counts(). */
struct pd_fiber_level {
  uint64_t tuples; /* distinct tuples; not set at the last level, whose tuples are the nonzeros */
  double cv;       /* coefficient of variation of the number of children that end here */
  uint64_t most;   /* the largest such number */
  unsigned common; /* bits of earlier modes: tuples that agree there have children in common … */
  double share;    /* … with this chance for each child */
};
struct pd_fiber_profile {
  struct pd_fiber_level level[PD_FIBER_ORDER];
};

/** Numbers that a tensor of this size shall have: distinct tuples of modes 1 to n, and non-empty
 *  slices of mode n. */
struct pd_fiber_counts {
  uint64_t tuples[PD_FIBER_ORDER], slices[PD_FIBER_ORDER];
};

/** Counts for `scale` times the published nonzeros, of which there are then `nnz`.
 *  - Tuples that are not published: of mode 1, all its indices; of more modes, the geometric mean
 *    of the fewest and the most there can be.
 *  - Scaled: tuples of two modes and more are multiplied, so that fibers keep their lengths, within
 *    what the other levels and the dims allow. Slices of a mode stay non-empty where the tuples
 *    that end in it are at least four times as many; else they are at most multiplied, too. */
struct pd_fiber_counts pd_fiber_counts(const struct pd_fiber_profile *profile, int order,
                                       const uint64_t *dims, uint64_t nnz, double scale);

struct pd_fiber_mode {
  struct pd_children children;
  struct pd_pick_mode pick;
  uint64_t extra_room;    /* most children that a node may have beyond the first */
  uint64_t most_children; /* that a node has */
  uint64_t most_parents;  /* in one slice of the first mode */
  unsigned common;
  double share;
};

struct pd_fiber_plan {
  uint64_t seed;
  int order;
  uint64_t dims[PD_FIBER_ORDER];
  struct pd_fiber_counts counts;
  struct pd_fiber_mode mode[PD_FIBER_ORDER];
  /** Place of the first tuple of modes 1 to n + 1 in slice i of mode 1 (one more place than there
   *  are slices), for n >= 1. */
  uint64_t *first[PD_FIBER_ORDER];
  uint64_t leaf_count;
  uint64_t *leaf_slice; /* first slice of each leaf, and one past the last slice */
};

/** Plans the tensor. `plan` has seed, order and dims set. */
polyad_status pd_fiber_plan_create(polyad_context *context, const struct pd_fiber_profile *profile,
                                   uint64_t nnz, double scale, const double *skew,
                                   struct pd_fiber_plan *plan);
void pd_fiber_plan_destroy(polyad_context *context, struct pd_fiber_plan *plan);

/** Place of the first nonzero of a leaf. */
uint64_t pd_fiber_plan_begin(const struct pd_fiber_plan *plan, uint64_t leaf);

/** Stream of the numbers of children that the tuples of modes 1 to `level` in a slice have. */
uint64_t pd_fiber_stream(int level, uint64_t slice);

/** Bytes of work space that filling a leaf needs. */
uint64_t pd_fiber_plan_scratch_bytes(const struct pd_fiber_plan *plan);
/** Makes the nonzeros of a leaf, sorted. */
void pd_fiber_plan_fill(const struct pd_fiber_plan *plan, uint64_t leaf, void *scratch,
                        struct pd_sink *sink);

#endif
