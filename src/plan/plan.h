/* Layout of plan and workspace, and what algorithms call. */
#ifndef PD_PLAN_H
#define PD_PLAN_H

#include "device/team.h"
#include "formats/format.h"

#define PD_EXPLANATION_BYTES 2048

struct pd_members;
struct pd_part;

/** Columns that runs side by side share in one product: with more, the rows of factors that
 * nonzeros refer to no longer fit the nearest caches. */
enum { PD_SHARED_COLUMNS = 48 };

/** The longest MTTKRP that CP-ALS makes ahead (algorithms/als_ahead.c), in bytes: it takes as much
 *  memory, and longer ones take so long that the fifty microseconds in which a device waits for the
 *  host do not matter. */
enum { PD_PLAN_AHEAD_BYTES = 8 << 20 };

struct polyad_plan {
  polyad_context *context; /* owner of the memory */
  const struct pd_device *device;
  const struct polyad_format *format;
  const struct polyad_kernels *kernels;
  void *storage;   /* on the host */
  void *on_device; /* what kernels get: `storage` itself where it is the host's memory */
  bool shed;       /* the arrays are on the device alone: `storage` is what describes them */
  int order;
  uint64_t dims[POLYAD_MAX_ORDER];
  uint64_t nnz;
  polyad_type type;
  polyad_compute compute; /* types of products */
  polyad_zeros zeros;     /* whether zeros are among the nonzeros */
  double norm;       /* Frobenius norm; squares are scaled, so that it overflows only if it must */
  int norm_exponent; /* norm^2 = norm_square_scaled * 2^(2 * norm_exponent) */
  double norm_square_scaled;
  int value_exponent;   /* kernels see the values times 2^-value_exponent: not 0 only for values so
                           large or small that products would overflow or underflow */
  uint64_t tensor_hash; /* polyad_tensor_hash() of the tensor */
  double sum;           /* of the values, as the plan's kernels see them */
  bool beside_bits;     /* some values are neither 0 nor 1; of a team, of this member's. False also
                           where a device alone has seen the values */
  uint64_t longest_row[POLYAD_MAX_ORDER]; /* nonzeros of the fullest slice of each mode */
  struct {
    bool found;
    double value;
    uint64_t index[POLYAD_MAX_ORDER];
  } negative;           /* the first value below 0, for methods that take none */
  struct pd_part *part; /* of a team: all else is about this member's tensor, but for the norm, the
                           sum, longest_row and negative; NULL: no team shares the plan */
  struct pd_members *members; /* of a team of devices of this process, of which this is member 0's
                                 plan; NULL: there is none (plan/members.h) */
  uint64_t device_bytes;      /* predicted: polyad_plan_device_bytes() */
  char devices[256];          /* names, such as "cuda:0" or, of several, "cuda:0,cpu" */
  char variant[PD_REASON_BYTES];
  char explanation[PD_EXPLANATION_BYTES];
};

struct polyad_workspace {
  polyad_context *context;
  const polyad_plan *plan;
  const struct pd_walk *walk;          /* of the plan's kernels: what `scratch` belongs to */
  enum pd_combine combine;             /* of the operations that it was made for */
  uint64_t ranks[POLYAD_MAX_ORDER];    /* columns of each mode's factor */
  uint64_t versions[POLYAD_MAX_ORDER]; /* of the arrays that callers hand in; 0: not known */
  void *scratch;
  struct pd_part_room *room; /* of a team's plan */
};

/** What a storage is made for. */
struct pd_making {
  const struct polyad_format *format;
  const struct pd_request *request; /* with the device */
};

/** A storage where its kernels run; the members are those of a plan. */
struct pd_stored {
  void *storage, *on_device;
  bool shed;
};

/** Makes a storage on the device, or on the host and copies it to the device. */
polyad_status pd_storage_make(polyad_context *context, const struct pd_making *making,
                              polyad_tensor *tensor, bool take, struct pd_stored *stored);
void pd_stored_clear(polyad_context *context, const struct polyad_format *format,
                     const struct pd_device *device, struct pd_stored *stored);
/** The most bytes of the device that building a storage of `storage_bytes` there takes, the storage
 *  included; 0: the host builds. */
uint64_t pd_storage_device_bytes(const struct polyad_format *format, const struct pd_traits *traits,
                                 const struct pd_request *request, uint64_t storage_bytes);

/** A plan's nonzeros, with the values that its kernels see. */
struct pd_plan_nonzeros {
  struct pd_nonzeros all;
  void *brought; /* the storage, brought from the device; NULL: it is the plan's own */
};
polyad_status pd_plan_nonzeros_open(polyad_context *context, const polyad_plan *plan,
                                    struct pd_plan_nonzeros *nonzeros);
void pd_plan_nonzeros_close(polyad_context *context, const polyad_plan *plan,
                            struct pd_plan_nonzeros *nonzeros);
/** Their number, modes and type alone: nothing can be decoded. */
struct pd_nonzeros pd_plan_shape(const polyad_plan *plan);
/** How many of them a device gets at a time that looks at all: as many as a chunk has of a tensor
 *  that streams, else all. */
uint64_t pd_plan_piece(const polyad_plan *plan);
/** Validates every invariant of the plan's storage, wherever it lies. */
polyad_status pd_plan_check(polyad_context *context, const polyad_plan *plan);
/** Refuses negative values: `method` expects counts. */
polyad_status pd_plan_check_counts(polyad_context *context, const polyad_plan *plan,
                                   const char *method);
/** The nonzeros as a tensor, sorted as every tensor is (without labels). */
polyad_status pd_plan_expand(polyad_context *context, const polyad_plan *plan,
                             polyad_tensor **tensor);

/** The most additions, in the plan's type, that a product goes through on its way into an entry of
 *  this mode's MTTKRP. */
uint64_t pd_plan_sum_depth(const polyad_plan *plan, const polyad_workspace *workspace, int mode);

/* A plan that a team shares (plan/part.h): matrices have a row for every index of this member's
 * tensor; those that it owns come first. A plan alone has all rows, and owns them. Every member
 * makes the calls that follow here, and pd_plan_run(), of whose results the own rows are to be
 * read. */

/** The team; NULL: none. */
polyad_team *pd_plan_team(const polyad_plan *plan);
/** The length of a mode of the whole tensor. */
uint64_t pd_plan_length(const polyad_plan *plan, int mode);
/** The first rows of a mode's matrices, which this member owns. */
uint64_t pd_plan_own_rows(const polyad_plan *plan, int mode);
/** The same matrix with those rows alone. */
struct pd_matrix pd_plan_own(const polyad_plan *plan, int mode, const struct pd_matrix *matrix);
/** The index in the whole tensor that row i of a mode's matrices belongs to. */
uint64_t pd_plan_index(const polyad_plan *plan, int mode, uint64_t i);
/** Adds partial rows of a matrix of any width up to the workspace's rank to those of their owners.
 */
polyad_status pd_plan_collect(polyad_context *context, const polyad_plan *plan,
                              polyad_workspace *workspace, int mode, struct pd_matrix *rows);
/** Gives the rows that their owners have changed to all that read them. */
polyad_status pd_plan_spread(polyad_context *context, const polyad_plan *plan,
                             polyad_workspace *workspace, int mode, struct pd_matrix *rows);

/** A workspace for operations of this set, which one of the plan's walks has to run, on factors of
 *  ranks[k] columns in mode k. */
polyad_status pd_workspace_create(polyad_context *context, const polyad_plan *plan, uint64_t ops,
                                  const uint64_t *ranks, polyad_workspace **workspace);
/** Memory of the workspace's device that holds nothing between two operations; NULL: there is none.
 *  Whoever has used it waits for its own work before the next one. */
void *pd_workspace_lend(polyad_workspace *workspace, uint64_t *bytes);
/** Runs an operation on matrices of the plan's device. */
polyad_status pd_plan_run(polyad_context *context, const polyad_plan *plan,
                          polyad_workspace *workspace, const struct pd_call *call);

/** Bytes of the chain's result; fails with POLYAD_OVERFLOW or POLYAD_MEMORY_LIMIT, naming the
 *  mode and the bytes. */
polyad_status pd_plan_ttmc_bytes(polyad_context *context, const polyad_plan *plan,
                                 const uint64_t *ranks, int mode, uint64_t *bytes);

#endif
