/* What the checkpoints of all algorithms begin with, and how a run compares itself with them. */
#ifndef PD_RUN_CHECKPOINT_H
#define PD_RUN_CHECKPOINT_H

#include "io/checkpoint.h"
#include "plan/plan.h"

/** The tensor and the options that every algorithm has. No padding. */
struct pd_run_head {
  char algorithm[8];
  uint64_t order, dims[POLYAD_MAX_ORDER], nnz, tensor_hash;
  uint64_t rank, type, seed;
  /* Only the bits of the result depend on these. */
  uint64_t threads;
  char device[32], format[32];
};

struct pd_run_head pd_run_head_make(const polyad_context *context, const polyad_plan *plan,
                                    const char *algorithm, uint64_t rank);
/** POLYAD_MISMATCH, naming both values, for another algorithm, tensor, rank, precision or seed;
 * says as information when only last bits may differ. */
polyad_status pd_run_head_compare(polyad_context *context, const char *path,
                                  const struct pd_run_head *there, const struct pd_run_head *here);
/** The same for one more option. */
polyad_status pd_run_compare(polyad_context *context, const char *path, const char *what,
                             uint64_t there, uint64_t here);
polyad_status pd_run_compare_real(polyad_context *context, const char *path, const char *what,
                                  double there, double here);
/** Reads `count` numbers of `type`; POLYAD_PARSE, naming `what`, when one is not finite. */
polyad_status pd_run_get_finite(polyad_context *context, struct pd_checkpoint_input *input,
                                polyad_type type, uint64_t count, void *values, const char *what);
/** Ends a save whose state was put with this status. What could not be written is said as a warning
 *  and counted in `unsaved`: the run goes on. */
void pd_run_save_end(polyad_context *context, struct pd_checkpoint *checkpoint, polyad_status put,
                     int iteration, int *unsaved);

#endif
