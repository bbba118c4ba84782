/* The tensor seen in a basis of each mode: G = X x_1 U_1^T x_2 ... x_N U_N^T as a dense array. */
#ifndef PD_CORE_PROJECT_H
#define PD_CORE_PROJECT_H

#include "core/stage.h"
#include "tensor/tensor.h"

/** The nonzeros as a tree whose levels are the modes from the shortest to the longest: level l of
 *  the tree is mode[l] of the tensor. */
struct pd_tree {
  polyad_context *context;
  const polyad_tensor *tensor;
  int order, mode[POLYAD_MAX_ORDER];
  uint64_t *place;                      /* of the nonzeros in the tree's order */
  uint8_t *level;                       /* the first level at which a place differs from the one
                                           before it */
  void *leaf;                           /* place k's index of the last level, as the tensor's */
  double *value;                        /* of place k */
  uint64_t parts, *part;                /* part r has the places part[r] to part[r + 1] - 1: all of
                                           a root, or some of its children where it has many */
  uint64_t nodes[POLYAD_MAX_ORDER + 1]; /* nodes[l]: different indices of the first l levels */
};

polyad_status pd_tree_create(polyad_context *context, const polyad_tensor *tensor,
                             struct pd_tree *tree);
/** May be called on one that was set to zero. */
void pd_tree_clear(struct pd_tree *tree);

/** An orthonormal basis of each level's mode: columns[l] columns of the rows of `basis[l]`, which
 *  are stride[l] doubles apart. */
struct pd_bases {
  uint64_t columns[POLYAD_MAX_ORDER], stride[POLYAD_MAX_ORDER];
  const double *basis[POLYAD_MAX_ORDER];
};

/** Multiplications and additions that a projection takes. */
double pd_project_work(const struct pd_tree *tree, const uint64_t *columns);

/** core (columns[0] x columns[1] x ..., the last level fastest) = the projection. Sums of a node's
 *  children are multiplied by its row of the basis once; what is held at a time are the sums along
 *  one path from root to leaf and those of a few parts of roots. The same bits for any number of
 * threads.
 *  @return POLYAD_CANCELLED, POLYAD_MEMORY_LIMIT, POLYAD_OUT_OF_MEMORY */
polyad_status pd_project(struct pd_stage *stage, const struct pd_tree *tree,
                         const struct pd_bases *bases, double *core);

#endif
