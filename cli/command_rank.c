/* polyad rank: how many components a tensor supports. */
#include "command.h"
#include "json.h"
#include "manifest.h"
#include "names.h"
#include "phases.h"
#include "report.h"
#include "report_rank.h"
#include "text.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNSET UINT64_MAX
enum { MOST_RANKS = 1000, NUMBER_BYTES = 24 };

struct rank {
  struct cli_session session;
  const char *ranks_text, *algorithm, *format, *variant, *file, *checkpoint, *resume, *report;
  uint64_t ranks[MOST_RANKS];
  int rank_count;
  uint64_t starts, max_iterations, folds;
  double tolerance, max_seconds;
  const char *nonnegative;    /* a list of modes, CLI_ALL_MODES, or NULL */
  uint32_t nonnegative_modes; /* bit n for mode n from 0 */
  polyad_plan *plan;
  polyad_rank_result result;
};

#define ALGORITHMS "als nonnegative apr-mu apr-pdnr apr-pqnr"

static polyad_algorithm algorithm_of(const char *name) {
  return (polyad_algorithm)cli_choice(ALGORITHMS, name);
}

static const struct cli_option option_table[] = {
    CLI_HEADING("models"),
    CLI_OPTION(struct rank, TEXT, ranks_text, "ranks", "LIST",
               "ranks to try, such as 1-20 or 1-6,8,10 (default 1-10)", .letter = 'r'),
    CLI_OPTION(
        struct rank, CHOICE, algorithm, "algorithm", "NAME",
        "als (default), nonnegative; for counts, apr-mu, apr-pdnr,\napr-pqnr: as in polyad cpd",
        .letter = 'a', .choices = ALGORITHMS),
    CLI_OPTION(struct rank, MODES, nonnegative, "nonnegative", "MODES",
               "als: keep factors nonnegative: of all modes, or of a list such\nas 1,3 or "
               "origin,date; other factors have any sign"),
    CLI_OPTION(struct rank, COUNT, starts, "starts", "N", "random starts of each rank (default 10)",
               .least = 1, .most = 1000000),
    CLI_OPTION(struct rank, COUNT, folds, "folds", "N",
               "parts that the two longest modes are split into, for the\nheld-out error (default "
               "4; 0: no held-out error)",
               .most = 64),
    CLI_HEADING("run"),
    CLI_OPTION(struct rank, COUNT, max_iterations, "max-iters", "N",
               "most iterations of a start (default 50; 1000 with apr-...)", .letter = 'i',
               .least = 1, .most = 999999999),
    CLI_OPTION(struct rank, REAL, tolerance, "tol", "X",
               "tolerance of a start, as in polyad cpd (default 1e-4)"),
    CLI_OPTION(struct rank, REAL, max_seconds, "max-seconds", "S",
               "stop after S seconds; what is done by then is shown\n(default 0: no limit)"),
    CLI_OPTION(struct rank, TEXT, checkpoint, "checkpoint", "FILE",
               "keep the ranks that are done in FILE (and those before in\nFILE.prev)"),
    CLI_OPTION(struct rank, TEXT, resume, "resume", "FILE",
               "go on from a checkpoint of a scan with the same options"),
    CLI_OPTION(struct rank, OUTPUT, report, "report", "FILE.html",
               "write a page with the reason, charts and the table"),
    CLI_STORAGE_OPTIONS(struct rank, CLI_FORMAT_HELP),
    CLI_TUNE_OPTIONS(struct rank),
    CLI_READ_OPTIONS(struct rank),
    CLI_TRANSFORM_OPTIONS(struct rank),
    CLI_COMMON_OPTIONS(struct rank)};

const struct cli_usage cli_rank_usage = {
    .command = "rank",
    .synopsis = "FILE [options]",
    .summary =
        "Says how many components the tensor in FILE supports: fits models of several ranks\n"
        "from several starts and shows for each rank the fit, the core consistency, whether\n"
        "starts and parts of the data lead to the same components, and how well cells are\n"
        "predicted that the model has not seen. Recommends a rank, with the reason.",
    .example = "  polyad rank rides.csv --ranks 1-12 --algorithm nonnegative",
    CLI_OPTIONS(option_table),
    .least_arguments = 1,
    .most_arguments = 1};

/* ---- the list of ranks ---------------------------------------------------------------------- */

static bool read_number(const char *text, size_t length, uint64_t *value) {
  char number[NUMBER_BYTES];
  if (length >= sizeof number) return false;
  memcpy(number, text, length);
  number[length] = '\0';
  return cli_read_count(number, value) && *value >= 1;
}

/* One part of the list, R or R-S, after those before; false when it is malformed. */
static bool take_range(struct rank *rank, const char *text, size_t length) {
  const char *dash = memchr(text, '-', length);
  size_t left = dash != NULL ? (size_t)(dash - text) : length;
  uint64_t first, last;
  if (!read_number(text, left, &first)) return false;
  last = first;
  if (dash != NULL && !read_number(dash + 1, length - left - 1, &last)) return false;
  uint64_t before = rank->rank_count > 0 ? rank->ranks[rank->rank_count - 1] : 0;
  if (first <= before || last < first) return false;
  if (last - first >= (uint64_t)(MOST_RANKS - rank->rank_count)) return false;
  for (uint64_t r = first; r <= last; ++r)
    rank->ranks[rank->rank_count++] = r;
  return true;
}

static int parse_ranks(struct rank *rank) {
  char quoted[CLI_QUOTE_BYTES];
  for (const char *at = rank->ranks_text;; ++at) {
    size_t length = strcspn(at, ",");
    if (!take_range(rank, at, length))
      return cli_usage_error("--ranks %s found; expected ascending ranks from 1 on, such as 1-20 "
                             "or 1-6,8,10 (at most %d)",
                             cli_quote(quoted, rank->ranks_text), MOST_RANKS);
    at += length;
    if (*at == '\0') return 0;
  }
}

static int parse(struct rank *rank, int argc, char **argv) {
  int first, status = cli_parse(&cli_rank_usage, argc, argv, rank, &first);
  if (status != 0) return status;
  rank->file = argv[first];
  if (rank->nonnegative != NULL && strcmp(rank->algorithm, "als") != 0)
    return cli_usage_error("--nonnegative is for --algorithm als");
  if (rank->folds == 1) return cli_usage_error("--folds 1 found; expected 0, or 2 to 64");
  if (rank->checkpoint != NULL &&
      (strcmp(rank->checkpoint, "-") == 0 || cli_is_directory_name(rank->checkpoint)))
    return cli_usage_error("--checkpoint expects the name of a file");
  if (rank->max_iterations == UNSET)
    rank->max_iterations = algorithm_of(rank->algorithm) >= POLYAD_ALGORITHM_APR_MU ? 1000 : 50;
  status = cli_check_report_name("--report", rank->report);
  return status != 0 ? status : parse_ranks(rank);
}

/* ---- the scan ------------------------------------------------------------------------------- */

static int build_plan(struct rank *rank) {
  struct cli_session *session = &rank->session;
  polyad_tensor *tensor = NULL;
  cli_session_settle(session);
  int status = cli_read_tensor(session, rank->file, &tensor);
  if (status != 0) return status;
  polyad_plan_options options;
  status = cli_nonnegative_modes(tensor, polyad_tensor_order(tensor), rank->nonnegative,
                                 &rank->nonnegative_modes);
  if (status != 0) {
    polyad_tensor_destroy(tensor);
    return status;
  }
  cli_phase(CLI_BUILD);
  polyad_plan_options_init(&options);
  options.format = rank->format;
  options.variant = rank->variant;
  cli_set_types(session, &options);
  if (algorithm_of(rank->algorithm) >= POLYAD_ALGORITHM_APR_MU) options.kernel = POLYAD_KERNEL_PHI;
  options.rank = rank->ranks[rank->rank_count - 1];
  options.columns = options.rank < 1000000 ? options.rank * rank->starts : 0;
  const polyad_run_options run = {.starts = (int)(rank->starts * (uint64_t)rank->rank_count),
                                  .max_iterations = (int)rank->max_iterations,
                                  .tolerance = rank->tolerance};
  options.sweeps = polyad_expected_sweeps(&run, options.kernel);
  cli_set_tuning(session, &options);
  polyad_status made = polyad_plan_create_take(session->context, &tensor, &options, &rank->plan);
  polyad_tensor_destroy(tensor);
  return cli_library_status(session->context, made);
}

static int scan(struct rank *rank) {
  struct cli_session *session = &rank->session;
  polyad_rank_options options;
  polyad_rank_options_init(&options);
  options.ranks = rank->ranks;
  options.rank_count = rank->rank_count;
  options.algorithm = algorithm_of(rank->algorithm);
  options.nonnegative_modes = rank->nonnegative_modes;
  options.starts = (int)rank->starts;
  options.max_iterations = (int)rank->max_iterations;
  options.tolerance = rank->tolerance;
  options.max_seconds = rank->max_seconds;
  options.folds = (int)rank->folds;
  options.checkpoint = rank->checkpoint;
  options.resume = rank->resume;
  cli_iterations_begin(session);
  polyad_status done = polyad_rank_scan(session->context, rank->plan, &options, &rank->result);
  return cli_iterations_end(session, done);
}

/* ---- results -------------------------------------------------------------------------------- */

/* A number, or a dash where it is not known. */
static void print_number(int width, int digits, double value) {
  if (isnan(value))
    printf("  %*s", width, "-");
  else if (fabs(value) >= 1e6)
    printf("  %*.*g", width, 3, value);
  else
    printf("  %*.*f", width, digits, value);
}

static void print_table(const polyad_rank_result *result) {
  printf("%5s  %9s  %10s  %16s  %9s  %7s  %13s  %14s\n", "rank", "fit best", "fit median",
         "core consistency", "stability", "at best", "replicability", "held-out error");
  for (int k = 0; k < result->row_count; ++k) {
    const polyad_rank_row *row = &result->rows[k];
    printf("%5llu", (unsigned long long)row->rank);
    print_number(9, 6, row->fit_best);
    print_number(10, 6, row->fit_median);
    print_number(16, 2, row->core_consistency);
    print_number(9, 3, row->stability);
    printf("  %7d", row->starts_at_best);
    print_number(13, 3, row->replicability);
    print_number(14, 5, row->holdout_error);
    puts(row->rank == result->recommended ? "  <-" : "");
  }
}

static void print_result(const struct rank *rank) {
  const polyad_rank_result *result = &rank->result;
  cli_print_dims(polyad_plan_dims(rank->plan), polyad_plan_order(rank->plan));
  printf(", %llu nonzeros\n%llu starts of each rank, %s, %s on %s, %.2f s\n\n",
         (unsigned long long)polyad_plan_nnz(rank->plan), (unsigned long long)rank->starts,
         rank->algorithm, polyad_plan_format(rank->plan), polyad_plan_device(rank->plan),
         result->seconds);
  print_table(result);
  if (result->recommended > 0)
    printf("\nrecommended: rank %llu\n", (unsigned long long)result->recommended);
  else
    puts("\nrecommended: none");
  printf("%s\n", result->reason);
}

static cJSON *row_object(const polyad_rank_row *row) {
  cJSON *item = cJSON_CreateObject();
  cli_json_count(item, "rank", row->rank);
  cli_json_count(item, "starts", (uint64_t)row->starts);
  cli_json_count(item, "starts_at_best", (uint64_t)row->starts_at_best);
  cli_json_real(item, "fit_best", row->fit_best);
  cli_json_real(item, "fit_median", row->fit_median);
  cli_json_real(item, "log_likelihood", row->log_likelihood);
  cli_json_real(item, "core_consistency", row->core_consistency);
  cli_json_real(item, "stability", row->stability);
  cli_json_real(item, "replicability", row->replicability);
  cli_json_real(item, "holdout_error", row->holdout_error);
  cli_json_real(item, "holdout_deviation", row->holdout_deviation);
  cli_json_real(item, "seconds", row->seconds);
  return item;
}

static int write_json(struct rank *rank) {
  const polyad_rank_result *result = &rank->result;
  cJSON *object = cJSON_CreateObject();
  cli_json_text(object, "file", rank->file);
  cli_json_text(object, "algorithm", rank->algorithm);
  if (strcmp(rank->algorithm, "als") == 0)
    cli_json_modes(object, "nonnegative_modes", rank->nonnegative_modes,
                   polyad_plan_order(rank->plan));
  cli_json_counts(object, "dims", polyad_plan_dims(rank->plan), polyad_plan_order(rank->plan));
  cli_json_count(object, "nnz", polyad_plan_nnz(rank->plan));
  cli_json_transforms(object, &rank->session.transforms);
  cli_json_text(object, "format", polyad_plan_format(rank->plan));
  cli_json_text(object, "device", polyad_plan_device(rank->plan));
  cli_json_count(object, "seed", rank->session.seed);
  cli_json_count(object, "starts", rank->starts);
  cli_json_count(object, "folds", (uint64_t)result->folds);
  uint64_t modes[2] = {(uint64_t)result->modes[0] + 1, (uint64_t)result->modes[1] + 1};
  cli_json_counts(object, "holdout_modes", modes, result->folds > 0 ? 2 : 0);
  cli_json_count_above_0(object, "recommended", result->recommended);
  cli_json_text(object, "reason", result->reason);
  cli_json_bool(object, "complete", !result->cancelled && !result->out_of_time);
  cli_json_real(object, "seconds", result->seconds);
  cJSON *rows = cJSON_AddArrayToObject(object, "ranks");
  for (int k = 0; k < result->row_count; ++k)
    cJSON_AddItemToArray(rows, row_object(&result->rows[k]));
  return cli_json_write(&rank->session, object);
}

/* What of the scan is there, and what was lost. */
static void tell_stopped(const struct rank *rank) {
  const polyad_rank_result *result = &rank->result;
  if (!result->cancelled && !result->out_of_time) return;
  if (result->row_count < rank->rank_count)
    cli_talk(&rank->session, "polyad: stopped after %d of %d ranks; work on others is lost",
             result->row_count, rank->rank_count);
  else
    cli_talk(&rank->session, "polyad: stopped after all ranks, before their held-out errors were "
                             "known");
  if (rank->checkpoint != NULL && access(rank->checkpoint, R_OK) == 0)
    cli_talk(&rank->session, "; go on with --resume %s", rank->checkpoint);
  cli_talk(&rank->session, "\n");
}

static int check_files(struct rank *rank) {
  struct cli_session *session = &rank->session;
  char previous[4096 + 8];
  if (rank->checkpoint != NULL)
    snprintf(previous, sizeof previous, "%.4096s.prev", rank->checkpoint);
  const struct cli_output outputs[] = {
      {"--json", session->json}, {"--report", rank->report}, {"--checkpoint", rank->checkpoint}};
  const struct cli_output beside[] = {
      {"--json", session->json},
      {"--report", rank->report},
      {"FILE.prev of --checkpoint", rank->checkpoint != NULL ? previous : NULL}};
  int status = cli_check_inputs(outputs, 2, &rank->resume, 1);
  cli_manifest_replaced(session, rank->resume);
  if (status == 0) status = cli_check_outputs(session, outputs, 3, &rank->file, 1);
  return status != 0 ? status : cli_check_outputs(session, beside, 3, &rank->file, 1);
}

static int write_page(const struct rank *rank) {
  const struct cli_rank_page page = {.file = rank->file,
                                     .algorithm = rank->algorithm,
                                     .dims = polyad_plan_dims(rank->plan),
                                     .order = polyad_plan_order(rank->plan),
                                     .nnz = polyad_plan_nnz(rank->plan),
                                     .starts = rank->starts,
                                     .seed = rank->session.seed,
                                     .result = &rank->result};
  return rank->report == NULL ? 0 : cli_rank_page_write(&rank->session, &page, rank->report);
}

static int run(struct rank *rank) {
  struct cli_session *session = &rank->session;
  int status = cli_session_open(session);
  if (status == 0) status = cli_check_format(session->context, rank->format, false);
  if (status == 0) status = check_files(rank);
  if (status == 0) status = build_plan(rank);
  if (status == 0) status = scan(rank);
  cli_phase(CLI_WRITE);
  if (status != 0) return status;
  status = write_page(rank);
  if (status != 0) return status;
  if (cli_shows_results(session, rank->report)) print_result(rank);
  tell_stopped(rank);
  int told = cli_finish_output();
  status = write_json(rank);
  return status == 0 ? told : status;
}

int cli_rank(int argc, char **argv) {
  struct rank rank = {.ranks_text = "1-10",
                      .algorithm = "als",
                      .format = "auto",
                      .variant = "auto",
                      .starts = 10,
                      .folds = 4,
                      .max_iterations = UNSET,
                      .tolerance = 1e-4};
  cli_session_init(&rank.session);
  int status = parse(&rank, argc, argv);
  if (status != 0) return status < 0 ? cli_finish_output() : status;
  status = run(&rank);
  polyad_rank_result_clear(&rank.result);
  polyad_plan_destroy(rank.plan);
  cli_session_close(&rank.session);
  return status;
}
