/* A member's part of a plan that a team shares.
 *
 * The modes are cut into ranges, and the team is a grid over them: a member has the nonzeros of one
 * cell of the grid (Smith and Karypis, "A medium-grained algorithm for distributed sparse tensor
 * factorization", IPDPS 2016). In the member's own tensor the indices of a mode are numbered anew:
 * they are those that its nonzeros have, and those that it owns. So all formats and kernels work on
 * it as they are, and a factor has rows for these indices alone.
 *
 * Every index of the whole tensor has one owner, a member whose nonzeros have the index where there
 * is one. Own rows come first, in the order of the whole tensor; behind them those of the other
 * members, by their ranks and then in the same order. After a kernel the partial rows go to their
 * owner, which adds them to its own in the order of the ranks; after an update the owner gives the
 * new rows to all that read them. */
#ifndef PD_PART_H
#define PD_PART_H

#include "device/team.h"
#include "plan/plan.h"

/** The rows of one mode. */
struct pd_part_mode {
  uint64_t length; /* of the mode in the whole tensor */
  uint64_t owned;  /* of the local rows, the first ones are this member's own */
  uint64_t rows;   /* local, at least 1: where there are none, one that nobody reads */
  uint64_t *index; /* of every local row in the whole tensor */
  uint64_t *held;  /* size + 1: rows held[k] to held[k + 1] - 1 are member k's; none are its own */
  uint64_t *lent;  /* size + 1: into lent_row, of the rows that member k reads */
  uint64_t *lent_row;   /* own local rows, for each member in their order */
  uint64_t *lent_there; /* the same list in the memory of the part's device */
  bool travels;         /* whether any member reads rows of another's */
};

struct pd_part {
  polyad_team *team;
  const struct pd_device *device; /* where the member's matrices lie */
  int order;
  int grid[POLYAD_MAX_ORDER]; /* ranges that the modes are cut into */
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;      /* of the whole tensor */
  uint64_t most_nnz; /* of a member */
  struct pd_part_mode mode[POLYAD_MAX_ORDER];
};

/** Cuts the tensor whose nonzeros are spread over the team in any way; `mine` is this member's
 *  share, with the indices of the whole tensor, and is left as it is. Nonzeros that several members
 *  have are added up.
 *  @param[out] local  this member's cell, with local indices
 *  @param[out] sent   NULL: the host does all. Else the request's device does: the nonzeros of
 *                     `local`, which has no arrays, are in `sent`. Where a member's device cannot,
 *                     for want of memory or of nonzeros, `part` is NULL for all. */
polyad_status pd_part_create(polyad_context *context, polyad_team *team,
                             const struct pd_request *request, const polyad_tensor *mine,
                             polyad_tensor **local, struct pd_build **sent, struct pd_part **part);
/** Copies the lists of lent rows to where kernels read them. */
polyad_status pd_part_place(polyad_context *context, struct pd_part *part,
                            const struct pd_device *device);
void pd_part_destroy(polyad_context *context, struct pd_part *part);

/** A team's plan: of the part of the tensor that is this member's. */
polyad_status pd_part_plan_create(polyad_context *context, polyad_tensor *share,
                                  struct pd_request *request, const polyad_plan_options *options,
                                  polyad_plan **plan);
/** Makes a plan's norm that of the whole tensor; and the other facts, but for the longest rows. */
polyad_status pd_part_share_norm(polyad_context *context, const struct pd_part *part,
                                 polyad_plan *plan);
polyad_status pd_part_share_facts(polyad_context *context, const struct pd_part *part,
                                  polyad_plan *plan);

/** The grid of `size` members that is expected to move the fewest rows, and to let the fewest
 *  nonzeros wait.
 *  @param crowding  at [n * (size + 1) + q]: the nonzeros in the fullest range of mode n, cut into
 *                   q, over their mean; NULL: ranges are even */
void pd_part_choose_grid(int order, const uint64_t *dims, uint64_t nnz, int size,
                         const double *crowding, int *grid);
/** The same for members whose shares are unequal: a single mode is cut, into one range for each
 *  member. */
void pd_part_choose_mode(int order, const uint64_t *dims, uint64_t nnz, int size,
                         const double *crowding, int *grid);
/** Rows that a member is expected to read and not to own, all modes together: they are sent and
 *  got twice in an iteration. */
double pd_part_expected_rows(int order, const uint64_t *dims, uint64_t nnz, const int *grid);

/** Room for the rows of one exchange, of `columns` numbers of up to 8 bytes. */
struct pd_part_room {
  char *rows;               /* as many as are lent in any mode, in the device's memory */
  char *held;               /* as many as are held, where rows of factors lie apart; else NULL */
  struct pd_parcel *parcel; /* 2 x size */
};
uint64_t pd_part_room_bytes(const struct pd_part *part, uint64_t columns);
polyad_status pd_part_room_create(polyad_context *context, const struct pd_part *part,
                                  uint64_t columns, struct pd_part_room *room);
void pd_part_room_clear(polyad_context *context, const struct pd_part *part,
                        struct pd_part_room *room);

/** Matrices are in the device's memory. Adds the partial rows of a mode to their owners': own rows
 * are then complete, and what the others hold is not to be read. */
polyad_status pd_part_collect(polyad_context *context, const struct pd_part *part, int mode,
                              const struct pd_part_room *room, struct pd_matrix *rows);
/** Gives the owners' rows to all that read them. */
polyad_status pd_part_spread(polyad_context *context, const struct pd_part *part, int mode,
                             const struct pd_part_room *room, struct pd_matrix *rows);

/** Brings the rows of a mode to member 0, in the order of the whole tensor; `whole` is NULL on the
 *  others. `local` and `whole` are of the host, without padding, with rows of `bytes`. */
polyad_status pd_part_gather(polyad_context *context, const struct pd_part *part, int mode,
                             uint64_t bytes, const void *local, void *whole);
/** The way back: every member gets the rows that it has, its own and others'. */
polyad_status pd_part_scatter(polyad_context *context, const struct pd_part *part, int mode,
                              uint64_t bytes, const void *whole, void *local);

#endif
