#include "algorithms/als_checkpoint.h"
#include "io/checkpoint.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What stands before trace, weights, Gram matrices and factors. Fields have no padding. */
struct saved {
  char algorithm[8];
  uint64_t order, dims[POLYAD_MAX_ORDER], nnz, tensor_hash;
  uint64_t rank, type, nonnegative, seed;
  double ridge;
  /* Only the bits of the result depend on these. */
  uint64_t threads;
  char device[32], format[32];
  /* Where the run stands. */
  uint64_t iteration, fallbacks;
  double kept, fit, residual, change, seconds;
};

struct saved_row {
  double fit, residual, seconds;
};

static struct saved describe(const struct pd_als *als) {
  const polyad_plan *plan = als->plan;
  struct saved saved = {.algorithm = "cp_als",
                        .order = (uint64_t)als->order,
                        .nnz = plan->nnz,
                        .tensor_hash = plan->tensor_hash,
                        .rank = als->options->rank,
                        .type = (uint64_t)plan->type,
                        .nonnegative = als->options->nonnegative != 0,
                        .seed = polyad_seed(als->context),
                        .ridge = als->options->ridge,
                        .threads = (uint64_t)polyad_threads(als->context),
                        .iteration = (uint64_t)als->iteration,
                        .fallbacks = als->fallbacks,
                        .kept = als->kept,
                        .fit = als->fit.fit,
                        .residual = als->fit.residual,
                        .change = als->change,
                        .seconds = pd_als_seconds(als)};
  memcpy(saved.dims, plan->dims, sizeof saved.dims);
  snprintf(saved.device, sizeof saved.device, "%s", plan->device->name);
  snprintf(saved.format, sizeof saved.format, "%s", plan->format->name);
  return saved;
}

/* ---- saving ----------------------------------------------------------------------------- */

/* Fetches what changes into host memory: errors here are the run's, not the file's. */
static polyad_status fetch_state(struct pd_als *als) {
  PD_TRY(pd_als_download(als));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(pd_matrix_to_host(als->context, &als->gram[n], pd_als_host_gram(als, n)));
  return POLYAD_OK;
}

static polyad_status put_trace(const struct pd_als *als) {
  for (int i = 0; i < als->iteration; ++i) {
    const polyad_trace_row *row = &als->trace[i];
    struct saved_row saved = {row->fit, row->residual, row->seconds};
    PD_TRY(pd_checkpoint_put(als->checkpoint, &saved, sizeof saved));
  }
  return POLYAD_OK;
}

static polyad_status put_state(struct pd_als *als) {
  struct saved saved = describe(als);
  size_t rank = (size_t)als->options->rank;
  PD_TRY(pd_checkpoint_begin(als->checkpoint));
  PD_TRY(pd_checkpoint_put(als->checkpoint, &saved, sizeof saved));
  PD_TRY(put_trace(als));
  PD_TRY(pd_checkpoint_put(als->checkpoint, als->host_lambda, rank * sizeof(double)));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(
        pd_checkpoint_put(als->checkpoint, pd_als_host_gram(als, n), rank * rank * sizeof(double)));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(pd_checkpoint_put(als->checkpoint, als->model->factor[n],
                             (size_t)als->plan->dims[n] * rank * pd_type_bytes(als->plan->type)));
  return POLYAD_OK;
}

polyad_status pd_als_checkpoint_open(struct pd_als *als) {
  if (als->options->checkpoint == NULL) return POLYAD_OK;
  PD_TRY(pd_checkpoint_open(als->context, als->options->checkpoint, &als->checkpoint));
  PD_TRY(put_state(als));
  return pd_checkpoint_rehearse(als->checkpoint);
}

polyad_status pd_als_checkpoint_save(struct pd_als *als, bool end) {
  if (als->checkpoint == NULL) return POLYAD_OK;
  if (!end && als->iteration % als->options->checkpoint_every != 0) return POLYAD_OK;
  PD_TRY(fetch_state(als));
  polyad_status status = put_state(als);
  if (status == POLYAD_OK)
    status = pd_checkpoint_commit(als->checkpoint);
  else
    pd_checkpoint_abort(als->checkpoint);
  if (status == POLYAD_OK) return POLYAD_OK;
  als->unsaved += 1;
  pd_log(als->context, POLYAD_LOG_WARNING, "iteration %d could not be saved, the run goes on: %s",
         als->iteration, polyad_last_error(als->context));
  pd_begin(als->context);
  return POLYAD_OK;
}

void pd_als_checkpoint_close(struct pd_als *als) {
  pd_checkpoint_close(als->checkpoint);
  als->checkpoint = NULL;
}

/* ---- resuming --------------------------------------------------------------------------- */

static polyad_status differs(const struct pd_als *als, const char *path, const char *what,
                             const char *there, const char *here) {
  return pd_fail_at(als->context, POLYAD_MISMATCH, path, 0, 0,
                    "this checkpoint is of a run with %s %s; expected %s", what, there, here);
}

static polyad_status compare(const struct pd_als *als, const char *path, const char *what,
                             uint64_t there, uint64_t here) {
  char text[2][24];
  if (there == here) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%" PRIu64, there);
  snprintf(text[1], sizeof text[1], "%" PRIu64, here);
  return differs(als, path, what, text[0], text[1]);
}

static polyad_status compare_tensor(const struct pd_als *als, const char *path,
                                    const struct saved *there, const struct saved *here) {
  char what[64], text[2][24];
  PD_TRY(compare(als, path, "another tensor: order", there->order, here->order));
  for (int n = 0; n < als->order; ++n) {
    snprintf(what, sizeof what, "another tensor: length of mode %d", n + 1);
    PD_TRY(compare(als, path, what, there->dims[n], here->dims[n]));
  }
  PD_TRY(compare(als, path, "another tensor: number of nonzeros", there->nnz, here->nnz));
  if (there->tensor_hash == here->tensor_hash) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%016" PRIx64, there->tensor_hash);
  snprintf(text[1], sizeof text[1], "%016" PRIx64, here->tensor_hash);
  return differs(als, path, "another tensor: content hash", text[0], text[1]);
}

static const char *type_name(uint64_t type) { return type == POLYAD_F32 ? "f32" : "f64"; }

static polyad_status compare_options(const struct pd_als *als, const char *path,
                                     const struct saved *there, const struct saved *here) {
  char text[2][32];
  PD_TRY(compare(als, path, "rank", there->rank, here->rank));
  if (there->type != here->type)
    return differs(als, path, "precision", type_name(there->type), type_name(here->type));
  PD_TRY(compare(als, path, "seed", there->seed, here->seed));
  PD_TRY(compare(als, path, "nonnegative", there->nonnegative, here->nonnegative));
  if (there->ridge == here->ridge) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%.17g", there->ridge);
  snprintf(text[1], sizeof text[1], "%.17g", here->ridge);
  return differs(als, path, "ridge", text[0], text[1]);
}

/* The head's own sizes were compared with this run's, so they can be trusted from here on. */
static polyad_status check_size(const struct pd_als *als, struct pd_checkpoint_input *input,
                                const struct saved *saved) {
  uint64_t rank = saved->rank, bytes = 0;
  bytes += pd_mul_saturated(saved->iteration, sizeof(struct saved_row));
  bytes = pd_add_saturated(bytes, rank * sizeof(double) * (1 + rank * saved->order));
  for (int n = 0; n < als->order; ++n)
    bytes += saved->dims[n] * rank * pd_type_bytes(als->plan->type);
  if (saved->iteration < INT32_MAX / 2 && bytes == pd_checkpoint_left(input)) return POLYAD_OK;
  return pd_fail_at(als->context, POLYAD_PARSE, pd_checkpoint_input_path(input), 0, 0,
                    "the checkpoint holds %" PRIu64 " bytes of factors and trace; expected "
                    "%" PRIu64,
                    pd_checkpoint_left(input), bytes);
}

static void note_changes(const struct pd_als *als, const struct saved *there,
                         const struct saved *here) {
  if (there->threads != here->threads)
    pd_log(als->context, POLYAD_LOG_INFO,
           "the checkpoint was made with %" PRIu64 " threads and goes on with %" PRIu64
           ": last bits may differ",
           there->threads, here->threads);
  if (strncmp(there->device, here->device, sizeof there->device) != 0 ||
      strncmp(there->format, here->format, sizeof there->format) != 0)
    pd_log(als->context, POLYAD_LOG_INFO,
           "the checkpoint was made with format %.32s on %.32s and goes on with %.32s on %.32s: "
           "last bits may differ",
           there->format, there->device, here->format, here->device);
}

static bool all_finite(polyad_type type, uint64_t count, const void *values) {
  const double *wide = values;
  const float *narrow = values;
  for (uint64_t k = 0; k < count; ++k)
    if (type == POLYAD_F64 ? !isfinite(wide[k]) : !isfinite(narrow[k])) return false;
  return true;
}

static polyad_status get_finite(const struct pd_als *als, struct pd_checkpoint_input *input,
                                polyad_type type, uint64_t count, void *values, const char *what) {
  PD_TRY(pd_checkpoint_get(input, values, (size_t)count * pd_type_bytes(type)));
  if (all_finite(type, count, values)) return POLYAD_OK;
  return pd_fail_at(als->context, POLYAD_PARSE, pd_checkpoint_input_path(input), 0, 0,
                    "the checkpoint's %s hold a number that is not finite", what);
}

static polyad_status get_trace(struct pd_als *als, struct pd_checkpoint_input *input,
                               int iterations) {
  PD_TRY(pd_als_reserve(als, iterations));
  for (int i = 0; i < iterations; ++i) {
    struct saved_row row;
    PD_TRY(get_finite(als, input, POLYAD_F64, sizeof row / sizeof(double), &row, "fits"));
    als->trace[i] = (polyad_trace_row){.iteration = i + 1,
                                       .fit = row.fit,
                                       .residual = row.residual,
                                       .seconds = row.seconds,
                                       .log_likelihood = NAN,
                                       .kkt_violation = NAN};
  }
  return POLYAD_OK;
}

static polyad_status get_matrices(struct pd_als *als, struct pd_checkpoint_input *input) {
  uint64_t rank = als->options->rank;
  PD_TRY(get_finite(als, input, POLYAD_F64, rank, als->host_lambda, "weights"));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(
        get_finite(als, input, POLYAD_F64, rank * rank, pd_als_host_gram(als, n), "Gram matrices"));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(get_finite(als, input, als->plan->type, als->plan->dims[n] * rank, als->model->factor[n],
                      "factors"));
  PD_TRY(pd_matrix_from_host(als->context, &als->lambda, als->host_lambda));
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(pd_matrix_from_host(als->context, &als->factor[n], als->model->factor[n]));
    PD_TRY(pd_matrix_from_host(als->context, &als->gram[n], pd_als_host_gram(als, n)));
  }
  return POLYAD_OK;
}

static polyad_status get_state(struct pd_als *als, struct pd_checkpoint_input *input) {
  const char *path = pd_checkpoint_input_path(input);
  struct saved there, here = describe(als);
  PD_TRY(pd_checkpoint_get(input, &there, sizeof there));
  if (memcmp(there.algorithm, here.algorithm, sizeof here.algorithm) != 0) {
    char quoted[PD_QUOTE_BYTES];
    size_t length = strnlen(there.algorithm, sizeof there.algorithm);
    return differs(als, path, "algorithm", pd_quote(quoted, there.algorithm, length),
                   here.algorithm);
  }
  PD_TRY(compare_tensor(als, path, &there, &here));
  PD_TRY(compare_options(als, path, &there, &here));
  PD_TRY(check_size(als, input, &there));
  note_changes(als, &there, &here);
  als->restart = 0;
  PD_TRY(get_trace(als, input, (int)there.iteration));
  als->iteration = (int)there.iteration;
  als->fallbacks = there.fallbacks;
  als->kept = there.kept;
  als->fit = (struct pd_als_fit){.fit = there.fit, .residual = there.residual};
  als->change = there.change;
  als->seconds_before = there.seconds;
  return get_matrices(als, input);
}

polyad_status pd_als_resume(struct pd_als *als) {
  struct pd_checkpoint_input *input;
  PD_TRY(pd_checkpoint_input_open(als->context, als->options->resume, &input));
  polyad_status status = get_state(als, input);
  if (status == POLYAD_OK)
    pd_log(als->context, POLYAD_LOG_INFO, "going on from %s after iteration %d",
           pd_checkpoint_input_path(input), als->iteration);
  pd_checkpoint_input_close(input);
  return status;
}
