#include "algorithms/run_checkpoint.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct pd_run_head pd_run_head_make(const polyad_context *context, const polyad_plan *plan,
                                    const char *algorithm, uint64_t rank) {
  struct pd_run_head head = {.order = (uint64_t)plan->order,
                             .nnz = plan->nnz,
                             .tensor_hash = plan->tensor_hash,
                             .rank = rank,
                             .type = (uint64_t)plan->type,
                             .seed = polyad_seed(context),
                             .threads = (uint64_t)polyad_threads(context)};
  memcpy(head.dims, plan->dims, sizeof head.dims);
  snprintf(head.algorithm, sizeof head.algorithm, "%s", algorithm);
  snprintf(head.device, sizeof head.device, "%.31s", plan->devices);
  snprintf(head.format, sizeof head.format, "%s", plan->format->name);
  return head;
}

static polyad_status differs(polyad_context *context, const char *path, const char *what,
                             const char *there, const char *here) {
  return pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                    "this checkpoint is of a run with %s %s; expected %s", what, there, here);
}

polyad_status pd_run_compare(polyad_context *context, const char *path, const char *what,
                             uint64_t there, uint64_t here) {
  char text[2][24];
  if (there == here) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%" PRIu64, there);
  snprintf(text[1], sizeof text[1], "%" PRIu64, here);
  return differs(context, path, what, text[0], text[1]);
}

polyad_status pd_run_compare_real(polyad_context *context, const char *path, const char *what,
                                  double there, double here) {
  char text[2][32];
  if (there == here) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%.17g", there);
  snprintf(text[1], sizeof text[1], "%.17g", here);
  return differs(context, path, what, text[0], text[1]);
}

static polyad_status compare_tensor(polyad_context *context, const char *path,
                                    const struct pd_run_head *there,
                                    const struct pd_run_head *here) {
  char what[64], text[2][24];
  PD_TRY(pd_run_compare(context, path, "another tensor: order", there->order, here->order));
  for (int n = 0; n < (int)here->order; ++n) {
    snprintf(what, sizeof what, "another tensor: length of mode %d", pd_shown_mode(context, n));
    PD_TRY(pd_run_compare(context, path, what, there->dims[n], here->dims[n]));
  }
  PD_TRY(
      pd_run_compare(context, path, "another tensor: number of nonzeros", there->nnz, here->nnz));
  if (there->tensor_hash == here->tensor_hash) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%016" PRIx64, there->tensor_hash);
  snprintf(text[1], sizeof text[1], "%016" PRIx64, here->tensor_hash);
  return differs(context, path, "another tensor: content hash", text[0], text[1]);
}

static const char *type_name(uint64_t type) { return type == POLYAD_F32 ? "f32" : "f64"; }

static void note_changes(polyad_context *context, const struct pd_run_head *there,
                         const struct pd_run_head *here) {
  if (there->threads != here->threads)
    pd_log(context, POLYAD_LOG_INFO,
           "the checkpoint was made with %" PRIu64 " threads and goes on with %" PRIu64
           ": last bits may differ",
           there->threads, here->threads);
  if (strncmp(there->device, here->device, sizeof there->device) != 0 ||
      strncmp(there->format, here->format, sizeof there->format) != 0)
    pd_log(context, POLYAD_LOG_INFO,
           "the checkpoint was made with format %.32s on %.32s and goes on with %.32s on %.32s: "
           "last bits may differ",
           there->format, there->device, here->format, here->device);
}

polyad_status pd_run_head_compare(polyad_context *context, const char *path,
                                  const struct pd_run_head *there, const struct pd_run_head *here) {
  if (memcmp(there->algorithm, here->algorithm, sizeof here->algorithm) != 0) {
    char quoted[PD_QUOTE_BYTES];
    size_t length = strnlen(there->algorithm, sizeof there->algorithm);
    return differs(context, path, "algorithm", pd_quote(quoted, there->algorithm, length),
                   here->algorithm);
  }
  PD_TRY(compare_tensor(context, path, there, here));
  PD_TRY(pd_run_compare(context, path, "rank", there->rank, here->rank));
  if (there->type != here->type)
    return differs(context, path, "precision", type_name(there->type), type_name(here->type));
  PD_TRY(pd_run_compare(context, path, "seed", there->seed, here->seed));
  note_changes(context, there, here);
  return POLYAD_OK;
}

static bool all_finite(polyad_type type, uint64_t count, const void *values) {
  const double *wide = values;
  const float *narrow = values;
  for (uint64_t k = 0; k < count; ++k)
    if (type == POLYAD_F64 ? !isfinite(wide[k]) : !isfinite(narrow[k])) return false;
  return true;
}

polyad_status pd_run_get_finite(polyad_context *context, struct pd_checkpoint_input *input,
                                polyad_type type, uint64_t count, void *values, const char *what) {
  PD_TRY(pd_checkpoint_get(input, values, (size_t)count * pd_type_bytes(type)));
  if (all_finite(type, count, values)) return POLYAD_OK;
  return pd_fail_at(context, POLYAD_PARSE, pd_checkpoint_input_path(input), 0, 0,
                    "the checkpoint's %s hold a number that is not finite", what);
}

void pd_run_save_end(polyad_context *context, struct pd_checkpoint *checkpoint, polyad_status put,
                     int iteration, int *unsaved) {
  polyad_status status = put;
  if (put == POLYAD_OK)
    status = pd_checkpoint_commit(checkpoint);
  else
    pd_checkpoint_abort(checkpoint);
  if (status == POLYAD_OK) return;
  *unsaved += 1;
  pd_log(context, POLYAD_LOG_WARNING, "iteration %d could not be saved, the run goes on: %s",
         iteration, polyad_last_error(context));
  pd_begin(context);
}
