/* An operation on the nonzeros of a tensor is a value: where the results go, how the rows of the
 * factors are combined at a nonzero, and what that product is multiplied by. A walk is a way
 * through a storage that runs some of these operations.
 *
 * For a nonzero x at (i_1, ..., i_N) and output mode n let p be the product of the rows i_k of all
 * factors but that of mode n, entry by entry (Hadamard) or of every entry with every other
 * (Kronecker), and let m be the model there: the inner product of the Hadamard product with row
 * i_n of factor n, which has the weights of the components in it. Then, over the nonzeros:
 *
 *   MTTKRP                       row i_n += x p
 *   TTMc                         row i_n += x p, p the Kronecker product
 *   gain's gradient              row i_n += g'(x, m) p      Phi of CP-APR for the Poisson loss
 *   gain                         sum of g(x, m)             the log-likelihood's part of the data
 *   squares                      R x R sum of x p p^T       least squares of a row
 *   gain's curvature             R x R sum of -g''(x, m) p p^T    Newton's Hessian of a row
 *   Pi                           rows p, kept in the workspace for the gradient of this mode
 *
 * where g(x, m) is the gain of a nonzero: engine/loss.h. R x R sums of all rows would be as long as
 * R factors: they are taken row by row (engine/row.h), and a method solves with them at once. */
#ifndef PD_ENGINE_OP_H
#define PD_ENGINE_OP_H

#include "device/device.h"
#include "engine/loss.h"

/** Where the results go. */
enum pd_into {
  PD_INTO_ROWS,     /* a row for each index of the mode, wholly overwritten */
  PD_INTO_NONZEROS, /* a row for each nonzero, kept in the workspace; no `out` */
  PD_INTO_SCALAR,   /* 1 x 1, F64, summed in an order that depends on the number of threads only */
  PD_INTO_SQUARES   /* R x R of one row */
};

/** How rows of the factors make a row. */
enum pd_combine { PD_HADAMARD, PD_KRONECKER };

/** What the product of the rows is multiplied by, or what is summed. */
enum pd_weight {
  PD_VALUE,         /* the nonzero's value */
  PD_ONE,           /* nothing */
  PD_GAIN,          /* the loss's gain, which is summed as it is */
  PD_GAIN_GRADIENT, /* its derivative in the model */
  PD_GAIN_CURVATURE /* minus its second derivative */
};

/** Which loss, for PD_GAIN and its derivatives. */
struct pd_loss {
  int kind;     /* PD_LOSS_POISSON or another of engine/loss.h */
  double least; /* the least model that is divided by: epsilon of CP-APR */
};

struct pd_op {
  enum pd_into into;
  enum pd_combine combine;
  enum pd_weight weight;
  struct pd_loss loss;
};

/** A set of operations; two that differ in the loss alone are the same here. */
#define PD_OP_BIT(into, combine, weight)                                                           \
  (UINT64_C(1) << ((unsigned)(into) + 4 * (unsigned)(combine) + 8 * (unsigned)(weight)))
#define PD_OPS_MTTKRP PD_OP_BIT(PD_INTO_ROWS, PD_HADAMARD, PD_VALUE)
#define PD_OPS_TTMC PD_OP_BIT(PD_INTO_ROWS, PD_KRONECKER, PD_VALUE)
#define PD_OPS_PI PD_OP_BIT(PD_INTO_NONZEROS, PD_HADAMARD, PD_ONE)
#define PD_OPS_GRADIENT PD_OP_BIT(PD_INTO_ROWS, PD_HADAMARD, PD_GAIN_GRADIENT)
#define PD_OPS_GAIN PD_OP_BIT(PD_INTO_SCALAR, PD_HADAMARD, PD_GAIN)

#define PD_MTTKRP ((struct pd_op){PD_INTO_ROWS, PD_HADAMARD, PD_VALUE, {0}})
#define PD_TTMC ((struct pd_op){PD_INTO_ROWS, PD_KRONECKER, PD_VALUE, {0}})
#define PD_PI ((struct pd_op){PD_INTO_NONZEROS, PD_HADAMARD, PD_ONE, {0}})
/** The gradient of a loss's gain; PD_PHI is CP-APR's. */
#define PD_GRADIENT(LOSS) ((struct pd_op){PD_INTO_ROWS, PD_HADAMARD, PD_GAIN_GRADIENT, LOSS})
#define PD_PHI(EPSILON) PD_GRADIENT(((struct pd_loss){PD_LOSS_POISSON, EPSILON}))
/** The sum of a loss's gain; PD_LIKELIHOOD is the Poisson log-likelihood's part of the data. */
#define PD_GAIN_SUM(LOSS) ((struct pd_op){PD_INTO_SCALAR, PD_HADAMARD, PD_GAIN, LOSS})
#define PD_LIKELIHOOD PD_GAIN_SUM(((struct pd_loss){PD_LOSS_POISSON, 0}))

/** Sums of p p^T, as they are, times the value, and times the curvature of a loss's gain. */
#define PD_SQUARES ((struct pd_op){PD_INTO_SQUARES, PD_HADAMARD, PD_ONE, {0}})
#define PD_VALUE_SQUARES ((struct pd_op){PD_INTO_SQUARES, PD_HADAMARD, PD_VALUE, {0}})
#define PD_CURVATURE(LOSS) ((struct pd_op){PD_INTO_SQUARES, PD_HADAMARD, PD_GAIN_CURVATURE, LOSS})

static inline uint64_t pd_op_bit(const struct pd_op *op) {
  return PD_OP_BIT(op->into, op->combine, op->weight);
}

/** One operation on one mode. Matrices are on the walk's device and of the storage's type. */
struct pd_call {
  struct pd_op op;
  int mode;
  /* I_k x rank of every mode k. Factor `mode` is read where the model is; else it may be NULL. */
  const struct pd_matrix *const *factors;
  struct pd_matrix *out; /* NULL for PD_INTO_NONZEROS */
  /* Rows of `out` without nonzeros may stay as they are, where out->used says so afterwards. */
  bool leaves_unused;
};

/** Whether the model is needed, and with it the factor of the call's mode. */
static inline bool pd_op_needs_model(const struct pd_op *op) {
  return op->weight == PD_GAIN || op->weight == PD_GAIN_GRADIENT;
}

/** Columns of the factors, which are the same in all modes unless they combine by Kronecker. */
static inline uint64_t pd_call_rank(const struct pd_call *call) {
  return call->op.into == PD_INTO_ROWS ? call->out->columns : call->factors[call->mode]->columns;
}

struct pd_walk;
struct pd_row_list;

enum { PD_SCRATCH_MOST = 128 };

/** What the workspace of a walk begins with: what it is for, and its arrays. */
struct pd_scratch {
  polyad_context *context;
  const struct pd_device *device;
  const struct pd_walk *walk;
  struct pd_scratch *root; /* has the arrays: this, or the workspace that this is a part of */
  int count;
  void *array[PD_SCRATCH_MOST]; /* freed with the workspace */
};

/** A way through a storage. All work is ordered on the device's stream. What a workspace keeps of
 *  factors counts for factors of the same version only (formats/versions.h). */
struct pd_walk {
  uint64_t ops;         /* the operations that it runs */
  bool any_order;       /* the default variant adds atomically: bits differ from run to run */
  bool reads_halves;    /* its MTTKRP gathers pd_matrix::halves where all inputs have them */
  size_t scratch_bytes; /* of what begins with a struct pd_scratch */
  /** Bytes of a workspace for factors of ranks[k] columns in mode k. */
  uint64_t (*workspace_bytes)(const void *storage, const uint64_t *ranks, int threads);
  /** Completes a workspace that is zero behind its struct pd_scratch. */
  polyad_status (*fill)(polyad_context *context, const void *storage, const uint64_t *ranks,
                        void *scratch);
  /** Lets go what a workspace has beside its arrays, also after fill() has failed; NULL: nothing.
   */
  void (*clear)(polyad_context *context, void *scratch);
  /** Two calls may not run at once on one scratch. Pi that is stored for a mode serves the gradient
   *  of that mode until it is stored for another; it is made anew where another factor has another
   *  version, and is computed on the fly where one has none. */
  polyad_status (*run)(polyad_context *context, const void *storage, void *scratch,
                       const struct pd_call *call);
  /** Memory of the device that holds nothing between two calls, and its bytes: whoever has used it
   *  waits for its own work before the next call. NULL: there is none. */
  void *(*lend)(void *scratch, uint64_t *bytes);
  /** Describes a mode's nonzeros, and the row of each, where those of a row stand together; false:
   *  they do not. NULL: they never do, or the storage is not on a device of its own memory. */
  bool (*rows)(const void *scratch, int mode, struct pd_row_list *list);
};

/** A workspace of a walk; NULL on failure. */
polyad_status pd_walk_open(polyad_context *context, const struct pd_walk *walk,
                           const struct pd_device *device, const void *storage,
                           const uint64_t *ranks, void **scratch);
/** The same of a walk on the CPU as a part of another workspace, which frees it. */
polyad_status pd_walk_open_within(struct pd_scratch *owner, const struct pd_walk *walk,
                                  const void *storage, const uint64_t *ranks, void **scratch);
/** NULL is fine. */
void pd_walk_close(void *scratch);

/** An array of a workspace, on its device. */
polyad_status pd_scratch_array(struct pd_scratch *scratch, uint64_t count, size_t size, void **out);
/** The same of zeros in the host's memory. */
polyad_status pd_scratch_zeros(struct pd_scratch *scratch, uint64_t count, size_t size, void **out);
#define PD_SCRATCH(scratch, count, out)                                                            \
  pd_scratch_array((scratch), (count), sizeof **(out), (void **)(out))
#define PD_SCRATCH_ZERO(scratch, count, out)                                                       \
  pd_scratch_zeros((scratch), (count), sizeof **(out), (void **)(out))

/** What parts of a workspace begin with. */
static inline struct pd_scratch pd_scratch_part(struct pd_scratch *owner) {
  return (struct pd_scratch){
      .context = owner->context, .device = owner->device, .root = owner->root};
}

#endif
