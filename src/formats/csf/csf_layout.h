/* Layout of format "csf": one or more trees of compressed sparse fibers; see README.md. */
#ifndef PD_CSF_LAYOUT_H
#define PD_CSF_LAYOUT_H

#include "build/records.h"
#include "formats/format.h"

/** One tree. The nodes of a level are stored side by side, the children of one node too. */
struct pd_csf_tree {
  int mode[POLYAD_MAX_ORDER];       /* of each level, the root first */
  uint64_t nodes[POLYAD_MAX_ORDER]; /* of each level; the last has nnz */
  int id_bytes[POLYAD_MAX_ORDER];   /* 2, 4 or 8 */
  void *id[POLYAD_MAX_ORDER];       /* nodes[l] indices of mode[l] */
  int start_bytes;                  /* 4 or 8 */
  void *start[POLYAD_MAX_ORDER];    /* nodes[l] + 1 numbers: where the children of each node begin
                                       in level l + 1; NULL for the last level */
  void *values;                     /* one per node of the last level */
};

struct pd_csf {
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  int trees;
  struct pd_csf_tree tree[POLYAD_MAX_ORDER];
  int tree_of[POLYAD_MAX_ORDER];  /* the tree that gives the MTTKRP of each mode */
  int level_of[POLYAD_MAX_ORDER]; /* and the mode's level in it */
};

/** Which trees to build: mode order of each, and which tree serves which mode. */
struct pd_csf_shape {
  int trees;
  int mode[POLYAD_MAX_ORDER][POLYAD_MAX_ORDER];
};

/** The shape for a request: variants one, two, all, or auto (by a model of time). */
void pd_csf_choose(const struct pd_traits *traits, const struct pd_request *request,
                   struct pd_csf_shape *shape);
/** Estimated seconds of one MTTKRP in every mode. */
double pd_csf_seconds(const struct pd_traits *traits, const struct pd_request *request,
                      const struct pd_csf_shape *shape);

/** The room that trees are built in, and the most bytes that building takes beyond the trees. */
polyad_status pd_csf_room_create(polyad_context *context, const polyad_tensor *tensor,
                                 struct pd_room *room);
uint64_t pd_csf_building_bytes(const struct pd_traits *traits, polyad_type type, int threads);
/** Builds and checks one tree; what was allocated is in it also on failure. */
polyad_status pd_csf_tree_build(polyad_context *context, const polyad_tensor *tensor,
                                bool force_index64, const int *modes, struct pd_room *room,
                                struct pd_csf_tree *tree);
polyad_status pd_csf_tree_check(polyad_context *context, const struct pd_csf *csf, int which);

#endif
