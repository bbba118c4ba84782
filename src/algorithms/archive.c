/* Saves and loads the state of a run: see archive.h. */
#include "algorithms/archive.h"
#include "algorithms/method.h"
#include "core/numbers.h"
#include "io/checkpoint.h"
#include "plan/part.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The tensor and the options that every method has. No padding. */
struct pd_run_head {
  char method[8];
  uint64_t order, dims[POLYAD_MAX_ORDER], nnz, tensor_hash;
  uint64_t type, seed;
  /* Only the bits of the result depend on these. */
  uint64_t threads;
  char device[32], format[32];
};

/* Where the run stands. No padding. */
struct position {
  uint64_t iteration;
  double change, seconds;
};

/* A row of the trace. No padding. */
struct saved_row {
  double fit, residual, fit_bound, log_likelihood, kkt_violation, seconds;
  uint64_t inner_iterations, fit_from; /* with HALF_ROWS */
};
/* A bit of fit_from: files without it stay valid. */
static const uint64_t HALF_ROWS = UINT64_C(1) << 32;

static struct pd_run_head archive_describe(polyad_context *context, const polyad_plan *plan,
                                           const char *name) {
  struct pd_run_head head = {.order = (uint64_t)plan->order,
                             .nnz = polyad_plan_nnz(plan),
                             .tensor_hash = plan->tensor_hash,
                             .type = (uint64_t)plan->type,
                             .seed = polyad_seed(context),
                             .threads = (uint64_t)polyad_threads(context)};
  memcpy(head.dims, polyad_plan_dims(plan), (size_t)plan->order * sizeof *head.dims);
  snprintf(head.method, sizeof head.method, "%s", name);
  snprintf(head.device, sizeof head.device, "%.31s", plan->devices);
  snprintf(head.format, sizeof head.format, "%s", plan->format->name);
  return head;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static polyad_status archive_differs(polyad_context *context, const char *path, const char *what,
                                     const char *there, const char *here) {
  return pd_fail_at(context, POLYAD_MISMATCH, path, 0, 0,
                    "this checkpoint is of a run with %s %s; expected %s", what, there, here);
}

static polyad_status archive_compare(polyad_context *context, const char *path, const char *what,
                                     uint64_t there, uint64_t here) {
  char text[2][24];
  if (there == here) return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%" PRIu64, there);
  snprintf(text[1], sizeof text[1], "%" PRIu64, here);
  return archive_differs(context, path, what, text[0], text[1]);
}

static polyad_status compare_tensors(polyad_context *context, const char *path,
                                     const struct pd_run_head *there,
                                     const struct pd_run_head *here) {
  char what[64], text[2][24];
  PD_TRY(archive_compare(context, path, "another tensor: order", there->order, here->order));
  for (int n = 0; n < (int)here->order; ++n) {
    snprintf(what, sizeof what, "another tensor: length of mode %d", pd_shown_mode(context, n));
    PD_TRY(archive_compare(context, path, what, there->dims[n], here->dims[n]));
  }
  PD_TRY(
      archive_compare(context, path, "another tensor: number of nonzeros", there->nnz, here->nnz));
  /* A team does not know the hash of its tensor. */
  if (there->tensor_hash == here->tensor_hash || there->tensor_hash == 0 || here->tensor_hash == 0)
    return POLYAD_OK;
  snprintf(text[0], sizeof text[0], "%016" PRIx64, there->tensor_hash);
  snprintf(text[1], sizeof text[1], "%016" PRIx64, here->tensor_hash);
  return archive_differs(context, path, "another tensor: content hash", text[0], text[1]);
}

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

static const char *type_name(uint64_t type) { return type == POLYAD_F32 ? "f32" : "f64"; }

/* The command's name of the method that writes `method` into its checkpoints. A name that no method
 * writes is quoted as it is. */
static const char *method_words(char quoted[PD_QUOTE_BYTES], const char *method, size_t bytes) {
  static const char *const words[][2] = {{"cp_als", "als"},
                                         {"apr_mu", "apr-mu"},
                                         {"apr_pdn", "apr-pdnr"},
                                         {"apr_pqn", "apr-pqnr"},
                                         {"cmp_als", "als of completion"},
                                         {"cmp_ccd", "ccd"},
                                         {"cmp_sgd", "sgd"}};
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k)
    if (strncmp(method, words[k][0], bytes) == 0) return words[k][1];
  return pd_quote(quoted, method, strnlen(method, bytes));
}

static polyad_status compare_heads(polyad_context *context, const char *path,
                                   const struct pd_run_head *there,
                                   const struct pd_run_head *here) {
  if (memcmp(there->method, here->method, sizeof here->method) != 0) {
    char quoted[2][PD_QUOTE_BYTES];
    return archive_differs(context, path, "algorithm",
                           method_words(quoted[0], there->method, sizeof there->method),
                           method_words(quoted[1], here->method, sizeof here->method));
  }
  /* Before the tensors, whose content hash is another one in another precision. */
  if (there->type != here->type)
    return archive_differs(context, path, "precision", type_name(there->type),
                           type_name(here->type));
  PD_TRY(compare_tensors(context, path, there, here));
  PD_TRY(archive_compare(context, path, "seed", there->seed, here->seed));
  note_changes(context, there, here);
  return POLYAD_OK;
}

/* ---- what a list consists of -------------------------------------------------------------- */

/* For messages; members of a team without the file fail together with the one that has it. */
static const char *path_of(const struct pd_archive *archive) {
  return archive->input != NULL ? pd_checkpoint_input_path(archive->input) : "the checkpoint";
}

/* Bytes to or from wherever the archive keeps them. Of a team's checkpoint member 0 alone writes,
 * and gives the others what it reads. */
static polyad_status archive_pass(struct pd_archive *archive, void *data, uint64_t bytes) {
  uint64_t at = archive->bytes;
  archive->bytes = pd_add_saturated(at, bytes);
  if (archive->input != NULL) PD_TRY(pd_checkpoint_get(archive->input, data, (size_t)bytes));
  if (archive->plan != NULL && archive->task == PD_ARCHIVE_LOAD)
    return pd_team_broadcast(archive->context, pd_plan_team(archive->plan), 0, data, bytes);
  if (archive->file != NULL && archive->put == POLYAD_OK)
    archive->put = pd_checkpoint_put(archive->file, data, (size_t)bytes);
  if (archive->memory != NULL && archive->task == PD_ARCHIVE_SAVE)
    pd_copy(archive->context, archive->memory + at, data, bytes);
  if (archive->memory != NULL && archive->task == PD_ARCHIVE_LOAD)
    pd_copy(archive->context, data, archive->memory + at, bytes);
  return POLYAD_OK;
}

polyad_status pd_archive_count(struct pd_archive *archive, uint64_t *number) {
  return archive_pass(archive, number, sizeof *number);
}

polyad_status pd_archive_real(struct pd_archive *archive, double *number) {
  return archive_pass(archive, number, sizeof *number);
}

polyad_status pd_archive_option_in_words(struct pd_archive *archive, const char *name, double value,
                                         pd_option_words words) {
  char text[2][PD_OPTION_TEXT_BYTES];
  double there = value;
  PD_TRY(archive_pass(archive, &there, sizeof there));
  if (there == value) return POLYAD_OK;
  words(archive->context, there, text[0]);
  words(archive->context, value, text[1]);
  return archive_differs(archive->context, path_of(archive), name, text[0], text[1]);
}

static void number_words(polyad_context *context, double value, char text[PD_OPTION_TEXT_BYTES]) {
  (void)context;
  snprintf(text, PD_OPTION_TEXT_BYTES, "%.17g", value);
}

polyad_status pd_archive_option(struct pd_archive *archive, const char *name, double value) {
  return pd_archive_option_in_words(archive, name, value, number_words);
}

polyad_status pd_archive_numbers(struct pd_archive *archive, const char *what, polyad_type type,
                                 uint64_t count, void *numbers) {
  PD_TRY(archive_pass(archive, numbers, count * pd_type_bytes(type)));
  if (archive->input == NULL || pd_all_finite(type, count, numbers)) return POLYAD_OK;
  return pd_fail_at(archive->context, POLYAD_PARSE, path_of(archive), 0, 0,
                    "the checkpoint's %s hold a number that is not finite", what);
}

polyad_status pd_archive_impossible(struct pd_archive *archive, const char *what, uint64_t found,
                                    uint64_t most) {
  return pd_fail_at(archive->context, POLYAD_PARSE, path_of(archive), 0, 0,
                    "the checkpoint holds %" PRIu64 " %s; expected at most %" PRIu64, found, what,
                    most);
}

static polyad_status load_matrix(struct pd_archive *archive, const char *what,
                                 struct pd_matrix *matrix, void *host) {
  PD_TRY(pd_archive_numbers(archive, what, matrix->type, matrix->rows * matrix->columns, host));
  return pd_matrix_from_host(archive->context, matrix, host);
}

polyad_status pd_archive_matrix(struct pd_archive *archive, const char *what,
                                struct pd_matrix *matrix, void *host) {
  uint64_t bytes = matrix->rows * matrix->columns * pd_type_bytes(matrix->type);
  void *room = NULL;
  if (archive->task == PD_ARCHIVE_COUNT) return archive_pass(archive, NULL, bytes);
  if (host == NULL && matrix->device->functions->host_memory) host = matrix->data;
  polyad_status status = POLYAD_OK;
  if (host == NULL) {
    status = pd_alloc(archive->context, bytes, 1, &room);
    if (archive->file != NULL && archive->put == POLYAD_OK) archive->put = status;
    if (status != POLYAD_OK) return archive->file != NULL ? POLYAD_OK : status;
    host = room;
  }
  if (archive->task == PD_ARCHIVE_LOAD) {
    status = load_matrix(archive, what, matrix, host);
  } else {
    status = pd_matrix_to_host(archive->context, matrix, host);
    if (status == POLYAD_OK) status = archive_pass(archive, host, bytes);
  }
  pd_free(archive->context, room);
  return status;
}

/* Member 0 has all rows for as long as this runs. */
static polyad_status pass_whole_factor(struct pd_archive *archive, const char *what, int mode,
                                       struct pd_matrix *factor, void *host) {
  const struct pd_part *part = archive->plan->part;
  struct pd_matrix all = *factor;
  polyad_status status = POLYAD_OK;
  uint64_t row = factor->columns * pd_type_bytes(factor->type);
  bool first = part->team->rank == 0, loads = archive->task == PD_ARCHIVE_LOAD;
  struct pd_archive mine = *archive;
  all.device = &pd_cpu_device;
  all.rows = part->dims[mode];
  all.stride = all.columns;
  all.data = NULL;
  mine.plan = NULL; /* what member 0 reads is scattered, not broadcast */
  if (first) PD_TRY(pd_alloc(archive->context, pd_mul_saturated(all.rows, row), 1, &all.data));
  if (!loads) PD_TRY_CLEANUP(pd_part_gather(archive->context, part, mode, row, host, all.data));
  if (first) PD_TRY_CLEANUP(pd_archive_matrix(&mine, what, &all, all.data));
  if (loads) status = pd_part_scatter(archive->context, part, mode, row, all.data, host);
  archive->bytes = mine.bytes;
  archive->put = mine.put;
cleanup:
  pd_free(archive->context, all.data);
  return status;
}

polyad_status pd_archive_factor(struct pd_archive *archive, const char *what, int mode,
                                struct pd_matrix *factor, void *host) {
  if (archive->plan == NULL) return pd_archive_matrix(archive, what, factor, host);
  void *room = NULL;
  polyad_status status = POLYAD_OK;
  if (host == NULL && factor->device->functions->host_memory) host = factor->data;
  if (host == NULL) {
    uint64_t count = pd_mul_saturated(factor->rows, factor->columns);
    PD_TRY(pd_alloc(archive->context, count, pd_type_bytes(factor->type), &room));
    host = room;
  }
  if (archive->task == PD_ARCHIVE_SAVE)
    PD_TRY_CLEANUP(pd_matrix_to_host(archive->context, factor, host));
  PD_TRY_CLEANUP(pass_whole_factor(archive, what, mode, factor, host));
  if (archive->task == PD_ARCHIVE_LOAD)
    status = pd_matrix_from_host(archive->context, factor, host);
cleanup:
  pd_free(archive->context, room);
  return status;
}

/* ---- checkpoints: saving ------------------------------------------------------------------ */

static polyad_status put_trace(const struct pd_run *run, struct pd_archive *archive) {
  for (int i = 0; i < run->iteration; ++i) {
    const polyad_trace_row *row = &run->trace[i];
    struct saved_row saved = {row->fit,
                              row->residual,
                              row->fit_bound,
                              row->log_likelihood,
                              row->kkt_violation,
                              row->seconds,
                              row->inner_iterations,
                              (uint64_t)row->fit_from | (row->half_rows ? HALF_ROWS : 0)};
    double validation = row->validation_rmse;
    PD_TRY(archive_pass(archive, &saved, sizeof saved));
    if (run->method->validates) PD_TRY(archive_pass(archive, &validation, sizeof validation));
  }
  return POLYAD_OK;
}

/* What fails here is the device's, not the file's: that is in archive->put. */
static polyad_status put_state(struct pd_run *run, struct pd_archive *archive) {
  struct pd_run_head head = archive_describe(run->context, run->plan, run->method->name);
  struct position position = {(uint64_t)run->iteration, run->change, pd_run_seconds(run)};
  if (run->checkpoint != NULL) archive->put = pd_checkpoint_begin(run->checkpoint);
  PD_TRY(archive_pass(archive, &head, sizeof head));
  PD_TRY(archive_pass(archive, &position, sizeof position));
  PD_TRY(run->method->save(run->state, archive));
  return put_trace(run, archive);
}

static const polyad_plan *shared_plan(const struct pd_run *run) {
  return pd_plan_team(run->plan) != NULL ? run->plan : NULL;
}

/* Whether this member writes and reads checkpoints. */
static bool has_file(const struct pd_run *run) {
  return pd_team_rank(pd_plan_team(run->plan)) == 0;
}

static struct pd_archive to_checkpoint(const struct pd_run *run) {
  return (struct pd_archive){.context = run->context,
                             .task = PD_ARCHIVE_SAVE,
                             .file = run->checkpoint,
                             .plan = shared_plan(run)};
}

polyad_status pd_run_claim(struct pd_run *run) {
  if (run->options->checkpoint == NULL) return POLYAD_OK;
  if (has_file(run))
    PD_TRY(pd_checkpoint_open(run->context, run->options->checkpoint, &run->checkpoint));
  struct pd_archive archive = to_checkpoint(run);
  PD_TRY(put_state(run, &archive));
  PD_TRY(archive.put);
  return has_file(run) ? pd_checkpoint_rehearse(run->checkpoint) : POLYAD_OK;
}

void pd_run_unclaim(struct pd_run *run) {
  pd_checkpoint_close(run->checkpoint);
  run->checkpoint = NULL;
}

polyad_status pd_run_save(struct pd_run *run, bool end) {
  if (run->options->checkpoint == NULL) return POLYAD_OK;
  if (!end && run->iteration % run->options->checkpoint_every != 0) return POLYAD_OK;
  struct pd_archive archive = to_checkpoint(run);
  polyad_status status = put_state(run, &archive);
  if (run->checkpoint != NULL && status == POLYAD_OK && archive.put == POLYAD_OK)
    archive.put = pd_checkpoint_commit(run->checkpoint);
  else if (run->checkpoint != NULL)
    pd_checkpoint_abort(run->checkpoint);
  PD_TRY(status);
  if (archive.put == POLYAD_OK) return POLYAD_OK;
  run->unsaved += 1;
  pd_log(run->context, POLYAD_LOG_WARNING, "iteration %d could not be saved, the run goes on: %s",
         run->iteration, polyad_last_error(run->context));
  pd_begin(run->context);
  return POLYAD_OK;
}

/* ---- checkpoints: resuming ---------------------------------------------------------------- */

static polyad_status get_row(struct pd_archive *archive, bool validates, polyad_trace_row *row) {
  struct saved_row saved;
  double validation = NAN;
  PD_TRY(archive_pass(archive, &saved, sizeof saved));
  uint64_t from = saved.fit_from & ~HALF_ROWS;
  if (validates) PD_TRY(archive_pass(archive, &validation, sizeof validation));
  *row = (polyad_trace_row){.fit = saved.fit,
                            .residual = saved.residual,
                            .fit_bound = saved.fit_bound,
                            .log_likelihood = saved.log_likelihood,
                            .kkt_violation = saved.kkt_violation,
                            .seconds = saved.seconds,
                            .inner_iterations = saved.inner_iterations,
                            .fit_from = from <= POLYAD_FIT_OBSERVED ? (polyad_fit_from)from
                                                                    : POLYAD_FIT_FORMULA,
                            .half_rows = (saved.fit_from & HALF_ROWS) != 0,
                            .validation_rmse = validation};
  if (isfinite(pd_run_objective(row)) && isfinite(row->seconds)) return POLYAD_OK;
  return pd_fail_at(archive->context, POLYAD_PARSE, path_of(archive), 0, 0,
                    "the checkpoint's trace holds a number that is not finite");
}

static polyad_status get_trace(struct pd_run *run, struct pd_archive *archive,
                               uint64_t iterations) {
  uint64_t left = archive->input != NULL ? pd_checkpoint_left(archive->input) : 0;
  if (archive->plan != NULL)
    PD_TRY(pd_team_broadcast(run->context, pd_plan_team(run->plan), 0, &left, sizeof left));
  bool validates = run->method->validates;
  uint64_t row_bytes = sizeof(struct saved_row) + (validates ? sizeof(double) : 0);
  uint64_t bytes = pd_mul_saturated(iterations, row_bytes);
  if (iterations >= INT32_MAX / 2 || bytes != left)
    return pd_fail_at(archive->context, POLYAD_PARSE, path_of(archive), 0, 0,
                      "the checkpoint holds %" PRIu64 " bytes of trace; expected %" PRIu64, left,
                      bytes);
  PD_TRY(pd_run_reserve(run, (int)iterations));
  for (int i = 0; i < (int)iterations; ++i) {
    PD_TRY(get_row(archive, validates, &run->trace[i]));
    run->trace[i].iteration = i + 1;
  }
  return POLYAD_OK;
}

/* The checkpoint is of this method on this tensor. */
static polyad_status check_head(struct pd_archive *archive, const polyad_plan *plan,
                                const char *name) {
  struct pd_run_head there, here = archive_describe(archive->context, plan, name);
  PD_TRY(archive_pass(archive, &there, sizeof there));
  return compare_heads(archive->context, path_of(archive), &there, &here);
}

static polyad_status get_state(struct pd_run *run, struct pd_archive *archive) {
  struct position position;
  PD_TRY(check_head(archive, run->plan, run->method->name));
  PD_TRY(archive_pass(archive, &position, sizeof position));
  PD_TRY(run->method->save(run->state, archive));
  PD_TRY(get_trace(run, archive, position.iteration));
  run->iteration = (int)position.iteration;
  run->change = position.change;
  run->seconds_before = position.seconds;
  return POLYAD_OK;
}

polyad_status pd_run_resume(struct pd_run *run) {
  struct pd_archive archive = {
      .context = run->context, .task = PD_ARCHIVE_LOAD, .plan = shared_plan(run)};
  if (has_file(run))
    PD_TRY(pd_checkpoint_input_open(run->context, run->options->resume, &archive.input));
  polyad_status status = get_state(run, &archive);
  if (status == POLYAD_OK)
    pd_log(run->context, POLYAD_LOG_INFO, "going on from %s after iteration %d", path_of(&archive),
           run->iteration);
  pd_checkpoint_input_close(archive.input);
  return status;
}

/* ---- states of what is more than a run ------------------------------------------------------- */

/* What fails in listing is the computation's; what fails in the file is in archive->put. */
static polyad_status put_work(const struct pd_archive_work *work, struct pd_checkpoint *checkpoint,
                              polyad_status *put) {
  struct pd_run_head head = archive_describe(work->context, work->plan, work->name);
  struct pd_archive archive = {
      .context = work->context, .task = PD_ARCHIVE_SAVE, .file = checkpoint};
  archive.put = pd_checkpoint_begin(checkpoint);
  polyad_status status = archive_pass(&archive, &head, sizeof head);
  if (status == POLYAD_OK) status = work->list(work->state, &archive);
  *put = archive.put;
  return status;
}

polyad_status pd_archive_claim(const struct pd_archive_work *work, const char *path,
                               struct pd_checkpoint **checkpoint) {
  polyad_status put;
  PD_TRY(pd_checkpoint_open(work->context, path, checkpoint));
  PD_TRY(put_work(work, *checkpoint, &put));
  PD_TRY(put);
  return pd_checkpoint_rehearse(*checkpoint);
}

polyad_status pd_archive_save(const struct pd_archive_work *work,
                              struct pd_checkpoint *checkpoint) {
  polyad_status put, status = put_work(work, checkpoint, &put);
  if (status == POLYAD_OK && put == POLYAD_OK)
    put = pd_checkpoint_commit(checkpoint);
  else
    pd_checkpoint_abort(checkpoint);
  PD_TRY(status);
  if (put == POLYAD_OK) return POLYAD_OK;
  pd_log(work->context, POLYAD_LOG_WARNING,
         "what is done could not be saved, the computation goes on: %s",
         polyad_last_error(work->context));
  pd_begin(work->context);
  return POLYAD_OK;
}

polyad_status pd_archive_resume(const struct pd_archive_work *work, const char *path) {
  struct pd_archive archive = {.context = work->context, .task = PD_ARCHIVE_LOAD};
  PD_TRY(pd_checkpoint_input_open(work->context, path, &archive.input));
  polyad_status status = check_head(&archive, work->plan, work->name);
  if (status == POLYAD_OK) status = work->list(work->state, &archive);
  uint64_t left = pd_checkpoint_left(archive.input);
  if (status == POLYAD_OK && left > 0)
    status = pd_archive_impossible(&archive, "bytes behind its state", left, 0);
  pd_checkpoint_input_close(archive.input);
  return status;
}

void pd_archive_release(struct pd_checkpoint *checkpoint) { pd_checkpoint_close(checkpoint); }

/* ---- memory: the best of several starts --------------------------------------------------- */

static polyad_status pass_memory(struct pd_run *run, enum pd_archive_task task) {
  struct pd_archive archive = {.context = run->context, .task = task, .memory = run->best};
  return run->method->save(run->state, &archive);
}

polyad_status pd_run_remember(struct pd_run *run) {
  struct pd_archive counting = {.context = run->context, .task = PD_ARCHIVE_COUNT};
  if (run->best == NULL) {
    PD_TRY(run->method->save(run->state, &counting));
    PD_TRY(PD_NEW(run->context, counting.bytes, &run->best));
  }
  return pass_memory(run, PD_ARCHIVE_SAVE);
}

polyad_status pd_run_recall(struct pd_run *run) { return pass_memory(run, PD_ARCHIVE_LOAD); }
