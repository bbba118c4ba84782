/* What the steps of cutting a tensor into a team's parts share: see part.h. */
#ifndef PD_PART_MAKING_H
#define PD_PART_MAKING_H

#include "plan/part.h"

/* Ranges are cut between so many parts of a mode, whose nonzeros are counted. */
enum { PD_PART_BUCKETS = 1 << 16 };
/* Rows, or indices of rows, that a thread is worth starting for. */
enum { PD_PART_GRAIN = 1 << 16 };

struct pd_part_making {
  polyad_team *team; /* NULL: nothing travels, and what a team would have is only counted */
  int size;          /* members */
  /* For each of the `size` members the fraction that it is to have of the nonzeros, and of the rows
   * that several members' nonzeros touch. The fractions add up to 1. NULL: they are equal. */
  const double *weight;
  struct pd_part *part;
  polyad_type type;
  double *nonzeros[POLYAD_MAX_ORDER]; /* in each of a mode's buckets, until it has been cut */
  int place[POLYAD_MAX_ORDER];        /* of this member in the grid */
  uint64_t *cut[POLYAD_MAX_ORDER];    /* grid + 1 numbers: where the ranges of a mode begin */
  int index_bytes[POLYAD_MAX_ORDER];  /* of an index in a record */
  uint64_t record_bytes;              /* indices, one behind the other, and the value */
  char *record;                       /* of this member's nonzeros; NULL: they are `there` */
  uint64_t count;
  struct pd_part_there *there; /* what shares on the device of the team's members; NULL: the host */
  bool cannot;                 /* a member's device cannot: all have been told */
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

/** Chooses the grid for a team's `nnz` nonzeros, of which this member has `mine`, and where its
 * ranges begin: part->grid and making->cut. Needs part->order and part->dims. */
polyad_status pd_part_cut(polyad_context *context, struct pd_part_making *making,
                          const polyad_tensor *mine, uint64_t nnz);
/** The member whose cell nonzero `p` lies in. */
int pd_part_cell(const struct pd_part_making *making, const polyad_tensor *mine, uint64_t p);
/** Fails on all members where one has read its share of another file than others. */
polyad_status pd_part_check_file(polyad_context *context, polyad_team *team,
                                 const polyad_tensor *mine);
/** Frees all of it but the part. */
void pd_part_making_clear(polyad_context *context, struct pd_part_making *making);

/** A mode's ranges are shared by layers of members. */
struct pd_part_layer {
  int members; /* of each */
  int inner;   /* members whose cells differ in the modes behind this one alone */
};
struct pd_part_layer pd_part_layers(const struct pd_part *part, int mode, int size);
/** The first row of home `k` in a layer's range of `length` rows from `first` on. */
uint64_t pd_part_home(const struct pd_part_layer *layer, uint64_t first, uint64_t length, int k);
/** The places of `mark` that are `wanted`, counted from `first` on, ascending: a list that is the
 * caller's to free. */
polyad_status pd_part_list(polyad_context *context, const unsigned char *mark, uint64_t length,
                           unsigned char wanted, uint64_t first, uint64_t **list, uint64_t *count);
/** Gives the rows of a home their owners. Every member that has a row, as number in the layer,
 * makes a key: index * members + member, the indices counted from any one on. Keys ascend. The
 * owners are the same ones whatever the number of threads.
 * @param weight  the fraction of the rows with several candidates that each member is to own; NULL:
 *                equal fractions
 * @param load   room for a number of each member
 * @param[out] owner  of the row of every key, as number in the layer */
void pd_part_settle(const polyad_context *context, const uint64_t *keys, uint64_t count,
                    int members, const double *weight, uint64_t *load, uint32_t *owner);

/** Finds the cell of every nonzero of `mine`, and brings all to the members whose cells they are
 * in: making->record. Needs making->cut. */
polyad_status pd_part_deal(polyad_context *context, struct pd_part_making *making,
                           const polyad_tensor *mine);

/** Finds the owners of a mode's rows, and fills in part->mode[mode]. `local` gets, for each index
 * of this member's range, the number of its local row, and is freed by the caller. */
polyad_status pd_part_find_owners(polyad_context *context, struct pd_part_making *making, int mode,
                                  uint64_t **local);

/* ---- on the members' devices (part_there.c) ---- */

/** Sends this member's share to the request's device. This function and pd_part_there_deal() and
 *  pd_part_there_tensor() end with what all members say: where the device of one cannot, all fail
 *  and have making->cannot. */
polyad_status pd_part_there_open(polyad_context *context, struct pd_part_making *making,
                                 const struct pd_request *request, const polyad_tensor *mine);
/** Counts the nonzeros of the share in every bucket of `width` indices of a mode. */
polyad_status pd_part_there_count(polyad_context *context, const struct pd_part_making *making,
                                  int mode, uint64_t width, double *nonzeros);
/** Brings every nonzero to its member, as pd_part_deal() does: making->count. */
polyad_status pd_part_there_deal(polyad_context *context, struct pd_part_making *making);
/** has[i] becomes 1 for every index first + i of a mode that this member's nonzeros have. */
polyad_status pd_part_there_mark(polyad_context *context, const struct pd_part_making *making,
                                 int mode, uint64_t first, uint64_t length, unsigned char *has);
/** Numbers the indices of a mode anew: `local` is that of pd_part_find_owners(). */
polyad_status pd_part_there_number(polyad_context *context, const struct pd_part_making *making,
                                   int mode, const uint64_t *local);
/** Makes this member's tensor of its nonzeros: one without arrays, to be built from in `sent`. */
polyad_status pd_part_there_tensor(polyad_context *context, struct pd_part_making *making,
                                   polyad_zeros zeros, polyad_tensor **local,
                                   struct pd_build **sent);
void pd_part_there_close(polyad_context *context, struct pd_part_making *making);

#endif
