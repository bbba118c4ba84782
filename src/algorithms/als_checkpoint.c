#include "algorithms/als_checkpoint.h"
#include "algorithms/run_checkpoint.h"
#include <inttypes.h>
#include <math.h>

/* What stands before trace, weights, Gram matrices and factors. Fields have no padding. */
struct saved {
  struct pd_run_head head;
  uint64_t nonnegative;
  double ridge;
  /* Where the run stands. */
  uint64_t iteration, fallbacks, damped;
  double kept, caution, fit, residual, bound, norms, peaks, change, seconds;
  uint64_t from; /* polyad_fit_from of the fit */
};

struct saved_row {
  double fit, residual, bound, seconds;
  double from; /* polyad_fit_from */
};

static struct saved describe(const struct pd_als *als) {
  return (struct saved){.head =
                            pd_run_head_make(als->context, als->plan, "cp_als", als->options->rank),
                        .nonnegative = als->options->nonnegative != 0,
                        .ridge = als->options->ridge,
                        .iteration = (uint64_t)als->run.iteration,
                        .fallbacks = als->fallbacks,
                        .damped = als->damped,
                        .caution = als->caution,
                        .bound = als->fit.bound,
                        .norms = als->fit.norms,
                        .peaks = als->fit.peaks,
                        .from = (uint64_t)als->fit.from,
                        .kept = als->kept,
                        .fit = als->fit.fit,
                        .residual = als->fit.residual,
                        .change = als->run.change,
                        .seconds = pd_run_seconds(&als->run)};
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
  for (int i = 0; i < als->run.iteration; ++i) {
    const polyad_trace_row *row = &als->run.trace[i];
    struct saved_row saved = {row->fit, row->residual, row->fit_bound, row->seconds,
                              (double)row->fit_from};
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
  if (als->options->run.checkpoint == NULL) return POLYAD_OK;
  PD_TRY(pd_checkpoint_open(als->context, als->options->run.checkpoint, &als->checkpoint));
  PD_TRY(put_state(als));
  return pd_checkpoint_rehearse(als->checkpoint);
}

polyad_status pd_als_checkpoint_save(struct pd_als *als, bool end) {
  if (als->checkpoint == NULL) return POLYAD_OK;
  if (!end && als->run.iteration % als->options->run.checkpoint_every != 0) return POLYAD_OK;
  PD_TRY(fetch_state(als));
  pd_run_save_end(als->context, als->checkpoint, put_state(als), als->run.iteration, &als->unsaved);
  return POLYAD_OK;
}

void pd_als_checkpoint_close(struct pd_als *als) {
  pd_checkpoint_close(als->checkpoint);
  als->checkpoint = NULL;
}

/* ---- resuming --------------------------------------------------------------------------- */

static polyad_status compare_options(const struct pd_als *als, const char *path,
                                     const struct saved *there, const struct saved *here) {
  PD_TRY(pd_run_compare(als->context, path, "nonnegative", there->nonnegative, here->nonnegative));
  return pd_run_compare_real(als->context, path, "ridge", there->ridge, here->ridge);
}

/* The head's own sizes were compared with this run's, so they can be trusted from here on. */
static polyad_status check_size(const struct pd_als *als, struct pd_checkpoint_input *input,
                                const struct saved *saved) {
  uint64_t rank = saved->head.rank, bytes = 0;
  bytes += pd_mul_saturated(saved->iteration, sizeof(struct saved_row));
  bytes = pd_add_saturated(bytes, rank * sizeof(double) * (1 + rank * saved->head.order));
  for (int n = 0; n < als->order; ++n)
    bytes += saved->head.dims[n] * rank * pd_type_bytes(als->plan->type);
  if (saved->iteration < INT32_MAX / 2 && bytes == pd_checkpoint_left(input)) return POLYAD_OK;
  return pd_fail_at(als->context, POLYAD_PARSE, pd_checkpoint_input_path(input), 0, 0,
                    "the checkpoint holds %" PRIu64 " bytes of factors and trace; expected "
                    "%" PRIu64,
                    pd_checkpoint_left(input), bytes);
}

static polyad_fit_from from_of(double saved) {
  return saved == POLYAD_FIT_RESIDUAL ? POLYAD_FIT_RESIDUAL : POLYAD_FIT_FORMULA;
}

static polyad_status get_trace(struct pd_als *als, struct pd_checkpoint_input *input,
                               int iterations) {
  PD_TRY(pd_run_reserve(&als->run, iterations));
  for (int i = 0; i < iterations; ++i) {
    struct saved_row row;
    PD_TRY(pd_run_get_finite(als->context, input, POLYAD_F64, sizeof row / sizeof(double), &row,
                             "fits"));
    als->run.trace[i] = (polyad_trace_row){.iteration = i + 1,
                                           .fit = row.fit,
                                           .residual = row.residual,
                                           .fit_bound = row.bound,
                                           .fit_from = from_of(row.from),
                                           .seconds = row.seconds,
                                           .log_likelihood = NAN,
                                           .kkt_violation = NAN};
  }
  return POLYAD_OK;
}

static polyad_status get_matrices(struct pd_als *als, struct pd_checkpoint_input *input) {
  uint64_t rank = als->options->rank;
  PD_TRY(pd_run_get_finite(als->context, input, POLYAD_F64, rank, als->host_lambda, "weights"));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(pd_run_get_finite(als->context, input, POLYAD_F64, rank * rank, pd_als_host_gram(als, n),
                             "Gram matrices"));
  for (int n = 0; n < als->order; ++n)
    PD_TRY(pd_run_get_finite(als->context, input, als->plan->type, als->plan->dims[n] * rank,
                             als->model->factor[n], "factors"));
  PD_TRY(pd_matrix_from_host(als->context, &als->lambda, als->host_lambda));
  for (int n = 0; n < als->order; ++n) {
    PD_TRY(pd_matrix_from_host(als->context, &als->factor[n], als->model->factor[n]));
    if (pd_als_rounds(als))
      PD_TRY(pd_als_take_factor(als, n));
    else
      PD_TRY(pd_matrix_from_host(als->context, &als->gram[n], pd_als_host_gram(als, n)));
  }
  return POLYAD_OK;
}

static polyad_status get_state(struct pd_als *als, struct pd_checkpoint_input *input) {
  const char *path = pd_checkpoint_input_path(input);
  struct saved there, here = describe(als);
  PD_TRY(pd_checkpoint_get(input, &there, sizeof there));
  PD_TRY(pd_run_head_compare(als->context, path, &there.head, &here.head));
  PD_TRY(compare_options(als, path, &there, &here));
  PD_TRY(check_size(als, input, &there));
  als->run.restart = 0;
  PD_TRY(get_trace(als, input, (int)there.iteration));
  als->run.iteration = (int)there.iteration;
  als->fallbacks = there.fallbacks;
  als->damped = there.damped;
  als->caution = there.caution;
  als->kept = there.kept;
  als->fit = (struct pd_als_fit){.fit = there.fit,
                                 .residual = there.residual,
                                 .bound = there.bound,
                                 .norms = there.norms,
                                 .peaks = there.peaks,
                                 .from = from_of((double)there.from)};
  als->run.change = there.change;
  als->run.seconds_before = there.seconds;
  return get_matrices(als, input);
}

polyad_status pd_als_resume(struct pd_als *als) {
  struct pd_checkpoint_input *input;
  PD_TRY(pd_checkpoint_input_open(als->context, als->options->run.resume, &input));
  polyad_status status = get_state(als, input);
  if (status == POLYAD_OK)
    pd_log(als->context, POLYAD_LOG_INFO, "going on from %s after iteration %d",
           pd_checkpoint_input_path(input), als->run.iteration);
  pd_checkpoint_input_close(input);
  return status;
}
