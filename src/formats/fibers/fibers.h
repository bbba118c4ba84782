/* Trees of compressed fibers over some of a tensor's nonzeros, with the pieces of about equal size
 * that a GPU's groups of lanes take: what "bcsf", "hbcsf" and "mmcsf" are made of.
 *
 * Level 0 has the slices, level order - 2 the fibers, the last level the nonzeros. */
#ifndef PD_FIBERS_H
#define PD_FIBERS_H

#include "formats/nonzeros/nonzeros.h"
#include "formats/storage.h"

/** Nonzeros after which a piece of a slice ends: short enough that a GPU has many thousand groups
 *  at work at once, since one group's loads wait for each other, and long enough that most of its
 *  time goes into nonzeros. */
static inline uint32_t pd_fibers_piece_most(uint64_t nnz) {
  const uint64_t pieces = 1 << 16, least = 64, most = 512;
  return (uint32_t)(nnz / pieces < least ? least : nnz / pieces > most ? most : nnz / pieces);
}

/** Nonzeros after which a piece of whole slices ends. */
static inline uint32_t pd_fibers_piece(uint64_t nnz) {
  uint32_t half = pd_fibers_piece_most(nnz) / 2;
  return half < 64 ? half : 64;
}

struct pd_fibers {
  int order;
  int level[POLYAD_MAX_ORDER]; /* modes, the slices' first */
  uint32_t nnz;
  uint32_t nodes[POLYAD_MAX_ORDER];  /* of each level */
  uint32_t *id[POLYAD_MAX_ORDER];    /* of the nodes of each level; the last has nnz */
  uint32_t *start[POLYAD_MAX_ORDER]; /* nodes + 1: where children begin; not of the last level */
  void *values;
  /* Pieces: some whole slices, or a part of one. */
  uint32_t items;
  uint32_t *item; /* items + 1: first nonzero */
  uint32_t *path; /* items x (order - 1): its node in each level above the last */
  uint8_t *whole; /* whether the piece has whole slices */
};

/** Builds the tree from `count` nonzeros, which the permutation sorts by the levels (NULL: they are
 *  the tensor's, which is sorted so). A fiber of more than `fiber_most` nonzeros becomes several
 * with the same id (0: any length). What was allocated is in the tree also on failure. */
polyad_status pd_fibers_build(polyad_context *context, const polyad_tensor *tensor,
                              const int *levels, uint32_t count, const uint32_t *permutation,
                              uint32_t fiber_most, struct pd_fibers *tree);
/** Shows the arrays; `use` is that of those which decoding reads. */
void pd_fibers_arrays(struct pd_fibers *tree, polyad_type type, enum pd_array_use use,
                      struct pd_arrays *arrays);
polyad_status pd_fibers_check(polyad_context *context, const struct pd_fibers *tree,
                              const char *format, uint32_t fiber_most);
/** About what a tree of all nonzeros is: its sizes, no arrays. */
struct pd_fibers pd_fibers_like(const struct pd_traits *traits, const int *levels);

/** Nonzeros [first, first + count) of the tree into places from `at` on. */
void pd_fibers_decode(const struct pd_fibers *tree, polyad_type type, uint64_t first, int count,
                      int at, struct pd_chunk *block);

/** The levels of a tree: `root` first (-1: none), `leaf` last, the others between them, shorter
 *  modes first. */
void pd_fibers_levels(int order, const uint64_t *dims, int root, int leaf, int *levels);
/** The mode other than `root` whose fibers are fewest, so that they are longest. */
int pd_fibers_leaf(const struct pd_traits *traits, int root);

#endif
