/* What the steps of cutting a tensor into a team's parts share: see part.h. */
#ifndef PD_PART_MAKING_H
#define PD_PART_MAKING_H

#include "plan/part.h"

struct pd_part_making {
  polyad_team *team;
  struct pd_part *part;
  polyad_type type;
  double *nonzeros[POLYAD_MAX_ORDER]; /* in each of a mode's buckets, until it has been cut */
  int place[POLYAD_MAX_ORDER];        /* of this member in the grid */
  uint64_t *cut[POLYAD_MAX_ORDER];    /* grid + 1 numbers: where the ranges of a mode begin */
  int index_bytes[POLYAD_MAX_ORDER];  /* of an index in a record */
  uint64_t record_bytes;              /* indices, one behind the other, and the value */
  char *record;                       /* of this member's nonzeros */
  uint64_t count;
};

static inline uint64_t pd_part_get(const char *from, int bytes) {
  uint32_t narrow;
  uint64_t wide;
  if (bytes == 4) {
    __builtin_memcpy(&narrow, from, sizeof narrow);
    return narrow;
  }
  __builtin_memcpy(&wide, from, sizeof wide);
  return wide;
}

/** Finds the cell of every nonzero of `mine`, and brings all to the members whose cells they are
 * in: making->record. Needs making->cut. */
polyad_status pd_part_deal(polyad_context *context, struct pd_part_making *making,
                           const polyad_tensor *mine);

/** Finds the owners of a mode's rows, and fills in part->mode[mode]. `local` gets, for each index
 * of this member's range, the number of its local row, and is freed by the caller. */
polyad_status pd_part_find_owners(polyad_context *context, struct pd_part_making *making, int mode,
                                  uint64_t **local);

#endif
